/* SPDX-License-Identifier: MIT */
/*
 * Sets of labels. Each set is kept once and for ever, so that a goroutine has
 * only the number of one, a spawn copies a number, and a signal handler reads
 * it. A set is a list: one pair, and the set without it, with the pairs in the
 * order of their keys; so equal sets have equal numbers. There may be 65535 of
 * them: labels are for values of which there are few, a kind of request, a
 * tenant, not the number of a request.
 *
 * The number is in the header of the goroutine's stack, since its record is
 * full; a flag in the record says that it is there. A goroutine that is born
 * with labels has its stack from then on (sched/spawn.c).
 */
#include "labels.h"

#include <errno.h>
#include <string.h>

#include "m.h"
#include "observed.h"
#include "os.h"
#include "sched.h"
#include "weft.h"

enum {
	HASHES = 1 << 12,
	TEXT_BYTES = 8 << 20
};

static struct {
	struct lock lock;
	/* under lock; what an entry below n holds is constant */
	struct label *sets;
	char *text;		/* of all strings */
	size_t used;
	uint32_t n;		/* set 0 is the empty one */
	uint32_t hash[HASHES];
} all = { .lock = LOCK_INIT(RANK_LABELS) };

const struct label *
label_at(uint32_t set)
{
	return &all.sets[set];
}

bool
label_exists(uint32_t set)
{
	bool yes;

	if (!set)
		return true;
	lock_take(&all.lock);
	yes = set < all.n;
	lock_drop(&all.lock);
	return yes;
}

/* ---- under the lock ---- */

static int
make_room(void)
{
	if (all.sets)
		return 0;
	if (!all.text)
		all.text = os_map(TEXT_BYTES);
	if (!all.text)
		return -ENOMEM;
	all.sets = os_map(LABEL_SETS * sizeof *all.sets);
	all.n = 1;
	return all.sets ? 0 : -ENOMEM;
}

static uint32_t
hash_of(uint32_t rest, const char *key, const char *value)
{
	uint32_t h = rest * 2654435761u;

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 16777619u;
	for (h ^= 0xff; *value; value++)
		h = (h ^ (unsigned char)*value) * 16777619u;
	return (h ^ h >> 15) % HASHES;
}

static const char *
keep_text(const char *s)
{
	size_t bytes = strlen(s) + 1;
	char *to = all.text + all.used;

	if (bytes > TEXT_BYTES - all.used)
		return NULL;
	memcpy(to, s, bytes);
	all.used += bytes;
	return to;
}

static uint32_t
add_set(uint32_t rest, uint32_t *head, const char *key, const char *value)
{
	struct label *l = &all.sets[all.n];

	if (all.n == LABEL_SETS)
		return 0;
	*l = (struct label){ rest, *head, keep_text(key), keep_text(value) };
	if (!l->key || !l->value)
		return 0;
	*head = all.n;
	return all.n++;
}

/* The set of rest and this pair, 0 if there is no room for one more. */
static uint32_t
intern(uint32_t rest, const char *key, const char *value)
{
	uint32_t *head = &all.hash[hash_of(rest, key, value)];

	for (uint32_t i = *head; i; i = all.sets[i].next) {
		const struct label *l = &all.sets[i];

		if (l->rest == rest && strcmp(l->key, key) == 0 &&
		    strcmp(l->value, value) == 0)
			return i;
	}
	return add_set(rest, head, key, value);
}

/* ---- changing a set ---- */

struct pair { const char *key, *value; };

/* Its pairs but the one of that key, the last key first. */
static unsigned
pairs_without(uint32_t set, const char *key, struct pair out[LABELS_MAX])
{
	unsigned n = 0;

	for (; set; set = label_at(set)->rest)
		if (strcmp(label_at(set)->key, key) != 0)
			out[n++] = (struct pair){ label_at(set)->key,
			    label_at(set)->value };
	return n;
}

/* value NULL: without the key. 0 and *out, or -errno. */
static int
change(uint32_t set, const char *key, const char *value, uint32_t *out)
{
	struct pair p[LABELS_MAX + 1];
	unsigned n = pairs_without(set, key, p), at;
	int err = make_room();

	if (err)
		return err;
	if (value && n == LABELS_MAX)
		return -ENOSPC;
	if (value) {
		for (at = n++; at > 0 && strcmp(p[at - 1].key, key) < 0; at--)
			p[at] = p[at - 1];
		p[at] = (struct pair){ key, value };
	}
	for (*out = 0; n > 0; n--) {
		*out = intern(*out, p[n - 1].key, p[n - 1].value);
		if (!*out)
			return -ENOSPC;
	}
	return 0;
}

/* ---- interface ---- */

static struct g *
self_g(void)
{
	struct m *mp = m_self();

	return mp ? m_g(mp) : NULL;
}

/* First the number, then the flag: a signal may come in between. */
static void
set_labels(struct g *gp, uint32_t set)
{
	a_store_relaxed(&g_stack(gp)->labels, set);
	__asm__ volatile("" ::: "memory");
	a_store_relaxed(&gp->labelled, set != 0);
	if (set)
		a_or_relaxed(&observed_.by, OBSERVED_LABELS);
}

public int
weft_label_set(const char *key, const char *value)
{
	struct g *gp = self_g();
	uint32_t set;
	int err;

	if (!gp)
		return -EPERM;
	if (!key || !*key || strlen(key) >= LABEL_KEY_BYTES ||
	    (value && strlen(value) >= LABEL_VALUE_BYTES))
		return -EINVAL;
	lock_take(&all.lock);
	err = change(labels_of(gp), key, value, &set);
	lock_drop(&all.lock);
	if (!err)
		set_labels(gp, set);
	return err;
}

public const char *
weft_label(const char *key)
{
	struct g *gp = self_g();

	for (uint32_t set = gp ? labels_of(gp) : 0; set;
	    set = label_at(set)->rest)
		if (strcmp(label_at(set)->key, key) == 0)
			return label_at(set)->value;
	return NULL;
}
