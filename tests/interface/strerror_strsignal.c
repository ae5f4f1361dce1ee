/* SPDX-License-Identifier: MIT */
/*
 * strerror, strsignal and inet_ntoa, as weft.h has them: a text is the
 * goroutine's, whoever runs on its thread meanwhile. The headers of libc come
 * before weft.h and after it.
 */
#define _GNU_SOURCE 1
#include <string.h>

#include <weft.h>

#include <arpa/inet.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "run_env.h"

enum { ASKERS = 4, UNKNOWN = 100000 };

static weft_waitgroup all;
static long stop, wrong, rounds;

/* In memory, which is not searched for pointers into a thread. */
struct kept {
	const char *error, *signal, *address;
};

static struct in_addr
address(int nr)
{
	return (struct in_addr){ htonl(0x0a000000u + (unsigned)nr) };
}

static void
ask(struct kept *k, int nr)
{
	k->error = strerror(UNKNOWN + nr);
	k->signal = strsignal(UNKNOWN + nr);
	k->address = inet_ntoa(address(nr));
}

static bool
is(const char *text, const char *want, int nr)
{
	char all_of_it[64];

	snprintf(all_of_it, sizeof all_of_it, want, nr);
	return !strcmp(text, all_of_it);
}

/* Other libcs say less of unknown errors. */
static bool
right(const struct kept *k, int nr)
{
#ifdef __GLIBC__
	if (!is(k->error, "Unknown error %d", UNKNOWN + nr))
		return false;
#endif
	return is(k->signal, "Unknown signal %d", UNKNOWN + nr) &&
	    is(k->address, "10.0.0.%d", nr);
}

static void
asks(int nr)
{
	struct kept *k = malloc(sizeof *k);

	while (!get(&stop)) {
		ask(k, nr);
		for (volatile int i = 0; i < 5000; i++)
			;
		if (!right(k, nr))
			bump(&wrong);
		weft_yield();
		if (!right(k, nr))
			bump(&wrong);
		bump(&rounds);
	}
	free(k);
	weft_waitgroup_done(&all);
}

static void
ask_all(void)
{
	weft_waitgroup_add(&all, ASKERS);
	for (int i = 1; i <= ASKERS; i++)
		weft_go(asks, i);
	stop_after(1, &stop, &all);
	OK(rounds > 0);
	EQ(wrong, 0);
}

ETEST(belong_to_goroutines, 2, "WEFT_SLICE_US=50") { ask_all(); }
ETEST(on_one, 1, "WEFT_SLICE_US=50") { ask_all(); }

/* Nothing of these is in the way of the audit. */
GTEST(and_it_can_be_preempted, 1)
{
	char text[4096];

	weft_preempt_explain(text, sizeof text);
	OK(!strstr(text, "uses strerror"));
	OK(!strstr(text, "uses strsignal"));
	OK(!strstr(text, "uses inet_ntoa"));
}

static void
known_ones(void)
{
	const char *first = strerror(ENOENT), *second = strerror(EACCES);

	OK(!strcmp(first, "No such file or directory"));
	OK(!strcmp(second, "Permission denied"));
	OK(!strcmp(strsignal(SIGSEGV), "Segmentation fault"));
	OK(strlen(strerror(0)) > 0);
	OK(strlen(strerror(-1)) > 0);
	OK(strlen(strsignal(0)) > 0);
	OK(strlen(strsignal(SIGRTMIN + 1)) > 0);
	OK(!strcmp(inet_ntoa(address(9)), "10.0.0.9"));
}

/* weft_strerror takes what the calls of weft return, too. */
static void
both_signs(void)
{
	OK(!strcmp(weft_strerror(ENOENT), "No such file or directory"));
	OK(!strcmp(weft_strerror(-ENOENT), "No such file or directory"));
	OK(!strcmp(weft_strerror(0), strerror(0)));
	OK(strlen(weft_strerror(INT_MIN)) > 0);
	OK(strlen(weft_strerror(INT_MAX)) > 0);
#ifdef __GLIBC__
	OK(is(weft_strerror(-UNKNOWN), "Unknown error %d", UNKNOWN));
	/* strerror is as libc's: it does not change the sign. */
	OK(is(strerror(-ENOENT), "Unknown error %d", -ENOENT));
#endif
}

TEST(both_signs_without_a_runtime) { both_signs(); }
GTEST(both_signs_in_a_goroutine, 1) { both_signs(); }

TEST(known_without_a_runtime) { known_ones(); }
GTEST(known, 1) { known_ones(); }

/* A goroutine's texts end with it. */
static void
asks_once(void)
{
	struct kept k;

	ask(&k, 3);
	OK(right(&k, 3));
	weft_waitgroup_done(&all);
}

GTEST(many_goroutines, 2)
{
	for (int i = 0; i < t_scale(20000); i++) {
		weft_waitgroup_add(&all, 1);
		OK(weft_try_go(asks_once) > 0);
		weft_waitgroup_wait(&all);
	}
}
