/* SPDX-License-Identifier: MIT */
/*
 * Hooks: libraries that know nothing of weft park goroutines where they would
 * block threads. Not part of weft.h; see docs/hooks.md.
 *
 * A program that is linked with libweft-hooks, or started with it in
 * LD_PRELOAD, has its own and its libraries' calls of read, recv, poll,
 * connect, nanosleep, pthread_mutex_lock and others go through this library.
 * On a goroutine that would have to wait, they park it; everywhere else they
 * are the system's. Nothing needs to be called for that.
 */
#ifndef WEFT_HOOKS_H
#define WEFT_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From off to on the hooked calls of this goroutine are the system's: they
 * block its thread. They nest; an on without an off does nothing, and neither
 * do both on another thread. off: 0, or -ENOMEM, and then it has no effect.
 */
int weft_hooks_off(void);
void weft_hooks_on(void);

/*
 * Values of pthread keys belong to the goroutine, not to its thread, if the key
 * was made by a module that is known to bear that: libcrypto, and those that
 * are named here. `pattern` is the beginning of a file name, such as
 * "libldap"; it must stay valid. Call it before the module makes its keys. 0;
 * -ENOSPC: there are too many (more than 14). WEFT_HOOKS_KEYS in the
 * environment names more, separated by commas.
 */
int weft_hooks_own_keys(const char *pattern);

/* What was counted since the start. */
typedef struct weft_hooks_stats {
	uint64_t parks;		/* waits for descriptors that parked */
	uint64_t sleeps;	/* sleeps that parked */
	uint64_t announced;	/* calls that blocked their thread, announced */
	uint64_t lock_parks;	/* waits for pthread locks that parked */
	uint64_t lock_blocks;	/* ... that blocked their thread, announced */
	uint64_t held_parks;	/* parks with the thread held, by a pthread lock
				 * or else: these keep a thread each while they
				 * last */
	uint64_t kept_threads;	/* parks that kept their thread since the caller
				 * has thread-local variables */
	uint64_t values;	/* of pthread keys that goroutines have now */
} weft_hooks_stats;

/* As weft_stats_read. */
void weft_hooks_stats_read(weft_hooks_stats *out, size_t bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_HOOKS_H */
