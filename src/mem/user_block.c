/* SPDX-License-Identifier: MIT */
#include "user_block.h"

#include <stdlib.h>
#include <string.h>

#include "atomic.h"
#include "list.h"
#include "lock.h"

struct block {
	struct list link;	/* under the lock */
	size_t bytes;		/* constant, of what follows */
} cache_aligned;

enum { UNDECIDED, PLAIN, LISTED };

static struct {
	a32 mode;
	struct lock lock;
	struct list all;	/* under the lock */
} blocks = {
	.lock = LOCK_INIT(RANK_USER_BLOCK),
	.all = { &blocks.all, &blocks.all },
};

/* The first call decides. */
static bool
is_listed(void)
{
	uint32_t mode = a_load_relaxed(&blocks.mode);

	if (unlikely(mode == UNDECIDED)) {
		a_cas_relaxed(&blocks.mode, UNDECIDED, PLAIN);
		mode = a_load_relaxed(&blocks.mode);
	}
	return mode == LISTED;
}

bool
user_blocks_list(void)
{
	return a_cas_relaxed(&blocks.mode, UNDECIDED, LISTED);
}

/* Zeroed: its owner may be stopped before it has written to it. */
static void *
alloc_listed(size_t bytes)
{
	size_t all = sizeof(struct block) + round_up(bytes, CACHE_LINE);
	struct block *b = bytes < SIZE_MAX / 2 ?
	    aligned_alloc(CACHE_LINE, all) : NULL;

	if (!b)
		return NULL;
	memset(b, 0, all);
	b->bytes = bytes;
	lock_take(&blocks.lock);
	list_push(&blocks.all, &b->link);
	lock_drop(&blocks.lock);
	return b + 1;
}

void *
user_block_alloc(size_t bytes)
{
	return is_listed() ? alloc_listed(bytes) : malloc(bytes);
}

void *
user_block_zalloc(size_t bytes)
{
	return is_listed() ? alloc_listed(bytes) : calloc(1, bytes);
}

void *
user_block_aligned(size_t bytes)
{
	return is_listed() ? alloc_listed(bytes) :
	    aligned_alloc(CACHE_LINE, bytes);
}

void
user_block_free(void *p)
{
	struct block *b = p;

	if (p && is_listed()) {
		lock_take(&blocks.lock);
		list_remove(&(--b)->link);
		lock_drop(&blocks.lock);
		free(b);
	} else {
		free(p);
	}
}

void
user_blocks_hold(void)
{
	lock_take(&blocks.lock);
}

void
user_blocks_release(void)
{
	lock_drop(&blocks.lock);
}

void
user_blocks_each(void (*fn)(void *lo, void *hi, void *arg), void *arg)
{
	list_each(it, &blocks.all) {
		struct block *b = container_of(it, struct block, link);

		fn(b + 1, (char *)(b + 1) + b->bytes, arg);
	}
}

void
user_blocks_forked(void)
{
	blocks.lock = (struct lock)LOCK_INIT(RANK_USER_BLOCK);
}
