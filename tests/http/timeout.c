/* SPDX-License-Identifier: MIT */
/*
 * Clients that take their time: each part of a request has a limit, and it is
 * kept, but not before its time.
 */
#include "loopback.h"

/* Limits are at least so long, to be told from the machine's own delays. */
#define LIMIT (70 * WEFT_MS)
#define FOREVER (3600 * WEFT_SECOND)

static const struct http_options patient = { .head_timeout = FOREVER,
	.body_timeout = FOREVER, .idle_timeout = FOREVER,
	.write_timeout = FOREVER };

/* Sends text, byte by byte with pauses, until the server has had enough. */
static void
dribble(int fd, const char *text)
{
	while (*text && weft_write(fd, text++, 1) == 1)
		weft_sleep(LIMIT / 20);
}

#define TIMEOUT "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\n" \
	"Content-Length: 20\r\nConnection: close\r\n\r\n408 Request Timeout\n"

/* Sends text at once, and hears the answer: not before the limit. */
static char *
sent(const char *text)
{
	int64_t start_ns = weft_now();
	int fd = dial();
	char *got;

	weft_write_full(fd, text, strlen(text), NULL);
	got = without_dates(hear_all(fd, NULL));
	OK(weft_now() - start_ns >= LIMIT);
	weft_close(fd);
	return got;
}

/* The limit begins when the connection is accepted: on a busy machine it may
 * be over before we have said a word. */
static void
ends(const char *text, const char *expected)
{
	char *got;

	may_be_late = true;
	got = sent(text);
	for (int i = 0; i < 20 && *expected && !*got; i++) {
		free(got);
		got = sent(text);
	}
	if (strcmp(got, expected) != 0) {
		fprintf(stderr, "# got: %s\n", got);
		t_fail(__FILE__, __LINE__, "the answer");
	}
	free(got);
}

BOTH_WAYS(slow_head, 2)
{
	struct http_options o = patient;

	o.head_timeout = LIMIT;
	start(o);
	ends("", "");				/* not even a byte */
	ends("G", TIMEOUT);
	ends("GET /hello HTTP/1.1\r\nHost: x\r\n", TIMEOUT);
	ends(GET_HELLO "GET /", HELLO TIMEOUT);
	ends(GET_HELLO "\r\n", HELLO);		/* said nothing */
	stop();
}

/* One byte after the other does not help: the limit is for all of it. */
BOTH_WAYS(dribbled_head, 2)
{
	struct http_options o = patient;
	char *got;
	int fd;

	o.head_timeout = LIMIT;
	start(o);
	fd = dial();
	dribble(fd, "GET /hello HTTP/1.1\r\nHost: x\r\nA: b\r\nC: d\r\n"
	    "E: f\r\nG: h\r\nI: j\r\n");
	may_reset = true;	/* and the answer lost, since we went on */
	got = without_dates(hear_all(fd, NULL));
	OK(strcmp(got, TIMEOUT) == 0 || strcmp(got, "") == 0);
	free(got);
	weft_close(fd);
	stop();
}

/* ... and is no harm if there is time enough. */
BOTH_WAYS(dribbled_in_time, 2)
{
	char *got;
	int fd;

	start(patient);
	fd = dial();
	dribble(fd, "POST /echo HTTP/1.1\r\n" H "Content-Length: 2\r\n"
	    "Connection: close\r\n\r\nab");
	got = hear_all(fd, NULL);
	OK(strstr(got, "\r\n\r\nab"));
	free(got);
	weft_close(fd);
	stop();
}

BOTH_WAYS(slow_body, 2)
{
	struct http_options o = patient;

	o.body_timeout = LIMIT;
	start(o);
	ends("POST /echo HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\n", TIMEOUT);
	ends("POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n",
	    TIMEOUT);
	/* It has been answered already, and is cut in the middle. */
	ends("POST /echo HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\na",
	    "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
	    "Content-Length: 2\r\n\r\na");
	/* The handler does not read it, but the next request is behind it. */
	ends("POST /hello HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\na",
	    HELLO);
	stop();
}

/* A long body has more time than a short one, once some of it is there: the
 * first piece comes with the head. */
BOTH_WAYS(long_body, 2)
{
	enum { PIECE = 50000 };
	static const char head[] = "POST /echo HTTP/1.1\r\n" H
	    "Content-Length: 200000\r\nConnection: close\r\n\r\n";
	struct http_options o = patient;
	size_t len, first = sizeof head - 1 + PIECE;
	char *data = calloc(1, first), *got;
	int fd;

	o.body_timeout = LIMIT;
	start(o);
	fd = dial();
	memcpy(data, head, sizeof head - 1);
	EQ(weft_write_full(fd, data, first, NULL), first);
	for (int i = 1; i < 4; i++) {
		weft_sleep(LIMIT);
		EQ(weft_write_full(fd, data, PIECE, NULL), PIECE);
	}
	got = hear_all(fd, &len);
	OK(len > 4 * PIECE);
	free(data);
	free(got);
	weft_close(fd);
	stop();
}

/*
 * A connection that is idle is closed, without a word; again and again the
 * limit begins anew. That is when the server has answered, which is after it
 * was asked; we may hear of it much later.
 */
BOTH_WAYS(idle, 2)
{
	struct http_options o = patient;
	int64_t start_ns, asked_ns;
	char body[100];
	weft_reader r;
	int fd;

	o.idle_timeout = LIMIT;
	start(o);
	start_ns = weft_now();
	fd = dial();
	r = (weft_reader)WEFT_READER(fd);
	for (int i = 0; i < 4; i++) {
		asked_ns = weft_now();
		weft_write(fd, GET_HELLO, strlen(GET_HELLO));
		if (hear(&r, body, sizeof body) != 200)
			break;		/* this machine was slower */
		start_ns = asked_ns;
		weft_sleep(LIMIT / 2);
	}
	OK(weft_reader_read_full(&r, body, 1, NULL) <= 0);
	OK(weft_now() - start_ns >= LIMIT);
	weft_reader_free(&r);
	weft_close(fd);
	stop();
}

/* It keeps its goroutine for a while, is parked, and comes back. */
GTEST(comes_back, 2)
{
	struct http_options o = patient;
	weft_io_stats before, after;
	char body[100];
	weft_reader r;
	int fd;

	o.linger = 20 * WEFT_MS;
	start(o);
	fd = dial();
	r = (weft_reader)WEFT_READER(fd);
	for (int i = 0; i < 5; i++) {
		weft_io_stats_read(&before, sizeof before);
		say(fd, GET_HELLO);
		EQ(hear(&r, body, sizeof body), 200);
		do {		/* until its wait was ended by a deadline */
			weft_sleep(WEFT_MS);
			weft_io_stats_read(&after, sizeof after);
		} while (after.timeouts == before.timeouts);
	}
	weft_reader_free(&r);
	weft_close(fd);
	stop();
}

/* ---- a client that does not read --------------------------------------- */

enum { LARGE = 64 << 20 };

static int64_t stuck_ns;
static int stuck_error;
static weft_event stuck;

static void
pour(struct http *h, const struct http_request *r, void *arg)
{
	char *data = calloc(1, LARGE);
	int64_t start_ns = weft_now();

	(void)r, (void)arg;
	http_begin(h, 200);
	http_body(h, HTTP_CHUNKED);
	stuck_error = http_write(h, data, LARGE);
	stuck_ns = weft_now() - start_ns;
	free(data);
	weft_event_set(&stuck);
}

BOTH_WAYS(does_not_listen, 2)
{
	struct http_options o = patient;
	int fd;

	o.write_timeout = LIMIT;
	o.handler = pour;
	start(o);
	fd = dial();
	say(fd, GET_HELLO);
	weft_event_wait(&stuck);
	EQ(stuck_error, -ETIMEDOUT);
	OK(stuck_ns >= LIMIT);
	weft_close(fd);
	stop();
}

/* Slowly, but all the time: that is no reason to stop. */
static void
sip(int fd, weft_waitgroup *wg)
{
	char *buf = malloc(1 << 20);
	int64_t total = 0;
	ssize_t n;

	while (total < LARGE && (n = weft_read(fd, buf, 1 << 20)) > 0) {
		total += n;
		if (total < 20 << 20)
			weft_sleep(LIMIT / 2);
	}
	OK(total > LARGE);
	free(buf);
	weft_waitgroup_done(wg);
}

GTEST(listens_slowly, 2)
{
	struct http_options o = patient;
	weft_waitgroup wg = {0};
	int fd;

	o.write_timeout = 4 * LIMIT;
	o.handler = pour;
	start(o);
	fd = dial();
	say(fd, GET_HELLO);
	weft_waitgroup_add(&wg, 1);
	sip(fd, &wg);
	weft_waitgroup_wait(&wg);
	weft_event_wait(&stuck);
	EQ(stuck_error, 0);
	weft_close(fd);
	stop();
}
