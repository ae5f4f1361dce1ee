/* SPDX-License-Identifier: MIT */
/*
 * What all torture programs have in common: the goroutines that work, the
 * watchdog, and what is expected of the counters in the end. See torture.h.
 */
#include "torture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

#include "rawcall.h"

enum {
	COPIES = 3,		/* goroutines of each work */
	MIXED = 6,		/* and such that do all of them by turns */
	WORKS_MAX = 64,
	ALL_MAX = WORKS_MAX * COPIES + MIXED,
	PATIENCE = 20		/* seconds without progress */
};

static const struct torture *torture;
static const struct work *works[WORKS_MAX];
static size_t n_works;
static struct me all[ALL_MAX];
static size_t n_all;
static double seconds = 2;
static int stop;		/* atomic */
static weft_waitgroup at_work;

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void
torture_fail(const char *file, int line, const char *what, long long got)
{
	fprintf(stderr, "%s: %s:%d: not so: %s (got %lld), goroutine %lld "
	    "\"%s\"\n", torture->name, file, line, what, got,
	    (long long)weft_self_id(), weft_self_name());
	weft_dump_goroutines();
	abort();
}

/* x = x * a + c, again and again; and the same in few steps. */
#define STEP_A UINT64_C(6364136223846793005)
#define STEP_C UINT64_C(1442695040888963407)

static uint64_t
leap(uint64_t x, uint64_t steps)
{
	uint64_t a = STEP_A, c = STEP_C;

	for (; steps; steps >>= 1) {
		if (steps & 1)
			x = x * a + c;
		c *= a + 1;
		a *= a;
	}
	return x;
}

void
torture_spin(uint64_t steps)
{
	uint64_t x = steps, end;

	if (TORTURE_SAN)
		steps /= 4;
	end = leap(x, steps);
	for (uint64_t i = 0; i < steps; i++) {
		x = x * STEP_A + STEP_C;
		__asm__("" : "+r"(x));
	}
	SAME(x, end);
}

uint64_t
torture_random(struct me *me, uint64_t n)
{
	me->rng = me->rng * STEP_A + STEP_C;
	return (me->rng >> 33) % n;
}

long
torture_tid(void)
{
	return syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* ---- the goroutines that work ---- */

static void
one_round(struct me *me, const struct work *w)
{
	w->round(me);
	__atomic_add_fetch(&me->rounds, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void
work(struct me *me)
{
	me->base = (uintptr_t)__builtin_frame_address(0);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		one_round(me, me->work ? me->work :
		    works[torture_random(me, n_works)]);
		if (torture_random(me, 4) == 0)
			weft_yield();
	}
	fclose(me->null);
	weft_waitgroup_done(&at_work);
}

static void
start_one(const struct work *w, size_t i)
{
	struct me *me = &all[n_all];

	*me = (struct me){ .work = w, .rng = i * 977 + 1 };
	me->null = fopen("/dev/null", "w");
	MUST(me->null);
	/* pairs with watch */
	__atomic_store_n(&n_all, n_all + 1, __ATOMIC_RELEASE);
	weft_waitgroup_add(&at_work, 1);
	MUST(weft_try_go_opt(WEFT_OPT(.name = w ? w->name : "mixed"), work,
	    me) > 0);
}

/* From the third on, arguments name the works that are wanted. */
static bool
wanted(const struct work *w, int argc, char **argv)
{
	for (int i = 3; i < argc; i++)
		if (!strcmp(argv[i], w->name))
			return true;
	return argc <= 3;
}

static void
list_works(int argc, char **argv)
{
	for (size_t i = 0; torture->lists[i]; i++)
		for (const struct work *w = torture->lists[i]; w->name; w++) {
			if (!wanted(w, argc, argv))
				continue;
			works[n_works++] = w;
			if (w->once)
				w->once();
		}
	MUST(n_works > 0);
}

static void
start_all(void)
{
	for (size_t i = 0; i < n_works * COPIES; i++)
		start_one(works[i % n_works], i);
	for (size_t i = 0; i < MIXED; i++)
		start_one(NULL, i);
}

/* ---- the watchdog: a plain thread ---- */

static void *
watch(void *arg)
{
	static uint64_t seen[ALL_MAX];
	static double since[ALL_MAX];
	int n = 0;

	(void)arg;
	for (;;) {
		struct timespec tick = { .tv_nsec = 200 * 1000 * 1000 };

		nanosleep(&tick, NULL);
		/* pairs with start_one */
		n = (int)__atomic_load_n(&n_all, __ATOMIC_ACQUIRE);
		for (int i = 0; i < n; i++) {
			uint64_t r = __atomic_load_n(&all[i].rounds,
			    __ATOMIC_RELAXED);

			if (r != seen[i] || since[i] == 0)
				since[i] = now();
			seen[i] = r;
			if (now() - since[i] > PATIENCE)
				torture_fail(all[i].work ? all[i].work->name :
				    "mixed", i, "makes progress",
				    (long long)r);
		}
	}
	return NULL;
}

/* ---- what is expected ---- */

static void
check_audit(void)
{
	static char text[16384];
	static char can[] = ": can be preempted by signals";

	/* With a sanitizer there are no signals, and no audit. */
	if (TORTURE_SAN)
		return;
	MUST(weft_preempt_explain(text, sizeof text) < sizeof text);
	if (!torture->fails && !strstr(text, can))
		fputs(text, stderr);
	MUST(!!strstr(text, can) == !torture->fails);
	MUST(!torture->fails || strstr(text, torture->fails));
}

static uint64_t
least_rounds(void)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < n_all; i++) {
		uint64_t r = __atomic_load_n(&all[i].rounds, __ATOMIC_RELAXED);

		if (r < least)
			least = r;
	}
	return least;
}

static const char *
reason(int i)
{
	return weft_retake_reason_name((enum weft_retake_reason)i);
}

static void
print_counts(const weft_preempt_stats *s)
{
	uint64_t rounds = 0;

	for (size_t i = 0; i < n_all; i++)
		rounds += all[i].rounds;
	printf("%s: procs %d, %zu goroutines, %llu rounds (least %llu); "
	    "asked %llu, signals %llu, preempted %llu, interrupted %llu, "
	    "capped %llu; taken:", torture->name, weft_procs(), n_all,
	    (unsigned long long)rounds, (unsigned long long)least_rounds(),
	    (unsigned long long)s->asked, (unsigned long long)s->signals,
	    (unsigned long long)s->preempted,
	    (unsigned long long)s->interrupted, (unsigned long long)s->capped);
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		if (s->taken[i])
			printf(" %s %llu", reason(i),
			    (unsigned long long)s->taken[i]);
	printf("; paused:");
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		if (s->paused[i])
			printf(" %s %llu", reason(i),
			    (unsigned long long)s->paused[i]);
	printf("; refused:");
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		if (s->refused[i])
			printf(" %s %llu", reason(i),
			    (unsigned long long)s->refused[i]);
	printf("\n");
	fflush(stdout);
}

static void
check_counts(const weft_preempt_stats *s)
{
	uint64_t taken = 0, paused = 0;

	for (int i = 0; i < WEFT_RETAKE_REASONS; i++) {
		taken += s->taken[i];
		paused += s->paused[i];
	}
	MUST(s->asked > 0);
	MUST(taken > 0);
	if (torture->fails || TORTURE_SAN) {
		/* Paused, but where the program is one with libc. */
		SAME(s->preempted, 0);
		MUST(s->signals ? paused > 0 : s->taken[WEFT_RETAKE_OFF] > 0);
	} else {
		MUST(s->preempted > 0);
		SAME(s->taken[WEFT_RETAKE_OFF], 0);
	}
}

/* A worker that had no turn by then, on a busy machine, has the watchdog's. */
static int
run(int argc, char **argv)
{
	weft_preempt_stats s;

	(void)argc, (void)argv;
	check_audit();
	start_all();
	weft_sleep((int64_t)(seconds * 1e9));
	while (least_rounds() == 0)
		weft_sleep(10 * WEFT_MS);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&at_work);
	for (size_t i = 0; i < n_works; i++)
		if (works[i]->end)
			works[i]->end();
	weft_preempt_stats_read(&s, sizeof s);
	print_counts(&s);
	check_counts(&s);
	return 0;
}

int
torture_main(const struct torture *t, int argc, char **argv)
{
	weft_config c = {0};
	pthread_t watchdog;

	torture = t;
	if (argc > 1)
		seconds = atof(argv[1]);
	if (argc > 2)
		c.procs = atoi(argv[2]);
	list_works(argc, argv);
	MUST(pthread_create(&watchdog, NULL, watch, NULL) == 0);
	return weft_run_config(&c, sizeof c, run, argc, argv);
}
