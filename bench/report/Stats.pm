# SPDX-License-Identifier: MIT
#
# Medians, what the same program run twice differs by, and numbers as text.
package Stats;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(median spread noise show show_ratio is_cost is_cliff);

sub median {
	my @v = sort { $a <=> $b } @_;
	return ($v[$#v / 2] + $v[@v / 2]) / 2;
}

sub spread {
	my @v = sort { $a <=> $b } @_;
	return @v[0, -1];
}

# The most that the medians of two halves of these runs of one program differ
# by, however they are divided, as a ratio: that of the upper half by that of
# the lower one. A smaller difference between two programs says nothing.
# Undefined if there is only one run.
sub noise {
	my @v = sort { $a <=> $b } @_;
	return undef if @v < 2;
	my $half = int @v / 2;
	my $lower = median(@v[0 .. $half - 1]);
	return $lower > 0 ? median(@v[-$half .. -1]) / $lower : undef;
}

# With three digits that count, and commas.
sub show {
	my ($v) = @_;
	my $digits = abs $v < 1 ? 3 : abs $v < 10 ? 2 : abs $v < 1000 ? 1 : 0;
	my $text = sprintf "%.${digits}f", $v;
	1 while $text =~ s/^(-?\d+)(\d{3})/$1,$2/;
	return $text;
}

sub show_ratio {
	my ($v) = @_;
	return sprintf '%.0f', $v if abs $v >= 100;
	return sprintf abs $v < 0.1 ? '%.3f' : '%.2f', $v;
}

# Whether less is better.
sub is_cost {
	my ($unit) = @_;
	return $unit !~ m{/s$};
}

# Whether so many times a line's value on one processor is too much: more than
# 1.3 times on up to 2, more than twice on more. Lateness is no cost: where
# more loops run than the machine has CPUs it is the kernel's.
sub is_cliff {
	my ($ratio, $procs, $name, $unit) = @_;
	return 0 if $unit !~ m{^(?:ns/op|ms)$} || $name =~ /\.p\d+$/;
	return $ratio > ($procs > 2 ? 2 : 1.3);
}

1;
