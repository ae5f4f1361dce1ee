/* SPDX-License-Identifier: MIT */
/*
 * Pausing a goroutine that cannot be moved, with its thread. See pause.c.
 */
#ifndef PAUSE_H
#define PAUSE_H

#include <ucontext.h>

#include "m.h"

/* At boot: which code is critical. */
void pause_init(bool on);
/* Can goroutines of this program be paused? And why not, or NULL. */
bool pause_possible(void);
const char *pause_impossible(void);

/*
 * In the handler of the preemption signal, inside: pauses the goroutine, which
 * cannot be moved for the reason `why`, and returns when it has a P again: -1.
 * Or does nothing, and returns why not. Reasons are of enum weft_retake_reason.
 */
int pause_here(struct m *mp, uintptr_t pc, int why);

/* The main goroutine has returned: paused goroutines go on, without a P, and
 * none is paused any more. No lock held. */
void pause_end(void);

#endif
