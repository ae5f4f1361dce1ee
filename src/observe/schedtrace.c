/* SPDX-License-Identifier: MIT */
/*
 * WEFT_DEBUG=schedtrace=MS: a line about the scheduler on standard error every
 * so many milliseconds, as Go has it; with scheddetail=1 also one for each P,
 * M and goroutine.
 *
 * A helper prints it, not the monitor: a terminal that is stopped or a pipe
 * that is full would block the monitor, and then no goroutine is preempted and
 * no P retaken. So what is watched goes on as it would without. The helper
 * ends when standard error cannot be written to.
 */
#include "debug_env.h"
#include "fatal.h"
#include "helper.h"
#include "os.h"
#include "sink.h"
#include "snapshot.h"
#include "spawn.h"
#include "start.h"

enum { BUF_BYTES = 16384, STDERR = 2 };
#define MS INT64_C(1000000)

static struct {
	/* constant while the helper runs */
	int64_t period_ns, start;
	bool detail;
	/* the helper's */
	struct fd_sink out;
	char buf[BUF_BYTES];
} printer;

static a32 running;		/* the helper was started */
static struct note ended;	/* the runtime ended: poked */

/* ---- one line ---- */

static void
put_summary(struct sink *out, const struct sched_view *v)
{
	sink_add(out, "SCHED %ldms: procs=%u idleprocs=%u threads=%u "
	    "spinningthreads=%u needthread=%u idlethreads=%u runqueue=%u",
	    (long)((os_now_ns() - printer.start) / MS), v->procs, v->idle_procs,
	    v->threads, v->spinning, v->no_thread, v->idle_threads, v->global);
}

static void
put_queues(struct sink *out, uint32_t procs)
{
	struct p_view p;

	for (uint32_t i = 0; i < procs && snapshot_p(i, &p); i++)
		sink_add(out, "%s%u", i ? " " : " [", p_view_queued(&p));
	sink_add(out, "]\n");
}

/* ---- the details ---- */

/* What the summary line of the detailed form has beside. */
static void
put_rest(struct sink *out, const struct sched_view *v)
{
	sink_add(out, " goroutines=%ld urgent=%u incall=%u blocked=%u "
	    "computing=%u paused=%u stopping=%u\n", (long)spawn_count(),
	    v->urgent, v->in_call, v->blocked, v->computing, v->paused,
	    v->stopping);
}

/* " name=7", or nil. */
static void
put_ref(struct sink *out, const char *name, int64_t id, bool there)
{
	if (there)
		sink_add(out, " %s=%ld", name, (long)id);
	else
		sink_add(out, " %s=nil", name);
}

static void
put_p(struct sink *out, const struct p_view *p)
{
	sink_add(out, "  P%u: status=%s schedtick=%lu calltick=%lu", p->id,
	    p->state, p->tick, p->calls);
	put_ref(out, "m", p->tid, p->tid);
	put_ref(out, "curg", p->gp ? g_id(p->gp) : 0, p->gp);
	sink_add(out, " runqsize=%u newborn=%u runnext=%u incall=%u "
	    "timers=%u\n", p->ring, p->newborn, p->next, p->in_call,
	    p->timers);
}

static void
put_m(const struct m_view *m, void *out)
{
	sink_add(out, "  M%d:", m->tid);
	put_ref(out, "p", m->p, m->p >= 0);
	put_ref(out, "curg", m->gp ? g_id(m->gp) : 0, m->gp);
	sink_add(out, " incall=%u paused=%u calls=%lu\n", m->in_call,
	    m->paused, m->calls);
}

static void
put_g(struct g *gp, void *out)
{
	enum gstate state = a_load_relaxed(&gp->state);
	bool on_thread = state == G_RUNNING || state == G_CALL;
	int tid = on_thread ? snapshot_tid_of(gp) : 0;
	char site[G_DESCRIBE_BYTES], name[G_NAME_BYTES];

	if (state == G_DEAD || !g_site(gp) || g_is_claimed(gp))
		return;
	g_copy_name(gp, name);
	g_describe_site(gp, site, sizeof site);
	sink_add(out, "  G%ld: status=%s", (long)g_id(gp),
	    g_state_name(state));
	if (state == G_WAITING)
		sink_add(out, "(%s)",
		    g_reason_name(a_load_relaxed(&gp->reason)));
	put_ref(out, "m", tid, tid);
	sink_add(out, "%s%s%s (%s)\n", *name ? " \"" : "", name,
	    *name ? "\"" : "", site);
}

static void
put_detail(struct sink *out, uint32_t procs)
{
	struct p_view p;

	for (uint32_t i = 0; i < procs && snapshot_p(i, &p); i++)
		put_p(out, &p);
	snapshot_each_m(put_m, out);
	g_each(put_g, out);
}

/* ---- the helper ---- */

/* One write, unless it is longer than the buffer. */
static int
report(void)
{
	struct sink *out = &printer.out.sink;
	struct sched_view v;

	snapshot_sched(&v);
	put_summary(out, &v);
	if (printer.detail) {
		put_rest(out, &v);
		put_detail(out, v.procs);
	} else {
		put_queues(out, v.procs);
	}
	return sink_flush(out);
}

static void
schedtrace_main(void *arg)
{
	int64_t next = os_now_ns(), now;

	(void)arg;
	while (report() == 0) {
		now = os_now_ns();
		/* A slow terminal: lines are left out, none is made up for. */
		do
			next += printer.period_ns;
		while (next < now);
		if (note_wait(&ended, os_left_ns(next)) != NOTE_TIMEOUT)
			return;
	}
}

static void
boot(void)
{
	int64_t ms = debug_env_num("schedtrace", 0);

	if (ms <= 0 || a_load_relaxed(&running))
		return;
	printer.period_ns = (ms < 86400000 ? ms : 86400000) * MS;
	printer.detail = debug_env_num("scheddetail", 0) > 0;
	printer.start = os_now_ns();
	fd_sink_init(&printer.out, STDERR, printer.buf, sizeof printer.buf);
	if (helper_start(schedtrace_main, NULL) != 0) {
		say("weft: schedtrace: no thread to print it\n");
		return;
	}
	a_store_relaxed(&running, 1);
}

static void
end(void)
{
	if (a_load_relaxed(&running))
		note_wake(&ended);
}

static struct run_hook hook = { .boot = boot, .end = end };

__attribute__((constructor)) static void
add_hook(void)
{
	run_hook_add(&hook);
}
