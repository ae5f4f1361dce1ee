/* SPDX-License-Identifier: MIT */
/* Calls that make no sense end the process with a message that says why. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static weft_waitgroup wg;

static void nothing(void *arg) { (void)arg; }
static int succeed(void) { return 0; }

/* ---- null functions ---- */

DIES(go_null, 1, "weft_go(fn): null function (at " __FILE__ ":")
{
	void (*fn)(int) = NULL;

	weft_go(fn, 1);
}

DIES(go_null_in_goroutine, 2, "weft_go(fn): null function")
{
	void (*fn)(void) = NULL;

	weft_waitgroup_add(&wg, 1);
	weft_go_opt(WEFT_OPT(.name = "x"), fn);
}

/* Even where there is no runtime to refuse it. */
DIES(go_null_early, 0, "weft_go(fn): null function")
{
	void (*fn)(void) = NULL;

	weft_go(fn);
}

DIES(spawn_null, 1, "weft_spawn: null function")
{
	weft_spawn(NULL, 0, NULL, NULL, 0);
}

DIES(defer_null, 1, "weft_defer: null function")
{
	weft_defer(NULL, NULL);
}

DIES(run_null, 0, "weft_run: null function")
{
	weft_run(NULL, 0, NULL);
}

/* ---- what weft_go cannot do ---- */

#define NO_RUNTIME "no runtime is running; call it from weft_main or below " \
	"weft_run"

DIES(go_without_runtime, 0, "weft_go(nothing): " NO_RUNTIME)
{
	weft_go(nothing, NULL);
}

DIES(group_go_without_runtime, 0, "weft_group_go(succeed): " NO_RUNTIME)
{
	weft_group g = {0};

	weft_group_go(&g, succeed);
}

DIES(group_try_go_without_runtime, 0, "weft_group_try_go(succeed): ")
{
	weft_group g = {0};

	OK(!weft_group_try_go(&g, succeed));
}

/* A child has none, though its parent has one, and is to be told. */
DIES(go_in_a_forked_child, 1, "weft_go(nothing): " NO_RUNTIME)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		weft_go(nothing, NULL);
	while (waitpid(pid, &status, 0) != pid)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
		abort();
}

DIES(stack_out_of_range, 1,
    "weft_go(nothing): a stack of 17 bytes is out of range")
{
	weft_go_opt(WEFT_OPT(.stack = 17), nothing, NULL);
}

/* Records are used up first: these are never given a stack. */
DIES(out_of_records, 1, "weft_go(nothing): out of memory: no record, ")
{
	struct rlimit no_more = { 1 << 20, 1 << 20 };

	if (t_valgrind() || T_SANITIZED || t_emulated())
		t_skip("needs a limit of memory");
	weft_go(nothing, NULL);
	weft_yield();
	setrlimit(RLIMIT_AS, &no_more);
	weft_pin();			/* the only processor: none begins */
	for (;;)
		weft_go(nothing, NULL);
}

/* ---- not on a goroutine ---- */

PLAIN_THREAD(defer_plainly, weft_defer(nothing, arg))

static void *
exit_plainly(void *arg)
{
	(void)arg;
	weft_goexit();
}

DIES(defer_on_thread, 1, "weft_defer: not on a goroutine")
{
	thread_run(defer_plainly, NULL);
}

DIES(exit_on_thread, 1, "weft_goexit: not on a goroutine")
{
	thread_run(exit_plainly, NULL);
}

DIES(defer_without_runtime, 0, "weft_defer: not on a goroutine")
{
	weft_defer(nothing, NULL);
}

DIES(exit_without_runtime, 0, "weft_goexit: not on a goroutine")
{
	weft_goexit();
}

/* ---- counting ---- */

DIES(waitgroup_negative, 1,
    "waitgroup: counter is negative (-1 after adding -1)")
{
	weft_waitgroup_done(&wg);
}

DIES(waitgroup_negative_by_many, 1,
    "waitgroup: counter is negative (-2 after adding -5)")
{
	weft_waitgroup_add(&wg, 3);
	weft_waitgroup_add(&wg, -5);
}

DIES(waitgroup_negative_while_waited_for, 1, "counter is negative")
{
	weft_waitgroup_add(&wg, 1);
	weft_go(weft_waitgroup_add, &wg, -2);
	weft_waitgroup_wait(&wg);
}

static void *
done_plainly(void *arg)
{
	weft_waitgroup_done(arg);
	weft_waitgroup_done(arg);
	return NULL;
}

DIES(waitgroup_negative_on_thread, 0, "counter is negative")
{
	weft_waitgroup_add(&wg, 1);
	thread_run(done_plainly, &wg);
}
