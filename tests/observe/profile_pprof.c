/* SPDX-License-Identifier: MIT */
/*
 * Profiles as files: opened with Go's pprof, of a library that was loaded, of a
 * stripped program, and by WEFT_DEBUG.
 */
#include "profile_text.h"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include "build_folder.h"

static char dir[] = "/tmp/weft-profile-XXXXXX";
static volatile unsigned long sink;

T_NOT_INLINED static void
burns_cpu(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sink += i;
}

T_NOT_INLINED static void
outer(void)
{
	burns_cpu();
	sink++;
}

/* "DIR/name" */
static const char *
path(const char *name)
{
	static char out[4][128];
	static int n;
	char *p = out[n++ % 4];

	snprintf(p, sizeof out[0], "%s/%s", dir, name);
	return p;
}

static void
remove_dir(void)
{
	char cmd[128];

	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	if (system(cmd) != 0)
		perror(cmd);
}

static void
make_dir(void)
{
	OK(mkdtemp(dir) != NULL);
}

/* Does what the command prints have that in it? */
static bool
prints(const char *cmd, const char *what)
{
	FILE *f = popen(cmd, "r");
	char text[65536];
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	int status = f ? pclose(f) : -1;

	text[n] = '\0';
	if (status == 0 && memmem(text, n, what, strlen(what)))
		return true;
	fprintf(stderr, "# %s: status %d, no \"%s\" in:\n%s", cmd, status,
	    what, text);
	return false;
}

static const char *
pprof(const char *args, const char *file)
{
	static char cmd[512];

	snprintf(cmd, sizeof cmd, "HOME=%s go tool pprof %s %s 2>&1", dir,
	    args, file);
	return cmd;
}

static void
need_go(void)
{
	if (system("go tool -n pprof > /dev/null 2>&1") != 0)
		t_skip("no go tool pprof (apt install golang-go)");
	make_dir();
}

/* Samples of outer, with labels. */
static void
sample_outer(void)
{
	weft_label_set("kind", "heavy");
	cpu_profile(1000, 0);
	OK(is_sampled("outer;burns_cpu ", outer));
	EQ(weft_profile_cpu_stop(), 0);
}

GTEST(go_tool_pprof_names_functions, 2)
{
	sample_outer();
	need_go();
	EQ(weft_profile_save(WEFT_PROFILE_CPU, path("cpu.pb")), 0);
	OK(prints(pprof("-top", path("cpu.pb")), "burns_cpu"));
	OK(prints(pprof("-top", path("cpu.pb")), "Type: cpu"));
	OK(prints(pprof("-tags", path("cpu.pb")), "heavy"));
	OK(prints(pprof("-tags", path("cpu.pb")), "goroutine"));
	OK(prints(pprof("-traces", path("cpu.pb")), "outer"));
	OK(prints(pprof("-raw", path("cpu.pb")), "cpu/nanoseconds"));
	/* And by itself, from addresses, files and build ids. */
	OK(prints(pprof("-symbolize=force -lines -top", path("cpu.pb")),
	    "profile_pprof.c:"));
	remove_dir();
}

GTEST(go_tool_pprof_other_kinds, 2)
{
	need_go();
	EQ(weft_profile_offcpu_rate(1), 0);
	EQ(weft_profile_block_rate(1), 0);
	EQ(weft_profile_mutex_fraction(1), 0);
	weft_sleep(WEFT_MS);
	EQ(weft_profile_save(WEFT_PROFILE_OFFCPU, path("off.pb")), 0);
	EQ(weft_profile_save(WEFT_PROFILE_BLOCK, path("block.pb")), 0);
	EQ(weft_profile_save(WEFT_PROFILE_MUTEX, path("mutex.pb")), 0);
	EQ(weft_profile_save(WEFT_PROFILE_GOROUTINE, path("go.pb")), 0);
	OK(prints(pprof("-traces", path("off.pb")), "weft_sleep"));
	OK(prints(pprof("-tags", path("off.pb")), "sleep"));
	OK(prints(pprof("-raw", path("block.pb")), "delay/nanoseconds"));
	OK(prints(pprof("-raw", path("mutex.pb")), "contentions/count"));
	OK(prints(pprof("-top", path("go.pb")), "Type: goroutine"));
	/* These three have the same types. */
	OK(prints(pprof("-comments", path("off.pb")), "off-CPU: "));
	OK(prints(pprof("-comments", path("block.pb")), "block: "));
	OK(prints(pprof("-comments", path("mutex.pb")), "mutex: "));
	remove_dir();
}

/* ---- a library that is loaded, before the profile and during it ---- */

static void (*in_library)(void);

T_NOT_INLINED static void
call_library(void)
{
	in_library();
	sink++;
}

static bool
load(const char *name)
{
	char cmd[512], fn[64];
	void *lib;

	snprintf(cmd, sizeof cmd, "printf 'unsigned long s; "
	    "void %s(void) { for (volatile int i = 0; i < 100000; i++) "
	    "s += i; }' | %s -x c -g -O1 -shared -fPIC -o %s/%s.so -", name,
	    compiler(), dir, name);
	EQ(system(cmd), 0);
	snprintf(fn, sizeof fn, "%s/%s.so", dir, name);
	lib = dlopen(fn, RTLD_NOW);
	if (lib)
		in_library = (void (*)(void))dlsym(lib, name);
	return lib && in_library;
}

GTEST(loaded_library, 1)
{
	cpu_profile(1000, 0);	/* may skip */
	weft_profile_cpu_stop();
	if (system("command -v ${CC:-cc} > /dev/null") != 0)
		t_skip("no compiler");
	make_dir();
	if (!load("burns_in_first")) {
		remove_dir();
		t_skip("this program loads no libraries");
	}
	cpu_profile(1000, 0);
	OK(is_sampled("call_library;burns_in_first ", call_library));
	OK(load("burns_in_second"));
	OK(is_sampled("call_library;burns_in_second ", call_library));
	weft_profile_cpu_stop();
	remove_dir();
}

/* ---- programs of their own: this one, with WEFT_DEBUG, or stripped ---- */

/* Not a test by itself: what child() runs. */
GTEST(child_burns, 2)
{
	if (!getenv("PROFILE_CHILD"))
		t_skip("only as a child of others");
	/* Of CPU time, however long that takes. */
	while (clock() < CLOCKS_PER_SEC / 2)
		outer();
	weft_sleep(WEFT_MS);
	exit(0);
}

/* Its exit status; what it said is in DIR/said. */
static int
child(const char *program, const char *debug)
{
	char cmd[2048];

	snprintf(cmd, sizeof cmd, "PROFILE_CHILD=1 WEFT_DEBUG=%s %s "
	    "child_burns > %s/said 2>&1", debug, program, dir);
	return system(cmd);
}

static bool
file_has(const char *name, const char *what)
{
	char cmd[256];

	snprintf(cmd, sizeof cmd, "cat %s/%s", dir, name);
	return prints(cmd, what);
}

static const char *
self_path(void)
{
	static char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	return self;
}

TEST(by_weft_debug)
{
	char debug[512];

	if (t_emulated() || t_valgrind())
		t_skip("runs itself");
	make_dir();
	snprintf(debug, sizeof debug, "cpuprofile=%s/cpu.folded,"
	    "cpuprofilehz=1000,offcpuprofile=%s/off.folded,"
	    "offcpuprofilerate=1,blockprofile=%s/block.pb,"
	    "mutexprofile=/nonexistent/x", dir, dir, dir);
	EQ(child(self_path(), debug), 0);
	OK(file_has("off.folded", "weft_sleep"));
	OK(file_has("said", "mutexprofile: cannot write /nonexistent/x"));
	OK(file_has("block.pb", "contentions"));
	if (T_SANITIZED)
		OK(file_has("said", "cpuprofile"));
	else
		OK(file_has("cpu.folded", "outer;burns_cpu "));
	remove_dir();
}

/* No names of functions that are not exported, but addresses in the file. */
TEST(stripped)
{
	char cmd[1024], debug[128];

	if (t_emulated() || t_valgrind() || T_SANITIZED)
		t_skip("no profiling signals, or runs itself");
	if (system("command -v strip > /dev/null") != 0)
		t_skip("no strip");
	make_dir();
	snprintf(cmd, sizeof cmd, "strip -o %s/stripped %s", dir, self_path());
	EQ(system(cmd), 0);
	snprintf(debug, sizeof debug, "cpuprofile=%s/cpu.folded", dir);
	EQ(child(path("stripped"), debug), 0);
	OK(file_has("cpu.folded", "stripped+0x"));
	remove_dir();
}
