/* SPDX-License-Identifier: MIT */
/*
 * Metrics in the text format of Prometheus, version 0.0.4: for each metric a
 * line HELP, a line TYPE and then its samples, all together; counters end in
 * _total; a histogram has buckets that include those before them, up to
 * le="+Inf", and _sum and _count. Units are seconds and bytes.
 *
 * The histogram has 122 buckets; one is written for each power of two, which
 * is fine enough for alerts and a quarter as many series.
 */
#include "prometheus.h"

#include <string.h>

#include "fatal.h"
#include "latency.h"
#include "sink.h"
#include "snapshot.h"
#include "weft.h"

static void
put_head(struct sink *out, const char *name, const char *type,
    const char *help)
{
	sink_add(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
put_counter(struct sink *out, const char *name, uint64_t v, const char *help)
{
	put_head(out, name, "counter", help);
	sink_add(out, "%s %lu\n", name, v);
}

static void
put_gauge(struct sink *out, const char *name, int64_t v, const char *help)
{
	put_head(out, name, "gauge", help);
	sink_add(out, "%s %ld\n", name, v);
}

/* name{label="value"} v; the values that we have need no escapes. */
static void
put_with(struct sink *out, const char *name, const char *label,
    const char *value, int64_t v)
{
	sink_add(out, "%s{%s=\"%s\"} %ld\n", name, label, value, v);
}

/* A number of nanoseconds as seconds. */
static void
put_seconds(struct sink *out, uint64_t ns)
{
	char digits[10];

	for (int i = 8; i >= 0; i--, ns /= 10)
		digits[i] = (char)('0' + ns % 10);
	digits[9] = 0;
	sink_add(out, "%lu.%s", ns, digits);
}

/* ---- goroutines ---- */

static void
put_goroutines(struct sink *out, const weft_goroutine_counts *c)
{
	static const char name[] = "weft_goroutines";

	put_head(out, name, "gauge", "Goroutines that exist, by state.");
	put_with(out, name, "state", "running", c->running);
	put_with(out, name, "state", "runnable", c->runnable);
	put_with(out, name, "state", "in a call", c->in_call);
	put_with(out, name, "state", "waiting", c->waiting);
}

static void
put_waiting(struct sink *out, const weft_goroutine_counts *c)
{
	static const char name[] = "weft_goroutines_waiting";
	const char *reason;

	put_head(out, name, "gauge",
	    "Goroutines that wait, by what they wait for.");
	for (int i = 1; (reason = weft_wait_reason_name(i)); i++)
		put_with(out, name, "reason", reason, c->waiting_for[i]);
}

static void
put_more_goroutines(struct sink *out, const weft_metrics *m,
    const weft_goroutine_counts *c)
{
	put_gauge(out, "weft_goroutines_not_started", c->not_started,
	    "Goroutines that have no stack yet.");
	put_gauge(out, "weft_goroutines_detached", m->detached,
	    "Goroutines that compute without a processor.");
	put_gauge(out, "weft_goroutines_blocked", m->blocked,
	    "Goroutines without a processor that sleep in the kernel.");
	put_gauge(out, "weft_goroutines_paused", m->paused,
	    "Goroutines that are paused with their thread.");
}

/* ---- counters ---- */

static void
put_scheduler(struct sink *out, const weft_metrics *m)
{
	put_counter(out, "weft_goroutines_spawned_total", m->spawned,
	    "Goroutines spawned.");
	put_counter(out, "weft_goroutines_ended_total", m->ended,
	    "Goroutines that ended.");
	put_counter(out, "weft_switches_total", m->switches,
	    "Times a goroutine was given a processor.");
	put_counter(out, "weft_parks_total", m->parks,
	    "Times a goroutine began to wait.");
	put_counter(out, "weft_yields_total", m->yields,
	    "Times a goroutine asked to let others run.");
	put_counter(out, "weft_steals_total", m->steals,
	    "Times a processor stole from another.");
	put_counter(out, "weft_stolen_total", m->stolen,
	    "Goroutines stolen that way.");
	put_counter(out, "weft_overflows_total", m->overflows,
	    "Times a full local queue was halved.");
	put_counter(out, "weft_wakes_total", m->wakes,
	    "Threads woken or created for new work.");
}

static void
put_reasons(struct sink *out, const char *name, const uint64_t *n,
    const char *help)
{
	put_head(out, name, "counter", help);
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		put_with(out, name, "reason", weft_retake_reason_name(
		    (enum weft_retake_reason)i), (int64_t)n[i]);
}

static void
put_preemption(struct sink *out, const weft_metrics *m)
{
	put_counter(out, "weft_preempt_requests_total", m->preempt_asked,
	    "Goroutines asked to yield.");
	put_counter(out, "weft_preempt_signals_total", m->preempt_signals,
	    "Signals sent to preempt a goroutine.");
	put_counter(out, "weft_preempted_total", m->preempted,
	    "Goroutines preempted by a signal.");
	put_counter(out, "weft_preempt_interrupted_total",
	    m->preempt_interrupted,
	    "System calls that failed with EINTR by these signals.");
	put_counter(out, "weft_preempt_capped_total", m->preempt_capped,
	    "Times too many goroutines ran without a processor.");
	put_reasons(out, "weft_pauses_total", m->preempt_paused,
	    "Goroutines paused with their thread, by why not preempted.");
	put_reasons(out, "weft_pauses_refused_total", m->preempt_refused,
	    "Times a goroutine could not be preempted nor paused.");
	put_reasons(out, "weft_procs_retaken_total", m->preempt_taken,
	    "Processors retaken from a goroutine.");
}

static void
put_io(struct sink *out, const weft_metrics *m)
{
	put_gauge(out, "weft_io_descriptors", m->io_open,
	    "Descriptors registered with the poller and not closed.");
	put_counter(out, "weft_io_registered_total", m->io_registered,
	    "Descriptors registered with the poller.");
	put_counter(out, "weft_io_polls_total", m->io_polls,
	    "Calls of the poller.");
	put_counter(out, "weft_io_events_total", m->io_events,
	    "Events that the poller reported.");
	put_counter(out, "weft_io_stale_events_total", m->io_stale,
	    "Events of descriptors that were closed since.");
	put_counter(out, "weft_io_timeouts_total", m->io_timeouts,
	    "Waits that a deadline ended.");
	put_counter(out, "weft_io_repaired_total", m->io_repaired,
	    "Descriptors found to be closed externally.");
}

/* ---- processors, threads, memory ---- */

static void
put_procs(struct sink *out, const weft_metrics *m)
{
	put_gauge(out, "weft_procs", m->procs,
	    "Goroutines that may run at the same time.");
	put_gauge(out, "weft_procs_idle", m->procs_idle,
	    "Processors that have nothing to run.");
	put_gauge(out, "weft_threads", m->threads,
	    "Threads that run goroutines or could.");
	put_gauge(out, "weft_threads_idle", m->threads_idle,
	    "Threads asleep for want of work.");
	put_gauge(out, "weft_threads_searching", m->threads_searching,
	    "Threads that search for work.");
	put_gauge(out, "weft_threads_missing", m->threads_missing,
	    "1 if there is work and no thread for it.");
}

static void
put_queues(struct sink *out, const weft_metrics *m)
{
	static const char name[] = "weft_queue_length";
	char id[12];
	struct p_view p;

	put_head(out, name, "gauge",
	    "Runnable goroutines in the global queue and at each processor.");
	put_with(out, name, "queue", "global", m->queue_global);
	for (uint32_t i = 0; i < (uint32_t)m->procs && snapshot_p(i, &p);
	    i++) {
		format(id, sizeof id, "%u", i);
		put_with(out, name, "queue", id, p_view_queued(&p));
	}
}

/* The second number in /proc/self/statm, in pages. */
static uint64_t
resident_bytes(void)
{
	char buf[128], *s = buf;
	uint64_t n = 0;

	if (os_read_file("/proc/self/statm", buf, sizeof buf) <= 0)
		return 0;
	while (*s && *s != ' ')
		s++;
	for (s += *s == ' '; *s >= '0' && *s <= '9'; s++)
		n = n * 10 + (uint64_t)(*s - '0');
	return n * PAGE;
}

static void
put_memory(struct sink *out, const weft_metrics *m)
{
	put_gauge(out, "weft_stacks", (int64_t)m->stacks,
	    "Stacks made, in use or free.");
	put_gauge(out, "weft_stack_reserved_bytes", (int64_t)m->stack_bytes,
	    "Address space of all stacks.");
	put_gauge(out, "weft_record_bytes", (int64_t)m->record_bytes,
	    "Address space of the records of goroutines.");
	put_gauge(out, "process_resident_memory_bytes",
	    (int64_t)resident_bytes(), "Resident memory size in bytes.");
}

/* ---- the histogram ---- */

static const char latency[] = "weft_sched_latency_seconds";

/* The bucket that ends at a power of two; all before it are included. */
static void
put_bucket(struct sink *out, uint32_t bucket, uint64_t below)
{
	sink_add(out, "%s_bucket{le=\"", latency);
	put_seconds(out, (uint64_t)latency_bound_ns(bucket));
	sink_add(out, "\"} %lu\n", below);
}

static void
put_latency(struct sink *out, const weft_metrics *m)
{
	uint64_t n = 0;

	put_head(out, latency, "histogram", "How long goroutines were "
	    "runnable before they ran (estimated from a sample).");
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		n += m->latency[i];
		if (i % LATENCY_SUB == 0 && i < LATENCY_BUCKETS - 1)
			put_bucket(out, i, n);
	}
	sink_add(out, "%s_bucket{le=\"+Inf\"} %lu\n%s_sum ", latency, n,
	    latency);
	put_seconds(out, m->latency_sum);
	sink_add(out, "\n%s_count %lu\n", latency, n);
}

void
prometheus_write(struct sink *out)
{
	weft_metrics m;
	weft_goroutine_counts c;

	weft_metrics_read(&m, sizeof m);
	weft_goroutine_counts_read(&c, sizeof c);
	put_head(out, "weft_info", "gauge", "The version of the library.");
	put_with(out, "weft_info", "version", weft_version(), 1);
	put_goroutines(out, &c);
	put_waiting(out, &c);
	put_more_goroutines(out, &m, &c);
	put_scheduler(out, &m);
	put_latency(out, &m);
	put_preemption(out, &m);
	put_io(out, &m);
	put_procs(out, &m);
	put_queues(out, &m);
	put_memory(out, &m);
}

/* ---- into memory ---- */

struct memory_sink {
	struct sink sink;
	char *at, *end;
};

static int
drain_to_memory(struct sink *sink, const char *text, size_t n)
{
	struct memory_sink *s = container_of(sink, struct memory_sink, sink);
	size_t room = (size_t)(s->end - s->at);

	if (n > room)
		n = room;
	if (n)
		memcpy(s->at, text, n);
	s->at += n;
	return 0;
}

public size_t
weft_metrics_text(char *buf, size_t cap)
{
	char piece[512];
	struct memory_sink s = {
		.sink = { .drain = drain_to_memory, .buf = piece,
			.cap = sizeof piece },
		.at = buf,
		.end = buf + (cap ? cap - 1 : 0)
	};

	prometheus_write(&s.sink);
	sink_flush(&s.sink);
	if (cap)
		*s.at = 0;
	return (size_t)s.sink.total;
}
