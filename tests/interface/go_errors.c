/* SPDX-License-Identifier: MIT */
/*
 * What a compiler says about wrong uses of weft_go and its relatives: little,
 * in the user's words, and not nothing. Programs are compiled here, with the
 * compiler of this variant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_folder.h"
#include "t.h"

enum { MOST_LINES = 29 };

static const char head[] =
	"#include <weft.h>\n"
	"void worker(int *p);\n"
	"void worker2(int *p, long n);\n"
	"int fails(int n);\n"
	"void eight(int, int, int, int, int, int, int, int);\n"
	"void program(long *q, int i);\n"
	"void program(long *q, int i)\n"
	"{\n"
	"	weft_waitgroup wg = {0};\n"
	"	weft_group g = {0};\n"
	"	(void)q, (void)i, (void)wg, (void)g;\n";

static char said[65536];

/* The compiler's status for that statement; what it said is in `said`. */
static int
compile(const char *statement)
{
	char name[] = "/tmp/weft-go-errors-XXXXXX", cmd[1024];
	int fd = mkstemp(name);
	FILE *f = fdopen(fd, "w");
	size_t n;

	folder_above("/build/");
	if (access("include/weft.h", R_OK) != 0)
		t_skip("not where it was built");
	fprintf(f, "%s\t%s\n}\n", head, statement);
	fclose(f);
	snprintf(cmd, sizeof cmd, "%s -std=gnu11 -Wall -Wextra -Werror "
	    "-Wshadow -Iinclude -fsyntax-only -x c %s 2>&1",
	    compiler(), name);
	f = popen(cmd, "r");
	n = fread(said, 1, sizeof said - 1, f);
	said[n] = '\0';
	fd = pclose(f);
	unlink(name);
	return fd;
}

static int
lines(void)
{
	int n = 0;

	for (const char *s = said; (s = strchr(s, '\n')); s++)
		n++;
	return n;
}

/* A compiler, and one that takes what is right. */
static void
need_compiler(void)
{
	if (compile("weft_go(worker, &i);") != 0 && !strstr(said, "error"))
		t_skip("no compiler");
}

static void
wrong(const char *statement, const char *name, int diagnostics)
{
	int found = 0, status;

	need_compiler();
	status = compile(statement);
	for (const char *s = said; (s = strstr(s, "error:")); s++)
		found++;
	OK(status != 0);
	OK(found > 0 && found <= diagnostics);
	OK(lines() <= MOST_LINES);
	OK(strstr(said, name));
	if (!status || found > diagnostics || lines() > MOST_LINES ||
	    !strstr(said, name))
		fprintf(stderr, "# %d lines, %d errors\n%s", lines(), found,
		    said);
}

static void
wrong_and_says(const char *statement, const char *name, const char *text)
{
	wrong(statement, name, 1);
	OK(strstr(said, text));
}

TEST(type) { wrong("weft_go(worker, q);", "worker", 1); }
TEST(integer) { wrong("weft_go(worker, i);", "worker", 1); }
TEST(missing) { wrong("weft_go(worker2, &i);", "worker2", 1); }
TEST(missing_all) { wrong("weft_go(worker2);", "worker2", 1); }
TEST(a_call) { wrong("weft_go(worker(&i));", "worker", 1); }
TEST(a_call_with_result) { wrong("weft_go(fails(i));", "fails", 1); }

TEST(nine)
{
	wrong_and_says("weft_go(eight, 1, 2, 3, 4, 5, 6, 7, 8, 9);", "eight",
	    "at most 8 arguments");
}

TEST(sixteen)
{
	wrong_and_says("weft_go(eight, 1, 2, 3, 4, 5, 6, 7, 8, "
	    "1, 2, 3, 4, 5, 6, 7, 8);", "eight", "at most 8 arguments");
}

TEST(try_go) { wrong("if (weft_try_go(worker, q) < 0) i++;", "worker", 1); }
TEST(waitgroup) { wrong("weft_waitgroup_go(&wg, worker, q);", "worker", 1); }
TEST(group) { wrong("weft_group_go(&g, fails);", "fails", 1); }

TEST(group_without_result)
{
	wrong_and_says("weft_group_go(&g, worker, &i);", "worker",
	    "must return int");
}

TEST(result_of_a_statement)
{
	wrong("if (weft_go(worker, &i) < 0) i++;", "worker", 1);
}

static void
right(const char *statement)
{
	need_compiler();
	if (compile(statement) != 0 || lines() != 0) {
		t_fail(__FILE__, __LINE__, statement);
		fputs(said, stderr);
	}
}

TEST(what_is_right)
{
	right("weft_go(worker, &i);");
	right("weft_go(worker, 0); weft_go(worker, NULL);");
	right("weft_go(worker2, &i, i);");
	right("weft_go(worker2, &i, i++); weft_go(&worker, &i);");
	right("void (*fn)(int *) = worker; weft_go(fn, &i); weft_go(*fn, &i);");
	right("weft_go(i ? worker : worker, &i);");
	right("weft_group_go(&g, fails, i);");
	right("if (!weft_group_try_go(&g, fails, 1)) i++;");
	right("weft_waitgroup_go(&wg, fails, 'x');");
	right("weft_go_opt(WEFT_OPT(.name = \"x\"), worker, &i);");
	right("i ? weft_go(worker, &i) : weft_go(fails, i);");
}
