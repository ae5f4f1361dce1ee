/* SPDX-License-Identifier: MIT */
/*
 * A lock spins briefly, since most sections last tens of nanoseconds, and
 * then sleeps: with more threads than cores the holder may not be running,
 * and pure spinning was measured to wait for hundreds of milliseconds.
 */
#include "lock.h"

#include <errno.h>

#include "fatal.h"
#include "insn.h"
#include "os.h"
#include "self.h"

enum { FREE, HELD, SLEEPERS };		/* of a lock */
enum { NOT_YET, WOKEN, POKED };		/* of a note */
enum { SPINS = 60 };

/* The one thread-local object; here because ranks are the lowest user. */
__thread struct self self_tls
    __attribute__((tls_model("initial-exec"), used));

#ifdef WEFT_DEBUG
static void
rank_enter(const struct lock *l)
{
	struct self *me = self();

	if (me->ranks >> l->rank)
		fatal("lock rank %d taken under ranks %x", l->rank, me->ranks);
	me->ranks |= 1u << l->rank;
}

static void
rank_leave(const struct lock *l)
{
	struct self *me = self();

	must(me->ranks & 1u << l->rank);
	me->ranks &= ~(1u << l->rank);
}

bool
lock_held(const struct lock *l)
{
	return self()->ranks & 1u << l->rank;
}
#else
static void rank_enter(const struct lock *l) { (void)l; }
static void rank_leave(const struct lock *l) { (void)l; }
bool lock_held(const struct lock *l) { (void)l; return true; }
#endif

static cold void
lock_take_slow(struct lock *l)
{
	for (int i = 0; i < SPINS; i++) {
		/* pairs with lock_drop */
		if (a_load_relaxed(&l->word) == FREE &&
		    a_cas_acq(&l->word, FREE, HELD))
			return;
		cpu_relax();
	}
	/*
	 * From here on we cannot know whether we are the last sleeper, so we
	 * take it with SLEEPERS: at worst one wake too many. Pairs with
	 * lock_drop.
	 */
	while (a_xchg_acq(&l->word, SLEEPERS) != FREE)
		os_futex_wait(&l->word, SLEEPERS, FOREVER);
}

void
lock_take(struct lock *l)
{
	rank_enter(l);
	/* pairs with lock_drop */
	if (unlikely(!a_cas_acq(&l->word, FREE, HELD)))
		lock_take_slow(l);
}

void
lock_drop(struct lock *l)
{
	uint32_t was;

	rank_leave(l);
	/* pairs with lock_take */
	was = a_xchg_rel(&l->word, FREE);
	check(was != FREE);
	if (unlikely(was == SLEEPERS))
		os_futex_wake(&l->word, 1);
}

void
note_clear(struct note *n)
{
	a_store_relaxed(&n->word, NOT_YET);
}

/* After the exchange the note may be gone: the wake names an address only. */
void
note_wake(struct note *n)
{
	/* pairs with note_wait */
	uint32_t was = a_xchg_rel(&n->word, WOKEN);

	check(was != WOKEN);
	(void)was;
	os_futex_wake(&n->word, 1);
}

void
note_poke(struct note *n)
{
	/* pairs with note_wait; too late if it was woken */
	if (a_cas_rel(&n->word, NOT_YET, POKED))
		os_futex_wake(&n->word, 1);
}

enum note_end
note_wait(struct note *n, int64_t timeout_ns)
{
	int64_t end = timeout_ns < 0 ? 0 : os_now_ns() + timeout_ns;

	for (;;) {
		int64_t left = FOREVER;

		/* both pair with note_wake and note_poke */
		if (a_load_acq(&n->word) == WOKEN)
			return NOTE_WOKEN;
		if (a_cas_acq(&n->word, POKED, NOT_YET))
			return NOTE_POKED;
		if (timeout_ns >= 0) {
			left = end - os_now_ns();
			if (left <= 0)
				return NOTE_TIMEOUT;
		}
		os_futex_wait(&n->word, NOT_YET, left);
	}
}

bool
note_sleep(struct note *n, int64_t timeout_ns)
{
	return note_wait(n, timeout_ns) == NOTE_WOKEN;
}
