/* SPDX-License-Identifier: MIT */
/*
 * A program with a malloc of its own: whoever is interrupted in that holds its
 * lock, so the audit must see it. The arena is as simple as can be: blocks of
 * powers of two, a list of free ones for each, one lock.
 */
#include "torture.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HEAD = 16, CLASSES = 40, CHUNK = 1 << 20 };

struct head {
	union {
		struct head *next;	/* while it is free */
		size_t class;
	};
};

static char lock;			/* atomic */
static struct head *unused[CLASSES];
static char *fresh;
static size_t fresh_left;

static void
take(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void
drop(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

/* New memory; lock held. What is left of the last chunk is lost. */
static struct head *
carve(size_t bytes)
{
	size_t chunk = bytes > CHUNK ? bytes : CHUNK;
	struct head *h;

	if (fresh_left < bytes) {
		fresh = mmap(NULL, chunk, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fresh == MAP_FAILED)
			abort();
		fresh_left = chunk;
	}
	h = (struct head *)fresh;
	fresh += bytes;
	fresh_left -= bytes;
	return h;
}

/* Not malloc itself: compilers make a calloc of a malloc that is cleared. */
static __attribute__((noinline)) void *
get(size_t bytes)
{
	struct head *h;
	size_t class = 5;

	while (((size_t)1 << class) < bytes + HEAD)
		class++;
	take();
	h = unused[class];
	if (h)
		unused[class] = h->next;
	else
		h = carve((size_t)1 << class);
	drop();
	h->class = class;
	return (char *)h + HEAD;
}

void *
malloc(size_t bytes)
{
	return get(bytes);
}

void
free(void *p)
{
	struct head *h = (struct head *)((char *)p - HEAD);
	size_t class;

	if (!p)
		return;
	class = h->class;
	memset(p, 0xdd, ((size_t)1 << class) - HEAD);
	take();
	h->next = unused[class];
	unused[class] = h;
	drop();
}

void *
calloc(size_t n, size_t each)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, each, &bytes))
		return NULL;
	p = get(bytes);
	return memset(p, 0, bytes);
}

void *
realloc(void *p, size_t bytes)
{
	size_t had;
	void *q;

	if (!p)
		return malloc(bytes);
	had = ((size_t)1 << ((struct head *)((char *)p - HEAD))->class) - HEAD;
	if (bytes <= had)
		return p;
	q = malloc(bytes);
	memcpy(q, p, had);
	free(p);
	return q;
}

/* No aligned_alloc: it is not called here. */
int
main(int argc, char **argv)
{
	static const struct torture t = {
		"own-malloc", { torture_cpu, torture_libc, torture_weft },
		"defines malloc"
	};

	return torture_main(&t, argc, argv);
}
