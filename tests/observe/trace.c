/* SPDX-License-Identifier: MIT */
/* Recording a trace: which events there are, files, the flight recorder. */
#include <errno.h>
#include <sys/wait.h>

#include <weft.h>

#include "plain_thread.h"
#include "trace_events.h"

enum { N = 100 };

static struct trace_text
stop_and_read(void)
{
	uint64_t lost = 1;

	EQ(weft_trace_stop(&lost), 0);
	EQ(lost, 0);
	return trace_text_read(trace_path());
}

static void
do_nothing(void)
{
}

static void
spawn_some(void)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < N; i++)
		weft_waitgroup_go(&wg, do_nothing);
	weft_waitgroup_wait(&wg);
}

GTEST(goroutines_begin_and_end, 1)
{
	struct trace_text t;
	struct trace_counts c;

	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	OK(weft_trace_is_on());
	spawn_some();
	t = stop_and_read();
	OK(!weft_trace_is_on());
	c = trace_count(&t);
	EQ(c.n[TR_CREATE], N);
	EQ(c.n[TR_END], N);
	OK(c.n[TR_START] >= N);
	OK(trace_is_whole(&t));
	OK(trace_has(&t, "do_nothing"));
	OK(trace_has(&t, "tests/observe/trace.c"));
	trace_text_free(&t);
}

static void
echo(weft_chan *in, weft_chan *out)
{
	int v;

	while (weft_chan_recv(in, &v))
		weft_chan_send(out, &v);
	weft_chan_close(out);
}

static void
talk(int rounds)
{
	weft_chan *a = weft_chan_make(sizeof(int), 0);
	weft_chan *b = weft_chan_make(sizeof(int), 0);
	int v = 0;

	weft_go(echo, a, b);
	for (int i = 0; i < rounds; i++) {
		weft_chan_send(a, &i);
		weft_chan_recv(b, &v);
	}
	weft_chan_close(a);
	OK(!weft_chan_recv(b, &v));
	weft_chan_release(a);
	weft_chan_release(b);
}

/* Each that waits is woken, and runs after it: on one P all is in order. */
GTEST(waits_are_paired, 1)
{
	struct trace_text t;
	struct trace_counts c;

	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	talk(N);
	t = stop_and_read();
	c = trace_count(&t);
	OK(c.n[TR_BLOCK] >= N);
	EQ(c.n[TR_UNBLOCK], c.n[TR_BLOCK]);
	/* The trace began while main ran. */
	EQ(c.n[TR_START], c.n[TR_CREATE] + c.n[TR_UNBLOCK] + c.n[TR_YIELD]);
	trace_text_free(&t);
}

struct ring_time { uint64_t last[64]; bool bad; };

static void
check_time(const struct trace_block *b, const uint64_t *words, void *arg)
{
	static uint64_t now;
	static const struct trace_block *block;
	struct ring_time *r = arg;
	unsigned ring = b->ring == TRACE_RING_SHARED ? 63 : b->ring;

	if (block != b)
		now = b->start;
	block = b;
	now += *words >> 6 & ((1 << TRACE_DT_BITS) - 1);
	if ((*words & 63) == TR_TIME)
		now = words[1];
	if (now < r->last[ring])
		r->bad = true;
	r->last[ring] = now;
}

GTEST(time_does_not_go_back_on_a_ring, 4)
{
	struct ring_time r = {0};
	struct trace_text t;

	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	for (int i = 0; i < 20; i++) {
		spawn_some();
		talk(N);
		weft_sleep(WEFT_MS);
	}
	t = stop_and_read();
	trace_each(&t, check_time, &r);
	OK(!r.bad);
	trace_text_free(&t);
}

static void
say_things(void)
{
	uint64_t request = weft_trace_task_begin("request", 0);
	uint64_t part = weft_trace_task_begin("part", request);
	char text[2000];

	OK(request && part && request != part);
	weft_trace_region_begin("parse", request);
	weft_trace_log("a message", part);
	weft_trace_region_end();
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = 0;
	weft_trace_log(text, 0);
	weft_trace_log("", 0);
	weft_trace_task_end(part);
	weft_trace_task_end(request);
}

PLAIN_THREAD(thread_says_things, say_things())

GTEST(tasks_regions_messages, 2)
{
	struct trace_text t;
	struct trace_counts c;

	EQ(weft_trace_task_begin("off", 0), 0);
	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	say_things();
	thread_run(thread_says_things, NULL);
	t = stop_and_read();
	c = trace_count(&t);
	EQ(c.n[TR_TASK_BEGIN], 4);
	EQ(c.n[TR_TASK_END], 4);
	EQ(c.n[TR_REGION_BEGIN], 2);
	EQ(c.n[TR_REGION_END], 2);
	EQ(c.n[TR_LOG], 6);
	OK(trace_has(&t, "a message") && trace_has(&t, "request"));
	trace_text_free(&t);
}

GTEST(one_at_a_time, 2)
{
	EQ(weft_trace_stop(NULL), -ENOENT);
	EQ(weft_trace_write(trace_path()), -ENOENT);
	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	EQ(weft_trace_start("/tmp/never-made", NULL, 0), -EBUSY);
	EQ(access("/tmp/never-made", F_OK), -1);
	EQ(weft_trace_flight(NULL, 0), -EBUSY);
	EQ(weft_trace_write("/tmp/never-made"), -ENOENT);
	EQ(weft_trace_stop(NULL), 0);
	EQ(weft_trace_flight(NULL, 0), 0);
	EQ(weft_trace_start(trace_path(), NULL, 0), -EBUSY);
	EQ(weft_trace_stop(NULL), 0);
	EQ(weft_trace_stop(NULL), -ENOENT);
	unlink(trace_path());
}

GTEST(files_that_cannot_be_written, 2)
{
	weft_trace_options bad = { .window = -1 };

	EQ(weft_trace_start("/no/such/folder/file", NULL, 0), -ENOENT);
	EQ(weft_trace_start("/tmp", NULL, 0), -EISDIR);
	EQ(weft_trace_start(trace_path(), &bad, sizeof bad), -EINVAL);
	OK(!weft_trace_is_on());
	EQ(weft_trace_start("/dev/full", NULL, 0), 0);
	spawn_some();
	EQ(weft_trace_stop(NULL), -ENOSPC);
	EQ(weft_trace_flight(NULL, 0), 0);
	EQ(weft_trace_write("/no/such/folder/file"), -ENOENT);
	EQ(weft_trace_write("/dev/full"), -ENOSPC);
	EQ(weft_trace_stop(NULL), 0);
}

static void
note_last_log(const struct trace_block *b, const uint64_t *words, void *arg)
{
	int *last = arg;

	(void)b;
	if ((*words & 63) == TR_LOG && atoi((const char *)&words[2]) > *last)
		*last = atoi((const char *)&words[2]);
}

/* The last events are kept, however many there were; and it goes on. */
GTEST(flight_recorder_keeps_the_last, 2)
{
	weft_trace_options o = { .buffer = 1 << 20 };
	const int n = (int)t_scale(100000);
	int last = -1;
	struct trace_text t;

	EQ(weft_trace_flight(&o, sizeof o), 0);
	for (int i = 0; i <= n; i++) {
		char text[16];

		snprintf(text, sizeof text, "%d", i);
		weft_trace_log(text, 0);
		if (i % 1000 == 0)
			spawn_some();
		if (i == n / 2)
			EQ(weft_trace_write(trace_path()), 0);
	}
	EQ(weft_trace_write(trace_path()), 0);
	t = trace_text_read(trace_path());
	OK(trace_is_whole(&t));
	trace_each(&t, note_last_log, &last);
	EQ(last, n);
	OK(t.n < 3 << 20);
	OK(weft_trace_is_on());
	EQ(weft_trace_stop(NULL), 0);
	trace_text_free(&t);
}

/* ---- a pipe as the file ---- */

static weft_event may_read;
static bool slowly;

/* Reads all of a pipe once it is told to. */
static void *
read_pipe(void *arg)
{
	int fd = *(int *)arg;
	char buf[4096];

	fcntl(fd, F_SETFL, 0);
	weft_event_wait(&may_read);
	while (read(fd, buf, sizeof buf) > 0)
		if (slowly)
			usleep(1000);
	close(fd);
	return NULL;
}

/* Its reading end; there is a reader before weft opens it. */
static int
open_pipe(void)
{
	int fd;

	unlink(trace_path());	/* of a process with our id that was killed */
	EQ(mkfifo(trace_path(), 0600), 0);
	fd = open(trace_path(), O_RDONLY | O_NONBLOCK);
	OK(fd >= 0);
	return fd;
}

/* While a file cannot be written events are lost, and none waits for it. */
GTEST(lost_events_are_counted, 2)
{
	weft_trace_options o = { .buffer = 1, .stack_interval = -1 };
	char text[1001] = {0};
	uint64_t lost = 0;
	int fd = open_pipe();
	pthread_t reader = thread_start(read_pipe, &fd);

	EQ(weft_trace_start(trace_path(), &o, sizeof o), 0);
	memset(text, 'x', sizeof text - 1);
	for (int i = 0; i < 2000; i++)
		weft_trace_log(text, 0);
	weft_event_set(&may_read);
	EQ(weft_trace_stop(&lost), 0);
	OK(lost > 0);
	weft_blocking(thread_join, &reader);
	unlink(trace_path());
	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	EQ(weft_trace_stop(&lost), 0);
	EQ(lost, 0);
	unlink(trace_path());
}

static int over;

static void
log_on(void)
{
	char text[1001] = {0};

	memset(text, 'x', sizeof text - 1);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		weft_trace_log(text, 0);
}

/* A trace can be ended although more is written than the file takes. */
GTEST(stop_does_not_wait_for_the_load, 2)
{
	int fd = open_pipe();
	pthread_t reader = thread_start(read_pipe, &fd);
	weft_waitgroup wg = {0};

	slowly = true;
	EQ(weft_trace_start(trace_path(), &(weft_trace_options){ .buffer = 1 },
	    sizeof(weft_trace_options)), 0);
	weft_event_set(&may_read);
	weft_waitgroup_go(&wg, log_on);
	weft_sleep(20 * WEFT_MS);
	EQ(weft_trace_stop(NULL), 0);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&wg);
	weft_blocking(thread_join, &reader);
	unlink(trace_path());
}

GTEST(a_pipe_without_a_reader, 2)
{
	unlink(trace_path());
	EQ(mkfifo(trace_path(), 0600), 0);
	EQ(weft_trace_start(trace_path(), NULL, 0), -ENXIO);
	unlink(trace_path());
}

/* ---- what a block begins with ---- */

/* The goroutine of each message, by what the blocks and starts say. */
static void
find_author(const struct trace_block *b, const uint64_t *words, void *arg)
{
	static const struct trace_block *block;
	static uint64_t runs;
	int64_t *author = arg;

	/* It may have lost its P in the call before: then it is on the shared
	 * ring, or has one again. */
	if (block != b)
		runs = b->g;
	block = b;
	if ((*words & 63) == TR_THREAD)
		runs = *words >> 32 ? words[1] : 0;
	else if ((*words & 63) == TR_P_START)
		runs = words[1];
	else if ((*words & 63) == TR_START)
		runs = *words >> 32;
	else if ((*words & 63) == TR_LOG)
		*author = (int64_t)runs;
}

/* A trace that begins while a goroutine runs, after one that ended, says which
 * goroutine that is. */
GTEST(who_runs_when_it_begins, 1)
{
	struct trace_text t;

	for (int i = 0; i < 2; i++) {
		int64_t author = -1;

		EQ(weft_trace_start(trace_path(), NULL, 0), 0);
		weft_trace_log("mine", 0);
		spawn_some();
		t = stop_and_read();
		trace_each(&t, find_author, &author);
		EQ(author, weft_self_id());
		trace_text_free(&t);
	}
}
/* The child of a fork has no trace, and leaves the file alone. */
GTEST(fork_leaves_the_trace, 2)
{
	struct trace_text t;
	pid_t pid;
	int status;

	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	spawn_some();
	pid = fork();
	if (pid == 0) {
		weft_trace_log("by the child", 0);
		_exit(weft_trace_is_on() ||
		    weft_trace_stop(NULL) != -ENOENT);
	}
	weft_blocking_enter();
	EQ(waitpid(pid, &status, 0), pid);
	weft_blocking_leave();
	EQ(status, 0);
	spawn_some();
	t = stop_and_read();
	EQ(trace_count(&t).n[TR_CREATE], 2 * N);
	OK(!trace_has(&t, "by the child"));
	trace_text_free(&t);
}

static void
has_stack(const struct trace_block *b, const uint64_t *words, void *arg)
{
	(void)b;
	if ((*words & 63) == TR_STACK && *words >> 32 >= 3)
		++*(int *)arg;
}

GTEST(stacks_of_those_that_wait, 1)
{
	struct trace_text t;
	int stacks = 0;

	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	for (int i = 0; i < 20; i++)
		weft_sleep(WEFT_MS);
	t = stop_and_read();
	trace_each(&t, has_stack, &stacks);
	OK(stacks >= 10);
	trace_text_free(&t);
}

static long
ftell_end(FILE *f)
{
	fseek(f, 0, SEEK_END);
	return ftell(f);
}

/* The samples of a CPU profile that runs meanwhile are in the trace. */
GTEST(samples_of_a_profile, 2)
{
	struct trace_text t;
	weft_profile_format folded = WEFT_PROFILE_FOLDED;
	FILE *f = tmpfile();
	double end;

	EQ(weft_trace_start(trace_path(), NULL, 0), 0);
	if (weft_profile_cpu_start(1000, 0) != 0) {
		weft_trace_stop(NULL);
		unlink(trace_path());
		t_skip("no CPU profile here");
	}
	/* Until there is one: there may be no CPU for us. */
	for (end = t_now() + 40; ftell_end(f) == 0 && t_now() < end; ) {
		for (double some = t_now() + 0.05; t_now() < some; )
			;
		EQ(weft_profile_write(WEFT_PROFILE_CPU, fileno(f), folded), 0);
	}
	fclose(f);
	EQ(weft_profile_cpu_stop(), 0);
	t = stop_and_read();
	OK(trace_count(&t).n[TR_SAMPLE] > 0);
	trace_text_free(&t);
}

/* ---- a goroutine that has no events ---- */

static long turns, turns_over;

static void
computes_only(void)
{
	while (!__atomic_load_n(&turns_over, __ATOMIC_RELAXED))
		__atomic_store_n(&turns, turns + 1, __ATOMIC_RELAXED);
}

/* Until it has computed for a while. */
static void
wait_for_turns(void)
{
	long until = __atomic_load_n(&turns, __ATOMIC_RELAXED) + 10000000;

	while (__atomic_load_n(&turns, __ATOMIC_RELAXED) < until)
		weft_sleep(WEFT_MS);
}

/* It is seen although it did nothing but compute all the time. */
GTEST(one_that_computes_all_the_time, 2)
{
	weft_waitgroup wg = {0};
	struct trace_text t;
	long n = 0;

	if (T_SANITIZED || t_valgrind())
		t_skip("no signals with a sanitizer or valgrind");
	weft_waitgroup_go(&wg, computes_only);
	for (int i = 0; i < 20 && !n; i++) {
		wait_for_turns();
		EQ(weft_trace_start(trace_path(), NULL, 0), 0);
		wait_for_turns();
		EQ(weft_trace_stop(NULL), 0);
		t = trace_text_read(trace_path());
		n = trace_count(&t).n[TR_RUNNING];
		trace_text_free(&t);
	}
	OK(n > 0);
	__atomic_store_n(&turns_over, 1, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&wg);
}
