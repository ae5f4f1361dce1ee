/* SPDX-License-Identifier: MIT */
/* Numbers for people: durations, and names of what a model counts. */
#ifndef STATS_H
#define STATS_H

#include <stdint.h>

enum { DURATION_BYTES = 24 };

/* "1.24 ms": three digits, into `out`, which is returned. */
const char *duration(int64_t ns, char out[DURATION_BYTES]);
const char *kind_name(unsigned kind);		/* enum kind */
/* The end of a noun that counts so many: "" or "s". */
const char *plural(uint64_t n);

#endif
