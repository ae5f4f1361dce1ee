/* SPDX-License-Identifier: MIT */
/*
 * Names are resolved by getaddrinfo, since only libc knows all sources that the
 * machine is configured for. It blocks, for many seconds if a server does not
 * answer, and cannot be cancelled. So a lookup runs in a goroutine of its own,
 * in an announced call, and the caller waits for it only as long as its limits
 * allow. Both have a reference to the lookup, and the last one frees it.
 *
 * A lookup occupies a thread while it blocks: there are at most SLOTS at a
 * time. A slot is an element of a channel, so that waiting for one is ended by
 * the time or the context, too; the goroutine of the lookup returns it. An
 * abandoned lookup keeps its slot, since it still occupies the thread.
 *
 * What needs no lookup does not get here, or leaves at once.
 *
 * Order. libc has sorted the addresses (RFC 6724). The two IP versions are
 * interleaved, so that if one does not work here the second attempt is of the
 * other.
 *
 * AI_ADDRCONFIG omits IP versions of which this machine has no address, not
 * counting the loopback. That saves queries, but is wrong for what is on this
 * machine: so it is not used for "localhost" nor with a network that names its
 * version, and a name that was not found is looked up again without it.
 */
#define _GNU_SOURCE 1
#include "resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "atomic.h"
#include "hard.h"
#include "options.h"
#include "thread_state.h"

enum {
	SLOTS = 32,
	/* getaddrinfo loads modules, which expect the stack of a thread. Only
	 * what is touched is memory. */
	LOOKUP_STACK = 1024 * 1024
};

struct lookup {
	/* constant */
	struct target what;
	weft_chan *done;	/* closed when the result is there */

	/* the lookup's goroutine, until done is closed */
	int error;
	int port;
	struct addrinfo *list;	/* NULL: there was no name */

	/* any thread, atomic */
	a32 refs;		/* the caller, the goroutine */
};

/* ---- libc ---- */

/* Where libc does not have it: a value that it does not return. */
#ifndef EAI_NODATA
#define EAI_NODATA 10001
#endif
#ifndef EAI_ADDRFAMILY
#define EAI_ADDRFAMILY 10002
#endif

/*
 * Why it failed, as -errno. Read right after the call, on the same thread: the
 * kernel's reasons are in errno and nowhere else.
 */
static int
reason(int eai)
{
	struct thread_state_at at;

	switch (eai) {
	case 0:
		return 0;
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
	case EAI_SERVICE:
		return -ENOENT;
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_FAMILY:
		return -EAFNOSUPPORT;
	case EAI_OVERFLOW:
		return -ENAMETOOLONG;
	case EAI_SYSTEM:
		thread_state_locate(&at);
		return *at.error > 0 ? -*at.error : -EIO;
	default:
		return -EIO;	/* EAI_FAIL: an invalid answer */
	}
}

static int
ask_host(struct lookup *l)
{
	struct addrinfo hints = {
		.ai_family = l->what.family,
		.ai_socktype = l->what.type,
		.ai_protocol = l->what.protocol
	};
	int err;

	if (l->what.family == AF_UNSPEC &&
	    strcasecmp(l->what.host, "localhost") != 0)
		hints.ai_flags = AI_ADDRCONFIG;
	err = reason(getaddrinfo(l->what.host, NULL, &hints, &l->list));
	if (err == -ENOENT && hints.ai_flags) {
		hints.ai_flags = 0;
		err = reason(getaddrinfo(l->what.host, NULL, &hints,
		    &l->list));
	}
	return err;
}

/* The port of a service does not depend on the IP version. */
static int
ask_port(struct lookup *l)
{
	struct addrinfo hints = {
		.ai_family = AF_INET,
		.ai_socktype = l->what.type,
		.ai_protocol = l->what.protocol
	}, *list = NULL;
	int err = reason(getaddrinfo(NULL, l->what.service, &hints, &list));

	if (!err)
		l->port = address_port(list->ai_addr);
	if (list)
		freeaddrinfo(list);
	return err;
}

/* All that blocks. Nothing of weft.h may be called. */
static void *
lookup_blocking(void *lookup)
{
	struct lookup *l = lookup;
	int err = 0;

	if (l->what.port == PORT_NAMED)
		err = ask_port(l);
	if (!err && *l->what.host)
		err = ask_host(l);
	l->error = err;
	return NULL;
}

/* ---- slots ---- */

static APTR(weft_chan) slots;

/* Full when all are taken. Made by the first lookup, and never freed. */
static weft_chan *
slots_get(void)
{
	/* pairs with itself */
	weft_chan *c = a_load_acq(&slots), *ours;

	if (c)
		return c;
	ours = weft_chan_make(0, SLOTS);
	hard_pause();
	if (!ours || a_cas_acqrel(&slots, NULL, ours))	/* pairs with it */
		return ours;
	weft_chan_release(ours);
	return a_load_acq(&slots);	/* pairs with the cas of another */
}

static int
slot_take(const struct dial_deadline *limit)
{
	weft_chan *c = slots_get();

	if (!c)
		return -ENOMEM;
	return dial_deadline_select(limit, WEFT_CASE_SEND_FROM(c, NULL),
	    limit->until);
}

static void
slot_return(void)
{
	weft_chan_recv(slots_get(), NULL);
}

/* ---- lookups ---- */

static struct lookup *
lookup_make(const struct target *t)
{
	struct lookup *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->done = weft_chan_make(0, 0);
	if (!l->done) {
		free(l);
		return NULL;
	}
	l->what = *t;
	l->port = t->port;
	a_init(&l->refs, 1);
	return l;
}

/* Drops a reference. */
static void
lookup_drop(struct lookup *l)
{
	hard_pause();
	/* pairs with itself: the last sees what the other did */
	if (a_add_acqrel(&l->refs, -1u) != 1)
		return;
	if (l->list)
		freeaddrinfo(l->list);
	weft_chan_release(l->done);
	free(l);
}

/* The goroutine; it has a slot, and a reference to the lookup. */
static void
lookup_goroutine(struct lookup *l)
{
	weft_blocking(lookup_blocking, l);
	slot_return();
	weft_chan_close(l->done);
	lookup_drop(l);
}

/* Without a runtime. errno of the thread is left as it is. */
static int
lookup_inline(struct lookup *l)
{
	struct thread_state_at at;
	struct thread_state kept;

	thread_state_locate(&at);
	thread_state_save(&at, &kept);
	lookup_blocking(l);
	thread_state_restore(&at, &kept);
	return 0;
}

static int
lookup_run(struct lookup *l, const struct dial_deadline *limit)
{
	int64_t started;
	int err;

	if (weft_procs() == 0)
		return lookup_inline(l);
	err = slot_take(limit);
	if (err)
		return err;
	a_add_relaxed(&l->refs, 1);
	started = weft_try_go_opt(WEFT_OPT(.name = "lookup",
	    .stack = LOOKUP_STACK), lookup_goroutine, l);
	if (started < 0) {
		slot_return();
		a_add_relaxed(&l->refs, -1u);
		return (int)started;
	}
	return dial_deadline_select(limit, WEFT_CASE_RECV(l->done, NULL),
	    limit->until);
}

/* ---- results ---- */

static struct found *
found_make(size_t most)
{
	struct found *f = malloc(sizeof *f + most * sizeof f->at[0]);

	if (f)
		f->n = 0;
	return f;
}

static bool
usable(const struct addrinfo *ai)
{
	return ai && ai->ai_addr &&
	    (ai->ai_family == AF_INET || ai->ai_family == AF_INET6);
}

/* Unless it is there already: libc repeats duplicates of /etc/hosts. */
static void
found_add(struct found *f, const struct target *t, const struct addrinfo *ai)
{
	const struct sockaddr_in *v4 = (const void *)ai->ai_addr;
	const struct sockaddr_in6 *v6 = (const void *)ai->ai_addr;
	weft_address *a = &f->at[f->n];

	if (ai->ai_family == AF_INET)
		address_fill(a, t, AF_INET, &v4->sin_addr, 0);
	else
		address_fill(a, t, AF_INET6, &v6->sin6_addr,
		    v6->sin6_scope_id);
	for (size_t i = 0; i < f->n; i++)
		if (address_same(a, &f->at[i]))
			return;
	f->n++;
}

/* The first from there on that is (`same`), or is not, of that family. */
static const struct addrinfo *
next_of(const struct addrinfo *ai, int family, bool same)
{
	while (ai && !(usable(ai) && (ai->ai_family == family) == same))
		ai = ai->ai_next;
	return ai;
}

/* Alternates between the IP versions, beginning with that of the first. */
static void
interleave(struct found *f, const struct target *t,
    const struct addrinfo *list)
{
	const struct addrinfo *one, *other;
	int family;

	while (list && !usable(list))
		list = list->ai_next;
	if (!list)
		return;
	family = list->ai_family;
	one = list;
	other = next_of(list, family, false);
	while (one || other) {
		if (one) {
			found_add(f, t, one);
			one = next_of(one->ai_next, family, true);
		}
		if (other) {
			found_add(f, t, other);
			other = next_of(other->ai_next, family, false);
		}
	}
}

/* The lookup is over, or there was none to make (list is NULL then). */
static int
collect(struct target *t, const struct addrinfo *list, struct found **out)
{
	struct found *f;
	size_t most = t->n;

	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next)
		most++;
	f = found_make(most);
	if (!f)
		return -ENOMEM;
	for (; f->n < t->n; f->n++) {
		f->at[f->n] = t->known[f->n];
		if (t->family != AF_UNIX)
			address_set_port(&f->at[f->n], t->port);
	}
	interleave(f, t, list);
	if (f->n == 0) {
		free(f);
		return -ENOENT;
	}
	*out = f;
	return 0;
}

static int
look_up(struct target *t, const struct dial_deadline *limit, struct found **out)
{
	struct lookup *l = lookup_make(t);
	int err;

	if (!l)
		return -ENOMEM;
	err = lookup_run(l, limit);
	if (!err)
		err = l->error;
	if (!err) {
		t->port = l->port;
		err = collect(t, l->list, out);
	}
	lookup_drop(l);
	return err;
}

int
resolve(const char *network, const char *address, bool passive,
    const struct dial_deadline *limit, struct found **out)
{
	struct target t;
	int err = address_parse(&t, network, address, passive);

	if (!err)
		err = dial_deadline_error(limit);
	if (err)
		return err;
	if (*t.host || t.port == PORT_NAMED)
		return look_up(&t, limit, out);
	return collect(&t, NULL, out);
}

public int
weft_resolve(const char *network, const char *address, weft_address *out,
    size_t max, const weft_dial_options *opt, size_t size)
{
	weft_dial_options o;
	struct dial_deadline limit;
	struct found *f;
	int n = options_copy(&o, sizeof o, opt, size);

	if (n)
		return n;
	limit = dial_deadline_of(&o);
	n = resolve(network, address, false, &limit, &f);
	if (n < 0)
		return n;
	n = (int)f->n;
	for (size_t i = 0; i < max && i < f->n; i++)
		out[i] = f->at[i];
	free(f);
	return n;
}
