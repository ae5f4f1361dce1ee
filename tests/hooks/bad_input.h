/* SPDX-License-Identifier: MIT */
/*
 * The same call on identically prepared descriptors: as the system call, and
 * as a program calls it, which is through the hooks. Results, errno, what was
 * written to memory, what is left to be read, the flags of the descriptor and
 * the signals must be the same.
 *
 *	CASE(STREAM_DATA, read(fd, NULL, 8))		one line of the table
 *	EACH(RD, read(fd, buf, 8))			on all kinds on which a
 *							read ends by itself
 *	CASE_BODY(STREAM_DATA, two_reads) { ... }	several, with in->c
 *
 * In all of them: fd and peer; buf, 4 KiB; EDGE, the last 4 bytes of these,
 * and behind them what is not accessible; BAD, which is that; READ_ONLY.
 * T_TRACE=1 in the environment prints each case before it is run.
 */
#ifndef BAD_INPUT_H
#define BAD_INPUT_H

#include "counter.h"
#include "kinds.h"
#include "plain_thread.h"
#include "run_env.h"

enum { PAGE = 4096, CASES_MAX = 2048, NOTES_MAX = 12 };

struct in {
	const struct calls *c;
	int fd, peer;
	char *buf;
	struct iovec iov[1100];
	struct msghdr msg;
	char control[256];
	struct sockaddr_storage addr;
	socklen_t addr_len;
	struct pollfd fds[4];
	union {			/* more than FD_SETSIZE, all 0 */
		fd_set set;
		char room[8192];
	} sets[3];
	struct timeval tv;
	struct timespec ts, left;
	struct epoll_event ev[4];
	long notes[NOTES_MAX];
	int n_notes;
};

struct outcome {
	long ret;
	int err, signals, flags, left;
	uint32_t sum;
	long notes[NOTES_MAX];
	double seconds;
};

struct bad_case {
	const char *text;
	int kind, least_ms;
	long (*fn)(struct in *in);
};

static struct bad_case cases[CASES_MAX];
static int n_cases;
static int sigpipes;
static char *pages;		/* a page, one without access, one that is
				 * not writable */
#define EDGE (in->buf + PAGE - 4)
#define BAD (in->buf + PAGE)
#define READ_ONLY (in->buf + 2 * PAGE)

/* What else must be the same. */
static inline void
note(struct in *in, long value)
{
	if (in->n_notes < NOTES_MAX)
		in->notes[in->n_notes++] = value;
}

/* For calls that return a descriptor: that is closed. Its flags are noted. */
static inline long
opened(struct in *in, int fd)
{
	int err = errno;

	if (fd < 0)
		return fd;
	note(in, fcntl(fd, F_GETFL));
	note(in, fcntl(fd, F_GETFD));
	sys_close(fd);
	errno = err;
	return 0;
}

/* n parts of a byte each. */
static inline struct iovec *
bytes_of(struct in *in, int n)
{
	for (int i = 0; i < n; i++)
		in->iov[i] = (struct iovec){ in->buf + i, 1 };
	return in->iov;
}

/* One good part, and another one. */
static inline struct iovec *
parts_of(struct in *in, size_t good, void *p, size_t n)
{
	in->iov[0] = (struct iovec){ in->buf, good };
	in->iov[1] = (struct iovec){ p, n };
	return in->iov;
}

static inline struct msghdr *
message(struct in *in, struct iovec *iov, size_t n)
{
	in->msg = (struct msghdr){ .msg_iov = iov, .msg_iovlen = n,
		.msg_control = in->control,
		.msg_controllen = sizeof in->control };
	return &in->msg;
}

static inline void
register_case(const char *text, int kind, int least_ms,
    long (*fn)(struct in *in))
{
	if (n_cases < CASES_MAX)
		cases[n_cases++] = (struct bad_case){ text, kind, least_ms,
			fn };
}

#define ID_(a, b) a##b
#define ID(a, b) ID_(a, b)
#define CASE_MS_(k, ms, text, id)					\
	static long ID(fn_, id)(struct in *in);				\
	__attribute__((constructor)) static void ID(reg_, id)(void)	\
	{								\
		register_case(text, k, ms, ID(fn_, id));		\
	}								\
	static long ID(fn_, id)(struct in *in)
#define CASE_LINE_(k, ms, text, ...)					\
	CASE_MS_(k, ms, text, __LINE__)					\
	{								\
		int fd = in->fd, peer = in->peer;			\
		char *buf = in->buf;					\
		(void)fd, (void)peer, (void)buf;			\
		return in->c->__VA_ARGS__;				\
	}
#define CASE(k, ...) CASE_LINE_(k, 0, #__VA_ARGS__, __VA_ARGS__)
/* It waits for the descriptor's limit. */
#define CASE_WAITS(k, ...)						\
	CASE_LINE_(k, TIMEO_MS, #__VA_ARGS__, __VA_ARGS__)
#define CASE_BODY(k, id) CASE_MS_(k, 0, #id, id)
/* On each kind on which such calls end by themselves. */
#define EACH(which, ...)						\
	static long ID(fn_, __LINE__)(struct in *in);			\
	__attribute__((constructor)) static void ID(reg_, __LINE__)(void) \
	{								\
		for (int k = 0; k < KINDS; k++)				\
			if ((kinds[k].ends & (which)) == (which))	\
				register_case(#__VA_ARGS__, k, 0,	\
				    ID(fn_, __LINE__));			\
	}								\
	static long ID(fn_, __LINE__)(struct in *in)			\
	{								\
		int fd = in->fd, peer = in->peer;			\
		char *buf = in->buf;					\
		(void)fd, (void)peer, (void)buf;			\
		return in->c->__VA_ARGS__;				\
	}

/* ---- running them ---- */

static void
on_sigpipe(int sig)
{
	(void)sig;
	__atomic_add_fetch(&sigpipes, 1, __ATOMIC_RELAXED);
}

static void
prepare(void)
{
	struct sigaction sa = { .sa_handler = on_sigpipe };

	if (T_SANITIZED)
		t_skip("sanitizers look at the arguments");
	EQ(sigaction(SIGPIPE, &sa, NULL), 0);
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(pages != MAP_FAILED);
	EQ(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	EQ(mprotect(pages + 2 * PAGE, PAGE, PROT_READ), 0);
	OK(n_cases > 0 && n_cases < CASES_MAX);
}

static uint32_t
sum_of(const char *p, size_t n)
{
	uint32_t h = 1;

	while (n-- > 0)
		h = h * 31 + (unsigned char)*p++;
	return h;
}

/* Not what a case has closed, and whose number may be another's by now. */
static void
close_made(int fd, int peer)
{
	if (fcntl(fd, F_GETFD) >= 0)
		close(fd);
	if (peer >= 0)
		close(peer);
}

static void
run_case(const struct bad_case *b, const struct calls *c, struct outcome *o)
{
	struct in *in = calloc(1, sizeof *in);
	struct made m = kind_make(b->kind);
	int was = fcntl(m.fd, F_GETFL), signals = counter_get(&sigpipes);
	double start;

	in->c = c;
	in->fd = m.fd;
	in->peer = m.peer;
	in->buf = pages;
	memset(in->buf, 'z', PAGE);
	in->addr_len = sizeof in->addr;
	errno = 0;
	start = t_now();
	o->ret = b->fn(in);
	o->err = o->ret == -1 ? errno : 0;
	o->seconds = t_now() - start;
	o->signals = counter_get(&sigpipes) - signals;
	o->flags = fcntl(in->fd, F_GETFL) == was;
	if (ioctl(in->fd, FIONREAD, &o->left) != 0)
		o->left = -1;
	o->sum = sum_of(in->buf, PAGE);
	memcpy(o->notes, in->notes, sizeof o->notes);
	close_made(in->fd, in->peer);
	free(in);
}

struct pass {
	const struct calls *c;
	struct outcome *o;
};

static void *
run_pass(void *arg)
{
	struct pass *p = arg;
	bool loud = p->c == &lib_calls && getenv("T_TRACE");

	for (int i = 0; i < n_cases; i++) {
		if (loud)
			fprintf(stderr, "# %d: %s on %s\n", i, cases[i].text,
			    kinds[cases[i].kind].name);
		run_case(&cases[i], p->c, &p->o[i]);
	}
	return NULL;
}

static struct outcome *
outcomes(void)
{
	return calloc(CASES_MAX, sizeof(struct outcome));
}

static void
say_outcome(const char *who, const struct outcome *o)
{
	fprintf(stderr, "#    %-9s %ld %s, %d signals, memory %08x, left %d%s,"
	    " notes", who, o->ret, o->err ? strerrorname_np(o->err) : "",
	    o->signals, o->sum, o->left, o->flags ? "" : ", flags changed");
	for (int i = 0; i < NOTES_MAX; i++)
		fprintf(stderr, " %ld", o->notes[i]);
	fprintf(stderr, "\n");
}

static void
compare(const struct bad_case *b, const struct outcome *sys,
    const struct outcome *lib)
{
	bool same = sys->ret == lib->ret && sys->err == lib->err &&
	    sys->signals == lib->signals && sys->sum == lib->sum &&
	    sys->left == lib->left && sys->flags == lib->flags &&
	    !memcmp(sys->notes, lib->notes, sizeof sys->notes);
	double least = (b->least_ms - 10) / 1e3;

	if (!same) {
		t_fail(b->text, 0, kinds[b->kind].name);
		say_outcome("system:", sys);
		say_outcome("called:", lib);
	}
	if (b->least_ms && lib->seconds < least) {
		t_fail(b->text, 0, kinds[b->kind].name);
		fprintf(stderr, "#    after %.3f s\n", lib->seconds);
	}
}

/* The system's calls on a plain thread, the program's where we are. */
static void
compare_here(void)
{
	struct pass sys = { &sys_calls, outcomes() };
	struct pass lib = { &lib_calls, outcomes() };

	prepare();
	thread_run_blocking(run_pass, &sys);
	run_pass(&lib);
	for (int i = 0; i < n_cases; i++)
		compare(&cases[i], &sys.o[i], &lib.o[i]);
	free(sys.o);
	free(lib.o);
}

/* For a file of cases: the tests. */
TEST(no_runtime) { compare_here(); }
GTEST(goroutine, 1) { compare_here(); }
GTEST(plain_thread, 2) { thread_call_blocking(compare_here); }
ETEST(goroutine_that_moves, 2, "WEFT_MIGRATE=1") { compare_here(); }

#endif
