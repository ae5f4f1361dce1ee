/* SPDX-License-Identifier: MIT */
/*
 * Known programs made of channels, whose results are known too: prime sieves,
 * a long chain, trees, a merge, a pipeline, a token ring, a bounded buffer.
 */
#include <stdlib.h>

#include <weft.h>

#include "t.h"

static const int primes[] = {
	2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67,
	71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139,
	149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223,
	227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293,
	307, 311, 313, 317, 331, 337, 347, 349, 353, 359, 367, 373, 379, 383,
	389, 397, 401, 409, 419, 421, 431, 433, 439, 443, 449, 457, 461, 463,
	467, 479, 487, 491, 499, 503, 509, 521, 523, 541
};
enum { PRIMES = sizeof primes / sizeof *primes };

/* ---- a sieve that is a chain of filters ---- */

/* Numbers until none is taken any more: `stop` is closed then. */
static void
count_up(weft_chan *out, weft_chan *stop)
{
	for (int n = 2;; n++) {
		weft_case k[] = {
			WEFT_CASE_SEND_FROM(out, &n), WEFT_CASE_RECV(stop, NULL)
		};

		if (weft_select(k, 2) == 1)
			return;
	}
}

static void
filter(weft_chan *in, weft_chan *out, weft_chan *stop, int prime)
{
	for (;;) {
		int n;
		weft_case from[] = {
			WEFT_CASE_RECV(in, &n), WEFT_CASE_RECV(stop, NULL)
		};
		weft_case to[] = {
			WEFT_CASE_SEND_FROM(out, &n), WEFT_CASE_RECV(stop, NULL)
		};

		if (weft_select(from, 2) == 1)
			return;
		if (n % prime && weft_select(to, 2) == 1)
			return;
	}
}

static void
chain_sieve(size_t cap)
{
	weft_chan *c[PRIMES + 1], *stop = weft_chan_make(0, 0);

	for (int i = 0; i <= PRIMES; i++)
		c[i] = weft_chan_make(sizeof(int), cap);
	OK(weft_try_go(count_up, c[0], stop) > 0);
	for (int i = 0; i < PRIMES; i++) {
		int prime = weft_recv(c[i], int);

		EQ(prime, primes[i]);
		OK(weft_try_go(filter, c[i], c[i + 1], stop, prime) > 0);
	}
	weft_chan_close(stop);
	while (weft_goroutines() > 1)
		weft_yield();
	for (int i = 0; i <= PRIMES; i++)
		weft_chan_release(c[i]);
	weft_chan_release(stop);
}

GTEST(chain_sieve_on_1, 1) { chain_sieve(0); chain_sieve(1); }
GTEST(chain_sieve_on_2, 2) { chain_sieve(0); chain_sieve(7); }
GTEST(chain_sieve_on_8, 8) { chain_sieve(0); chain_sieve(50); }

/* ---- a sieve that knows the multiples of each prime ---- */

static void
multiples(weft_chan *out, weft_chan *stop, int prime)
{
	for (int n = prime * prime;; n += prime) {
		weft_case k[] = {
			WEFT_CASE_RECV(stop, NULL), WEFT_CASE_SEND_FROM(out, &n)
		};

		if (weft_select(k, 2) == 0)
			return;
	}
}

struct heads {
	weft_chan *from[PRIMES];
	int head[PRIMES], n;
};

/* Whether n is the next multiple of some prime; all such are taken. */
static bool
is_multiple(struct heads *h, int n)
{
	bool found = false;

	for (int i = 0; i < h->n; i++) {
		if (h->head[i] != n)
			continue;
		found = true;
		h->head[i] = weft_recv(h->from[i], int);
	}
	return found;
}

static void
multiples_sieve(size_t cap)
{
	static struct heads h;
	weft_chan *stop = weft_chan_make(0, 0);
	int n = 2;

	for (h.n = 0; h.n < PRIMES; n++) {
		if (is_multiple(&h, n))
			continue;
		EQ(n, primes[h.n]);
		h.from[h.n] = weft_chan_make(sizeof(int), cap);
		OK(weft_try_go(multiples, h.from[h.n], stop, n) > 0);
		h.head[h.n] = weft_recv(h.from[h.n], int);
		h.n++;
	}
	weft_chan_close(stop);
	while (weft_goroutines() > 1)
		weft_yield();
	for (int i = 0; i < PRIMES; i++)
		weft_chan_release(h.from[i]);
	weft_chan_release(stop);
}

GTEST(multiples_sieve_on_1, 1) { multiples_sieve(0); }
GTEST(multiples_sieve_on_2, 2) { multiples_sieve(0); multiples_sieve(3); }
GTEST(multiples_sieve_on_8, 8) { multiples_sieve(0); multiples_sieve(3); }

/* ---- a long chain ---- */

static void
add_one(weft_chan *left, weft_chan *right)
{
	int n = weft_recv(right, int);

	weft_send(left, n + 1);
}

static void
daisy_chain(int n)
{
	weft_chan **c = malloc(((size_t)n + 1) * sizeof *c);

	for (int i = 0; i <= n; i++)
		c[i] = weft_chan_make(sizeof(int), 0);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(add_one, c[i], c[i + 1]) > 0);
	weft_send(c[n], 1);
	EQ(weft_recv(c[0], int), 1 + n);
	while (weft_goroutines() > 1)
		weft_yield();
	for (int i = 0; i <= n; i++)
		weft_chan_release(c[i]);
	free(c);
}

GTEST(daisy_chain_on_1, 1) { daisy_chain((int)t_scale(10000)); }
GTEST(daisy_chain_on_4, 4) { daisy_chain((int)t_scale(10000)); }

/* ---- a token ring ---- */

static void
pass_on(weft_chan *in, weft_chan *out, weft_chan *end)
{
	int n;

	while (weft_recv_ok(in, &n)) {
		if (n == 0) {
			weft_send(end, 1);
			return;
		}
		weft_send(out, n - 1);
	}
	weft_send(end, 0);
}

static void
ring(size_t cap, int laps)
{
	enum { N = 100 };
	weft_chan *c[N], *end = weft_chan_make(sizeof(int), 0);
	int dropped = 0;

	for (int i = 0; i < N; i++)
		c[i] = weft_chan_make(sizeof(int), cap);
	for (int i = 0; i < N; i++)
		OK(weft_try_go(pass_on, c[i], c[(i + 1) % N], end) > 0);
	weft_send(c[0], N * laps + 17);
	EQ(weft_recv(end, int), 1);
	for (int i = 0; i < N; i++)
		weft_chan_close(c[i]);
	for (int i = 1; i < N; i++)
		dropped += weft_recv(end, int);
	EQ(dropped, 0);
	while (weft_goroutines() > 1)
		weft_yield();
	for (int i = 0; i < N; i++)
		weft_chan_release(c[i]);
	weft_chan_release(end);
}

GTEST(token_ring, 1) { ring(0, (int)t_scale(100)); }
GTEST(token_ring_on_4, 4) { ring(0, (int)t_scale(100)); ring(1, 10); }

/* ---- trees ---- */

/* The sum of 0 .. 2^depth - 1, each leaf a goroutine. */
static void
tree_sum(weft_chan *up, int depth, int64_t index)
{
	weft_chan *c;
	int64_t sum;

	if (depth == 0) {
		weft_send(up, index);
		return;
	}
	c = weft_chan_make(sizeof(int64_t), 0);
	weft_go(tree_sum, c, depth - 1, index * 2);
	weft_go(tree_sum, c, depth - 1, index * 2 + 1);
	sum = weft_recv(c, int64_t);
	sum += weft_recv(c, int64_t);
	weft_chan_release(c);
	weft_send(up, sum);
}

static void
tree(int depth)
{
	weft_chan *c = weft_chan_make(sizeof(int64_t), 0);
	int64_t n = INT64_C(1) << depth;

	OK(weft_try_go(tree_sum, c, depth, INT64_C(0)) > 0);
	EQ(weft_recv(c, int64_t), n * (n - 1) / 2);
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(c);
}

GTEST(tree_on_1, 1) { tree(t_scale(2) == 2 ? 13 : 10); }
GTEST(tree_on_4, 4) { tree(t_scale(2) == 2 ? 13 : 10); }

/* Hands out the numbers of a range in order, by recursion. */
static void
walk(weft_chan *c, int from, int to)
{
	if (from >= to)
		return;
	walk(c, from, (from + to) / 2);
	weft_send(c, (from + to) / 2);
	walk(c, (from + to) / 2 + 1, to);
}

static void
walker(weft_chan *c, int from, int to)
{
	walk(c, from, to);
	weft_chan_close(c);
}

GTEST(two_walks_in_step, 2)
{
	weft_chan *a = weft_chan_make(sizeof(int), 0);
	weft_chan *b = weft_chan_make(sizeof(int), 3);
	int n = (int)t_scale(10000);

	OK(weft_try_go(walker, a, 0, n) > 0);
	OK(weft_try_go(walker, b, 0, n) > 0);
	for (int i = 0; i < n; i++) {
		EQ(weft_recv(a, int), i);
		EQ(weft_recv(b, int), i);
	}
	OK(!weft_recv_ok(a, &n));
	OK(!weft_recv_ok(b, &n));
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(a);
	weft_chan_release(b);
}

/* ---- numbers of the form 2^i 3^j 5^k, in order, made of themselves ---- */

static void
times(weft_chan *in, weft_chan *out, int factor)
{
	int64_t n;

	while (weft_recv_ok(in, &n))
		weft_send(out, n * factor);
}

GTEST(smooth_numbers, 2)
{
	static const int64_t want[] = {
		1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 27, 30,
		32, 36, 40, 45, 48, 50, 54, 60, 64, 72, 75, 80, 81, 90, 96, 100
	};
	enum { N = sizeof want / sizeof *want };
	static const int factor[] = { 2, 3, 5 };
	weft_chan *in[3], *out[3];
	int64_t head[3], n = 1;

	for (int i = 0; i < 3; i++) {
		in[i] = weft_chan_make(sizeof(int64_t), N);
		out[i] = weft_chan_make(sizeof(int64_t), 0);
		OK(weft_try_go(times, in[i], out[i], factor[i]) > 0);
		head[i] = 0;
	}
	for (int k = 0; k < N; k++) {
		EQ(n, want[k]);
		for (int i = 0; i < 3; i++)
			weft_send(in[i], n);
		for (int i = 0; i < 3; i++)
			if (head[i] <= n)
				head[i] = weft_recv(out[i], int64_t);
		n = head[0] < head[1] ? head[0] : head[1];
		n = n < head[2] ? n : head[2];
	}
}

/* ---- rendezvous, in every order ---- */

struct party {
	weft_chan *c;
	int n;
	bool sent;
};

static void
arrive(struct party *p)
{
	weft_send(p->c, p->n);
	__atomic_store_n(&p->sent, true, __ATOMIC_RELEASE);
}

/* A hundred wait to send; they are met in an order that is none of theirs. */
static void
meet_all(int step)
{
	enum { N = 100 };
	struct party p[N] = {0};

	for (int i = 0; i < N; i++) {
		p[i] = (struct party){ weft_chan_make(4, 0), i, false };
		OK(weft_try_go(arrive, &p[i]) > 0);
	}
	for (int i = 0, at = step / 2; i < N; i++, at = (at + step) % N) {
		OK(!__atomic_load_n(&p[at].sent, __ATOMIC_ACQUIRE));
		EQ(weft_recv(p[at].c, int), at);
		while (!__atomic_load_n(&p[at].sent, __ATOMIC_ACQUIRE))
			weft_yield();
	}
	for (int i = 0; i < N; i++)
		weft_chan_release(p[i].c);
}

static void
meetings(void)
{
	/* the steps have no factor in common with 100 */
	for (int step = 1; step < 100; step += 2)
		if (step % 5)
			meet_all(step);
}

GTEST(rendezvous_in_any_order, 1) { meetings(); }
GTEST(rendezvous_in_any_order_on_4, 4) { meetings(); }

/* Each waits for the one before it: the order is that of the chain. */
static void
link_up(weft_chan *in, weft_chan *out, int n, int *turn)
{
	EQ(weft_recv(in, int), n);
	EQ(++*turn, n + 1);
	weft_send(out, n + 1);
}

static void
one_after_another(void)
{
	weft_chan *c[101];
	int turn = 0;

	for (int i = 0; i <= 100; i++)
		c[i] = weft_chan_make(sizeof(int), i % 2);
	for (int i = 99; i >= 0; i--)
		OK(weft_try_go(link_up, c[i], c[i + 1], i, &turn) > 0);
	weft_send(c[0], 0);
	EQ(weft_recv(c[100], int), 100);
	EQ(turn, 100);
	while (weft_goroutines() > 1)
		weft_yield();
	for (int i = 0; i <= 100; i++)
		weft_chan_release(c[i]);
}

GTEST(links_follow_each_other, 4)
{
	for (long i = t_scale(50); i > 0; i--)
		one_after_another();
}

/* ---- a counting lock made of a channel ---- */

struct lock {
	weft_chan *slots;
	weft_waitgroup ended;
	int inside, most, plain;
};

static void
critical(struct lock *l, int each)
{
	for (int i = 0; i < each; i++) {
		int n;

		weft_chan_send(l->slots, NULL);
		n = __atomic_add_fetch(&l->inside, 1, __ATOMIC_RELAXED);
		OK(n <= (int)weft_chan_cap(l->slots));
		if (weft_chan_cap(l->slots) == 1)
			l->plain++;
		weft_yield();
		__atomic_sub_fetch(&l->inside, 1, __ATOMIC_RELAXED);
		weft_chan_recv(l->slots, NULL);
	}
	weft_waitgroup_done(&l->ended);
}

/* With one slot it is a mutex, for plain data too. */
GTEST(slots, 4)
{
	for (size_t cap = 1; cap < 5; cap++) {
		struct lock l = { .slots = weft_chan_make(0, cap) };
		int each = (int)t_scale(500);

		weft_waitgroup_add(&l.ended, 20);
		for (int i = 0; i < 20; i++)
			OK(weft_try_go(critical, &l, each) > 0);
		weft_waitgroup_wait(&l.ended);
		EQ(l.inside, 0);
		EQ(l.plain, cap == 1 ? 20 * each : 0);
		EQ(weft_chan_len(l.slots), 0);
		weft_chan_release(l.slots);
	}
}

/* ---- 23 workers ---- */

struct pool {
	weft_chan *in, *out;
	int left;
};

static void
worker(struct pool *p)
{
	int n;

	while (weft_recv_ok(p->in, &n)) {
		/* some take longer */
		if (n % 7 == 0)
			weft_yield();
		weft_send(p->out, n);
	}
	if (__atomic_sub_fetch(&p->left, 1, __ATOMIC_ACQ_REL) == 0)
		weft_chan_close(p->out);
}

static void
feed(struct pool *p, int n)
{
	for (int i = 1; i <= n; i++)
		weft_send(p->in, i);
	weft_chan_close(p->in);
}

static void
pool(size_t in, size_t out)
{
	struct pool p = {
		weft_chan_make(sizeof(int), in),
		weft_chan_make(sizeof(int), out), 23
	};
	int64_t sum = 0, count = 0, n = t_scale(271828);
	int v;

	for (int i = 0; i < 23; i++)
		OK(weft_try_go(worker, &p) > 0);
	OK(weft_try_go(feed, &p, (int)n) > 0);
	while (weft_recv_ok(p.out, &v)) {
		sum += v;
		count++;
	}
	EQ(count, n);
	EQ(sum, n * (n + 1) / 2);
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(p.in);
	weft_chan_release(p.out);
}

GTEST(workers_on_1, 1) { pool(10, 10); }
GTEST(workers_on_2, 2) { pool(10, 10); }
GTEST(workers_on_4, 4) { pool(0, 0); }
GTEST(workers_on_8, 8) { pool(1, 100); }
