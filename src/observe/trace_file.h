/* SPDX-License-Identifier: MIT */
/*
 * A trace on its way to a file: trace_format.h. Under the lock of trace.c, or
 * by the one thread that ends the process.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "trace_ring.h"

/* A reading of both clocks at one moment. */
struct trace_clock { uint64_t cycles; int64_t ns; };

struct trace_file_out {
	int fd;			/* -1: none */
	bool is_socket;		/* whose peer may be gone: no SIGPIPE; ... */
	int64_t until;		/* ... or read too slowly: an error from then
				 * on; 0: never */
	int err;		/* -errno of the first write that failed */
	uint64_t lost;		/* events, as far as they are written */
	/* the spawn sites that are in the file: a hash table */
	const void **sites;
	size_t n_sites, room;	/* room: a power of 2, or 0 */
};

struct trace_clock trace_clock_read(void);
/* Notes the first error, -errno; from then on nothing is written. */
void trace_file_fail(struct trace_file_out *o, int err);

/* Creates the file and writes what comes first: 0 or -errno. */
int trace_file_create(struct trace_file_out *o, const char *path,
    const struct trace_clock *began);
/* The same to a socket, of which it keeps a descriptor of its own. */
int trace_file_to_socket(struct trace_file_out *o, int fd,
    const struct trace_clock *began);
/* What follows is to be written within that time, if it is a socket: the caller
 * holds a lock that the program may need. */
void trace_file_limit(struct trace_file_out *o, int64_t ns);
/* A chunk whose first `words` words may be read. */
void trace_file_chunk(struct trace_file_out *o, const struct trace_chunk *c,
    uint32_t words);
void trace_file_clock(struct trace_file_out *o);
/* The modules that are listed (module_list.h). */
void trace_file_modules(struct trace_file_out *o);
/* Writes the end, and closes it. 0, or -errno of a write before. */
int trace_file_close(struct trace_file_out *o);

#endif
