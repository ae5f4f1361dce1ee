/* SPDX-License-Identifier: MIT */
/*
 * gdb's commands for goroutines (tools/gdb), in batch mode, on the programs
 * that tests/gdb_target.c makes: linked with the archive (and the hooks, where
 * there are any) and with the shared library; live, attached, as a core file,
 * stripped.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build_folder.h"
#include "t.h"

static char top[512];		/* of the tree */
static char targets[600];	/* where the programs are */
static char scratch[64];
static char out[1 << 22];	/* what the last command said */

static bool
run(const char *fmt, ...)
{
	char line[4096];
	va_list ap;
	size_t n;
	FILE *p;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	p = popen(line, "r");
	n = p ? fread(out, 1, sizeof out - 1, p) : 0;
	out[n] = '\0';
	return p && pclose(p) == 0;
}

/* Runs gdb with a script, and `more` on its command line. */
static bool
gdb(const char *more, const char *script)
{
	char name[128];
	FILE *f;

	snprintf(name, sizeof name, "%s/script", scratch);
	f = fopen(name, "w");
	OK(f);
	if (!f)
		return false;
	fprintf(f, "set width 0\nset height 0\nset confirm off\n"
	    "set style enabled off\nset debuginfod enabled off\n%s", script);
	fclose(f);
	return run("cd %s && gdb -nx -batch -iex 'set auto-load no' "
	    "-iex 'source %s/tools/gdb/weft-gdb.py' -x %s/script %s 2>&1 "
	    "</dev/null", scratch, top, scratch, more);
}

/* The same with commands of which each may fail: a line each. */
static void
gdb_try(const char *more, const char *commands)
{
	char script[4096];

	snprintf(script, sizeof script, "python\n"
	    "for c in \"\"\"%s\"\"\".splitlines():\n"
	    "    try:\n"
	    "        gdb.execute(c)\n"
	    "    except gdb.error as e:\n"
	    "        print('error: %%s' %% e)\n"
	    "end\n", commands);
	gdb(more, script);
}

static void
clean_up(void)
{
	char line[128];

	snprintf(line, sizeof line, "rm -rf %s", scratch);
	(void)!system(line);
}

/* After begin: the rest cannot be tested here. */
static void
leave(const char *why)
{
	clean_up();
	t_skip(why);
}

/* Skips if gdb cannot be used here. */
static void
begin(void)
{
	snprintf(targets, sizeof targets, "%s/tests", folder_above("/tests/"));
	snprintf(top, sizeof top, "%s", folder_above("/build/"));
	if (t_emulated() || t_valgrind())
		t_skip("gdb cannot look into an emulator's program");
	if (!run("gdb -nx -batch -ex 'python print(gdb.VERSION)' 2>&1"))
		t_skip("there is no gdb");
	if (strstr(out, "not supported"))
		t_skip("gdb has no Python");
	snprintf(scratch, sizeof scratch, "/tmp/weft-gdb-XXXXXX");
	if (!mkdtemp(scratch))
		t_skip("no folder for files");
	gdb("/bin/true", "run\n");
	if (!strstr(out, "exited normally"))
		leave("gdb cannot run programs: ptrace is forbidden");
}

/* A check fails: the whole output is shown, once. */
static void
has(const char *text, int line)
{
	static bool shown;
	char what[256];

	if (strstr(out, text))
		return;
	snprintf(what, sizeof what, "not said: %s", text);
	t_fail(__FILE__, line, what);
	if (!shown)
		fputs(out, stderr);
	shown = true;
}
#define HAS(text) has(text, __LINE__)

/* The line of the output that has `word`, or "". */
static const char *
line_with(const char *word)
{
	static char line[1024];
	const char *at = strstr(out, word), *from;

	line[0] = '\0';
	if (!at)
		return line;
	for (from = at; from > out && from[-1] != '\n'; from--)
		;
	snprintf(line, sizeof line, "%.*s", (int)strcspn(from, "\n"), from);
	return line;
}

static int
count(const char *text)
{
	int n = 0;

	for (const char *s = out; (s = strstr(s, text)); s++)
		n++;
	return n;
}

/* How many lines have both. */
static int
lines(const char *a, const char *b)
{
	int n = 0;

	for (const char *s = out; (s = strstr(s, a)); s++) {
		const char *end = s + strcspn(s, "\n");
		const char *at = strstr(s, b);

		n += at && at < end;
	}
	return n;
}

/* What is so in whatever way it is looked at: with names of functions. */
static void
check_list(void)
{
	EQ(lines("waiting: channel receive ", "parked_deep at "), 3);
	HAS("the \"first\"");
	EQ(lines("waiting: channel receive ", "first_wait at "), 1);
	EQ(lines("waiting: channel receive ", "second_wait at "), 1);
	OK(strstr(line_with("waiting: select"), "selects at "));
	OK(strstr(line_with("waiting: mutex lock"), "locks at "));
	OK(strstr(line_with("not started"), "never_begins at "));
	OK(strstr(line_with("in a call"), "calls at "));
	EQ(count("computes_deep at "), 2);
	EQ(count("  compares at "), 1);
	EQ(lines(" 1  ", "the main goroutine"), 1);
}

/*
 * ... and of `goroutine all bt`. musl has no frame tables, so there a stack may
 * end where libc is among the callers.
 */
#ifdef __GLIBC__
enum { LIBC_HAS_FRAMES = 1 };
#else
enum { LIBC_HAS_FRAMES = 0 };
#endif

static void
check_users(void)
{
	EQ(count(" parked_deep ("), 3 * 3);
	EQ(count("computes () at "), 2);
	EQ(count("sorts () at "), LIBC_HAS_FRAMES);
	OK(!strstr(out, "corrupt stack"));
	OK(!strstr(out, "Python Exception"));
	if (LIBC_HAS_FRAMES)
		OK(!strstr(out, "Backtrace stopped"));
}

/* ... with names of the library's functions: stacks end where they begin. */
static void
check_stacks(void)
{
	check_users();
	EQ(count("\ngoroutine "), 14);
	if (LIBC_HAS_FRAMES) {
		HAS("look_at_me (argc=");
		EQ(count(" in frame_entry ()"), count("\ngoroutine ") - 1);
	}
}

static const char live[] =
	"break all_are_there\nrun\ninfo goroutines\ngoroutine all bt\n"
	"echo \\n\nweft procs\nweft threads\n";

static void
check_live(const char *program)
{
	gdb(program, live);
	check_list();
	check_stacks();
	OK(strstr(line_with("all_are_there at "), "* 1 "));
	/* the registers of a preempted one are in a frame that it kept */
	EQ(count(" preempt_return ("),
	    lines(" runnable ", " computes_deep at "));
	HAS("1 procs");
	HAS("in a call, detached");
	clean_up();
}

static char *
path(const char *program)
{
	static char p[700];

	snprintf(p, sizeof p, "%s/%s", targets, program);
	return p;
}

TEST(live_static)
{
	begin();
	check_live(path("gdb_target"));
}

TEST(live_shared)
{
	begin();
	if (access(path("gdb_target_so"), X_OK))
		leave("no shared library in this variant");
	check_live(path("gdb_target_so"));
}

TEST(one_goroutine)
{
	begin();
	gdb(path("gdb_target"), "break all_are_there\nrun\n"
	    "goroutine 65 info locals\n"
	    "goroutine 65 printf \"is %d\\n\", $goroutine()\n"
	    "printf \"was %d\\n\", $goroutine()\n"
	    "goroutine 65\nup\nprint secret\nbt 1\n"
	    "goroutine\ngoroutine 0\nbt 1\n"
	    "goroutine 65\nthread 1\nbt 1\n");
	HAS("secret = 4711\n");
	HAS("is 65\n");
	HAS("was 1\n");
	HAS("[goroutine 65 \"the \"first\"\" [waiting: channel receive]: ");
	HAS("$1 = 4712\n");
	HAS("\ngoroutine 65 \"the ");
	HAS("\n#0  all_are_there () at ");
	OK(!strstr(out, "Python Exception"));
	clean_up();
}

/* Each is one line, and gdb goes on. */
TEST(errors)
{
	begin();
	gdb("", "info goroutines\n");
	HAS("weft: there is no process and no core file\n");
	gdb_try("/bin/true", "starti\ninfo goroutines\ngoroutine 1 bt\n"
	    "print $goroutine()");
	EQ(count("error: weft: there is no weft in this process\n"), 2);
	HAS("$1 = 0\n");
	gdb_try(path("gdb_target"), "break main\nrun\ninfo goroutines\n"
	    "break all_are_there\ncontinue\n"
	    "goroutine 9999 bt\ngoroutine x\ngoroutine all\n"
	    "goroutine 65 next\ngoroutine 70\ngoroutine 65 nonsense\n"
	    "info goroutines no-such-thing\n"
	    "weft gcore\nweft gcore /nonexistent/core");
	HAS("error: weft: weft's runtime has not started\n");
	HAS("error: weft: there is no goroutine 9999\n");
	HAS("error: weft: goroutine x: not a number, nor all, ");
	HAS("error: weft: goroutine all: which command?\n");
	HAS("error: weft: goroutine 65 is on no thread: it cannot ");
	HAS("error: weft: goroutine 70 has not started\n");
	HAS("error: Undefined command: \"nonsense\"");
	HAS("No goroutines like that.\n");
	HAS("error: weft: weft gcore: which file?\n");
	HAS("error: Failed to open '/nonexistent/core'");
	OK(!strstr(out, "Traceback"));
	clean_up();
}

/* The lists of records are overwritten: every walk ends, and says so. */
TEST(corrupt_memory)
{
	begin();
	gdb_try(path("gdb_target"), "break all_are_there\nrun\n"
	    "set var $c = g_slab.chunks.v_\n"
	    "set var $c->next = $c\ninfo goroutines\n"
	    "set var $c->next = (void *)16\ninfo goroutines\n"
	    "set var $c->used.v_ = 100000000\ninfo goroutines\n"
	    "set var g_slab.chunks.v_ = (void *)16\ninfo goroutines\n"
	    "set var g_slab.record_bytes = 0\ninfo goroutines\n"
	    "goroutine 65 bt\nweft threads");
	HAS("warning: the list is not complete: weft's list of records is a "
	    "circle\n");
	HAS("warning: the list is not complete: cannot read memory at 0x10\n");
	HAS("error: weft: weft's list of records is corrupt at ");
	HAS("error: weft: cannot read memory at 0x10\n");
	HAS("error: weft: weft's records are corrupt: 0 bytes each\n");
	OK(!strstr(out, "Traceback"));
	clean_up();
}

/* A stack that is garbage: what can be shown is, and gdb goes on. */
TEST(corrupt_stack)
{
	begin();
	gdb_try(path("gdb_target"), "break all_are_there\nrun\n"
	    "set var $g = (struct g *)((char *)g_slab.chunks.v_ + 64)\n"
	    "set var $i = 0\n"
	    "python while int(gdb.parse_and_eval('$g[$i].id.v_')) != 65: "
	    "gdb.execute('set var $i = $i + 1')\n"
	    "set var $g[$i].frame.sp = (void *)8\n"
	    "goroutine 65 bt\ninfo goroutines\n"
	    "set var $g[$i].frame.pc = (void *)8\ngoroutine 65 bt\n"
	    "set var $g[$i].site.v_ = (void *)8\ninfo goroutines\n"
	    "set var $g[$i].stack.v_ = (void *)8\ngoroutine 66 bt\n"
	    "print 40 + 2");
	HAS("\n  65 ");
	HAS("$1 = 42\n");
	HAS(" parked_deep (level=");
	OK(!strstr(out, "Traceback"));
	clean_up();
}

/* Starts a target; returns when it has said that all are there. */
static pid_t
start(const char *program, const char *n, const char *dies)
{
	char c = 0;
	int said[2];
	pid_t pid = -1;

	if (pipe(said) || (pid = fork()) < 0)
		leave("no more processes");
	if (pid == 0) {
		struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };

		/* gdb is no ancestor of it; not in the program itself, which
		 * could not be preempted then */
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		dup2(said[1], 1);
		if (dies && (setrlimit(RLIMIT_CORE, &r) || chdir(scratch)))
			_exit(1);
		execl(program, program, n, dies, (char *)NULL);
		_exit(1);
	}
	close(said[1]);
	OK(read(said[0], &c, 1) == 1 && c == 'r');
	close(said[0]);
	return pid;
}

static void
stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(attached)
{
	char pid_text[32];
	pid_t pid;

	begin();
	pid = start(path("gdb_target"), "3", NULL);
	snprintf(pid_text, sizeof pid_text, "-p %d", (int)pid);
	gdb(pid_text, "info goroutines\ngoroutine all bt\n");
	stop(pid);
	if (strstr(out, "ptrace:"))
		leave("gdb may not attach");
	check_list();
	check_stacks();
	clean_up();
}

static void
skip_core(void)
{
	if (T_SANITIZED)
		leave("a core file would hold the shadow memory");
}

/* By gdb, with the stacks that it leaves out. */
TEST(core_by_gdb)
{
	char line[1024];

	begin();
	skip_core();
	/* gdb writes what malloc has reserved, too: 250 MB */
	setenv("MALLOC_ARENA_MAX", "1", 1);
	gdb(path("gdb_target"), "break all_are_there\nrun\n"
	    "weft gcore core\n");
	HAS("Saved corefile core");
	snprintf(line, sizeof line, "%s core", path("gdb_target"));
	gdb(line, "info goroutines\ngoroutine all bt\nweft gcore x\n");
	HAS("You can't do that without a process to debug.");
	check_list();
	check_stacks();
	clean_up();
}

/* The newest file in the scratch folder whose name begins with core. */
static bool
find_core(char *name, size_t cap)
{
	run("ls -t %s | grep '^core' | head -1", scratch);
	out[strcspn(out, "\n")] = '\0';
	snprintf(name, cap, "%s/%.100s", scratch, out);
	return out[0] != '\0';
}

TEST(core_by_kernel)
{
	char core[256], line[1024];
	int status;
	pid_t pid;

	begin();
	skip_core();
	pid = start(path("gdb_target"), "3", "abort");
	waitpid(pid, &status, 0);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	if (!WCOREDUMP(status) || !find_core(core, sizeof core))
		leave("the kernel puts no core file here");
	snprintf(line, sizeof line, "%s %s", path("gdb_target"), core);
	gdb(line, "info goroutines\ngoroutine all bt\n");
	check_list();
	check_stacks();
	clean_up();
}

/* Without any symbol: states and spawns are known, and stacks end. */
TEST(stripped_static)
{
	char program[128], arg[32];
	pid_t pid;

	begin();
	snprintf(program, sizeof program, "%s/stripped", scratch);
	if (!run("strip -o %s %s 2>&1", program, path("gdb_target")))
		leave("no strip");
	pid = start(program, "3", NULL);
	snprintf(arg, sizeof arg, "-p %d", (int)pid);
	gdb(arg, "info goroutines\ngoroutine 65 bt\n");
	stop(pid);
	if (strstr(out, "ptrace:"))
		leave("gdb may not attach");
	OK(strstr(line_with("waiting: select"), "selects at "));
	EQ(count("waiting: channel receive"), 5);
	HAS(" in (libweft) ()");
	HAS(" in ?? ()");
	clean_up();
}

/* The program has names, the library none. */
TEST(stripped_shared)
{
	begin();
	if (access(path("gdb_target_so"), X_OK))
		leave("no shared library in this variant");
	if (!run("strip -o %s/libweft.so.0 %s/../libweft.so.0 2>&1", scratch,
	    targets))
		leave("no strip");
	setenv("LD_LIBRARY_PATH", scratch, 1);
	gdb(path("gdb_target_so"), "break all_are_there\nrun\n"
	    "info goroutines\ngoroutine all bt\ninfo sharedlibrary\n");
	check_list();
	HAS(scratch);
	check_users();
	HAS(" in (libweft) ()");
	clean_up();
}

/* Thousands are counted in groups. */
TEST(many)
{
	long n = t_scale(3000);
	char args[1024], want[64];

	begin();
	n = T_TSAN ? 500 : n < 200 ? 200 : n;
	snprintf(args, sizeof args, "--args %s %ld", path("gdb_target"), n);
	gdb(args, "break all_are_there\nrun\ninfo goroutines\n"
	    "info goroutines -l\ninfo goroutines -g select\n");
	snprintf(want, sizeof want, "%7ld  waiting: channel receive", n - 1);
	HAS(want);
	snprintf(want, sizeof want, "%ld goroutines in ", n + 11);
	HAS(want);
	EQ(count("  parked_deep at "), n + 2);
	HAS("1 goroutines in 1 groups");
	clean_up();
}

/* As installed: gdb loads the script when it sees the library. */
TEST(auto_load)
{
	begin();
	if (access(path("gdb_target_so"), X_OK))
		leave("no shared library in this variant");
	OK(run("cd %s && mkdir -p lib share/weft && "
	    "cp %s/../libweft.so.0 lib && "
	    "cp %s/tools/gdb/weft*.py share/weft && "
	    "cp %s/tools/gdb/autoload.py lib/libweft.so.0-gdb.py", scratch,
	    targets, top, top));
	run("cd %s && LD_LIBRARY_PATH=lib gdb -nx -batch "
	    "-iex 'add-auto-load-safe-path %s' -ex 'break all_are_there' "
	    "-ex run -ex 'info goroutines' %s 2>&1 </dev/null",
	    scratch, scratch, path("gdb_target_so"));
	HAS("waiting: select");
	clean_up();
}
