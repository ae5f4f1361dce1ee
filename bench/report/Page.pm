# SPDX-License-Identifier: MIT
#
# Writes benchmarks.md and a picture for each line of the benchmark, from the
# samples.
package Page;

use strict;
use warnings;
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Path qw(make_path);
use Plot qw(plot);
use Stats qw(median spread noise show show_ratio is_cost is_cliff);

our @EXPORT_OK = qw(write_page);

# Order and names of the columns.
use constant PEERS => qw(go tokio boost-fiber openmp tbb rayon limit);
my %label = (weft => 'weft', before => 'weft before', go => 'Go',
	     tokio => 'Tokio', 'boost-fiber' => 'Boost.Fiber',
	     openmp => 'OpenMP', tbb => 'oneTBB', rayon => 'Rayon',
	     limit => 'no runtime');

# ---- what a line says

# What each line is, in words.
sub descriptions {
	my $file = dirname(__FILE__) . '/lines.txt';
	open my $in, '<', $file or die "$0: $file: $!\n";
	return map { /^([^#\t]+)\t(.*)/ ? ($1, $2) : () } <$in>;
}

# A program's values; those of the second run of weft are weft's, too.
sub values_of {
	my ($line, $procs, $program) = @_;
	my $at = $line->{at}{$procs} // {};
	return map { @{$at->{$_} // []} } $program,
	    $program eq 'weft' ? 'again' : ();
}

sub median_of {
	my @v = values_of(@_);
	return @v ? median(@v) : undef;
}

# Weft's median by a program's, or undefined.
sub ratio {
	my ($line, $procs, $program) = @_;
	my ($weft, $other) = map { median_of($line, $procs, $_) } 'weft',
	    $program;
	return defined $weft && $other ? $weft / $other : undef;
}

# How many times worse weft is.
sub worse {
	my ($line, $ratio) = @_;
	return is_cost($line->{unit}) ? $ratio : $ratio ? 1 / $ratio : 1e9;
}

# '' if weft is not worse, 'near' if the runs of both overlap, or 'slower'.
sub verdict {
	my ($line, $procs, $program) = @_;
	my $ratio = ratio($line, $procs, $program);
	return '' if !defined $ratio || worse($line, $ratio) <= 1.005;
	my ($least, $most) = spread(values_of($line, $procs, 'weft'));
	my ($low, $high) = spread(values_of($line, $procs, $program));
	return $least <= $high && $low <= $most ? 'near' : 'slower';
}

# What weft differs from itself by, as a ratio of 1 or more.
sub own_noise {
	my ($line, $procs) = @_;
	return noise(values_of($line, $procs, 'weft'));
}

# 1 if weft is worse than before by more than either build differs from itself,
# -1 if it is better by more than that, or 0.
sub changed {
	my ($line, $procs) = @_;
	my $ratio = ratio($line, $procs, 'before') || return 0;
	my ($noise, $its) = map { noise(values_of($line, $procs, $_)) // 1 }
	    qw(weft before);
	$noise = $its if $its > $noise;
	my $worse = worse($line, $ratio);
	return $worse > $noise ? 1 : 1 / $worse > $noise ? -1 : 0;
}

sub programs_of {
	my ($r, $line) = @_;
	return grep {
		my $program = $_;
		grep { values_of($line, $_, $program) ||
			$r->{ended}{$line->{workload}}{$_}{$program} }
			@{$r->{procs}};
	} 'before', PEERS;
}

# Lines that weft prints, or would have.
sub lines_of {
	my ($r) = @_;
	return grep {
		my $line = $_;
		grep { values_of($line, $_, 'weft') ||
			$r->{ended}{$line->{workload}}{$_}{weft} }
			@{$r->{procs}};
	} @{$r->{lines}};
}

# ---- text

sub row { return '| ' . join(' | ', @_) . " |\n" }

sub table_head {
	return row(@_) . '|' . '---|' x @_ . "\n";
}

# Median and spread, or how the program ended.
sub cell {
	my ($r, $line, $procs, $program) = @_;
	my @v = values_of($line, $procs, $program);
	return $r->{ended}{$line->{workload}}{$procs}{$program} // '' if !@v;
	my ($least, $most) = map { show($_) } spread(@v);
	return show(median(@v)) . ($least eq $most ? '' : " ($least..$most)");
}

sub ratio_cell {
	my ($line, $procs, $program) = @_;
	my $ratio = ratio($line, $procs, $program) // return '';
	my $text = show_ratio($ratio);
	return $text . (changed($line, $procs) > 0 ? ' **slower**' : '')
	    if $program eq 'before';
	my $verdict = $program eq 'limit' ? '' :
	    verdict($line, $procs, $program);
	return $verdict eq 'slower' ? "**$text slower**" :
	    $verdict eq 'near' ? "$text slower, within the spread" : $text;
}

# The second run by the first, and what halves differ by.
sub again_cell {
	my ($line, $procs) = @_;
	my ($weft, $again) = map { $line->{at}{$procs}{$_} } qw(weft again);
	return '' if !$weft || !$again || !median(@$weft);
	my $noise = own_noise($line, $procs) // return '';
	return show_ratio(median(@$again) / median(@$weft)) . ', ' .
	    show_ratio($noise);
}

sub machine {
	my ($r) = @_;
	my $text = table_head('what', 'on this machine');
	for my $pair (@{$r->{machine}}) {
		my ($word, $what) = @$pair;
		$text .= row($label{$word} // $word, $what =~ s/\|/\\|/gr);
	}
	return $text;
}

sub anchor {
	my ($name) = @_;
	return lc($name =~ s/[^\w-]//gr);
}

sub link_to {
	my ($line) = @_;
	return "[$line->{name}](#" . anchor($line->{name}) . ')';
}

sub count_against {
	my ($r, $program) = @_;
	my %count = ('' => 0, near => 0, slower => 0);
	for my $line (lines_of($r)) {
		for my $procs (@{$r->{procs}}) {
			$count{verdict($line, $procs, $program)}++
			    if defined ratio($line, $procs, $program);
		}
	}
	return \%count;
}

sub summary {
	my ($r) = @_;
	my $text = table_head('against', 'rows', 'weft costs less, or as much',
			      'more, within the spread', 'more');
	for my $program (grep { $r->{programs}{$_} } PEERS) {
		my $count = count_against($r, $program);
		my $all = $count->{''} + $count->{near} + $count->{slower};
		$text .= row($label{$program}, $all, $count->{''},
			     $count->{near}, $count->{slower}) if $all;
	}
	return $text;
}

# Every row of a peer that weft loses.
sub losses {
	my ($r) = @_;
	my $rows = '';
	for my $line (lines_of($r)) {
		for my $procs (@{$r->{procs}}) {
			for my $peer (grep { $_ ne 'limit' } PEERS) {
				my $v = verdict($line, $procs, $peer) or next;
				$rows .= row(link_to($line), $procs,
				    cell($r, $line, $procs, 'weft'),
				    $line->{unit}, $label{$peer},
				    cell($r, $line, $procs, $peer),
				    show_ratio(ratio($line, $procs, $peer)),
				    $v eq 'near' ? 'within the spread' : '');
			}
		}
	}
	return "No row.\n" if $rows eq '';
	return table_head('line', 'processors', 'weft', 'unit', 'peer',
			  'its value', 'ratio', '') . $rows;
}

# Costs of weft that more processors raise by too much.
sub cliffs {
	my ($r) = @_;
	my ($first, @more) = @{$r->{procs}};
	my $rows = '';
	for my $line (lines_of($r)) {
		my $base = median_of($line, $first, 'weft') or next;
		for my $procs (@more) {
			my $value = median_of($line, $procs, 'weft') // next;
			next if !is_cliff($value / $base, $procs,
					  @$line{qw(name unit)});
			my $go = median_of($line, $procs, 'go');
			my $go_base = median_of($line, $first, 'go');
			$rows .= row(link_to($line), $procs,
			    show_ratio($value / $base), $go && $go_base ?
			    show_ratio($go / $go_base) : '');
		}
	}
	return "No row.\n" if $rows eq '';
	return table_head('line', 'processors', "weft, of its cost on $first",
			  'Go, likewise') . $rows;
}

sub against_before {
	my ($r) = @_;
	my ($rows, $all, $slower, $faster) = ('', 0, 0, 0);
	for my $line (lines_of($r)) {
		for my $procs (@{$r->{procs}}) {
			my $ratio = ratio($line, $procs, 'before') // next;
			my $change = changed($line, $procs);
			$all++;
			$faster++ if $change < 0;
			next if $change <= 0;
			$slower++;
			$rows .= row(link_to($line), $procs,
			    cell($r, $line, $procs, 'weft'), $line->{unit},
			    cell($r, $line, $procs, 'before'),
			    show_ratio($ratio),
			    map { show_ratio(noise(values_of($line, $procs, $_))
				// 1) } qw(weft before));
		}
	}
	my $text = "Of $all rows, $slower cost more than in the older build " .
	    "by more than either build differs from itself, and $faster " .
	    "less.\n";
	print $text;
	$text .= "\n" . table_head('line', 'processors', 'weft', 'unit',
	    'before', 'ratio', 'noise', 'noise before') . $rows if $slower;
	return $text;
}

# The section of a line.
sub section {
	my ($r, $line, $text) = @_;
	my @programs = programs_of($r, $line);
	my $file = 'benchmarks/' . file_of($line);
	my $md = "### $line->{name}\n\n" .
	    ($text // "In $line->{unit}.") . "\n\n" .
	    "![$line->{name} by processors, in $line->{unit}]($file)\n\n";
	$md .= table_head('processors', "weft, $line->{unit}", 'runs',
	    'again, noise', map { ($label{$_}, 'ratio') } @programs);
	for my $procs (@{$r->{procs}}) {
		my @v = values_of($line, $procs, 'weft');
		$md .= row($procs, cell($r, $line, $procs, 'weft'), scalar @v,
		    again_cell($line, $procs), map {
			(cell($r, $line, $procs, $_),
			 ratio_cell($line, $procs, $_))
		    } @programs);
	}
	return "$md\n";
}

# ---- pictures

sub file_of {
	my ($line) = @_;
	return $line->{name} =~ s/[^\w.-]/_/gr . '.svg';
}

sub picture {
	my ($r, $line, $text) = @_;
	my (@series, @words);
	for my $program ('weft', programs_of($r, $line)) {
		my %at;
		for my $procs (@{$r->{procs}}) {
			my @v = values_of($line, $procs, $program) or next;
			my ($least, $most) = spread(@v);
			$at{$procs} = [$least, median(@v), $most];
			push @words, "$label{$program} on $procs: " .
			    show(median(@v));
		}
		push @series, { program => $program, at => \%at,
				label => $label{$program} } if %at;
	}
	return plot({ name => $line->{name}, unit => $line->{unit},
		      note => (is_cost($line->{unit}) ? 'less' : 'more') .
			' is better; bars: least to most',
		      text => join(' ', $text // (), 'Medians in ' .
			"$line->{unit} by processors:", join(', ', @words)) .
			'.',
		      procs => $r->{procs}, series => \@series });
}

sub write_file {
	my ($file, $text) = @_;
	open my $out, '>', $file or die "$0: $file: $!\n";
	print $out $text;
	close $out or die "$0: $file: $!\n";
}

# ---- all of it

sub intro {
	my ($r) = @_;
	my $procs = join ', ', @{$r->{procs}};
	my %machine = map { @$_ } @{$r->{machine}};
	my $out = ($machine{CPU} // '') =~ /(\d+) CPUs/ &&
	    $1 < $r->{procs}[-1] ? " Where there are more processors than " .
	    "CPUs ($1 here), their threads take turns." : '';
	return <<"E";
# Benchmarks

<!-- Written by \`make bench-report\`; change bench/report. -->

Every workload of \`weft-bench\` beside the same work written for other
runtimes (\`bench/peers\`), on $procs processors.$out

\`make bench-report\` writes this page anew; \`make bench\` prints a table of
any of it. Times differ from machine to machine and from hour to hour: what
counts is the ratio of two programs that ran by turns.

A value is the median of the runs, with the least and the most in brackets. A
ratio is weft's value by the other's: below 1, weft costs less. *Slower* marks a
row that weft loses, *within the spread* if the runs of both overlap. In every
round weft runs twice, against itself: *again* is the median of the second runs
by that of the first, and *noise* the most that the medians of two halves of all
its runs differ by, however they are divided. A smaller difference between two
programs says nothing. A peer whose run takes longer than 15 seconds ran once:
its value has no spread.

*No runtime* is what the machine allows, threads and system calls
(\`bench/peers/limit\`), and no peer to beat. A cell says \`timeout\` or
\`failed\` where a program ended so. MassiveThreads and libmill have no package
in Debian's stable release, and were not measured.

E
}

# Writes the page and the pictures into a folder. Returns the status to exit
# with.
sub write_page {
	my ($r, $dir) = @_;
	my %text = descriptions();
	my @lines = lines_of($r);
	my $md = intro($r) . machine($r) . "\n## In short\n\n" . summary($r) .
	    "\n## Where weft costs more than a peer\n\n" . losses($r) .
	    "\n## Where more processors cost more\n\nRows where weft takes " .
	    "more than 1.3 times its cost on $r->{procs}[0] (on 2), or " .
	    "more than twice (on more).\n\n" . cliffs($r);
	$md .= "\n## Against the older build\n\n" . against_before($r)
	    if $r->{programs}{before};
	$md .= "\n## Line by line\n\n" .
	    join('', map { section($r, $_, $text{$_->{name}}) } @lines);
	make_path("$dir/benchmarks");
	unlink glob "$dir/benchmarks/*.svg";
	write_file("$dir/benchmarks/" . file_of($_),
		   picture($r, $_, $text{$_->{name}})) for @lines;
	write_file("$dir/benchmarks.md", $md =~ s/\n+\z/\n/r);
	print "page: $dir/benchmarks.md, ", scalar @lines, " pictures\n";
	my $failed = grep { grep { $_->{weft} || $_->{again} } values %$_ }
	    values %{$r->{ended}};
	return $failed ? 1 : 0;
}

1;
