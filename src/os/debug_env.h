/* SPDX-License-Identifier: MIT */
/*
 * WEFT_DEBUG: what a user asks for without changing the program, as
 * key=value,key=value. All that is only for finding errors has a key here
 * rather than a variable of its own; debug_env.c has the table of keys.
 *
 * The variable is read each time, since a program may set it before it calls
 * weft_run. It is not there in a program that has more rights than the user
 * that started it (AT_SECURE: setuid, capabilities): keys name files.
 */
#ifndef DEBUG_ENV_H
#define DEBUG_ENV_H

#include "defs.h"

/*
 * True if the key is there. Its value is copied: "" if it has none; the last
 * one if it is there more than once. One that does not fit into cap bytes with
 * its NUL is reported and not there. A value cannot contain a comma.
 */
bool debug_env(const char *key, char *value, size_t cap);

/*
 * The number behind a key: `otherwise` if the key is not there or has no
 * number, 1 if it stands there without a value.
 */
int64_t debug_env_num(const char *key, int64_t otherwise);

/* At boot: reports keys that no part reads, values that are missing or not
 * numbers, and keys that have no effect without another. */
void debug_env_check(void);

#endif
