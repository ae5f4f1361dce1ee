/* SPDX-License-Identifier: MIT */
/* Calls on files, in which the kernel may block. */
#ifndef FILE_H
#define FILE_H

#include "fdio.h"

/*
 * A whole call on a descriptor of any kind, announced; -EINTR is tried again.
 * Which calls are slow is learnt by the address of fn.
 */
long file_call(int fd, fdio_try *fn, void *arg);

#endif
