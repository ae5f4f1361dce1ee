/* SPDX-License-Identifier: MIT */
#include "lock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cycle.h"
#include "heap.h"

enum { FREE, HELD, WAITED };
enum { NAP_NS = 50 * 1000, SPINS = 100 };

/* The region begins before it has the lock, and ends if it has it not. */
static bool
try_take(struct lock *l, uint32_t as)
{
	uint32_t word = FREE;

	weft_preempt_off();
	/* pairs with lock_drop */
	if (as == HELD ? __atomic_compare_exchange_n(&l->word, &word, HELD,
	    false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) :
	    __atomic_exchange_n(&l->word, as, __ATOMIC_ACQUIRE) == FREE)
		return true;
	weft_preempt_on();
	return false;
}

/* The call itself: hooks would let the goroutine park, maybe within fork. */
void
lock_nap(long ns)
{
	const struct timespec nap = { 0, ns };

	syscall(SYS_nanosleep, &nap, NULL);
}

void
lock_take_polling(struct lock *l)
{
	while (!try_take(l, HELD)) {
		if (cycle_is_collector())
			cycle_wake_owed();
		lock_nap(NAP_NS);
	}
}

static inline void
relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

/*
 * The lock is held for about a microsecond, to find some free objects, and to
 * park and to be woken takes several. Not on one processor: its owner would
 * need it.
 */
static bool
take_spinning(struct lock *l)
{
	if (weft_procs() < 2)
		return false;
	for (int i = 0; i < SPINS; i++) {
		if (__atomic_load_n(&l->word, __ATOMIC_RELAXED) == FREE &&
		    try_take(l, HELD))
			return true;
		relax();
	}
	return false;
}

void
lock_take(struct lock *l)
{
	if (try_take(l, HELD) || take_spinning(l))
		return;
	/* Who releases it in a call leaves the wake-up to the collector. */
	if (!weft_can_park() || !cycle_has_collector()) {
		lock_take_polling(l);
		return;
	}
	while (!try_take(l, WAITED))
		weft_collect_wait_(&l->sema);
}

static void
wake(struct lock *l)
{
	if (!weft_in_call_()) {
		weft_collect_wake_(&l->sema, 1);
		return;
	}
	weft_collecting_(true);
	/* pairs with lock_wake_owed */
	__atomic_add_fetch(&l->owed, 1, __ATOMIC_RELEASE);
	cycle_kick();
}

void
lock_drop(struct lock *l)
{
	/* pairs with try_take */
	if (__atomic_exchange_n(&l->word, FREE, __ATOMIC_RELEASE) == WAITED)
		wake(l);
	weft_preempt_on();
}

void
lock_wake_owed(struct lock *l)
{
	/* pairs with wake */
	uint32_t n = __atomic_exchange_n(&l->owed, 0, __ATOMIC_ACQUIRE);

	if (n)
		weft_collect_wake_(&l->sema, n);
	while (n-- > 0)
		weft_collecting_(false);
}
