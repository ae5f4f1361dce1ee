/* SPDX-License-Identifier: MIT */
/* Contexts of descriptors: see fd_context.c. */
#ifndef FD_CONTEXT_H
#define FD_CONTEXT_H

#include "desc.h"
#include "weft.h"

/*
 * From now on calls on the descriptor end when ctx is cancelled; NULL: it has
 * no context any more. 0 or -ENOMEM: then nothing has changed. Within a call,
 * no lock held.
 */
int fd_context_set(struct desc *d, weft_context *ctx);

#endif
