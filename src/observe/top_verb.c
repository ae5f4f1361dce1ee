/* SPDX-License-Identifier: MIT */
/*
 * The verb "top" of the debug socket: what weft-top shows, as lines "name
 * value", counters since the start. The tool takes differences.
 *
 * Which functions run most, and how busy each P is, is found by sampling: while
 * "top" is asked for, and some seconds longer, the helper looks at all Ps every
 * 10 ms. What a P runs is told by the function that its goroutine was started
 * with. Nothing is sampled while no tool asks.
 *
 *	weft-top 1			the version of the format
 *	pid, time, samples, ...		one number
 *	latency BOUND N			so many waits of less than BOUND ns
 *	waiting N REASON		goroutines
 *	retaken N REASON		and `paused`, `refused`: counters
 *	proc ID STATE TID QUEUED SWITCHES BUSY GOROUTINE FUNCTION
 *	thread TID PROC WHAT GOROUTINE FUNCTION
 *	hot N FUNCTION			samples
 *	end				nothing was cut off
 */
#include <string.h>
#include <sys/syscall.h>

#include "debug_socket.h"
#include "debug_verb.h"
#include "fatal.h"
#include "latency.h"
#include "os.h"
#include "rawcall.h"
#include "sink.h"
#include "site_text.h"
#include "snapshot.h"
#include "weft.h"

enum {
	BUF_BYTES = 4096,
	HOT_MAX = 128,
	NAME_BYTES = 64,
	PROCS_SHOWN = 256,
	THREADS_SHOWN = 64
};

static const int64_t every_ns = 10000000;
static const int64_t watched_ns = 5000000000;

/* All of it is the helper's that serves the socket. */
static struct {
	int64_t until, next;	/* sampling, and the next sample */
	uint64_t samples;
	uint64_t busy[PROCS_MAX];
	struct hot {
		const struct weft_site *site;
		uint64_t n;
		char name[NAME_BYTES];	/* copied: its library may be closed */
	} hot[HOT_MAX];
} top;

/* ---- sampling ---- */

/* For one call at a time, of the helper that serves the socket. */
static const char *
function_of(const struct g *gp)
{
	static struct site_text text;
	const struct weft_site *site = gp ? g_site(gp) : NULL;

	if (!site)
		return "-";
	site_text(site, &text);
	return text.fn;
}

/* The last place is for all that have none. */
static struct hot *
hot_of(const struct weft_site *site)
{
	struct hot *h = top.hot;

	while (h->site && h->site != site && h < top.hot + HOT_MAX - 1)
		h++;
	if (!h->site) {
		bool last = h == top.hot + HOT_MAX - 1;
		struct site_text text;

		h->site = site;
		site_text(site, &text);
		format(h->name, NAME_BYTES, "%s", last ? "(others)" : text.fn);
	}
	return h;
}

static void
sample_p(const struct p_view *p)
{
	const struct weft_site *site = p->gp ? g_site(p->gp) : NULL;

	if (!site)
		return;
	top.busy[p->id]++;
	if (!p->in_call)
		hot_of(site)->n++;
}

static void
sample(void)
{
	uint32_t procs = a_load_relaxed(&sched.procs);
	struct p_view p;

	top.samples++;
	for (uint32_t i = 0; i < procs && snapshot_p(i, &p); i++)
		sample_p(&p);
}

static int64_t
tick(int64_t now)
{
	if (now >= top.until)
		return NEVER_NS;
	if (now >= top.next) {
		sample();
		top.next = now + every_ns;
	}
	return top.next;
}

/* ---- the answer ---- */

static void
put(struct sink *out, const char *name, int64_t v)
{
	sink_add(out, "%s %ld\n", name, v);
}

static void
put_gauges(struct sink *out, const weft_metrics *m)
{
	put(out, "goroutines", m->goroutines);
	put(out, "running", m->running);
	put(out, "runnable", m->runnable);
	put(out, "in_call", m->in_call);
	put(out, "detached", m->detached);
	put(out, "blocked", m->blocked);
	put(out, "paused_now", m->paused);
	put(out, "procs", m->procs);
	put(out, "procs_idle", m->procs_idle);
	put(out, "threads", m->threads);
	put(out, "threads_idle", m->threads_idle);
	put(out, "threads_searching", m->threads_searching);
	put(out, "threads_missing", m->threads_missing);
	put(out, "queue_global", m->queue_global);
	put(out, "queue_local", m->queue_local);
	put(out, "io_open", m->io_open);
	put(out, "stacks", (int64_t)m->stacks);
	put(out, "stack_bytes", (int64_t)m->stack_bytes);
	put(out, "record_bytes", (int64_t)m->record_bytes);
}

static void
put_counters(struct sink *out, const weft_metrics *m)
{
	put(out, "spawned", (int64_t)m->spawned);
	put(out, "ended", (int64_t)m->ended);
	put(out, "switches", (int64_t)m->switches);
	put(out, "parks", (int64_t)m->parks);
	put(out, "yields", (int64_t)m->yields);
	put(out, "steals", (int64_t)m->steals);
	put(out, "stolen", (int64_t)m->stolen);
	put(out, "wakes", (int64_t)m->wakes);
	put(out, "preempt_asked", (int64_t)m->preempt_asked);
	put(out, "preempt_signals", (int64_t)m->preempt_signals);
	put(out, "preempted", (int64_t)m->preempted);
	put(out, "io_polls", (int64_t)m->io_polls);
	put(out, "io_events", (int64_t)m->io_events);
}

static void
put_retakes(struct sink *out, const char *name, const uint64_t *n)
{
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		if (n[i])
			sink_add(out, "%s %lu %s\n", name, n[i],
			    weft_retake_reason_name(
			    (enum weft_retake_reason)i));
}

static void
put_waiting(struct sink *out)
{
	weft_goroutine_counts c;
	const char *name;

	weft_goroutine_counts_read(&c, sizeof c);
	put(out, "waiting_all", c.waiting);
	put(out, "not_started", c.not_started);
	for (int i = 0; (name = weft_wait_reason_name(i)); i++)
		if (c.waiting_for[i])
			sink_add(out, "waiting %ld %s\n", c.waiting_for[i],
			    name);
}

static void
put_latency(struct sink *out, const weft_metrics *m)
{
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
		if (m->latency[i])
			sink_add(out, "latency %ld %lu\n",
			    latency_bound_ns(i), m->latency[i]);
}

static void
put_procs(struct sink *out, uint32_t procs)
{
	struct p_view p;

	if (procs > PROCS_SHOWN)
		procs = PROCS_SHOWN;
	for (uint32_t i = 0; i < procs && snapshot_p(i, &p); i++)
		sink_add(out, "proc %u %s %d %u %lu %lu %ld %s\n", i,
		    p.in_call ? "call" : p.state, p.tid, p_view_queued(&p),
		    p.tick, top.busy[i], p.gp ? (long)g_id(p.gp) : 0,
		    function_of(p.gp));
}

struct threads {
	struct sink *out;
	uint32_t n;
};

/* In a library, or the program: then it has no P, but for a moment. */
static bool
is_asleep(const struct m_view *m)
{
	return m->p < 0 && os_thread_blocked_once(m->tid) == 1;
}

static void
put_thread(const struct m_view *m, void *arg)
{
	struct threads *t = arg;
	const char *what = m->paused ? "paused" : m->in_call ? "call" :
	    m->gp ? is_asleep(m) ? "asleep" : "running" :
	    m->p >= 0 ? "searching" : "idle";

	if (t->n++ >= THREADS_SHOWN)
		return;
	sink_add(t->out, "thread %d %d %s %ld %s\n", m->tid, m->p, what,
	    m->gp ? (long)g_id(m->gp) : 0, function_of(m->gp));
}

static void
put_hot(struct sink *out)
{
	for (struct hot *h = top.hot; h < top.hot + HOT_MAX && h->site; h++)
		sink_add(out, "hot %lu %s\n", h->n, h->name);
}

static void
put_all(struct sink *out)
{
	struct threads t = { .out = out };
	weft_metrics m;

	weft_metrics_read(&m, sizeof m);
	sink_add(out, "weft-top 1\nversion %s\n", weft_version());
	put(out, "pid", (int64_t)syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0));
	put(out, "time", m.time);
	put(out, "samples", (int64_t)top.samples);
	put_gauges(out, &m);
	put_counters(out, &m);
	put_retakes(out, "retaken", m.preempt_taken);
	put_retakes(out, "paused", m.preempt_paused);
	put_retakes(out, "refused", m.preempt_refused);
	put_waiting(out);
	put_latency(out, &m);
	put_procs(out, (uint32_t)m.procs);
	snapshot_each_m(put_thread, &t);
	put_hot(out);
	sink_add(out, "end\n");
}

static int
serve_top(int fd, const char *words)
{
	char buf[BUF_BYTES];
	struct fd_sink s;

	(void)words;
	top.until = os_now_ns() + watched_ns;
	fd_sink_init(&s, fd, buf, sizeof buf);
	put_all(&s.sink);
	return sink_flush(&s.sink);
}

static struct debug_verb verb = {
	.name = "top", .help = "what weft-top shows", .serve = serve_top
};

__attribute__((constructor)) static void
add_verb(void)
{
	debug_socket_tick = tick;
	debug_verb_add(&verb);
}
