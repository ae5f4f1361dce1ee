/* SPDX-License-Identifier: MIT */
/*
 * Numbers are closed and given away again all the time, by many at once, while
 * old calls on them are still waking up: what is read on a connection was
 * written to it, and no goroutine is woken, or begun, by another's event.
 *
 * A call is surely within weft when it has taken the first part of what it
 * asked for; then the number may be closed under it.
 */
#define _GNU_SOURCE 1
#include <sys/ioctl.h>

#include "fd_pairs.h"

enum { PARTS = 8, WORKERS = 8 };

static weft_waitgroup all;
static uint64_t next_id;
static long rounds, closed_under;

struct call {
	int fd, other;		/* the end it reads, and what to close then */
	uint64_t id;
	bool by_recv;		/* MSG_WAITALL, not read_full */
	weft_event over;
	/* out */
	ssize_t result;
	size_t done;
	uint64_t got[PARTS];
};

static void
read_parts(struct call *c)
{
	if (c->by_recv) {
		c->result = weft_sock_recv(c->fd, c->got, sizeof c->got,
		    MSG_WAITALL);
		c->done = c->result > 0 ? (size_t)c->result : 0;
	} else {
		c->result = weft_read_full(c->fd, c->got, sizeof c->got,
		    &c->done);
	}
	weft_event_set(&c->over);
	weft_waitgroup_done(&all);
}

/* Ended as it should, with its own. */
static void
judge(struct call *c, ssize_t expected, int parts)
{
	weft_event_wait(&c->over);
	/* what was received is not lost, whatever ends it */
	if (c->by_recv && parts > 0 && expected < 0)
		expected = parts * 8;
	EQ(c->result, expected);
	EQ(c->done, parts * 8);
	for (size_t i = 0; i < c->done / 8; i++)
		EQ(c->got[i], c->id);
	EQ(weft_close(c->other), 0);
	free(c);
}

static void
write_parts(int fd, uint64_t id, int n)
{
	while (n-- > 0)
		EQ(weft_write_full(fd, &id, sizeof id, NULL), sizeof id);
}

/* It has taken what there was. */
static void
until_taken(int fd)
{
	int left = 1;

	for (;;) {
		EQ(ioctl(fd, FIONREAD, &left), 0);
		if (left == 0)
			break;
		weft_yield();
	}
}

static struct call *
start(int fd, bool by_recv)
{
	struct call *c = calloc(1, sizeof *c);

	c->fd = fd;
	c->id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
	c->by_recv = by_recv;
	weft_waitgroup_add(&all, 1);
	weft_go(read_parts, c);
	return c;
}

static int
some_kind(unsigned *seed)
{
	static const int some[] = { STREAM, STREAM_NB, PIPE, PIPE_NB, STREAM };
	int k = rand_r(seed) % 64;

	return k == 0 ? TCP4 : k == 1 ? TCP4_NB : some[k % 5];
}

/* One that is to begin does so by its own event alone. */
struct beginner {
	int fd;
	uint64_t id;
	long begun;
	weft_event over;
};

static void
began(struct beginner *b)
{
	uint64_t got = 0;

	__atomic_store_n(&b->begun, 1, __ATOMIC_RELAXED);
	EQ(weft_read_full(b->fd, &got, sizeof got, NULL), sizeof got);
	EQ(got, b->id);
	weft_event_set(&b->over);
	weft_waitgroup_done(&all);
}

static void
begin_one(int end[2], int patience)
{
	struct beginner b = { .fd = end[0] };

	b.id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(end[0], began, &b) > 0);
	while (patience-- > 0)
		weft_yield();
	EQ(__atomic_load_n(&b.begun, __ATOMIC_RELAXED), 0);
	write_parts(end[1], b.id, 1);
	weft_event_wait(&b.over);
}

/*
 * Leaves an event behind that a thread may just have fetched: for a number
 * that has another user the next moment, most likely the caller.
 */
static void
make_noise(void)
{
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, 1);
	/* it does not look at what it began for */
	OK(weft_go_readable(end[0], weft_waitgroup_done, &all) > 0);
	write_parts(end[1], 1, 1);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
}

/*
 * One life of a pair. If its call was ended by closing it is returned, to be
 * judged later: by then another pair has the number.
 */
static struct call *
live(unsigned *seed, int *parts)
{
	int end[2], k = some_kind(seed), how = rand_r(seed) % 4;
	struct call *c;

	if (rand_r(seed) % 4 == 0)
		make_noise();
	wire(k, end);
	if (rand_r(seed) % 4 == 0)
		begin_one(end, rand_r(seed) % 8);
	c = start(end[0], wire_is_socket(k) && rand_r(seed) % 2);
	*parts = 1 + rand_r(seed) % (PARTS - 1);
	write_parts(end[1], c->id, *parts);
	until_taken(end[0]);
	if (how < 2) {
		/* not the other end: it shall not see the end of file */
		c->other = end[1];
		EQ(weft_close(end[0]), 0);
		__atomic_add_fetch(&closed_under, 1, __ATOMIC_RELAXED);
		return c;
	}
	c->other = end[0];
	if (how == 2) {
		EQ(weft_close(end[1]), 0);
		judge(c, *parts * 8, *parts);
	} else {
		write_parts(end[1], c->id, PARTS - *parts);
		judge(c, PARTS * 8, PARTS);
		EQ(weft_close(end[1]), 0);
	}
	return NULL;
}

static void
work(unsigned seed)
{
	struct call *last = NULL;
	int last_parts = 0;

	while (t_more(1.5)) {
		int parts;
		struct call *c = live(&seed, &parts);

		if (last)
			judge(last, -EBADF, last_parts);
		last = c;
		last_parts = parts;
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	if (last)
		judge(last, -EBADF, last_parts);
	weft_waitgroup_done(&all);
}

static void
run_all(void)
{
	t_more(1.5);			/* from now on */
	weft_waitgroup_add(&all, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		weft_go(work, (unsigned)i + 1);
	weft_waitgroup_wait(&all);
	fprintf(stderr, "# %ld pairs, %ld closed under a reader\n", rounds,
	    closed_under);
	OK(closed_under > 0);
}

GTEST(on_one, 1) { run_all(); }
GTEST(on_two, 2) { run_all(); }
GTEST(on_eight, 8) { run_all(); }
