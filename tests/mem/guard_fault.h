/* SPDX-License-Identifier: MIT */
/* Whether a write to an address faults: for tests of guard pages. */
#ifndef GUARD_FAULT_H
#define GUARD_FAULT_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static sigjmp_buf faulted;

static inline void
on_fault(int sig)
{
	(void)sig;
	siglongjmp(faulted, 1);
}

static inline bool
faults(char *p)
{
	struct sigaction sa = { .sa_handler = on_fault,
	    .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	if (sigsetjmp(faulted, 1))
		return true;
	*(volatile char *)p = 1;
	return false;
}

#endif
