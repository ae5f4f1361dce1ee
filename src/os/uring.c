/* SPDX-License-Identifier: MIT */
/*
 * See uring.h. What the kernel's header says is spelt out: it is not there
 * with every libc.
 *
 * No flags of io_uring_setup. SINGLE_ISSUER and DEFER_TASKRUN demand that one
 * thread submits and reaps, and COOP_TASKRUN completes an operation only when
 * its submitter enters the kernel: but any thread must be able to go on with
 * the operations of a P whose goroutine loops. SQPOLL costs a thread that
 * spins.
 */
#include "uring.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "fdcall.h"
#include "os.h"
#include "valgrind.h"

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#endif

enum {
	SUBMISSIONS = 4,	/* one at a time; and a cancellation */
	SETUP_CQSIZE = 8,
	OFFSET_RINGS = 0,
	OFFSET_SQES = 0x10000000,
	CANCEL_ALL_OF_ANY = 1 | 4,
	DONT_FORK = 10,		/* MADV_DONTFORK */
	/* both queues in one mapping; completions are never dropped; an
	 * operation is read when it is submitted; workers are threads of the
	 * process (5.12) */
	NEEDED = 1 | 2 | 4 | 512
};

struct uring_sqe {
	uint8_t opcode, flags;
	uint16_t ioprio;
	int32_t fd;
	uint64_t offset, address;
	uint32_t bytes, op_flags;
	uint64_t tag, unused[3];
};
_Static_assert(sizeof(struct uring_sqe) == 64, "the kernel's");
_Static_assert(sizeof(struct uring_done) == 16, "the kernel's");

struct params {
	uint32_t sq_entries, cq_entries, flags, sq_cpu, sq_idle, features,
	    wq_fd, unused[3];
	struct {
		uint32_t head, tail, mask, entries, flags, dropped, array, un;
		uint64_t user;
	} sq;
	struct {
		uint32_t head, tail, mask, entries, overflow, cqes, flags, un;
		uint64_t user;
	} cq;
};
_Static_assert(sizeof(struct params) == 120, "the kernel's");

static void *
map_ring(int fd, size_t bytes, long offset)
{
	long r = syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, fd, offset);

	if (r < 0 && r > -PAGE)
		return NULL;
	/* A child would write into its parent's queues. */
	if (syscall6(SYS_madvise, r, (long)bytes, DONT_FORK, 0, 0, 0) == 0)
		return (void *)r;
	os_unmap((void *)r, bytes);
	return NULL;
}

static int
map_all(struct uring *u, const struct params *p)
{
	size_t sq = p->sq.array + p->sq_entries * sizeof(uint32_t);
	size_t cq = p->cq.cqes + p->cq_entries * sizeof *u->done;
	uint32_t *array;

	u->map_bytes = sq > cq ? sq : cq;
	u->sqe_bytes = p->sq_entries * sizeof *u->sqe;
	u->map = map_ring(u->fd, u->map_bytes, OFFSET_RINGS);
	u->sqe = map_ring(u->fd, u->sqe_bytes, OFFSET_SQES);
	if (!u->map || !u->sqe)
		return -ENOMEM;
	u->sq_head = (a32 *)(void *)(u->map + p->sq.head);
	u->sq_tail = (a32 *)(void *)(u->map + p->sq.tail);
	u->cq_head = (a32 *)(void *)(u->map + p->cq.head);
	u->cq_tail = (a32 *)(void *)(u->map + p->cq.tail);
	u->done = (struct uring_done *)(void *)(u->map + p->cq.cqes);
	u->sq_mask = p->sq_entries - 1;
	u->cq_mask = p->cq_entries - 1;
	u->entries = p->cq_entries;
	array = (uint32_t *)(void *)(u->map + p->sq.array);
	for (uint32_t i = 0; i < p->sq_entries; i++)
		array[i] = i;
	return 0;
}

/* A kernel or an emulator may have the calls, and not what they are for. */
static int
try_nop(struct uring *u)
{
	struct uring_op nop = { .what = URING_NOP, .fd = -1, .tag = 7 };
	struct uring_done done;
	int err = os_uring_submit(u, &nop);

	if (err)
		return err;
	return os_uring_take(u, &done) && done.tag == nop.tag &&
	    done.result == 0 ? 0 : -ENOSYS;
}

int
os_uring_open(struct uring *u, uint32_t entries)
{
	struct params p = { .flags = SETUP_CQSIZE, .cq_entries = entries };
	long fd;
	int err;

	*u = (struct uring){ .fd = -1 };
	if (vg_running())
		return -ENOSYS;
	fd = syscall6(SYS_io_uring_setup, SUBMISSIONS, (long)&p, 0, 0, 0, 0);
	if (fd < 0)
		return (int)fd;
	u->fd = (int)os_fd_move_high(fd);
	err = (p.features & NEEDED) == NEEDED ? map_all(u, &p) : -ENOSYS;
	if (!err)
		err = try_nop(u);
	if (err)
		os_uring_close(u);
	return err;
}

void
os_uring_close(struct uring *u)
{
	if (u->map)
		os_unmap(u->map, u->map_bytes);
	if (u->sqe)
		os_unmap(u->sqe, u->sqe_bytes);
	fd_close(u->fd);
}

/* ---- submitting ---- */

static void
fill(struct uring_sqe *s, const struct uring_op *op)
{
	*s = (struct uring_sqe){
		.opcode = (uint8_t)op->what,
		.fd = op->fd,
		.address = (uintptr_t)op->buf,
		.offset = op->offset,
		.bytes = op->bytes,
		.op_flags = op->what == URING_CANCEL_ALL ?
		    CANCEL_ALL_OF_ANY : 0,
		.tag = op->tag
	};
}

/*
 * The kernel reads the queue in this call only. If it took nothing (no memory;
 * or the program has closed our descriptor, and it is none, or another one
 * now), the entry is taken back.
 */
int
os_uring_submit(struct uring *u, const struct uring_op *op)
{
	uint32_t tail = a_load_relaxed(u->sq_tail);
	long n;

	fill(&u->sqe[tail & u->sq_mask], op);
	a_store_rel(u->sq_tail, tail + 1);	/* pairs with the kernel */
	n = syscall6(SYS_io_uring_enter, u->fd, 1, 0, 0, 0, 0);
	/* pairs with the kernel: it has read the entry */
	if (likely(a_load_acq(u->sq_head) == tail + 1))
		return 0;
	a_store_relaxed(u->sq_tail, tail);
	return n < 0 ? (int)n : -EAGAIN;
}

/* ---- completions ---- */

bool
os_uring_take(struct uring *u, struct uring_done *out)
{
	uint32_t head = a_load_relaxed(u->cq_head);

	/* pairs with the kernel, which wrote the entry before */
	if (a_load_acq(u->cq_tail) == head)
		return false;
	*out = u->done[head & u->cq_mask];
	/* pairs with the kernel, which may write there again */
	a_store_rel(u->cq_head, head + 1);
	return true;
}

void
os_uring_wait(struct uring *u, int64_t timeout_ns)
{
	struct pollfd p = { .fd = u->fd, .events = POLLIN };
	struct timespec ts = { timeout_ns / 1000000000,
	    timeout_ns % 1000000000 };

	syscall6(SYS_ppoll, (long)&p, 1, (long)&ts, 0, 0, 0);
}
