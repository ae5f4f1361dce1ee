/* SPDX-License-Identifier: MIT */
/*
 * weft-prof: what it prints of a profile, what it says of files that are none,
 * and that no file crashes it: those in prof_corpus, and a good one with bytes
 * changed at random. The page is driven in a browser, if there is one.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "build_folder.h"
#include "t.h"

static char dir[] = "/tmp/weft-prof-XXXXXX";
static char tool[600], said[65536];

static const char *
path(const char *name)
{
	static char out[4][256];
	static int n;
	char *p = out[n++ % 4];

	snprintf(p, sizeof out[0], "%s/%s", dir, name);
	return p;
}

static void
begin(void)
{
	const char *run = getenv("RUN");

	if (t_valgrind() || t_emulated() || (run && strstr(run, "qemu")))
		t_skip("runs programs");
	snprintf(tool, sizeof tool, "%sbin/weft-prof", folder_above("tests/"));
	if (access(tool, X_OK) != 0)
		t_skip("weft-prof is not built");
	OK(mkdtemp(dir) != NULL);
}

static void
end(void)
{
	char cmd[128];

	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	EQ(system(cmd), 0);
}

/* Its exit status, or 1000 and the signal; `said` is all that it printed. */
static int
prof(const char *args)
{
	char cmd[2048];
	FILE *f;
	size_t n;
	int status;

	snprintf(cmd, sizeof cmd, "exec %s %s 2>&1", tool, args);
	f = popen(cmd, "r");
	n = fread(said, 1, sizeof said - 1, f);
	said[n] = '\0';
	while (fread(cmd, 1, sizeof cmd, f) > 0)
		;
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    1000 + WTERMSIG(status);
}

static int
prof_file(const char *command, const char *file)
{
	char args[512];

	snprintf(args, sizeof args, "%s %s", command, file);
	return prof(args);
}

static bool
says(const char *text)
{
	if (strstr(said, text))
		return true;
	fprintf(stderr, "# no \"%s\" in: %s\n", text,
	    strlen(said) > 800 ? said + strlen(said) - 800 : said);
	return false;
}

/* ---- a profile with known contents ---- */

static weft_waitgroup all;
static weft_event *opened;

T_NOT_INLINED static void
waits_in_the_hall(void)
{
	weft_event_wait(opened);
	__asm__ volatile("" ::: "memory");
}

T_NOT_INLINED static void
waits_outside(void)
{
	weft_event_wait(opened);
	/* Otherwise compilers find that it is the same function. */
	__asm__ volatile("nop" ::: "memory");
}

static void
labelled(const char *kind, int hall)
{
	weft_label_set("kind", kind);
	if (hall)
		waits_in_the_hall();
	else
		waits_outside();
	__asm__ volatile("" ::: "memory");
}

static int
make_profile(int argc, char **argv)
{
	static weft_event e;
	weft_goroutine_counts c;

	(void)argc, (void)argv;
	opened = &e;
	for (int i = 0; i < 10; i++)
		weft_waitgroup_go(&all, labelled, i < 7 ? "guest" : "host",
		    i % 2);
	do {
		weft_sleep(WEFT_MS);
		weft_goroutine_counts_read(&c, sizeof c);
	} while (c.waiting < 10);
	EQ(weft_profile_save(WEFT_PROFILE_GOROUTINE, path("good.pb")), 0);
	weft_event_set(&e);
	weft_waitgroup_wait(&all);
	return 0;
}

static void
begin_with_profile(void)
{
	begin();
	EQ(weft_run(make_profile, 0, NULL), 0);
}

TEST(top_and_folded)
{
	begin_with_profile();
	EQ(prof_file("top", path("good.pb")), 0);
	OK(says("goroutine, 1"));
	OK(says("waits_in_the_hall"));
	EQ(prof_file("folded", path("good.pb")), 0);
	OK(says("labelled;waits_in_the_hall;"));
	OK(says(" 5\n"));
	EQ(prof_file("folded -g kind", path("good.pb")), 0);
	OK(says("guest;labelled;waits_outside;"));
	OK(says("host;labelled;waits_in_the_hall;"));
	EQ(prof_file("folded -l kind=host", path("good.pb")), 0);
	OK(says("labelled;waits_in_the_hall;") && says(" 2\n"));
	OK(!strstr(said, " 5\n"));
	EQ(prof_file("top -n 1", path("good.pb")), 0);
	EQ(prof_file("view", path("good.pb")), 0);
	OK(says("<!DOCTYPE html>") && says("waits_outside"));
	EQ(prof_file("view -b", path("good.pb")), 2);
	end();
}

static void
copy_compressed(void)
{
	char cmd[256];

	snprintf(cmd, sizeof cmd, "gzip -k %s", path("good.pb"));
	EQ(system(cmd), 0);
}

TEST(compressed)
{
	begin_with_profile();
	copy_compressed();
	if (prof_file("top", path("good.pb.gz")) == 1 && says("without zlib"))
		t_skip("no zlib");
	OK(says("waits_in_the_hall"));
	EQ(truncate(path("good.pb.gz"), 100), 0);
	EQ(prof_file("top", path("good.pb.gz")), 1);
	OK(says("cut short"));
	end();
}

/* ---- misuse and bad files ---- */

static void
write_file(const char *name, const void *data, size_t n)
{
	FILE *f = fopen(path(name), "w");

	EQ(fwrite(data, 1, n, f), n);
	fclose(f);
}

TEST(about_itself)
{
	begin();
	EQ(prof("-h"), 0);
	OK(strncmp(said, "usage: weft-prof ", 17) == 0);
	EQ(prof("--help"), 0);
	OK(strncmp(said, "usage: weft-prof ", 17) == 0);
	EQ(prof("top --help"), 0);
	EQ(prof("--version"), 0);
	EQ(strcmp(said, "weft-prof " VERSION "\n"), 0);
	end();
}

/* What is wrong comes first, in one line, then the usage. */
static void
is_misuse(const char *args, const char *why)
{
	const char *rest;

	EQ(prof(args), 2);
	OK(strncmp(said, "weft-prof: ", 11) == 0 && says(why));
	rest = strchr(said, '\n');
	OK(rest && strncmp(rest + 1, "usage: weft-prof ", 17) == 0);
}

TEST(misused)
{
	begin();
	is_misuse("", "weft-prof: which command?\n");
	is_misuse("bogus x", "weft-prof: no such command: bogus\n");
	is_misuse("top", "weft-prof: top takes one file\n");
	is_misuse("top a b", "weft-prof: top takes one file\n");
	is_misuse("top -l x a", "weft-prof: -l wants KEY=VALUE\n");
	is_misuse("top -n x a", "weft-prof: -n wants a number\n");
	is_misuse("top -x a", "x");
	is_misuse("top --nonsense a", "nonsense");
	end();
}

TEST(errors)
{
	begin();
	EQ(prof("top /nonexistent"), 1);
	OK(says("/nonexistent: No such file"));
	EQ(prof("top /"), 1);
	write_file("empty", "", 0);
	EQ(prof_file("top", path("empty")), 1);
	OK(says("it is empty"));
	write_file("text", "this is no profile at all", 25);
	EQ(prof_file("top", path("text")), 1);
	OK(says("no profile, or damaged"));
	EQ(weft_run(make_profile, 0, NULL), 0);
	EQ(prof_file("top -o /dev/full", path("good.pb")), 1);
	OK(says("/dev/full: No space left"));
	EQ(prof_file("view -o /nonexistent/x", path("good.pb")), 1);
	EQ(prof_file("top -t bogus", path("good.pb")), 1);
	OK(says("no type \"bogus\""));
	end();
}

/*
 * A CPU profile of two samples, 5 and 7 ns, at two addresses in a library that
 * is not there.
 */
static const char stripped[] =
	"\x32\x00" "\x32\x03" "cpu" "\x32\x0b" "nanoseconds"
	"\x32\x0e" "/no/libz.so.1x"
	"\x0a\x04\x08\x01\x10\x02"				/* type */
	"\x5a\x04\x08\x01\x10\x02"				/* period */
	"\x12\x04\x08\x01\x10\x05"				/* samples */
	"\x12\x04\x08\x02\x10\x07"
	"\x1a\x0a\x08\x01\x10\x80\x20\x18\x80\x40\x28\x03"	/* mapping */
	"\x22\x07\x08\x01\x10\x01\x18\x90\x20"		/* locations */
	"\x22\x07\x08\x02\x10\x01\x18\xa0\x20";

TEST(library_without_symbols)
{
	begin();
	write_file("stripped.pb", stripped, sizeof stripped - 1);
	EQ(prof_file("top", path("stripped.pb")), 0);
	OK(strncmp(said, "CPU profile: cpu, 12ns in all, 2 stacks\n", 40) ==
	    0);
	OK(says("      12ns 100.0%       12ns 100.0%  libz.so.1x (no symbols)"
	    "\n"));
	EQ(prof_file("folded", path("stripped.pb")), 0);
	OK(says("libz.so.1x (no symbols) 12\n"));
	end();
}

TEST(labels_and_kinds)
{
	char args[600];

	begin_with_profile();
	EQ(prof_file("top", path("good.pb")), 0);
	OK(strncmp(said, "goroutine profile: goroutine, 1", 31) == 0);
	EQ(prof_file("top -l kind=host", path("good.pb")), 0);
	OK(says("goroutine profile: goroutine, 3 in all, "));
	EQ(prof_file("top -l kind=nobody", path("good.pb")), 1);
	OK(says("good.pb: no sample has that label: kind=nobody\n"));
	EQ(prof_file("view -l none=x", path("good.pb")), 1);
	OK(says("no sample has that label: none=x\n"));
	write_file("cpu.pb", stripped, sizeof stripped - 1);
	snprintf(args, sizeof args, "view -b %s %s", path("cpu.pb"),
	    path("good.pb"));
	EQ(prof(args), 1);
	OK(says("weft-prof: profiles of different kinds cannot be compared: "));
	OK(says("good.pb (goroutine profile), "));
	OK(says("cpu.pb (CPU profile)\n"));
	snprintf(args, sizeof args, "view -b %s %s", path("good.pb"),
	    path("good.pb"));
	EQ(prof(args), 0);
	is_misuse("top -b x y", "weft-prof: top does not compare: -b is for "
	    "view\n");
	is_misuse("folded -b x y", "-b is for view\n");
	end();
}

/* 0 or 1, and then one line that says why. */
static void
must_cope(const char *file)
{
	static const char *const commands[] = { "top", "folded", "view" };

	for (int i = 0; i < 3; i++) {
		int status = prof_file(commands[i], file);

		if (status == 1 && says("weft-prof: ") &&
		    strchr(said, '\n') == said + strlen(said) - 1)
			continue;
		if (status != 0)
			fprintf(stderr, "# %s %s: %d: %.80s\n", commands[i],
			    file, status, said);
		EQ(status, 0);
	}
}

TEST(corpus)
{
	const char *corpus = "tests/observe/prof_corpus";
	DIR *d = opendir(corpus);
	struct dirent *e;
	char file[512];
	int n = 0;

	if (!d)
		t_skip("not at the top of the tree");
	begin();
	while ((e = readdir(d))) {
		snprintf(file, sizeof file, "%s/%s", corpus, e->d_name);
		if (e->d_name[0] == '.')
			continue;
		must_cope(file);
		n++;
	}
	closedir(d);
	OK(n > 10);
	end();
}

static char *
read_file(const char *file, size_t *n)
{
	FILE *f = fopen(file, "r");
	char *data;

	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	rewind(f);
	data = malloc(*n);
	EQ(fread(data, 1, *n, f), *n);
	fclose(f);
	return data;
}

/* Some bytes changed, moved or cut off. */
static void
damage(char *data, size_t *n, unsigned *seed)
{
	for (int k = rand_r(seed) % 8; k >= 0; k--) {
		size_t at = (size_t)rand_r(seed) % *n;
		size_t to = (size_t)rand_r(seed) % *n;
		size_t len = (size_t)rand_r(seed) % 64;

		switch (rand_r(seed) % 5) {
		case 0: data[at] = (char)rand_r(seed); break;
		case 1: data[at] = (char)(data[at] ^ 1 << rand_r(seed) % 8);
			break;
		case 2: data[at] = (char)0xff; break;
		case 3:
			if (at + len < *n && to + len < *n)
				memmove(data + to, data + at, len);
			break;
		case 4:
			if (rand_r(seed) % 8 == 0 && at > 16)
				*n = at;
		}
	}
}

TEST(damaged_at_random)
{
	unsigned seed = (unsigned)(t_now() * 1000), first = seed;
	size_t size, n;
	char *good, *bad;

	begin_with_profile();
	printf("# seed %u\n", seed);
	good = read_file(path("good.pb"), &size);
	bad = malloc(size);
	for (long i = 0; i < t_scale(300) && t_more(20); i++) {
		n = size;
		memcpy(bad, good, size);
		damage(bad, &n, &seed);
		write_file("bad", bad, n);
		must_cope(path("bad"));
	}
	OK(first != 0);
	free(good);
	free(bad);
	end();
}

/* ---- in a browser ---- */

/* What a user does, and what the page then says. */
static const char script[] =
	"<script>\n"
	"const out = [];\n"
	"const say = () => out.push($('status').textContent);\n"
	"const key = k => dispatchEvent(new KeyboardEvent('keydown',"
	" {key: k}));\n"
	"const type = t => { $('search').value = t;"
	" $('search').dispatchEvent(new Event('input')); };\n"
	"say();\n"
	"type('hall'); out.push($('found').textContent);\n"
	"key('ArrowDown'); say(); key('Enter');\n"
	"out.push(root > 0 ? 'zoomed' : 'not zoomed');\n"
	"key('Escape'); out.push(root + $('found').textContent);\n"
	"const b = boxes.find(x => label(x.i) === 'waits_outside');\n"
	"const r = canvas.getBoundingClientRect();\n"
	"const at = {clientX: r.left + b.x + 2, clientY: r.top + yOf(b) + 4};\n"
	"canvas.dispatchEvent(new MouseEvent('mousemove', at));\n"
	"out.push('tip ' + $('tip').textContent);\n"
	"canvas.dispatchEvent(new MouseEvent('click', at)); say();\n"
	"key('i'); out.push($('turn').textContent); key('Backspace');\n"
	"document.body.innerHTML = '<pre>' + out.join('\\n') + '</pre>';\n"
	"</script>\n";

TEST(page_in_a_browser)
{
	char cmd[1024];
	FILE *f;

	if (system("command -v chromium > /dev/null") != 0)
		t_skip("no chromium");
	if (T_SANITIZED)
		t_skip("the same page as without");
	begin_with_profile();
	snprintf(cmd, sizeof cmd, "view %s -o %s", path("good.pb"),
	    path("page.html"));
	EQ(prof(cmd), 0);
	f = fopen(path("page.html"), "a");
	fputs(script, f);
	fclose(f);
	snprintf(cmd, sizeof cmd, "timeout 45 chromium --headless --no-sandbox "
	    "--disable-gpu --user-data-dir=%s/chromium --dump-dom file://%s "
	    "2> /dev/null", dir, path("page.html"));
	f = popen(cmd, "r");
	said[fread(said, 1, sizeof said - 1, f)] = '\0';
	pclose(f);
	OK(says("all: 11 goroutine, 100.0% of all"));
	OK(says("found: 45.5%"));
	OK(says("labelled: 10 goroutine, 90.9% of all"));
	OK(says("\nzoomed\n0\n"));
	OK(says("tip waits_outside: 5 goroutine, 45.5% of all"));
	OK(says("\nflame"));
	end();
}
