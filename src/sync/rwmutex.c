/* SPDX-License-Identifier: MIT */
/*
 * The lock of one writer or many readers. Readers on different Ps write to
 * different cache lines.
 *
 * MARKS. Each reader leaves one mark for as long as it reads, and takes one
 * away when it ends. A mark is either in the count of the lock's word, or
 * (*spread*) in the table of a P, where each P has its own, at the place that
 * the lock's address hashes to. Marks have no names: who ends takes any. A
 * goroutine may have moved to another P since it left its own, or may even end
 * what another one began. No number is ever negative while there is no writer:
 * so a lock that nobody holds has no marks anywhere, and may be freed without
 * saying so, and its places in the tables can be used for other locks.
 * (Rejected: a sum of numbers that may be negative. Taking a mark away would
 * never need a search, but what a lock leaves behind in the tables when it is
 * freed would be found by the next one at that address.)
 *
 *	always:	marks = readers, and those who are trying to become one
 *
 * THE WORD. A signed count of marks in its upper half, and:
 *
 *	WRITER		a writer is coming or here; no new readers
 *	GATHERED	all marks are in the count now; never without WRITER
 *	WAITING		readers wait in the lot for the writer to go
 *	SPREAD		readers may leave their marks in the tables
 *	turns		how many readers have left one in the count instead,
 *			since the last writer
 *
 * A READER that finds SPREAD and no WRITER puts a mark into its P's place,
 * unless another lock has marks there, and looks at the word again. If it is
 * still so, it reads. Otherwise it takes a mark away again and goes the other
 * way: without WRITER it adds to the count; with WRITER it sets WAITING and
 * queues in the lot.
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
 * WRITER, who has or will have the mark (below 0 until then). Otherwise it
 * searches the tables of the other Ps. Others may take and leave marks behind
 * and before the search, so in theory it may find none. Then it does as a
 * writer does, but gives up after gathering: now all marks are in the count.
 * If there is none even then it had no right to one, and dies. (Without SPREAD
 * it looks at the count first, where its mark must be. Who is only *trying* to
 * read must not: see below.)
 *
 * Why the writer misses no reader. Reader: mark, look at the word. Writer:
 * WRITER, look at the place. All sequentially consistent: so the reader sees
 * WRITER, or the writer sees the mark. Nor can it miss that there was SPREAD:
 * the reader saw it after its mark was there, and the first writer after that
 * does not get to clear it before it has that mark.
 *
 * Why 0 after GATHERED means no readers, although the tables were not looked
 * at in one instant. When the writer has emptied a place, only those who will
 * see WRITER add to it (they read the word before it was set; if a writer is
 * gone again by then they see no SPREAD, or that of later, and then they are
 * readers of later). Each takes its own mark away again from that same place,
 * on whose P it is alone, or finds it empty, if a search took it. So there is
 * at most one mark for each that is still trying; all others are in the
 * count, which is thus no less than the number of readers. (If it took one
 * from the count instead its mark would stay behind.) And the count becomes 0
 * exactly once, since with WRITER set nobody adds to it.
 *
 * A table that belongs to a P that was retired is gathered and searched like
 * any other. Places are changed by compare-and-swap alone: by their P, by
 * gathering writers, by searches. A P puts nothing there between two steps of
 * a goroutine that does not park.
 *
 * SPREAD is for locks that are mostly read: it is set when TURNS marks have
 * been left in the count since the last writer, so that gathering, a cache
 * line for each P, is rare beside what it saves. With one P, or only plain
 * threads, there is nothing to save.
 *
 * Who ends reading does not touch the lock after taking its mark, nor does
 * the last one after the step that makes the count 0: only the writer that it
 * wakes, which is still there. A writer unlocks the mutex last: a lock must
 * not be freed by a *reader* while unlock has not returned.
 */
#include "fatal.h"
#include "hard.h"
#include "mutex.h"
#include "os.h"
#include "parking_lot.h"
#include "parksema.h"
#include "preempt.h"
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

/* ---- the tables ---- */

/*
 * A place: the lock's address / 8 in the upper 45 bits, the marks below. What
 * lies beyond 2^48 does not fit, and is not spread.
 */
enum { PLACE_BITS = 19, PLACES = PAGE / sizeof(a64) };
#define PLACE_MAX ((UINT64_C(1) << PLACE_BITS) - 1)

struct table {
	a64 place[PLACES];
};

/* Written by who has the P. NULL: not needed yet. */
static APTR(struct table) tables[PROCS_MAX];
static a32 tables_end;		/* there are none from this one on */
static struct table refused;	/* for a P that gets no memory: unused */

static inline uint64_t
tag_of(const struct rwmutex *rw)
{
	return (uint64_t)(uintptr_t)rw >> 3 << PLACE_BITS;
}

static inline size_t
place_of(const struct rwmutex *rw)
{
	return (uintptr_t)rw * UINT64_C(0x9e3779b97f4a7c15) >>
	    (64 - __builtin_ctz(PLACES));
}

/* How many of this lock's marks are at a place that reads so? */
static inline uint64_t
marks(uint64_t place, uint64_t tag)
{
	return (place & ~PLACE_MAX) == tag ? place & PLACE_MAX : 0;
}

static cold struct table *
table_make(uint32_t id)
{
	struct table *t = os_map(sizeof *t);
	uint32_t end;

	if (!t)
		t = &refused;
	/* sc: pairs with gather, as the mark that comes next does */
	a_store_sc(&tables[id], t);
	/* sc: the same, also of an end that another one has just set */
	do
		end = a_load_sc(&tables_end);
	while (end <= id && !a_cas_sc(&tables_end, end, id + 1));
	return t;
}

/* The caller's place for this lock; NULL if it has none. Inside. */
static inline a64 *
own_place(const struct rwmutex *rw, struct m *mp, bool make)
{
	struct p *pp = m_p(mp);
	struct table *t;

	if (unlikely(!pp))
		return NULL;
	/* relaxed: whoever made it had this P */
	t = a_load_relaxed(&tables[pp->id]);
	if (unlikely(!t)) {
		if (!make)
			return NULL;
		t = table_make(pp->id);
	}
	return likely(t != &refused) ? &t->place[place_of(rw)] : NULL;
}

/*
 * Leaves a mark. False if the place has marks of another lock, or no room.
 * On a goroutine, at its own P's place.
 */
static inline bool
mark_put(a64 *place, uint64_t tag)
{
	uint64_t old, n;

	do {
		old = a_load_relaxed(place);
		n = marks(old, tag);
		if (unlikely(n == PLACE_MAX || (!n && old & PLACE_MAX)))
			return false;
		/* sc: pairs with gather; the caller looks for WRITER next */
	} while (unlikely(!a_cas_sc(place, old, tag | (n + 1))));
	return true;
}

/* Takes one away. False if there is none. */
static inline bool
mark_take(a64 *place, uint64_t tag)
{
	uint64_t old;

	do {
		/*
		 * pairs with the same in a search: if that took ours, and we
		 * take one from the count, its reading comes before that
		 */
		old = a_load_acq(place);
		if (!marks(old, tag))
			return false;
		/* pairs with gather: the writer comes after the reader */
	} while (unlikely(!a_cas_rel(place, old, old - 1)));
	return true;
}

/* The place of a lock in table i; NULL if there is no such table. */
static a64 *
place_at(const struct rwmutex *rw, uint32_t i)
{
	/* sc: pairs with table_make, as the mark does */
	struct table *t = a_load_sc(&tables[i]);

	return t ? &t->place[place_of(rw)] : NULL;
}

/* How many there are; a_load_sc pairs with table_make, see there. */
static uint32_t
places(void)
{
	return a_load_sc(&tables_end);
}

/* WRITER set: empties all places of this lock. How many marks there were. */
static uint64_t
gather(const struct rwmutex *rw)
{
	uint64_t tag = tag_of(rw), sum = 0, old, n;

	for (uint32_t i = 0, n_tables = places(); i < n_tables; i++) {
		a64 *place = place_at(rw, i);

		hard_pause();
		do {
			/* sc: pairs with mark_put, and with mark_take */
			old = place ? a_load_sc(place) : 0;
			n = marks(old, tag);
			/* pairs with mark_take, as above */
		} while (n && !a_cas_acqrel(place, old, tag));
		sum += n;
	}
	return sum;
}

/* Takes a mark of this lock away from any table; or only looks for one. */
static bool
search(const struct rwmutex *rw, bool take)
{
	uint64_t tag = tag_of(rw);

	for (uint32_t i = 0, n_tables = places(); i < n_tables; i++) {
		a64 *place = place_at(rw, i);

		if (place && (take ? mark_take(place, tag) :
		    marks(a_load_relaxed(place), tag) > 0))
			return true;
	}
	return false;
}

/* ---- letting readers in ---- */

/*
 * The caller has the writers' mutex, and set WRITER: both are over. So many
 * marks join the count; readers that wait come in.
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
		/* pairs with count_up, mark_put: readers come after this */
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
 * All marks into the count: there ours is, if we have one. False if somebody
 * else has the writers' mutex.
 */
static bool
end_by_force(struct rwmutex *rw)
{
	uint64_t sum;

	if (!weft_mutex_try_lock(&rw->writers))
		return false;
	/* sc: pairs with read_spread */
	a_or_sc(&rw->word, WRITER);
	sum = gather(rw);
	if (count_of(a_load_relaxed(&rw->word)) + (int64_t)sum <= 0)
		fatal_not_rlocked();
	release_readers(rw, sum - 1);
	return true;
}

/*
 * The mark is not at this P's place. The mutex is with somebody who is about
 * to set WRITER, or has just cleared it.
 */
static cold void
end_slow(struct rwmutex *rw)
{
	while (!count_down(rw, a_load_relaxed(&rw->word)) &&
	    !search(rw, true) && !end_by_force(rw))
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
		place = own_place(rw, mp, false);
		done = place && mark_take(place, tag_of(rw));
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
	a64 *place = own_place(rw, mp, true);

	if (unlikely(!place || !mark_put(place, tag_of(rw))))
		return NO_PLACE;
	hard_pause();
	/* sc: pairs with the writers, who set WRITER and look at the place */
	if (likely((a_load_sc(&rw->word) & (WRITER | SPREAD)) == SPREAD))
		return READS;
	return mark_take(place, tag_of(rw)) ? TRIED : TRIED_LOST;
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
	if (m_self() && a_load_relaxed(&sched.procs) > 1 &&
	    (uintptr_t)rw >> 48 == 0)
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

/* Waits until the writer has gone; it leaves the mark for us. */
static cold void
read_slow(struct rwmutex *rw)
{
	struct bucket *b = parking_lot_lock(&rw->word);
	struct sleeper s;
	struct waiter w;
	uint64_t old;

	do {
		old = a_load_relaxed(&rw->word);
		if (count_up(rw, old)) {
			parking_lot_unlock(b);
			return;
		}
	} while (!(old & WRITER) ||
	    !a_cas_relaxed(&rw->word, old, old | WAITING));
	sleeper_init(&s);
	waiter_init(&w, &s, &rw->word);
	parking_lot_push(b, &w);
	sleeper_sleep(&s, &b->lock, WAIT_RWMUTEX_READ);
}

public void
weft_rwmutex_rlock(weft_rwmutex *rw)
{
	checkpoint();
	if (unlikely(!try_read(inner(rw))))
		read_slow(inner(rw));
}

public bool
weft_rwmutex_try_rlock(weft_rwmutex *rw)
{
	checkpoint();
	return try_read(inner(rw));
}

/*
 * Without SPREAD the marks of all readers are in the count, or will be: only
 * those who are trying may have one elsewhere, and they do not come here.
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
	uint64_t sum = w & SPREAD ? gather(rw) : 0;

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

public void
weft_rwmutex_lock(weft_rwmutex *rw_)
{
	struct rwmutex *rw = inner(rw_);
	int32_t n;

	checkpoint();
	mutex_lock(&rw->writers, WAIT_RWMUTEX_WRITE);
	if (likely(write_at_once(rw)))
		return;
	n = gather_all(rw);
	if (n < 0)
		fatal_not_rlocked();
	if (n > 0)
		parksema_acquire(&rw->drained, WAIT_RWMUTEX_WRITE);
}

/*
 * The writers' mutex held. As gather_all, but nobody will wait for the count
 * to be 0: if it is not so now, all is as before.
 */
static bool
write_or_not(struct rwmutex *rw)
{
	uint64_t sum, w;

	if (count_of(a_load_relaxed(&rw->word)) > 0 || search(rw, false)) {
		weft_mutex_unlock(&rw->writers);
		return false;
	}
	/* sc: pairs with read_spread */
	a_or_sc(&rw->word, WRITER);
	sum = gather(rw);
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
	if (a_load_relaxed(&rw->word) != (WRITER | GATHERED | WAITING))
		fatal("rwmutex: unlock of an unlocked rwmutex");
	release_readers(rw, 0);
}
