/* SPDX-License-Identifier: MIT */
/* The stacks of all goroutines, as a profile. See profile_goroutine.c. */
#ifndef PROFILE_GOROUTINE_H
#define PROFILE_GOROUTINE_H

#include "profile_write.h"

/* Collects them: 0, and then closed again; or -ENOMEM. */
int profile_goroutine_open(struct profile_file *f);
void profile_goroutine_close(struct profile_file *f);

#endif
