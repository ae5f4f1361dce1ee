# SPDX-License-Identifier: MIT
#
# A file of samples, and the same sorted by line. The file has lines of words
# separated by tabs: first `# WORD TEXT`, what it was measured on; then a head;
# then one line for each sample. A run that ended badly is a sample of its
# workload whose value is `timeout` or `failed`.
package Results;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(write_head write_sample read_results);

use constant COLUMNS => qw(name procs program value unit workload round);

sub write_head {
	my ($out, @machine) = @_;
	print $out "# $_->[0]\t$_->[1]\n" for @machine;
	print $out join("\t", COLUMNS), "\n";
}

sub write_sample {
	my ($out, %sample) = @_;
	print $out join("\t", @sample{+COLUMNS}), "\n";
}

# Adds a sample to the line it is of.
sub add {
	my ($r, $s) = @_;
	my ($name, $procs, $program) = @$s{qw(name procs program)};
	$r->{procs}{$procs} = 1;
	$r->{programs}{$program} = 1;
	if ($s->{value} =~ /^(?:timeout|failed)$/) {
		$r->{ended}{$s->{workload}}{$procs}{$program} = $s->{value};
		return;
	}
	my $line = $r->{line}{$name};
	if (!$line) {
		$line = $r->{line}{$name} = { name => $name,
		    unit => $s->{unit}, workload => $s->{workload}, at => {} };
		push @{$r->{lines}}, $line;
	}
	push @{$line->{at}{$procs}{$program}}, $s->{value};
}

# { machine => [[word, text]...], lines => [{ name, unit, workload,
# at => { PROCS => { PROGRAM => [values] } } }...], line => the same by name,
# procs => [...], programs => { NAME => 1 },
# ended => { WORKLOAD => { PROCS => { PROGRAM => why } } } }
sub read_results {
	my ($file) = @_;
	my %r = (machine => [], lines => [], line => {}, procs => {},
		 programs => {}, ended => {});
	open my $in, '<', $file or die "$0: $file: $!\n";
	while (my $text = <$in>) {
		chomp $text;
		if ($text =~ /^# (.*?)\t(.*)/) {
			push @{$r{machine}}, [$1, $2];
			next;
		}
		my %s;
		@s{+COLUMNS} = split /\t/, $text;
		next if $s{name} eq 'name';
		die "$0: $file:$.: not a sample\n" if !defined $s{round};
		add(\%r, \%s);
	}
	$r{procs} = [sort { $a <=> $b } keys %{$r{procs}}];
	die "$0: $file: no samples\n" if !@{$r{lines}};
	return \%r;
}

1;
