/* SPDX-License-Identifier: MIT */
/*
 * Connections that are read and written in all ways at once, in both
 * directions, while deadlines come and go and other goroutines close, halve or
 * reset them at any moment. What was read is what was written, and all calls
 * come to an end: a wake-up that is lost is seen as a test out of time.
 *
 * In rounds, since a number that is closed while others still use it must not
 * be given to another user meanwhile. T_SECONDS runs it for longer; WEFT_SEED.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <pthread.h>
#include <sys/uio.h>

#include "connection.h"
#include "plain_thread.h"
#include "run_env.h"

enum { CONNS = 8, PIECE = 3000 };

enum { READ, READV, RECV, WAIT, POLL, FULL, BEGIN, WAYS };

/* One direction of a connection; the two goroutines of it share this. */
struct stream {
	int in, out;		/* written, read */
	uint64_t to, from;	/* bytes so far, of the writer, the reader */
	unsigned seed, write_seed;
	int end;		/* how the reading ended */
	/* in, out was closed, or soon is: then the runtime may have a file of
	 * that number for a moment */
	const long *in_gone, *out_gone;
};

struct conn {
	int fd[2];
	struct stream way[2];
	long gone[2];
	int64_t limit;		/* bytes to write */
};

static struct conn conns[CONNS];
static weft_waitgroup busy;
static long stop, rounds;
static int64_t bytes;

static unsigned
dice(unsigned *seed, unsigned n)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 8) % n;
}

/* Is that an end that a goroutine of the test may have caused? */
static bool
is_end(ssize_t r)
{
	return r == 0 || r == -EBADF || r == -ECONNRESET || r == -EPIPE;
}

/* ---- reading ---- */

static ssize_t
poll_and_read(int fd, unsigned char *buf, size_t n, unsigned *seed)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t when = dice(seed, 2) ? WEFT_NEVER :
	    weft_deadline(dice(seed, 200) * WEFT_US);
	int r = weft_poll(&p, 1, when);

	if (r == 0)
		return -ETIMEDOUT;
	EQ(r, 1);
	return weft_read(fd, buf, n);
}

static ssize_t
read_some(struct stream *s, int way, unsigned char *buf, size_t n)
{
	struct iovec v[2] = { { buf, n / 2 }, { buf + n / 2, n - n / 2 } };
	size_t done = 0;
	ssize_t r;

	switch (way) {
	case READV: return weft_readv(s->out, v, 2);
	case RECV: return weft_sock_recv(s->out, buf, n, 0);
	case WAIT:
		r = weft_wait_readable(s->out);
		return r < 0 ? r : weft_read(s->out, buf, n);
	case POLL: return poll_and_read(s->out, buf, n, &s->seed);
	case FULL:
		r = weft_read_full(s->out, buf, n % 64 + 1, &done);
		return done > 0 ? (ssize_t)done : r;
	default: return weft_read(s->out, buf, n);
	}
}

static void reads(struct stream *s);

/* True if a new goroutine goes on, when there is something. */
static bool
begin_anew(struct stream *s)
{
	int64_t r = weft_go_readable(s->out, reads, s);

	if (r <= 0 && !(r == -EPERM && get(s->out_gone)))
		EQ(r, -EBADF);
	return r > 0;
}

static void
reads(struct stream *s)
{
	unsigned char buf[PIECE];
	ssize_t r = 1;

	while (!is_end(r)) {
		int way = (int)dice(&s->seed, WAYS);

		if (way == BEGIN && begin_anew(s))
			return;
		r = read_some(s, way, buf, dice(&s->seed, PIECE) + 1);
		if (get(s->out_gone))
			r = -EBADF;
		if (r > 0) {
			EQ(check_wave(buf, (size_t)r, s->from), r);
			s->from += (uint64_t)r;
		} else if (r == -ETIMEDOUT) {
			/* EBADF is seen by reading. */
			weft_set_read_deadline(s->out, dice(&s->seed, 2) ?
			    WEFT_NEVER : weft_deadline(dice(&s->seed, 200) *
			    WEFT_US));
		} else if (!is_end(r)) {
			EQ(r, 0);
			break;
		}
	}
	s->end = (int)r;
	weft_waitgroup_done(&busy);
}

PLAIN_THREAD(thread_reads, reads(arg))

/* ---- writing ---- */

static ssize_t
write_some(struct stream *s, const unsigned char *buf, size_t n)
{
	struct iovec v[2] = { { (void *)(uintptr_t)buf, n / 2 },
		{ (void *)(uintptr_t)(buf + n / 2), n - n / 2 } };
	size_t done = 0;
	ssize_t r;

	switch (dice(&s->write_seed, 5)) {
	case 0: return weft_writev(s->in, v, 2);
	case 1: return weft_sock_send(s->in, buf, n, 0);
	case 2:
		r = weft_wait_writable(s->in);
		return r < 0 ? r : weft_write(s->in, buf, n);
	case 3:
		r = weft_write_full(s->in, buf, n, &done);
		return done > 0 ? (ssize_t)done : r;
	default: return weft_write(s->in, buf, n);
	}
}

static void
writes(struct stream *s, int64_t limit)
{
	unsigned char buf[PIECE];
	unsigned seed = s->write_seed * 7 + 1;
	ssize_t r = 1;

	while (!is_end(r) && (int64_t)s->to < limit) {
		size_t n = dice(&seed, PIECE) + 1;

		fill_wave(buf, n, s->to);
		r = write_some(s, buf, n);
		if (get(s->in_gone))
			r = -EBADF;
		if (r > 0)
			s->to += (uint64_t)r;
		else if (r == -ETIMEDOUT)
			weft_set_write_deadline(s->in, dice(&seed, 2) ?
			    WEFT_NEVER :
			    weft_deadline(dice(&seed, 200) * WEFT_US));
		else if (!is_end(r)) {
			EQ(r, 0);
			break;
		}
		if (dice(&seed, 50) == 0)
			weft_sleep(dice(&seed, 100) * WEFT_US);
	}
	/* Its reader comes to an end, too. */
	weft_shutdown(s->in, SHUT_WR);
	weft_waitgroup_done(&busy);
}

/* ---- goroutines that interfere ---- */

static void
set_some_deadline(int fd, unsigned *seed)
{
	int64_t when = dice(seed, 3) ? weft_deadline(dice(seed,
	    500) * WEFT_US) :
	    WEFT_NEVER;
	int r = dice(seed, 2) ? weft_set_read_deadline(fd, when) :
	    dice(seed, 2) ? weft_set_write_deadline(fd, when) :
	    weft_set_deadline(fd, when);

	EQ(r, 0);
}

/*
 * Some deadlines, and then maybe an end. Bits of the result: which of the two
 * it has closed, and whether it cut something off.
 */
enum { CUT = 4 };

static int
meddle(struct conn *c, unsigned *seed)
{
	int which = (int)dice(seed, 2), fd = c->fd[which];

	for (unsigned i = dice(seed, 20); i > 0; i--) {
		set_some_deadline(c->fd[dice(seed, 2)], seed);
		if (dice(seed, 2))
			weft_sleep(dice(seed, 100) * WEFT_US);
		else
			weft_yield();
	}
	switch (dice(seed, 6)) {
	case 0:
		weft_shutdown(fd, SHUT_RDWR);
		return CUT;
	case 1:
		weft_shutdown(fd, SHUT_WR);
		return CUT;
	case 2:
		make_rude(fd);
		/* fallthrough */
	case 3:
		bump(&c->gone[which]);
		EQ(weft_close(fd), 0);
		return CUT | 1 << which;
	default:
		return 0;
	}
}

/* ---- rounds ---- */

static void
open_conn(struct conn *c, unsigned *seed)
{
	(dice(seed, 2) ? tcp_pair : unix_pair)(c->fd);
	for (int i = 0; i < 2; i++) {
		if (dice(seed, 2))
			make_narrow(c->fd[i]);
		if (dice(seed, 2))
			NEED(fcntl(c->fd[i], F_SETFL, O_NONBLOCK));
	}
	c->limit = dice(seed, 2) ? dice(seed, 300000) : dice(seed, 3000);
	for (int i = 0; i < 2; i++)
		c->way[i] = (struct stream){ c->fd[i], c->fd[!i], 0, 0,
			dice(seed, 1u << 20), dice(seed, 1u << 20), 1,
			&c->gone[i], &c->gone[!i] };
	c->gone[0] = c->gone[1] = 0;
}

/*
 * A thread's blocking calls take part, too. All of it is started after all
 * have been opened.
 */
static void
run_conn(struct conn *c, pthread_t *t)
{
	weft_waitgroup_add(&busy, 4);
	for (int i = 0; i < 2; i++) {
		struct stream *s = &c->way[i];

		if (t && i == 0)
			NEED(-pthread_create(t, NULL, thread_reads, s));
		else if (s->seed % 2 || !begin_anew(s))
			OK(weft_try_go(reads, s) > 0);
		OK(weft_try_go(writes, s, c->limit) > 0);
	}
}

static void
meddles(struct conn *c, unsigned seed, int *how)
{
	*how = meddle(c, &seed);
	weft_waitgroup_done(&busy);
}

static void
settle_conn(struct conn *c, int how)
{
	for (int i = 0; i < 2; i++) {
		struct stream *s = &c->way[i];

		/* The writer was not told of its last piece. */
		OK(s->from <= s->to + (how & 1 << i ? PIECE : 0));
		if (!(how & CUT)) {
			OK((int64_t)s->to >= c->limit);
			EQ(s->from, s->to);
			EQ(s->end, 0);
		}
		bytes += (int64_t)s->from;
		if (!(how & 1 << i))
			EQ(weft_close(c->fd[i]), 0);
	}
}

static void
one_round(unsigned *seed, bool with_thread)
{
	int how[CONNS] = {0};
	pthread_t t;

	for (int i = 0; i < CONNS; i++)
		open_conn(&conns[i], seed);
	for (int i = 0; i < CONNS; i++)
		run_conn(&conns[i], with_thread && i == 0 ? &t : NULL);
	weft_waitgroup_add(&busy, CONNS);
	for (int i = 0; i < CONNS; i++)
		OK(weft_try_go(meddles, &conns[i], dice(seed, 1u << 20),
		    &how[i]) > 0);
	weft_waitgroup_wait(&busy);
	if (with_thread)
		pthread_join(t, NULL);
	for (int i = 0; i < CONNS; i++)
		settle_conn(&conns[i], how[i]);
	rounds++;
}

static void
storm(bool with_thread)
{
	unsigned seed = (unsigned)from_env("WEFT_SEED", getpid());
	int fds;

	printf("# WEFT_SEED=%u\n", seed);
	fflush(stdout);
	one_round(&seed, with_thread);
	fds = count_fds();
	while (t_more(1))
		one_round(&seed, with_thread);
	/* fewer, if one was just being closed by its last user before */
	OK(count_fds() <= fds);
	while (weft_goroutines() > 1)
		weft_yield();
	EQ(io_now().open, 0);
	EQ(io_now().waiting, 0);
	printf("# %ld rounds, %lld bytes\n", rounds, (long long)bytes);
	fflush(stdout);
}

GTEST(on_1, 1) { storm(false); }
GTEST(on_2, 2) { storm(false); }
GTEST(on_8, 8) { storm(false); }
GTEST(with_a_thread, 2) { storm(true); }
ETEST(in_short_slices, 4, "WEFT_SLICE_US=50") { storm(false); }
ETEST(migrating, 2, "WEFT_MIGRATE=1") { storm(true); }

/* ---- and others that never sleep ---- */

static weft_waitgroup load;

static void
resizes(void)
{
	for (int i = 0; !get(&stop); i++) {
		OK(weft_set_procs(1 + i % 5) > 0);
		weft_sleep(200 * WEFT_US);
	}
	weft_waitgroup_done(&load);
}

static void
hogs(void)
{
	compute(&stop);
	weft_waitgroup_done(&load);
}

/* weft_goroutines is not asked: the load is there to the end. */
static void
loaded(void (*with)(void), int n)
{
	unsigned seed = (unsigned)from_env("WEFT_SEED", getpid());

	weft_waitgroup_add(&load, n);
	for (int i = 0; i < n; i++)
		weft_go(with);
	while (t_more(1))
		one_round(&seed, false);
	bump(&stop);
	weft_waitgroup_wait(&load);
	EQ(io_now().open, 0);
	printf("# %ld rounds, %lld bytes\n", rounds, (long long)bytes);
	fflush(stdout);
}

GTEST(resized, 2) { loaded(resizes, 1); }
GTEST(hogged, 2) { loaded(hogs, 3); }
