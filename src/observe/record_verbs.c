/* SPDX-License-Identifier: MIT */
/*
 * Verbs of the debug socket whose answer is a file for a tool:
 *
 *	profile [cpu] [SECONDS] [folded]	of the next seconds: 5
 *	profile goroutine | block | mutex | offcpu [folded]
 *						of what was collected until now
 *	trace [SECONDS]				of the next second
 *	trace, while the flight recorder is on	what it has
 *
 * What is recorded for a request ends early if its client goes away or the
 * socket is closed; and if the program ends it, which may record for itself
 * then. The program and another request can record meanwhile only what this
 * does not: "busy" otherwise.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "debug_verb.h"
#include "os.h"
#include "profile_cpu.h"
#include "rawcall.h"
#include "recorder.h"
#include "weft.h"

enum { WORD_BYTES = 16, SECONDS_MAX = 600 };

#define SECOND_NS INT64_C(1000000000)
#define LOOK_NS INT64_C(200000000)

/* ---- words ---- */

/* The next word of a line; false at its end, or if it is too long to be any. */
static bool
take_word(const char **line, char word[WORD_BYTES])
{
	size_t n;

	*line += strspn(*line, " ");
	n = strcspn(*line, " ");
	if (n == 0 || n >= WORD_BYTES)
		return false;
	memcpy(word, *line, n);
	word[n] = 0;
	*line += n;
	return true;
}

/*
 * Seconds, as 2 or 0.5: nanoseconds, or 0 if it is no such number. Not by
 * strtod, to which 0.5 is one in some languages only.
 */
static int64_t
take_seconds(const char *word)
{
	int64_t ns = 0, digit_ns = SECOND_NS;

	for (; *word >= '0' && *word <= '9' && ns <= SECONDS_MAX * SECOND_NS;
	    word++)
		ns = ns * 10 + (*word - '0') * SECOND_NS;
	if (*word == '.')
		while (*++word >= '0' && *word <= '9')
			ns += (*word - '0') * (digit_ns /= 10);
	return *word || ns > SECONDS_MAX * SECOND_NS ? 0 : ns;
}

/* ---- recording for a while ---- */

static bool
has_left(int fd, int64_t ns)
{
	struct pollfd p = { .fd = fd };
	struct timespec ts = { ns / SECOND_NS, ns % SECOND_NS };

	/* No event is asked for: what comes is a hang-up or an error. */
	return syscall6(SYS_ppoll, (long)&p, 1, (long)&ts, 0, 0, 0) > 0;
}

/* Until so much time is over, or there is no client for it. */
static void
wait_for_client(int fd, int64_t ns)
{
	int64_t until = os_now_ns() + ns, left;

	while ((left = until - os_now_ns()) > 0 && weft_debug_path())
		if (has_left(fd, left < LOOK_NS ? left : LOOK_NS))
			return;
}

/* ---- profile ---- */

struct wanted {
	weft_profile what;
	weft_profile_format format;
	int64_t ns;
};

static const char *const profiles[] = {
	[WEFT_PROFILE_CPU] = "cpu",
	[WEFT_PROFILE_GOROUTINE] = "goroutine",
	[WEFT_PROFILE_BLOCK] = "block",
	[WEFT_PROFILE_MUTEX] = "mutex",
	[WEFT_PROFILE_OFFCPU] = "offcpu",
};

static bool
take_profile(struct wanted *w, const char *word)
{
	for (size_t i = 0; i < countof(profiles); i++)
		if (strcmp(word, profiles[i]) == 0) {
			w->what = (weft_profile)i;
			return true;
		}
	if (strcmp(word, "folded") == 0)
		w->format = WEFT_PROFILE_FOLDED;
	else
		w->ns = take_seconds(word);
	return w->ns != 0;
}

static int
serve_profile(int fd, const char *words)
{
	struct wanted w = { WEFT_PROFILE_CPU, WEFT_PROFILE_PPROF,
	    5 * SECOND_NS };
	char word[WORD_BYTES];
	uint32_t number;
	int err = 0;

	while (take_word(&words, word))
		if (!take_profile(&w, word))
			return -EINVAL;
	if (*words)
		return -EINVAL;
	if (w.what == WEFT_PROFILE_CPU) {
		err = profile_cpu_start(0, 0, &number);
		if (err)
			return err;
		wait_for_client(fd, w.ns);
		profile_cpu_stop_one(number);
	}
	return weft_profile_write(w.what, fd, w.format);
}

/* ---- trace ---- */

/* The number of the trace that was begun, 0 if all is written, or -errno. */
static int64_t
begin_trace(int fd)
{
	struct trace_target to = { .socket = fd };
	weft_trace_options opt = {0};
	int64_t number = 0;
	int err;

	recorder_lock();
	if (recorder.mode == FLIGHT) {
		/* If it failed, a part of it was sent: no text follows. */
		err = recorder_write_flight(&to) ? -EPIPE : 0;
	} else {
		err = recorder_begin_stream(&to, &opt);
		number = recorder_number();
	}
	recorder_unlock(0);
	return err ? err : number;
}

static void
end_trace(uint32_t number)
{
	uint64_t lost;

	recorder_lock();
	if (recorder_number() == number)
		recorder_end(&lost);
	recorder_unlock(0);
}

static int
serve_trace(int fd, const char *words)
{
	char word[WORD_BYTES];
	int64_t ns = SECOND_NS, number;

	if (take_word(&words, word))
		ns = take_seconds(word);
	if (!ns || take_word(&words, word) || *words)
		return -EINVAL;
	number = begin_trace(fd);
	if (number < 0)
		return (int)number;
	if (number > 0) {
		wait_for_client(fd, ns);
		end_trace((uint32_t)number);
	}
	/* The child of a fork may have the recorder's descriptor of it. */
	syscall6(SYS_shutdown, fd, SHUT_RDWR, 0, 0, 0, 0);
	return 0;
}

static struct debug_verb verbs[] = {
	{ "profile", "cpu [SECONDS] [folded], goroutine, block, mutex, offcpu: "
	    "a profile", serve_profile, true, NULL },
	{ "trace", "[SECONDS]: an execution trace, or what the flight recorder "
	    "has", serve_trace, true, NULL },
};

__attribute__((constructor)) static void
add_verbs(void)
{
	for (size_t i = 0; i < countof(verbs); i++)
		debug_verb_add(&verbs[i]);
}
