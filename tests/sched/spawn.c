/* SPDX-License-Identifier: MIT */
/* weft_spawn: the copy of the argument that the goroutine gets. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup all;

struct bytes {
	unsigned char n;	/* how many follow, each with this value */
	unsigned char b[WEFT_ARG_BYTES - 1];
};

static bool
all_are(const struct bytes *s, int value)
{
	for (int i = 0; i < s->n; i++)
		if (s->b[i] != value)
			return false;
	return true;
}

/* The copy is the goroutine's own until it ends: to read and to write. */
static void
look(void *arg)
{
	struct bytes *s = arg;

	EQ((uintptr_t)s % 16, 0);
	OK(all_are(s, s->n));
	memset(s->b, 200, s->n);
	weft_yield();
	OK(all_are(s, 200));
	weft_waitgroup_done(&all);
}

GTEST(every_size, 2)
{
	for (int size = 1; size <= WEFT_ARG_BYTES; size++) {
		struct bytes s = { .n = (unsigned char)(size - 1) };

		memset(s.b, s.n, s.n);
		weft_waitgroup_add(&all, 1);
		OK(weft_spawn(NULL, 0, look, &s, (size_t)size) > 0);
		memset(&s, 255, sizeof s);
	}
	weft_waitgroup_wait(&all);
}

/* The source may be anywhere. */
GTEST(source_unaligned, 1)
{
	char buf[64] = {0};
	struct bytes s = { .n = 20 };

	memset(s.b, 20, 20);
	memcpy(buf + 1, &s, 21);
	weft_waitgroup_add(&all, 1);
	OK(weft_spawn(NULL, 0, look, buf + 1, 21) > 0);
	memset(buf, 0, sizeof buf);
	weft_waitgroup_wait(&all);
}

static int target;

static void
set_target(void *arg)
{
	OK(arg == &target);
	*(int *)arg = 7;
	weft_waitgroup_done(&all);
}

static void
gets_null(void *arg)
{
	OK(!arg);
	weft_waitgroup_done(&all);
}

GTEST(size_zero_passes_the_pointer, 1)
{
	weft_waitgroup_add(&all, 2);
	OK(weft_spawn(NULL, 0, set_target, &target, 0) > 0);
	OK(weft_spawn(NULL, 0, gets_null, NULL, 0) > 0);
	weft_waitgroup_wait(&all);
	EQ(target, 7);
}

GTEST(too_big, 1)
{
	static char big[WEFT_ARG_BYTES + 1];
	int64_t before = weft_goroutines();

	EQ(weft_spawn(NULL, 0, look, big, sizeof big), -E2BIG);
	EQ(weft_spawn(NULL, 0, look, big, SIZE_MAX), -E2BIG);
	EQ(weft_goroutines(), before);
}

static void
check_options(void *arg)
{
	volatile char array[900 * 1024];

	array[0] = *(char *)arg;
	/* or the compiler would do without the array */
	__asm__ volatile("" : : "r"(array) : "memory");
	EQ(array[0], 'x');
	OK(strcmp(weft_self_name(), "spawned") == 0);
	weft_waitgroup_done(&all);
}

GTEST(options, 1)
{
	weft_opt opt = { .name = "spawned", .stack = 1 << 20 };

	weft_waitgroup_add(&all, 1);
	OK(weft_spawn(&opt, sizeof opt, check_options, "x", 1) > 0);
	weft_waitgroup_wait(&all);
	opt.stack = 1;
	EQ(weft_spawn(&opt, sizeof opt, check_options, "x", 1), -EINVAL);
}

static void
note_id(void *arg)
{
	**(int64_t **)arg = weft_self_id();
	weft_waitgroup_done(&all);
}

GTEST(id_returned, 1)
{
	int64_t seen = 0, *to = &seen, id;

	weft_waitgroup_add(&all, 1);
	id = weft_spawn(NULL, 0, note_id, &to, sizeof to);
	weft_waitgroup_wait(&all);
	OK(id > 0);
	EQ(id, seen);
}
