/* SPDX-License-Identifier: MIT */
/*
 * Closing a descriptor, and noticing that it was closed externally. See desc.h
 * for which call closes the fd, and when.
 */
#include "desc.h"

#include <errno.h>
#include <fcntl.h>

#include "blocking.h"
#include "fatal.h"
#include "fdcall.h"
#include "hard.h"
#include "netpoll.h"
#include "os.h"
#include "poller.h"
#include "readable.h"
#include "sched.h"
#include "tsan_io.h"

enum {				/* while the kernel closes it */
	FEW_LOOKS = 100,
	MANY_LOOKS = 200,
	LOOK_NS = 50 * 1000,
	LOOK_SLOWLY_NS = 1000 * 1000
};

/* Lock held: clears the record, limits included. */
static void
forget_all(struct desc *d)
{
	desc_end_limits(d);
	desc_clear(d);
}

/*
 * Usually some microseconds. But a file may have to be written out first, maybe
 * over a network: then the P is given up.
 */
cold bool
desc_wait_closed(struct desc *d)
{
	uint32_t refs;

	/* pairs with release_fd */
	for (int i = 0; (refs = a_load_acq(&d->refs)) & CLOSED; i++) {
		if (i < FEW_LOOKS) {
			os_thread_yield();
			continue;
		}
		blocking_enter((const void *)(uintptr_t)desc_wait_closed);
		os_sleep_ns(i < MANY_LOOKS ? LOOK_NS : LOOK_SLOWLY_NS);
		blocking_leave();
	}
	return !(refs & CLOSING);
}

/* Lock held: a generation ends. Its waiters get -EBADF. */
static void
end_life(struct desc *d, struct glist *woken)
{
	a_store_relaxed(&d->gen, a_load_relaxed(&d->gen) + 1);
	desc_wake(d, DIR_IN, false, woken);
	desc_wake(d, DIR_OUT, false, woken);
	readable_start(d, true, woken);
}

/*
 * Lock held. The fd is closed. A call that got the number from the kernel while
 * we were still closing may have noted that (desc_new_fd): then the generation
 * is another one.
 */
static void
release_fd(struct desc *d, uint32_t gen)
{
	if (a_load_relaxed(&d->gen) == gen)
		/* pairs with desc_enter and desc_wait_closed */
		a_add_acqrel(&d->refs, -(CLOSING | CLOSED));
}

/* Closes it. Right after that calls may be waiting (desc_wait_closed). */
static int
close_and_release(struct desc *d, uint32_t gen)
{
	int result = (int)tsan_io_close(d->fd);

	hard_pause();
	lock_take(&d->lock);
	release_fd(d, gen);
	lock_drop(&d->lock);
	return result;
}

/*
 * A blocking call: it may take long. To get a P again may, too, so that comes
 * after the release: another thread may have the number for a new file already,
 * and wait for us.
 */
static int
close_file(struct desc *d, uint32_t gen)
{
	int result;

	blocking_enter((const void *)(uintptr_t)close_file);
	result = close_and_release(d, gen);
	blocking_leave();
	return result;
}

/*
 * CLOSED is set, by us. The record is cleared before the fd is closed: right
 * after that it may be another file. A call that comes while the kernel closes
 * it waits (see desc_wait_closed): if it used the old fd now it could go on
 * with the new file, and a second close would close that.
 */
static int
close_fd(struct desc *d)
{
	bool file = a_load_relaxed(&d->kind) == KIND_FILE;
	uint32_t gen;
	int result;

	lock_take(&d->lock);
	gen = a_load_relaxed(&d->gen);
	forget_all(d);
	lock_drop(&d->lock);
	hard_pause();
	result = file ? close_file(d, gen) : close_and_release(d, gen);
	desc_release_contexts();
	return result;
}

/*
 * The last user of a descriptor that is CLOSING. A call that finds CLOSING
 * counts itself for a moment, too, hence the mark CLOSED: only one closes it.
 */
cold int
desc_last(struct desc *d)
{
	/* pairs with desc_leave */
	if (!a_cas_acqrel(&d->refs, CLOSING, CLOSING | CLOSED))
		return 0;
	return close_fd(d);
}

/* On Linux a close that is interrupted has closed. */
static int
closed(int result)
{
	return result == -EINTR ? 0 : result;
}

/*
 * Counted. Sets CLOSING: true if this call did, false if another one has or
 * the descriptor is the runtime's own.
 */
static bool
claim_close(struct desc *d)
{
	uint32_t refs;

	for (;;) {
		refs = a_load_relaxed(&d->refs);
		if (refs & CLOSED && desc_wait_closed(d))
			continue;
		if (refs & (CLOSING | OWN))
			return false;
		/* relaxed: waiters read it under the lock, which the caller
		 * takes next */
		if (a_cas_relaxed(&d->refs, refs, refs | CLOSING))
			return true;
	}
}

int
desc_close(int fd)
{
	struct glist woken = {0};
	struct desc *d = fd < 0 ? NULL : desc_at(fd);
	int result, last;

	if (!d)
		return closed((int)tsan_io_close(fd));
	a_add_acqrel(&d->refs, 1);		/* pairs with desc_leave */
	if (!claim_close(d)) {
		desc_leave(d);
		return -EBADF;
	}
	lock_take(&d->lock);
	end_life(d, &woken);
	lock_drop(&d->lock);
	if (a_load_relaxed(&d->registered))
		os_poller_remove(fd);
	sched_ready_list(&woken);
	/* pairs with desc_leave of earlier users */
	if (a_cas_acqrel(&d->refs, CLOSING | 1, CLOSING | CLOSED))
		return closed(close_fd(d));
	/* Other users may be about to find that it is not open: so must we. */
	result = fd_control(fd, F_GETFD, 0) < 0 ? -EBADF : 0;
	/* pairs with desc_enter, and among users */
	if (a_add_acqrel(&d->refs, -1u) != (CLOSING | 1))
		return result;
	last = closed(desc_last(d));
	return result ? result : last;
}

void
desc_new_fd(int fd)
{
	struct glist woken = {0};
	struct desc *d = desc_at(fd);

	/* relaxed: ordered by the kernel's lock for closing and opening */
	if (!d || likely(a_load_relaxed(&d->kind) == KIND_UNKNOWN &&
	    !(a_load_relaxed(&d->refs) & (CLOSED | OWN))))
		return;
	if (a_load_relaxed(&d->refs) & OWN)
		fatal("descriptor %d is weft's own, and the program has "
		    "closed it", fd);
	lock_take(&d->lock);
	if (a_load_relaxed(&d->refs) & CLOSED)
		release_fd(d, a_load_relaxed(&d->gen));
	else if (a_load_relaxed(&d->kind) != KIND_UNKNOWN)
		a_add_relaxed(&desc_counts.repaired, 1);
	end_life(d, &woken);
	forget_all(d);
	lock_drop(&d->lock);
	sched_ready_list(&woken);
	desc_release_contexts();
}

/* A stale call on that number may have probed it meanwhile: the same. */
void
desc_new_tcp(int fd)
{
	struct desc *d;

	desc_new_fd(fd);
	d = desc_at(fd);
	if (unlikely(!d) && !(d = desc_make(fd)))
		return;
	lock_take(&d->lock);
	if (!(a_load_relaxed(&d->refs) & (CLOSING | OWN)) &&
	    a_load_relaxed(&d->kind) == KIND_UNKNOWN) {
		a_store_relaxed(&d->flags, NONBLOCK);
		/* pairs with desc_enter */
		a_store_rel(&d->kind, KIND_TCP);
	}
	lock_drop(&d->lock);
}

/* ---- the runtime's own ---- */

int
desc_own(int fd)
{
	struct desc *d = desc_at(fd);

	if (!d)
		d = desc_make(fd);
	else
		desc_new_fd(fd);
	if (!d)
		return -ENOMEM;
	/* relaxed: a call that comes before it has a stale fd anyway */
	a_or_relaxed(&d->refs, OWN);
	return 0;
}

void
desc_disown(int fd)
{
	a_and_relaxed(&desc_at(fd)->refs, ~OWN);
}
