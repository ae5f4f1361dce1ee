/* SPDX-License-Identifier: MIT */
/*
 * What is shown besides goroutines' states: tasks, regions and log messages of
 * the program, CPU samples, stopped worlds, and what Ps did.
 */
#ifndef VIEW_USER_H
#define VIEW_USER_H

#include "event.h"
#include "view_column.h"
#include "view_rows.h"

struct user;

struct user *user_new(struct rows *rows, struct strings *strings);
void user_add(struct user *u, const struct event *e);
/* Frees it. */
void user_write(struct user *u, FILE *out);

#endif
