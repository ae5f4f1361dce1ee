/* SPDX-License-Identifier: MIT */
/*
 * Go's file format of execution traces, version 23: generations, each with its
 * batches of events by thread, its strings and its stacks. What events may
 * follow which is go.c's affair.
 */
#ifndef GO_WRITER_H
#define GO_WRITER_H

#include <stdio.h>

#include "order.h"
#include "symbols.h"

enum go_event {
	GO_PROCS_CHANGE = 9, GO_PROC_START, GO_PROC_STOP, GO_PROC_STEAL,
	GO_PROC_STATUS, GO_CREATE, GO_CREATE_SYSCALL, GO_START, GO_DESTROY,
	GO_DESTROY_SYSCALL, GO_STOP, GO_BLOCK, GO_UNBLOCK, GO_SYSCALL_BEGIN,
	GO_SYSCALL_END, GO_SYSCALL_END_BLOCKED, GO_STATUS, GO_STW_BEGIN,
	GO_STW_END,
	GO_LABEL = 39, GO_TASK_BEGIN, GO_TASK_END, GO_REGION_BEGIN,
	GO_REGION_END, GO_LOG,
	GO_CREATE_BLOCKED = 47, GO_STATUS_STACK
};

struct go_writer;

struct go_writer *go_writer_open(FILE *out, struct trace *t,
    const struct stacks *stacks);
/* Ends the current generation, if any, and begins the next. */
void go_writer_generation(struct go_writer *w, int64_t ns);
/* An event of the thread m. ns is never less than before. */
void go_writer_event(struct go_writer *w, uint64_t m, int64_t ns,
    enum go_event type, unsigned count, const uint64_t *args);
void go_writer_sample(struct go_writer *w, const struct event *e);
/* Ends the last generation. */
void go_writer_close(struct go_writer *w);

/* Numbers for arguments, in the current generation; 0 for nothing. */
uint64_t go_writer_string(struct go_writer *w, const char *s, size_t bytes);
uint64_t go_writer_stack(struct go_writer *w, uint32_t stack);
/* A stack of one frame: where a goroutine of this site begins. */
uint64_t go_writer_start(struct go_writer *w, uint64_t site);
/* One that says only that it is the runtime. */
uint64_t go_writer_runtime(struct go_writer *w);

#endif
