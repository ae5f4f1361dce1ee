/* SPDX-License-Identifier: MIT */
/*
 * All events of a trace, one after the other (event.h).
 *
 *	struct order *o = order_open(trace);
 *	struct event e;
 *
 *	while (order_next(o, &e))
 *		...
 *	order_close(o);
 */
#ifndef ORDER_H
#define ORDER_H

#include "event.h"
#include "read.h"
#include "stack.h"

struct order;

struct order *order_open(struct trace *t);
/* False: there are no more. What e refers to stays with the trace. */
bool order_next(struct order *o, struct event *e);
/* Those seen so far. They stay with the order. */
const struct stacks *order_stacks(const struct order *o);
/* Events that had to be made up or left out so far, because others are
 * missing or contradict them. */
uint64_t order_repairs(const struct order *o);
void order_close(struct order *o);

#endif
