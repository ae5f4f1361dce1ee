/* SPDX-License-Identifier: MIT */
/*
 * The debug socket records: profiles and traces of a process that was not
 * prepared for it, beside what the program records itself.
 */
#include "profile_text.h"

#include <errno.h>
#include <poll.h>

#include "ask.h"
#include "trace_events.h"

static char dir[] = "/tmp/weft-test-XXXXXX", path[100];

static void
begin(void)
{
	OK(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/sock", dir);
	EQ(weft_debug_listen(path), 0);
}

static void
end(void)
{
	weft_debug_close();
	rmdir(dir);
}

/* Skips the test where there is no CPU profile. */
static void
begin_cpu(void)
{
	cpu_profile(0, 0);
	EQ(weft_profile_cpu_stop(), 0);
	begin();
}

/* A request whose answer is read later. */
static int
request(const char *line)
{
	int fd = ask_connect(path);

	OK(fd >= 0);
	ask_send(fd, line, strlen(line));
	return fd;
}

/* ---- profiles ---- */

static volatile unsigned long sink;
static long over;

T_NOT_INLINED static void
burn_here(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sink += i;
}

static void
burner(void)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		burn_here();
}

/* As long as it takes to be sampled: there may be no CPU for us. */
GTEST(profile_of_the_next_seconds, 2)
{
	weft_waitgroup wg = {0};
	bool found = false;

	begin_cpu();
	weft_waitgroup_go(&wg, burner);
	for (double until = t_now() + (t_emulated() ? 2 : 40); !found &&
	    t_now() < until; ) {
		char *text = ask(path, "profile cpu 0.2 folded\n");

		OK(strncmp(text, "error", 5) != 0);
		found = strstr(text, "burner;burn_here ");
		free(text);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	weft_waitgroup_wait(&wg);
	OK(found || t_emulated());
	end();
}

GTEST(profile_of_goroutines, 2)
{
	begin();
	asked(path, "profile goroutine folded\n", "main_goroutine");
	asked(path, "profile folded goroutine\n", "main_goroutine");
	asked(path, "profile block\n", "error: ");
	EQ(weft_profile_block_rate(1), 0);
	weft_sleep(1);
	asked(path, "profile offcpu folded\n", "error: ");
	end();
}

GTEST(words_that_make_no_sense, 2)
{
	static const char *const lines[] = {
		"profile nonsense\n", "profile cpu 0\n", "profile cpu -1\n",
		"profile cpu 601\n", "profile cpu 1e2\n", "profile cpu .\n",
		"profile cpu 99999999999999\n", "profile goroutine x\n",
		"profile cpu 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
		"trace x\n", "trace 0\n", "trace 1 2\n", "trace 1 folded\n",
		"trace 0.0000000001\n", "trace aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
	};

	begin();
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		asked(path, lines[i], weft_strerror(EINVAL));
	end();
}

/* The program's own profile is not disturbed. */
GTEST(profile_beside_the_programs, 2)
{
	begin_cpu();
	cpu_profile(0, 0);
	asked(path, "profile cpu 1\n", weft_strerror(EBUSY));
	EQ(weft_profile_cpu_stop(), 0);
	end();
}

static bool
has_answer(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Does a profile run? If not, one did for a moment. */
static bool
is_busy(void)
{
	int err = weft_profile_cpu_start(0, 0);

	if (err == 0)
		EQ(weft_profile_cpu_stop(), 0);
	return err == -EBUSY;
}

/* A request whose profile runs: again, if is_busy was in its way. */
static int
request_profile(const char *line)
{
	for (;;) {
		int fd = request(line);

		while (!has_answer(fd)) {
			if (is_busy())
				return fd;
			weft_sleep(WEFT_MS);
		}
		close(fd);
	}
}

GTEST(profile_ends_with_its_client, 2)
{
	begin_cpu();
	close(request_profile("profile cpu 600\n"));
	while (is_busy())
		weft_sleep(WEFT_MS);
	end();
}

/* The program ends the profile of a request, and begins its own, which goes on
 * when the request's time is over. */
GTEST(profile_ended_by_the_program, 2)
{
	int fd = -1;

	begin_cpu();
	do {
		close(fd);	/* it was over before */
		fd = request_profile("profile cpu 0.5\n");
	} while (weft_profile_cpu_stop() != 0);
	/* Busy while the answer is written, if that is late. */
	while (weft_profile_cpu_start(0, 0) == -EBUSY)
		weft_sleep(WEFT_MS);
	free(ask_read(fd));
	EQ(weft_profile_cpu_stop(), 0);
	end();
}

/* ---- traces ---- */

static void
ping(weft_chan *a, weft_chan *b)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		weft_send(a, 1);
		weft_recv(b, int);
		weft_sleep(WEFT_MS);
	}
	weft_chan_close(a);
}

static void
pong(weft_chan *a, weft_chan *b)
{
	int v;

	while (weft_recv_ok(a, &v))
		weft_send(b, v);
}

/* The trace that a request is answered with. */
static struct trace_text
trace_of(int fd)
{
	struct trace_text t;

	t.bytes = ask_read_bytes(fd, &t.n);
	trace_text_check(&t);
	OK(trace_is_whole(&t));
	return t;
}

GTEST(trace_of_the_next_seconds, 2)
{
	weft_chan *a = weft_chan_of(int, 0), *b = weft_chan_of(int, 0);
	weft_waitgroup wg = {0};
	struct trace_counts c;
	struct trace_text t;
	bool found = false;

	begin();
	weft_waitgroup_go(&wg, ping, a, b);
	weft_waitgroup_go(&wg, pong, a, b);
	/* Again, if there was no CPU for us. */
	for (double until = t_now() + 40; !found && t_now() < until; ) {
		t = trace_of(request("trace 0.3\n"));
		c = trace_count(&t);
		found = c.n[TR_BLOCK] && c.n[TR_UNBLOCK] && c.n[TR_START];
		free(t.bytes);
	}
	OK(found);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	weft_waitgroup_wait(&wg);
	weft_chan_release(a);
	weft_chan_release(b);
	end();
}

GTEST(trace_beside_the_programs, 2)
{
	struct trace_text t;

	begin();
	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	asked(path, "trace 0.1\n", weft_strerror(EBUSY));
	EQ(weft_trace_stop(NULL), 0);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	trace_text_free(&t);
	end();
}

/* The program ends it, and records its own meanwhile. */
GTEST(trace_ended_by_the_program, 2)
{
	struct trace_text t;
	int fd = -1;

	begin();
	do {
		close(fd);	/* it was over before */
		fd = request("trace 0.5\n");
		while (!weft_trace_is_on() && !has_answer(fd))
			weft_sleep(WEFT_MS);
	} while (weft_trace_stop(NULL) != 0);
	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	t = trace_of(fd);
	free(t.bytes);
	OK(weft_trace_is_on());
	EQ(weft_trace_stop(NULL), 0);
	unlink(trace_path());
	end();
}

/* The client is gone while its trace is written: no signal ends the process. */
GTEST(trace_without_its_client, 2)
{
	int fd;

	begin();
	fd = request("trace 600\n");
	while (!weft_trace_is_on())
		weft_sleep(WEFT_MS);
	close(fd);
	weft_trace_stop(NULL);	/* whichever comes first */
	while (weft_trace_is_on())
		weft_sleep(WEFT_MS);
	end();
}

GTEST(trace_of_the_flight_recorder, 2)
{
	struct trace_text t;

	begin();
	EQ(weft_trace_flight(NULL, 0), 0);
	weft_trace_log("seen from afar", 0);
	t = trace_of(request("trace 600\n"));
	OK(trace_has(&t, "seen from afar"));
	free(t.bytes);
	OK(weft_trace_is_on());
	EQ(weft_trace_stop(NULL), 0);
	end();
}

static void
yields(void)
{
	for (;;)
		weft_yield();
}

/* Its client takes nothing of it: the program ends all the same. */
static int
with_a_silent_client(int argc, char **argv)
{
	(void)argc, (void)argv;
	begin();
	request("trace 600\n");
	weft_go(yields);
	weft_go(yields);
	while (!weft_trace_is_on())
		weft_sleep(WEFT_MS);
	weft_sleep(300 * WEFT_MS);
	return 0;
}

TEST(trace_for_a_silent_client)
{
	double before = t_now();

	EQ(weft_run(with_a_silent_client, 0, NULL), 0);
	OK(t_now() - before < 30);
	rmdir(dir);
}

/* A trace in which nothing happens for long is whole all the same: the helper
 * is woken by a request that is refused. It ends with the socket, not at a time
 * that may come before the request. */
GTEST(trace_with_a_pause, 2)
{
	struct trace_text t;
	int fd;

	begin();
	fd = request("trace 600\n");
	while (!weft_trace_is_on())
		weft_sleep(WEFT_MS);
	/* Some chunks, which fit into the buffer of the socket. */
	for (int i = 0; i < 2000; i++)
		weft_trace_log("something to fill a chunk with", 0);
	weft_sleep(2500 * WEFT_MS);
	asked(path, "trace 0.1\n", weft_strerror(EBUSY));
	weft_debug_close();
	t = trace_of(fd);
	free(t.bytes);
	end();
}
