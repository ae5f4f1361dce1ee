/* SPDX-License-Identifier: MIT */
/*
 * Names of functions for the addresses in a trace, from the ELF files that it
 * was recorded with: those at the same path if they have the same build id,
 * else those of /usr/lib/debug/.build-id. They are read when they are needed.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "read.h"

struct symbols;

struct symbols *symbols_open(const struct trace *t);
/* "main", or "libfoo.so+0x12", or "0x7f0012"; never NULL. It stays. */
const char *symbols_name(struct symbols *s, uint64_t pc);
/* The module that pc is in, or "". */
const char *symbols_module(const struct symbols *s, uint64_t pc);
/* Is it in code of weft's own; in a function of it that calls the user's? No,
 * if that is not known. */
bool symbols_is_weft(struct symbols *s, uint64_t pc);
bool symbols_calls_out(struct symbols *s, uint64_t pc);
void symbols_close(struct symbols *s);

#endif
