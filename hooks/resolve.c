/* SPDX-License-Identifier: MIT */
/*
 * getaddrinfo. Only libc knows all sources of names that a machine is
 * configured for, and inside of libc nothing can be hooked: so a lookup blocks
 * a thread. It runs in a goroutine of its own, since modules of libc expect the
 * stack of a thread, in an announced call, and the caller parks. There are at
 * most LOOKUPS at a time. A host that is a number is no lookup.
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <netdb.h>

#include "counts.h"
#include "real.h"
#include "wait.h"

enum {
	LOOKUPS = 32,
	LOOKUP_STACK = 1024 * 1024	/* only what is touched is memory */
};

struct lookup {
	/* constant */
	const char *node, *service;
	const struct addrinfo *hints;
	struct addrinfo **list;
	/* its goroutine, until `done` is set */
	int result, error;
	weft_event done;
};

static weft_mutex lock;
/* under lock */
static weft_cond returned;
static int running;

static bool
is_number(const char *node)
{
	struct in6_addr addr;

	return !node || inet_pton(AF_INET, node, &addr) == 1 ||
	    inet_pton(AF_INET6, node, &addr) == 1;
}

static void
begin(void)
{
	weft_mutex_lock(&lock);
	while (running == LOOKUPS)
		weft_cond_wait(&returned, &lock);
	running++;
	weft_mutex_unlock(&lock);
}

static void
end(void)
{
	weft_mutex_lock(&lock);
	running--;
	weft_cond_signal(&returned);
	weft_mutex_unlock(&lock);
}

/* The reason of EAI_SYSTEM is in errno, of the thread that made the call. */
static void
look_up(void *arg)
{
	struct lookup *l = *(struct lookup **)arg;

	begin();
	wait_announce();
	l->result = real()->getaddrinfo(l->node, l->service, l->hints, l->list);
	l->error = errno;
	wait_announced();
	end();
	weft_event_set(&l->done);
}

static int
finish(int result, int error)
{
	errno = error;
	return result;
}

public int
getaddrinfo(const char *restrict node, const char *restrict service,
    const struct addrinfo *restrict hints, struct addrinfo **restrict list)
{
	struct lookup l = { .node = node, .service = service, .hints = hints,
	    .list = list }, *arg = &l;
	weft_opt opt = { .name = "getaddrinfo", .stack = LOOKUP_STACK };
	bool kept;

	if (!on_goroutine() || is_number(node) || wait_how() == WAIT_REAL ||
	    weft_spawn(&opt, sizeof opt, look_up, &arg, sizeof arg) < 0)
		return real()->getaddrinfo(node, service, hints, list);
	kept = wait_keep_thread(__builtin_return_address(0));
	count(parks);
	weft_event_wait(&l.done);
	wait_kept_thread(kept);
	return finish(l.result, l.error);
}
