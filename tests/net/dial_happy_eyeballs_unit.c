/* SPDX-License-Identifier: MIT */
/*
 * Which of several addresses is tried when, and which wins. The addresses are
 * listeners on this machine: one that answers, one that is full and does not,
 * one that is closed and refuses.
 */
#define _GNU_SOURCE 1
#include "dial.h"

#include <netinet/in.h>
#include <poll.h>

#include "listener.h"
#include "netcall.h"

#define HEAD (30 * WEFT_MS)
#define LONG (1000 * WEFT_SECOND)
#define OPT(...) ((weft_dial_options){ __VA_ARGS__ })

static int good = -1, full = -1, full2 = -1, refuses = -1, refusing_port;
static int held[2 * FILLING], n_held;

static void
prepare(void)
{
	refuses = refusing(&refusing_port);
	good = weft_listen("tcp4", "127.0.0.1:0");
	full = weft_listen_with("tcp4", "127.0.0.1:0", .backlog = 1);
	full2 = weft_listen_with("tcp4", "127.0.0.1:0", .backlog = 1);
	OK(good >= 0 && full >= 0 && full2 >= 0);
	n_held = fill(full, held);
	n_held += fill(full2, held + n_held);
}

static void
clean_up(void)
{
	close_all(held, n_held);
	close(refuses);
	weft_close(good);
	weft_close(full);
	weft_close(full2);
	wait_alone();
}

/* 'g' good, 'f' and 'F' full, 'r' refuses, 'x' none of this family. */
static struct found *
list(const char *what)
{
	struct found *f = calloc(1, sizeof *f + 100 * sizeof f->at[0]);

	for (; *what; what++) {
		weft_address *a = &f->at[f->n++];
		int port = refusing_port;

		if (strchr("gfF", *what))
			port = weft_local_port(*what == 'g' ? good :
			    *what == 'f' ? full : full2);
		EQ(weft_resolve("tcp", "127.0.0.1:0", a, 1, NULL, 0), 1);
		address_set_port(a, port);
		if (*what == 'x')
			a->family = 4711;
	}
	return f;
}

static int
dial(const char *what, weft_dial_options opt)
{
	struct dial_deadline limit = dial_deadline_of(&opt);
	struct found *f = list(what);
	int r = dial_any(f, NULL, &opt, &limit);

	free(f);
	return r;
}

/* Is it the good one, and are there no others there? */
static void
came_to_good(int fd)
{
	int got;

	OK(fd >= 0);
	if (fd < 0)
		return;
	got = weft_accept(good, NULL, NULL);
	OK(joined(fd, got));
	OK(joined(got, fd));
	weft_close(got);
	weft_close(fd);
	weft_set_read_deadline(good, weft_now());
	EQ(weft_accept(good, NULL, NULL), -ETIMEDOUT);
	weft_set_read_deadline(good, WEFT_NEVER);
}

static void
in_order(void)
{
	int64_t start;

	prepare();
	/* A full one keeps the next waiting as long as it was said. */
	start = weft_now();
	came_to_good(dial("fg", OPT(.head_start = HEAD)));
	OK(weft_now() - start >= HEAD);
	start = weft_now();
	came_to_good(dial("fFg", OPT(.head_start = HEAD)));
	OK(weft_now() - start >= 2 * HEAD);
	/* One that answers, refuses or cannot be tried does not. */
	start = weft_now();
	came_to_good(dial("gf", OPT(.head_start = LONG)));
	came_to_good(dial("rg", OPT(.head_start = LONG)));
	came_to_good(dial("xrxrg", OPT(.head_start = LONG)));
	came_to_good(dial("rxg", OPT(.head_start = -1)));
	OK(weft_now() - start < 20 * WEFT_SECOND);
	clean_up();
}

GTEST(in_order_on_1, 1) { in_order(); }
GTEST(in_order_on_4, 4) { in_order(); }

/*
 * A failure beside one that is pending lets the next begin at once, too: so it
 * takes one head start and not two, here compared with one and a half. That is
 * tried again, for a machine that stood still meanwhile.
 */
static int64_t
dialled(const char *what, int64_t head_start)
{
	int fd = dial(what, OPT(.head_start = head_start));

	OK(fd >= 0);
	weft_close(fd);
	return weft_now();
}

enum { TRIES = 5 };

static void
dial_beside(weft_chan *when)
{
	weft_send(when, dialled("fg", 900 * WEFT_MS));
}

GTEST(at_once_beside_another, 2)
{
	weft_chan *when = weft_chan_make(sizeof(int64_t), 1);
	int64_t one;
	int tries = 0;

	prepare();
	do {
		weft_go(dial_beside, when);
		one = dialled("frg", 600 * WEFT_MS);
	} while (one >= weft_recv(when, int64_t) && ++tries < TRIES);
	OK(tries < TRIES);
	weft_chan_release(when);
	clean_up();
}

/* The default is a quarter of a second. */
GTEST(default_head_start, 1)
{
	int64_t start;

	prepare();
	start = weft_now();
	came_to_good(dial("fg", OPT(0)));
	OK(weft_now() - start >= 250 * WEFT_MS);
	clean_up();
}

/* One after the other: the second is not tried while the first is pending. */
GTEST(one_after_the_other, 2)
{
	int64_t until;

	prepare();
	until = weft_deadline(10 * HEAD);
	EQ(dial("fg", OPT(.head_start = -1, .until = until)),
	    -ETIMEDOUT);
	OK(weft_now() >= until);
	weft_set_read_deadline(good, weft_now());
	EQ(weft_accept(good, NULL, NULL), -ETIMEDOUT);
	clean_up();
}

/* ---- errors ---- */

GTEST(why_the_first_failed, 2)
{
	prepare();
	EQ(dial("r", OPT(0)), -ECONNREFUSED);
	EQ(dial("rr", OPT(0)), -ECONNREFUSED);
	EQ(dial("x", OPT(0)), -EAFNOSUPPORT);
	EQ(dial("rxx", OPT(0)), -ECONNREFUSED);
	EQ(dial("xrr", OPT(0)), -EAFNOSUPPORT);
	EQ(dial("frx", OPT(.until = weft_deadline(HEAD),
	    .head_start = WEFT_MS)), -ETIMEDOUT);
	clean_up();
}

/* Also of a name with very many addresses: some are tried. */
GTEST(very_many, 2)
{
	char what[100];

	prepare();
	memset(what, 'r', sizeof what);
	what[99] = 0;
	EQ(dial(what, OPT(0)), -ECONNREFUSED);
	what[50] = 'g';
	came_to_good(dial(what, OPT(0)));
	clean_up();
}

/* ---- nothing is left ---- */

GTEST(descriptors, 2)
{
	int before = open_fds_before();
	int64_t until;

	prepare();
	came_to_good(dial("fFrxg", OPT(.head_start = WEFT_MS)));
	until = weft_deadline(HEAD);
	EQ(dial("fFrx", OPT(.head_start = WEFT_MS,
	    .until = until)), -ETIMEDOUT);
	OK(weft_now() >= until);
	clean_up();
	EQ(count_fds(), before);
}

/*
 * Many dials beside each other, some of which end just when the other address
 * begins, while others open and close descriptors: a number that is closed too
 * early would have another user by then.
 */
static long ended;

static void
dial_often(int seed, weft_waitgroup *wg)
{
	for (int i = 0; i < (int)t_scale(60); i++) {
		int64_t ns = (i * 7 + seed * 13) % 40 * 50 * WEFT_US;
		int fd = dial("fgg", OPT(.head_start = ns + 1,
		    .until = weft_deadline(2 * WEFT_MS)));

		OK(fd >= 0 || fd == -ETIMEDOUT);
		if (fd >= 0)
			EQ(weft_close(fd), 0);
	}
	weft_waitgroup_done(wg);
}

static void
accept_all(void)
{
	int fd;

	while ((fd = weft_accept(good, NULL, NULL)) >= 0)
		weft_close(fd);
	EQ(fd, -EBADF);
}

/* Has a socket, not connected; no dial may connect it. */
static void
bystander(weft_waitgroup *wg)
{
	while (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) {
		int fd = net_socket(AF_INET, SOCK_STREAM, 0);
		weft_address a;

		weft_yield();
		EQ(net_peer(fd, &a), -ENOTCONN);
		EQ(weft_close(fd), 0);
		weft_yield();
	}
	weft_waitgroup_done(wg);
}

static void
beside_each_other(void)
{
	weft_waitgroup dials = {0}, others = {0};

	ended = 0;
	prepare();
	weft_go(accept_all);
	weft_waitgroup_add(&dials, 8);
	weft_waitgroup_add(&others, 2);
	for (int i = 0; i < 8; i++)
		weft_go(dial_often, i, &dials);
	for (int i = 0; i < 2; i++)
		weft_go(bystander, &others);
	weft_waitgroup_wait(&dials);
	__atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
	weft_waitgroup_wait(&others);
	clean_up();
}

GTEST(beside_each_other_on_1, 1) { beside_each_other(); }
GTEST(beside_each_other_on_4, 4) { beside_each_other(); }

/* ---- contexts ---- */

static void
cancel_later(weft_context *ctx)
{
	weft_sleep(HEAD);
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
}

static void
cancelled(const char *what)
{
	weft_context *ctx = weft_context_make(NULL);
	int64_t start = weft_now();

	weft_go(cancel_later, weft_context_retain(ctx));
	EQ(dial(what, OPT(.context = ctx,
	    .head_start = HEAD / 3)), -ECANCELED);
	OK(weft_now() - start >= HEAD);
	OK(weft_now() - start < 20 * WEFT_SECOND);
	weft_context_release(ctx);
}

GTEST(cancelled_while_pending, 2)
{
	int before = open_fds_before();
	weft_context *ctx = weft_context_make_until(NULL, weft_deadline(HEAD));

	prepare();
	cancelled("f");
	cancelled("fF");
	EQ(dial("f", OPT(.context = ctx)), -ETIMEDOUT);
	OK(weft_now() >= weft_context_deadline(ctx));
	EQ(dial("g", OPT(.context = ctx)), -ETIMEDOUT);
	weft_context_release(ctx);
	ctx = weft_context_make(NULL);
	came_to_good(dial("g", OPT(.context = ctx)));
	weft_context_release(ctx);
	clean_up();
	EQ(count_fds(), before);
}

/* Without a runtime none can cancel meanwhile, but one may have before. */
TEST(cancelled_before)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_dial_options opt = { .context = ctx };
	struct dial_deadline limit = dial_deadline_of(&opt);
	struct found *f;

	good = weft_listen("tcp4", "127.0.0.1:0");
	f = list("g");
	weft_context_cancel(ctx, 0);
	EQ(dial_any(f, NULL, &opt, &limit), -ECANCELED);
	free(f);
	weft_context_release(ctx);
}

/* ---- itself ---- */

GTEST(met_itself, 1)
{
	int fd = net_socket(AF_INET, SOCK_STREAM, 0), other;
	weft_address a, b;

	EQ(weft_resolve("tcp", "127.0.0.1:0", &a, 1, NULL, 0), 1);
	EQ(net_bind(fd, &a), 0);
	EQ(net_name(fd, &b), 0);
	address_set_port(&a, address_port(address_get(&b)));
	EQ(weft_connect(fd, address_get(&a), a.len), 0);
	OK(dial_self_connected(fd, &a));
	weft_close(fd);
	prepare();
	EQ(weft_resolve("tcp", at(good), &a, 1, NULL, 0), 1);
	other = weft_dial("tcp", at(good));
	OK(!dial_self_connected(other, &a));
	came_to_good(other);
	clean_up();
}
