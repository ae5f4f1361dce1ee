/* SPDX-License-Identifier: MIT */
/* See is_own_process in core.h. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sys/syscall.h>

#include "atomic.h"
#include "core.h"
#include "rawcall.h"

/* set by a constructor, and in the child of a fork */
static a64 own_pid;

/* libc may have it in memory, which the child of a vfork shares. */
static uint64_t
pid_now(void)
{
	return (uint64_t)syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

bool
is_own_process(void)
{
	return a_load_relaxed(&own_pid) == pid_now();
}

static void
note_pid(void)
{
	a_store_relaxed(&own_pid, pid_now());
}

__attribute__((__constructor__(102))) static void
watch_forks(void)
{
	note_pid();
	pthread_atfork(NULL, NULL, note_pid);
}
