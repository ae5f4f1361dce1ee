/* SPDX-License-Identifier: MIT */
/*
 * Intrusive doubly linked list. A head is a node linked to itself when empty;
 * a node that is on no list must not be removed. Not thread safe: the room
 * that owns the head says which lock guards it.
 */
#ifndef LIST_H
#define LIST_H

#include "defs.h"

struct list { struct list *next, *prev; };

static inline void
list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool
list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void
list_push(struct list *head, struct list *node)
{
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

static inline void
list_remove(struct list *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
	node->next = node->prev = NULL;
}

#define list_each(it, head) \
	for (struct list *it = (head)->next; it != (head); it = it->next)

#endif
