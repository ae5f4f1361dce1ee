/* SPDX-License-Identifier: MIT */
/*
 * Recordings that WEFT_DEBUG asked for and that are written at the end of the
 * process: a signal that ends it writes them first. See end_signal.c.
 */
#ifndef END_SIGNAL_H
#define END_SIGNAL_H

#include "defs.h"

/*
 * At boot. fn finishes a recording: it is called by a helper when SIGHUP,
 * SIGINT or SIGTERM ends the process. If the functions are called by exit()
 * as well, this comes after their atexit().
 */
void end_signal_add(void (*fn)(void));

/*
 * By the handler of another signal that ends the process: true if a helper
 * finishes the recordings, and then has the signal take its default action.
 */
bool end_signal_ask(int sig);

#endif
