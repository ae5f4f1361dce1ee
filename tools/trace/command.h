/* SPDX-License-Identifier: MIT */
/*
 * The commands of weft-trace. Each has its file, which writes to `out`: main.c
 * opens what is read and written, and reports errors of the latter. They
 * return what the program exits with.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdio.h>

#include "read.h"

int command_events(struct trace *t, FILE *out);
int command_stats(struct trace *t, FILE *out);
int command_chrome(struct trace *t, FILE *out);
int command_diff(struct trace *a, struct trace *b, FILE *out);
int command_go(struct trace *t, FILE *out);
int command_view(struct trace *t, FILE *out);

#endif
