/* SPDX-License-Identifier: MIT */
/*
 * Traces without a change of the program: by the environment, on a signal, at
 * a stall, in a crash. See weft/trace.h.
 */
#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug_env.h"
#include "end_signal.h"
#include "fatal.h"
#include "sched.h"
#include "start.h"

enum { PATH_BYTES = 256 };
#define MS INT64_C(1000000)
#define DAY_MS INT64_C(86400000)

/* Constant after boot. */
static char flight_path[PATH_BYTES];
static int64_t stall_ns;
static a64 end_at;		/* of the trace, by traceend; 0: never */

/* strerror allocates: not when the process dies. */
static const char *
reason(int err)
{
	if (!recorder_is_dying())
		return strerror(-err);
	return err == -ENOENT ? "no such directory" :
	    err == -EACCES ? "permission denied" :
	    err == -ENOSPC ? "no space left on the device" : "an error";
}

/* ---- names of files, options ---- */

/* %p becomes the id of the process. */
static void
expand(char to[PATH_BYTES], const char *from)
{
	size_t n = 0;

	for (; *from && n + 16 < PATH_BYTES; from++)
		if (from[0] == '%' && from[1] == 'p') {
			n += format(to + n, PATH_BYTES - n, "%d", getpid());
			from++;
		} else {
			to[n++] = *from;
		}
	to[n] = 0;
}

static void
env_options(weft_trace_options *o)
{
	*o = (weft_trace_options){
		.buffer = (size_t)debug_env_num("tracebytes", 0),
		.stack_interval = debug_env_num("tracestacks", 1) ? 0 : -1,
	};
}

/* ---- the helper ---- */

/* By the helper, on the signal: begins a trace, or ends it. */
static int
toggle(void)
{
	char path[PATH_BYTES];
	weft_trace_options o;
	uint64_t lost;

	if (recorder.mode == STREAM) {
		say("weft: the trace ends\n");
		return recorder_end(&lost);
	}
	env_options(&o);
	expand(path, "weft-%p.trace");
	say("weft: the trace %s begins\n", path);
	return recorder_begin_stream(&(struct trace_target){ .path = path },
	    &o);
}

/* The trace has ended: what was lost. */
static void
say_end(int err, uint64_t lost)
{
	if (err)
		say("weft: the trace is incomplete: %s\n", reason(err));
	else if (lost)
		say("weft: %ld events of the trace were lost\n", (long)lost);
}

/* What it was asked for, if it can be done. */
void
recorder_serve(uint32_t asked)
{
	bool flight = recorder.mode == FLIGHT && flight_path[0];
	uint64_t lost = 0;
	int err = 0;

	if (asked & ASK_END && recorder.mode == STREAM)
		say_end(recorder_end(&lost), lost);
	if (asked & ASK_WRITE && flight)
		err = recorder_write_flight(&(struct trace_target){
		    .path = flight_path });
	else if (asked & ASK_TOGGLE)
		err = toggle();
	if (err)
		say("weft: the trace cannot be written%s%s: %s\n",
		    flight ? " to " : "", flight ? flight_path : "",
		    reason(err));
	else if (asked & ASK_WRITE && flight)
		say("weft: the flight recorder has written %s\n", flight_path);
}

/* ---- stalls ---- */

struct progress { uint64_t switches; int64_t since; };

/*
 * True if a goroutine has been queued for stall_ns on
 * some P, or for all, and that P has run none meanwhile.
 */
static bool
is_stalled(struct progress *was, struct p *pp, int64_t now)
{
	uint64_t switches = a_load_relaxed(&pp->stats.switches);

	if (switches != was->switches || (runq_empty(&pp->q) &&
	    !globq_len(&sched.globq))) {
		was->switches = switches;
		was->since = now;
	}
	return now - was->since >= stall_ns;
}

/* Asks for the file at the first stall: a later one would replace it. */
static void
watch_stalls(void)
{
	static struct progress was[PROCS_MAX];
	static bool reported;
	uint32_t procs = a_load_relaxed(&sched.procs);
	int64_t now = os_now_ns();

	for (uint32_t i = 0; i < procs && !reported; i++) {
		if (!was[i].since)
			was[i].since = now;
		if (!p_at(i) || !is_stalled(&was[i], p_at(i), now))
			continue;
		reported = true;
		say("weft: processor %u has run no other goroutine for %ld "
		    "ms, and some wait\n", i, (long)((now - was[i].since) /
		    MS));
		a_or_relaxed(&recorder.asked, ASK_WRITE);
	}
}

/* When the trace of the environment has had its time: how long until then. */
static int64_t
watch_end(void)
{
	int64_t end = (int64_t)a_load_relaxed(&end_at), left;

	if (!end)
		return FOREVER;
	left = os_left_ns(end);
	if (left)
		return left;
	a_store_relaxed(&end_at, 0);
	a_or_relaxed(&recorder.asked, ASK_END);
	return 0;
}

int64_t
recorder_watch(void)
{
	int64_t left = watch_end(), every = stall_ns / 4 + 1;

	if (!stall_ns)
		return left;
	watch_stalls();
	return left == FOREVER || left > every ? every : left;
}

/* ---- a signal ---- */

static void
ask(uint32_t what)
{
	a_or_relaxed(&recorder.asked, what);
	recorder_poke();
}

static void
on_trace_signal(int sig)
{
	(void)sig;
	ask(flight_path[0] ? ASK_WRITE : ASK_TOGGLE);
}

static int
catch_signal(int sig)
{
	struct sigaction sa = { .sa_flags = SA_RESTART | SA_ONSTACK };

	sa.sa_handler = on_trace_signal;
	sigfillset(&sa.sa_mask);
	return sigaction(sig, &sa, NULL);
}

static void
complain(const char *key, const char *value, int err)
{
	if (err)
		say("weft: WEFT_DEBUG: %s=%s: %s\n", key, value, reason(err));
}

/* Could a file of that name be written? 0 or -errno. */
static int
try_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	char folder[PATH_BYTES] = ".";

	if (access(path, F_OK) == 0)
		return access(path, W_OK) == 0 ? 0 : -errno;
	if (n) {
		memcpy(folder, path, n);
		folder[n] = 0;
	}
	return access(folder, W_OK | X_OK) == 0 ? 0 : -errno;
}

static void
boot_flight(const weft_trace_options *o)
{
	char value[PATH_BYTES];

	if (!debug_env("flight", value, sizeof value))
		return;
	expand(flight_path, value[0] ? value : "weft-%p.trace");
	stall_ns = debug_env_num("stall", 0);
	stall_ns = (stall_ns < 0 ? 0 : stall_ns < DAY_MS ? stall_ns : DAY_MS) *
	    MS;
	complain("flight", flight_path, try_path(flight_path));
	complain("flight", flight_path, weft_trace_flight(o, sizeof *o));
}

static void
boot_signal(void)
{
	int64_t sig = debug_env_num("tracesig", 0);
	int err;

	if (!sig)
		return;
	lock_take(&recorder.lock);
	err = recorder_start_helper();
	lock_drop(&recorder.lock);
	if (!err && (sig < 0 || sig > SIGRTMAX || catch_signal((int)sig) != 0))
		err = -EINVAL;
	if (err)
		say("weft: WEFT_DEBUG: tracesig=%ld: %s\n", (long)sig,
		    reason(err));
}

/* Before the helper first watches. */
static void
set_end(void)
{
	int64_t ms = debug_env_num("traceend", 0);

	if (ms > 0 && ms < DAY_MS)
		a_store_relaxed(&end_at, (uint64_t)(os_now_ns() + ms * MS));
}

/* A signal ends the process. */
static void
end_by_signal(void)
{
	uint64_t lost = 0;

	lock_take(&recorder.lock);
	if (recorder.mode == STREAM)
		say_end(recorder_end(&lost), lost);
	lock_drop(&recorder.lock);
}

static void
boot_trace(const weft_trace_options *o)
{
	char value[PATH_BYTES], path[PATH_BYTES];
	int err;

	if (!debug_env("trace", value, sizeof value))
		return;
	if (flight_path[0]) {
		say("weft: WEFT_DEBUG: trace is ignored: it and flight exclude "
		    "each other\n");
		return;
	}
	expand(path, value[0] ? value : "weft-%p.trace");
	set_end();
	err = weft_trace_start(path, o, sizeof *o);
	complain("trace", path, err);
	if (!err)
		end_signal_add(end_by_signal);
}

static void
boot(void)
{
	weft_trace_options o;

	env_options(&o);
	boot_flight(&o);
	boot_trace(&o);
	boot_signal();
}

/* The main goroutine has returned: the process may end any moment. */
static void
at_end(void)
{
	uint64_t lost = 0;
	int err;

	recorder_lock();
	err = recorder_unlock(recorder.mode == STREAM ? recorder_end(&lost) :
	    0);
	say_end(err, lost);
}

/* The child has no helper, and the file is its parent's. */
static void
forked(void)
{
	recorder.lock = (struct lock)LOCK_INIT(RANK_TRACE_FILE);
	if (recorder.mode == STREAM)
		close(recorder.out.fd);
	recorder.mode = OFF;
	recorder.has_helper = false;
	a_store_relaxed(&recorder.waiting, 0);
}

/* ---- dying ---- */

/* Takes a lock for good, which another thread may hold for a moment. */
static bool
seize(struct lock *l)
{
	for (int i = 0; i < 100; i++) {
		if (lock_seize(l))
			return true;
		os_sleep_ns(MS);
	}
	return false;
}

/*
 * The process dies on this thread, the others go on. What the recorder has is
 * written, unless a lock is not to be had: its owner may be this thread.
 */
static void
write_last(void)
{
	uint64_t lost;

	if (!trace_on() || recorder_is_dying() || !seize(&recorder.lock) ||
	    !seize(&trace.lock))
		return;
	a_store_relaxed(&recorder_dying, true);
	if (recorder.mode == STREAM)
		recorder_end(&lost);
	else if (flight_path[0])
		recorder_serve(ASK_WRITE);
}

/* exit() was called, maybe by a goroutine that waits for none of us. */
static void
at_exit(void)
{
	if (recorder.mode == STREAM)
		write_last();
}

static struct run_hook hook = { .boot = boot, .end = at_end,
				.forked = forked };

__attribute__((constructor)) static void
add_hook(void)
{
	run_hook_add(&hook);
	fatal_last = write_last;
	atexit(at_exit);
}
