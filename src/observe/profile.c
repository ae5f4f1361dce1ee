/* SPDX-License-Identifier: MIT */
/*
 * The interface of profiles, and WEFT_DEBUG's keys for them:
 *
 *	cpuprofile=FILE		from the start to the end of the process
 *	cpuprofilehz=N		100 if it is not there
 *	cpuprofilethreads=1	other threads than the runtime's, too
 *	blockprofile=FILE, blockprofilerate=NS (10000)
 *	offcpuprofile=FILE, offcpuprofilerate=NS (10000)
 *	mutexprofile=FILE, mutexprofilefraction=N (1)
 *
 * Files are written by exit(), or when a signal ends the process (see
 * end_signal.c), folded if they are named so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debug_env.h"
#include "end_signal.h"
#include "fatal.h"
#include "profile_cpu.h"
#include "profile_goroutine.h"
#include "profile_wait.h"
#include "profile_write.h"
#include "start.h"
#include "weft.h"

enum { PATH_BYTES = 1024, DEFAULT_RATE_NS = 10000 };

int64_t
profile_time_of_day(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

public int
weft_profile_cpu_start(int hz, unsigned flags)
{
	return profile_cpu_start(hz, flags, NULL);
}

public int
weft_profile_cpu_stop(void)
{
	return profile_cpu_stop();
}

public int
weft_profile_block_rate(int64_t ns)
{
	return profile_wait_set(WAITS_BLOCK, ns);
}

public int
weft_profile_offcpu_rate(int64_t ns)
{
	return profile_wait_set(WAITS_OFFCPU, ns);
}

public int
weft_profile_mutex_fraction(int n)
{
	return profile_wait_set(WAITS_MUTEX, n);
}

/* ---- writing ---- */

static int
open_profile(weft_profile what, struct profile_file *f)
{
	switch (what) {
	case WEFT_PROFILE_CPU:
		return profile_cpu_open(f);
	case WEFT_PROFILE_GOROUTINE:
		return profile_goroutine_open(f);
	case WEFT_PROFILE_BLOCK:
		return profile_wait_file(WAITS_BLOCK, f);
	case WEFT_PROFILE_MUTEX:
		return profile_wait_file(WAITS_MUTEX, f);
	case WEFT_PROFILE_OFFCPU:
		return profile_wait_file(WAITS_OFFCPU, f);
	}
	return -EINVAL;
}

static void
close_profile(weft_profile what, struct profile_file *f)
{
	if (what == WEFT_PROFILE_CPU)
		profile_cpu_close();
	else if (what == WEFT_PROFILE_GOROUTINE)
		profile_goroutine_close(f);
}

public int
weft_profile_write(weft_profile what, int fd, weft_profile_format format)
{
	struct profile_file f;
	int err;

	if (format != WEFT_PROFILE_PPROF && format != WEFT_PROFILE_FOLDED)
		return -EINVAL;
	err = open_profile(what, &f);
	if (err)
		return err;
	err = format == WEFT_PROFILE_FOLDED ? profile_write_folded(&f, fd) :
	    profile_write_pprof(&f, fd);
	close_profile(what, &f);
	return err;
}

static weft_profile_format
format_of(const char *path)
{
	static const char suffix[] = ".folded";
	size_t n = strlen(path), k = sizeof suffix - 1;

	return n > k && strcmp(path + n - k, suffix) == 0 ?
	    WEFT_PROFILE_FOLDED : WEFT_PROFILE_PPROF;
}

public int
weft_profile_save(weft_profile what, const char *path)
{
	int fd, err;

	if (!path || !*path)
		return -EINVAL;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	err = weft_profile_write(what, fd, format_of(path));
	if (close(fd) != 0 && !err)
		err = -errno;
	return err;
}

/* ---- WEFT_DEBUG ---- */

/* Set before the first goroutine runs, used by exit(). */
static struct asked {
	const char *key;
	weft_profile what;
	char path[PATH_BYTES];
} asked[] = {
	{ "cpuprofile", WEFT_PROFILE_CPU, "" },
	{ "blockprofile", WEFT_PROFILE_BLOCK, "" },
	{ "mutexprofile", WEFT_PROFILE_MUTEX, "" },
	{ "offcpuprofile", WEFT_PROFILE_OFFCPU, "" },
};
static pid_t asked_by;		/* 0: exit() does nothing */

static void
save_asked(void)
{
	/* The child of a fork has no threads to have collected anything. */
	if (asked_by != getpid())
		return;
	profile_cpu_stop();
	for (size_t i = 0; i < countof(asked); i++) {
		int err = 0;

		if (asked[i].path[0])
			err = weft_profile_save(asked[i].what, asked[i].path);
		if (err)
			say("weft: %s: cannot write %s: %s\n", asked[i].key,
			    asked[i].path, strerror(-err));
	}
}

static int
begin(weft_profile what)
{
	switch (what) {
	case WEFT_PROFILE_CPU:
		return profile_cpu_start((int)debug_env_num("cpuprofilehz", 0),
		    debug_env_num("cpuprofilethreads", 0) ?
		    WEFT_PROFILE_THREADS : 0, NULL);
	case WEFT_PROFILE_BLOCK:
		return profile_wait_set(WAITS_BLOCK,
		    debug_env_num("blockprofilerate", DEFAULT_RATE_NS));
	case WEFT_PROFILE_MUTEX:
		return profile_wait_set(WAITS_MUTEX,
		    debug_env_num("mutexprofilefraction", 1));
	default:
		return profile_wait_set(WAITS_OFFCPU,
		    debug_env_num("offcpuprofilerate", DEFAULT_RATE_NS));
	}
}

static void
boot(void)
{
	for (size_t i = 0; i < countof(asked); i++) {
		struct asked *a = &asked[i];
		int err;

		if (!debug_env(a->key, a->path, sizeof a->path) || !a->path[0])
			continue;
		err = begin(a->what);
		if (err) {
			say("weft: WEFT_DEBUG: %s cannot begin: %s%s\n", a->key,
			    strerror(-err), err == -EINVAL ?
			    " (see its rate)" : "");
			a->path[0] = '\0';
		} else if (!asked_by && atexit(save_asked) == 0) {
			asked_by = getpid();
			end_signal_add(save_asked);
		}
	}
}

__attribute__((constructor)) static void
hook(void)
{
	static struct run_hook h = { .boot = boot };

	run_hook_add(&h);
}
