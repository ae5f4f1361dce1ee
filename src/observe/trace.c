/* SPDX-License-Identifier: MIT */
/*
 * Recording an execution trace: to a file while the program runs (*stream*),
 * or in memory, from where the last events are written on demand (*flight*).
 *
 *	        weft_trace_start              weft_trace_flight
 *	STREAM <---------------- OFF --------------------------> FLIGHT
 *	   |     weft_trace_stop  ^     weft_trace_stop             |
 *	   +----------------------+---------------------------------+
 *
 * All under recorder.lock, which is held while the file is written. A goroutine
 * announces that it may block for it; it is no lock that the scheduler takes.
 *
 * A helper, started with the first trace, writes full chunks. It also writes
 * the flight recorder's file when a signal handler or the watch for stalls asks
 * for that: these only set a bit and poke it.
 */
#include "recorder.h"

#include <errno.h>

#include "blocking.h"
#include "events.h"
#include "helper.h"
#include "module_list.h"
#include "options.h"
#include "os.h"
#include "profile_cpu.h"
#include "running_mark.h"
#include "spawn.h"
#include "weft.h"

struct recorder recorder = { .lock = LOCK_INIT(RANK_TRACE_FILE) };
abool recorder_dying;

enum {
	STREAM_BYTES = 64 << 20,
	FLIGHT_BYTES = 16 << 20,
	STACK_INTERVAL_NS = 50000,
	STATUS_BYTES = 9 * 8,		/* at most, of a goroutine */
	MARK_WAIT_NS = 5000000,
	SOCKET_NS = 2000000000	/* for a client to take what the lock is held
				 * for */
};

void
recorder_lock(void)
{
	blocking_enter((const void *)(uintptr_t)recorder_lock);
	a_add_relaxed(&recorder.waiting, 1);
	lock_take(&recorder.lock);
	a_add_relaxed(&recorder.waiting, -1u);
}

int
recorder_unlock(int result)
{
	lock_drop(&recorder.lock);
	blocking_leave();
	recorder_poke();	/* the helper may have left it to us */
	return result;
}

/* trace.lock, which a thread on which the process dies has already. */
static void
lock_chunks(void)
{
	if (!recorder_is_dying())
		lock_take(&trace.lock);
}

static void
unlock_chunks(void)
{
	if (!recorder_is_dying())
		lock_drop(&trace.lock);
}

/* ---- writing: recorder.lock held ---- */

/* What the rings have not filled yet is copied: they go on writing. */
struct copies {
	struct trace_chunk *chunk;	/* of all rings */
	uint32_t n, room;
};

static struct trace_chunk *
copy_at(const struct copies *l, uint32_t i)
{
	return (void *)((char *)l->chunk + (size_t)i * TRACE_CHUNK_BYTES);
}

/* trace.lock held. */
static void
copy_ring(struct trace_ring *r, struct copies *l)
{
	struct trace_chunk *c = a_load_relaxed(&r->chunk), *to;
	uint32_t words;

	if (!c || c->on != trace.numbers || l->n == l->room)
		return;
	words = trace_chunk_words(c);
	to = copy_at(l, l->n++);
	to->head = c->head;
	a_store_relaxed(&to->used, words);
	for (uint32_t i = 0; i < words; i++)
		a_store_relaxed(&to->word[i], a_load_relaxed(&c->word[i]));
}

static uint32_t
count_rings(void)
{
	uint32_t n = 0;

	while (events_ring(n))
		n++;
	return n;
}

/* All chunks that there are; the full ones leave the list. */
static struct trace_chunks
take_chunks(struct copies *l)
{
	struct trace_chunks full;
	struct trace_ring *r;

	lock_chunks();
	full = trace_take_all();
	for (uint32_t i = 0; (r = events_ring(i)); i++)
		copy_ring(r, l);
	unlock_chunks();
	return full;
}

/* Cycles before which a chunk that ended is too old. */
static uint64_t
window_start(void)
{
	struct trace_clock now = trace_clock_read(), b = recorder.began;
	double rate;

	if (!recorder.window || now.ns - b.ns <= recorder.window)
		return 0;
	rate = (double)(now.cycles - b.cycles) / (double)(now.ns - b.ns);
	return now.cycles - (uint64_t)((double)recorder.window * rate);
}

/* Writes all events that are in memory; returns the full chunks. */
static struct trace_chunks
write_all(struct trace_file_out *o, uint64_t since)
{
	uint32_t room = count_rings();
	struct copies l = { os_map((size_t)room * TRACE_CHUNK_BYTES), 0, room };
	struct trace_chunks full;

	if (!l.chunk) {
		l.room = 0;
		trace_file_fail(o, -ENOMEM);
	}
	trace_file_limit(o, SOCKET_NS);
	trace_file_modules(o);
	full = take_chunks(&l);
	for (struct trace_chunk *c = full.head; c; c = c->next)
		if (c->end >= since)
			trace_file_chunk(o, c, trace_chunk_words(c));
	for (uint32_t i = 0; i < l.n; i++)
		trace_file_chunk(o, copy_at(&l, i),
		    trace_chunk_words(copy_at(&l, i)));
	trace_file_clock(o);
	if (l.chunk)
		os_unmap(l.chunk, (size_t)room * TRACE_CHUNK_BYTES);
	return full;
}

/*
 * Where goroutines were spawned that did nothing for long, and what they wait
 * for; in a flight recorder not so many that they replace what happened.
 */
void
recorder_add_status(void)
{
	if (recorder.mode == STREAM ||
	    (uint64_t)spawn_count() * STATUS_BYTES <= trace.limit / 8)
		events_status();
}

static int
open_out(struct trace_file_out *o, const struct trace_target *to,
    const struct trace_clock *began)
{
	return to->path ? trace_file_create(o, to->path, began) :
	    trace_file_to_socket(o, to->socket, began);
}

/* What computes now is in the trace until now. */
static void
mark_running(void)
{
	running_mark_ask();
	running_mark_wait(MARK_WAIT_NS);
}

int
recorder_write_flight(const struct trace_target *to)
{
	struct trace_file_out o;
	struct trace_chunks full;
	int err = open_out(&o, to, &recorder.began);

	if (err)
		return err;
	if (!recorder_is_dying()) {
		module_list_refresh();
		recorder_add_status();
		mark_running();
	}
	full = write_all(&o, window_start());
	if (!recorder_is_dying())
		trace_put_back(&full);
	return trace_file_close(&o);
}

/*
 * The full chunks of a stream go to its file. A thread that wants the lock,
 * maybe to end the trace, does not wait until there are none: that may never be
 * if the disk is slow.
 */
static void
write_full(void)
{
	struct trace_chunk *c;

	module_list_refresh();
	while (!a_load_relaxed(&recorder.waiting)) {
		lock_take(&trace.lock);
		c = trace_take_full();
		lock_drop(&trace.lock);
		if (!c)
			break;
		trace_file_limit(&recorder.out, SOCKET_NS);
		trace_file_chunk(&recorder.out, c, trace_chunk_words(c));
		lock_take(&trace.lock);
		trace_put_free(c);
		lock_drop(&trace.lock);
	}
	trace_file_limit(&recorder.out, SOCKET_NS);
	trace_file_clock(&recorder.out);
}

/* ---- the helper ---- */

static void
helper(void *arg)
{
	(void)arg;
	for (;;) {
		note_wait(&recorder.note, recorder_watch());
		/* The lock is not fair: the waiter pokes us when it is done. */
		if (a_load_relaxed(&recorder.waiting))
			continue;
		lock_take(&recorder.lock);
		if (recorder.mode == STREAM)
			write_full();
		/* pairs with ask, by the poke that follows it */
		recorder_serve(a_and_acqrel(&recorder.asked, 0));
		lock_drop(&recorder.lock);
	}
}

void
recorder_poke(void)
{
	note_poke(&recorder.note);
}

/* ---- begin and end: recorder.lock held ---- */

static struct trace_clock loaded;	/* when the library was */

#define HOUR_NS INT64_C(3600000000000)

/* Nanoseconds as cycles; an hour at most. */
static uint64_t
cycles_in(int64_t ns)
{
	struct trace_clock now = trace_clock_read();

	if (ns > HOUR_NS)
		ns = HOUR_NS;
	if (now.ns <= loaded.ns)
		return (uint64_t)ns;
	return (uint64_t)((double)ns * (double)(now.cycles - loaded.cycles) /
	    (double)(now.ns - loaded.ns));
}

int
recorder_start_helper(void)
{
	int err = recorder.has_helper ? 0 : helper_start(helper, NULL);

	recorder.has_helper = !err;
	return err;
}

static int
begin(enum recorder_mode mode, const weft_trace_options *opt)
{
	size_t bytes = opt->buffer ? opt->buffer :
	    mode == STREAM ? STREAM_BYTES : FLIGHT_BYTES;
	size_t least = 2 * TRACE_CHUNK_BYTES *
	    ((size_t)a_load_relaxed(&sched.procs) + 1);
	int64_t every = opt->stack_interval ? opt->stack_interval :
	    STACK_INTERVAL_NS;
	int err = recorder_start_helper();

	if (err)
		return err;
	module_list_refresh();
	recorder.window = opt->window;
	recorder.began = trace_clock_read();
	err = trace_begin(mode == STREAM ? TRACE_STREAM : TRACE_FLIGHT,
	    bytes < least ? least : bytes,
	    every < 0 ? 0 : cycles_in(every));
	if (!err) {
		recorder.mode = mode;
		running_mark_ask();
	}
	return err;
}

int
recorder_begin_stream(const struct trace_target *to,
    const weft_trace_options *opt)
{
	struct trace_clock now = trace_clock_read();
	int err;

	if (recorder.mode != OFF)
		return -EBUSY;
	err = open_out(&recorder.out, to, &now);
	if (err)
		return err;
	err = begin(STREAM, opt);
	recorder.began = now;
	if (err)
		trace_file_close(&recorder.out);
	else
		recorder_add_status();
	return err;
}

static void
free_chunks(struct trace_chunks *l)
{
	struct trace_chunk *c, *next;

	for (c = l->head; c; c = next) {
		next = c->next;
		os_unmap(c, TRACE_CHUNK_BYTES);
	}
	trace_trim();
}

static uint64_t
count_lost(void)
{
	uint64_t n = recorder.out.lost;
	struct trace_ring *r;

	for (uint32_t i = 0; (r = events_ring(i)); i++)
		if (a_load_relaxed(&r->on) == trace.numbers)
			n += a_load_relaxed(&r->lost);
	return n;
}

static int
end_stream(uint64_t *lost)
{
	struct trace_chunks full;

	if (recorder_is_dying()) {
		a_store_relaxed(&trace.on, 0);
	} else {
		mark_running();
		trace_end();
		module_list_refresh();
	}
	full = write_all(&recorder.out, 0);
	if (!recorder_is_dying())
		free_chunks(&full);
	*lost = count_lost();
	recorder.mode = OFF;
	return trace_file_close(&recorder.out);
}

static void
end_flight(void)
{
	struct trace_chunks full;

	trace_end();
	lock_take(&trace.lock);
	full = trace_take_all();
	lock_drop(&trace.lock);
	free_chunks(&full);
	recorder.mode = OFF;
}

uint32_t
recorder_number(void)
{
	return recorder.mode == STREAM ? trace.numbers : 0;
}

int
recorder_end(uint64_t *lost)
{
	*lost = 0;
	if (recorder.mode == STREAM)
		return end_stream(lost);
	if (recorder.mode == OFF)
		return -ENOENT;
	end_flight();
	return 0;
}

/* ---- for users ---- */

static int
take_options(weft_trace_options *to, const weft_trace_options *from,
    size_t bytes)
{
	int err = options_copy(to, sizeof *to, from, bytes);

	return err ? err : to->window < 0 ? -EINVAL : 0;
}

public int
weft_trace_start(const char *path, const weft_trace_options *opt,
    size_t opt_bytes)
{
	weft_trace_options o;
	int err = path ? take_options(&o, opt, opt_bytes) : -EINVAL;

	if (err)
		return err;
	recorder_lock();
	return recorder_unlock(recorder_begin_stream(
	    &(struct trace_target){ .path = path }, &o));
}

public int
weft_trace_flight(const weft_trace_options *opt, size_t opt_bytes)
{
	weft_trace_options o;
	int err = take_options(&o, opt, opt_bytes);

	if (err)
		return err;
	recorder_lock();
	return recorder_unlock(recorder.mode == OFF ? begin(FLIGHT, &o) :
	    -EBUSY);
}

public int
weft_trace_stop(uint64_t *lost)
{
	uint64_t n;
	int err;

	recorder_lock();
	err = recorder_unlock(recorder_end(&n));
	if (lost)
		*lost = n;
	return err;
}

public int
weft_trace_write(const char *path)
{
	if (!path)
		return -EINVAL;
	recorder_lock();
	return recorder_unlock(recorder.mode != FLIGHT ? -ENOENT :
	    recorder_write_flight(&(struct trace_target){ .path = path }));
}

public bool
weft_trace_is_on(void)
{
	return trace_on();
}

public uint64_t
weft_trace_task_begin(const char *name, uint64_t parent)
{
	uint64_t words[2] = { 0, parent };

	if (!trace_on())
		return 0;
	words[0] = a_add_relaxed(&recorder.tasks, 1) + 1;
	events_user(TR_TASK_BEGIN, words, 2, name);
	return words[0];
}

public void
weft_trace_task_end(uint64_t task)
{
	if (trace_on() && task)
		events_user(TR_TASK_END, &task, 1, NULL);
}

public void
weft_trace_region_begin(const char *name, uint64_t task)
{
	if (trace_on())
		events_user(TR_REGION_BEGIN, &task, 1, name);
}

public void
weft_trace_region_end(void)
{
	if (trace_on())
		events_user(TR_REGION_END, NULL, 0, NULL);
}

public void
weft_trace_log(const char *text, uint64_t task)
{
	if (trace_on())
		events_user(TR_LOG, &task, 1, text);
}

static void
on_sample(const struct profile_sample *s)
{
	events_sample(s->cycles, (uint32_t)s->m + 1, (uint32_t)s->p,
	    (uint64_t)s->goroutine, s->pcs, s->n);
}

__attribute__((constructor)) static void
prepare(void)
{
	a_store_relaxed(&profile_sample_hook, on_sample);
	loaded = trace_clock_read();
	trace.on_full = recorder_poke;
}
