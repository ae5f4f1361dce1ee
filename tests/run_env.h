/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that do not come back, and what a test of them needs: settings
 * of the environment, and what was counted.
 */
#ifndef HOGS_H
#define HOGS_H

#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "stats_now.h"
#include "t.h"

static void (*hogs_body)(void);

static int
hogs_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	hogs_body();
	return 0;
}

/* Runs fn as the main goroutine; "NAME=value", or NULL. */
static inline void
run_env(int procs, const char *env, void (*fn)(void))
{
	weft_config c = {0};

	c.procs = procs;
	hogs_body = fn;
	if (env)
		OK(putenv((char *)(uintptr_t)env) == 0);
	EQ(weft_run_config(&c, sizeof c, hogs_main, 0, 0), 0);
}

/* As GTEST, with a variable in the environment. */
#define ETEST(id, n_procs, env)						\
	static void body_##id(void);					\
	TEST(id) { run_env(n_procs, env, body_##id); }			\
	static void body_##id(void)

/* At file scope: no goroutine of this program loses its P. */
#define NO_PREEMPTION							\
	__attribute__((constructor)) static void			\
	no_preemption(void)						\
	{								\
		setenv("WEFT_PREEMPT_SIGNAL", "-1", 1);			\
		setenv("WEFT_MAX_DETACHED", "-1", 1);			\
	}

static inline long
get(const long *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static inline void
bump(long *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELEASE);
}

/* Waits as a goroutine, until n is at least that. */
static inline void
await(const long *n, long least)
{
	while (get(n) < least)
		weft_sleep(WEFT_MS);
}

/* As a goroutine: after so many seconds (t_share) the goroutines of wg are told
 * to stop, and have. */
static inline void
stop_after(double seconds, long *stop, weft_waitgroup *wg)
{
	for (double end = t_now() + t_share(seconds); t_now() < end; )
		weft_sleep(5 * WEFT_MS);
	bump(stop);
	weft_waitgroup_wait(wg);
}

/* Computes until *stop; does not call anybody. */
static inline void
compute(const long *stop)
{
	while (!get(stop))
		;
}

/* Of preemptions: were signals of any use in this program? */
static inline bool
can_preempt(void)
{
	char text[4096];
	const char *off = getenv("WEFT_PREEMPT_SIGNAL");

	weft_preempt_explain(text, sizeof text);
	return strstr(text, ": can be preempted") && !(off && *off == '-');
}

#endif
