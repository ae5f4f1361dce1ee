/* SPDX-License-Identifier: MIT */
/*
 * poll, select and epoll_wait in all their forms, and sleeps, through the
 * hooks, with bad input: the results are the system's. See bad_input.h for how
 * to read the table.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include "bad_input.h"

enum { ALL_EVENTS = POLLIN | POLLPRI | POLLOUT | POLLRDHUP | POLLRDNORM |
	POLLWRNORM };

/* ---- poll ---- */

/* n entries, each the same; revents have something in them before. */
static struct pollfd *
entries(struct in *in, int fd, int events)
{
	for (int i = 0; i < 4; i++)
		in->fds[i] = (struct pollfd){ fd, (short)events, 0x55 };
	return in->fds;
}

static void
note_entries(struct in *in)
{
	for (int i = 0; i < 4; i++)
		note(in, in->fds[i].revents);
}

#define POLL(k, id, call)						\
	CASE_BODY(k, id)						\
	{								\
		int fd = in->fd;					\
		long r;							\
									\
		(void)fd;						\
		r = in->c->call;					\
		note_entries(in);					\
		return r;						\
	}

/* On each kind, with all events, and with none. */
static long
poll_all(struct in *in)
{
	long r = in->c->poll(entries(in, in->fd, ALL_EVENTS), 2, 0);

	note_entries(in);
	return r;
}

static long
poll_none(struct in *in)
{
	long r = in->c->poll(entries(in, in->fd, 0), 1, 0);

	note_entries(in);
	return r;
}

/* With a limit: whether it waits depends on the kind. */
static long
ppoll_writable(struct in *in)
{
	struct timespec ts = { 0, 1000000 };
	long r = in->c->ppoll(entries(in, in->fd, POLLIN | POLLOUT), 1, &ts,
	    NULL);

	note(in, ts.tv_sec);
	note(in, ts.tv_nsec);
	note_entries(in);
	return r;
}

/* The same of the number that a set has a bit for. */
static long
select_all(struct in *in)
{
	struct timeval tv = { 0, 0 };
	bool fits = in->fd >= 0 && in->fd < FD_SETSIZE;
	long r;

	for (int i = 0; i < 3 && fits; i++)
		FD_SET(in->fd, &in->sets[i].set);
	r = in->c->select(fits ? in->fd + 1 : in->fd, &in->sets[0].set,
	    &in->sets[1].set, &in->sets[2].set, &tv);
	for (int i = 0; i < 3 && fits; i++)
		note(in, FD_ISSET(in->fd, &in->sets[i].set) != 0);
	return r;
}

static long
pselect_readable(struct in *in)
{
	struct timespec ts = { 0, 1000000 };
	bool fits = in->fd >= 0 && in->fd < FD_SETSIZE;
	long r;

	if (fits)
		FD_SET(in->fd, &in->sets[0].set);
	r = in->c->pselect(fits ? in->fd + 1 : 0, &in->sets[0].set, NULL,
	    NULL, &ts, NULL);
	if (fits)
		note(in, FD_ISSET(in->fd, &in->sets[0].set) != 0);
	note(in, ts.tv_nsec);
	return r;
}

/* The sets may not be clamped to anything: only what fits is given. */
__attribute__((constructor)) static void
register_kinds(void)
{
	for (int k = 0; k < KINDS; k++) {
		register_case("poll of all events", k, 0, poll_all);
		register_case("poll of no events", k, 0, poll_none);
		register_case("ppoll, 1 ms", k, 0, ppoll_writable);
		if (k != BEYOND)
			register_case("select", k, 0, select_all);
		register_case("pselect, 1 ms", k, 0, pselect_readable);
	}
}

CASE(MINUS_ONE, poll(NULL, 0, 0))
CASE(MINUS_ONE, poll(NULL, 1, 0))
CASE(MINUS_ONE, poll(NULL, 0, 1))
CASE(MINUS_ONE, poll((struct pollfd *)BAD, 0, 0))
CASE(STREAM_DATA, poll((struct pollfd *)BAD, 1, 0))
CASE(STREAM_DATA, poll((struct pollfd *)BAD, 1, 10))
CASE(STREAM_DATA, poll((struct pollfd *)BAD, 1, -1))
CASE(STREAM_DATA, poll((struct pollfd *)READ_ONLY, 1, 0))
CASE(STREAM_DATA, poll(in->fds, (nfds_t)-1, 0))
CASE(STREAM_DATA, poll(in->fds, INT_MAX, 0))
CASE(STREAM_DATA, poll(in->fds, INT_MAX, -1))
CASE(STREAM_DATA, poll(in->fds, UINT_MAX, 10))

POLL(STREAM_DATA, poll_forever, poll(entries(in, fd, POLLIN), 1, -1))
POLL(STREAM_DATA, poll_min, poll(entries(in, fd, POLLIN), 1, INT_MIN))
POLL(STREAM_DATA, poll_max, poll(entries(in, fd, POLLIN), 1, INT_MAX))
POLL(STREAM_DATA, poll_same_4_times, poll(entries(in, fd, POLLIN), 4, -1))
POLL(STREAM_DATA, poll_odd_events, poll(entries(in, fd, -1), 1, -1))
POLL(STREAM_EMPTY_NB, poll_nothing_to_read,
    poll(entries(in, fd, POLLIN), 2, 5))
POLL(STREAM_FULL_NB, poll_no_room, poll(entries(in, fd, POLLOUT), 2, 5))
POLL(PIPE_BROKEN, poll_broken, poll(entries(in, fd, 0), 1, -1))
POLL(PIPE_EOF, poll_no_writers, poll(entries(in, fd, 0), 1, -1))
POLL(CLOSED, poll_closed_forever, poll(entries(in, fd, POLLIN), 1, -1))
POLL(BEYOND, poll_beyond_forever, poll(entries(in, fd, 0), 1, -1))
POLL(MINUS_ONE, poll_negative, poll(entries(in, fd, POLLIN), 2, 5))
POLL(MINUS_MOST, poll_most_negative, poll(entries(in, fd, POLLIN), 2, 5))
POLL(FILE_RW, poll_file_forever,
    poll(entries(in, fd, POLLIN | POLLOUT), 1, -1))
POLL(DIRECTORY, poll_directory, poll(entries(in, fd, POLLIN), 1, -1))
POLL(UDP_REFUSED, poll_error, poll(entries(in, fd, 0), 1, -1))
POLL(TCP_NEW, poll_unconnected, poll(entries(in, fd, 0), 1, -1))
POLL(PTY_HUP, poll_hung_up, poll(entries(in, fd, 0), 1, -1))

/* A closed one, a negative one, and one that cannot be read yet. */
CASE_BODY(STREAM_EMPTY_NB, poll_closed_among_others)
{
	struct made gone = kind_make(CLOSED);
	long r;

	entries(in, in->fd, POLLIN)[1].fd = gone.fd;
	in->fds[2].fd = -7;
	r = in->c->poll(in->fds, 3, -1);
	note_entries(in);
	return r;
}

/* The end that polls is also the one that is written to. */
CASE_BODY(STREAM_DATA, poll_both_ends)
{
	long r;

	entries(in, in->fd, POLLIN)[1].fd = in->peer;
	r = in->c->poll(in->fds, 2, -1);
	note_entries(in);
	return r;
}

CASE_BODY(UDP_REFUSED, error_is_still_there_after_poll)
{
	note(in, in->c->poll(entries(in, in->fd, POLLIN), 1, -1));
	note_entries(in);
	return in->c->recv(in->fd, in->buf, 8, 0);
}

#define PPOLL_TIME(k, id, s, ns)					\
	CASE_BODY(k, id)						\
	{								\
		struct timespec ts = { s, ns };				\
		long r = in->c->ppoll(entries(in, in->fd, POLLIN), 1,	\
		    &ts, NULL);						\
									\
		note(in, ts.tv_sec);					\
		note(in, ts.tv_nsec);					\
		note_entries(in);					\
		return r;						\
	}

PPOLL_TIME(STREAM_DATA, ppoll_0, 0, 0)
PPOLL_TIME(STREAM_DATA, ppoll_negative_ns, 0, -1)
PPOLL_TIME(STREAM_DATA, ppoll_whole_second_of_ns, 0, 1000000000)
PPOLL_TIME(STREAM_DATA, ppoll_negative_seconds, -1, 0)
PPOLL_TIME(STREAM_DATA, ppoll_min, LONG_MIN, 0)
PPOLL_TIME(STREAM_DATA, ppoll_max, LONG_MAX, 999999999)
PPOLL_TIME(STREAM_EMPTY_NB, ppoll_empty_negative_ns, 0, -1)
PPOLL_TIME(STREAM_EMPTY_NB, ppoll_empty_second_of_ns, 0, 1000000000)
PPOLL_TIME(STREAM_EMPTY_NB, ppoll_empty_negative_seconds, -1, 0)
PPOLL_TIME(STREAM_EMPTY_NB, ppoll_empty_2_ms, 0, 2000000)
PPOLL_TIME(CLOSED, ppoll_closed_negative_ns, 0, -1)

CASE_BODY(STREAM_DATA, ppoll_no_limit)
{
	return in->c->ppoll(entries(in, in->fd, POLLIN), 1, NULL, NULL);
}

/* A signal that waits is let in by the mask, and ends the call. */
static long
with_mask(struct in *in, long (*call)(struct in *in, const sigset_t *mask))
{
	sigset_t pipe_only, was;
	long r;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &was);
	raise(SIGPIPE);
	r = call(in, &was);
	note(in, errno);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return r;
}

static long
ppoll_masked(struct in *in, const sigset_t *mask)
{
	return in->c->ppoll(entries(in, in->fd, POLLIN), 1, NULL, mask);
}

static long
pselect_masked(struct in *in, const sigset_t *mask)
{
	FD_SET(in->fd, &in->sets[0].set);
	return in->c->pselect(in->fd + 1, &in->sets[0].set, NULL, NULL, NULL,
	    mask);
}

CASE_BODY(STREAM_EMPTY_NB, ppoll_lets_a_signal_in)
{
	return with_mask(in, ppoll_masked);
}

CASE_BODY(STREAM_EMPTY_NB, pselect_lets_a_signal_in)
{
	return with_mask(in, pselect_masked);
}

CASE(STREAM_DATA, ppoll(in->fds, 0, &in->ts, (sigset_t *)BAD))

/* ---- select ---- */

#define SET(i) (&in->sets[i].set)

CASE(MINUS_ONE, select(0, NULL, NULL, NULL, &in->tv))
CASE(MINUS_ONE, select(-1, NULL, NULL, NULL, &in->tv))
CASE(MINUS_ONE, select(INT_MIN, NULL, NULL, NULL, &in->tv))
CASE(MINUS_ONE, select(INT_MAX, NULL, NULL, NULL, &in->tv))
CASE(MINUS_ONE, select(1024, SET(0), SET(1), SET(2), &in->tv))
CASE(MINUS_ONE, select(1025, SET(0), SET(1), SET(2), &in->tv))
CASE(MINUS_ONE, select(65536, SET(0), SET(1), SET(2), &in->tv))
CASE(MINUS_ONE, select(64, (fd_set *)BAD, NULL, NULL, &in->tv))
CASE(MINUS_ONE, select(64, NULL, (fd_set *)BAD, NULL, &in->tv))
CASE(MINUS_ONE, select(64, NULL, NULL, (fd_set *)BAD, &in->tv))
CASE(MINUS_ONE, select(0, (fd_set *)BAD, NULL, NULL, &in->tv))
CASE(MINUS_ONE, select(64, (fd_set *)READ_ONLY, NULL, NULL, &in->tv))
CASE(MINUS_ONE, pselect(-1, NULL, NULL, NULL, &in->ts, NULL))
CASE(MINUS_ONE, pselect(0, NULL, NULL, NULL, &in->ts, NULL))
CASE(MINUS_ONE, pselect(64, (fd_set *)BAD, NULL, NULL, &in->ts, NULL))

/* The bits of the sets, and the limit, afterwards. */
static void
note_sets(struct in *in, const struct timeval *tv)
{
	for (int i = 0; i < 3; i++)
		note(in, FD_ISSET(in->fd, SET(i)) != 0);
	note(in, tv->tv_sec);
	note(in, tv->tv_usec == 0);
}

#define SELECT_TIME(k, id, s, us)					\
	CASE_BODY(k, id)						\
	{								\
		struct timeval tv = { s, us };				\
		long r;							\
									\
		FD_SET(in->fd, SET(0));					\
		r = in->c->select(in->fd + 1, SET(0), NULL, NULL, &tv);	\
		note_sets(in, &tv);					\
		return r;						\
	}

SELECT_TIME(STREAM_DATA, select_0, 0, 0)
SELECT_TIME(STREAM_DATA, select_negative_us, 0, -1)
SELECT_TIME(STREAM_DATA, select_negative_seconds, -1, 0)
SELECT_TIME(STREAM_DATA, select_many_us, 0, 5000000)
SELECT_TIME(STREAM_DATA, select_long, 1000000, 999999)
SELECT_TIME(STREAM_EMPTY_NB, select_empty_0, 0, 0)
SELECT_TIME(STREAM_EMPTY_NB, select_empty_negative, -1, 0)
SELECT_TIME(STREAM_EMPTY_NB, select_empty_negative_us, 1, -1)
/* The limit has passed: nothing is left of it. */
SELECT_TIME(STREAM_EMPTY_NB, select_empty_2_ms, 0, 2000)

/* Another one in the set is closed: that is an error, and sets are kept. */
CASE_BODY(STREAM_DATA, select_closed_among_others)
{
	struct made gone = kind_make(CLOSED);
	struct timeval tv = { 5, 5 };
	long r;

	FD_SET(in->fd, SET(0));
	FD_SET(gone.fd, SET(0));
	r = in->c->select(gone.fd + 1, SET(0), NULL, NULL, &tv);
	note(in, errno);
	note(in, FD_ISSET(gone.fd, SET(0)) != 0);
	note(in, FD_ISSET(in->fd, SET(0)) != 0);
	return r;
}

/* It is beyond what is asked for. */
CASE_BODY(STREAM_EMPTY_NB, select_closed_beyond)
{
	struct made gone = kind_make(CLOSED);
	struct timeval tv = { 0, 0 };
	long r;

	FD_SET(gone.fd, SET(0));
	r = in->c->select(gone.fd, SET(0), NULL, NULL, &tv);
	note(in, FD_ISSET(gone.fd, SET(0)) != 0);
	return r;
}

CASE_BODY(STREAM_DATA, select_counts_bits)
{
	FD_SET(in->fd, SET(0));
	FD_SET(in->fd, SET(1));
	FD_SET(in->peer, SET(1));
	FD_SET(in->fd, SET(2));
	return in->c->select((in->fd > in->peer ? in->fd : in->peer) + 1,
	    SET(0), SET(1), SET(2), NULL);
}

#define PSELECT_TIME(k, id, s, ns)					\
	CASE_BODY(k, id)						\
	{								\
		struct timespec ts = { s, ns };				\
		long r;							\
									\
		FD_SET(in->fd, SET(0));					\
		r = in->c->pselect(in->fd + 1, SET(0), NULL, NULL, &ts,	\
		    NULL);						\
		note(in, FD_ISSET(in->fd, SET(0)) != 0);		\
		note(in, ts.tv_sec);					\
		note(in, ts.tv_nsec);					\
		return r;						\
	}

PSELECT_TIME(STREAM_DATA, pselect_0, 0, 0)
PSELECT_TIME(STREAM_DATA, pselect_negative_ns, 0, -1)
PSELECT_TIME(STREAM_DATA, pselect_second_of_ns, 0, 1000000000)
PSELECT_TIME(STREAM_DATA, pselect_negative_seconds, -1, 0)
PSELECT_TIME(STREAM_EMPTY_NB, pselect_empty_negative_ns, 0, -1)
PSELECT_TIME(STREAM_EMPTY_NB, pselect_empty_second_of_ns, 0, 1000000000)
PSELECT_TIME(STREAM_EMPTY_NB, pselect_empty_2_ms, 0, 2000000)

/* ---- epoll_wait ---- */

EACH(0, epoll_wait(fd, in->ev, 4, 0))
CASE(EPOLL, epoll_wait(fd, in->ev, 0, 0))
CASE(EPOLL, epoll_wait(fd, in->ev, -1, 0))
CASE(EPOLL, epoll_wait(fd, in->ev, INT_MAX, 0))
CASE(EPOLL, epoll_wait(fd, in->ev, INT_MIN, -1))
CASE(EPOLL, epoll_wait(fd, NULL, 0, -1))
CASE(EPOLL, epoll_wait(fd, in->ev, 4, 2))
CASE(CLOSED, epoll_wait(fd, NULL, -1, -1))
CASE(PIPE_DATA, epoll_wait(fd, in->ev, 4, -1))

/* One event is there: what is done with it. */
static long
epoll_event(struct in *in, struct epoll_event *out, int n, int ms)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = 7 };
	int ep = epoll_create1(0), err;
	long r;

	EQ(epoll_ctl(ep, EPOLL_CTL_ADD, in->fd, &e), 0);
	r = in->c->epoll_wait(ep, out, n, ms);
	err = errno;
	note(in, in->ev[0].events);
	note(in, (long)in->ev[0].data.u64);
	sys_close(ep);
	errno = err;
	return r;
}

CASE_BODY(STREAM_DATA, epoll_an_event)
{
	return epoll_event(in, in->ev, 4, 0);
}
CASE_BODY(STREAM_DATA, epoll_an_event_forever)
{
	return epoll_event(in, in->ev, 1, -1);
}
CASE_BODY(STREAM_DATA, epoll_an_event_min)
{
	return epoll_event(in, in->ev, 1, INT_MIN);
}
CASE_BODY(STREAM_DATA, epoll_to_bad_memory)
{
	return epoll_event(in, (struct epoll_event *)BAD, 1, -1);
}
CASE_BODY(STREAM_DATA, epoll_to_null)
{
	return epoll_event(in, NULL, 1, -1);
}
CASE_BODY(STREAM_EMPTY_NB, epoll_no_event)
{
	return epoll_event(in, in->ev, 1, 2);
}
CASE_BODY(STREAM_EMPTY_NB, epoll_no_event_0)
{
	return epoll_event(in, in->ev, 1, 0);
}

/* ---- sleeps ---- */

CASE(MINUS_ONE, nanosleep(NULL, NULL))
CASE(MINUS_ONE, nanosleep(&in->ts, NULL))
CASE(MINUS_ONE, nanosleep(&in->ts, (struct timespec *)BAD))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_MONOTONIC, 0, NULL, NULL))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_MONOTONIC, 0, &in->ts, &in->left))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_REALTIME, 0, &in->ts, &in->left))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_BOOTTIME, 0, &in->ts, &in->left))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_TAI, 0, &in->ts, &in->left))
CASE(MINUS_ONE, clock_nanosleep(-5, 0, &in->ts, NULL))
CASE(MINUS_ONE, clock_nanosleep(999, 0, &in->ts, NULL))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &in->ts, NULL))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &in->ts, NULL))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_MONOTONIC, 0x7f00, &in->ts, NULL))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &in->ts,
    NULL))
CASE(MINUS_ONE, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &in->ts,
    NULL))
CASE(MINUS_ONE, usleep(0))
CASE(MINUS_ONE, usleep(1))
CASE(MINUS_ONE, sched_yield())

#define SLEEP_TIME(id, s, ns)						\
	CASE_BODY(MINUS_ONE, nanosleep_##id)				\
	{								\
		struct timespec ts = { s, ns }, left = { 7, 7 };	\
		long r = in->c->nanosleep(&ts, &left);			\
									\
		note(in, errno);					\
		note(in, left.tv_sec);					\
		note(in, left.tv_nsec);					\
		note(in, ts.tv_nsec);					\
		return r;						\
	}								\
	CASE_BODY(MINUS_ONE, clock_nanosleep_##id)			\
	{								\
		struct timespec ts = { s, ns }, left = { 7, 7 };	\
		long r = in->c->clock_nanosleep(CLOCK_MONOTONIC, 0,	\
		    &ts, &left);					\
									\
		note(in, r);						\
		note(in, left.tv_sec);					\
		note(in, left.tv_nsec);					\
		return in->c->clock_nanosleep(CLOCK_REALTIME,		\
		    TIMER_ABSTIME, &ts, &left);				\
	}

SLEEP_TIME(negative_ns, 0, -1)
SLEEP_TIME(whole_second_of_ns, 0, 1000000000)
SLEEP_TIME(negative_seconds, -1, 0)
SLEEP_TIME(min, LONG_MIN, LONG_MIN)
SLEEP_TIME(short, 0, 1000)
SLEEP_TIME(zero, 0, 0)

CASE(MINUS_ONE, clock_nanosleep(999, 0, NULL, NULL))

/* ---- with the size of the object ---- */

POLL(STREAM_DATA, poll_chk_data,
    poll_chk(entries(in, fd, POLLIN), 2, -1, 2 * sizeof in->fds[0]))
POLL(STREAM_EMPTY_NB, poll_chk_nothing,
    poll_chk(entries(in, fd, POLLIN), 2, 2, sizeof in->fds))
POLL(STREAM_DATA, ppoll_chk_data,
    ppoll_chk(entries(in, fd, POLLIN), 2, NULL, NULL, sizeof in->fds))
POLL(CLOSED, ppoll_chk_closed,
    ppoll_chk(entries(in, fd, POLLIN), 2, &in->ts, NULL, sizeof in->fds))

DIES(poll_larger_than_the_object, 1, "buffer overflow detected")
{
	struct pollfd p[2] = { { .fd = -1 }, { .fd = -1 } };

	lib_calls.poll_chk(p, 3, 0, sizeof p);
}

DIES(ppoll_larger_than_the_object, 1, "buffer overflow detected")
{
	struct pollfd p[2] = { { .fd = -1 }, { .fd = -1 } };

	lib_calls.ppoll_chk(p, 3, NULL, NULL, sizeof p);
}
