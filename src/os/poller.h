/* SPDX-License-Identifier: MIT */
/*
 * The poller: the kernel reports which descriptors became ready. There is one
 * for the process. This header is all that the rest of the library knows of
 * it, so another backend (io_uring, kqueue) replaces one file, epoll.c.
 *
 * It is edge-triggered: an event says that something has changed since the
 * last one, in one direction or both. There may be spurious events; none is
 * missing. Each has the tag with which the descriptor was added. The kernel
 * removes a file from the set when its last descriptor is closed; an event
 * that a thread has fetched before may still arrive, with the old tag.
 */
#ifndef POLLER_H
#define POLLER_H

#include "defs.h"

enum {
	POLLER_IN = 1,		/* there may be something to read, or the end */
	POLLER_OUT = 2,		/* there may be room to write */
	POLLER_HUP = 4,		/* the peer has closed, or an error */
	POLLER_URGENT = 8,	/* out-of-band data */
	POLLER_MAX = 128	/* events fetched at a time */
};

struct poller_event {
	uint64_t tag;
	uint32_t what;		/* POLLER_ bits */
};

/* Once, before anything else. 0 or -errno. */
int os_poller_open(void);
/*
 * In the child of a fork: the poller is shared with the parent, and removing a
 * descriptor here would remove it there, too. After this call a new one can be
 * opened.
 */
void os_poller_close(void);

/* While it is open: the numbers of its own descriptors. */
void os_poller_fds(int fd[2]);
/*
 * Does not return if the program has closed one of these. The calls below
 * notice it as well, unless the number is in use for another file by now.
 */
void os_poller_check(void);

/*
 * From now on changes of fd are reported, both directions; if it is ready
 * already that is the first event. Any tag but UINT64_MAX. Returns 0; -EPERM:
 * a file that cannot be polled; -EEXIST: it was added before; -EBADF, -ENOMEM,
 * -ENOSPC.
 */
int os_poller_add(int fd, uint64_t tag);
/* Ends that. 0, or -errno, which callers may ignore. */
int os_poller_remove(int fd);
/*
 * Changes the tag of fd, which is reported again if it is ready. Returns 0;
 * -ENOENT: it was not added; -EPERM, -EBADF.
 */
int os_poller_retag(int fd, uint64_t tag);
/* Is that number still the file that was added? */
bool os_poller_has(int fd);

/*
 * Fetches at most POLLER_MAX events and returns how many. Sleeps for at most
 * timeout_ns (FOREVER: no limit; 0: does not sleep) until there is an event or
 * os_poller_wake is called. Any number of threads at a time: each event, and
 * each wake-up, goes to one of them. *woken: it was a wake-up.
 */
int os_poller_wait(struct poller_event *out, int64_t timeout_ns, bool *woken);
/*
 * Wakes the thread that sleeps in os_poller_wait, or else the next one that
 * would sleep. A call with timeout 0 may consume the wake-up before: then its
 * caller must wake again. Any thread.
 */
void os_poller_wake(void);

#endif
