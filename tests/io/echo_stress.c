/* SPDX-License-Identifier: MIT */
/*
 * A server and many clients, of all kinds of sockets, for seconds: messages of
 * random length come back as they were, connections come and go.
 */
#define _GNU_SOURCE 1
#include <netinet/tcp.h>

#include "fd_expect.h"
#include "fd_pairs.h"

enum { LONGEST = 40000, CLIENTS = 16 };

static weft_waitgroup clients, servers;
static long connections, messages;
static bool patient;		/* servers begin when there is something */

/* Small writes do not wait for each other; UNIX sockets know no such thing. */
static void
no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- the server ---- */

static void serve(int fd);

static void
go_on(int fd)
{
	if (patient)
		OK(weft_go_readable(fd, serve, fd) > 0);
}

/* A length, and so many bytes; false at the end. */
static bool
answer(int fd, char *buf)
{
	uint32_t len = 0;
	ssize_t n = weft_read_full(fd, &len, sizeof len, NULL);

	if (n == 0)
		return false;
	if (n != sizeof len || len > LONGEST) {
		EQ(n, sizeof len);
		return false;
	}
	EQ(weft_read_full(fd, buf, len, NULL), len);
	EQ(weft_write_full(fd, &len, sizeof len, NULL), sizeof len);
	if (len)		/* else the client may be gone by now */
		EQ(weft_write_full(fd, buf, len, NULL), len);
	return true;
}

static void
serve(int fd)
{
	char *buf = malloc(LONGEST);
	bool more;

	do
		more = answer(fd, buf);
	while (more && !patient);
	free(buf);
	if (more) {
		go_on(fd);
		return;
	}
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&servers);
}

static void
begin(int fd)
{
	no_delay(fd);
	weft_waitgroup_add(&servers, 1);
	if (patient)
		go_on(fd);
	else
		weft_go(serve, fd);
}

static void
accept_all(int listener)
{
	accept_each(listener, begin);
	weft_waitgroup_done(&servers);
}

/* ---- clients ---- */

static void
send_part(int fd, const char *buf, size_t len, unsigned *seed)
{
	struct iovec v[2];
	size_t cut = len ? (size_t)rand_r(seed) % len : 0;

	switch (rand_r(seed) % 3) {
	case 0:
		EQ(weft_write_full(fd, buf, len, NULL), len);
		break;
	case 1:
		EQ(weft_write_full(fd, buf, cut, NULL), cut);
		weft_yield();
		EQ(weft_write_full(fd, buf + cut, len - cut, NULL), len - cut);
		break;
	case 2:
		v[0] = (struct iovec){ (char *)(uintptr_t)buf, cut };
		v[1] = (struct iovec){ (char *)(uintptr_t)buf + cut,
		    len - cut };
		EQ(weft_writev(fd, v, 2), len);
		break;
	}
}

static void
receive(int fd, char *buf, size_t len, unsigned *seed)
{
	size_t at = 0;

	if (rand_r(seed) % 2) {
		EQ(weft_read_full(fd, buf, len, NULL), len);
		return;
	}
	while (at < len) {
		ssize_t n = weft_sock_recv(fd, buf + at, len - at, 0);

		if (n <= 0) {
			EQ(n, 1);
			break;
		}
		at += (size_t)n;
	}
}

static void
ask(int fd, char *out, char *in, unsigned *seed)
{
	uint32_t len = (uint32_t)rand_r(seed) % LONGEST, back = 0;

	if (rand_r(seed) % 4)
		len %= 100;
	wire_fill(out, len, (size_t)*seed);
	EQ(weft_write_full(fd, &len, sizeof len, NULL), sizeof len);
	send_part(fd, out, len, seed);
	EQ(weft_read_full(fd, &back, sizeof back, NULL), sizeof back);
	EQ(back, len);
	memset(in, 0, len);
	receive(fd, in, len, seed);
	OK(!memcmp(in, out, len));
	__atomic_add_fetch(&messages, 1, __ATOMIC_RELAXED);
}

static void
visit(const wire_addr *at, unsigned seed)
{
	char *out = malloc(LONGEST), *in = malloc(LONGEST);

	while (t_more(1)) {
		int nb = rand_r(&seed) % 2 ? SOCK_NONBLOCK : 0;
		int fd = raw_socket(at->a.any.sa_family, SOCK_STREAM | nb);

		EQ(weft_connect(fd, &at->a.any, at->len), 0);
		no_delay(fd);
		if (rand_r(&seed) % 2)
			EQ(weft_set_deadline(fd,
			    weft_deadline(50 * WEFT_SECOND)), 0);
		for (int i = rand_r(&seed) % 50; i >= 0; i--)
			ask(fd, out, in, &seed);
		EQ(weft_close(fd), 0);
		__atomic_add_fetch(&connections, 1, __ATOMIC_RELAXED);
	}
	free(out);
	free(in);
	weft_waitgroup_done(&clients);
}

static void
run_all(bool is_patient)
{
	wire_addr at[3] = { wire_loopback(AF_INET), wire_loopback(AF_INET6),
	    wire_unix(true) };
	int ear[3];

	t_more(1);			/* from now on */
	patient = is_patient;
	for (int i = 0; i < 3; i++) {
		ear[i] = wire_listen(SOCK_STREAM, &at[i], 128);
		if (ear[i] < 0)
			continue;
		weft_waitgroup_add(&servers, 1);
		weft_go(accept_all, ear[i]);
		weft_waitgroup_add(&clients, CLIENTS);
		for (unsigned k = 0; k < CLIENTS; k++)
			weft_go(visit, &at[i], k + 1);
	}
	weft_waitgroup_wait(&clients);
	for (int i = 0; i < 3; i++)
		if (ear[i] >= 0)
			EQ(weft_close(ear[i]), 0);
	weft_waitgroup_wait(&servers);
	fprintf(stderr, "# %ld connections, %ld messages\n", connections,
	    messages);
	OK(messages > 0);
}

GTEST(on_one, 1) { run_all(false); }
GTEST(on_four, 4) { run_all(false); }
GTEST(patient_on_one, 1) { run_all(true); }
GTEST(patient_on_eight, 8) { run_all(true); }
