# SPDX-License-Identifier: MIT
#
# The public headers as the documentation sees them: what a C program gets, in
# the order in which it is written, each declaration with the comment above it.
#
# read_headers(FILES) returns a list of blocks. A block is a comment that
# begins at the left margin and the declarations that follow it, up to the next
# such comment or section marker:
#
#	{ file, line, section,
#	  text	=> the comment without its frame, '' if there is none,
#	  head	=> it is the comment that opens the file,
#	  decls	=> [ { kind, name, names, text, line, body, apart, gap },
#		     ... ] }
#
# kind is function, macro, type, enum or variable; names are all that it
# declares, with the constants of an enum. body: a type has its members here.
# apart: it is a type with an empty line above it, and not the first thing
# under the comment, which so is not about it. (Constants may come before.) A
# type without members that stands apart is in a block of its own. gap: there
# is an empty line above it, and something else of the block above that.
#
# Of conditional parts only what C sees is kept. Names that end in an
# underscore are private: `is_public` says so, and knows header guards.
package Header;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(read_headers is_public plain parts);

sub is_public {
	my ($name) = @_;
	return $name !~ /_$/ && $name !~ /^WEFT_(?:\w+_)?H$/;
}

# A branch that only C++ sees is taken out, and so are the directives that
# declare nothing. A form feed stands for each line of these, which is white
# space and no blank line, so line numbers and paragraphs stay.
sub c_only {
	my ($text) = @_;
	my (@stack, @out);
	my $define = 0;		# a #define goes on in this line
	for my $line (split /\n/, $text) {
		my $dead = grep { !$_ } @stack;
		if ($define || $line !~ /^\s*#\s*(\w+)\s*(.*)/) {
			push @out, $dead ? "\f" : $line;
			$define &&= $line =~ /\\$/;
			next;
		}
		my ($word, $rest) = ($1, $2);
		if ($word eq 'ifdef') {
			push @stack, $rest !~ /^__cplusplus/;
		} elsif ($word eq 'ifndef') {
			push @stack, 1;
		} elsif ($word eq 'if') {
			push @stack, $rest !~ /(?<!!)defined\(__cplusplus\)/;
		} elsif ($word =~ /^el/) {
			$stack[-1] = !$stack[-1];
		} elsif ($word eq 'endif') {
			pop @stack;
		}
		my $keep = $word eq 'define' && !$dead;
		$define = $word eq 'define' && $line =~ /\\$/;
		push @out, $keep ? $line : "\f";
	}
	return join "\n", @out, '';
}

# The text of a comment, without its frame; columns of tabs are kept.
sub plain {
	my ($s) = @_;
	$s =~ s{^/\*[ \t]?}{};
	$s =~ s{\s*\*/$}{};
	$s =~ s{^ \*[ ]?}{}mg;
	$s =~ s{^\n+|\s+$}{}g;
	return $s;
}

# The name that a declarator without attributes declares.
sub declared {
	my ($s) = @_;
	return $1 if $s =~ /\(\s*\*\s*(\w+)\s*(?:\[[^]]*\])?\)\s*\(/ &&
	    $s =~ /^typedef/;
	return $1 if $s =~ /\b(\w+)\s*\(/;
	return $s =~ /(\w+)\s*(?:\[[^]]*\]\s*)*;?\s*$/ ? $1 : '';
}

sub declaration {
	my ($text) = @_;
	my %d = (text => $text, names => [], body => 0);
	my $s = $text =~ s{/\*.*?\*/}{ }gsr;
	1 while $s =~ s/\b(?:__attribute__|__asm__)
	    \s*(\((?:[^()]|(?1))*\))//x;
	$s =~ s/\b_Noreturn\b//g;
	if ($s =~ /^\s*#\s*define\s+(\w+)/) {
		@d{qw(kind name)} = ('macro', $1);
	} elsif ($s =~ /^\s*(?:typedef\s+)?enum\b\s*(\w*)\s*\{(.*)\}
	    \s*(\w*)\s*;/xs) {
		my ($tag, $body, $alias) = ($1, $2, $3);
		$d{names} = [map { /^\s*(\w+)/ ? $1 : () } split /,/, $body];
		@d{qw(kind body)} = ('enum', 1);
		$d{name} = $alias || $tag || $d{names}[0];
	} elsif ($s =~ /^\s*(?:typedef\s+)?(?:struct|union)\b\s*(\w*)\s*
	    (\{(?:[^{}]|(?2))*\})\s*(\w*)/xs) {
		@d{qw(kind body name)} = ('type', 1, $3 || $1);
	} elsif ($s =~ /^\s*typedef\b/) {
		@d{qw(kind name)} = ('type', declared($s =~ s/^\s+//r));
	} elsif ($s =~ /^\s*(?:struct|union|enum)\s+(\w+)\s*;/) {
		@d{qw(kind name)} = ('type', $1);
	} elsif ($s =~ /\(/) {
		$s =~ s/\{.*//s;
		$s =~ s/^\s*(?:static\s+)?(?:inline\s+)?/ /;
		@d{qw(kind name)} = ('function', declared($s));
		$d{text} =~ s/\s*\{.*/;/s;
		$d{text} =~ s/^static\s+inline\s+//;
	} else {
		@d{qw(kind name)} = ('variable', declared($s));
	}
	unshift @{$d{names}}, $d{name}
		if !grep { $_ eq $d{name} } @{$d{names}};
	return \%d;
}

# From $pos on: where the declaration ends.
sub declaration_end {
	my ($text, $pos) = @_;
	pos($text) = $pos;
	if ($text =~ /\G[ \t]*#/) {
		$text =~ /\G(?:[^\n]*\\\n)*[^\n]*/g;
		return pos $text;
	}
	my ($depth, $function) = (0, 0);
	while ($text =~ m{/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|
	    ([;{}()])|=}gsx) {
		my $c = $1 // '';
		$function = 1 if $c eq '(' && !$depth;
		$depth++ if $c eq '{' || $c eq '(';
		$depth-- if $c eq '}' || $c eq ')';
		return pos $text if !$depth && ($c eq ';' ||
		    $c eq '}' && $function);
	}
	return length $text;
}

sub read_header {
	my ($file) = @_;
	open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	my $text = c_only(do { local $/; <$in> });
	my ($section, @blocks) = ('');
	my $fresh = sub {
		push @blocks, { file => $file, section => $section,
		    text => '', head => 0, decls => [], @_ };
	};
	my $line = 1;
	my $near = 1;
	while ($text =~ /\G\s*\S/g) {
		my $start = pos($text) - 1;
		my $gap = substr $text, $-[0], $start - $-[0];
		$line += $gap =~ tr/\n//;
		$near = 0 if $gap =~ /\n[ \t]*\n/;
		pos($text) = $start;
		if ($text =~ m{\G/\*.*?\*/}gs) {
			my $s = $&;
			if ($s =~ m{^/\* ---- (.*?) -+ \*/$}) {
				$section = $1;
				$fresh->(line => $line);
			} elsif ($s !~ /SPDX-License-Identifier/) {
				$fresh->(line => $line, text => plain($s),
				    head => !grep { $_->{text} ne '' } @blocks);
			}
			$line += $s =~ tr/\n//;
			$near = 1;
			next;
		}
		my $end = declaration_end($text, $start);
		my $s = substr $text, $start, $end - $start;
		$fresh->(line => $line) if !@blocks || $blocks[-1]{head};
		my $d = declaration($s);
		# A type that stands apart is not what the comment was about.
		my $type = $d->{kind} =~ /^(?:type|enum)$/;
		$d->{apart} = $type && $d->{body} && !$near &&
		    grep { $_->{text} =~ /\n/ || $_->{kind} ne 'enum' }
		    @{$blocks[-1]{decls}};
		if ($type && !$d->{body} && !$near && @{$blocks[-1]{decls}}) {
			splice @blocks, -1, 0, { %{$blocks[-1]}, text => '',
			    decls => [$d], line => $line };
			$d->{elsewhere} = 1;
		}
		@$d{qw(line file)} = ($line, $file);
		$d->{gap} = !$near && @{$blocks[-1]{decls}} > 0;
		push @{$blocks[-1]{decls}}, $d if !$d->{elsewhere};
		$line += $s =~ tr/\n//;
		$near = 1;
		pos($text) = $end;
		# A comment behind a declaration belongs to it.
		$line += $& =~ tr/\n// if $text =~ m{\G[ \t]*/\*.*?\*/}gcs;
	}
	return @blocks;
}

sub read_headers { return map { read_header($_) } @_ }

# The members of a struct, or the constants of an enum: a list of
# [ text, comment, heading ], where heading is a comment that stands above
# several. Private members are left out; the second result counts them.
sub parts {
	my ($d) = @_;
	my ($body) = $d->{text} =~ /\{(.*)\}/s or return ([], 0);
	my $end = $d->{kind} eq 'enum' ? ',' : ';';
	my (@parts, $above);
	my ($s, $depth, $private, $closed) = ('', 0, 0, 0);
	my $close = sub {
		my $text = $s =~ s/\s+/ /gr =~ s/^ | $//gr;
		$s = '';
		return if $text eq '';
		$text =~ s/ WEFT_ZERO_\b//g;
		push @parts, [$text, '', $above // ''];
		undef $above;
		$closed = 1;
	};
	while ($body =~ m{(/\*.*?\*/)|([{}()])|([;,])|(\n)|(.)}gs) {
		my ($all, $comment, $bracket, $stop, $eol) =
		    ($&, $1, $2, $3, $4);
		if (defined $comment) {
			my $text = $comment =~ s{\n[ \t]*\*?[ \t]*}{ }gr
			    =~ s{^/\*\s*|\s*\*/$}{}gr;
			# The last constant of an enum has no comma.
			$close->() if $s =~ /\S/;
			if ($closed && $parts[-1][1] eq '') {
				$parts[-1][1] = $text;
			} else {
				$above = $text;
			}
			next;
		}
		if (defined $bracket) {
			$depth += $bracket =~ /[{(]/ ? 1 : -1;
		}
		if (defined $stop && $stop eq $end && !$depth) {
			$close->();
			next;
		}
		$closed = 0 if defined $eol && $s !~ /\S/;
		$s .= $all;
	}
	$close->();
	my @public;
	for my $part (@parts) {
		my @names = $part->[0] =~ /(\w+)\s*(?:\[[^]]*\]\s*)?
		    (?:__attribute__.*)?(?=,|$|=|\)\s*\()/gx;
		if (@names && !grep { is_public($_) } @names) {
			$private++;
			next;
		}
		# Above a member that says nothing itself: it is of that one.
		@$part[1, 2] = ($part->[2], '') if $part->[1] eq '';
		push @public, $part;
	}
	return (\@public, $private);
}

1;
