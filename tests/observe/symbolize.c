/* SPDX-License-Identifier: MIT */
/*
 * weft-symbolize: names and lines of this program's own dump, also from a copy
 * of the program elsewhere; what it says of files that are no dumps; and that
 * none crashes it: those in symbolize_corpus, and a good one with bytes changed
 * at random.
 */
#define _GNU_SOURCE 1
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "build_folder.h"
#include "dumped.h"
#include "t.h"

static char dir[] = "/tmp/weft-symbolizeXXXXXX";
static char tool[600], said[1 << 16];

static void
begin(void)
{
	if (t_valgrind() || t_emulated())
		t_skip("runs programs");
	snprintf(tool, sizeof tool, "%sbin/weft-symbolize",
	    folder_above("tests/"));
	if (access(tool, X_OK) != 0)
		t_skip("weft-symbolize is not built");
	OK(mkdtemp(dir) != NULL);
}

static void
end(void)
{
	char cmd[64];

	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	EQ(system(cmd), 0);
}

static const char *
path(const char *name)
{
	static char out[4][300];
	static int n;
	char *p = out[n++ % 4];

	snprintf(p, sizeof out[0], "%s/%s", dir, name);
	return p;
}

static void
put(const char *file, const char *text, size_t n)
{
	FILE *f = fopen(file, "w");

	OK(f && fwrite(text, 1, n, f) == n);
	if (f)
		fclose(f);
}

/* Its exit status, or 1000 and the signal; `said` is all that it printed. */
static int
run(const char *args)
{
	char cmd[2000];
	size_t n = 0, r;
	FILE *f;
	int status;

	snprintf(cmd, sizeof cmd, "exec %s %s 2>&1 < /dev/null", tool, args);
	f = popen(cmd, "r");
	while (f && (r = fread(said + n, 1, sizeof said - 1 - n, f)) > 0)
		n += r;
	said[n] = 0;
	status = f ? pclose(f) : -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    1000 + WTERMSIG(status);
}

static int
run_on(const char *options, const char *file)
{
	char args[1200];

	snprintf(args, sizeof args, "%s %s", options, file);
	return run(args);
}

/* Lines need libdw, which the tool need not have. */
static bool
has_libdw(void)
{
	char cmd[700];

	snprintf(cmd, sizeof cmd, "ldd %s 2> /dev/null | grep -q libdw", tool);
	return system(cmd) == 0;
}

static weft_waitgroup gate, all;
static volatile int sink;

static inline __attribute__((__always_inline__)) void
wait_inlined(void)
{
	weft_waitgroup_wait(&gate);		/* INLINED */
	sink++;
}

__attribute__((__noinline__)) static void
wait_here(void)
{
	wait_inlined();				/* HERE */
	weft_waitgroup_done(&all);
}

/* A dump with one such goroutine, in memory, to be freed. */
static char *
own_dump(void)
{
	char *text;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 1);
	weft_go(wait_here);
	for (;;) {
		text = dumped(NULL);
		if (strstr(text, "waiting: waitgroup wait"))
			break;
		free(text);
		weft_yield();
	}
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
	return text;
}

static void
save_own(const char *file)
{
	char *text = own_dump();

	put(file, text, strlen(text));
	free(text);
}

GTEST(lines, 1)
{
	begin();
	save_own(path("dump"));
	EQ(run(path("dump")), 0);
	OK(strstr(said, "wait_here"));
	if (has_libdw()) {
		/* CI compiles these with -flto, which describes an inlined
		 * function in another unit: libdw has its line, no name. Of
		 * what clang writes libdw 0.188 finds no lines. */
#if !defined(WEFT_HARD) && !defined(__clang__)
		OK(strstr(said, "\twait_inlined (inlined) at "));
#endif
		OK(strstr(said, "symbolize.c:"));
	}
	end();
}

/* Without names: "?" instead of each, and the program is elsewhere. */
static void
strip_names(char *text)
{
	char *name = strstr(text, "\twait_here+0x");
	char *old = strstr(text, "build id ");
	char *file = old ? strchr(old, '/') : NULL;

	OK(name && file);
	if (!name || !file)
		return;
	memcpy(name, "\t?", 2);
	memmove(name + 2, strstr(name, " ("), strlen(strstr(name, " (")) + 1);
	file = strchr(strstr(text, "\tsymbolize at"), '/');
	file[1] = 'x';
}

GTEST(moved, 1)
{
	char cmd[700], *text;

	begin();
	text = own_dump();
	strip_names(text);
	put(path("dump"), text, strlen(text));
	free(text);
	EQ(run(path("dump")), 0);
	OK(strstr(said, "weft-symbolize: no file for symbolize with build id"));
	OK(strstr(said, "\t? (symbolize+0x"));
	snprintf(cmd, sizeof cmd, "cp /proc/%d/exe %s", getpid(),
	    path("symbolize"));
	EQ(system(cmd), 0);
	snprintf(cmd, sizeof cmd, "-d %s", dir);
	EQ(run_on(cmd, path("dump")), 0);
	OK(strstr(said, "\twait_here (symbolize+0x"));
	OK(!strstr(said, "no file for symbolize"));
	end();
}

/* A file of that name that is another build is not used. */
GTEST(another_build, 1)
{
	char cmd[700], *text, *id;

	begin();
	text = own_dump();
	id = strstr(strstr(text, "\tsymbolize at"), "build id ") + 9;
	if (!isxdigit((unsigned char)id[0])) {
		free(text);
		end();
		t_skip("this linker writes no build id");
	}
	id[0] = id[0] == '0' ? '1' : '0';
	put(path("dump"), text, strlen(text));
	free(text);
	snprintf(cmd, sizeof cmd, "-d %s", dir);
	EQ(run_on(cmd, path("dump")), 0);
	OK(strstr(said, "no file for symbolize with build id"));
	end();
}

TEST(errors)
{
	static const char zeros[64];

	begin();
	EQ(run("/no/such/file"), 1);
	OK(strstr(said, "weft-symbolize: /no/such/file: "));
	EQ(run("/"), 1);
	EQ(run("-x"), 2);
	OK(strncmp(said, "weft-symbolize: ", 16) == 0);
	OK(strstr(said, "\nusage: weft-symbolize "));
	EQ(run("a b"), 2);
	OK(strstr(said, "weft-symbolize: one file at a time\nusage: "));
	EQ(run("-h"), 0);
	OK(strncmp(said, "usage: weft-symbolize ", 22) == 0);
	EQ(run("--help"), 0);
	OK(strncmp(said, "usage: weft-symbolize ", 22) == 0);
	EQ(run("--version"), 0);
	EQ(strcmp(said, "weft-symbolize " VERSION "\n"), 0);
	EQ(run(""), 1);			/* empty input */
	OK(strstr(said, "no dump"));
	put(path("zeros"), zeros, sizeof zeros);
	EQ(run(path("zeros")), 1);
	OK(strstr(said, "no text"));
	end();
}

GTEST(full_disk, 1)
{
	begin();
	save_own(path("dump"));
	EQ(run_on("", path("dump > /dev/full")), 1);
	end();
}

GTEST(changed_at_random, 1)
{
	uint64_t seed = 41;
	char *text, *copy;
	size_t n;

	begin();
	text = own_dump();
	n = strlen(text);
	copy = malloc(n);
	for (long i = 0; i < t_scale(60) + 5; i++) {
		memcpy(copy, text, n);
		for (int k = 0; k < 10; k++) {
			seed = seed * 6364136223846793005u + 144269504088893u;
			copy[(seed >> 33) % n] = "\n\t()+x0,f?9"[seed >> 20 &
			    7];
		}
		put(path("dump"), copy, n - (size_t)(seed >> 50) % n);
		OK(run(path("dump")) < 2);
	}
	free(copy);
	free(text);
	end();
}

TEST(corpus)
{
	DIR *d = opendir("tests/observe/symbolize_corpus");
	struct dirent *e;
	char file[600];
	int n = 0;

	begin();
	if (!d)
		t_skip("not at the top of the tree");
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "tests/observe/symbolize_corpus/%s",
		    e->d_name);
		OK(run(file) < 2);
		n++;
	}
	OK(n > 0);
	end();
}
