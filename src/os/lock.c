/* SPDX-License-Identifier: MIT */
/*
 * A locker spins briefly, since most critical sections last tens of
 * nanoseconds, and then sleeps: with more threads than cores the holder may
 * not be running, and pure spinning was measured to wait for hundreds of
 * milliseconds.
 */
#include "lock.h"

#include <errno.h>

#include "fatal.h"
#include "insn.h"
#include "os.h"
#include "tls_self.h"

enum { NOT_YET, WOKEN, POKED };		/* of a note */
enum {
	SPINS = 60,
	OFTEN = 8,			/* contended so recently: some us */
	TURN_MAX = 4			/* longest backoff: some us */
};

/* The one thread-local object; here because lock ranks, the lowest layer,
 * use it. */
__thread struct self self_tls
    __attribute__((tls_model("initial-exec"), used));

#ifdef WEFT_DEBUG
void
lock_rank_enter(const struct lock *l, bool peer)
{
	struct self *me = self();
	uint32_t above = me->ranks >> l->rank;

	if (above & (peer ? ~1u : ~0u))
		fatal("lock rank %d taken under ranks %x", l->rank, me->ranks);
	must(!peer || above & 1);
	me->ranks |= 1u << l->rank;
}

void
lock_rank_leave(const struct lock *l, bool peer)
{
	struct self *me = self();

	must(me->ranks & 1u << l->rank);
	if (!peer)
		me->ranks &= ~(1u << l->rank);
}

bool
lock_held(const struct lock *l)
{
	return self()->ranks & 1u << l->rank;
}
#else
bool lock_held(const struct lock *l) { (void)l; return true; }
#endif

void
lock_backoff(unsigned n)
{
	uint64_t start = cpu_cycles();

	while (cpu_cycles() - start < n * cpu_cycles_few_us())
		cpu_relax();
}

bool
lock_contended(void)
{
	struct self *me = self();
	uint64_t now = cpu_cycles();
	bool often = now - me->contended < OFTEN * cpu_cycles_few_us();

	me->contended = now;
	return often;
}

static bool
take_with_backoff(struct lock *l)
{
	if (!lock_contended())
		return false;
	for (unsigned n = 1; n <= TURN_MAX; n *= 2) {
		lock_backoff(n);
		/* pairs with lock_drop_word */
		if (a_cas_acq(&l->word, LOCK_FREE, LOCK_HELD)) {
			lock_contended();
			return true;
		}
	}
	return false;
}

/*
 * For the monitor: this sleep is not a blocking call, and does not last. At
 * worst the holder of the lock has no CPU; a thread that got our P would soon
 * sleep for the same lock, and the next one, too.
 */
static void
tell_lock_wait(uint32_t yes)
{
	a32 *word = self()->lock_wait;

	if (word)
		a_store_relaxed(word, yes);
}

cold void
lock_take_slow(struct lock *l)
{
	if (take_with_backoff(l))
		return;
	for (int i = 0; i < SPINS; i++) {
		/* pairs with lock_drop_word */
		if (a_load_relaxed(&l->word) == LOCK_FREE &&
		    a_cas_acq(&l->word, LOCK_FREE, LOCK_HELD))
			return;
		cpu_relax();
	}
	/*
	 * From here on we cannot know whether we are the last sleeper, so we
	 * take it with SLEEPERS: at worst one wake-up too many. Pairs with
	 * lock_drop_word.
	 */
	tell_lock_wait(1);
	while (a_xchg_acq(&l->word, LOCK_SLEEPERS) != LOCK_FREE)
		os_futex_wait(&l->word, LOCK_SLEEPERS, FOREVER);
	tell_lock_wait(0);
}

cold void
lock_wake(struct lock *l)
{
	os_futex_wake(&l->word, 1);
}

void
note_clear(struct note *n)
{
	a_store_relaxed(&n->word, NOT_YET);
}

bool
note_mark(struct note *n, enum note_end as)
{
	uint32_t was;

	/*
	 * sc: both pair with note_try_wait. The caller looks next where the
	 * sleeper sleeps, which that has stored before it looked at the note.
	 */
	if (as == NOTE_POKED)
		return a_cas_sc(&n->word, NOT_YET, POKED);
	was = a_xchg_sc(&n->word, WOKEN);
	check(was != WOKEN);
	(void)was;
	return true;
}

/* After note_mark the note may be gone: only its address is used here. */
void
note_futex_wake(struct note *n)
{
	os_futex_wake(&n->word, 1);
}

void
note_wake(struct note *n)
{
	note_mark(n, NOTE_WOKEN);
	note_futex_wake(n);
}

void
note_poke(struct note *n)
{
	if (note_mark(n, NOTE_POKED))
		note_futex_wake(n);
}

enum note_end
note_try_wait(struct note *n)
{
	/* sc: both pair with note_mark */
	if (a_load_sc(&n->word) == WOKEN)
		return NOTE_WOKEN;
	return a_cas_sc(&n->word, POKED, NOT_YET) ? NOTE_POKED : NOTE_TIMEOUT;
}

enum note_end
note_wait(struct note *n, int64_t timeout_ns)
{
	int64_t end;

	if (timeout_ns < 0 ||
	    __builtin_add_overflow(os_now_ns(), timeout_ns, &end))
		end = INT64_MAX;
	for (;;) {
		int64_t left = FOREVER;
		enum note_end mark = note_try_wait(n);

		if (mark != NOTE_TIMEOUT)
			return mark;
		if (end != INT64_MAX && (left = os_left_ns(end)) == 0)
			return NOTE_TIMEOUT;
		os_futex_wait(&n->word, NOT_YET, left);
	}
}

bool
note_sleep(struct note *n, int64_t timeout_ns)
{
	return note_wait(n, timeout_ns) == NOTE_WOKEN;
}
