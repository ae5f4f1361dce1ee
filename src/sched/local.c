/* SPDX-License-Identifier: MIT */
/*
 * Goroutine-local values: a list of (key, value), which is searched from its
 * front, since there are few. The list belongs to one exit hook (exit_hook.c),
 * made when the first value is set. A value is removed from the list before its
 * destroy function is called, which may do anything: set values, defer, call
 * weft_goexit (then the exit hooks run anew, deeper in the stack, and do not
 * return). A value that is set by a destroy function belongs to the next
 * round; so the list is sorted by rounds, and what is left after the fourth is
 * dropped, as POSIX does with the values of threads. Otherwise a destroy
 * function that sets its own value again would keep the goroutine for ever.
 */
#include <errno.h>
#include <stdlib.h>

#include "defer.h"
#include "exit_hook.h"
#include "fatal.h"
#include "sched.h"
#include "user_block.h"
#include "weft.h"

enum { ROUNDS = 4 };

struct local {
	struct local *next;
	weft_gls *key;
	void *value;
	int round;
};

struct locals {
	struct exit_hook exit_hook;
	struct local *first, **last;	/* last: the link to append to */
	int round;			/* of values that are set now */
};

static struct g *
current(void)
{
	struct m *mp = m_self();

	return mp ? m_g(mp) : NULL;
}

/* Unlinks the value at that link and frees its record. */
static void
unlink_local(struct locals *t, struct local **at)
{
	struct local *l = *at;

	*at = l->next;
	if (!l->next)
		t->last = at;
	user_block_free(l);
}

/* A step of the exit hook: destroys the oldest value. */
calls_out static bool
destroy_one(struct exit_hook *e)
{
	struct locals *t = container_of(e, struct locals, exit_hook);
	struct local l;

	if (!t->first) {
		free(t);
		return true;
	}
	l = *t->first;
	unlink_local(t, &t->first);
	t->round = l.round + 1;
	if (l.round < ROUNDS && l.key->destroy)
		l.key->destroy(l.value);
	return false;
}

static struct locals *
locals_of(struct g *gp)
{
	struct exit_hook *e = gp->exit_hooks;

	while (e && e->step != destroy_one)
		e = e->next;
	return e ? container_of(e, struct locals, exit_hook) : NULL;
}

static struct locals *
locals_make(struct g *gp)
{
	struct locals *t = malloc(sizeof *t);

	if (!t)
		return NULL;
	*t = (struct locals){ .exit_hook.step = destroy_one };
	t->last = &t->first;
	exit_hook_push(gp, &t->exit_hook);
	return t;
}

/* The link to the key's value, or NULL. */
static struct local **
find(struct locals *t, const weft_gls *key)
{
	for (struct local **at = &t->first; *at; at = &(*at)->next)
		if ((*at)->key == key)
			return at;
	return NULL;
}

static int
add(struct locals *t, weft_gls *key, void *value)
{
	struct local *l = user_block_alloc(sizeof *l);

	if (!l)
		return -ENOMEM;
	*l = (struct local){ NULL, key, value, t->round };
	*t->last = l;
	t->last = &l->next;
	return 0;
}

public int
weft_gls_set(weft_gls *key, void *value)
{
	struct g *gp = current();
	struct locals *t;
	struct local **at;

	if (!key)
		fatal("local: null key");
	if (!gp)
		return -EPERM;
	t = locals_of(gp);
	at = t ? find(t, key) : NULL;
	if (at && value)
		(*at)->value = value;
	else if (at)
		unlink_local(t, at);
	if (at || !value)
		return 0;
	if (!t && !(t = locals_make(gp)))
		return -ENOMEM;
	return add(t, key, value);
}

public void *
weft_gls_get(weft_gls *key)
{
	struct g *gp = current();
	struct locals *t = gp ? locals_of(gp) : NULL;
	struct local **at = t ? find(t, key) : NULL;

	return at ? (*at)->value : NULL;
}
