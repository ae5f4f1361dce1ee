/* SPDX-License-Identifier: MIT */
/*
 * A signal that ends the process: a line that says which goroutine it was, the
 * stacks, and then the signal's default action.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <weft.h>

#include "died.h"
#include "t.h"

#define OUTLINE __attribute__((__noinline__))

/* musl has no frame tables: a walk ends in its functions. */
#ifdef __GLIBC__
enum { TABLES = 1 };
#else
enum { TABLES = 0 };
#endif

static weft_waitgroup never;
static int *volatile nowhere;
static volatile int sink;
static void (*how)(void);

static void
no_sanitizer(void)
{
	if (T_SANITIZED)
		t_skip("sanitizers have handlers of their own");
}

OUTLINE static void
fail_here(void)
{
	how();
	sink++;
}

static void
culprit(void)
{
	fail_here();
	sink++;
}

static void
bystander(void)
{
	weft_waitgroup_wait(&never);
	sink++;
}

/* It waits, and is not about to on another thread. */
static void
start_bystander(void)
{
	weft_goroutine_counts n;

	weft_waitgroup_add(&never, 1);
	weft_go(bystander);
	do {
		weft_yield();
		weft_goroutine_counts_read(&n, sizeof n);
	} while (n.waiting < 1);
}

/* Main waits, another goroutine dies. */
static void
company(void)
{
	start_bystander();
	weft_go_opt(WEFT_OPT(.name = "bad"), culprit);
	weft_waitgroup_wait(&never);
}

static int
die_of(void (*fn)(void))
{
	how = fn;
	return died(company, false);
}

static void write_null(void) { *nowhere = 1; }
static void trap(void) { __asm__ volatile("" ::: "memory"); raise(SIGILL); }
static void segv_sent(void) { raise(SIGSEGV); }
static void fpe(void) { raise(SIGFPE); }

/* First of all the goroutine that did it, with its stack; then the others. */
static void
said_who(void)
{
	const char *at = strstr(died_text, "\ngoroutine ");

	SAID(" \"bad\" (culprit, spawned at " __FILE__ ":");
	OK(at && strstr(at, "\"bad\" [running]: culprit") < strchr(at + 1,
	    '\n'));
	if (TABLES || strstr(died_text, "\twrite_null+0x")) {
		SAID("\tfail_here+0x");
		SAID("\tculprit+0x");
	}
	SAID(" [waiting: waitgroup wait]: bystander, spawned at ");
	SAID("\tbystander+0x");
	SAID("\nmodules:\n");
}

TEST(segv)
{
	no_sanitizer();
	OK(died_of(die_of(write_null), SIGSEGV));
	SAID("weft: SIGSEGV at address 0x0 in goroutine ");
	SAID("\twrite_null+0x");
	said_who();
}

TEST(segv_that_was_sent)
{
	no_sanitizer();
	OK(died_of(die_of(segv_sent), SIGSEGV));
	SAID("weft: SIGSEGV in goroutine ");
	said_who();
}

TEST(ill)
{
	no_sanitizer();
	OK(died_of(die_of(trap), SIGILL));
	SAID("weft: SIGILL in goroutine ");
	said_who();
}

TEST(fpe_)
{
	no_sanitizer();
	OK(died_of(die_of(fpe), SIGFPE));
	SAID("weft: SIGFPE in goroutine ");
}

TEST(aborted)
{
	if (T_TSAN)
		t_skip("the sanitizer calls handlers later, elsewhere");
	OK(died_of(die_of(abort), SIGABRT));
	SAID("weft: SIGABRT in goroutine ");
	said_who();
}

/* ---- the program's own handlers ---- */

static void
own_handler(int sig)
{
	(void)sig;
	_exit(42);
}

static void install_segv(void) { signal(SIGSEGV, own_handler); write_null(); }
static void install_abrt(void) { signal(SIGABRT, own_handler); abort(); }

static void
keeps_silent(void (*fn)(void))
{
	int status = die_of(fn);

	OK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	OK(!strstr(died_text, "weft: SIG"));
}

TEST(own_handlers_win)
{
	no_sanitizer();
	keeps_silent(install_segv);
	keeps_silent(install_abrt);
}

TEST(handlers_from_before_win)
{
	no_sanitizer();
	signal(SIGSEGV, own_handler);
	signal(SIGABRT, own_handler);
	keeps_silent(write_null);
	keeps_silent(abort);
}

TEST(switched_off)
{
	no_sanitizer();
	setenv("WEFT_DEBUG", "crash=0", 1);
	OK(died_of(die_of(write_null), SIGSEGV));
	OK(!strstr(died_text, "weft: SIG"));
	OK(died_of(die_of(abort), SIGABRT));
	OK(!strstr(died_text, "weft: SIG"));
}

/* ---- elsewhere than on a goroutine ---- */

OUTLINE static void *
fail_plainly(void *arg)
{
	write_null();
	return arg;
}

static void
on_a_thread(void)
{
	pthread_t t;

	start_bystander();
	EQ(pthread_create(&t, NULL, fail_plainly, NULL), 0);
	pthread_join(t, NULL);
}

TEST(plain_thread)
{
	no_sanitizer();
	OK(died_of(died(on_a_thread, false), SIGSEGV));
	SAID("weft: SIGSEGV at address 0x0 in thread ");
	if (!t_valgrind() && !t_emulated())
		SAID("\tfail_plainly+0x");
	SAID("\tbystander+0x");
}

/* ---- several at once, and a report that fails itself ---- */

static int all_here;

static void
together(void)
{
	__atomic_add_fetch(&all_here, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&all_here, __ATOMIC_RELAXED) < 2)
		weft_yield();
	write_null();
}

static void
two_at_once(void)
{
	weft_waitgroup_add(&never, 1);
	weft_set_procs(4);
	weft_go(together);
	weft_go(together);
	bystander();
}

TEST(twice_at_once)
{
	char *first;

	no_sanitizer();
	OK(died_of(died(two_at_once, false), SIGSEGV));
	SAID("weft: SIGSEGV at address");
	first = strstr(died_text, "weft: SIGSEGV");
	OK(first && !strstr(first + 1, "weft: SIGSEGV"));
}

/* A site that cannot be read: the report crashes. */
static void
bad_site(void)
{
	weft_waitgroup_add(&never, 1);
	weft_go_begin_(NULL, 0, (const weft_site *)(uintptr_t)16, how, 1);
	weft_go_capture2_();
	weft_go_end_();
	bystander();
}

TEST(crash_in_a_report)
{
	no_sanitizer();
	how = write_null;
	OK(died_of(died(bad_site, false), SIGSEGV));
}

/* ---- a stack overflow ---- */

OUTLINE static int
dig(int depth)
{
	volatile char room[100];

	room[0] = (char)depth;
	return depth < 0 ? 0 : dig(depth + 1) + room[0];
}

static void overflow(void) { sink += dig(1); }

TEST(overflow_shows_the_stack)
{
	no_sanitizer();
	if (t_valgrind())
		t_skip("guards are others");
	OK(died_of(die_of(overflow), SIGABRT));
	SAID("overflowed its stack of ");
	SAID("\tdig+0x");
	SAID("\t...\n");
}

/* ---- the end of the process meanwhile ---- */

/*
 * Main returns when it has read the first part of the report of many
 * goroutines, so while the rest is written.
 */
static void
returns_meanwhile(void)
{
	int end[2];
	char c;

	EQ(pipe(end), 0);
	dup2(end[1], 2);
	weft_waitgroup_add(&never, 1);
	for (long i = t_scale(5000); i > 0; i--)
		weft_go(bystander);
	weft_yield();
	how = write_null;
	weft_go(culprit);
	EQ(weft_read(end[0], &c, 1), 1);
}

static void
exits_meanwhile(void)
{
	returns_meanwhile();
	exit(0);
}

/* A report that has begun is not cut short, and the signal ends the process. */
static void
dies_of_the_signal(void (*fn)(void))
{
	no_sanitizer();
	for (int i = 0; i < 10; i++)
		OK(died_of(died(fn, false), SIGSEGV));
}

TEST(crash_while_main_returns)
{
	dies_of_the_signal(returns_meanwhile);
}

TEST(crash_while_the_program_exits)
{
	dies_of_the_signal(exits_meanwhile);
}

static void *
dies_on_a_thread(void *arg)
{
	write_null();
	return arg;
}

/* The child of a vfork shares the memory, and ends alone. */
static void
after_a_vfork(void)
{
	pthread_t t;
	pid_t pid;

	weft_pin();
	pid = vfork();
	/* What abort does; musl's would end its parent. */
	if (pid == 0) {
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGABRT);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	pthread_create(&t, NULL, dies_on_a_thread, NULL);
	pthread_join(t, NULL);
}

TEST(abort_in_the_child_of_a_vfork)
{
	no_sanitizer();
	OK(died_of(died(after_a_vfork, false), SIGSEGV));
	SAID("weft: SIGSEGV at address 0x0 in thread ");
}

/* That of a fork has no goroutines to report. */
static void
in_a_fork(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		write_null();
	waitpid(pid, &status, 0);
	_exit(died_of(status, SIGSEGV) ? 7 : 8);
}

TEST(crash_in_the_child_of_a_fork)
{
	int status;

	no_sanitizer();
	status = died(in_a_fork, false);
	OK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	OK(!strstr(died_text, "goroutine"));
}
