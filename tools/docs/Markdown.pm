# SPDX-License-Identifier: MIT
#
# What the checks of the documentation need of Markdown: fenced blocks, the
# text without them, and the anchors that headings have where it is shown.
package Markdown;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(read_markdown);

# As the viewers that people use do it: lower case, no punctuation, a dash for
# each blank; a heading that is there twice gets a number.
sub anchor {
	my ($title, $seen) = @_;
	$title =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
	$title =~ s/[^\w\s-]//g;
	$title = lc $title =~ s/\s/-/gr;
	my $n = $seen->{$title}++;
	return $n ? "$title-$n" : $title;
}

# { blocks => [ { info, text, line, before, comments } ], text, anchors }
# before: the last line of text above a block; comments: the HTML comments
# right above it. In text every line of a block, and every `span`, is blank.
sub read_markdown {
	my ($file) = @_;
	my %m = (blocks => [], text => '', anchors => {});
	my (%seen, $fence, $block, @comments);
	my $before = '';
	open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	while (my $line = <$in>) {
		if (defined $fence) {
			$m{text} .= "\n";
			if ($line =~ /^\s*\Q$fence\E`*\s*$/) {
				push @{$m{blocks}}, $block;
				undef $fence;
				$before = '';
				@comments = ();
			} else {
				$block->{text} .= $line;
			}
			next;
		}
		if ($line =~ /^\s{0,3}(`{3,})\s*(.*?)\s*$/) {
			$fence = $1;
			$block = { info => $2, text => '', line => $. + 1,
			    before => $before, comments => [@comments] };
			$m{text} .= "\n";
			next;
		}
		if ($line =~ /^\s*<!--\s*(.*?)\s*-->\s*$/) {
			push @comments, $1;
		} elsif ($line =~ /\S/) {
			$before = $line =~ s/^\s+|\s+$//gr;
			@comments = ();
		}
		$m{anchors}{anchor($2, \%seen)} = $.
		    if $line =~ /^(#{1,6})\s+(.*?)\s*#*\s*$/;
		$m{anchors}{$1} = $. while $line =~ /<a\s+(?:id|name)="(.*?)"/g;
		$m{text} .= $line =~ s/(`+)(.*?)\1/' ' x length $&/ger;
	}
	die "$file:$block->{line}: this block does not end\n" if defined $fence;
	return \%m;
}

1;
