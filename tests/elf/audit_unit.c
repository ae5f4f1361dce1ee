/* SPDX-License-Identifier: MIT */
/*
 * The audit: of this program, of small libraries and of small programs that
 * the compiler makes here, each with one thing that it must see, or with none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit.h"
#include "build_folder.h"
#include "imports.h"
#include "refusals.h"
#include "t.h"

#ifdef __x86_64__
#define ARCH "x86_64"
#else
#define ARCH "aarch64"
#endif

/* ---- the table ---- */

TEST(table_is_sorted)
{
	size_t total = 0;

	for (size_t i = 0; i < import_n_themes; i++) {
		const struct import_theme *t = &import_themes[i];
		char *copy = strdup(t->names), last[128] = "", *save;

		OK(t->names[0] == ' ');
		OK(t->names[t->bytes - 1] == ' ');
		EQ(strlen(t->names), t->bytes);
		for (char *s = strtok_r(copy, " ", &save); s;
		    s = strtok_r(NULL, " ", &save), total++) {
			if (strcmp(last, s) >= 0)
				t_fail(__FILE__, __LINE__, s);
			if (!import_allowed(s))
				t_fail(__FILE__, __LINE__, s);
			if (strcmp(refusal_why(s), "not reviewed") &&
			    strncmp(s, "__cxa_", 6))
				t_fail(__FILE__, __LINE__, s);
			snprintf(last, sizeof(last), "%s", s);
		}
		free(copy);
	}
	OK(total > 1000);
}

static const char *const good[] = {
	"memcpy", "__memcpy_chk", "strtok", "printf", "__printf_chk", "puts",
	"qsort", "malloc", "free", "strtod", "getenv", "read", "write",
	"socket", "poll", "longjmp", "_setjmp", "sigaction", "fork", "execve",
	"sin", "sinf", "sinl", "sinf128", "__exp_finite", "__expf_finite",
	"__lgammaf_r_finite", "y1f", "fmaf32x", "stdout", "environ",
	"__stack_chk_fail", "__libc_start_main", "weft_chan_send",
	"sigprocmask", "pthread_sigmask", "sigwait",
	"fesetround", "fesetenv", "fetestexcept", "setuid", "initgroups",
	"gethostbyname", "getservbyname", "sched_getcpu", "gnu_dev_major",
	"pthread_mutex_init", "pthread_cond_signal", "__posix_getopt",
	"perror", "localtime", "gmtime", "getopt", "rand", "setlocale",
	"__ctype_b_loc", "pthread_create", "write", "abort", "yn",
};

static const char *const bad[] = {
	"", " ", "__errno_location", "pthread_self", "pthread_mutex_lock",
	"pthread_cond_wait", "pthread_rwlock_rdlock", "pthread_spin_lock",
	"pthread_getspecific", "mtx_lock", "cnd_wait", "tss_get", "flockfile",
	"funlockfile", "dlopen", "dlsym", "dlerror", "__tls_get_addr",
	"__cxa_begin_catch", "__cxa_get_globals", "_Unwind_Resume",
	"_Unwind_Backtrace", "uselocale",
	"sigaltstack", "gettid", "setfsuid", "capset", "nice",
	"sched_setaffinity", "prctl", "strerror", "strsignal", "syscall",
	"herror", "fopencookie", "inet_ntoa", "setcontext", "swapcontext",
	"vfork", "pthread_exit", "pthread_cancel", "__emutls_get_address",
	"memcp", "memcpyy", "emcpy", "memcpy memmove", "f", "l", "__",
	"_finite", "___finite", "abortf", "readl", "weft", "zzz", "~", "!",
	"__h_errno_location", "__res_state", "arch_prctl", "clone", "unshare",
};

/* What is refused says why, and nothing is both. */
TEST(reasons)
{
	static const char *const known[] = {
		"__errno_location", "strerror", "strsignal", "inet_ntoa",
		"pthread_mutex_lock", "mtx_lock", "pthread_self", "tss_get",
		"dlopen", "dlerror", "uselocale", "sigaltstack", "prctl",
		"syscall", "vfork", "pthread_exit", "swapcontext", "herror",
		"__cxa_begin_catch", "_Unwind_Resume", "flockfile",
	};

	for (size_t i = 0; i < countof(known); i++)
		if (!strcmp(refusal_why(known[i]), "not reviewed"))
			t_fail(__FILE__, __LINE__, known[i]);
	for (size_t i = 0; i < countof(good); i++)
		if (strcmp(refusal_why(good[i]), "not reviewed"))
			t_fail(__FILE__, __LINE__, good[i]);
	EQ(strcmp(refusal_why(""), "not reviewed"), 0);
	EQ(strcmp(refusal_why("rerror"), "not reviewed"), 0);
}

TEST(names)
{
	for (size_t i = 0; i < countof(good); i++)
		if (!import_allowed(good[i]))
			t_fail(__FILE__, __LINE__, good[i]);
	for (size_t i = 0; i < countof(bad); i++)
		if (import_allowed(bad[i]))
			t_fail(__FILE__, __LINE__, bad[i]);
	OK(import_library("libc.so.6"));
	OK(import_library("libc.musl-x86_64.so.1"));
	OK(import_library("ld-linux-x86-64.so.2"));
	OK(!import_library("libstdc++.so.6"));
	OK(!import_library("libc.so.6.old"));
	OK(!import_library("libasan.so.8"));
}

/* ---- modules ---- */

TEST(this_program)
{
	struct module m, same, none;

	OK(module_program(&m));
	EQ(module_at(&bad, &same), 0);
	EQ(m.base, same.base);
	EQ(m.load.lo, same.load.lo);
	EQ(m.load.hi, same.load.hi);
	EQ(m.syms, same.syms);
	OK(m.texts >= 1);
	OK(module_has_code(&m, (uintptr_t)module_program));
	OK(!module_has_code(&m, (uintptr_t)&bad));
	OK(m.fdes > 100);
	OK(m.relas[0] + m.relas[1] > 0);
	OK(m.interp);
	OK(m.tls_bytes > 0);
	OK(!m.odd);
	OK(T_SANITIZED || strstr(m.name, "audit_unit"));
	EQ(module_at(&m, &none), -ENOENT);
	EQ(module_at(NULL, &none), -ENOENT);
}

static bool
imports(const struct module *m, const char *name)
{
	for (size_t i = 1; i < m->syms; i++)
		if (m->sym[i].st_shndx == SHN_UNDEF &&
		    !strcmp(module_string(m, m->sym[i].st_name), name))
			return true;
	return false;
}

TEST(needs_and_imports)
{
	struct module m;
	bool libc = false;
	const char *s;

	OK(module_program(&m));
	for (size_t i = 0; (s = module_needed(&m, i)); i++)
		libc |= import_is_libc(s);
	OK(libc);
	OK(imports(&m, "getauxval"));
	OK(!imports(&m, "getauxva"));
}

TEST(libc_and_the_kernels_object)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	void *in_libc = dlsym(RTLD_DEFAULT, "getauxval");
	struct module m;

	OK(in_libc != NULL);
	EQ(module_at(in_libc, &m), 0);
	OK(module_has_code(&m, (uintptr_t)in_libc));
	OK(m.syms > 100);
	OK(m.fdes > 100);
	if (vdso && module_at((void *)vdso, &m) == 0) {
		OK(m.syms > 1);
		OK(*module_string(&m, m.sym[m.syms - 1].st_name) != '\0');
	}
}

/* ---- libraries ---- */

static char dir[64];

static void
clean_up(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	OK(system(cmd) == 0);
}

/* Compiles src to dir/out. */
static bool
compile(const char *out, const char *src, const char *flags)
{
	char cmd[2048], path[128];
	FILE *f;

	if (!dir[0]) {
		strcpy(dir, "/tmp/audited.XXXXXX");
		OK(mkdtemp(dir) != NULL);
	}
	snprintf(path, sizeof(path), "%s/%s.c", dir, out);
	f = fopen(path, "w");
	OK(f != NULL);
	fputs(src, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "%s -w -O1 -o %s/%s %s %s >%s/log 2>&1",
	    compiler(), dir, out, path, flags, dir);
	return system(cmd) == 0;
}

/* Loads a library and looks for the symbol f, which is in it. */
static void
load(const char *name, struct module *m)
{
	char path[128];
	void *h, *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	h = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!h)
		t_fail(__FILE__, __LINE__, dlerror());
	f = h ? dlsym(h, "f") : NULL;
	EQ(f ? module_at(f, m) : -1, 0);
	OK(strcmp(m->name, name) == 0);
}

static const struct {
	const char *name, *src, *flags, *says;	/* NULL: it passes */
} libs[] = {
	{ "clean.so", "int f(int x) { return x * 3 + 1; }", "", NULL },
	{ "printf.so", "#include <stdio.h>\n"
	  "int f(void) { printf(\"%d\", 7); return fflush(stdout); }", "",
	  NULL },
	{ "sysv.so", "int puts(const char *);"
	  "int f(void) { return puts(\"x\"); }", "-Wl,--hash-style=sysv",
	  NULL },
	{ "sysverr.so", "#include <errno.h>\nint f(void) { return errno; }",
	  "-Wl,--hash-style=sysv",
	  "  uses __errno_location: errno is the thread's" },
	{ "errno.so", "#include <errno.h>\nint f(void) { return errno; }", "",
	  "  uses __errno_location: errno is the thread's" },
	{ "mutex.so", "#include <pthread.h>\npthread_mutex_t m;"
	  "int f(void) { return pthread_mutex_lock(&m); }", "",
	  "  uses pthread_mutex_lock: a thread owns the lock" },
	{ "weak.so", "int *__errno_location(void) __attribute__((weak));"
	  "int f(void) { return *__errno_location(); }", "", NULL },
	{ "pointer.so", "extern int strerror();"
	  "void *p = strerror; void *f(void) { return p; }", "",
	  "  uses strerror: its text may be the thread's" },
	{ "own.so", "__thread int x; int *f(void) { return &x; }", "",
	  "  has thread-local variables\n" },
	{ "static.so", "static __thread int x; int *f(void) { return &x; }",
	  "", "  has thread-local relocations\n" },
	{ "other.so", "extern __thread int x __attribute__((weak));"
	  "int *f(void) { return &x; }", "",
	  "  uses the thread-local variable x\n" },
	{ "malloc.so", "void *malloc(unsigned long n) { return 0; }"
	  "int f(void) { return 1; }", "", "  defines malloc: " },
	{ "hidden.so", "__attribute__((visibility(\"hidden\"))) "
	  "int g(void) { return 2; } int f(void) { return g(); }", "", NULL },
	{ "noframes.so", "int f(void) { return 1; }",
	  "-Wl,--no-eh-frame-hdr", "  has no table of frames" },
};

TEST(libraries)
{
	char flags[128];

	if (!compile("a.so", libs[0].src, "-shared -fPIC"))
		t_skip("no compiler");
	for (size_t i = 0; i < countof(libs); i++) {
		static struct audit a;
		struct module m = {0};
		bool pass;

		a = (struct audit){0};
		snprintf(flags, sizeof(flags), "-shared -fPIC %s",
		    libs[i].flags);
		OK(compile(libs[i].name, libs[i].src, flags));
		load(libs[i].name, &m);
		pass = audit_module(&m, false, &a);
		EQ(pass, libs[i].says == NULL);
		if (!strstr(a.text, libs[i].says ? libs[i].says :
		    ": can be preempted by signals\n"))
			t_fail(__FILE__, __LINE__, a.text);
		EQ(a.omitted, 0);
	}
	clean_up();
}

TEST(needs_another)
{
	static struct audit a;
	struct module m = {0};
	char flags[256];

	if (!compile("helper.so", "int g(void) { return 1; }",
	    "-shared -fPIC -Wl,-soname,helper.so"))
		t_skip("no compiler");
	snprintf(flags, sizeof(flags), "-shared -fPIC -L%s -l:helper.so "
	    "-Wl,-rpath,%s", dir, dir);
	OK(compile("user.so", "int g(void); int f(void) { return g(); }",
	    flags));
	load("user.so", &m);
	OK(!audit_module(&m, false, &a));
	OK(strstr(a.text, "  needs the library helper.so: "));
	OK(strstr(a.text, "  uses g: not reviewed\n") != NULL);
	clean_up();
}

/* Ends of the text: what has no room is counted. */
TEST(a_long_explanation)
{
	enum { NAMES = 400 };
	static struct audit a;
	static char src[64 * NAMES], buf[AUDIT_TEXT + 100], part[100];
	struct module m = {0};
	size_t len = 0, n;

	for (int i = 0; i < NAMES; i++)
		len += (size_t)snprintf(src + len, sizeof(src) - len,
		    "void nowhere_%d(void);", i);
	len += (size_t)snprintf(src + len, sizeof(src) - len,
	    "void f(void) {");
	for (int i = 0; i < NAMES; i++)
		len += (size_t)snprintf(src + len, sizeof(src) - len,
		    "nowhere_%d();", i);
	snprintf(src + len, sizeof(src) - len, "}");
	if (!compile("long.so", src, "-shared -fPIC -Wl,-z,lazy"))
		t_skip("no compiler");
	load("long.so", &m);
	OK(!audit_module(&m, false, &a));
	OK(a.omitted > 100);
	OK(a.len < AUDIT_TEXT);
	EQ(strlen(a.text), a.len);
	n = audit_explain(&a, buf, sizeof(buf));
	EQ(strlen(buf), n);
	OK(strstr(buf, " lines more\n") != NULL);
	EQ(audit_explain(&a, part, sizeof(part)), n);
	EQ(strlen(part), sizeof(part) - 1);
	EQ(memcmp(part, buf, sizeof(part) - 1), 0);
	EQ(audit_explain(&a, NULL, 0), n);
	for (size_t cap = a.len - 2; cap < n + 2; cap++) {
		EQ(audit_explain(&a, buf, cap), n);
		EQ(strlen(buf), cap - 1 < n ? cap - 1 : n);
	}
	clean_up();
}

/* ---- programs ---- */

/*
 * A program with just this room in it, and the one thread-local object: all
 * else that the room needs is here. It tells what it thinks of itself.
 */
static const char teller[] =
	"#include <stdarg.h>\n"
	"#include <stdio.h>\n"
	"#include <string.h>\n"
	"#include \"audit.h\"\n"
	"#include \"tls_self.h\"\n"
	"__thread struct self self_tls "
	"    __attribute__((tls_model(\"initial-exec\")));\n"
	"size_t format(char *b, size_t n, const char *f, ...) {\n"
	"	va_list ap; int k;\n"
	"	va_start(ap, f); k = vsnprintf(b, n, f, ap); va_end(ap);\n"
	"	return k < n ? k : n - 1;\n"
	"}\n"
	"EXTRA\n"
	"static struct audit a; static struct module m;\n"
	"int main(void) {\n"
	"	int bad = !module_program(&m) || !audit_module(&m, 1, &a);\n"
	"	fputs(a.text, stdout);\n"
	"	return bad;\n"
	"}\n";

static bool
compile_teller(const char *extra, const char *flags)
{
	char all[1536], defs[512];

	snprintf(defs, sizeof(defs), "%s -DEXTRA='%s'", flags, extra);
	snprintf(all, sizeof(all), "-iquote src/base -iquote src/os "
	    "-iquote src/arch -iquote src/arch/" ARCH " -iquote src/elf %s "
	    "%s/obj/elf/*.o", defs, folder_above("/tests/elf/"));
	return compile("teller", teller, all);
}

static int
run_teller(char *out, size_t cap)
{
	const char *run = getenv("RUN");
	char cmd[512];
	size_t n;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "%s %s/teller", run ? run : "", dir);
	f = popen(cmd, "r");
	OK(f != NULL);
	n = fread(out, 1, cap - 1, f);
	out[n] = '\0';
	return WEXITSTATUS(pclose(f));
}

static const struct {
	const char *extra, *flags, *says;
} programs[] = {
	{ "", "", NULL },
	{ "", "-pie -fPIE", NULL },
	{ "", "-no-pie -fno-pie", NULL },
	{ "", "-Wl,-z,now -Wl,--hash-style=sysv", NULL },
	{ "", "-g -O0", NULL },
	{ "", "-static", "  is statically linked\n" },
	{ "", "-static-pie -fPIE", "  is statically linked\n" },
	{ "__thread int mine; int *g(void) { return &mine; }", "",
	  "  has thread-local variables\n" },
	{ "void *malloc(size_t n) { return 0; }", "", "  defines malloc: " },
	{ "int g(void) { return pthread_self(); }", "",
	  "  uses pthread_self: asks which thread it is on" },
	/* not reviewed, and copied into the program */
	{ "extern unsigned error_message_count;"
	  "unsigned g(void) { return error_message_count; }",
	  "-no-pie -fno-pie", "  uses error_message_count: not reviewed\n" },
};

TEST(programs_of_all_kinds)
{
	static char out[2 * AUDIT_TEXT];

	if (T_SANITIZED)
		t_skip("a sanitizer's objects do not stand alone");
	if (!compile_teller("", ""))
		t_skip("no compiler, or not at the top of the tree");
	for (size_t i = 0; i < countof(programs); i++) {
		const char *says = programs[i].says;
		int status;

		if (!compile_teller(programs[i].extra, programs[i].flags)) {
			fprintf(stderr, "# cannot link with %s\n",
			    programs[i].flags);
			continue;
		}
		status = run_teller(out, sizeof(out));
		EQ(status, says != NULL);
		if (!strstr(out, says ? says : ": can be preempted"))
			t_fail(__FILE__, __LINE__, out);
	}
	clean_up();
}

/* Sanitizers bring libraries, variables or a malloc. */
TEST(sanitized)
{
	static struct audit a;
	struct module m;

	if (!T_SANITIZED)
		t_skip("for builds with a sanitizer");
	OK(module_program(&m));
	OK(!audit_module(&m, true, &a));
	fputs(a.text, stderr);
	OK(strstr(a.text, "needs the library lib") ||
	    strstr(a.text, "has thread-local variables"));
}
