/* SPDX-License-Identifier: MIT */
/*
 * What can be asked through the debug socket: a line "verb" or "verb words",
 * answered by any bytes until the end of the connection. A part of observe
 * registers its verbs by a constructor.
 */
#ifndef DEBUG_VERB_H
#define DEBUG_VERB_H

#include "defs.h"

struct debug_verb {
	const char *name, *help;
	/*
	 * Writes the answer to fd, a socket whose writes time out (-EAGAIN).
	 * `words`: what stood behind the verb and a blank, or "". Returns 0 or
	 * -errno, which is told to the client if nothing was written. Called by
	 * a helper: no goroutine, no M; all signals are blocked.
	 */
	int (*serve)(int fd, const char *words);
	/* It takes long: a thread of its own serves it, of which there are few;
	 * else it must fit into the buffer of the socket, some 100 KiB. */
	bool slow;
	struct debug_verb *next;
};

void debug_verb_add(struct debug_verb *v);
/* All of them, by `next`. */
const struct debug_verb *debug_verb_first(void);

#endif
