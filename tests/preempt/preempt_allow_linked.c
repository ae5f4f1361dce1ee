/* SPDX-License-Identifier: MIT */
/*
 * weft_preempt_allow of libraries that a program is linked with. Programs and
 * libraries are made here, with the compiler, and say by their status how they
 * fared.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "build_folder.h"
#include "t.h"

enum { SKIPPED = 77 };

static const char spins[] =
	"long turns;\n"
	"void spin(const long *stop)\n"
	"{ while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) turns++; }\n";
static const char helps[] = "int help(int n) { return n + 1; }\n";

/* What a program has in common; each has its own steps(). */
static const char frame[] =
	"#include <stdio.h>\n"
	"#include <string.h>\n"
	"#include <weft.h>\n"
	"void spin(const long *stop);\n"
	"extern long turns;\n"
	"int help(int n);\n"
	"static char text[8192];\n"
	"static int says(const char *s) {\n"
	"	weft_preempt_explain(text, sizeof text);\n"
	"	return strstr(text, s) != NULL;\n"
	"}\n"
	"static weft_waitgroup all;\n"
	"static long stop;\n"
	"static void spinner(void) {\n"
	"	spin(&stop); weft_waitgroup_done(&all);\n"
	"}\n"
	/* Preempted, or was it paused, or its processor taken? */
	"static int preempted(void) {\n"
	"	weft_preempt_stats s, b;\n"
	"	unsigned long n;\n"
	"	weft_preempt_stats_read(&b, sizeof b);\n"
	"	stop = 0;\n"
	"	weft_waitgroup_add(&all, 1);\n"
	"	weft_go(spinner);\n"
	"	do {\n"
	"		weft_sleep(WEFT_MS);\n"
	"		weft_preempt_stats_read(&s, sizeof s);\n"
	"		n = s.preempted - b.preempted;\n"
	"		for (int i = 0; i < WEFT_RETAKE_REASONS; i++)\n"
	"			n += s.taken[i] - b.taken[i] +\n"
	"			    s.paused[i] - b.paused[i];\n"
	"	} while (n == 0);\n"
	"	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);\n"
	"	weft_waitgroup_wait(&all);\n"
	"	return s.preempted > b.preempted;\n"
	"}\n"
	"static int allow_spin(void) {\n"
	"	return weft_preempt_allow((const void *)spin);\n"
	"}\n"
	"#define MUST(x) do if (!(x)) {\\\n"
	"	fprintf(stderr, \"# %s\\n%s\", #x, text);\\\n"
	"	return 1; } while (0)\n"
	"static int early(void);\n"
	"static int steps(int argc, char **argv);\n"
	"int main(int argc, char **argv) {\n"
	"	weft_config c = { .procs = 1 };\n"
	"	int bad = early();\n"
	"	return bad ? bad : weft_run_config(&c, sizeof c, steps, argc,\n"
	"	    argv);\n"
	"}\n";

static const char usual[] =
	"static int early(void) { return 0; }\n"
	"static int steps(int argc, char **argv) {\n"
	"	if (says(\"no table of frames\")) return 77;\n"
	"	MUST(!preempted());\n"
	"	MUST(says(\"needs the library libspins.so\"));\n"
	"	MUST(says(\"uses spin\"));\n"
	"	MUST(allow_spin() == 0);\n"
	"	MUST(says(\"libspins.so: can be preempted\"));\n"
	"	MUST(!says(\"cannot be preempted\"));\n"
	"	while (!preempted()) ;\n"
	"	MUST(allow_spin() == 0);\n"
	"	return turns == 0;\n"
	"}\n";

static const char before_the_start[] =
	"static int result;\n"
	"static int early(void) { result = allow_spin(); return 0; }\n"
	"static int steps(int argc, char **argv) {\n"
	"	if (says(\"no table of frames\")) return 77;\n"
	"	MUST(result == 0);\n"
	"	MUST(!says(\"cannot be preempted\"));\n"
	"	while (!preempted()) ;\n"
	"	return 0;\n"
	"}\n";

static const char two[] =
	"static int early(void) { return 0; }\n"
	"static int steps(int argc, char **argv) {\n"
	"	if (says(\"no table of frames\")) return 77;\n"
	"	MUST(help(1) == 2);\n"
	"	MUST(allow_spin() == -EPERM);\n"
	"	MUST(!says(\"uses spin\"));\n"
	"	MUST(says(\"uses help\"));\n"
	"	MUST(!preempted());\n"
	"	MUST(weft_preempt_allow((const void *)help) == 0);\n"
	"	while (!preempted()) ;\n"
	"	return 0;\n"
	"}\n";

static const char fails_anyway[] =
	"__thread volatile int mine;\n"
	"static int early(void) { return 0; }\n"
	"static int steps(int argc, char **argv) {\n"
	"	if (says(\"no table of frames\")) return 77;\n"
	"	mine++;\n"
	"	MUST(allow_spin() == -EPERM);\n"
	"	MUST(allow_spin() == -EPERM);\n"
	"	MUST(says(\"has thread-local variables\"));\n"
	"	MUST(!preempted());\n"
	"	return 0;\n"
	"}\n";

/* Two libraries have a name in common, and only one of them is allowed. */
static const char ambiguous[] =
	"static int early(void) { return 0; }\n"
	"static int steps(int argc, char **argv) {\n"
	"	if (says(\"no table of frames\")) return 77;\n"
	"	MUST(help(1) == 2);\n"
	"	MUST(weft_preempt_allow((const void *)help) == -EPERM);\n"
	"	MUST(says(\"uses spin\"));\n"
	"	MUST(!preempted());\n"
	"	return 0;\n"
	"}\n";

static char dir[64];

static void
put(const char *name, const char *a, const char *b)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	fputs(a, f);
	fputs(b, f);
	fclose(f);
}

static bool
compile(const char *flags)
{
	char cmd[2048];

	snprintf(cmd, sizeof cmd, "%s -w -O2 -g %s >%s/log 2>&1",
	    compiler(), flags, dir);
	return system(cmd) == 0;
}

static void
build_library(const char *name, const char *text, const char *more)
{
	char flags[512], file[64];

	snprintf(file, sizeof file, "%s.c", name);
	put(file, text, more);
	snprintf(flags, sizeof flags,
	    "-shared -fPIC -Wl,-soname,lib%s.so -o %s/lib%s.so %s/%s", name,
	    dir, name, dir, file);
	if (!compile(flags))
		t_skip("no compiler");
}

static int
run_it(void)
{
	const char *run = getenv("RUN");
	char cmd[512];

	snprintf(cmd, sizeof cmd, "LD_LIBRARY_PATH=%s %s %s/prog", dir,
	    run && *run ? run : "", dir);
	return system(cmd);
}

static void
run_program(const char *steps, const char *helps_too, const char *flags)
{
	char all[2048];
	int status;

	if (T_SANITIZED)
		t_skip("the sanitizers' programs are not looked at");
	strcpy(dir, "/tmp/weft-linked-XXXXXX");
	OK(mkdtemp(dir) != NULL);
	build_library("spins", spins, "");
	build_library("helps", helps, helps_too);
	put("prog.c", frame, steps);
	snprintf(all, sizeof all, "-Iinclude -o %s/prog %s/prog.c "
	    "%s/libweft.a -L%s -Wl,--as-needed -lspins -lhelps "
	    "-Wl,-rpath,%s -pthread %s", dir, dir,
	    folder_above("/tests/preempt/"), dir, dir, flags);
	if (!compile(all))
		t_skip("cannot link a program, or not at the top of the tree");
	status = run_it();
	snprintf(all, sizeof all, "rm -r %s", dir);
	OK(system(all) == 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		t_skip("this compiler's programs cannot be preempted");
	EQ(status, 0);
}

TEST(makes_the_program_pass) { run_program(usual, "", ""); }
TEST(and_without_position_independence)
{
	run_program(usual, "", "-no-pie -fno-pie");
}
TEST(before_the_runtime) { run_program(before_the_start, "", ""); }
TEST(one_of_two) { run_program(two, "", ""); }
TEST(a_program_that_fails_anyway) { run_program(fails_anyway, "", ""); }
TEST(a_name_of_two) { run_program(ambiguous, spins, ""); }
