/* SPDX-License-Identifier: MIT */
/*
 * Calls with one key that overlap share one execution. A *call* is the record
 * of an execution; the *leader* made it and runs the user's function, the
 * *waiters* wait for its event.
 *
 * Calls are found by flight and key in one table for the whole process, whose
 * chains have a mutex each; so a flight is nothing but an address, needs no
 * memory and no end.
 *
 *	           the leader: fn returned,	   the leader: each waiter
 *	           threw, or its goroutine ended   has its share
 *	RUNNING ---------------------------> CLOSED ----------> event set
 *
 * RUNNING	a caller with the key becomes a waiter, if the call is in the
 *		table (forget takes it off); a waiter whose limit is up leaves
 * CLOSED	the call is off the table and the number of waiters is final:
 *		for each of them `retain` is called. A waiter whose limit is
 *		up now waits for the event all the same, which comes at once
 *
 * The state, the number of waiters and the chain are under the chain's mutex;
 * result and `returned` are written before the event is set and read after it.
 * A call has a reference for its leader and one for each waiter; the last
 * frees it.
 *
 * A call whose function did not return has no result: its waiters begin anew,
 * and the first of them is the next leader. How its end is heard of, is as in
 * once.c: the goroutine's exit hook, or the unwinder. The record must outlive
 * the leader's frame for that, and is allocated in any case for the waiters.
 */
#include "exit_hook.h"
#include "fatal.h"
#include "hard.h"
#include "key.h"
#include "preempt.h"
#include "sched.h"
#include "unwinder.h"
#include "user_block.h"

enum { CHAINS = 256 };

struct call {
	/* constant */
	weft_flight *f;
	weft_key key;
	uint64_t hash;
	const void *leader;	/* the goroutine or thread, to compare */
	struct exit_hook exit_hook;	/* the leader's, while fn runs */
	/* under the chain's mutex */
	struct call *next;
	bool linked;
	bool closed;
	uint32_t waiters;
	/* the leader, before the event is set; then constant */
	bool returned;
	void *result;
	/* any thread */
	weft_event ended;
	a32 refs;
	char bytes[];		/* of the key */
};

static struct chain {
	weft_mutex lock;
	struct call *first;
} table[CHAINS];

/* How long a waiter waits: ctx, or until when if it is NULL. */
struct limit {
	weft_context *ctx;
	int64_t when;
};

static struct chain *
chain_of(uint64_t hash)
{
	return &table[hash % CHAINS];
}

static uint64_t
hash_of(const weft_flight *f, weft_key key)
{
	return key_mix(key_hash(key) ^ (uintptr_t)f);
}

static struct g *
current(void)
{
	struct m *mp = m_self();

	return mp ? m_g(mp) : NULL;
}

/* Unequal for all that run. */
static const void *
identity(void)
{
	struct g *gp = current();

	return gp ? (const void *)gp : (const void *)self();
}

/* ---- calls in the table: the chain's mutex held ---- */

static struct call *
find(struct chain *ch, const weft_flight *f, weft_key key, uint64_t hash)
{
	struct call *c = ch->first;

	while (c && (c->hash != hash || c->f != f || !key_equal(c->key, key)))
		c = c->next;
	return c;
}

static void
unlink_call(struct chain *ch, struct call *c)
{
	struct call **at = &ch->first;

	if (!c->linked)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->linked = false;
}

/* ---- records ---- */

static struct call *
call_make(weft_flight *f, weft_key key, uint64_t hash)
{
	size_t room = key_room(key);
	struct call *c = NULL;

	if (room <= SIZE_MAX / 2)
		c = user_block_zalloc(sizeof *c + room);
	if (!c)
		return NULL;
	c->f = f;
	c->key = key_copy(key, c->bytes);
	c->hash = hash;
	c->leader = identity();
	c->linked = true;
	a_init(&c->refs, 1);
	return c;
}

static void
call_release(struct call *c)
{
	/* pairs with itself: the last user frees it, after all others */
	if (a_add_acqrel(&c->refs, -1u) == 1)
		user_block_free(c);
}

/* ---- leading ---- */

/* No mutex held. From here on nobody joins the call. */
calls_out static void
call_end(struct call *c)
{
	struct chain *ch = chain_of(c->hash);
	void (*retain)(void *result) = NULL;
	uint32_t waiters;

	/* If fn has returned, its caller still has the flight. */
	if (c->returned)
		retain = c->f->retain;
	weft_mutex_lock(&ch->lock);
	unlink_call(ch, c);
	c->closed = true;
	waiters = c->waiters;
	weft_mutex_unlock(&ch->lock);
	for (; retain && waiters > 0; waiters--)
		retain(c->result);
	weft_event_set(&c->ended);
	call_release(c);
}

static struct exit_hook **
hooks_of(struct g *gp)
{
	return gp ? &gp->exit_hooks : &self()->exit_hooks;
}

/* The goroutine ends in fn, or has jumped out of it. */
calls_out static bool
end_in_call(struct exit_hook *e)
{
	call_end(container_of(e, struct call, exit_hook));
	return true;
}

/* Takes the newest call, or this one, off the leader's list. NULL: none. */
static struct call *
unhook(struct g *gp, const struct call *c)
{
	struct exit_hook **at = hooks_of(gp), *e;

	for (; (e = *at); at = &e->next)
		if (e->step == end_in_call && (!c || e == &c->exit_hook)) {
			*at = e->next;
			return container_of(e, struct call, exit_hook);
		}
	return NULL;
}

unwinder_answer flight_thrown(UNWINDER_ASKS);

/* fn has thrown an exception: its call is the newest there is. */
unwinder_answer
flight_thrown(UNWINDER_ASKS)
{
	struct call *c = NULL;

	(void)version, (void)language, (void)exception, (void)frame;
	if (unwinder_leaves(actions))
		c = unhook(current(), NULL);
	if (c)
		call_end(c);
	return UNWINDER_GO_ON;
}

calls_out static void *
lead(struct call *c, void *(*fn)(void *arg), void *arg)
{
	struct exit_hook **list = hooks_of(current());
	void *result;

	c->exit_hook = (struct exit_hook){ *list, end_in_call };
	*list = &c->exit_hook;
	unwinder_asks(flight_thrown);
	result = fn(arg);
	c->result = result;
	c->returned = true;
	unhook(current(), c);
	call_end(c);
	return result;
}

/* ---- waiting ---- */

static void
wait_limited(struct call *c, const struct limit *limit)
{
	if (!limit)
		weft_event_wait(&c->ended);
	else if (limit->ctx)
		weft_event_wait_context(&c->ended, limit->ctx);
	else
		weft_event_wait_until(&c->ended, limit->when);
}

/* The caller's limit is up: true if it is no waiter any more. */
static bool
leave(struct call *c)
{
	struct chain *ch = chain_of(c->hash);
	bool left;

	hard_pause();
	weft_mutex_lock(&ch->lock);
	left = !c->closed;
	if (left)
		c->waiters--;
	weft_mutex_unlock(&ch->lock);
	return left;
}

enum outcome { SHARED, LIMIT_UP, NO_RESULT };

/* As a waiter, with a reference, which is given back. */
static enum outcome
follow(struct call *c, const struct limit *limit, void **result)
{
	enum outcome how;

	wait_limited(c, limit);
	if (!weft_event_is_set(&c->ended)) {
		if (leave(c)) {
			call_release(c);
			return LIMIT_UP;
		}
		weft_event_wait(&c->ended);
	}
	how = c->returned ? SHARED : NO_RESULT;
	if (how == SHARED && result)
		*result = c->result;
	call_release(c);
	return how;
}

/* ---- both ---- */

noreturn static cold void
fatal_recursive(void)
{
	struct g *gp = current();

	fatal("weft_flight_do: goroutine %ld \"%s\" would wait for itself: the "
	    "function calls it again with its key, or was left by longjmp",
	    gp ? (long)g_id(gp) : 0, gp ? g_name(gp) : "");
}

/*
 * Joins the call with that key, or puts a new one into the table: *leads says
 * which. NULL if memory for that is refused.
 */
static struct call *
join(weft_flight *f, weft_key key, bool *leads)
{
	uint64_t hash = hash_of(f, key);
	struct chain *ch = chain_of(hash);
	struct call *c;

	weft_mutex_lock(&ch->lock);
	c = find(ch, f, key, hash);
	*leads = !c;
	if (c) {
		if (c->leader == identity())
			fatal_recursive();
		c->waiters++;
		a_add_relaxed(&c->refs, 1);
	} else if ((c = call_make(f, key, hash))) {
		c->next = ch->first;
		ch->first = c;
	}
	weft_mutex_unlock(&ch->lock);
	return c;
}

calls_out static bool
do_limited(weft_flight *f, weft_key key, void *(*fn)(void *arg), void *arg,
    void **result, const struct limit *limit)
{
	enum outcome how = NO_RESULT;
	struct call *c;
	bool leads;
	void *r;

	if (!fn)
		fatal("weft_flight_do: null function");
	while (how == NO_RESULT) {
		c = join(f, key, &leads);
		if (leads) {
			r = c ? lead(c, fn, arg) : fn(arg);
			if (result)
				*result = r;
			return true;
		}
		how = follow(c, limit, result);
	}
	return how == SHARED;
}

calls_out public void *
weft_flight_do(weft_flight *f, weft_key key, void *(*fn)(void *arg), void *arg)
{
	void *result;

	checkpoint();
	do_limited(f, key, fn, arg, &result, NULL);
	return result;
}

calls_out public bool
weft_flight_do_until(weft_flight *f, weft_key key, void *(*fn)(void *arg),
    void *arg, void **result, int64_t when)
{
	struct limit limit = { NULL, when ? when : WEFT_NEVER };

	checkpoint();
	return do_limited(f, key, fn, arg, result, &limit);
}

calls_out public bool
weft_flight_do_context(weft_flight *f, weft_key key, void *(*fn)(void *arg),
    void *arg, void **result, weft_context *ctx)
{
	struct limit limit = { ctx, WEFT_NEVER };

	checkpoint();
	return do_limited(f, key, fn, arg, result, ctx ? &limit : NULL);
}

public void
weft_flight_forget(weft_flight *f, weft_key key)
{
	uint64_t hash = hash_of(f, key);
	struct chain *ch = chain_of(hash);
	struct call *c;

	checkpoint();
	weft_mutex_lock(&ch->lock);
	c = find(ch, f, key, hash);
	if (c)
		unlink_call(ch, c);
	weft_mutex_unlock(&ch->lock);
}
