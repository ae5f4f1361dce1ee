/* SPDX-License-Identifier: MIT */
/*
 * Profiles as files: in the format of pprof (profile_pprof.c), and as folded
 * stacks (profile_folded.c).
 */
#ifndef PROFILE_WRITE_H
#define PROFILE_WRITE_H

#include "profile_table.h"

/* What the two sums of an entry are; units as pprof knows them. */
struct profile_type { const char *name, *unit; };

struct profile_file {
	const char *what;	/* a comment, where types do not say it */
	struct profile_type types[2];
	unsigned n_types;	/* 1: only the count is written */
	struct profile_type period_type;
	int64_t period;
	int64_t time_ns;	/* of the day, when it began */
	int64_t duration_ns;
	bool reasons;		/* entries have a reason for waiting */
	struct profile_table *table;
};

/* In nanoseconds. */
int64_t profile_time_of_day(void);

/* 0 or -errno. On no goroutine's behalf: may block the thread. */
int profile_write_pprof(const struct profile_file *f, int fd);
int profile_write_folded(const struct profile_file *f, int fd);

#endif
