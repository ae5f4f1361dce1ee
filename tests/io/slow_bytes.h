/* SPDX-License-Identifier: MIT */
/*
 * For stress tests of waits that end otherwise than by data: bytes that tell
 * their place come slowly over pairs of all kinds, and their readers may be
 * interrupted, but no byte is lost or seen twice.
 */
#ifndef SLOW_BYTES_H
#define SLOW_BYTES_H

#include "fd_pairs.h"

static weft_waitgroup all;
static long reads;		/* atomic */

/* Bytes in order, with pauses of up to so many microseconds. */
static inline void
write_slowly(int fd, long n, unsigned seed, int pause_us)
{
	for (long i = 0; i < n; i++) {
		char c = wire_byte((size_t)i);

		switch (rand_r(&seed) % 4) {
		case 0: weft_sleep(rand_r(&seed) % pause_us * WEFT_US); break;
		case 1: weft_yield(); break;
		}
		EQ(weft_write(fd, &c, 1), 1);
	}
	weft_waitgroup_done(&all);
}

/* A read gave r and c: counts it if that is the *i-th byte, and steps on. */
static inline bool
take_next(ssize_t r, char c, long *i)
{
	EQ(r, 1);
	EQ(c, wire_byte((size_t)*i));
	if (r != 1 || c != wire_byte((size_t)*i))
		return false;
	__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
	++*i;
	return true;
}

/* n bytes over a pair of each kind at the same time, for this reader. */
static inline void
read_from_all_kinds(void (*reader)(int fd, long n, unsigned seed), long n,
    int pause_us)
{
	int end[WIRES][2];

	/* UDP loses bytes by itself */
	for (int k = 0; k < UDP4; k++) {
		if (!wire_make(k, end[k]))
			continue;
		weft_waitgroup_add(&all, 2);
		weft_go(reader, end[k][0], n, (unsigned)k);
		weft_go(write_slowly, end[k][1], n, (unsigned)k + 100,
		    pause_us);
	}
	weft_waitgroup_wait(&all);
	for (int k = 0; k < UDP4; k++)
		if (end[k][0] >= 0)
			wire_drop(end[k]);
}

#endif
