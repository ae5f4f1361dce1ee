# SPDX-License-Identifier: MIT
#
# The table tools/docs/pages, and the blocks of the headers on their pages.
package Pages;
use strict;
use warnings;
use Exporter 'import';
use Header qw(is_public);
our @EXPORT_OK = qw(read_pages page_of assign);

# A shell's pattern as a regular expression.
sub pattern {
	my ($glob) = @_;
	return $glob =~ s{(\[[^]]*\])|(.)}{
		$1 // ($2 eq '*' ? '.*' : $2 eq '?' ? '.' : quotemeta $2)}ger;
}

# { order => [names of pages],
#   pages => { NAME => { about, see, intro, first } },
#   private => pattern, rules => [[pattern, page], ...],
#   forms => { MACRO => its prototype } }
sub read_pages {
	my ($file) = @_;
	my %t = (order => [], pages => {}, rules => [], forms => {});
	my @private;
	my ($page, $form);
	open my $in, '<', $file or die "$file: $!\n";
	while (<$in>) {
		chomp;
		next if /^\s*(?:#|$)/;
		if (/^\t\t(\S.*)/ && defined $form) {
			$t{forms}{$form} .= " $1";
			next;
		}
		undef $form;
		if (/^\s+form\s+(.*)/) {
			my $text = $1;
			($form) = $text =~ /\b((?:weft|WEFT)_\w+)(?:\(|;$)/
			    or die "$file: form of what? $text\n";
			$t{forms}{$form} = $text;
		} elsif (/^private:/) {
			undef $page;
		} elsif (/^(\w+):\s+(.*)/) {
			$page = $1;
			push @{$t{order}}, $page;
			$t{pages}{$page} = { about => $2, see => [],
			    intro => [] };
			push @{$t{rules}}, map { [$_], [uc $_] }
			    $page, $page =~ /_/ ? "$page\_*" : ();
		} elsif (!defined $page) {
			push @private, split;
		} elsif (/^\s+see\s+(.*)/) {
			push @{$t{pages}{$page}{see}}, split ' ', $1;
		} elsif (/^\s+first\s+(\w+)/) {
			$t{pages}{$page}{first} = $1;
		} elsif (/^\s+intro\s+(.*)/) {
			push @{$t{pages}{$page}{intro}}, $1;
		} else {
			push @{$t{rules}}, map { [$_] } split;
		}
		$_->[1] //= $page for @{$t{rules}};
	}
	for my $p (@{$t{order}}) {
		for my $see (@{$t{pages}{$p}{see}}) {
			die "$file: $p: see $see: no such page\n"
				if !$t{pages}{$see};
		}
	}
	# The longest first; a name before a pattern of the same length.
	@{$t{rules}} = sort { length $b->[0] <=> length $a->[0] ||
	    ($a->[0] =~ /\*/) <=> ($b->[0] =~ /\*/) } @{$t{rules}};
	$_->[0] = pattern($_->[0]) for @{$t{rules}};
	$t{private} = join '|', '(?!)', map { pattern($_) } @private;
	return \%t;
}

# The page that has a name; '' if it is private, undef if there is none.
sub page_of {
	my ($t, $name) = @_;
	return '' if !is_public($name) || $name =~ /^(?:$t->{private})$/;
	for my $rule (@{$t->{rules}}) {
		return $rule->[1] if $name =~ /^$rule->[0]$/;
	}
	return undef;
}

# PAGE => [ { block, decls }, ... ]: what is on each page, in order. Where the
# page begins with a comment of another one there are no decls.
sub assign {
	my ($t, @blocks) = @_;
	my %on = map { $_ => [] } @{$t->{order}};
	my @waiting;		# comments that declare nothing
	my ($file, $last) = ('', undef);
	my $flush = sub {
		my ($page) = @_;
		push @{$on{$page}}, map { { block => $_, decls => [] } }
		    @waiting if defined $page;
		@waiting = ();
	};
	for my $b (@blocks) {
		if ($b->{file} ne $file) {
			$flush->($last);
			($file, $last) = ($b->{file}, undef);
		}
		next if $b->{head};
		if (!@{$b->{decls}}) {
			push @waiting, $b if $b->{text} ne '';
			next;
		}
		my (%here, @order);
		for my $d (@{$b->{decls}}) {
			my $page = page_of($t, $d->{name}) or next;
			push @order, $page if !$here{$page};
			push @{$here{$page}}, $d;
		}
		for my $page (@order) {
			$flush->($page);
			push @{$on{$page}}, { block => $b,
			    decls => $here{$page} };
			$last = $page;
		}
	}
	$flush->($last);
	for my $page (@{$t->{order}}) {
		for my $title (reverse @{$t->{pages}{$page}{intro}}) {
			my @intro = grep { $_->{text} ne '' && ($_->{head} ?
			    $_->{file} =~ m{(?:^|/)\Q$title\E$} :
			    $_->{section} eq $title && !@{$_->{decls}}) }
			    @blocks;
			unshift @{$on{$page}},
			    map { { block => $_, decls => [] } } @intro;
		}
	}
	return \%on;
}

1;
