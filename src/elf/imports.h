/* SPDX-License-Identifier: MIT */
/* What a module may import and still be preempted at any instruction. */
#ifndef IMPORTS_H
#define IMPORTS_H

#include "defs.h"

/* A function or object of libc, libm, libgcc or weft that may be used. */
bool import_allowed(const char *name);
/* One to which weft refers weakly: see sched/thread_state.h,
 * preempt/libc_text.c, os/thread.c, elf/cxx.c. */
bool import_is_ours(const char *name);
/* A function that a module must not define. */
bool import_is_malloc(const char *name);
/* A library that may be needed. */
bool import_library(const char *soname);
bool import_is_libc(const char *soname);

/* The table, by theme: sorted names with a blank before and after each. */
struct import_theme { const char *names; size_t bytes; };
extern const struct import_theme import_themes[];
extern const size_t import_n_themes;

#endif
