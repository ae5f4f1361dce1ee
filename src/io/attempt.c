/* SPDX-License-Identifier: MIT */
/*
 * A call of another library on a descriptor, in the loop of fdio.h: for
 * libweft-hooks, which tries it by a function of its own. Deadlines and the
 * context of the descriptor hold for it, too.
 */
#include "fdio.h"
#include "weft.h"

/* What the kernel refuses to wait for is told from what a try returns. */
static long
wait_again(struct desc *d, enum dir dir)
{
	int err = desc_wait(d, dir);

	return !err || err == -EBADF || err == -ETIMEDOUT ||
	    err == -ECANCELED ? err : -EAGAIN;
}

/*
 * attempt: a result, or -errno; -EAGAIN: it has to wait. `want` as in
 * fdio_loop. Returns its result, or -EBADF, -ETIMEDOUT, -ECANCELED; -EAGAIN:
 * the descriptor cannot be waited for.
 */
calls_out public long
weft_fd_call_(int fd, bool out, long (*attempt)(void *arg), void *arg,
    size_t want)
{
	enum dir dir = out ? DIR_OUT : DIR_IN;
	struct desc *d;
	uint32_t seen;
	long n = desc_enter(fd, &d);

	if (n)
		return n == -EBADF ? n : -EAGAIN;
	if (a_load_relaxed(&d->kind) == KIND_FILE)
		n = -EAGAIN;
	while (!n && !(n = desc_limit_error(d, dir))) {
		if (desc_try(d, dir, &seen)) {
			n = attempt(arg);
			if (n != -EAGAIN) {
				if (!out && n > 0 &&
				    fdio_is_all(d, (size_t)n, want))
					desc_drained(d, dir, seen);
				break;
			}
			desc_drained(d, dir, seen);
		}
		n = wait_again(d, dir);
	}
	desc_leave(d);
	return n;
}
