/* SPDX-License-Identifier: MIT */
/*
 * Texts that libc writes into memory of the calling thread, and frees or
 * overwrites at the thread's next such call: of unknown errors and signals,
 * and of addresses. A goroutine that was preempted, or made a call of this
 * library, would find the text of another goroutine there. So weft.h gives
 * strerror, strsignal and inet_ntoa other names, and they are here, with texts
 * that belong to the goroutine until its next such call or its end. On a plain
 * thread they belong to the thread, as in libc.
 *
 * Texts of errors and signals that libc knows are constant, and libc's.
 *
 * The references to libc's functions are weak: so the audit can tell ours from
 * the program's, which it refuses. A static program may not have them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "sched.h"
#include "weft.h"

#undef strerror
#undef strsignal
#undef inet_ntoa

__typeof__(strerror) strerror __attribute__((__weak__));
__typeof__(strsignal) strsignal __attribute__((__weak__));
/* The POSIX variant, whatever strerror_r is. */
int __xpg_strerror_r(int error, char *buf, size_t cap);

static weft_gls key = { free };

/* NULL on allocation failure. */
static struct texts *
texts(void)
{
	struct m *mp = m_self();
	struct texts *t;

	if (!mp || !m_g(mp))
		return &self()->texts;
	t = weft_gls_get(&key);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (t && weft_gls_set(&key, t) != 0) {
		free(t);
		t = NULL;
	}
	return t;
}

public char *
weft_strerror_(int error)
{
	struct texts *t;
	char none[1];

	/* ERANGE, for want of room, unless the error is unknown. */
	if (strerror && __xpg_strerror_r(error, none, sizeof(none)) != EINVAL)
		return strerror(error);
	t = texts();
	if (!t)
		return (char *)(uintptr_t)"Unknown error";
	__xpg_strerror_r(error, t->error, sizeof(t->error));
	return t->error;
}

/* -INT_MIN is none: it stays negative, and unknown. */
public const char *
weft_strerror(int error)
{
	return weft_strerror_(error < 0 && error != INT_MIN ? -error : error);
}

public char *
weft_strsignal_(int sig)
{
	enum { FEW = 32 };	/* signals below it have names */
	struct texts *t;

	if (strsignal && sig > 0 && sig < FEW)
		return strsignal(sig);
	t = texts();
	if (!t)
		return (char *)(uintptr_t)"Unknown signal";
	if (sig >= SIGRTMIN && sig <= SIGRTMAX)
		format(t->signal, sizeof(t->signal), "Real-time signal %d",
		    sig - SIGRTMIN);
	else
		format(t->signal, sizeof(t->signal), "%s %d",
		    sig > 0 && sig < FEW ? "Signal" : "Unknown signal", sig);
	return t->signal;
}

public char *
weft_inet_ntoa_(struct in_addr addr)
{
	struct texts *t = texts();

	if (!t)
		return (char *)(uintptr_t)"?";
	inet_ntop(AF_INET, &addr, t->address, sizeof(t->address));
	return t->address;
}
