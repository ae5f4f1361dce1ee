/* SPDX-License-Identifier: MIT */
/*
 * Loops over ranges in parallel, by lazy splitting: a goroutine works on its
 * range in small parts, and gives the upper half of what is left to a future
 * when its P's deque is empty: then other Ps have taken what was there, or
 * nothing was there yet. When its own half is done it joins the other, which
 * runs in place if no P has taken it. So a range is split as often as Ps ask
 * for more, and some log2(n) times if none does.
 *
 * How many indices make a part is found out on the way: twice as many as
 * before, as long as that takes less than some ten microseconds. That is the
 * latency with which an idle P gets work, and hides the price of asking.
 *
 * All functions between the body and the goroutine's own are calls_out: what
 * the body computes can be preempted.
 */
#include <errno.h>
#include <string.h>

#include "defer.h"
#include "fatal.h"
#include "insn.h"
#include "preempt.h"
#include "sched.h"
#include "user_block.h"
#include "weft.h"

enum {
	PART_FEW_US = 4,	/* a part takes at least this, if it can */
	SMALL = 128		/* bytes of a result that needs no malloc */
};

struct loop {
	/* constant */
	void (*body)(size_t lo, size_t hi, void *arg);
	void (*reduce)(size_t lo, size_t hi, void *into, void *arg);
	void (*join)(void *into, const void *from, void *arg);
	void *arg;
	const void *neutral;
	size_t bytes;		/* of a result; 0: there is none */
};

/* A range that a future works on, and its result. */
struct half {
	const struct loop *loop;
	size_t lo, hi;
	size_t part;		/* how many indices to begin with */
	void *into;
};

/* Would another P take a part of the range? A guess. */
static bool
is_hungry(void)
{
	struct m *mp = m_self();
	bool hungry;

	if (unlikely(!mp || !stack_has_room(g_stack(m_g(mp)))))
		return false;		/* in the child of a fork; too deep */
	rt_enter(mp);
	hungry = m_p(mp) && a_load_relaxed(&sched.procs) > 1 &&
	    !deque_len(&m_p(mp)->q.deque);
	rt_leave_out(mp);
	return hungry;
}

calls_out static void
call_body(const struct loop *l, size_t lo, size_t hi, void *into)
{
	if (l->body)
		l->body(lo, hi, l->arg);
	else
		l->reduce(lo, hi, into, l->arg);
}

/*
 * How many indices come next: as many as took little time, but less than what
 * is left, for those that follow may take long.
 */
static size_t
part_of(const struct half *h)
{
	size_t most = (h->hi - h->lo - 1) / 8 + 1;

	return h->part < most ? h->part : most;
}

/* Works on the first indices, and learns how many to take the next time. */
calls_out static void
run_part(struct half *h)
{
	size_t n = part_of(h);
	uint64_t start = cpu_cycles(), took;

	call_body(h->loop, h->lo, h->lo + n, h->into);
	h->lo += n;
	took = cpu_cycles() - start;
	if (took < PART_FEW_US * cpu_cycles_few_us())
		h->part = 2 * n;
	else if (took > 8 * PART_FEW_US * cpu_cycles_few_us() && n > 1)
		h->part = n / 2;
}

static void run(struct half *h);

/* The upper half of h becomes a future, the lower is worked on. */
calls_out static void
run_halves(struct half *h, void *room)
{
	size_t mid = h->lo + (h->hi - h->lo) / 2;
	struct half upper = { h->loop, mid, h->hi, h->part, room };
	weft_future(void) f;

	weft_future_go(&f, run, &upper);
	h->hi = mid;
	run(h);
	weft_future_join(&f);
}

/* The same, with results. False if there is no memory for one. */
calls_out static bool
split(struct half *h)
{
	const struct loop *l = h->loop;
	_Alignas(16) char small[SMALL];
	void *room = l->bytes <= SMALL ? (void *)small :
	    user_block_alloc(l->bytes);

	if (!room)
		return false;
	if (l->bytes)
		memcpy(room, l->neutral, l->bytes);
	run_halves(h, room);
	if (l->bytes)
		l->join(h->into, room, l->arg);
	if (room != (void *)small)
		user_block_free(room);
	return true;
}

/* Works on all of h. */
calls_out static void
run(struct half *h)
{
	while (h->lo < h->hi) {
		if (h->hi - h->lo > h->part && is_hungry() && split(h))
			return;
		run_part(h);
		checkpoint_within();
	}
}

/* On goroutine gp. The body is as the function of a future. */
calls_out static void
run_on(struct g *gp, struct half *whole)
{
	struct defer *defers = gp->defers;
	bool was = gp->in_future;

	gp->in_future = true;
	run(whole);
	defer_run_until(gp, defers);
	gp->in_future = was;
}

/* Outside of a goroutine nothing can be given away. */
calls_out static void
run_all(const struct loop *l, size_t begin, size_t end, void *into)
{
	struct half whole = { l, begin, end, 1, into };

	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (begin >= end)
		return;
	if (gp)
		run_on(gp, &whole);
	else
		call_body(l, begin, end, into);
}

calls_out public void
weft_parallel_for(size_t begin, size_t end,
    void (*body)(size_t lo, size_t hi, void *arg), void *arg)
{
	struct loop l = { .body = body, .arg = arg };

	if (!body)
		fatal("weft_parallel_for: null function");
	run_all(&l, begin, end, NULL);
}

calls_out public int
weft_parallel_reduce(size_t begin, size_t end, void *into, size_t bytes,
    void (*body)(size_t lo, size_t hi, void *into, void *arg),
    void (*join)(void *into, const void *from, void *arg), void *arg)
{
	struct loop l = { .reduce = body, .join = join, .arg = arg,
	    .bytes = bytes };
	_Alignas(16) char small[SMALL];
	void *neutral = bytes <= SMALL ? (void *)small :
	    user_block_alloc(bytes);

	if (!body || !join)
		fatal("weft_parallel_reduce: null function");
	if (!bytes)
		return -EINVAL;
	if (!neutral)
		return -ENOMEM;
	memcpy(neutral, into, bytes);
	l.neutral = neutral;
	run_all(&l, begin, end, into);
	if (neutral != (void *)small)
		user_block_free(neutral);
	return 0;
}
