/* SPDX-License-Identifier: MIT */
/*
 * Dialling, as Happy Eyeballs (RFC 8305): the first address gets a head start;
 * then the next is tried in parallel, and so on; a failure starts the next
 * attempt at once. The first attempt that is connected wins.
 *
 * An attempt is a goroutine that only connects and reports. The caller owns all
 * descriptors, makes all decisions, and waits for reports, the next start, the
 * time and the context in one select. In the end it ends the waits of the
 * attempts that are pending and receives their reports: then no goroutine has
 * a pointer to the dial, which is on the caller's stack. Only after that it
 * closes their descriptors: an attempt that has not begun yet would connect
 * whatever has its number by then. The waits are ended by a deadline in the
 * past, which also holds for an attempt that begins later.
 *
 * With one address and no context nothing happens in parallel: the caller
 * connects itself, with the descriptor's deadline. So it does on a thread
 * without a runtime, where there are no goroutines; then addresses are tried
 * one after the other, and the context is checked in between.
 *
 * Rejected: to wait for all descriptors with one poll, and no goroutines. The
 * delays, the order and the reports of each attempt would be a state machine
 * of their own.
 */
#define _GNU_SOURCE 1
#include "dial.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "desc.h"
#include "hard.h"
#include "netcall.h"
#include "options.h"
#include "tcp_options.h"
#include "tsan_io.h"

enum {
	/* more addresses of a name are not tried */
	MOST = 64,
	BIND_NO_PORT = 24	/* IP_BIND_ADDRESS_NO_PORT */
};

#define HEAD_START (250 * WEFT_MS)

struct dial {
	/* constant */
	const weft_address *to;
	size_t n;
	const struct found *from;	/* or NULL */
	const weft_dial_options *opt;
	const struct dial_deadline *limit;
	int64_t head_start;	/* WEFT_NEVER: one after the other */
	bool here;		/* the caller connects: no goroutines */
	weft_chan *reports;	/* struct report, with room for all */

	/* the caller only; a goroutine reads its own */
	int fd[MOST];		/* -1: not begun, or failed */
	size_t begun;		/* of to[] */
	size_t pending;
	int64_t next;		/* when the next may begin */
	int won;		/* the connected descriptor, or -1 */
	int error;		/* why the first of those that failed did */
	size_t failed;		/* which that is */
};

struct report {
	uint32_t which;
	int error;
};

/* ---- sockets ---- */

/*
 * Binds to the address of that family. Without a port the kernel chooses one at
 * connect, from more that are free for that peer; with a port, it may still be
 * in TIME_WAIT of an older connection.
 */
static int
bind_from(int fd, const struct found *from, int family)
{
	for (size_t i = 0; i < from->n; i++) {
		const weft_address *a = &from->at[i];

		if (a->family != family)
			continue;
		if (address_port(address_get(a)) == 0)
			net_set(fd, IPPROTO_IP, BIND_NO_PORT, 1);
		else if (a->type == SOCK_STREAM && family != AF_UNIX)
			net_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		return net_bind(fd, a);
	}
	return -EADDRNOTAVAIL;
}

static int
prepare(struct dial *d, int fd, const weft_address *to)
{
	int err = 0;

	if (to->protocol == IPPROTO_TCP)
		err = netopt_tcp(fd, d->opt->delay, d->opt->keepalive);
	if (!err && d->from)
		err = bind_from(fd, d->from, to->family);
	return err;
}

/* A socket for that address, or -errno. */
static int
make_socket(struct dial *d, const weft_address *to)
{
	int fd = net_socket(to->family, to->type, to->protocol);
	int err;

	if (fd < 0)
		return fd;
	err = prepare(d, fd, to);
	if (err) {
		fd_close(fd);
		return err;
	}
	if (to->type == SOCK_STREAM && to->protocol == IPPROTO_TCP)
		desc_new_tcp(fd);
	else
		desc_new_fd(fd);
	return fd;
}

bool
dial_self_connected(int fd, const weft_address *to)
{
	weft_address own;

	if (to->protocol != IPPROTO_TCP)
		return false;
	return net_name(fd, &own) == 0 && address_same(&own, to);
}

/* ---- attempts ---- */

static void
connect_goroutine(struct dial *d, uint32_t which)
{
	const weft_address *to = &d->to[which];
	struct report r = { which, 0 };

	r.error = weft_connect(d->fd[which], address_get(to), to->len);
	hard_pause();
	/* After the last report d does not exist any more. */
	weft_chan_send(d->reports, &r);
}

static int
connect_inline(struct dial *d, int fd, const weft_address *to)
{
	bool timed = d->limit->until != WEFT_NEVER;
	int err = 0;

	if (timed)
		err = weft_set_write_deadline(fd, d->limit->until);
	if (!err)
		err = weft_connect(fd, address_get(to), to->len);
	if (!err && timed)
		weft_set_write_deadline(fd, WEFT_NEVER);
	return err;
}

static void
fail(struct dial *d, size_t which, int error)
{
	if (d->error == 0 || which < d->failed) {
		d->error = error;
		d->failed = which;
	}
	d->next = 0;
}

/* An attempt is over, and not pending any more. */
static void
attempt_done(struct dial *d, size_t which, int error)
{
	int fd = d->fd[which];

	d->fd[which] = -1;
	if (!error && !d->from && dial_self_connected(fd, &d->to[which]))
		error = -ECONNREFUSED;
	if (!error && d->won < 0) {
		d->won = fd;
		return;
	}
	weft_close(fd);
	if (error)
		fail(d, which, error);
}

static void
begin(struct dial *d)
{
	uint32_t which = (uint32_t)d->begun++;
	const weft_address *to = &d->to[which];
	int64_t started;
	int fd = make_socket(d, to);

	d->next = d->head_start == WEFT_NEVER ? WEFT_NEVER :
	    weft_deadline(d->head_start);
	if (fd < 0) {
		fail(d, which, fd);
		return;
	}
	d->fd[which] = fd;
	if (d->here) {
		attempt_done(d, which, connect_inline(d, fd, to));
		return;
	}
	started = weft_try_go_opt(WEFT_OPT(.name = "dial"), connect_goroutine,
	    d, which);
	if (started < 0)
		attempt_done(d, which, (int)started);
	else
		d->pending++;
}

/* ---- the race ---- */

/* Waits for a report, or for the next start; or ends with -errno. */
static int
wait_report(struct dial *d)
{
	int64_t when = d->begun < d->n ? d->next : WEFT_NEVER;
	bool first = when < d->limit->until;
	struct report r;
	int err = dial_deadline_select(d->limit, WEFT_CASE_RECV(d->reports, &r),
	    first ? when : d->limit->until);

	if (err == -ETIMEDOUT && first)
		return dial_deadline_error(d->limit);
	if (err)
		return err;
	d->pending--;
	attempt_done(d, r.which, r.error);
	return 0;
}

/* Ends all other attempts, and closes their descriptors. */
static void
cancel_pending(struct dial *d)
{
	struct report r;

	for (size_t i = 0; i < d->begun; i++)
		if (d->fd[i] >= 0)
			weft_set_write_deadline(d->fd[i], weft_now());
	for (; d->pending > 0; d->pending--) {
		weft_chan_recv(d->reports, &r);
		weft_close(d->fd[r.which]);
	}
}

static int
run(struct dial *d)
{
	int err = 0;

	while (!err && d->won < 0 && (d->begun < d->n || d->pending > 0)) {
		if (d->begun < d->n &&
		    (d->pending == 0 || d->next <= weft_now())) {
			err = dial_deadline_error(d->limit);
			if (!err)
				begin(d);
		} else {
			err = wait_report(d);
		}
	}
	cancel_pending(d);
	if (d->won >= 0)
		return d->won;
	return err ? err : d->error;
}

int
dial_any(const struct found *to, const struct found *from,
    const weft_dial_options *opt, const struct dial_deadline *limit)
{
	struct dial d = {
		.to = to->at, .n = to->n < MOST ? to->n : MOST, .from = from,
		.opt = opt, .limit = limit, .won = -1
	};
	int r;

	d.head_start = opt->head_start > 0 ? opt->head_start :
	    opt->head_start < 0 ? WEFT_NEVER : HEAD_START;
	d.here = weft_procs() == 0 || (d.n == 1 && !limit->context);
	for (size_t i = 0; i < d.n; i++)
		d.fd[i] = -1;
	if (!d.here)
		d.reports = weft_chan_make(sizeof(struct report), d.n);
	if (!d.here && !d.reports)
		return -ENOMEM;
	r = run(&d);
	weft_chan_release(d.reports);
	return r;
}

public int
weft_dial_opt(const char *network, const char *address,
    const weft_dial_options *opt, size_t size)
{
	weft_dial_options o;
	struct dial_deadline limit;
	struct found *to = NULL, *from = NULL;
	int r = options_copy(&o, sizeof o, opt, size);

	if (r)
		return r;
	tsan_io_release();
	limit = dial_deadline_of(&o);
	r = resolve(network, address, false, &limit, &to);
	if (r == 0 && o.local)
		r = resolve(network, o.local, true, &limit, &from);
	if (r == 0)
		r = dial_any(to, from, &o, &limit);
	free(from);
	free(to);
	return r;
}

public int
weft_dial(const char *network, const char *address)
{
	return weft_dial_opt(network, address, NULL, 0);
}
