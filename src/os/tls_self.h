/* SPDX-License-Identifier: MIT */
/*
 * The library's one thread-local object. Its address is taken only through
 * tls_self(), which computes it each time (arch/<arch>/tls.h says why), and is
 * never kept across a switch.
 */
#ifndef TLS_SELF_H
#define TLS_SELF_H

#include "atomic.h"
#include "defs.h"
#include "tls.h"

struct exit_hook;
struct g;
struct m;

/* For libc_text.c: texts that libc keeps in a thread, kept here instead. */
struct texts {
	char error[128];
	char signal[32];
	char address[16];
};

struct self {
	struct m *mp;		/* first word: the M, NULL on a plain thread */
	uint64_t *args;		/* where weft_go_capture_ puts arguments */
	struct g *spawning;	/* the goroutine being made by weft_go */
	/* ... if it does not begin at once: see spawn_later */
	void (*spawn_attach)(struct g *gp, uint64_t arg);
	uint64_t spawn_arg;
	uint32_t ranks;		/* debug: set of lock ranks held */
	uint64_t contended;	/* when it last had to wait for a lock */
	uint32_t locks;		/* number of the library's locks that it holds
				 * or takes; read by signal handlers on it */
	a32 *lock_wait;		/* not 0 while it sleeps for a lock of the
				 * library; NULL on a plain thread */
	bool monitor;		/* it is the monitor */
	uint32_t tid;		/* for traces; 0: not asked for yet */
	struct exit_hook *exit_hooks;	/* of a plain thread: see sync/once.c */
	const void *fault_context;	/* while a fault is handled: the context
				 * that it interrupted; see os/signal.c */
	struct self *collect_next;	/* of a plain thread: see
				 * collect/collector.c */
	struct texts texts;	/* of a plain thread */
};
_Static_assert(offsetof(struct self, args) == 8, "arch/<arch>/capture.S");

static always_inline struct self *
self(void)
{
	return tls_self();
}

/* The M of this thread, or NULL on a plain thread. */
static always_inline struct m *
m_self(void)
{
	return tls_self_word();
}

#endif
