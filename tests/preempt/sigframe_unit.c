/* SPDX-License-Identifier: MIT */
/*
 * Kept signal frames, without a scheduler: two threads hand two goroutines to
 * each other. A third one sends a signal to both every few dozen microseconds;
 * each that finds a goroutine has it kept, and the other thread goes on with
 * it. What the goroutines compute must not show that.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dwarf.h"
#include "rawcall.h"
#include "sanitize.h"
#include "sigframe.h"
#include "t.h"

enum {
	STACK_BYTES = 256 << 10,
	SIGNAL = SIGURG,
	LAND_BYTES = 8192		/* for land and what it calls */
};

#ifdef SAN_THREAD
enum { DELAYED = 1 };
#else
enum { DELAYED = 0 };
#endif

struct thread {
	struct frame home;
	struct san san;
	stack_t alt;
	uint64_t mask;
	pthread_t id;
	struct thread *other;
	struct g *volatile g;
	struct g *box[2];
	int turn;			/* which box was looked at last */
	sem_t full;
	bool wrong;			/* altstack or mask after a goroutine */
};

struct g {
	struct frame frame;
	struct san san;
	char *lo;
	int nr;
	struct thread *volatile on;
	void (*body)(struct g *g);
	volatile bool open;		/* may be preempted */
	volatile bool done;
	volatile long moves;
	long limit;
	/* by the handler */
	volatile long kept, cuts, restarts, stuck;
	long cut_in;			/* the result it was cut in, from 1 */
	void (*land)(void *kept);
	long bad, bad_land;
	const char *first_bad;
	long results, errors;
	double ns;
};

static __thread struct thread *volatile me;
static struct thread threads[2];
static struct g goroutines[2];
static sem_t finished;
static volatile bool stop, enough;

static void
bad(struct g *g, const char *what)
{
	if (g->bad++ == 0)
		g->first_bad = what;
}

/* ---- registers, which differ by architecture ---- */

/* Random numbers for everything that can be filled with them. */
static void
scramble(void *p, size_t bytes, uint64_t *seed)
{
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 7;
		*seed ^= *seed << 17;
		memcpy((char *)p + i, seed, 8);
	}
}

/*
 *	struct regs			every register
 *	regs_init()
 *	regs_fill(r, seed)		random values
 *	regs_clear(r)
 *	windows(in, out)		loads all of *in, waits some
 *					microseconds, stores all in *out
 *	regs_compare(g, in, out)	says bad(g) of what differs
 *	regs_plausible(uc)		dwarf_context is right
 *	state_is_usual()		what a function may expect
 *	at_call(uc, nr)			the next instruction is that call
 */
#ifdef __x86_64__
#include "regs_x86_64.h"
#else
#include "regs_aarch64.h"
#endif


/* ---- landing and going on ---- */

/*
 * The code that must not be preempted although its goroutine is open: it gets
 * a section of its own, whose ends the linker knows.
 */
#define LAND_CODE noinline __attribute__((section("land_code")))
extern char __start_land_code[], __stop_land_code[];

LAND_CODE static void
land(void *kept)
{
	struct g *g = me->g;

	if (!state_is_usual() || (uintptr_t)__builtin_dwarf_cfa() % 16)
		g->bad_land++;
	san_before(&g->san, &g->on->san, false);
	frame_switch(&g->frame, &g->on->home);
	san_after(&g->san, &g->on->san);
	if (!state_is_usual())
		g->bad_land++;
	g->open = true;
	sigframe_resume(kept, &g->on->alt, g->on->mask);
}

/* For measuring: goes on at once. */
LAND_CODE static void
land_and_go(void *kept)
{
	struct g *g = me->g;

	g->open = true;
	sigframe_resume(kept, &g->on->alt, g->on->mask);
}

static bool
in_land_code(uintptr_t pc)
{
	return pc >= (uintptr_t)__start_land_code &&
	    pc < (uintptr_t)__stop_land_code;
}

/*
 * A second signal may come before the goroutine has gone on, on the thread it
 * was resumed on, and sees the same call.
 */
static void
count_cut(struct g *g)
{
	if (g->cut_in != g->results + 1)
		g->cuts++;
	g->cut_in = g->results + 1;
}

static void
on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct g *g = me ? me->g : NULL;
	uintptr_t sp = sigframe_sp(uc);

	(void)sig, (void)info;
	if (!g || !g->open || in_land_code(sigframe_pc(uc)))
		return;
	if (sigframe_cut_short(uc))
		count_cut(g);
	if (!regs_plausible(uc))
		g->bad++;
	if (!g->land || !sigframe_movable(uc) || sp < (uintptr_t)g->lo ||
	    sp - (uintptr_t)g->lo < sigframe_bytes(uc, LAND_BYTES)) {
		g->stuck++;
		return;
	}
	g->restarts += at_call(uc, SYS_read);
	g->kept++;
	g->open = false;
	sigframe_keep(uc, g->land);
	/* as much as it said, and no more */
	if (sp - sigframe_sp(uc) + LAND_BYTES > sigframe_bytes(
	    sigframe_context((void *)sigframe_sp(uc)), LAND_BYTES))
		g->bad++;
}

static void
begin(void *unused, struct frame *f)
{
	struct g *g = container_of(f, struct g, frame);

	(void)unused;
	san_after(&g->san, &g->on->san);
	g->open = true;
	g->body(g);
	g->open = false;
	g->done = true;
	san_before(&g->san, &g->on->san, true);
	frame_switch(&g->frame, &g->on->home);
	abort();
}

static uint64_t
mask_now(void)
{
	uint64_t mask = 0;

	syscall6(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, 8, 0, 0);
	return mask;
}

/* Of the thread this runs on. */
static bool
is_of(const struct thread *t, const stack_t *alt, uint64_t mask)
{
	return mask == t->mask && alt->ss_sp == t->alt.ss_sp &&
	    alt->ss_size == t->alt.ss_size && alt->ss_flags == 0;
}

static void
hand_over(struct thread *to, struct g *g)
{
	__atomic_store_n(&to->box[g->nr], g, __ATOMIC_RELEASE);
	sem_post(&to->full);
}

static struct g *
receive(struct thread *t)
{
	struct g *g = NULL;

	while (sem_wait(&t->full) != 0)
		;
	for (int i = 0; i < 2 && !g; i++)
		g = __atomic_exchange_n(&t->box[t->turn ^= 1], NULL,
		    __ATOMIC_ACQUIRE);
	return g;
}

static void *
thread_main(void *arg)
{
	struct thread *t = arg;
	struct g *g;
	stack_t alt;
	sigset_t set;

	sigaltstack(&t->alt, NULL);
	sigemptyset(&set);
	sigaddset(&set, t == threads ? SIGUSR1 : SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	t->mask = mask_now();
	san_thread(&t->san);
	me = t;
	while ((g = receive(t))) {
		g->on = t;
		g->moves++;
		t->g = g;
		san_before(&t->san, &g->san, false);
		frame_switch(&t->home, &g->frame);
		san_after(&t->san, &g->san);
		t->g = NULL;
		sigaltstack(NULL, &alt);
		if (!is_of(t, &alt, mask_now()))
			t->wrong = true;
		if (g->done)
			sem_post(&finished);
		else
			hand_over(t->other, g);
	}
	me = NULL;
	return NULL;
}

static void
pause_ns(long ns)
{
	struct timespec ts = { .tv_nsec = ns };

	nanosleep(&ts, NULL);
}

static void *
ticker_main(void *unused)
{
	prctl(PR_SET_TIMERSLACK, 1);
	while (!stop) {
		pthread_kill(threads[0].id, SIGNAL);
		pthread_kill(threads[1].id, SIGNAL);
		pause_ns(30000);
	}
	return unused;
}

static void *
map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* Where a function finds sp at its entry. */
#ifdef __x86_64__
#define ENTRY_SP(top) ((top) - 8)
#else
#define ENTRY_SP(top) (top)
#endif

static void
start(struct g *g, void (*body)(struct g *g), void (*how)(void *kept))
{
	g->lo = map(STACK_BYTES);
	g->nr = (int)(g - goroutines);
	g->frame.sp = ENTRY_SP(g->lo + STACK_BYTES);
	g->frame.pc = (void *)begin;
	g->body = body;
	g->land = how;
	san_start(&g->san, g->lo, STACK_BYTES);
	hand_over(&threads[g->nr], g);
}

static void
start_threads(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
	    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

	if (DELAYED)
		t_skip("ThreadSanitizer calls handlers later");
	sigfillset(&sa.sa_mask);
	sigaction(SIGNAL, &sa, NULL);
	sem_init(&finished, 0, 0);
	for (int i = 0; i < 2; i++) {
		struct thread *t = &threads[i];

		t->alt.ss_size = 256 << 10;
		t->alt.ss_sp = map(t->alt.ss_size);
		t->other = &threads[!i];
		sem_init(&t->full, 0, 0);
		pthread_create(&t->id, NULL, thread_main, t);
	}
}

static void
await(int n)
{
	while (n > 0)
		n -= sem_wait(&finished) == 0;
}

static void
end_threads(void)
{
	for (int i = 0; i < 2; i++) {
		sem_post(&threads[i].full);
		pthread_join(threads[i].id, NULL);
		OK(!threads[i].wrong);
	}
}

static void
report(struct g *g)
{
	EQ(g->bad, 0);
	EQ(g->bad_land, 0);
	if (g->first_bad)
		printf("# lost: %s\n", g->first_bad);
	printf("# %ld kept, %ld could not be, %ld at a call\n", g->kept,
	    g->stuck, g->restarts);
}

/* Both goroutines have finished. */
static void
end_run(pthread_t ticker)
{
	await(2);
	stop = true;
	pthread_join(ticker, NULL);
	end_threads();
	for (int i = 0; i < 2; i++)
		report(&goroutines[i]);
}

/* Two goroutines that run until there is enough; T_SECONDS says how long. */
static void
preempt_two(void (*body)(struct g *g))
{
	pthread_t ticker;
	long few = t_scale(100);

	start_threads();
	pthread_create(&ticker, NULL, ticker_main, NULL);
	for (int i = 0; i < 2; i++)
		start(&goroutines[i], body, land);
	while (t_more(3) || goroutines[0].kept < few ||
	       goroutines[1].kept < few)
		pause_ns(10000000);
	enough = true;
	end_run(ticker);
	for (int i = 0; i < 2; i++)
		EQ(goroutines[i].stuck, 0);
}

/* ---- the tests ---- */

static void
check_registers(struct g *g)
{
	static struct regs in[2], out[2];
	struct regs *a = &in[g->nr], *b = &out[g->nr];
	uint64_t seed = 88172645463325252u + (uint64_t)g->nr;

	while (!enough) {
		g->open = false;
		regs_fill(a, &seed);
		regs_clear(b);
		g->open = true;
		windows(a, b);
		g->open = false;
		regs_compare(g, a, b);
	}
}

TEST(every_register_comes_back)
{
	regs_init();
	preempt_two(check_registers);
}

/* Of everything a compiler makes use of. */
static noinline double
compute(uint32_t n)
{
	uint64_t h = 1469598103934665603u;
	double d = 1, v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	long double l = 1;

	for (uint32_t i = 1; i <= n; i++) {
		h = (h ^ i) * 1099511628211u;
		d += 1 / (d + i);
		l = l * 1.0000001L + (long long)(l * 3.7L) % 5;
		for (int k = 0; k < 8; k++)
			v[k] = v[k] * 0.999 + (double)(h >> 60);
	}
	for (int k = 0; k < 8; k++)
		d += v[k];
	return d + (double)l + (double)(h >> 20);
}

static void
check_results(struct g *g)
{
	static double expect;

	g->open = false;
	if (g->nr == 0)
		expect = compute(20000);
	g->open = true;
	while (!enough)
		if (compute(20000) != compute(20000))
			bad(g, "a result");
	g->open = false;
	if (g->nr == 0 && compute(20000) != expect)
		bad(g, "the first result");
}

TEST(compiled_code_computes_the_same)
{
	preempt_two(check_results);
}

/* What rt_sigreturn has set belongs to the thread it set it on. */
static void
check_thread(struct g *g)
{
	while (!enough) {
		struct thread *t;
		stack_t alt;
		uint64_t mask;
		long moves;

		do {
			moves = g->moves;
			t = g->on;
			syscall6(SYS_sigaltstack, 0, (long)&alt, 0, 0, 0, 0);
			mask = mask_now();
		} while (moves != g->moves);
		g->results++;
		if (!is_of(t, &alt, mask))
			bad(g, "this thread's signal stack or mask");
	}
}

TEST(stack_and_mask_are_of_the_thread)
{
	preempt_two(check_thread);
	OK(goroutines[0].results > 0);
	OK(goroutines[1].results > 0);
	OK(threads[0].mask != threads[1].mask);
}

static int pipe_fd[2][2];

static void
check_read(struct g *g)
{
	unsigned char c = 0;

	for (long i = 0; i < g->limit; i++) {
		long r = syscall6(SYS_read, pipe_fd[g->nr][0], (long)&c, 1,
		    0, 0, 0);

		g->results++;
		g->errors += r != 1;
		if (r == 1 && c != (unsigned char)i)
			bad(g, "a byte");
	}
}

TEST(a_read_is_begun_again)
{
	pthread_t ticker;
	long n = t_scale(2000);

	start_threads();
	for (int i = 0; i < 2; i++) {
		OK(pipe(pipe_fd[i]) == 0);
		goroutines[i].limit = n;
		start(&goroutines[i], check_read, land);
	}
	pthread_create(&ticker, NULL, ticker_main, NULL);
	for (long i = 0; i < n; i++) {
		unsigned char c = (unsigned char)i;

		pause_ns(500000);
		EQ(write(pipe_fd[0][1], &c, 1), 1);
		EQ(write(pipe_fd[1][1], &c, 1), 1);
	}
	end_run(ticker);
	for (int i = 0; i < 2; i++) {
		EQ(goroutines[i].results, n);
		EQ(goroutines[i].errors, 0);
		EQ(goroutines[i].cuts, 0);
		OK(goroutines[i].restarts > 0);
	}
}

static void
check_sleep(struct g *g)
{
	struct timespec ts = { .tv_nsec = 20000000 };

	while (g->results < g->limit) {
		long r = syscall6(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);

		g->errors += r == -EINTR;
		if (r != 0 && r != -EINTR)
			bad(g, "the call's result");
		__atomic_store_n(&g->results, g->results + 1,
		    __ATOMIC_RELEASE);
	}
}

/* One signal a sleep: it is cut short, or else the signal came beside it. */
TEST(a_sleep_is_cut_short_and_we_know)
{
	struct g *g = &goroutines[0];
	long n = t_scale(200);

	start_threads();
	g->limit = n;
	start(g, check_sleep, land);
	for (long i = 0; i < n; i++) {
		pause_ns(2000000);
		/* wherever it is; the other one's handler does nothing */
		pthread_kill(threads[0].id, SIGNAL);
		pthread_kill(threads[1].id, SIGNAL);
		while (__atomic_load_n(&g->results, __ATOMIC_ACQUIRE) <= i)
			pause_ns(100000);
	}
	await(1);
	end_threads();
	report(g);
	EQ(g->errors, g->cuts);
	OK(g->cuts > 0);
	printf("# %ld of %ld cut short\n", g->cuts, n);
}

static void
send_many(struct g *g)
{
	long pid = getpid(), tid = syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
	double begin_at = t_now();

	for (long i = 0; i < g->limit; i++)
		syscall6(SYS_tgkill, pid, tid, SIGNAL, 0, 0, 0);
	g->ns = (t_now() - begin_at) * 1e9 / (double)g->limit;
}

/* A goroutine to itself, kept and resumed at once, or (NULL) not kept. */
static double
price(void (*how)(void *kept))
{
	struct g *g = goroutines;

	memset(g, 0, sizeof *g);
	g->limit = t_scale(20000);
	start(g, send_many, how);
	await(1);
	EQ(g->kept, how ? g->limit : 0);
	EQ(g->stuck, how ? 0 : g->limit);
	munmap(g->lo, STACK_BYTES);
	return g->ns;
}

TEST(price_of_keeping)
{
	double plain = 1e9, kept = 1e9;

	start_threads();
	for (int i = 0; i < 5; i++) {
		double a = price(NULL), b = price(land_and_go);

		plain = a < plain ? a : plain;
		kept = b < kept ? b : kept;
	}
	end_threads();
	printf("# a signal %.0f ns, kept and resumed %.0f ns\n", plain, kept);
}
