/* SPDX-License-Identifier: MIT */
/*
 * A chat: chat [ADDRESS]. Lines are for all; the first one is your name.
 *
 * One goroutine, the room, knows the clients; all others tell it what
 * happens through one channel, so there is nothing to lock. A client has two:
 * one reads its lines, one writes what comes out of the client's own channel.
 * The room never waits for a client: if its channel is full it is too slow, and
 * is thrown out.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

enum { NAME = 20, LINE = 1000, QUEUE = 64, KERNEL_BYTES = 16384 };

/* One text for all clients that get it; the last one frees it. */
struct text {
	int owners;
	size_t len;
	char at[];
};

struct client {
	/* its own goroutines */
	int fd;
	char name[NAME];
	weft_waitgroup leave;	/* the writer, and the room */
	/* the room's, but that the writer receives */
	weft_chan *out;		/* struct text *; closed when it is out */
	bool here;
	struct client *next;
};

enum what { JOINS, SAYS, LEAVES };

struct event {
	enum what what;
	struct client *from;
	struct text *text;
};

static void
release(struct text *t)
{
	if (__atomic_sub_fetch(&t->owners, 1, __ATOMIC_ACQ_REL) == 0)
		free(t);
}

static struct text *
text_make(const char *a, const char *b, const char *c)
{
	size_t n = strlen(a) + strlen(b) + strlen(c);
	struct text *t = malloc(sizeof *t + n + 2);

	if (t) {
		t->owners = 1;
		t->len = n + 1;
		snprintf(t->at, n + 2, "%s%s%s\n", a, b, c);
	}
	return t;
}

/* ---- the room ---------------------------------------------------------- */

/* Out of the list; its writer ends, and its reader, if it is not yet at its
 * end. */
static void
put_out(struct client **list, struct client *c)
{
	struct client **p = list;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	c->here = false;
	weft_chan_close(c->out);
	weft_shutdown(c->fd, SHUT_RD);
}

/* To all; a client without room for it is too slow, and others hear of that. */
static void
tell(struct client **list, struct text *t)
{
	struct client *next;

	for (struct client *c = *list; t && c; c = next) {
		next = c->next;
		__atomic_add_fetch(&t->owners, 1, __ATOMIC_RELAXED);
		if (weft_try_send(c->out, t))
			continue;
		release(t);
		weft_shutdown(c->fd, SHUT_RDWR);	/* its writer waits */
		put_out(list, c);
	}
	if (t)
		release(t);
}

static void
room(weft_chan *events)
{
	struct client *list = NULL;
	struct event e;

	while (weft_recv_ok(events, &e)) {
		if (e.what == JOINS) {
			tell(&list, text_make("* ", e.from->name, " is here"));
			e.from->here = true;
			e.from->next = list;
			list = e.from;
		} else if (e.what == SAYS) {
			tell(&list, e.text);
		} else {
			bool slow = !e.from->here;

			if (!slow)
				put_out(&list, e.from);
			tell(&list, text_make("* ", e.from->name, slow ?
			    " was too slow" : " has left"));
			weft_waitgroup_done(&e.from->leave);
		}
	}
}

/* ---- a client ---------------------------------------------------------- */

static void
writer(struct client *c)
{
	bool good = true;
	struct text *t;

	while (weft_recv_ok(c->out, &t)) {
		good = good && weft_write_full(c->fd, t->at, t->len, NULL) ==
		    (ssize_t)t->len;
		release(t);
	}
	weft_waitgroup_done(&c->leave);
}

/* The next line, without its end: false at the end. */
static bool
line_of(weft_reader *r, char *out, size_t cap)
{
	char *line;
	ssize_t n = weft_reader_line(r, &line);

	if (n <= 0)
		return false;
	while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		n--;
	n = n < (ssize_t)cap ? n : (ssize_t)cap - 1;
	memcpy(out, line, (size_t)n);
	out[n] = 0;
	return true;
}

static void
talk(struct client *c, weft_reader *r, weft_chan *events)
{
	char line[LINE];

	weft_waitgroup_add(&c->leave, 2);
	if (weft_try_go(writer, c) < 0)
		weft_waitgroup_done(&c->leave);
	weft_send(events, (struct event){ JOINS, c, NULL });
	while (line_of(r, line, sizeof line)) {
		struct text *t = text_make(c->name, ": ", line);

		weft_send(events, (struct event){ SAYS, c, t });
	}
	weft_send(events, (struct event){ LEAVES, c, NULL });
	weft_waitgroup_wait(&c->leave);
}

static void
client(int fd, weft_chan *events)
{
	struct client c = { .fd = fd, .out = weft_chan_make(
	    sizeof(struct text *), QUEUE) };
	weft_reader r = WEFT_READER(fd);
	int bytes = KERNEL_BYTES;

	/* What the kernel keeps for a slow client is little, too. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	r.max = LINE;
	weft_set_read_deadline(fd, weft_deadline(60 * WEFT_SECOND));
	if (c.out && weft_write_full(fd, "your name?\n", 11, NULL) == 11 &&
	    line_of(&r, c.name, sizeof c.name)) {
		weft_set_read_deadline(fd, WEFT_NEVER);
		talk(&c, &r, events);
	}
	weft_reader_free(&r);
	weft_close(fd);
	if (c.out)
		weft_chan_release(c.out);
}

static void
serve(int listener, weft_chan *events)
{
	int fd;

	while ((fd = weft_accept(listener, NULL, NULL)) >= 0)
		if (weft_try_go(client, fd, events) < 0)
			weft_close(fd);
}

/* ---- the test: two clients that talk, and one that never reads --------- */

enum { MOST = 4000 };

static int
join(const char *address, const char *name, weft_reader *r)
{
	int fd = weft_dial("tcp", address);
	char line[LINE];

	*r = (weft_reader)WEFT_READER(fd);
	if (fd < 0 || !line_of(r, line, sizeof line))
		return -1;
	weft_write_full(fd, name, strlen(name), NULL);
	return fd;
}

/* Reads until a line has that in it. */
static bool
hears(weft_reader *r, const char *what)
{
	char line[LINE];

	while (line_of(r, line, sizeof line))
		if (strstr(line, what))
			return true;
	return false;
}

static int
selftest(int listener)
{
	char address[WEFT_ADDRESS_TEXT], line[LINE - 50], got[LINE];
	weft_reader ann, bob, sid;
	int a, b, s, said = 0;
	bool out = false;

	weft_local_address(listener, address, sizeof address);
	a = join(address, "ann\n", &ann);
	b = join(address, "bob\n", &bob);
	if (a < 0 || b < 0 || !hears(&ann, "bob is here"))
		return 1;
	s = join(address, "sid\n", &sid);	/* reads nothing from now on */
	if (s < 0 || !hears(&ann, "sid is here") ||
	    !hears(&bob, "sid is here"))
		return 1;
	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\n';
	while (!out && said++ < MOST) {
		weft_write_full(a, line, sizeof line, NULL);
		if (!line_of(&ann, got, sizeof got))
			return 1;
		out = strstr(got, "sid was too slow");
		if (!out && !hears(&bob, "ann: xxx"))
			return 1;
	}
	printf("two talked; the third, which never read, was thrown out "
	    "after %d lines\n", said);
	weft_write_full(a, "bye\n", 4, NULL);
	out = out && hears(&bob, "sid was") && hears(&bob, "ann: bye");
	weft_shutdown(a, SHUT_WR);
	out = out && hears(&bob, "ann has left");
	weft_reader_free(&ann);
	weft_reader_free(&bob);
	weft_reader_free(&sid);
	return out ? 0 : 1;
}

/* A channel that says when the process shall end. */
static weft_chan *
signals(void)
{
	weft_chan *c = weft_chan_of(int, 1);

	weft_signal_notify(c, SIGINT);
	weft_signal_notify(c, SIGTERM);
	return c;
}

int
weft_main(int argc, char **argv)
{
	const char *address = argc > 1 ? argv[1] : "127.0.0.1:0";
	weft_chan *events = weft_chan_of(struct event, 0);
	int fd = weft_listen("tcp", address);

	if (fd < 0) {
		fprintf(stderr, "chat: %s: %s\n", address,
		    weft_strerror(fd));
		return 1;
	}
	weft_go(room, events);
	weft_go(serve, fd, events);
	if (argc < 2)
		return selftest(fd);
	weft_recv(signals(), int);
	weft_close(fd);
	return 0;
}
WEFT_MAIN
