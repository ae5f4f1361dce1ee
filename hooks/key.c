/* SPDX-License-Identifier: MIT */
/*
 * pthread keys whose values belong to the goroutine, not to its thread.
 *
 * A library that keeps state under a key and is called on a goroutine would
 * find another goroutine's state after each park. OpenSSL is one: an error that
 * a connection reports would be another connection's. Other libraries (malloc,
 * the runtimes of languages, sanitizers) must find the state of their thread.
 * So it depends on the module that makes the key: libcrypto, and those that the
 * program or WEFT_HOOKS_KEYS names.
 *
 * An owned key is a real key, too, whose values plain threads use; and it has a
 * *slot*, by which goroutines use theirs.
 *
 *	slot_of[key]	0, or 1 + its slot: set by pthread_key_create, under
 *			`lock`; cleared by pthread_key_delete
 *	slots[i].life	which key has it: every key that gets the slot has
 *			another number. A goroutine's value says under which it
 *			was set, and is void under another one.
 *
 * The program orders the creation of a key before its uses, so these read both
 * without a lock.
 *
 * When a goroutine ends, the destructors of its values are called as those of a
 * thread: in rounds, until there are no values or PTHREAD_DESTRUCTOR_ITERATIONS
 * are over. They may use keys, and park. In the child of a fork the thread gets
 * the values of the goroutine that forked.
 */
#define _GNU_SOURCE 1
#include "key.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "goroutine.h"
#include "guard.h"
#include "module.h"
#include "real.h"
#include "weft/hooks.h"

enum { PATTERNS = 16 };

struct slot {
	/* written under lock, atomic */
	a64 life;			/* 0: it is free */
	/* written under lock; ordered by the creation of the key */
	pthread_key_t key;
	void (*destroy)(void *value);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* written under lock, before they are counted */
static const char *patterns[PATTERNS] = { "libcrypto.so", "libcrypto-" };
static a32 n_patterns = { 2 };
/* under lock */
static uint64_t lives;
/* any thread, atomic */
static a8 slot_of[PTHREAD_KEYS_MAX];
static struct slot slots[SLOTS];

static void
take(void)
{
	guard_take(&lock);
}

static void
drop(void)
{
	guard_drop(&lock);
}

/* ---- which modules ---- */

public int
weft_hooks_own_keys(const char *pattern)
{
	uint32_t n;

	take();
	n = a_load_relaxed(&n_patterns);
	if (n < PATTERNS) {
		patterns[n] = pattern;
		/* pairs with is_owner */
		a_store_rel(&n_patterns, n + 1);
	}
	drop();
	return n < PATTERNS ? 0 : -ENOSPC;
}

static bool
begins(const char *name, const char *pattern, size_t len)
{
	return len && strncmp(name, pattern, len) == 0;
}

static bool
in_environment(const char *name)
{
	const char *p = getenv("WEFT_HOOKS_KEYS");

	while (p && *p) {
		size_t len = strcspn(p, ",");

		if (begins(name, p, len))
			return true;
		p += len + (p[len] == ',');
	}
	return false;
}

/* Takes no lock: a sanitizer makes keys before it is ready. */
static bool
is_owner(const char *name)
{
	/* pairs with weft_hooks_own_keys */
	uint32_t n = a_load_acq(&n_patterns);

	for (uint32_t i = 0; i < n; i++)
		if (begins(name, patterns[i], strlen(patterns[i])))
			return true;
	return in_environment(name);
}

/* ---- keys ---- */

/* Lock held. The key has none if all slots are taken: then it is the
 * thread's. */
static void
give_slot(pthread_key_t key, void (*destroy)(void *))
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[i];

		if (a_load_relaxed(&s->life))
			continue;
		s->key = key;
		s->destroy = destroy;
		/* relaxed, both: the program orders create before use */
		a_store_relaxed(&s->life, ++lives);
		a_store_relaxed(&slot_of[key], (uint8_t)(i + 1));
		return;
	}
}

public int
pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
	const struct module *m = module_at(__builtin_return_address(0));
	int err = real()->pthread_key_create(key, destroy);

	if (err || !m || *key >= PTHREAD_KEYS_MAX || !weft_gls_get ||
	    !is_owner(module_name(m)))
		return err;
	take();
	give_slot(*key, destroy);
	drop();
	return 0;
}

public int
pthread_key_delete(pthread_key_t key)
{
	uint8_t at;

	if (key < PTHREAD_KEYS_MAX) {
		take();
		at = a_load_relaxed(&slot_of[key]);
		a_store_relaxed(&slot_of[key], 0);
		if (at)
			a_store_relaxed(&slots[at - 1].life, 0);
		drop();
	}
	return real()->pthread_key_delete(key);
}

/* The key's slot, if the caller is on a goroutine and its values are owned. */
static always_inline struct slot *
slot_at(pthread_key_t key)
{
	uint8_t at = key < PTHREAD_KEYS_MAX ?
	    a_load_relaxed(&slot_of[key]) : 0;

	return unlikely(at) && on_goroutine() ? &slots[at - 1] : NULL;
}

/* ---- values ---- */

static void
set_value(struct value *v, void *p, uint64_t life)
{
	if (!v->p != !p)
		a_add_relaxed(&counts.values, p ? 1 : -1);
	v->p = p;
	v->owner = life;
}

public void *
pthread_getspecific(pthread_key_t key)
{
	struct slot *s = slot_at(key);
	struct goroutine *g;
	struct value *v;

	if (likely(!s))
		return real()->pthread_getspecific(key);
	g = goroutine_get();
	if (!g)
		return NULL;
	v = &g->value[s - slots];
	return v->owner == a_load_relaxed(&s->life) ? v->p : NULL;
}

public int
pthread_setspecific(pthread_key_t key, const void *p)
{
	struct slot *s = slot_at(key);
	struct goroutine *g;

	if (likely(!s))
		return real()->pthread_setspecific(key, p);
	g = p ? goroutine_make() : goroutine_get();
	if (!g)
		return p ? ENOMEM : 0;
	set_value(&g->value[s - slots], (void *)p, a_load_relaxed(&s->life));
	return 0;
}

/* ---- the end ---- */

/* Takes a value that has a destructor; the destructor, or NULL. */
static void (*
take_value(struct goroutine *g, unsigned i, void **p))(void *)
{
	struct value *v = &g->value[i];
	void (*destroy)(void *) = NULL;

	*p = v->p;
	if (!v->p)
		return NULL;
	/* The slot may be given to another key meanwhile. */
	take();
	if (v->owner == a_load_relaxed(&slots[i].life))
		destroy = slots[i].destroy;
	drop();
	set_value(v, NULL, 0);
	return destroy;
}

/* A round: true if there are values again. */
static bool
destroy_round(struct goroutine *g)
{
	bool more = false;
	void *p;

	for (unsigned i = 0; i < SLOTS; i++) {
		void (*destroy)(void *) = take_value(g, i, &p);

		if (destroy)
			destroy(p);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		more |= g->value[i].p != NULL;
	return more;
}

/*
 * The record is the goroutine's again while destructors run, for they may use
 * keys; then libweft calls us again, unless it has none in the end.
 */
void
key_goroutine_ends(void *arg)
{
	struct goroutine *g = arg;
	bool more, kept = goroutine_keep(g) == 0;

	g->off = 0;
	more = destroy_round(g);
	if (kept && more && ++g->rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		set_value(&g->value[i], NULL, 0);
	goroutine_free(g);
}

/* ---- fork ---- */

/* In the child, whose thread was a goroutine until now. */
static void
forked(void)
{
	struct goroutine *g = goroutine_get();

	for (unsigned i = 0; g && i < SLOTS; i++) {
		struct value *v = &g->value[i];

		if (v->p && v->owner == a_load_relaxed(&slots[i].life))
			real()->pthread_setspecific(slots[i].key, v->p);
		set_value(v, NULL, 0);
	}
}

/* Registered before the runtime's own, which is called after it. */
__attribute__((__constructor__)) static void
watch_forks(void)
{
	pthread_atfork(take, drop, drop);
	pthread_atfork(NULL, NULL, forked);
}
