/* SPDX-License-Identifier: MIT */
/*
 * The readers-writer lock: one writer or many readers. Readers on different Ps
 * write to different cache lines.
 *
 * MARKS. Each reader leaves one mark for as long as it reads, and takes one
 * away when it ends. A mark is either in the count of the lock's word, or
 * (*spread*) in the table of a P, where each P has its own, at the place that
 * the lock's address hashes to (reader_marks.h). Marks have no owners: a reader
 * that ends takes any. A goroutine may have moved to another P since it left
 * its own, or may even end what another one began. No number is ever negative
 * while there is no writer: so a lock that is not held has no marks anywhere,
 * may be freed without notice, and its places in the tables can be used for
 * other locks.
 * (Rejected: a sum of numbers that may be negative. Taking a mark away would
 * never need a search, but what a lock leaves behind in the tables when it is
 * freed would be found by the next one at that address.)
 *
 *	always:	marks = readers, and those that are trying to become one
 *
 * THE WORD. A signed count of marks in its upper half, and:
 *
 *	WRITER		a writer is coming or here; no new readers
 *	GATHERED	all marks are in the count, and the reader that makes it
 *			0 wakes the writer; never without WRITER
 *	WAITING		readers wait in the parking lot for the writer to go;
 *			never without WRITER
 *	SPREAD		readers may leave their marks in the tables
 *	turns		how many readers have left one in the count instead,
 *			since the last writer
 *
 * A READER that finds SPREAD and no WRITER puts a mark into its P's place,
 * unless another lock has marks there, and looks at the word again. If it is
 * still so, it reads. Otherwise it takes a mark away again and goes the other
 * way: without WRITER it adds to the count; with WRITER it sets WAITING and
 * queues in the parking lot.
 *
 * A WRITER has the mutex of the writers. It sets WRITER and then, if there
 * was SPREAD, *gathers*: empties all places of this lock in all tables. Then,
 * in one step, it adds what it found to the count, sets GATHERED and clears
 * SPREAD and turns. If the count is 0 by that it has the lock, else it sleeps,
 * and the reader that brings it to 0 wakes it.
 *
 * A reader that ENDS takes a mark from its P's place if it is there. That is
 * all: it was before the writer emptied that place, or there is no writer.
 * Otherwise it takes it from the count: if that is above 0, or if there is a
 * WRITER, which has or will have the mark (below 0 until then). Otherwise it
 * searches the tables of the other Ps. Others may take and leave marks behind
 * and before the search, so in theory it may find none. Then it does as a
 * writer does, but stops after gathering: now all marks are in the count. If
 * there is none even then it had no right to one, and dies. (Without SPREAD it
 * looks at the count first, where its mark must be. A caller that is only
 * *trying* to read must not: see below.)
 *
 * GIVING UP. A reader whose limit (limit.h) ended its sleep has no mark: the
 * writer that goes leaves marks only for those that it claims. If it was still
 * in the queue, and the last there, it clears WAITING. All under the bucket's
 * lock, under which WAITING changes.
 *
 * A writer gives up as a waiter for the mutex, or when it has gathered and
 * waits for the count. In the latter case it clears GATHERED, in a step that
 * requires the count to be above 0. If that succeeds no reader will wake it any
 * more; then it clears WRITER and lets the readers in that waited for it, as an
 * unlock does. If the count is 0 the last reader was first, and the semaphore
 * on which the writer sleeps has or will have its unit: the writer takes that,
 * and has the lock. So a unit is given if and only if the writer takes it.
 *
 * Why the writer misses no reader. Reader: mark, look at the word. Writer:
 * WRITER, look at the place. All sequentially consistent: so the reader sees
 * WRITER, or the writer sees the mark. Nor can it miss that there was SPREAD:
 * the reader saw it after its mark was there, and the first writer after that
 * does not get to clear it before it has that mark.
 *
 * Why 0 after GATHERED means no readers, although the tables were not looked
 * at in one instant. When the writer has emptied a place, only those that will
 * see WRITER add to it (they read the word before it was set; if a writer is
 * gone again by then they see no SPREAD, or that of later, and then they are
 * readers of later). Each takes its own mark away again from that same place,
 * on whose P it is alone, or finds it empty, if a search took it. So there is
 * at most one mark for each that is still trying; all others are in the
 * count, which is thus no less than the number of readers. (If it took one
 * from the count instead its mark would stay behind.) And the count becomes 0
 * exactly once, since with WRITER set no reader adds to it.
 *
 * SPREAD is for locks that are mostly read: it is set when TURNS marks have
 * been left in the count since the last writer, so that gathering, a cache
 * line for each P, is rare beside what it saves. With one P, or only plain
 * threads, there is nothing to save.
 *
 * A reader that ends does not touch the lock after taking its mark, nor does
 * the last one after the step that makes the count 0, but to wake the writer,
 * which is still there. A writer unlocks the mutex last: a lock must not be
 * freed by a *reader* while unlock, or a lock with a limit, has not returned.
 */
#include "fatal.h"
#include "hard.h"
#include "limit.h"
#include "mutex.h"
#include "os.h"
#include "parking_lot.h"
#include "parksema.h"
#include "preempt.h"
#include "reader_marks.h"
#include "sched.h"

#define WRITER UINT64_C(1)
#define GATHERED UINT64_C(2)
#define WAITING UINT64_C(4)
#define SPREAD UINT64_C(8)
#define TURN UINT64_C(16)		/* bits 4 to 31 */
#define TURNS_MASK UINT64_C(0xfffffff0)
#define ONE (UINT64_C(1) << 32)
enum { TURNS = 128 };

struct rwmutex {
	weft_mutex writers;
	a64 word;
	a32 drained;		/* the writer sleeps here */
	uint32_t unused;
};
_Static_assert(sizeof(struct rwmutex) == sizeof(weft_rwmutex), "weft.h");
_Static_assert(_Alignof(struct rwmutex) == _Alignof(weft_rwmutex), "weft.h");

static inline struct rwmutex *
inner(weft_rwmutex *rw)
{
	return (struct rwmutex *)(void *)rw;
}

static inline int32_t
count_of(uint64_t word)
{
	return (int32_t)(word >> 32);
}

/* ---- letting readers in ---- */

/*
 * The writers' mutex held and WRITER set; neither is on return. So many marks
 * join the count; readers that wait come in.
 */
static void
release_readers(struct rwmutex *rw, uint64_t more)
{
	struct bucket *b = parking_lot_lock(&rw->word);
	struct list woken;
	uint64_t w, to;

	list_init(&woken);
	more += parking_lot_claim_many(b, &rw->word, UINT32_MAX, &woken);
	do {
		w = a_load_relaxed(&rw->word);
		to = (w + more * ONE) & ~(WRITER | GATHERED | WAITING);
		/* pairs with count_up, marks_put: readers come after this */
	} while (!a_cas_acqrel(&rw->word, w, to));
	parking_lot_unlock(b);
	mutex_unlock_no_yield(&rw->writers);
	waiter_wake_all(&woken);
}

/* ---- reading ---- */

noreturn static cold void
fatal_not_rlocked(void)
{
	fatal("rwmutex: runlock of an unlocked rwmutex");
}

/* All marks are in the count, where there were n of them before this one. */
static cold void
count_last(struct rwmutex *rw, int32_t n)
{
	if (n <= 0)
		fatal_not_rlocked();
	if (n == 1)
		parksema_release(&rw->drained, 1);
}

/* Takes a mark from the count. False if it is not there. */
static inline bool
count_down(struct rwmutex *rw, uint64_t w)
{
	for (;;) {
		if (unlikely(!(w & WRITER) && count_of(w) <= 0))
			return false;
		/* pairs with gather_all: the writer comes after readers */
		if (likely(a_cas_acqrel(&rw->word, w, w - ONE)))
			break;
		w = a_load_relaxed(&rw->word);
	}
	if (unlikely(w & GATHERED))
		count_last(rw, count_of(w));
	return true;
}

/*
 * All marks into the count: there ours is, if we have one. False if a writer
 * has the mutex.
 */
static bool
end_by_force(struct rwmutex *rw)
{
	uint64_t sum;

	if (!weft_mutex_try_lock(&rw->writers))
		return false;
	/* sc: pairs with read_spread */
	a_or_sc(&rw->word, WRITER);
	sum = marks_gather(rw);
	if (count_of(a_load_relaxed(&rw->word)) + (int64_t)sum <= 0)
		fatal_not_rlocked();
	release_readers(rw, sum - 1);
	return true;
}

/*
 * The mark is not at this P's place. If the mutex is held, its holder is about
 * to set WRITER, or has just cleared it.
 */
static cold void
end_slow(struct rwmutex *rw)
{
	while (!count_down(rw, a_load_relaxed(&rw->word)) &&
	    !marks_take_any(rw) && !end_by_force(rw))
		weft_yield();
}

/* From this P's place if there is one. */
static inline void
end_here(struct rwmutex *rw)
{
	struct m *mp = m_self();
	bool done = false;
	uint32_t was;
	a64 *place;

	if (likely(mp)) {
		was = rt_enter(mp);
		place = marks_own_place(rw, mp, false);
		done = place && marks_take(place, rw);
		rt_leave(mp, was);
	}
	if (unlikely(!done))
		end_slow(rw);
}

enum spread { NO_PLACE, READS, TRIED, TRIED_LOST };

/* Inside, so that the P is ours all the time. */
static inline enum spread
spread_here(struct rwmutex *rw, struct m *mp)
{
	a64 *place = marks_own_place(rw, mp, true);

	if (unlikely(!place || !marks_put(place, rw)))
		return NO_PLACE;
	hard_pause();
	/* sc: pairs with the writers: they set WRITER, look at the place */
	if (likely((a_load_sc(&rw->word) & (WRITER | SPREAD)) == SPREAD))
		return READS;
	return marks_take(place, rw) ? TRIED : TRIED_LOST;
}

/* SPREAD was seen. False if there is no place for it now. */
static inline bool
read_spread(struct rwmutex *rw)
{
	struct m *mp = m_self();
	enum spread how;
	uint32_t was;

	if (unlikely(!mp))
		return false;
	was = rt_enter(mp);
	how = spread_here(rw, mp);
	rt_leave(mp, was);
	if (unlikely(how == TRIED_LOST))
		end_slow(rw);
	return how == READS;
}

/* The word after so many turns. */
static cold uint64_t
spread(const struct rwmutex *rw, uint64_t w)
{
	w &= ~TURNS_MASK;
	if (m_self() && a_load_relaxed(&sched.procs) > 1 && marks_fit(rw))
		w |= SPREAD;
	return w;
}

/* Leaves a mark in the count. False if there is a writer. */
static inline bool
count_up(struct rwmutex *rw, uint64_t w)
{
	uint64_t to;

	for (;;) {
		if (unlikely(w & WRITER))
			return false;
		to = w + ONE + TURN;
		if (unlikely((to & TURNS_MASK) >= TURNS * TURN))
			to = spread(rw, to);
		/* pairs with release_readers and weft_rwmutex_unlock */
		if (likely(a_cas_acq(&rw->word, w, to)))
			return true;
		w = a_load_relaxed(&rw->word);
	}
}

static inline bool
try_read(struct rwmutex *rw)
{
	uint64_t w = a_load_relaxed(&rw->word);

	if ((w & (WRITER | SPREAD)) == SPREAD && read_spread(rw))
		return true;
	return count_up(rw, w);
}

/* Bucket locked: true if it has left a mark; else WAITING is set. */
static bool
read_or_wait(struct rwmutex *rw)
{
	uint64_t w;

	do {
		w = a_load_relaxed(&rw->word);
		if (count_up(rw, w))
			return true;
	} while (!(w & WRITER) || !a_cas_relaxed(&rw->word, w, w | WAITING));
	return false;
}

/* A reader gives up. */
static cold void
stop_waiting(struct rwmutex *rw, struct bucket *b, struct waiter *w)
{
	hard_pause();
	lock_take(&b->lock);
	if (parking_lot_remove(b, w) && !parking_lot_first(b, &rw->word))
		a_and_relaxed(&rw->word, ~WAITING);
	parking_lot_unlock(b);
}

/*
 * Waits until the writer has gone, which leaves the mark for us: true. False
 * if the limit was first.
 */
static cold bool
read_slow(struct rwmutex *rw, struct sleeper *s)
{
	struct bucket *b = parking_lot_lock(&rw->word);
	struct waiter w;

	if (read_or_wait(rw)) {
		parking_lot_unlock(b);
		return true;
	}
	waiter_init(&w, s, &rw->word);
	parking_lot_push(b, &w);
	if (sleeper_sleep(s, &b->lock, WAIT_RWMUTEX_READ) == RACE_CLAIMED)
		return true;
	stop_waiting(rw, b, &w);
	return false;
}

static inline bool
read_lock(struct rwmutex *rw, struct limit *l)
{
	struct sleeper s;
	bool got;

	checkpoint();
	if (likely(try_read(rw)))
		return true;
	sleeper_init(&s);
	got = limit_arm(l, &s) && read_slow(rw, &s);
	limit_disarm(l, &s);
	return got;
}

public void
weft_rwmutex_rlock(weft_rwmutex *rw)
{
	read_lock(inner(rw), NULL);
}

public bool
weft_rwmutex_rlock_until(weft_rwmutex *rw, int64_t when)
{
	struct limit l = { .when = when };

	return read_lock(inner(rw), &l);
}

public bool
weft_rwmutex_rlock_context(weft_rwmutex *rw, weft_context *ctx)
{
	struct limit l = { .ctx = ctx };

	return read_lock(inner(rw), &l);
}

public bool
weft_rwmutex_try_rlock(weft_rwmutex *rw)
{
	checkpoint();
	return try_read(inner(rw));
}

/*
 * Without SPREAD the marks of all readers are in the count, or will be: only
 * those that are trying may have one elsewhere, and they do not come here.
 */
public void
weft_rwmutex_runlock(weft_rwmutex *rw_)
{
	struct rwmutex *rw = inner(rw_);
	uint64_t w = a_load_relaxed(&rw->word);

	if (w & SPREAD || unlikely(!count_down(rw, w)))
		end_here(rw);
}

/* ---- writing ---- */

/*
 * The writers' mutex held. Keeps readers out and gathers their marks; the
 * lock is ours when the count it returns is 0, or comes to be 0.
 */
static int32_t
gather_all(struct rwmutex *rw)
{
	/* sc: pairs with read_spread */
	uint64_t w = a_or_sc(&rw->word, WRITER), to;
	uint64_t sum = w & SPREAD ? marks_gather(rw) : 0;

	do {
		w = a_load_relaxed(&rw->word);
		to = (w + sum * ONE) | GATHERED;
		to &= ~(SPREAD | TURNS_MASK);
		/* pairs with count_down */
	} while (!a_cas_acqrel(&rw->word, w, to));
	return count_of(to);
}

/* The writers' mutex held: takes the lock if that is one step. */
static inline bool
write_at_once(struct rwmutex *rw)
{
	uint64_t w = a_load_relaxed(&rw->word);

	/* pairs with count_down and weft_rwmutex_unlock */
	return !(w & SPREAD) && count_of(w) == 0 &&
	    a_cas_acq(&rw->word, w, WRITER | GATHERED);
}

/*
 * The writers' mutex held, all gathered, and the limit over. True if the lock
 * is ours after all; false: the mutex is released, and readers let in.
 */
static cold bool
stop_writing(struct rwmutex *rw)
{
	uint64_t w;

	hard_pause();
	do {
		w = a_load_relaxed(&rw->word);
		if (count_of(w) == 0) {
			/* A reader is about to give us this. */
			parksema_acquire(&rw->drained, WAIT_RWMUTEX_WRITE);
			return true;
		}
		/* relaxed: it decides only which of the two is first */
	} while (!a_cas_relaxed(&rw->word, w, w & ~GATHERED));
	hard_pause();
	release_readers(rw, 0);
	return false;
}

static inline bool
write_lock(struct rwmutex *rw, struct limit *l)
{
	int32_t n;

	checkpoint();
	if (!mutex_lock(&rw->writers, WAIT_RWMUTEX_WRITE, l))
		return false;
	if (likely(write_at_once(rw)))
		return true;
	n = gather_all(rw);
	if (n < 0)
		fatal_not_rlocked();
	return n == 0 ||
	    parksema_acquire_limit(&rw->drained, WAIT_RWMUTEX_WRITE, l) ||
	    stop_writing(rw);
}

public void
weft_rwmutex_lock(weft_rwmutex *rw)
{
	write_lock(inner(rw), NULL);
}

public bool
weft_rwmutex_lock_until(weft_rwmutex *rw, int64_t when)
{
	struct limit l = { .when = when };

	return write_lock(inner(rw), &l);
}

public bool
weft_rwmutex_lock_context(weft_rwmutex *rw, weft_context *ctx)
{
	struct limit l = { .ctx = ctx };

	return write_lock(inner(rw), &l);
}

/*
 * The writers' mutex held. As gather_all, but the caller does not wait for the
 * count to be 0: if it is not so now, all is as before, and false.
 */
static bool
write_or_not(struct rwmutex *rw)
{
	uint64_t sum, w;

	if (count_of(a_load_relaxed(&rw->word)) > 0 || marks_any(rw)) {
		weft_mutex_unlock(&rw->writers);
		return false;
	}
	/* sc: pairs with read_spread */
	a_or_sc(&rw->word, WRITER);
	sum = marks_gather(rw);
	do {
		w = a_load_relaxed(&rw->word);
		if (count_of(w) + (int64_t)sum != 0) {
			release_readers(rw, sum);
			return false;
		}
		/* pairs with count_down */
	} while (!a_cas_acqrel(&rw->word, w,
	    WRITER | GATHERED | (w & WAITING)));
	return true;
}

public bool
weft_rwmutex_try_lock(weft_rwmutex *rw_)
{
	struct rwmutex *rw = inner(rw_);

	return weft_mutex_try_lock(&rw->writers) &&
	    (write_at_once(rw) || write_or_not(rw));
}

public void
weft_rwmutex_unlock(weft_rwmutex *rw_)
{
	struct rwmutex *rw = inner(rw_);

	/* pairs with count_up, and with the next writer */
	if (likely(a_cas_rel(&rw->word, WRITER | GATHERED, 0))) {
		weft_mutex_unlock(&rw->writers);
		return;
	}
	hard_pause();
	/* WAITING was set then, but the last that waits may give up. */
	if ((a_load_relaxed(&rw->word) | WAITING) !=
	    (WRITER | GATHERED | WAITING))
		fatal("rwmutex: unlock of an unlocked rwmutex");
	release_readers(rw, 0);
}
