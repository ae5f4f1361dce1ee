/* SPDX-License-Identifier: MIT */
/*
 * Run queues. The protocol is in runq.h.
 */
#include "runq.h"

void
runq_halve(struct runq *q, struct glist *out)
{
	for (int i = 0; i < RUNQ_HALF; i++) {
		struct g *gp = runq_get(q);

		if (!gp)
			break;		/* thieves came first */
		glist_push(out, gp);
	}
}

void
runq_drain_woken(struct runq *q, struct glist *out)
{
	struct g *gp = runq_take_next(q);

	if (gp)
		glist_push(out, gp);
	while ((gp = runq_get(q)))
		glist_push(out, gp);
}

void
runq_drain(struct runq *q, struct glist *out)
{
	struct g *gp;

	runq_drain_woken(q, out);
	/* Oldest first: in the global queue newer ones would overtake it. */
	while (deque_len(&q->deque) > 0)
		if ((gp = deque_steal(&q->deque)))
			glist_push(out, gp);
	while ((gp = deque_pop(&q->deque)))
		glist_push(out, gp);
}

void
runq_halve_deque(struct runq *q, struct glist *out)
{
	for (uint32_t n = deque_len(&q->deque) / 2; n > 0; n--) {
		struct g *gp = deque_steal(&q->deque);

		if (!gp)
			break;		/* thieves came first */
		glist_push(out, gp);
	}
}

/*
 * Copies half of the victim's ring to slots from `tail` on of mine, and then
 * takes it by moving head. If another consumer was faster the copy is garbage,
 * which is invisible to others, since my tail has not moved; then it retries.
 */
static uint32_t
steal_half(struct runq *mine, struct runq *victim, uint32_t tail)
{
	for (;;) {
		/*
		 * pair with runq_get and runq_put. head first: n can then only
		 * be too large, not negative
		 */
		uint32_t h = a_load_acq(&victim->head);
		uint32_t t = a_load_acq(&victim->tail);
		uint32_t n = t - h;

		n -= n / 2;
		if (n == 0)
			return 0;
		if (n > RUNQ_HALF)
			continue;	/* head moved between the loads */
		for (uint32_t i = 0; i < n; i++) {
			struct g *gp = a_load_relaxed(
			    &victim->ring[(h + i) % RUNQ_SIZE]);

			a_store_relaxed(
			    &mine->ring[(tail + i) % RUNQ_SIZE], gp);
		}
		hard_pause();
		/* pairs with runq_fill of the victim: slots have been read */
		if (a_cas_acqrel(&victim->head, h, h + n))
			return n;
	}
}

struct g *
runq_steal(struct runq *mine, struct runq *victim, uint32_t *n)
{
	uint32_t tail = a_load_relaxed(&mine->tail);
	struct g *gp;

	/* pairs with steal_half of others, which have read slots we reuse */
	must(tail - a_load_acq(&mine->head) <= RUNQ_HALF);
	*n = steal_half(mine, victim, tail);
	if (*n == 0)
		return NULL;
	gp = a_load_relaxed(&mine->ring[(tail + *n - 1) % RUNQ_SIZE]);
	/* pairs with steal_half of the next thief */
	if (*n > 1)
		a_store_rel(&mine->tail, tail + *n - 1);
	return gp;
}

/*
 * One at a time: the owner may pop any but the oldest meanwhile. Only one if
 * the thief has newborns of its own: the stolen ones would come before them.
 */
struct g *
runq_steal_deque(struct runq *mine, struct runq *victim, uint32_t *n)
{
	uint32_t want = (deque_len(&victim->deque) + 1) / 2;
	struct g *first = NULL, *gp;

	if (want > DEQUE_STEAL_MAX)
		want = DEQUE_STEAL_MAX;
	if (deque_len(&mine->deque) || want > deque_size(&mine->deque))
		want = 1;
	for (*n = 0; *n < want && (gp = deque_steal(&victim->deque)); ++*n) {
		if (!first)
			first = gp;
		else
			must(deque_push(&mine->deque, gp));
	}
	return first;
}

bool
runq_steal_next(struct runq *victim, struct g *gp)
{
	/* pairs with runq_swap_next */
	return a_cas_acq(&victim->next, gp, NULL);
}

uint32_t
runq_len(struct runq *q)
{
	return a_load_relaxed(&q->tail) - a_load_relaxed(&q->head);
}

uint32_t
runq_tail(struct runq *q)
{
	return a_load_relaxed(&q->tail);
}

bool
runq_taken(struct runq *q, uint32_t tail)
{
	return (int32_t)(a_load_relaxed(&q->head) - tail) >= 0;
}

/*
 * The owner may move runnext to the ring between our loads: the ring is seen
 * empty before that, runnext is seen empty after its new value was taken, and
 * the one that was moved is missed. So tail is read again: if nothing was put
 * in between, the ring was empty when runnext was.
 */
bool
runq_empty(struct runq *q)
{
	if (!deque_empty(&q->deque))
		return false;
	for (;;) {
		/* sc: pair with runq_put and runq_swap_next, see idle.c */
		uint32_t head = a_load_sc(&q->head);
		uint32_t tail = a_load_sc(&q->tail);
		struct g *next = a_load_sc(&q->next);

		if (tail == a_load_sc(&q->tail))
			return head == tail && !next;
	}
}

/* ---- the global queue ---- */

/* Publishes the lengths after a change. sched.lock held, as in all below. */
static void
globq_count(struct globq *q)
{
	a_store_relaxed(&q->urgent, q->urgent_list.n);
	/* sc: pairs with globq_len; as in runq_put */
	a_store_sc(&q->n, q->list.n + q->urgent_list.n);
}

void
globq_put(struct globq *q, struct glist *l)
{
	glist_move(&q->list, l);
	globq_count(q);
}

void
globq_put_urgent(struct globq *q, struct glist *l)
{
	glist_move(&q->urgent_list, l);
	globq_count(q);
}

void
globq_put_one(struct globq *q, struct g *gp)
{
	glist_push(&q->list, gp);
	globq_count(q);
}

/* The first that is not urgent. */
static struct g *
pop_normal(struct globq *q)
{
	struct g *gp = glist_pop(&q->list);

	if (gp)
		a_bump(&q->n_taken, 1);
	return gp;
}

struct g *
globq_peek(const struct globq *q)
{
	return q->urgent_list.head ? q->urgent_list.head : q->list.head;
}

static struct g *
find(const struct glist *l, bool (*fn)(struct g *gp))
{
	struct g *gp = l->head;

	while (gp && !fn(gp))
		gp = gp->link;
	return gp;
}

struct g *
globq_find(const struct globq *q, bool (*fn)(struct g *gp))
{
	struct g *gp = find(&q->urgent_list, fn);

	return gp ? gp : find(&q->list, fn);
}

/* True if it was there. */
static bool
unlink(struct glist *l, struct g *gp)
{
	struct glist rest = {0};
	struct g *other;
	bool found = false;

	while ((other = glist_pop(l)))
		if (other == gp)
			found = true;
		else
			glist_push(&rest, other);
	*l = rest;
	return found;
}

void
globq_remove(struct globq *q, struct g *gp)
{
	if (!unlink(&q->urgent_list, gp) && unlink(&q->list, gp))
		a_bump(&q->n_taken, 1);
	globq_count(q);
}

struct g *
globq_get(struct globq *q)
{
	struct g *gp = glist_pop(&q->urgent_list);

	if (!gp)
		gp = pop_normal(q);
	globq_count(q);
	return gp;
}

struct g *
globq_get_batch(struct globq *q, struct runq *mine, uint32_t procs,
    uint32_t more, bool urgent)
{
	uint32_t n = q->list.n / procs;
	struct g *first, *gp;

	check(runq_len(mine) + more <= RUNQ_SIZE);
	if (urgent && q->urgent_list.n)
		return globq_get(q);
	first = pop_normal(q);
	if (n > more)
		n = more;
	/* One that is bound to an M is never in a ring: models/pause.pml. */
	while (n-- > 0 && (gp = q->list.head) &&
	    !(a_load_relaxed(&gp->hold) & HOLD_PIN))
		must(runq_put_quiet(mine, pop_normal(q)));
	globq_count(q);
	return first;
}
