/* SPDX-License-Identifier: MIT */
/*
 * A ring of operations that the kernel does by itself (io_uring), by raw system
 * calls. The kernel and the program share two queues in memory: submissions,
 * of which the program writes the tail, and completions, of which it writes the
 * head. Each side that the program writes has one writer at a time: the caller
 * sees to it, with a lock for each (poll/ring.c).
 *
 * The kernel may refuse a ring: it is older than 5.12, a filter of system calls
 * (of a container) forbids it, or kernel.io_uring_disabled is set.
 */
#ifndef URING_H
#define URING_H

#include "atomic.h"
#include "defs.h"

enum uring_what {
	URING_NOP = 0,
	URING_CANCEL_ALL = 14,	/* Linux 5.19 */
	URING_READ = 22
};

/* An operation on a descriptor. */
struct uring_op {
	enum uring_what what;
	int fd;
	void *buf;
	uint32_t bytes;
	uint64_t offset;
	uint64_t tag;		/* of its completion */
};

struct uring_done {
	uint64_t tag;
	int32_t result;		/* or -errno */
	uint32_t flags;
};

struct uring {
	/* constant after os_uring_open */
	int fd;
	uint32_t entries;	/* so many completions have room */
	uint32_t sq_mask, cq_mask;
	size_t map_bytes, sqe_bytes;
	char *map;		/* both queues */
	struct uring_sqe *sqe;
	struct uring_done *done;
	/* written by the kernel but for sq_tail and cq_head */
	a32 *sq_head, *sq_tail, *cq_head, *cq_tail;
};

/*
 * Makes a ring with room for so many completions, of which a NOP has shown that
 * it works: 0 or -errno. It is not there in the child of a fork.
 */
int os_uring_open(struct uring *u, uint32_t entries);
void os_uring_close(struct uring *u);

/*
 * Gives the kernel one operation: 0; or -errno, and it does not have it. When
 * it has it, its memory is the kernel's until the completion. The caller keeps
 * other submitters out, and submits no more than there is room for.
 */
int os_uring_submit(struct uring *u, const struct uring_op *op);

/* Are there completions? Any thread. */
static inline bool
os_uring_has_done(const struct uring *u)
{
	return a_load_relaxed(u->cq_tail) != a_load_relaxed(u->cq_head);
}

/* Takes a completion: false if there is none. The caller keeps others out. */
bool os_uring_take(struct uring *u, struct uring_done *out);
/* Waits until there is one, or for so long. */
void os_uring_wait(struct uring *u, int64_t timeout_ns);

#endif
