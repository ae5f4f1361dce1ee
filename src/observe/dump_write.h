/* SPDX-License-Identifier: MIT */
/* Dumps for the rooms of observe: see include/weft/dump.h. */
#ifndef DUMP_WRITE_H
#define DUMP_WRITE_H

#include "dump_group.h"
#include "weft.h"

/* Which goroutines are in it. */
struct dump_filter {
	bool (*wanted)(const struct goroutine_info *g, void *arg);
	void *arg;
};

/*
 * Refreshes the list of modules; collects and sorts the goroutines that the
 * filter wants (NULL: all). 0 or -errno; then dump_groups_free.
 */
int dump_collect(struct dump_groups *d, unsigned flags,
    const struct dump_filter *filter);
/* Writes them. 0 or -errno. */
int dump_write(const struct dump_groups *d, int fd,
    const weft_dump_options *opt);

/*
 * All to standard error, in a signal handler or while the process dies. uc is
 * what the signal interrupted, or NULL.
 */
void dump_now(const ucontext_t *uc, bool dying);

#endif
