/* SPDX-License-Identifier: MIT */
/*
 * The end of a descriptor's life: it is closed, by us or behind our back. See
 * desc.h for who gives the number back, and when.
 */
#include "desc.h"

#include <errno.h>
#include <fcntl.h>

#include "fdcall.h"
#include "hard.h"
#include "os.h"
#include "poller.h"
#include "sched.h"

/* Lock held: nor what it was told. */
static void
forget_all(struct desc *d)
{
	for (int dir = 0; dir < DIRS; dir++)
		a_store_relaxed(&d->deadline[dir], 0);
	desc_forget(d);
}

/*
 * Counted, and found CLOSING. True if that is over: the number is the kernel's
 * again, or somebody else's. It is waited for while the kernel closes it, some
 * microseconds: the caller may be who got the number meanwhile.
 */
cold bool
desc_settled(struct desc *d)
{
	uint32_t refs;

	/* pairs with desc_last */
	while ((refs = a_load_acq(&d->refs)) & CLOSED)
		os_thread_yield();
	return !(refs & CLOSING);
}

/* Lock held: an old life ends. Who waits gets -EBADF. */
static void
end_life(struct desc *d, struct glist *woken)
{
	a_store_relaxed(&d->gen, a_load_relaxed(&d->gen) + 1);
	desc_wake(d, DIR_IN, false, woken);
	desc_wake(d, DIR_OUT, false, woken);
	readable_start(d, true, woken);
}

/* A file may have to be written out first, far away. */
static int
close_file(int fd)
{
	int result;

	call_enter((const void *)(uintptr_t)close_file);
	result = (int)fd_close(fd);
	call_leave();
	return result;
}

/*
 * CLOSED is set, by us. All is forgotten before the number is given back: the
 * next moment it may be somebody else's. Who comes while the kernel closes it
 * waits (see desc_settled): a call that used the old one now, or a second close,
 * would hit whoever gets the number. But a file may take long, and nobody
 * waits for one: that is not waited for.
 */
static int
close_number(struct desc *d)
{
	bool file = a_load_relaxed(&d->kind) == KIND_FILE;
	int fd = d->fd, result = 0;

	lock_take(&d->lock);
	forget_all(d);
	lock_drop(&d->lock);
	hard_pause();
	if (!file)
		result = (int)fd_close(fd);
	hard_pause();
	/* pairs with desc_enter */
	a_add_acqrel(&d->refs, -(CLOSING | CLOSED));
	return file ? close_file(fd) : result;
}

/*
 * The last user of one that was closed. One that finds CLOSING counts itself
 * for a moment, too, hence the mark: only one closes the number.
 */
cold int
desc_last(struct desc *d)
{
	/* pairs with desc_leave */
	if (!a_cas_acqrel(&d->refs, CLOSING, CLOSING | CLOSED))
		return 0;
	return close_number(d);
}

/* On Linux a close that is interrupted has closed. */
static int
closed(int result)
{
	return result == -EINTR ? 0 : result;
}

int
desc_close(int fd)
{
	struct glist woken = {0};
	struct desc *d = fd < 0 ? NULL : desc_at(fd);
	uint32_t refs;
	int result, last;

	if (!d)
		return closed((int)fd_close(fd));
	a_add_acqrel(&d->refs, 1);		/* pairs with desc_leave */
	/* relaxed: who waits looks under the lock, which we take next */
	do
		refs = a_or_relaxed(&d->refs, CLOSING);
	while (refs & CLOSED && desc_settled(d));
	if (refs & CLOSING) {
		desc_leave(d);
		return -EBADF;
	}
	lock_take(&d->lock);
	end_life(d, &woken);
	lock_drop(&d->lock);
	if (a_load_relaxed(&d->registered))
		os_poller_remove(fd);
	sched_ready_list(&woken);
	/* pairs with desc_leave: of whoever used it before */
	if (a_cas_acqrel(&d->refs, CLOSING | 1, CLOSING | CLOSED))
		return closed(close_number(d));
	/* Others may be about to find out that it is none: so must we. */
	result = fd_control(fd, F_GETFD, 0) < 0 ? -EBADF : 0;
	/* pairs with desc_enter, and among users */
	if (a_add_acqrel(&d->refs, -1u) != (CLOSING | 1))
		return result;
	last = closed(desc_last(d));
	return result ? result : last;
}

void
desc_fresh(int fd)
{
	struct glist woken = {0};
	struct desc *d = desc_at(fd);

	if (!d || likely(a_load_relaxed(&d->kind) == KIND_UNKNOWN))
		return;
	lock_take(&d->lock);
	end_life(d, &woken);
	forget_all(d);
	lock_drop(&d->lock);
	a_add_relaxed(&desc_counts.repaired, 1);
	sched_ready_list(&woken);
}
