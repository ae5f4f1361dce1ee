/* SPDX-License-Identifier: MIT */
/* The program itself: its command line, and errors in one line. */
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build_folder.h"
#include "simulated.h"

static char folder[] = "/tmp/weft-trace-XXXXXX";
static char good[64], output[1 << 20];

/* What a command line of the shell printed, and what it exits with. $T is the
 * program, $G a good trace, $D a folder for files. */
static int
shell(const char *line)
{
	FILE *f = popen(line, "r");
	size_t n = f ? fread(output, 1, sizeof output - 1, f) : 0;
	int status = f ? pclose(f) : -1;

	output[n] = '\0';
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
begin(void)
{
	static struct simulation sim;
	const char *run = getenv("RUN");
	char tool[1024];
	FILE *f;

	snprintf(tool, sizeof tool, "%s/bin/weft-trace",
	    folder_above("/tests/trace/"));
	if (access(tool, X_OK) != 0)
		t_skip("no weft-trace beside the tests");
	OK(mkdtemp(folder) != NULL);
	snprintf(good, sizeof good, "%s/good", folder);
	simulate(&sim, 1, 3000, 45, 100);
	f = fopen(good, "w");
	OK(f && fwrite(sim.file.data, 1, sim.file.bytes, f) == sim.file.bytes);
	fclose(f);
	made_free(&sim.file);
	setenv("G", good, 1);
	setenv("D", folder, 1);
	snprintf(output, sizeof output, "%s %s", run ? run : "", tool);
	setenv("T", output, 1);
}

static void
end(void)
{
	OK(shell("rm -rf \"$D\"") == 0);
}

static size_t
lines(void)
{
	size_t n = 0;

	for (const char *s = output; *s; s++)
		n += *s == '\n';
	return n;
}

/* Exits with 1 after one line that has this in it. */
static void
expect_error(const char *line, const char *text)
{
	int status = shell(line);

	if (status != 1 || lines() != 1 || !strstr(output, text) ||
	    strncmp(output, "weft-trace: ", 12) != 0) {
		t_fail(__FILE__, __LINE__, line);
		fprintf(stderr, "# %d: %s", status, output);
	}
}

TEST(commands)
{
	begin();
	EQ(shell("$T -h"), 0);
	OK(strstr(output, "usage: weft-trace COMMAND"));
	EQ(shell("$T stats $G"), 0);
	OK(strstr(output, "scheduling latency"));
	EQ(shell("$T events $G"), 0);
	OK(lines() > 500);
	EQ(shell("$T diff $G $G"), 0);
	OK(strstr(output, "blocked, per second"));
	EQ(shell("$T stats $G -o $D/out && $T -o $D/out2 stats $G && "
	    "cmp $D/out $D/out2"), 0);
	EQ(shell("$T go $G -o $D/go && head -c 13 $D/go"), 0);
	EQ(strcmp(output, "go 1.23 trace"), 0);
	EQ(shell("$T go $G | cmp - $D/go"), 0);
	EQ(shell("$T chrome $G -o $D/json && head -c 1 $D/json"), 0);
	EQ(strcmp(output, "{"), 0);
	EQ(shell("$T view $G -o $D/page && grep -qi '<html' $D/page"), 0);
	end();
}

/* Every tool has a page that man reads without a warning, and that has all
 * options of the usage. */
TEST(manual_pages)
{
	if (access("tools/trace", R_OK) != 0)
		t_skip("not at the top of the tree");
	begin();
	EQ(shell("for t in trace top prof symbolize; do "
	    "p=tools/$t/weft-$t.1 u=${T%trace}$t; "
	    "test -r $p || echo \"no $p\"; "
	    "for o in $($u --help | sed -n 's/^ *\\(-[a-z]\\)[ ,].*/\\1/p'); "
	    "do grep -q '^\\.B[IR]* *\\\\'$o $p || echo \"no $o in $p\"; "
	    "done; done 2>&1"), 0);
	EQ(strcmp(output, ""), 0);
	if (shell("man --help 2>&1 | grep -q -e --warnings") == 0) {
		EQ(shell("for p in tools/*/*.1; do man --warnings -l $p "
		    "2>&1 > /dev/null; done"), 0);
		EQ(strcmp(output, ""), 0);
	}
	end();
}

TEST(about_itself)
{
	begin();
	EQ(shell("$T --help 2>/dev/null"), 0);
	OK(strncmp(output, "usage: weft-trace COMMAND", 25) == 0);
	EQ(shell("$T --version 2>/dev/null"), 0);
	EQ(strcmp(output, "weft-trace " VERSION "\n"), 0);
	end();
}

/* What is wrong comes first, in one line, then the usage. */
TEST(misused)
{
	static const char *const wrong[][2] = {
		{ "$T", "weft-trace: which command?" },
		{ "$T nonsense", "weft-trace: no such command: nonsense" },
		{ "$T nothing $G", "weft-trace: no such command: nothing" },
		{ "$T $G stats", "weft-trace: no such command: /" },
		{ "$T stats", "weft-trace: stats takes one file" },
		{ "$T stats $G $G", "weft-trace: stats takes one file" },
		{ "$T diff $G", "weft-trace: diff takes two files" },
		{ "$T diff $G $G $G", "weft-trace: diff takes two files" },
		{ "$T -x", "weft-trace: " },
		{ "$T --nonsense", "weft-trace: " },
		{ "$T stats $G -o", "weft-trace: " },
	};
	char line[256];

	begin();
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const char *why = wrong[i][1], *rest;

		snprintf(line, sizeof line, "%s 2>&1 > /dev/null",
		    wrong[i][0]);
		EQ(shell(line), 2);
		rest = strchr(output, '\n');
		if (strncmp(output, why, strlen(why)) != 0 || !rest ||
		    strncmp(rest + 1, "usage:", 6) != 0)
			t_fail(__FILE__, __LINE__, wrong[i][0]);
	}
	end();
}

TEST(files_that_are_none)
{
	begin();
	expect_error("$T stats $D/none 2>&1", "No such file");
	expect_error("$T stats $D 2>&1", "no regular file");
	expect_error("$T stats /dev/null 2>&1", "no regular file");
	expect_error("mkfifo $D/fifo; $T stats $D/fifo 2>&1", "no regular");
	expect_error("> $D/empty; $T go $D/empty 2>&1", "it is empty");
	expect_error("echo weft > $D/x; $T go $D/x 2>&1", "no trace of weft");
	expect_error("head -c 1000 /bin/sh > $D/x; $T stats $D/x 2>&1",
	    "no trace of weft");
	expect_error("head -c 50 $G > $D/x; $T stats $D/x 2>&1",
	    "it has 50 bytes");
	expect_error("head -c 72 $G > $D/x; $T stats $D/x 2>&1",
	    "it has no events");
	expect_error("$T diff $G $D/none 2>&1", "No such file");
	end();
}

TEST(no_permission)
{
	if (getuid() == 0)
		t_skip("root may read everything");
	begin();
	expect_error("cp $G $D/x; chmod 0 $D/x; $T stats $D/x 2>&1",
	    "Permission denied");
	end();
}

/* What came before is there, and standard error says that something is not. */
TEST(truncated)
{
	begin();
	EQ(shell("head -c 9000 $G > $D/x; $T stats $D/x 2>/dev/null"), 0);
	OK(strstr(output, "scheduling latency"));
	EQ(shell("$T stats $D/x 2>&1 > /dev/null"), 0);
	OK(strstr(output, "truncated") && lines() == 1);
	end();
}

TEST(output_that_fails)
{
	static const char *const command[] = { "stats", "events", "go",
	    "chrome", "view" };
	char line[256];

	if (access("/dev/full", W_OK) != 0)
		t_skip("no /dev/full");
	begin();
	expect_error("$T stats $G -o $D/none/x 2>&1", "No such file");
	expect_error("$T stats $G -o $D 2>&1", "Is a directory");
	for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
		snprintf(line, sizeof line, "$T %s $G -o /dev/full 2>&1",
		    command[i]);
		expect_error(line, "No space left");
		snprintf(line, sizeof line, "$T %s $G 2>&1 > /dev/full",
		    command[i]);
		expect_error(line, "No space left");
	}
	end();
}
