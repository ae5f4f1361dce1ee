# SPDX-License-Identifier: MIT
#
# What the programs ran on and what they were built with, as pairs of a word
# and a text; nothing that would tell which machine it was.
package Machine;

use strict;
use warnings;
use Exporter qw(import);
use POSIX qw(strftime uname);
use Program qw(path run_limited);

our @EXPORT_OK = qw(describe cpus);

sub slurp {
	my ($file) = @_;
	open my $in, '<', $file or return '';
	local $/;
	return <$in> // '';
}

sub cpus {
	my $n = () = slurp('/proc/cpuinfo') =~ /^processor\b/mg;
	return $n || 1;
}

sub cpu {
	my $info = slurp('/proc/cpuinfo');
	my ($model) = $info =~ /^model name\s*:\s*(.*\S)/m;
	my $virtual = $info =~ /^flags\s*:.*\bhypervisor\b/m;
	return ($model // 'unknown') . ', ' . cpus() . ' CPUs' .
	    ($virtual ? ', virtual machine' : '');
}

sub memory {
	my ($kb) = slurp('/proc/meminfo') =~ /^MemTotal:\s*(\d+)/m or return '?';
	return sprintf '%.0f GiB', $kb / 1048576;
}

# Only the number: what follows it may name a machine or its owner.
sub kernel {
	my ($system, undef, $release, undef, $arch) = uname();
	my ($number) = $release =~ /^(\d+(?:\.\d+)*)/;
	return "$system $number, $arch";
}

sub libc {
	my ($version) = `getconf GNU_LIBC_VERSION 2>/dev/null` =~ /(\S.*)/;
	return $version // 'unknown';
}

sub compiler {
	my $cc = $ENV{CC} // 'gcc';
	my $version = `$cc -dumpfullversion -dumpversion 2>/dev/null`;
	chomp $version;
	return "$cc " . ($version || '?') . ', ' . ($ENV{OPT} // '-O2');
}

sub commit {
	my $id = `git rev-parse --short HEAD 2>/dev/null`;
	chomp $id;
	my $changed = $id && `git status --porcelain -uno 2>/dev/null`;
	return $id ? "commit $id" . ($changed ? ', with changes' : '') : '?';
}

sub version {
	my ($build, $program) = @_;
	my ($end, $line) = run_limited(10, path($build, $program), 'version');
	chomp($line //= '?');
	return $line;
}

sub describe {
	my ($build, @peers) = @_;
	my ($load) = slurp('/proc/loadavg') =~ /^(\S+)/;
	return (
		[date => strftime('%Y-%m-%d', gmtime)],
		[CPU => cpu()],
		[memory => memory()],
		[kernel => kernel()],
		[libc => libc()],
		[compiler => compiler()],
		['load before' => $load // '?'],
		[weft => commit()],
		map { [$_ => version($build, $_)] } @peers
	);
}

1;
