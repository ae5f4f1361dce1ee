/* SPDX-License-Identifier: MIT */
/*
 * A thousand connections a second that are opened and dropped, politely or
 * not, leave nothing behind: no descriptor, no goroutine, no memory. For a
 * minute, with the counts:
 *
 *	T_SECONDS=60 build/tests/io/connection_churn_stress
 */
#define _GNU_SOURCE 1
#include "connection.h"
#include "fd_expect.h"
#include "run_env.h"

/* A sanitizer keeps what was freed for a while. */
enum { MEASURED = !T_SANITIZED };

/*
 * Several addresses to connect to, so that the ports that the kernel keeps for
 * a minute after each connection suffice.
 */
enum { HOSTS = 4, A_SECOND = 1000, ALLOWED = 1 << 20 };

static int listener[HOSTS], port[HOSTS];
static long made, served, begun;
static bool when_readable;

/* ---- the server ---- */

/* Answers until the client has had enough, or hangs up itself. */
static void
serve(int fd)
{
	char buf[64];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0) {
		if (weft_write_full(fd, buf, (size_t)n, NULL) < 0 ||
		    buf[0] == 'h')
			break;
	}
	EQ(weft_close(fd), 0);
	bump(&served);
}

/* One read for each goroutine; the next begins when there is more. */
static void
serve_once(int fd)
{
	char buf[64];
	ssize_t n = weft_read(fd, buf, sizeof buf);

	if (n > 0 && weft_write_full(fd, buf, (size_t)n, NULL) == n &&
	    buf[0] != 'h' && weft_go_readable(fd, serve_once, fd) > 0)
		return;
	EQ(weft_close(fd), 0);
	bump(&served);
}

static void
begin(int fd)
{
	bump(&begun);
	if (when_readable)
		OK(weft_go_readable(fd, serve_once, fd) > 0);
	else
		OK(weft_try_go(serve, fd) > 0);
}

/* ---- the clients ---- */

static void
ask(int fd, char what)
{
	char back = 0;

	EQ(weft_write(fd, &what, 1), 1);
	EQ(weft_read(fd, &back, 1), 1);
	EQ(back, what);
}

/* Eight ways to have a connection. */
static void
client(long nr)
{
	struct sockaddr_in a = loopback((int)(nr % HOSTS) + 1,
	    port[nr % HOSTS]);
	int fd = plain_socket();
	char c;

	NEED(weft_connect(fd, (struct sockaddr *)&a, sizeof a));
	switch (nr / HOSTS % 8) {
	case 0: break;				/* nothing at all */
	case 1: make_rude(fd); break;
	case 2:					/* does not read it */
		EQ(weft_write(fd, "x", 1), 1);
		break;
	case 3:
		EQ(weft_write(fd, "x", 1), 1);
		make_rude(fd);
		break;
	case 4:
		ask(fd, 'x');
		EQ(weft_shutdown(fd, SHUT_WR), 0);
		EQ(weft_read(fd, &c, 1), 0);
		break;
	case 5:					/* the server hangs up */
		ask(fd, 'h');
		EQ(weft_read(fd, &c, 1), 0);
		break;
	case 6:					/* gives up waiting */
		ask(fd, 'x');
		EQ(weft_set_read_deadline(fd, weft_deadline(5 * WEFT_MS)), 0);
		EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
		break;
	default:
		for (int i = 0; i < 5; i++)
			ask(fd, 'x');
	}
	EQ(weft_close(fd), 0);
	bump(&made);
}

/* ---- counting ---- */

struct count {
	int fds;
	int64_t goroutines, open, waiting, bytes;
};

static struct count
count_now(void)
{
	weft_io_stats s = io_now();

	return (struct count){ count_fds(), weft_goroutines(), s.open,
	    s.waiting,
		t_resident() };
}

static void
print_count(const char *when, struct count c)
{
	printf("# %s: %ld connections, %d descriptors, %lld goroutines, "
	    "%lld registered, %lld waiting, %lld KiB\n", when, get(&made),
	    c.fds, (long long)c.goroutines, (long long)c.open,
	    (long long)c.waiting, (long long)c.bytes / 1024);
	fflush(stdout);
}

/* Until all that began has ended. */
static void
drain(long nr)
{
	await(&made, nr);
	/* A client that reset may not have been accepted yet. */
	await(&served, nr);
	while (weft_goroutines() > 1 + HOSTS)
		weft_sleep(WEFT_MS);
}

/*
 * More at once than there will be again, so that later there are stacks and
 * records for all.
 */
static long
burst(long nr)
{
	long n = t_scale(400);

	for (long i = 0; i < n; i++)
		OK(weft_try_go(client, nr++) > 0);
	drain(nr);
	return nr;
}

/* Begins them at their times, so that being late is made up for. */
static long
churn(long nr, double seconds)
{
	int64_t start = weft_now();
	long n = (long)(seconds * (double)t_scale(A_SECOND));

	for (long i = 0; i < n; i++) {
		weft_sleep_until(start +
		    i * (WEFT_SECOND / t_scale(A_SECOND)));
		OK(weft_try_go(client, nr++) > 0);
	}
	drain(nr);
	return nr;
}

static double
seconds(void)
{
	const char *s = getenv("T_SECONDS");

	return s ? atof(s) : t_share(1);
}

static void
churned(bool readable)
{
	struct count before, after;
	long nr;

	when_readable = readable;
	for (int i = 0; i < HOSTS; i++) {
		listener[i] = plain_listen(i + 1, 4096);
		port[i] = port_of(listener[i]);
		OK(weft_try_go(accept_each, listener[i], begin) > 0);
	}
	nr = churn(burst(0), 0.3);
	before = count_now();
	print_count("before", before);
	nr = churn(nr, seconds());
	after = count_now();
	print_count("after", after);
	EQ(begun, nr);
	EQ(after.fds, before.fds);
	EQ(after.goroutines, before.goroutines);
	EQ(after.open, before.open);
	EQ(after.waiting, before.waiting);
	/* An emulator's own memory is in it. */
	if (MEASURED && !t_emulated() && after.bytes - before.bytes > ALLOWED)
		EQ(after.bytes, before.bytes);
	for (int i = 0; i < HOSTS; i++)
		EQ(weft_close(listener[i]), 0);
	while (weft_goroutines() > 1)
		weft_sleep(WEFT_MS);
	EQ(io_now().open, 0);
}

GTEST(goroutines_on_1, 1) { churned(false); }
GTEST(goroutines_on_2, 2) { churned(false); }
GTEST(readable_on_2, 2) { churned(true); }
