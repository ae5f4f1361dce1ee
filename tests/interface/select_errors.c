/* SPDX-License-Identifier: MIT */
/*
 * What must not compile: a place to receive into that is not a pointer, a
 * pointer to const, a value that does not fit a case. Each mistake is in a
 * program that compiles without it, with the same compiler and all warnings
 * as errors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "t.h"

static const char program[] =
	"#include <weft.h>\n"
	"struct large { char bytes[17]; };\n"
	"void f(weft_chan *c, int n, const int *fixed, struct large l);\n"
	"void f(weft_chan *c, int n, const int *fixed, struct large l)\n"
	"{\n"
	"	(void)c, (void)n, (void)fixed, (void)l;\n"
	"	%s\n"
	"}\n";

/* The exit status of the compiler; -1 if there is none. */
static int
compile(const char *cc, const char *flags, const char *line)
{
	char command[256];
	FILE *out;

	snprintf(command, sizeof command, "%s -x %s -fsyntax-only -Wall "
	    "-Wextra -Wshadow -Werror -Iinclude - 2> /dev/null", cc, flags);
	out = popen(command, "w");
	if (!out)
		return -1;
	fprintf(out, program, line);
	return pclose(out);
}

/* The C++ compiler that goes with it, or NULL. */
static const char *
cxx_of(const char *cc)
{
	static char name[128];
	char *tail;

	snprintf(name, sizeof name, "%s", cc);
	tail = strstr(name, "clang");
	if (tail && !tail[5])
		strcat(name, "++");
	else if ((tail = strstr(name, "gcc")) && !tail[3] &&
	    !strstr(name, "musl"))
		strcpy(tail, "g++");
	else
		return NULL;
	return compile(name, "c++ -std=c++17", "") == 0 ? name : NULL;
}

static const char *
compiler(void)
{
	const char *cc = getenv("CC");

	if (!cc)
		cc = "cc";
	if (compile(cc, "c -std=gnu11", "") != 0)
		t_skip("no compiler, or not at the top of the tree");
	return cc;
}

static void
both(const char *line, bool compiles)
{
	const char *cc = compiler(), *cxx = cxx_of(cc);

	EQ(compile(cc, "c -std=gnu11", line) == 0, compiles);
	if (cxx)
		EQ(compile(cxx, "c++ -std=c++17", line) == 0, compiles);
}

TEST(right)
{
	both("int x; weft_case k[] = { WEFT_CASE_RECV(c, &x),"
	    " WEFT_CASE_RECV(c, NULL), WEFT_CASE_SEND(c, n),"
	    " WEFT_CASE_SEND_FROM(c, &l), WEFT_CASE_SEND_FROM(c, fixed),"
	    " WEFT_CASE_DEFAULT }; weft_select(k, 6);", true);
	both("int x; weft_recv_ok(c, &x); weft_try_recv(c, &x);"
	    " weft_recv_until(c, &x, 0); weft_recv_context(c, &x, NULL);"
	    " weft_send(c, l); weft_try_send(c, l);", true);
	both("int x; WEFT_SELECT(s) { WEFT_ON_RECV(s, c, &x) {"
	    " WEFT_SELECT(t) { WEFT_ON_SEND(t, c, x) { break; }"
	    " WEFT_ON_DEFAULT(t) {} } }"
	    " WEFT_ON_SEND_FROM(s, c, &l) { if (s.ok) break; }"
	    " WEFT_ON_TIMEOUT(s, 0) {} WEFT_ON_CANCEL(s, NULL) {} }", true);
}

TEST(receives_into_a_number)
{
	both("weft_case k = WEFT_CASE_RECV(c, n); weft_select(&k, 1);", false);
	both("WEFT_SELECT(s) { WEFT_ON_RECV(s, c, n) {} }", false);
	both("weft_recv_ok(c, n);", false);
	both("weft_try_recv(c, n);", false);
	both("weft_recv_until(c, n, 0);", false);
	both("weft_recv_context(c, n, NULL);", false);
}

TEST(receives_into_a_struct)
{
	both("weft_case k = WEFT_CASE_RECV(c, l); weft_select(&k, 1);", false);
}

TEST(receives_into_const)
{
	both("weft_case k = WEFT_CASE_RECV(c, fixed); weft_select(&k, 1);",
	    false);
	both("weft_recv_ok(c, fixed);", false);
}

TEST(sends_from_a_number)
{
	both("weft_case k = WEFT_CASE_SEND_FROM(c, n); weft_select(&k, 1);",
	    false);
}

TEST(sends_too_much)
{
	both("weft_case k = WEFT_CASE_SEND(c, l); weft_select(&k, 1);", false);
	both("WEFT_SELECT(s) { WEFT_ON_SEND(s, c, l) {} }", false);
}

TEST(names_that_are_gone)
{
	both("weft_case k = WEFT_RECV(c, NULL); weft_select(&k, 1);", false);
	both("weft_case k = WEFT_SEND(c, NULL); weft_select(&k, 1);", false);
}
