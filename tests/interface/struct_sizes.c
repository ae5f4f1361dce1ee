/* SPDX-License-Identifier: MIT */
/*
 * Structs that may grow: programs that were compiled with an older header have
 * smaller ones, those with a newer header larger ones.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "bytes.h"
#include "t.h"

enum { MORE = 40 };

/* A struct, more members after it, and bytes that nothing may touch. */
#define ROOM(type) union { type s; unsigned char b[sizeof(type) + MORE + 8]; }

/* Of a struct of `size` bytes, read into `bytes`; its first is at least 1. */
static void
check_written(const unsigned char *b, size_t size, size_t bytes, size_t all)
{
	uint64_t first;

	memcpy(&first, b, sizeof first);
	OK(first >= 1);
	if (bytes > size)
		OK(all_are(b + size, bytes - size, 0));
	OK(all_are(b + bytes, all - bytes, 0xa5));
}

GTEST(counters, 1)
{
	static const size_t sizes[] = { 8, sizeof(weft_stats) - 8,
		sizeof(weft_stats), sizeof(weft_stats) + MORE };
	ROOM(weft_stats) r;

	for (int i = 0; i < 4; i++) {
		memset(&r, 0xa5, sizeof r);
		weft_stats_read(&r.s, sizes[i]);
		check_written(r.b, sizeof r.s, sizes[i], sizeof r);
		memset(&r, 0xa5, sizeof r);
		EQ(weft_stats_read_proc(0, &r.s, sizes[i]), 0);
		OK(all_are(r.b + sizes[i], sizeof r - sizes[i], 0xa5));
		memset(&r, 0xa5, sizeof r);
		EQ(weft_stats_read_proc(1, &r.s, sizes[i]), -EINVAL);
		OK(all_are(r.b, sizeof r, 0xa5));
	}
	memset(&r, 0xa5, sizeof r);
	weft_stats_read(&r.s, 0);
	OK(all_are(r.b, sizeof r, 0xa5));
}

/* Into fewer bytes than the struct has, and into more. */
#define READ_SHORT_AND_LONG(r, read, few) do {				\
	memset(&(r), 0xa5, sizeof (r));					\
	read(&(r).s, few);						\
	OK(all_are((r).b + (few), sizeof (r) - (few), 0xa5));		\
	read(&(r).s, sizeof (r).s + MORE);				\
	OK(all_are((r).b + sizeof (r).s, MORE, 0));			\
	OK(all_are((r).b + sizeof (r).s + MORE, 8, 0xa5));		\
} while (0)

GTEST(counters_of_descriptors, 1)
{
	ROOM(weft_io_stats) r;

	READ_SHORT_AND_LONG(r, weft_io_stats_read, 16);
}

GTEST(counters_of_preemption, 1)
{
	ROOM(weft_preempt_stats) r;

	READ_SHORT_AND_LONG(r, weft_preempt_stats_read, 24);
	/* Reasons may be added, and the arrays stay. */
	EQ(sizeof r.s.taken / sizeof r.s.taken[0], 32);
	for (int i = WEFT_RETAKE_REASONS; i < 32; i++)
		EQ(r.s.taken[i] | r.s.refused[i] | r.s.paused[i], 0);
	OK(strcmp(weft_retake_reason_name((enum weft_retake_reason)31),
	    "?") == 0);
}

/* ---- options ---- */

static char name[32];

static void
note_name(void *arg)
{
	strcpy(name, weft_self_name());
	weft_waitgroup_done(arg);
}

static int64_t
spawn(const weft_opt *opt, size_t bytes)
{
	weft_waitgroup wg = {0}, *arg = &wg;
	int64_t id;

	strcpy(name, "none");
	weft_waitgroup_add(&wg, 1);
	id = weft_spawn(opt, bytes, note_name, arg, 0);
	if (id > 0)
		weft_waitgroup_wait(&wg);
	return id;
}

GTEST(options, 1)
{
	union { weft_opt o; unsigned char b[sizeof(weft_opt) + MORE]; } r;

	memset(&r, 0xa5, sizeof r);
	r.o = (weft_opt){ .name = "known", .stack = 1 };
	EQ(spawn(&r.o, sizeof r.o), -EINVAL);
	/* one that knows no stacks yet */
	OK(spawn(&r.o, sizeof(char *)) > 0);
	OK(strcmp(name, "known") == 0);
	/* one that knows more than we do */
	r.o.stack = 0;
	OK(spawn(&r.o, sizeof r) > 0);
	OK(strcmp(name, "known") == 0);
	OK(spawn(&r.o, 0) > 0);
	OK(strcmp(name, "") == 0);
	OK(spawn(NULL, 0) > 0);
}

static int
procs(int argc, char **argv)
{
	(void)argc, (void)argv;
	return weft_procs();
}

TEST(config_of_another_size)
{
	union { weft_config c; unsigned char b[sizeof(weft_config) + MORE]; } r;

	memset(&r, 0xa5, sizeof r);
	r.c = (weft_config){ .procs = 3, .max_threads = -1 };
	EQ(weft_run_config(&r.c, sizeof r.c, procs, 0, NULL), -EINVAL);
	EQ(weft_run_config(&r.c, sizeof r.c.procs, procs, 0, NULL), 3);
}

TEST(config_of_tomorrow)
{
	union { weft_config c; unsigned char b[sizeof(weft_config) + MORE]; } r;

	memset(&r, 0xa5, sizeof r);
	r.c = (weft_config){ .procs = 3 };
	EQ(weft_run_config(&r.c, sizeof r, procs, 0, NULL), 3);
}

TEST(run_with)
{
	EQ(weft_run_with(procs, 0, NULL, .procs = 2000), -EINVAL);
	EQ(weft_run_with(procs, 0, NULL, .procs = 5, .stack = 65536), 5);
}
