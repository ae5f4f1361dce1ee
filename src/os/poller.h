/* SPDX-License-Identifier: MIT */
/*
 * The poller: the kernel tells which descriptors became ready. One for the
 * process. This is all that the rest of the library knows of it, so another
 * backend (io_uring, kqueue) replaces one file, epoll.c.
 *
 * Edge triggered: an event says that something has changed since the last one,
 * in one direction or both; it may say so too often, never too seldom. Each
 * comes with the tag that the descriptor was added with. A descriptor that is
 * closed is forgotten by the kernel when the last copy of it is closed; events
 * that somebody has fetched already may still arrive, with the old tag.
 */
#ifndef POLLER_H
#define POLLER_H

#include "defs.h"

enum {
	POLLER_IN = 1,		/* there may be something to read, or the end */
	POLLER_OUT = 2,		/* there may be room to write */
	POLLER_HUP = 4,		/* the other end has gone, or an error */
	POLLER_URGENT = 8,	/* out of band */
	POLLER_MAX = 128	/* events fetched at a time */
};

struct poller_event {
	uint64_t tag;
	uint32_t what;		/* POLLER_ bits */
};

/* Once, before anything else. 0 or -errno. */
int os_poller_open(void);
/*
 * In the child of a fork: it is shared with the parent, where a descriptor that
 * is removed here would be removed, too. After this it can be opened anew.
 */
void os_poller_close(void);

/* While it is open: the numbers of its own descriptors. */
void os_poller_fds(int fd[2]);
/*
 * Does not return if the program has closed one of these. The calls below find
 * out as well, unless it is somebody else's number by now.
 */
void os_poller_check(void);

/*
 * From now on changes of fd are reported, both directions; if it is ready
 * already that is the first one. Any tag but WAKE_TAG. 0; -EPERM: nothing
 * that can be waited for; -EEXIST: is added already; -EBADF, -ENOMEM, -ENOSPC.
 */
int os_poller_add(int fd, uint64_t tag);
/* Not any more: 0, or -errno which does not matter. */
int os_poller_remove(int fd);
/*
 * One that is added gets this tag, and is reported again if it is ready. 0;
 * -ENOENT: it is not; -EPERM, -EBADF.
 */
int os_poller_retag(int fd, uint64_t tag);
/* Is that number still what was added? */
bool os_poller_has(int fd);

/*
 * Fetches at most POLLER_MAX events. Sleeps for at most timeout_ns (FOREVER: no
 * limit) until there is one, or until a break; 0: does not sleep. Returns how
 * many. Any number of threads at a time: each event, and each break, is for
 * the one that fetches it. *broken: there was a break.
 */
int os_poller_wait(struct poller_event *out, int64_t timeout_ns, bool *broken);
/*
 * Ends a sleep that is going on, or else the next one; but one who does not
 * sleep may fetch it before: he must see to it, then. Any thread.
 */
void os_poller_wake(void);

#endif
