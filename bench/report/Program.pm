# SPDX-License-Identifier: MIT
#
# The programs of the benchmark: where they are, how one is run, and what a
# line that it prints says.
package Program;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(peers path run_limited parse last_values list_workloads);

# In the order of the columns. `limit` is no peer but the work with no runtime.
use constant PEERS => qw(go tokio boost-fiber openmp tbb rayon limit);

my $NUMBER = qr/-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?/;

sub path {
	my ($build, $name) = @_;
	return $name eq 'weft' ? "$build/bench/weft-bench" :
	    "$build/peers/$name";
}

# Those that were built.
sub peers {
	my ($build) = @_;
	return grep { -x path($build, $_) } PEERS;
}

# Runs a command for at most so many seconds. Returns how it ended ('',
# 'timeout' or 'failed') and the lines it printed. It leads a process group, to
# be ended with all it started.
sub run_limited {
	my ($seconds, @command) = @_;
	my @lines;
	my $pid = open(my $out, '-|') // die "$0: fork: $!\n";
	if (!$pid) {
		setpgrp;
		exec { $command[0] } @command or die "$0: $command[0]: $!\n";
	}
	my $stop = sub { kill 'KILL', -$pid; exit 130 };
	local @SIG{qw(INT TERM)} = ($stop, $stop);
	local $SIG{ALRM} = sub { die "timeout\n" };
	my $end = eval {
		alarm $seconds;
		while (my $line = <$out>) {
			push @lines, $line;
		}
		close $out;
		alarm 0;
		$? ? 'failed' : '';
	} // 'timeout';
	kill 'KILL', -$pid if $end;
	return $end, @lines;
}

# The values a line holds, each [name, value, unit]. `x 1 ms p50  2 ms p99`
# holds two, x.p50 and x.p99; a line that is no result holds none.
sub parse {
	my ($name, $rest) = $_[0] =~ /^(\S+)\s+($NUMBER\s+\S.*)/ or return;
	my @values;
	while ($rest =~ /($NUMBER)\s+(\S+)\s+(p\d+)\b/g) {
		push @values, ["$name.$3", $1, $2];
	}
	return @values if @values;
	my ($value, $unit) = split ' ', $rest;
	return [$name, $value, $unit];
}

# The last value of each name, in the order first seen: earlier ones were
# warm-up.
sub last_values {
	my (%last, @order);
	for my $value (map { parse($_) } @_) {
		push @order, $value->[0] if !$last{$value->[0]};
		$last{$value->[0]} = $value;
	}
	return map { $last{$_} } @order;
}

# What weft-bench can run; dies if one of those asked for is not among it.
sub list_workloads {
	my ($build, @asked) = @_;
	my $weft = path($build, 'weft');
	-x $weft or die "$0: no $weft: run make bench\n";
	my ($end, @known) = run_limited(10, $weft, 'list');
	die "$0: $weft list: $end\n" if $end;
	chomp @known;
	for my $name (@asked) {
		grep { $_ eq $name } @known
			or die "$0: no workload $name among: @known\n";
	}
	return @known;
}

1;
