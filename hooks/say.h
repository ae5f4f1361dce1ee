/* SPDX-License-Identifier: MIT */
/* Messages, without stdio: a hook may have been called by it, or by malloc. */
#ifndef SAY_H
#define SAY_H

#include "defs.h"

/* Of printf: %s, %d, %p. At most 300 bytes, to standard error. */
void say(const char *format, ...) printf_like(1, 2);

#endif
