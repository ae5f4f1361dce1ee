/* SPDX-License-Identifier: MIT */
/*
 * Looking names up, with a libc of our own: this program's getaddrinfo comes
 * before the real one. It answers what the test says, when the test says so.
 */
#define _GNU_SOURCE 1
#include "counter.h"
#include "plain_thread.h"
#include "resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "t.h"

enum { MANY = 100, AT_A_TIME = 32 };

/* ---- what the test says ---- */

static const char *answer = "";	/* addresses; or: */
static int refusal, refusal_errno;
static bool only_without_flags;
static int gate_closed;		/* atomic, as all that follow */

/* ---- what it sees ---- */

static int asked, inside, most_inside, answers, freed;
static int last_flags, last_family, last_type;
static char last_host[256], last_service[64];

static void
nap(void)
{
	struct timespec ms = { 0, 1000000 };

	nanosleep(&ms, NULL);
}

/* Blocks its thread, as the real one does. */
static void
at_the_gate(void)
{
	int n = counter_add(&inside, 1), m;

	while ((m = counter_get(&most_inside)) < n)
		if (__atomic_compare_exchange_n(&most_inside, &m, n, false,
		    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			break;
	while (counter_get(&gate_closed))
		nap();
	counter_add(&inside, -1);
}

static void
note(const char *host, const char *service, const struct addrinfo *hints)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	snprintf(last_host, sizeof last_host, "%s", host ? host : "NULL");
	snprintf(last_service, sizeof last_service, "%s",
	    service ? service : "NULL");
	last_flags = hints->ai_flags;
	last_family = hints->ai_family;
	last_type = hints->ai_socktype;
	pthread_mutex_unlock(&lock);
}

static struct addrinfo *
one(const char *text, int port)
{
	struct target t;
	struct addrinfo *ai = calloc(1, sizeof *ai);
	weft_address *a = malloc(sizeof *a);
	char address[100];

	snprintf(address, sizeof address, strchr(text, ':') ? "[%s]:%d" :
	    "%s:%d", text, port);
	if (address_parse(&t, "tcp", address, false) != 0)
		abort();
	*a = t.known[0];
	ai->ai_family = a->family;
	ai->ai_addr = weft_address_get(a);
	ai->ai_canonname = (void *)a;
	return ai;
}

/* Defined as libc declares them. */
int
getaddrinfo(const char *host, const char *service,
    const struct addrinfo *hints, struct addrinfo **out)
{
	char words[256], *rest = words, *word;
	struct addrinfo **last = out;

	counter_add(&asked, 1);
	note(host, service, hints);
	at_the_gate();
	if (refusal || (only_without_flags && hints->ai_flags)) {
		errno = refusal_errno;
		return refusal ? refusal : EAI_NONAME;
	}
	strcpy(words, host ? answer : "127.0.0.1");
	*out = NULL;
	while ((word = strsep(&rest, " ")))
		if (*word) {
			*last = one(word, service ? 8080 : 0);
			last = &(*last)->ai_next;
		}
	counter_add(&answers, 1);
	return 0;
}

void
freeaddrinfo(struct addrinfo *ai)
{
	counter_add(&freed, 1);
	while (ai) {
		struct addrinfo *next = ai->ai_next;

		free(ai->ai_canonname);
		free(ai);
		ai = next;
	}
}

/* Whoever had a result last has freed it. */
static void
wait_freed(void)
{
	while (counter_get(&freed) < counter_get(&answers))
		weft_sleep(WEFT_MS);
	EQ(counter_get(&freed), counter_get(&answers));
}

/* ---- results ---- */

static bool
gives(const char *network, const char *address, const char *expected)
{
	weft_address a[16];
	char line[1024] = "", text[WEFT_ADDRESS_TEXT];
	int n = weft_resolve(network, address, a, 16, NULL, 0);

	for (int i = 0; i < n; i++) {
		strcat(line, i ? " " : "");
		strcat(line, weft_address_text(address_get(&a[i]), a[i].len,
		    text, sizeof text));
	}
	if (n < 0)
		snprintf(line, sizeof line, "%d", n);
	if (strcmp(line, expected) == 0)
		return true;
	fprintf(stderr, "# \"%s\", not \"%s\"\n", line, expected);
	return false;
}

static void
results(void)
{
	asked = 0;
	answer = "10.0.0.1";
	OK(gives("tcp", "name:80", "10.0.0.1:80"));
	OK(strcmp(last_host, "name") == 0);
	OK(strcmp(last_service, "NULL") == 0);
	EQ(last_type, SOCK_STREAM);
	OK(gives("udp", "name:0", "10.0.0.1:0"));
	EQ(last_type, SOCK_DGRAM);
	EQ(counter_get(&asked), 2);
	/* the two versions by turns, as the first is */
	answer = "fd00::1 fd00::2 fd00::3 10.0.0.1 10.0.0.2";
	OK(gives("tcp", "name:1", "[fd00::1]:1 10.0.0.1:1 [fd00::2]:1 "
	    "10.0.0.2:1 [fd00::3]:1"));
	answer = "10.0.0.3 10.0.0.2 10.0.0.1 fd00::1";
	OK(gives("tcp", "name:1", "10.0.0.3:1 [fd00::1]:1 10.0.0.2:1 "
	    "10.0.0.1:1"));
	answer = "10.0.0.3 10.0.0.2 10.0.0.1";
	OK(gives("tcp", "name:1", "10.0.0.3:1 10.0.0.2:1 10.0.0.1:1"));
	/* each once */
	answer = "10.0.0.1 10.0.0.1 fd00::1 10.0.0.1 fd00::1 10.0.0.2";
	OK(gives("tcp", "name:1", "10.0.0.1:1 [fd00::1]:1 10.0.0.2:1"));
	wait_freed();
}

ON_ALL(results)
TEST(results_without_a_runtime) { results(); }

GTEST(results_on_a_thread, 1) { thread_call_blocking(results); }

GTEST(more_than_there_is_room_for, 1)
{
	weft_address a[3];

	memset(a, 0x55, sizeof a);
	answer = "10.0.0.3 10.0.0.2 10.0.0.1";
	EQ(weft_resolve("tcp", "name:1", NULL, 0, NULL, 0), 3);
	EQ(weft_resolve("tcp", "name:1", a, 2, NULL, 0), 3);
	EQ(a[1].len, sizeof(struct sockaddr_in));
	EQ(a[2].len, 0x55555555);
}

GTEST(no_lookup_for_numbers, 1)
{
	OK(gives("tcp", "127.0.0.1:80", "127.0.0.1:80"));
	OK(gives("udp", "[::1]:80", "[::1]:80"));
	OK(gives("tcp", ":80", "127.0.0.1:80 [::1]:80"));
	OK(gives("unix", "/x", "/x"));
	OK(gives("tcp", "127.1:80", "-22"));
	OK(gives("tcp", "name", "-22"));
	EQ(counter_get(&asked), 0);
}

GTEST(services, 1)
{
	answer = "10.0.0.1";
	OK(gives("tcp", "name:http", "10.0.0.1:8080"));
	EQ(counter_get(&asked), 2);
	OK(gives("tcp", "10.0.0.9:http", "10.0.0.9:8080"));
	EQ(counter_get(&asked), 3);
	OK(strcmp(last_host, "NULL") == 0);
	OK(strcmp(last_service, "http") == 0);
	OK(gives("udp6", ":http", "[::1]:8080"));
	OK(gives("tcp", "[::1]:http", "[::1]:8080"));
	wait_freed();
	refusal = EAI_SERVICE;
	asked = 0;
	OK(gives("tcp", "name:http", "-2"));
	EQ(counter_get(&asked), 1);
}

GTEST(reasons, 1)
{
	static const struct { int eai, error, is; } rows[] = {
		{ EAI_NONAME, 0, -ENOENT }, { EAI_AGAIN, 0, -EAGAIN },
		{ EAI_FAIL, 0, -EIO }, { EAI_MEMORY, 0, -ENOMEM },
		{ EAI_SYSTEM, EMFILE, -EMFILE }, { EAI_SYSTEM, 0, -EIO },
		{ EAI_FAMILY, 0, -EAFNOSUPPORT }, { 4711, 0, -EIO },
#ifdef EAI_NODATA
		{ EAI_NODATA, 0, -ENOENT },
#endif
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		refusal = rows[i].eai;
		refusal_errno = rows[i].error;
		errno = ENOTDIR;
		EQ(weft_resolve("tcp", "name:1", NULL, 0, NULL, 0), rows[i].is);
		EQ(errno, ENOTDIR);
	}
	/* Success without a result is none, and is not a crash. */
	refusal = 0;
	answer = "";
	EQ(weft_resolve("tcp", "name:1", NULL, 0, NULL, 0), -ENOENT);
}

/* What is not there without AI_ADDRCONFIG is not there. */
GTEST(flags, 1)
{
	answer = "10.0.0.1";
	OK(gives("tcp", "name:1", "10.0.0.1:1"));
	EQ(last_flags, AI_ADDRCONFIG);
	EQ(last_family, AF_UNSPEC);
	EQ(counter_get(&asked), 1);
	OK(gives("tcp", "LocalHost:1", "10.0.0.1:1"));
	EQ(last_flags, 0);
	OK(gives("tcp4", "name:1", "10.0.0.1:1"));
	EQ(last_flags, 0);
	EQ(last_family, AF_INET);
	EQ(counter_get(&asked), 3);
	only_without_flags = true;
	OK(gives("tcp", "name:1", "10.0.0.1:1"));
	EQ(counter_get(&asked), 5);
	refusal = EAI_AGAIN;
	OK(gives("tcp", "name:1", "-11"));
	EQ(counter_get(&asked), 6);
	refusal = EAI_NONAME;
	OK(gives("tcp", "name:1", "-2"));
	EQ(counter_get(&asked), 8);
	OK(gives("tcp6", "name:1", "-2"));
	EQ(counter_get(&asked), 9);
}

/* ---- giving up ---- */

/* Until so many are in getaddrinfo. */
static void
wait_inside(int n)
{
	while (counter_get(&inside) < n)
		weft_sleep(WEFT_MS);
}

/* All goroutines but the caller have ended, and all is freed. */
static void
wait_gone(void)
{
	while (weft_goroutines() > 1)
		weft_sleep(WEFT_MS);
	EQ(counter_get(&inside), 0);
	wait_freed();
}

static int
resolve_opt(const char *name, const weft_dial_options *opt)
{
	return weft_resolve("tcp", name, NULL, 0, opt, sizeof *opt);
}

static void
given_up_in_time(void)
{
	weft_dial_options opt = {0};

	answer = "10.0.0.1";
	asked = 0;
	counter_set(&gate_closed, 1);
	do {		/* until a lookup began before the time was over */
		opt.until = weft_deadline(100 * WEFT_MS);
		EQ(weft_dial_opt("tcp", "name:1", &opt, sizeof opt),
		    -ETIMEDOUT);
		OK(weft_now() >= opt.until);
	} while (weft_goroutines() == 1);
	wait_inside(1);
	/* Too late from the start: no server is asked. */
	EQ(resolve_opt("name:1", &opt), -ETIMEDOUT);
	EQ(weft_dial_opt("tcp", "10.0.0.1:1", &opt, sizeof opt), -ETIMEDOUT);
	EQ(counter_get(&asked), 1);
	counter_set(&gate_closed, 0);
	wait_gone();
}

ON_ALL(given_up_in_time)

static void
cancel_inside(weft_context *ctx)
{
	wait_inside(1);
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
}

static void
given_up_by_context(void)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_dial_options opt = { .context = ctx };

	answer = "10.0.0.1";
	asked = 0;
	counter_set(&gate_closed, 1);
	weft_go(cancel_inside, weft_context_retain(ctx));
	EQ(resolve_opt("name:1", &opt), -ECANCELED);
	EQ(resolve_opt("name:1", &opt), -ECANCELED);
	EQ(resolve_opt("10.0.0.1:1", &opt), -ECANCELED);
	EQ(counter_get(&asked), 1);
	weft_context_release(ctx);
	counter_set(&gate_closed, 0);
	wait_gone();
}

ON_ALL(given_up_by_context)

GTEST(time_of_a_context, 1)
{
	int64_t until = weft_deadline(20 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, until);
	weft_dial_options opt = { .context = ctx,
	    .until = weft_deadline(WEFT_SECOND * 1000) };

	answer = "10.0.0.1";
	counter_set(&gate_closed, 1);
	EQ(resolve_opt("name:1", &opt), -ETIMEDOUT);
	OK(weft_now() >= until);
	weft_context_release(ctx);
	counter_set(&gate_closed, 0);
	wait_gone();
}

/* ---- many ---- */

static weft_waitgroup all;

static void
ask(int expected)
{
	EQ(weft_resolve("tcp", "name:1", NULL, 0, NULL, 0), expected);
	weft_waitgroup_done(&all);
}

GTEST(so_many_at_a_time, 2)
{
	weft_dial_options soon;

	answer = "10.0.0.1";
	counter_set(&gate_closed, 1);
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(ask, 1);
	wait_inside(AT_A_TIME);
	/* The time is over for one that has not even begun, too. */
	soon = (weft_dial_options){ .until = weft_deadline(20 * WEFT_MS) };
	EQ(resolve_opt("name:1", &soon), -ETIMEDOUT);
	EQ(counter_get(&asked), AT_A_TIME);
	EQ(counter_get(&inside), AT_A_TIME);
	counter_set(&gate_closed, 0);
	weft_waitgroup_wait(&all);
	EQ(counter_get(&most_inside), AT_A_TIME);
	EQ(counter_get(&asked), MANY);
	wait_gone();
}

/* Lookups that no caller waits for any more have the slots; then others do. */
GTEST(left_alone_by_all, 2)
{
	weft_dial_options opt;

	answer = "10.0.0.1";
	counter_set(&gate_closed, 1);
	for (int i = 0; i < AT_A_TIME; i++) {
		opt = (weft_dial_options){ .until = weft_deadline(WEFT_MS) };
		EQ(resolve_opt("name:1", &opt), -ETIMEDOUT);
	}
	weft_waitgroup_add(&all, 1);
	weft_go(ask, 1);
	counter_set(&gate_closed, 0);
	weft_waitgroup_wait(&all);
	OK(gives("tcp", "name:1", "10.0.0.1:1"));
	wait_gone();
}

/* Some are answered, some give up, at random. */
GTEST(answered_or_not, 4)
{
	int late = 0;

	answer = "10.0.0.1 fd00::1";
	for (int i = 0; i < (int)t_scale(2000); i++) {
		weft_dial_options opt = {
			.until = weft_deadline(i % 50 * WEFT_US)
		};
		int r = resolve_opt("name:1", &opt);

		late += r == -ETIMEDOUT;
		OK(r == 2 || r == -ETIMEDOUT);
	}
	OK(late > 0);
	wait_gone();
}
