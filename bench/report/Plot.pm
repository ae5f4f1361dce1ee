# SPDX-License-Identifier: MIT
#
# Draws one line of the benchmark as an SVG: processors from left to right,
# cost upwards on a logarithmic scale, a point at each median with a bar from
# the least value to the most. Plain shapes and text on a background of their
# own, in the colours that the viewer prefers (light or dark); a program is told
# by its shape, too.
package Plot;

use strict;
use warnings;
no warnings 'qw';		# of colours: # is no comment
use Exporter qw(import);
use Stats qw(show);

our @EXPORT_OK = qw(plot);

use constant { WIDTH => 760, HEIGHT => 400, LEFT => 84, RIGHT => 590,
	       TOP => 64, BOTTOM => 340, DODGE => 7 };

# Program, shape, and colour in light and in dark.
my %style = map { $_->[0] => $_ } (
	[qw(weft circle #0550ae #79c0ff)],
	[qw(before hollow #0550ae #79c0ff)],
	[qw(go square #0f766e #5eead4)],
	[qw(tokio up #b45309 #fbbf24)],
	[qw(boost-fiber diamond #9333ea #d2a8ff)],
	[qw(openmp down #be185d #f9a8d4)],
	[qw(tbb cross #4d7c0f #a3e635)],
	[qw(rayon plus #b91c1c #ff9492)],
	[qw(limit hollow #57606a #9da7b3)],
);

sub escape {
	my ($s) = @_;
	$s =~ s/&/&amp;/g;
	$s =~ s/</&lt;/g;
	$s =~ s/>/&gt;/g;
	$s =~ s/"/&quot;/g;
	return $s;
}

sub style {
	my (@keys) = @_;
	my $css = "text { font: 13px sans-serif }\n" .
	    ".head { font-size: 17px; font-weight: bold }\n" .
	    ".middle { text-anchor: middle } .end { text-anchor: end }\n" .
	    ".grid { stroke-width: 1 } .bar { stroke-width: 1.5 }\n" .
	    ".path { fill: none; stroke-width: 1.5 }\n" .
	    ".p-weft.path { stroke-width: 3 }\n" .
	    ".dashed { stroke-dasharray: 5 4 }\n.mark { stroke-width: 2 }\n";
	for my $dark (0, 1) {
		my ($ground, $ink, $faint, $grid) = $dark ?
		    qw(#0d1117 #e6edf3 #9da7b3 #30363d) :
		    qw(#ffffff #1f2328 #57606a #d8dee4);
		$css .= "\@media (prefers-color-scheme: dark) {\n" if $dark;
		$css .= ".ground { fill: $ground }\ntext { fill: $ink }\n" .
		    ".faint { fill: $faint }\n.grid { stroke: $grid }\n";
		for my $key (@keys) {
			my $colour = $style{$key}[2 + $dark];
			$css .= ".p-$key { stroke: $colour; fill: $colour }\n" .
			    ".p-$key.path { fill: none }\n" .
			    ".p-$key.hollow { fill: $ground }\n";
		}
		$css .= "}\n" if $dark;
	}
	return $css;
}

# ---- scales

# Steps of 1, 2, 5 of each power of ten between the ends; only powers if there
# were too many, finer ones if there were too few.
sub ticks {
	my ($lo, $hi) = @_;
	my @ticks;
	for my $steps ([1], [1, 3], [1, 2, 5], [1 .. 9],
		       [map { $_ / 5 } 5 .. 49], [map { $_ / 20 } 20 .. 199]) {
		my @more;
		for my $power (floor10($lo) .. floor10($hi)) {
			push @more, map { $_ * 10 ** $power } @$steps;
		}
		@more = grep { $_ >= $lo * 0.999 && $_ <= $hi * 1.001 } @more;
		last if @more > 8 && @ticks >= 2;
		@ticks = @more;
		last if @ticks >= 4;
	}
	return @ticks;
}

sub floor10 {
	my ($v) = @_;
	my $power = log($v) / log(10);
	return $power == int $power ? $power : int($power) - ($power < 0);
}

# As short as it can be: 0.5, 20, 10,000.
sub tick_text {
	my ($v) = @_;
	my $text = $v < 1e15 ? sprintf('%.10f', $v) =~ s/\.?0+$//r : "$v";
	1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
	return $text;
}

# The ends of the scale: all values, and some room.
sub ends {
	my @all = sort { $a <=> $b } grep { $_ > 0 } @_;
	my ($lo, $hi) = @all ? @all[0, -1] : (1, 10);
	my $room = log($hi / $lo) * 0.06 + 0.05;
	return $lo / exp $room, $hi * exp $room;
}

# ---- shapes

sub mark {
	my ($x, $y, $shape, $class) = @_;
	my $at = sprintf 'class="mark %s%s"', $class,
	    $shape eq 'hollow' ? ' hollow' : '';
	my %path = (
		square => 'M-4.5,-4.5 h9 v9 h-9 z',
		up => 'M0,-6 L5.5,4 L-5.5,4 z',
		down => 'M0,6 L5.5,-4 L-5.5,-4 z',
		diamond => 'M0,-6 L5,0 L0,6 L-5,0 z',
		cross => 'M-4,-4 L4,4 M-4,4 L4,-4',
		plus => 'M-5.5,0 H5.5 M0,-5.5 V5.5',
	);
	return sprintf '<circle cx="%.1f" cy="%.1f" r="5" %s/>', $x, $y, $at
	    if !$path{$shape};
	return sprintf '<path transform="translate(%.1f,%.1f)" d="%s" %s/>',
	    $x, $y, $path{$shape}, $at;
}

sub draw_axes {
	my ($procs, $x, $y, $unit, @ticks) = @_;
	my $svg = '';
	for my $tick (@ticks) {
		my $at = $y->($tick);
		$svg .= sprintf '<path d="M%d,%.1f H%d" class="grid"/>' . "\n" .
		    '<text x="%d" y="%.1f" class="faint end">%s</text>' . "\n",
		    LEFT, $at, RIGHT, LEFT - 8, $at + 4.5, tick_text($tick);
	}
	$svg .= sprintf '<text x="%.1f" y="%d" class="middle">%d</text>' . "\n",
	    $x->($_), BOTTOM + 22, $procs->[$_] for 0 .. $#$procs;
	$svg .= sprintf '<text x="%d" y="%d" class="faint middle">' .
	    "processors</text>\n", (LEFT + RIGHT) / 2, BOTTOM + 44;
	$svg .= sprintf '<text transform="translate(20,%d) rotate(-90)" ' .
	    'class="faint middle">%s</text>' . "\n", (TOP + BOTTOM) / 2,
	    escape("$unit, logarithmic");
	return $svg;
}

# One program: the line through its medians, a bar and a point at each.
sub draw_series {
	my ($s, $procs, $unit, $x, $y) = @_;
	my (undef, $shape) = @{$style{$s->{program}}};
	my $class = "p-$s->{program}";
	my ($points, @line) = ('');
	for my $i (0 .. $#$procs) {
		my $v = $s->{at}{$procs->[$i]} or next;
		my ($lo, $mid, $hi) = @$v;
		my $at = $x->($i) + $s->{dodge};
		push @line, sprintf '%.1f,%.1f', $at, $y->($mid);
		$points .= sprintf "<g><title>%s</title>\n" .
		    '<path d="M%.1f,%.1f V%.1f M%.1f,%.1f h8 m-8,%.1f h8" ' .
		    'class="bar path %s"/>' . "\n%s</g>\n",
		    escape(sprintf '%s, %d processors: %s %s (%s..%s)',
			$s->{label}, $procs->[$i], show($mid), $unit,
			show($lo), show($hi)),
		    $at, $y->($lo), $y->($hi), $at - 4, $y->($hi),
		    $y->($lo) - $y->($hi), $class,
		    mark($at, $y->($mid), $shape, $class);
	}
	my $dashed = $shape eq 'hollow' ? ' dashed' : '';
	my $path = @line > 1 ? sprintf '<path d="M%s" class="path %s%s"/>' .
	    "\n", join(' L', @line), $class, $dashed : '';
	return $path . $points;
}

sub draw_legend {
	my @series = @_;
	my ($svg, $at) = ('', TOP + 12);
	for my $s (@series) {
		my (undef, $shape) = @{$style{$s->{program}}};
		my $class = "p-$s->{program}";
		$svg .= sprintf '<path d="M%d,%d h28" class="path %s%s"/>' .
		    "\n%s\n" . '<text x="%d" y="%d">%s</text>' . "\n",
		    RIGHT + 24, $at, $class,
		    $shape eq 'hollow' ? ' dashed' : '',
		    mark(RIGHT + 38, $at, $shape, $class),
		    RIGHT + 62, $at + 4.5, escape($s->{label});
		$at += 26;
	}
	return $svg;
}

# { name, unit, note, text (what it shows, in words), procs => [...],
# series => [{ program, label, at => { PROCS => [least, median, most] } }] }
sub plot {
	my ($p) = @_;
	my @procs = @{$p->{procs}};
	my @series = @{$p->{series}};
	my ($lo, $hi) = ends(map { map { @$_ } values %{$_->{at}} } @series);
	my $step = (RIGHT - LEFT) / @procs;
	my $x = sub { LEFT + $step * ($_[0] + 0.5) };
	my $y = sub {
		my $v = $_[0] < $lo ? $lo : $_[0];
		BOTTOM - (BOTTOM - TOP) * log($v / $lo) / log($hi / $lo);
	};
	$series[$_]{dodge} = ($_ - $#series / 2) * DODGE for 0 .. $#series;

	my $svg = sprintf '<svg xmlns="http://www.w3.org/2000/svg" ' .
	    'viewBox="0 0 %d %d" width="%d" height="%d" role="img" ' .
	    'aria-labelledby="t d">' . "\n", (WIDTH, HEIGHT) x 2;
	$svg .= "<!-- Drawn by bench/report/run. -->\n";
	$svg .= sprintf "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n",
	    escape("$p->{name}, $p->{unit}"), escape($p->{text});
	$svg .= '<style>' . style(map { $_->{program} } @series) . "</style>\n";
	$svg .= sprintf '<rect width="%d" height="%d" rx="8" ' .
	    "class=\"ground\"/>\n", WIDTH, HEIGHT;
	$svg .= sprintf '<text x="24" y="34" class="head">%s</text>' . "\n" .
	    '<text x="%d" y="34" class="faint end">%s</text>' . "\n",
	    escape($p->{name}), WIDTH - 24, escape($p->{note});
	$svg .= draw_axes(\@procs, $x, $y, $p->{unit}, ticks($lo, $hi));
	# weft last, above the others.
	$svg .= draw_series($_, \@procs, $p->{unit}, $x, $y)
	    for reverse @series;
	$svg .= draw_legend(@series);
	return "$svg</svg>\n";
}

1;
