/* SPDX-License-Identifier: MIT */
/*
 * getaddrinfo through the hooks gives what libc's own gives, which is asked on
 * a plain thread by its address in libc: results, their order and fields, and
 * errors. Only names that need no server.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "fd_pairs.h"
#include "hooked.h"
#include "plain_thread.h"
#include "run_env.h"

struct ask {
	const char *node, *service;
	struct addrinfo hints;
};

#define HINTS(f, fa, ty) { .ai_flags = f, .ai_family = fa, .ai_socktype = ty }
static const struct ask asks[] = {
	{ "127.0.0.1", "80", HINTS(0, AF_UNSPEC, 0) },
	{ "127.0.0.1", "80", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "80", HINTS(AI_NUMERICHOST, AF_INET, SOCK_DGRAM) },
	{ "127.0.0.1", "80", HINTS(AI_NUMERICSERV, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", NULL, HINTS(AI_NUMERICHOST, AF_INET, SOCK_STREAM) },
	{ "::1", "443", HINTS(AI_NUMERICHOST, AF_INET6, SOCK_STREAM) },
	{ "::1", "443", HINTS(0, AF_UNSPEC, SOCK_STREAM) },
	{ "::1%lo", "1", HINTS(AI_NUMERICHOST, AF_INET6, SOCK_STREAM) },
	{ "::1", "1", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "1", HINTS(0, AF_INET6, SOCK_STREAM) },
	{ "127.0.0.1", "1", HINTS(AI_V4MAPPED, AF_INET6, SOCK_STREAM) },
	{ "127.1", "1", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "0x7f000001", "1", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "localhost", "80", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "localhost", "80", HINTS(AI_CANONNAME, AF_INET, SOCK_STREAM) },
	{ "localhost", "80", HINTS(AI_NUMERICHOST, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "80", HINTS(AI_CANONNAME, AF_INET, SOCK_STREAM) },
	{ NULL, "80", HINTS(AI_PASSIVE, AF_INET, SOCK_STREAM) },
	{ NULL, "80", HINTS(AI_PASSIVE, AF_UNSPEC, SOCK_STREAM) },
	{ NULL, "80", HINTS(0, AF_INET, SOCK_STREAM) },
	{ NULL, NULL, HINTS(0, AF_UNSPEC, 0) },
	{ "", "80", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "http", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "http", HINTS(AI_NUMERICSERV, AF_INET, 0) },
	{ "127.0.0.1", "no-such-service", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "65536", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "-1", HINTS(0, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "80", HINTS(0, 12345, SOCK_STREAM) },
	{ "127.0.0.1", "80", HINTS(0, AF_INET, 12345) },
	{ "127.0.0.1", "80", HINTS(0, AF_UNIX, SOCK_STREAM) },
	{ "127.0.0.1", "80", HINTS(-1, AF_INET, SOCK_STREAM) },
	{ "127.0.0.1", "80", HINTS(0x40000000, AF_INET, SOCK_STREAM) },
	{ NULL, "80", HINTS(AI_CANONNAME, AF_INET, SOCK_STREAM) },
	{ "256.1.1.1", "80", HINTS(AI_NUMERICHOST, AF_INET, SOCK_STREAM) },
	{ "1.2.3.4.5", "80", HINTS(AI_NUMERICHOST, AF_INET, SOCK_STREAM) },
	{ "::g", "80", HINTS(AI_NUMERICHOST, AF_INET6, SOCK_STREAM) },
	{ "bad name", "80", HINTS(AI_NUMERICHOST, AF_INET, SOCK_STREAM) },
};
enum { ASKS = sizeof asks / sizeof asks[0] };

struct got {
	int err;
	char text[2048];
};

typedef int asks_names(const char *, const char *, const struct addrinfo *,
    struct addrinfo **);

static void
describe(const struct addrinfo *a, char *out, size_t room)
{
	size_t at = 0;

	for (; a && at < room - 200; a = a->ai_next) {
		const unsigned char *p = (void *)a->ai_addr;

		at += (size_t)snprintf(out + at, room - at, "%d %d %d %x %s ",
		    a->ai_family, a->ai_socktype, a->ai_protocol,
		    (unsigned)a->ai_flags,
		    a->ai_canonname ? a->ai_canonname : "-");
		for (unsigned i = 0; i < a->ai_addrlen && i < 32; i++)
			at += (size_t)snprintf(out + at, room - at, "%02x",
			    p[i]);
		at += (size_t)snprintf(out + at, room - at, "; ");
	}
}

static void
ask_one(asks_names *names, const struct ask *q, bool hinted, struct got *g)
{
	struct addrinfo *list = NULL;

	g->text[0] = '\0';
	g->err = names(q->node, q->service, hinted ? &q->hints : NULL, &list);
	if (g->err)
		return;
	describe(list, g->text, sizeof g->text);
	freeaddrinfo(list);
}

static struct got by_libc[ASKS], unhinted;

static void *
ask_libc(void *arg)
{
	asks_names *libc = (asks_names *)dlsym(RTLD_NEXT, "getaddrinfo");

	(void)arg;
	OK(libc != NULL);
	for (int i = 0; libc && i < ASKS; i++)
		ask_one(libc, &asks[i], true, &by_libc[i]);
	if (libc)
		ask_one(libc, &asks[0], false, &unhinted);
	return NULL;
}

static void
same(const struct ask *q, const struct got *a, const struct got *b)
{
	if (a->err == b->err && !strcmp(a->text, b->text))
		return;
	t_fail(q->node ? q->node : "NULL", (int)(q - asks),
	    q->service ? q->service : "NULL");
	fprintf(stderr, "# libc:  %d %s\n# hooks: %d %s\n", a->err, a->text,
	    b->err, b->text);
}

static void
ask_all(void)
{
	struct got *g = malloc(sizeof *g);

	for (int i = 0; i < ASKS; i++) {
		ask_one(getaddrinfo, &asks[i], true, g);
		same(&asks[i], &by_libc[i], g);
	}
	ask_one(getaddrinfo, &asks[0], false, g);
	same(&asks[0], &unhinted, g);
	free(g);
}

static void
compare_names(void)
{
	thread_run_blocking(ask_libc, NULL);
	ask_all();
}

TEST(without_a_runtime) { compare_names(); }
GTEST(on_a_goroutine, 1) { compare_names(); }
GTEST(on_a_plain_thread, 1) { thread_call_blocking(compare_names); }
ETEST(on_one_that_moves, 2, "WEFT_MIGRATE=1") { compare_names(); }

/* Many at the same time, of which each gets its own. */
GTEST(many_at_once, 2)
{
	weft_waitgroup wg = {0};

	thread_run_blocking(ask_libc, NULL);
	for (int i = 0; i < 50; i++)
		weft_waitgroup_go(&wg, ask_all);
	weft_waitgroup_wait(&wg);
}
