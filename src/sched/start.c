/* SPDX-License-Identifier: MIT */
/*
 * Boot and end.
 *
 * The thread that calls weft_run makes the Ps and the main goroutine, wakes
 * the first M and then waits for the main goroutine's result. Meanwhile it
 * makes the other Ms (see m.h). It runs no goroutines itself: if it did, it
 * could be deep in an endless one when main returns, and weft_run could not.
 */
#include "start.h"

#include <errno.h>
#include <stdlib.h>

#include "cpu.h"
#include "debug_env.h"
#include "desc.h"
#include "events.h"
#include "exit_hook.h"
#include "expire.h"
#include "fatal.h"
#include "follow.h"
#include "fork.h"
#include "idle.h"
#include "monitor.h"
#include "netpoll.h"
#include "pause.h"
#include "preempt.h"
#include "ring.h"
#include "sched.h"
#include "sized.h"
#include "spawn.h"
#include "topology.h"
#include "weft.h"
#include "world.h"

enum {
	MAIN_STACK_BYTES = (8 << 20) - STACK_EXTRA_BYTES,
	DETACHED_MIN = 64
};

/*
 *	HELD <--> DOWN --> BOOTING --> UP --> ENDED
 *	            ^         |
 *	            +---------+  the kernel refused something
 *
 * DOWN and BOOTING by the thread in weft_run, UP and ENDED by the main
 * goroutine. HELD and back by a collector: weft_run waits meanwhile. FORKED,
 * from all but DOWN, by the child of a fork.
 */
enum { DOWN, HELD, BOOTING, UP, ENDED, FORKED };
static a32 phase;

uint64_t run_open_signals;

/* What the main goroutine runs; the thread in weft_run owns it. */
struct job {
	int (*fn)(int argc, char **argv);
	int argc;
	char **argv;
	int result;
};

/* Constant after the constructors. */
static struct run_hook *run_hooks;

void
run_hook_add(struct run_hook *h)
{
	h->next = run_hooks;
	run_hooks = h;
}

static void
run_boot_hooks(void)
{
	for (struct run_hook *h = run_hooks; h; h = h->next)
		if (h->boot)
			h->boot();
}

static void
run_end_hooks(void)
{
	for (struct run_hook *h = run_hooks; h; h = h->next)
		if (h->end)
			h->end();
}

void
sched_forked(void)
{
	if (a_load_relaxed(&phase) != DOWN)
		a_store_relaxed(&phase, FORKED);
	monitor_forked();
	for (struct run_hook *h = run_hooks; h; h = h->next)
		if (h->forked)
			h->forked();
}

bool
sched_is_down(void)
{
	return a_load_relaxed(&phase) == DOWN;
}

bool
sched_hold_down(void)
{
	return a_cas_acq(&phase, DOWN, HELD);	/* pairs with release_down */
}

void
sched_release_down(void)
{
	a_store_rel(&phase, DOWN);	/* pairs with begin_boot */
}

bool
sched_has_ended(void)
{
	return a_load_relaxed(&phase) == ENDED;
}

bool
sched_is_up(void)
{
	/* sc: pairs with main_goroutine, which ends it and then calls on_end */
	return a_load_sc(&phase) == UP;
}

calls_out static void
main_goroutine(void *arg)
{
	struct job *job = arg;
	struct g *gp = m_g(m_self());
	void (*on_end)(void);

	/* pairs with sched_is_up: a thread that sees it sees a scheduler */
	a_store_rel(&phase, UP);
	job->result = job->fn(job->argc, job->argv);
	exit_hook_run(gp);
	if (!m_self())
		fork_child_exit(job->result);
	/* sc: pairs with sched_is_up, asked after on_end was set, or under
	 * the lock of a descriptor */
	a_store_sc(&phase, ENDED);
	world_end();
	pause_end();
	desc_ended();
	ring_ended();
	on_end = a_load_sc(&sched.on_end);	/* sc: the same */
	if (on_end)
		on_end();
	note_wake(&sched.run_note);
}

/* A fault on this thread. An overflow of the current stack ends the process. */
static void
on_fault(void *addr)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (gp && g_stack(gp) && stack_guard_hit(g_stack(gp), addr))
		fatal("overflowed its stack of %zu bytes",
		    stack_class_bytes(g_stack(gp)->class));
}

/*
 * *v, or what the environment says, or a default; must lie in lo..hi. What is
 * wrong with a call is in its result; with a variable, only a message says it.
 */
static bool
setting(int64_t *v, const char *env, int64_t dflt, int64_t lo, int64_t hi)
{
	bool by_env = *v == 0;
	int found = by_env ? os_env_number(env, v) : 1;

	if (found == 0)
		*v = dflt;
	if (found >= 0 && *v >= lo && *v <= hi)
		return true;
	if (by_env && found)
		say("weft: %s=%s: not a number from %ld to %ld\n", env,
		    getenv(env), (long)lo, (long)hi);
	return false;
}

/* What boot needs and nothing after it. */
struct settings {
	uint32_t procs;
	int signal;
	bool pause;
	int64_t slice_us;	/* 0: the usual one */
};

/* Of preemption. 0 or -EINVAL. */
static int
configure_preempt(const weft_config *c, struct settings *out)
{
	int64_t sig = c->preempt_signal, loose = c->max_detached, slice = 0;
	int64_t migrate = 0, most = 4 * (int64_t)out->procs;
	int64_t pause = c->pause;

	if (most < DETACHED_MIN)
		most = DETACHED_MIN;
	if (!setting(&sig, "WEFT_PREEMPT_SIGNAL", SIGURG, -1, SIGRTMAX) ||
	    !setting(&loose, "WEFT_MAX_DETACHED", most, -1, INT32_MAX) ||
	    !setting(&slice, "WEFT_SLICE_US", 0, 0, 1000000) ||
	    !setting(&pause, "WEFT_PAUSE", 1, -1, 1) ||
	    !setting(&migrate, "WEFT_MIGRATE", 0, 0, 1) || sig == 0)
		return -EINVAL;
	out->signal = (int)sig;
	out->pause = pause > 0;
	out->slice_us = slice;
	sched.max_detached = loose < 0 ? 0 : (uint32_t)loose;
	if (migrate)
		a_or_relaxed(&attention, ATTEND_MIGRATE);
	return 0;
}

/* 0 and the settings in use, or -EINVAL. */
static int
configure(const weft_config *config, struct settings *out)
{
	weft_config c = config ? *config : (weft_config){0};
	int64_t p = c.procs, t = c.max_threads, s = (int64_t)c.stack;
	int cpus = cpu_default_procs();
	int64_t said;

	if (cpus > PROCS_MAX)
		cpus = PROCS_MAX;
	if (!setting(&p, "WEFT_PROCS", cpus, 1, PROCS_MAX) ||
	    !setting(&t, "WEFT_MAX_THREADS", THREADS_DEFAULT, 1, INT32_MAX) ||
	    !setting(&s, "WEFT_STACK", STACK_DEFAULT_BYTES, STACK_MIN_BYTES,
	    (int64_t)STACK_MAX_BYTES))
		return -EINVAL;
	out->procs = (uint32_t)p;
	follow_boot(!c.procs && os_env_number("WEFT_PROCS", &said) == 0);
	sched.max_m = (uint32_t)t;
	stack_default_class = stack_class((size_t)s);
	return configure_preempt(&c, out);
}

/*
 * The monitor, and the signal that it may send. All Ms have the mask
 * of the thread in weft_run, but never block that signal, nor those of faults:
 * a stack overflow would end the process without a message.
 */
static int
start_watch(const struct settings *set)
{
	int err;

	if (os_barrier_init() != 0)
		return -ENOSYS;
	sched.sigmask = os_sigmask() & ~os_sigfaults();
	err = preempt_init(set->signal, set->pause);
	if (set->signal > 0)
		sched.sigmask &= ~os_sigbit(set->signal);
	if (!err)
		err = fork_init();
	return err ? err : monitor_start(set->slice_us);
}

/* Everything but goroutines. 0 or -errno. */
static int
boot(const weft_config *config)
{
	struct settings set;
	int err;

	if (os_page_bytes() != PAGE)
		return -ENOTSUP;
	debug_env_check();
	stack_init();
	err = configure(config, &set);
	if (err)
		return err;
	topology_boot(cpu_count());
	sched.seed = os_random_seed();
	list_init(&sched.idle_m);
	list_init(&sched.paused);
	err = world_make_ps(set.procs);
	if (err)
		return err;
	world_resize(set.procs);
	os_on_fault(on_fault);
	thread_state_find_cxx();
	return start_watch(&set);
}

static void
free_main(struct g *gp)
{
	if (g_stack(gp)) {
		san_end(&gp->san);
		stack_put(&p_at(0)->stacks, g_stack(gp));
		/* The next try may have another default size. */
		stack_drain(&p_at(0)->stacks);
	}
	a_store_relaxed(&gp->stack, NULL);
	g_free_any(gp);
}

/* No thread to be had: as after boot(), so that one may try again. */
static void
unstart_main(struct p *pp)
{
	struct g *gp;

	lock_take(&sched.lock);
	gp = globq_get(&sched.globq);
	do
		pp->state = P_STOPPED;
	while ((pp = p_idle_get()));
	lock_drop(&sched.lock);
	a_add_relaxed(&sched.no_p_stats.spawned, -1);
	g_set(gp, G_RUNNABLE, G_DEAD);
	free_main(gp);
}

static int
start_main(struct job *job)
{
	int class = stack_class(MAIN_STACK_BYTES), err;
	struct g *gp;
	struct p *pp;

	if (class < stack_default_class)
		class = stack_default_class;
	gp = spawn_make(class, &g_main_site, main_goroutine, job);
	if (!gp)
		return -ENOMEM;
	/* The world is stopped, so P 0 is ours. */
	if (!sched_give_stack(&p_at(0)->stacks, gp)) {
		free_main(gp);
		return -ENOMEM;
	}
	gp->main = true;
	g_set(gp, G_DEAD, G_RUNNABLE);
	events_create(NULL, gp, false);
	a_add_relaxed(&sched.no_p_stats.spawned, 1);
	pp = world_boot(gp);
	err = m_make_first(pp);
	if (err)
		unstart_main(pp);
	else
		expire_notify(expire_next());	/* of timers set before */
	return err;
}

static int
start(const weft_config *config, struct job *job)
{
	int err = boot(config);

	if (err)
		return err;
	run_boot_hooks();
	return start_main(job);
}

/* Until the main goroutine has returned. */
static void
wait_for_main(void)
{
	if (run_open_signals)
		os_sigmask_set(os_sigmask() & ~run_open_signals);
	while (note_wait(&sched.run_note, FOREVER) == NOTE_POKED) {
		m_make_requested();
		follow_make_requested();
	}
	run_end_hooks();
	fatal_let_die();
}

static int
begin_boot(void)
{
	static const int64_t look_ns = 100 * 1000;
	uint32_t now;

	/* pairs with the end of a try that failed, and sched_release_down */
	while (!a_cas_acq(&phase, DOWN, BOOTING)) {
		now = a_load_relaxed(&phase);
		if (now > HELD)
			return now >= ENDED ? -EALREADY : -EBUSY;
		os_sleep_ns(look_ns);
	}
	return 0;
}

/* 0 and main's result in job, or -errno if it did not start. */
static int
run(const weft_config *config, struct job *job)
{
	int err;

	if (!job->fn)
		fatal("weft_run: null function");
	err = begin_boot();
	if (err)
		return err;
	err = start(config, job);
	if (err)
		a_store_rel(&phase, DOWN);	/* pairs with the next try */
	else
		wait_for_main();
	return err;
}

public int
weft_run_config(const weft_config *config, size_t config_bytes,
    int (*fn)(int argc, char **argv), int argc, char **argv)
{
	struct job job = { .fn = fn, .argc = argc, .argv = argv };
	weft_config c;
	int err;

	sized_in(&c, sizeof c, config, config_bytes);
	err = run(&c, &job);
	return err ? err : job.result;
}

public int
weft_run(int (*fn)(int argc, char **argv), int argc, char **argv)
{
	return weft_run_config(NULL, 0, fn, argc, argv);
}

#define TEXT(x) TEXT2(x)
#define TEXT2(x) #x

public const char *
weft_version(void)
{
	return TEXT(WEFT_VERSION_MAJOR) "." TEXT(WEFT_VERSION_MINOR) "."
	    TEXT(WEFT_VERSION_PATCH);
}

static const char *
why_not(int err)
{
	switch (err) {
	case -EINVAL:
		return "a setting is out of range";
	case -ENOMEM:
		return "out of memory";
	case -ENOTSUP:
		return "pages are not 4 KiB";
	case -ENOSYS:
		return "the kernel has no membarrier";
	case -EBUSY:
		return "it is running already";
	case -EALREADY:
		return "it ran already";
	}
	return "unknown error";
}

static bool by_macro;

bool
run_by_macro(void)
{
	return by_macro;
}

public int
weft_main_(int (*fn)(int argc, char **argv), int argc, char **argv)
{
	struct job job = { .fn = fn, .argc = argc, .argv = argv };
	int err;

	by_macro = true;
	err = run(NULL, &job);
	if (!err)
		return job.result;
	if (err == -EAGAIN)
		say("weft: cannot start: the kernel refuses a thread (error "
		    "%d): look for a limit (ulimit -u, pids.max of the "
		    "cgroup) or a filter of system calls\n",
		    os_thread_refusal());
	else
		say("weft: cannot start: %s\n", why_not(err));
	return 1;
}
