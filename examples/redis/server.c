/* SPDX-License-Identifier: MIT */
/*
 * Connections, from accept to close. Each has a goroutine, which reads what is
 * there, runs all requests in it, sends all replies at once, and reads again.
 *
 * Its buffers are on its stack: 16 KiB for requests and for replies, of which
 * an idle connection has touched a page or two. A larger request gets memory,
 * twice as much each time it is full, out of what all such requests together
 * may have (max_input).
 *
 * Stopping: the server says so, and then makes the read deadlines of all
 * connections fire. One that waits, closes; one that is busy replies to what it
 * has read, and closes. What is left at the end is shut down.
 */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

enum {
	IN_BYTES = 16 << 10,
	FAREWELL_BYTES = 1 << 20	/* read and dropped before a close */
};

struct server {
	/* constant */
	struct redis_options options;
	struct store *store;
	int fd;
	int64_t since;
	/* any thread, atomic */
	int stopping;
	size_t input;
	/* under lock */
	weft_mutex lock;
	weft_cond changed;
	struct client *clients;
	int open;
	bool accepting;
	uint64_t connections, refused;
	uint64_t commands;	/* of clients that are gone */
};

/* What came and was not used: at[start .. end). */
struct in {
	char *at, *more;	/* `first` or `more` */
	size_t start, end, cap;
	char first[IN_BYTES];
};

static bool
is_stopping(struct server *s)
{
	return __atomic_load_n(&s->stopping, __ATOMIC_SEQ_CST);
}

/* ---- room for requests ------------------------------------------------- */

static bool
take_input(struct server *s, size_t n)
{
	if (__atomic_add_fetch(&s->input, n, __ATOMIC_RELAXED) <=
	    s->options.max_input)
		return true;
	__atomic_sub_fetch(&s->input, n, __ATOMIC_RELAXED);
	return false;
}

/* The small buffer again, which has room for all that is left. */
static void
in_shrink(struct server *s, struct in *in)
{
	if (in->more) {
		__atomic_sub_fetch(&s->input, in->cap, __ATOMIC_RELAXED);
		free(in->more);
	}
	in->more = NULL;
	in->at = in->first;
	in->cap = IN_BYTES;
}

static bool
in_grow(struct server *s, struct in *in)
{
	size_t cap = in->cap * 2;
	char *more;

	if (!take_input(s, cap))
		return false;
	more = malloc(cap);
	if (!more) {
		__atomic_sub_fetch(&s->input, cap, __ATOMIC_RELAXED);
		return false;
	}
	memcpy(more, in->at, in->end);
	in_shrink(s, in);
	in->at = in->more = more;
	in->cap = cap;
	return true;
}

/* Part of a request is left: it moves to the beginning, and there is room
 * behind it. NULL, or why not. */
static const char *
in_settle(struct client *c, struct in *in)
{
	size_t left = in->end - in->start;

	if (in->start > 0)
		memmove(in->more && left < IN_BYTES ? in->first : in->at,
		    in->at + in->start, left);
	if (in->start > 0 && in->more && left < IN_BYTES)
		in_shrink(c->server, in);
	in->start = 0;
	in->end = left;
	if (left < in->cap)
		return NULL;
	if (left >= c->server->options.max_request)
		return "too big request";
	return in_grow(c->server, in) ? NULL : "no memory for the request";
}

/* ---- a connection ------------------------------------------------------ */

/* Runs all requests that are there: NULL, or why the next one is none. */
static const char *
run_all(struct client *c, struct in *in)
{
	size_t most = c->server->options.max_request;
	const char *error = NULL;
	ssize_t n = 0;

	while (!c->quit && !c->out.error && in->start < in->end) {
		n = request_parse(&c->request, in->at + in->start,
		    in->end - in->start, most, &error);
		if (n < 0)
			return error;
		if (n == 0)
			break;
		if (c->request.n > 0)
			command_run(c);
		request_reset(&c->request);
		in->start += (size_t)n;
	}
	return NULL;
}

/* -ETIMEDOUT: idle for too long, or the server stops. */
static ssize_t
read_more(struct client *c, struct in *in)
{
	const struct redis_options *o = &c->server->options;

	if (o->idle_timeout)
		weft_set_read_deadline(c->out.fd,
		    weft_deadline(o->idle_timeout));
	/* Asked after the deadline was set, and said before it is set by
	 * server_stop: one of the two is seen. */
	if (is_stopping(c->server))
		return -ETIMEDOUT;
	return weft_sock_recv(c->out.fd, in->at + in->end,
	    in->cap - in->end, 0);
}

/*
 * The last reply must arrive. If the client still sends when we close, the
 * kernel resets the connection, and the reply may be lost with it.
 */
static void
farewell(struct client *c, struct in *in)
{
	size_t dropped = 0;
	ssize_t n = 1;

	weft_set_read_deadline(c->out.fd, weft_deadline(WEFT_SECOND));
	if (weft_shutdown(c->out.fd, SHUT_WR) != 0)
		return;
	for (; n > 0 && dropped < FAREWELL_BYTES; dropped += (size_t)n)
		n = weft_sock_recv(c->out.fd, in->first, IN_BYTES, 0);
}

static void
converse(struct client *c)
{
	struct in in = { .at = in.first, .cap = IN_BYTES };
	const char *error = NULL;
	ssize_t n;

	while ((n = read_more(c, &in)) > 0) {
		in.end += (size_t)n;
		error = run_all(c, &in);
		if (!error && !c->quit)
			error = in_settle(c, &in);
		if (error)
			reply_error(&c->out, "ERR Protocol error: %s", error);
		if (out_flush(&c->out) != 0 || error || c->quit)
			break;
	}
	request_reset(&c->request);
	in_shrink(c->server, &in);
	if (!c->out.error && (error || c->quit))
		farewell(c, &in);
}

/* One more, or less. After the last one the server may be freed. */
static void
count_open(struct server *s, int by)
{
	weft_mutex_lock(&s->lock);
	s->open += by;
	if (by > 0)
		s->connections++;
	else if (s->open == 0)
		weft_cond_broadcast(&s->changed);
	weft_mutex_unlock(&s->lock);
}

static void
client_close(struct client *c)
{
	struct server *s = c->server;

	weft_mutex_lock(&s->lock);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->commands += c->commands;
	weft_mutex_unlock(&s->lock);
	weft_close(c->out.fd);
	count_open(s, -1);
}

/* False: there are too many. */
static bool
client_open(struct client *c)
{
	struct server *s = c->server;
	bool few;

	weft_mutex_lock(&s->lock);
	few = s->open <= s->options.max_clients;
	s->refused += !few;
	c->next = s->clients;
	c->prev = &s->clients;
	if (c->next)
		c->next->prev = &c->next;
	s->clients = c;
	weft_mutex_unlock(&s->lock);
	return few;
}

/* All of a connection is on this stack; others see it in the list only. */
static void
serve(struct server *s, int fd)
{
	struct client c;

	c.server = s;
	c.store = s->store;
	c.request = (struct request){0};
	c.quit = false;
	c.commands = 0;
	c.out.fd = fd;
	c.out.error = 0;
	c.out.timeout = s->options.write_timeout;
	c.out.armed = false;
	c.out.len = 0;
	if (client_open(&c)) {
		converse(&c);
	} else {
		reply_error(&c.out, "ERR max number of clients reached");
		out_flush(&c.out);
	}
	client_close(&c);
}

/* ---- accepting --------------------------------------------------------- */

static bool
will_pass(int error)
{
	if (error == -ENOMEM || error == -ENOBUFS)
		weft_sleep(10 * WEFT_MS);
	return error != -EBADF && error != -EINVAL && error != -ENOTSOCK &&
	    error != -EOPNOTSUPP;
}

static void
admit(struct server *s, int fd)
{
	count_open(s, 1);
	if (weft_try_go(serve, s, fd) >= 0)
		return;
	weft_close(fd);
	count_open(s, -1);
}

static void
accept_all(struct server *s)
{
	int fd;

	while ((fd = weft_accept(s->fd, NULL, NULL)) >= 0 || will_pass(fd))
		if (fd >= 0)
			admit(s, fd);
	weft_mutex_lock(&s->lock);
	s->accepting = false;
	weft_cond_broadcast(&s->changed);
	weft_mutex_unlock(&s->lock);
}

/* ---- a server ---------------------------------------------------------- */

static void
settle_options(struct redis_options *o)
{
	if (!o->max_memory)
		o->max_memory = (size_t)1 << 30;
	if (!o->max_request)
		o->max_request = 64 << 20;
	if (!o->max_input)
		o->max_input = 256 << 20;
	if (!o->max_clients)
		o->max_clients = 10000;
	if (!o->write_timeout)
		o->write_timeout = 20 * WEFT_SECOND;
}

struct server *
server_start(int fd, const struct redis_options *o)
{
	struct server *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->options = *o;
	settle_options(&s->options);
	s->fd = fd;
	s->since = weft_now();
	s->accepting = true;
	s->store = store_new(s->options.max_memory);
	if (s->store && weft_try_go(accept_all, s) >= 0)
		return s;
	if (s->store)
		store_free(s->store);
	free(s);
	return NULL;
}

/* Waits for the last one: is none left? The lock is held. */
static bool
empty_until(struct server *s, int64_t when)
{
	while (s->accepting || s->open > 0)
		if (!weft_cond_wait_until(&s->changed, &s->lock, when))
			break;
	return !s->accepting && s->open == 0;
}

int
server_stop(struct server *s, int64_t when)
{
	int result = 0;

	__atomic_store_n(&s->stopping, 1, __ATOMIC_SEQ_CST);
	weft_close(s->fd);
	weft_mutex_lock(&s->lock);
	for (struct client *c = s->clients; c; c = c->next)
		weft_set_read_deadline(c->out.fd, weft_now());
	if (!empty_until(s, when)) {
		result = -ETIMEDOUT;
		for (struct client *c = s->clients; c; c = c->next)
			weft_shutdown(c->out.fd, SHUT_RDWR);
		if (!empty_until(s, weft_deadline(WEFT_SECOND)))
			result = -EBUSY;
	}
	weft_mutex_unlock(&s->lock);
	if (result == -EBUSY)
		return result;
	store_free(s->store);
	free(s);
	return result;
}

struct server_counts
server_count(struct server *s)
{
	struct server_counts n = { .options = s->options, .since = s->since,
		.input = __atomic_load_n(&s->input, __ATOMIC_RELAXED) };

	weft_mutex_lock(&s->lock);
	n.connections = s->connections;
	n.refused = s->refused;
	n.clients = s->open;
	n.commands = s->commands;
	for (struct client *c = s->clients; c; c = c->next)
		n.commands += __atomic_load_n(&c->commands, __ATOMIC_RELAXED);
	weft_mutex_unlock(&s->lock);
	return n;
}
