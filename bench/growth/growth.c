/* SPDX-License-Identifier: MIT */
/*
 * How the cost of an operation grows with the number of things there are.
 *
 *	weft-growth list		the rows
 *	weft-growth ROW N [PROCS]	ns by operation with N of them
 *
 * A row prepares N goroutines, timers, descriptors or waiters, does operations
 * beside them for some rounds, and prints the least of the rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

enum {
	ROUNDS = 5,
	OPS = 20000,		/* by round, at least */
	SPARE_FDS = 64,
	CASES_MAX = 65536	/* of weft_select */
};

static weft_waitgroup all;
static long size;		/* N */

static double
now_ns(void)
{
	return (double)weft_now();
}

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static long arrived;

static void
arrive(void)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
}

/* Waits until n have arrived, and wait. */
static void
settle(long n)
{
	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < n)
		weft_sleep(WEFT_MS);
	arrived = 0;
	weft_sleep(20 * WEFT_MS);
}

static void *
room(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);

	if (!p) {
		fprintf(stderr, "weft-growth: no memory\n");
		exit(1);
	}
	return p;
}

/* ---- goroutines ---- */

static double
spawn(void)
{
	double start = now_ns();

	weft_waitgroup_add(&all, (int)size);
	for (long i = 0; i < size; i++)
		weft_go(weft_waitgroup_done, &all);
	weft_waitgroup_wait(&all);
	return (now_ns() - start) / (double)size;
}

static weft_event gate;

static void
yielder(long n)
{
	arrive();
	weft_event_wait(&gate);
	while (n-- > 0)
		weft_yield();
	weft_waitgroup_done(&all);
}

/* All of them are runnable, all the time. */
static double
yield(void)
{
	long turns = 4 + OPS * 10 / size;
	double start;

	weft_waitgroup_add(&all, (int)size);
	for (long i = 0; i < size; i++)
		weft_go(yielder, turns);
	settle(size);
	start = now_ns();
	weft_event_set(&gate);
	weft_waitgroup_wait(&all);
	weft_event_reset(&gate);
	return (now_ns() - start) / (double)(size * turns);
}

static weft_chan **chans;

static void
parked(weft_chan *c)
{
	arrive();
	for (long v; weft_chan_recv(c, &v); )
		;
	weft_waitgroup_done(&all);
}

static void
prepare_parked(void)
{
	chans = room((size_t)size, sizeof *chans);
	weft_waitgroup_add(&all, (int)size);
	for (long i = 0; i < size; i++) {
		chans[i] = weft_chan_make(sizeof(long), 0);
		weft_go(parked, chans[i]);
	}
	settle(size);
}

/* Wakes one after the other, which runs and waits again. */
static double
wake(void)
{
	long ops = size > OPS ? size : OPS, v = 0;
	double start = now_ns();

	for (long i = 0; i < ops; i++) {
		weft_chan_send(chans[i % size], &v);
		weft_yield();
	}
	return (now_ns() - start) / (double)ops;
}

/* ---- timers ---- */

static weft_timer **timers;
static uint64_t seed = 12345;

static int64_t
random_ns(int64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (int64_t)(seed >> 20) % below;
}

static void
nothing(void *arg)
{
	(void)arg;
}

/* From a minute on. */
static int64_t
far(void)
{
	return 60000 * WEFT_MS + random_ns(60000 * WEFT_MS);
}

static void
prepare_timers(void)
{
	timers = room((size_t)size, sizeof *timers);
	for (long i = 0; i < size; i++)
		timers[i] = weft_after_func(far(), nothing, NULL);
}

static double
timer_add_stop(void)
{
	weft_timer *t = weft_after_func(far(), nothing, NULL);
	double start = now_ns();

	for (long i = 0; i < OPS; i++) {
		weft_timer_stop(t);
		weft_timer_reset(t, far());
	}
	start = (now_ns() - start) / OPS;
	weft_timer_free(t);
	return start;
}

static double
timer_reset_any(void)
{
	double start = now_ns();

	for (long i = 0; i < OPS; i++)
		weft_timer_reset(timers[random_ns(size)], far());
	return (now_ns() - start) / OPS;
}

static void
sleeper(int64_t when)
{
	weft_sleep_until(when);
	weft_waitgroup_done(&all);
}

/* N goroutines sleep and wake: CPU time, since they sleep. */
static double
sleep_each(void)
{
	int64_t span = size * 500, base = weft_deadline(size * 2000 + WEFT_MS);
	double start = cpu_ns();

	weft_waitgroup_add(&all, (int)size);
	for (long i = 0; i < size; i++)
		weft_go(sleeper, base + random_ns(span));
	weft_waitgroup_wait(&all);
	return (cpu_ns() - start) / (double)size;
}

/* ---- descriptors ---- */

static int pair[2];

static void
echo(int fd)
{
	for (char c; weft_read(fd, &c, 1) == 1; )
		weft_write(fd, &c, 1);
}

static void
idle_reader(int fd)
{
	char c;

	arrive();
	weft_read(fd, &c, 1);
}

static void
prepare_fds(void)
{
	struct rlimit r;
	int end[2];

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	if ((rlim_t)size * 2 + SPARE_FDS > r.rlim_cur)
		size = ((long)r.rlim_cur - SPARE_FDS) / 2;
	for (long i = 0; i < size; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, end) != 0) {
			size = i;
			break;
		}
		weft_go(idle_reader, end[0]);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		exit(1);
	weft_go(echo, pair[1]);
	settle(size);
}

static double
round_trip(void)
{
	double start = now_ns();
	char c = 1;

	for (long i = 0; i < OPS; i++) {
		weft_write(pair[0], &c, 1);
		weft_read(pair[0], &c, 1);
	}
	return (now_ns() - start) / OPS;
}

/* ---- waiters on one channel ---- */

static weft_chan *crowded, *other;

static void
prepare_crowd(void)
{
	crowded = weft_chan_make(sizeof(long), 0);
	other = weft_chan_make(sizeof(long), 0);
	weft_waitgroup_add(&all, (int)size);
	for (long i = 0; i < size; i++)
		weft_go(parked, crowded);
	settle(size);
}

/* The first of the queue gets it, and joins it again at the end. */
static double
send_crowd(void)
{
	long v = 0, ops = size > OPS ? size : OPS;
	double start = now_ns();

	for (long i = 0; i < ops; i++) {
		weft_chan_send(crowded, &v);
		weft_yield();
	}
	return (now_ns() - start) / (double)ops;
}

static void
feeder(void)
{
	long v = 0;

	for (long i = 0; i < OPS; i++)
		weft_chan_send(other, &v);
	weft_waitgroup_done(&all);
}

/*
 * A select waits in the crowded queue as well, and leaves it: the feeder sends
 * when it is parked.
 */
static double
leave_crowd(void)
{
	double start = now_ns();
	long v;

	weft_waitgroup_add(&all, 1);
	weft_go(feeder);
	for (long i = 0; i < OPS; i++) {
		weft_case c[] = { WEFT_CASE_RECV(crowded, &v),
		    WEFT_CASE_RECV(other, &v) };

		weft_select(c, 2);
	}
	return (now_ns() - start) / OPS;
}

static void
leave_by_time(void)
{
	long v;

	for (long i = 0; i < OPS / 20; i++)
		weft_chan_recv_until(crowded, &v, weft_deadline(1));
	weft_waitgroup_done(&all);
}

/* The same by a deadline; CPU time. Each leaves from the queue's end. */
static double
expire_crowd(void)
{
	double start = cpu_ns();

	weft_waitgroup_add(&all, 1);
	weft_go(leave_by_time);
	while (weft_goroutines() > size + 1)
		weft_sleep(WEFT_MS);
	return (cpu_ns() - start) / (OPS / 20);
}

/* ---- cases of a select ---- */

static weft_case *cases;
static long value;

static void
prepare_cases(void)
{
	if (size > CASES_MAX)
		size = CASES_MAX;
	cases = room((size_t)size, sizeof *cases);
	chans = room((size_t)size, sizeof *chans);
	for (long i = 0; i < size; i++) {
		chans[i] = weft_chan_make(sizeof value, 1);
		cases[i] = (weft_case)WEFT_CASE_RECV(chans[i], &value);
	}
}

/* By case: it looks at each. */
static double
select_ready(void)
{
	long ops = 1 + OPS / size;
	double start = now_ns();

	for (long i = 0; i < ops; i++) {
		weft_chan_send(chans[random_ns(size)], &value);
		weft_select(cases, (size_t)size);
	}
	return (now_ns() - start) / (double)(ops * size);
}

static void
sender(long n)
{
	while (n-- > 0) {
		weft_chan_send(chans[random_ns(size)], &value);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static double
select_wait(void)
{
	long ops = 1 + OPS / size;
	double start = now_ns();

	weft_waitgroup_add(&all, 1);
	weft_go(sender, ops);
	for (long i = 0; i < ops; i++)
		weft_select(cases, (size_t)size);
	weft_waitgroup_wait(&all);
	return (now_ns() - start) / (double)(ops * size);
}

/* ---- locks ---- */

static weft_mutex mutex;
static weft_sem crowded_sem, *sems;
static long left;

static void
locker(void)
{
	while (__atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) > 0) {
		weft_mutex_lock(&mutex);
		weft_yield();
		weft_mutex_unlock(&mutex);
	}
	weft_waitgroup_done(&all);
}

/* All but one wait for it. */
static double
mutex_crowd(void)
{
	long ops = size * 2 > OPS ? size * 2 : OPS;
	double start = now_ns();

	left = ops;
	weft_waitgroup_add(&all, (int)size);
	for (long i = 0; i < size; i++)
		weft_go(locker);
	weft_waitgroup_wait(&all);
	return (now_ns() - start) / (double)ops;
}

enum { SEMS = 16384 };

static void
wait_crowded(void)
{
	arrive();
	weft_sem_acquire(&crowded_sem, 1);
}

static void
wait_own(weft_sem *s)
{
	arrive();
	for (;;)
		weft_sem_acquire(s, 1);
}

static void
prepare_sems(void)
{
	sems = room(SEMS, sizeof *sems);
	for (long i = 0; i < size; i++)
		weft_go(wait_crowded);
	settle(size);
	for (int i = 0; i < SEMS; i++)
		weft_go(wait_own, &sems[i]);
	settle(SEMS);
}

/*
 * Wakes the waiter of another word: the one that takes longest, of each the
 * least so far. Some of so many have the crowd's bucket in the parking lot.
 */
static double
sem_worst(void)
{
	static double best[SEMS];
	double worst = 0;

	for (int i = 0; i < SEMS; i++) {
		double start = now_ns(), ns;

		weft_sem_release(&sems[i], 1);
		weft_yield();
		ns = now_ns() - start;
		if (best[i] == 0 || ns < best[i])
			best[i] = ns;
		worst = best[i] > worst ? best[i] : worst;
	}
	return worst;
}

static double
sem_mean(void)
{
	double start = now_ns();

	for (int i = 0; i < SEMS; i++) {
		weft_sem_release(&sems[i], 1);
		weft_yield();
	}
	return (now_ns() - start) / SEMS;
}

/* ---- contexts ---- */

static weft_context *parent, **children;

static void
prepare_children(void)
{
	parent = weft_context_make(NULL);
	children = room((size_t)size, sizeof *children);
	for (long i = 0; i < size; i++)
		children[i] = weft_context_make(parent);
}

static double
context_child(void)
{
	double start = now_ns();

	for (long i = 0; i < OPS; i++)
		weft_context_release(weft_context_make(parent));
	return (now_ns() - start) / OPS;
}

/* ---- the program ---- */

static const struct row {
	const char *name;
	void (*prepare)(void);
	double (*run)(void);
	long most;		/* not with more than these */
} rows[] = {
	{ "spawn_and_end", NULL, spawn, 1000000 },
	{ "yield_among_N", NULL, yield, 1000000 },
	{ "wake_one_of_N", prepare_parked, wake, 1000000 },
	{ "timer_stop_reset", prepare_timers, timer_add_stop, 1000000 },
	{ "timer_reset_any", prepare_timers, timer_reset_any, 1000000 },
	{ "sleep_of_N_(cpu)", NULL, sleep_each, 1000000 },
	{ "echo_beside_N_fds", prepare_fds, round_trip, 1000000 },
	{ "send_to_N_waiters", prepare_crowd, send_crowd, 1000000 },
	{ "select_leaves_N", prepare_crowd, leave_crowd, 1000000 },
	{ "deadline_leaves_N_(cpu)", prepare_crowd, expire_crowd, 1000000 },
	{ "select_N_ready/case", prepare_cases, select_ready, 1000000 },
	{ "select_N_waits/case", prepare_cases, select_wait, 1000000 },
	{ "mutex_of_N", NULL, mutex_crowd, 1000000 },
	{ "sem_beside_N_mean", prepare_sems, sem_mean, 1000000 },
	{ "sem_beside_N_worst", prepare_sems, sem_worst, 1000000 },
	{ "context_beside_N", prepare_children, context_child, 1000000 },
};

enum { ROWS = sizeof rows / sizeof *rows };

static int
measure(int argc, char **argv)
{
	const struct row *r = NULL;
	double least = 0;

	(void)argc;
	for (int i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, argv[1]))
			r = &rows[i];
	if (!r || size > r->most)
		return 2;
	if (r->prepare)
		r->prepare();
	for (int i = 0; i < ROUNDS; i++) {
		double ns = r->run();

		if (i == 0 || ns < least)
			least = ns;
	}
	printf("%s %ld %.1f\n", r->name, size, least);
	fflush(stdout);
	_exit(0);		/* what was prepared is not taken apart */
}

int
main(int argc, char **argv)
{
	weft_config c = { .procs = argc > 3 ? atoi(argv[3]) : 1 };

	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (int i = 0; i < ROWS; i++)
			puts(rows[i].name);
		return 0;
	}
	if (argc < 3 || (size = atol(argv[2])) < 1) {
		fprintf(stderr, "usage: weft-growth list | ROW N [PROCS]\n");
		return 2;
	}
	return weft_run_config(&c, sizeof c, measure, argc, argv);
}
