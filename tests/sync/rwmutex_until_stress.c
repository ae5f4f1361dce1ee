/* SPDX-License-Identifier: MIT */
/*
 * An rwmutex that is locked by readers and writers with limits of all kinds,
 * and without one, on goroutines and plain threads. A lost wake-up, or readers
 * that are kept out by a writer that is gone, hang.
 */
#include "wait_limits.h"

struct book {
	weft_rwmutex rw;
	uint32_t every;		/* one of so many writes */
	long a, b;		/* plain: equal */
	int writers;		/* atomic */
	long written;		/* atomic */
};

static void
hold(uint32_t r)
{
	if (r % 256 == 0)
		weft_sleep(r % 2000 * WEFT_US);
	else if (r % 16 == 0)
		weft_sleep(r % 60 * WEFT_US);
	else if (r % 4 == 0)
		weft_yield();
}

static void
write_once(struct book *b, uint32_t r)
{
	EQ(__atomic_add_fetch(&b->writers, 1, __ATOMIC_SEQ_CST), 1);
	b->a++;
	hold(r);
	b->b++;
	__atomic_sub_fetch(&b->writers, 1, __ATOMIC_SEQ_CST);
	add_one(&b->written);
	weft_rwmutex_unlock(&b->rw);
}

static void
read_once(struct book *b, uint32_t r)
{
	EQ(b->a, b->b);
	hold(r);
	EQ(b->a, b->b);
	EQ(__atomic_load_n(&b->writers, __ATOMIC_SEQ_CST), 0);
	weft_rwmutex_runlock(&b->rw);
}

static void
without_limit(struct book *b, bool writes, uint32_t *seed)
{
	if (writes) {
		weft_rwmutex_lock(&b->rw);
		write_once(b, rnd(seed));
	} else {
		weft_rwmutex_rlock(&b->rw);
		read_once(b, rnd(seed));
	}
}

static void
read_or_write(struct crew *c, uint32_t *seed)
{
	struct book *b = c->arg;
	bool writes = rnd(seed) % b->every == 0;
	struct pick p;

	if (rnd(seed) % 4 == 0) {
		without_limit(b, writes, seed);
		return;
	}
	p = pick(c, seed);
	if (writes) {
		if (picked(c, &p, WITH_LIMIT(p, weft_rwmutex_lock, &b->rw)))
			write_once(b, rnd(seed));
	} else {
		if (picked(c, &p, WITH_LIMIT(p, weft_rwmutex_rlock, &b->rw)))
			read_once(b, rnd(seed));
	}
}

static void
limits(uint32_t every)
{
	struct book b = { .every = every };
	struct crew c = { .work = read_or_write, .arg = &b };

	crew_run(&c);
	EQ(b.a, b.written);
	EQ(b.b, b.written);
	OK(weft_rwmutex_try_rlock(&b.rw));
	weft_rwmutex_runlock(&b.rw);
	OK(weft_rwmutex_try_lock(&b.rw));
	weft_rwmutex_unlock(&b.rw);
	EQ(b.rw.writers_.state_, 0);
	EQ(b.rw.word_, 0);
	EQ(b.rw.drained_, 0);
}

static void often_written(void) { limits(3); }
static void seldom_written(void) { limits(300); }
ON_1_2_8(often_written)
ON_1_2_8(seldom_written)
