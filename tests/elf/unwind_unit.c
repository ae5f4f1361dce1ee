/* SPDX-License-Identifier: MIT */
/*
 * Walks up the stack of a goroutine that a signal has interrupted anywhere:
 * at every instruction of functions of all shapes where the processor can
 * step, at random ones elsewhere. The functions keep a list of their callers,
 * which must be what the tables say.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cfi.h"
#include "m.h"
#include "rawcall.h"
#include "switch.h"
#include "t.h"
#include "tls_self.h"
#include "unwind.h"
#include "weft.h"
#include "xorshift.h"

#ifdef __x86_64__
enum { CAN_STEP = 1 };
#else
enum { CAN_STEP = 0 };
#endif

/* Sanitizers call their own functions everywhere. */
enum { PLAIN = !T_SANITIZED };

/* ThreadSanitizer handles signals when it likes, somewhere else. */
enum { ON_THE_SPOT = !T_TSAN };

#define OUTLINE __attribute__((__noinline__))

/* ---- functions of all shapes ---- */

enum { SHADOW = 128 };

static volatile struct {
	uintptr_t fn[SHADOW];
	unsigned n;
} shadow;

static volatile int sink;

static inline void
entered(uintptr_t fn)
{
	shadow.fn[shadow.n] = fn;
	shadow.n = shadow.n + 1;
}

static inline void
leaving(void)
{
	shadow.n = shadow.n - 1;
}
#define ENTERED(f) entered((uintptr_t)(f))

OUTLINE static int
leaf(int n)
{
	int sum = 0;

	for (int i = 0; i < n % 7; i++)
		sum += i * n;
	sink = sum;
	return sum;
}

/* Several ways out, one of them early. */
OUTLINE static int
exits(int n)
{
	int r;

	if (n == 0)
		return 1;
	ENTERED(exits);
	if (n % 3 == 0) {
		r = leaf(n) + leaf(n + 1);
		leaving();
		return r;
	}
	for (r = 0; r < n % 5; r++) {
		if (leaf(r) == 12345) {
			leaving();
			return 7;
		}
	}
	leaving();
	return r + n;
}

OUTLINE static int
sized(int n)
{
	char buf[n % 100 + 17];

	ENTERED(sized);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (char)i;
	n = leaf(buf[n % 17]) + exits(n);
	leaving();
	return n;
}

OUTLINE static int
allocates(int n)
{
	volatile char *last = NULL;

	ENTERED(allocates);
	for (int i = 0; i < n % 4; i++) {
		char *p = __builtin_alloca(32 + (size_t)i);

		p[0] = last ? last[0] : 1;
		last = p;
		sink = leaf(i + p[0]);
	}
	leaving();
	return n + (last ? last[0] : 0);
}

/* Keeps more alive than there are registers, in a frame of many pages. */
OUTLINE static int
big(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
    unsigned g, unsigned h, unsigned i, unsigned j)
{
	volatile unsigned room[3000];

	ENTERED(big);
	room[a % 3000] = b;
	room[2999 - a % 3000] = c;
	a += (unsigned)leaf((int)b) + (unsigned)exits((int)c % 50);
	b += (unsigned)sized((int)(a % 50));
	sink = (int)(a * b + c * d - e * f + g * h - i * j + room[0]);
	leaving();
	return (int)((unsigned)sink + room[a & 1]) % 1000;
}

OUTLINE static int
recurses(int n, int shape)
{
	int r;

	ENTERED(recurses);
	if (n > 0)
		r = recurses(n - 1, shape) + n;
	else if (shape == 0)
		r = sized(shape + 3);
	else
		r = big((unsigned)shape, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	leaving();
	return r;
}

OUTLINE static int
mixture(int i)
{
	int r;

	ENTERED(mixture);
	r = leaf(i) + exits(i % 20) + sized(i % 90) + allocates(i) +
	    recurses(i % 9, i % 3) +
	    big((unsigned)i % 99, 2, (unsigned)i, 4, 5, 6, 7, 8, 9, 10);
	leaving();
	return r;
}

static const uintptr_t watched[] = {
	(uintptr_t)exits, (uintptr_t)sized, (uintptr_t)allocates,
	(uintptr_t)big, (uintptr_t)recurses, (uintptr_t)mixture
};

/* ---- what is seen from the signal handler ---- */

static struct module program;
static struct unwind_stack bounds;
static uintptr_t top;
static volatile struct {
	long ends[4], foreign_code, wrong_end, wrong_chain;
	uintptr_t odd_pc;	/* the last one that was not understood */
} seen;

static void
look_around(void)
{
	struct stack *s = g_stack(m_g(m_self()));

	OK(module_program(&program));
	OK(program.fdes > 0);
	top = (uintptr_t)stack_top(s);
	bounds = (struct unwind_stack){ (uintptr_t)s->lo, top };
}

static struct unwind
begin(const uintptr_t *regs, uintptr_t pc)
{
	uintptr_t entry = (uintptr_t)frame_entry;
	struct unwind u = { .mods = &program, .n = 1, .st = &bounds,
	    .bottom = { entry, (uintptr_t)frame_entry_end } };

	unwind_begin(&u, regs, pc);
	return u;
}

static enum unwind_end
walk(const uintptr_t *regs, uintptr_t pc, uintptr_t *end)
{
	uintptr_t entry = (uintptr_t)frame_entry;

	return unwind_walk(&program, 1, regs, pc, &bounds, entry,
	    (uintptr_t)frame_entry_end, end);
}

static bool
is_watched(uintptr_t fn)
{
	for (size_t i = 0; i < countof(watched); i++)
		if (fn == watched[i])
			return true;
	return false;
}

/*
 * Walks again and compares with the list. The innermost function may not yet
 * be in it, or not any more.
 */
static bool
chain_is_right(const uintptr_t *regs, uintptr_t pc)
{
	struct unwind u = begin(regs, pc);
	enum { MOST = 64 };
	uintptr_t fn[MOST];
	unsigned n = 0, want = shadow.n;

	while (unwind_step(&u) == UNWIND_ON)
		if (is_watched(u.fn) && n < MOST)
			fn[n++] = u.fn;
	if (n != want && n != want + 1)
		return false;
	for (unsigned i = 0; i < want; i++)
		if (fn[n - 1 - i] != shadow.fn[i])
			return false;
	return true;
}

static void
examine(const ucontext_t *uc)
{
	uintptr_t regs[DWARF_REGS], end = 0;
	uintptr_t pc = dwarf_context(uc, regs);
	enum unwind_end how;

	how = walk(regs, pc, &end);
	if (!module_has_code(&program, pc)) {
		seen.foreign_code++;
		seen.wrong_end += how != UNWIND_FOREIGN;
		return;
	}
	seen.ends[how]++;
	if (how != UNWIND_BOTTOM) {
		seen.odd_pc = pc;
		return;
	}
	seen.wrong_end += end != top;
	seen.wrong_chain += !chain_is_right(regs, pc);
}

static void
handle(int sig, void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_sigaction = fn,
	    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

	if (!ON_THE_SPOT)
		t_skip("signals are not handled on the spot");
	EQ(sigaction(sig, &sa, NULL), 0);
}

static void
say_seen(void)
{
	if (seen.odd_pc || seen.ends[UNWIND_UNKNOWN])
		fprintf(stderr, "# odd pc %#lx\n",
		    (long)(seen.odd_pc - program.base));
	fprintf(stderr, "# %ld to the bottom, %ld foreign, %ld unknown; "
	    "%ld outside\n", seen.ends[UNWIND_BOTTOM],
	    seen.ends[UNWIND_FOREIGN], seen.ends[UNWIND_UNKNOWN],
	    seen.foreign_code);
}

/* ---- every instruction ---- */

#ifdef __x86_64__
static volatile sig_atomic_t stepping;

/* The trap flag is in the flags that the handler returns to. */
static void
on_trap(int sig, siginfo_t *si, void *uc)
{
	enum { FLAGS = 17, TRAP = 0x100 };
	ucontext_t *c = uc;

	(void)sig, (void)si;
	if (!stepping) {
		c->uc_mcontext.gregs[FLAGS] &= ~TRAP;
		return;
	}
	c->uc_mcontext.gregs[FLAGS] |= TRAP;
	examine(c);
}

static void
step_through(int i)
{
	handle(SIGTRAP, on_trap);
	stepping = 1;
	raise(SIGTRAP);
	mixture(i);
	stepping = 0;
}
#else
static void step_through(int i) { (void)i; }
#endif

GTEST(at_every_instruction, 1)
{
	if (!CAN_STEP)
		t_skip("this processor cannot step");
	look_around();
	for (int i = 0; i < t_scale(40); i++)
		step_through(i);
	say_seen();
	if (seen.ends[UNWIND_BOTTOM] < 100)
		t_skip("no steps here");
	EQ(seen.wrong_end, 0);
	EQ(seen.wrong_chain, 0);
	if (PLAIN) {
		EQ(seen.ends[UNWIND_FOREIGN], 0);
		/* raise is called through the linker's table of stubs. */
		OK(seen.ends[UNWIND_UNKNOWN] <= 3 * t_scale(40));
	}
}

/* ---- random instructions ---- */

static pthread_t target;
static bool finished;
static long answered;

static void
on_shot(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)si;
	examine(uc);
	__atomic_add_fetch(&answered, 1, __ATOMIC_RELEASE);
}

static void *
shoot(void *arg)
{
	long n = t_scale(5000);

	(void)arg;
	for (long i = 0; i < n; i++) {
		pthread_kill(target, SIGUSR1);
		while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) <= i)
			sched_yield();
	}
	__atomic_store_n(&finished, true, __ATOMIC_RELEASE);
	return NULL;
}

GTEST(at_random_instructions, 1)
{
	pthread_t t;

	look_around();
	handle(SIGUSR1, on_shot);
	target = pthread_self();
	EQ(pthread_create(&t, NULL, shoot, NULL), 0);
	for (int i = 0; !__atomic_load_n(&finished, __ATOMIC_ACQUIRE); i++)
		mixture(i & 1023);
	pthread_join(t, NULL);
	say_seen();
	OK(seen.ends[UNWIND_BOTTOM] > 0);
	EQ(seen.wrong_end, 0);
	EQ(seen.wrong_chain, 0);
	if (PLAIN) {
		EQ(seen.ends[UNWIND_FOREIGN], 0);
		/* pthread_join is called through the linker's stubs. */
		OK(seen.ends[UNWIND_UNKNOWN] <= 3);
	}
}

/* ---- ends ---- */

static uintptr_t kept_regs[DWARF_REGS], kept_pc;

static void
on_keep(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)si;
	kept_pc = dwarf_context(uc, kept_regs);
	examine(uc);
}

/* Interrupts the function that this is inlined into. */
static always_inline void
interrupt(void)
{
	syscall6(SYS_tgkill, syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0),
	    syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGUSR1, 0, 0, 0);
}

GTEST(the_goroutine_itself, 1)
{
	look_around();
	handle(SIGUSR1, on_keep);
	interrupt();
	EQ(seen.ends[UNWIND_BOTTOM], 1);
	EQ(seen.wrong_end, 0);
}

GTEST(libc_is_foreign, 1)
{
	look_around();
	handle(SIGUSR1, on_keep);
	raise(SIGUSR1);
	EQ(seen.foreign_code, 1);
	EQ(seen.wrong_end, 0);
}

static int
compare(const void *a, const void *b)
{
	interrupt();
	return *(const int *)a - *(const int *)b;
}

GTEST(called_back_by_libc, 1)
{
	int v[2] = { 2, 1 };

	look_around();
	handle(SIGUSR1, on_keep);
	qsort(v, 2, sizeof(v[0]), compare);
	OK(PLAIN ? seen.ends[UNWIND_FOREIGN] == 1 : seen.ends[0] == 0);
	EQ(seen.ends[UNWIND_BOTTOM], 0);
}

OUTLINE static int
descend(int n)
{
	int r = 0;

	if (n > 0)
		r = descend(n - 1);
	else
		interrupt();
	sink = r;
	return (r + n) & 0xffff;
}

static weft_waitgroup deep_done;

/* descend, this, goroutine_main and what it calls: some 6 frames. */
static void
descends(void)
{
	look_around();
	handle(SIGUSR1, on_keep);
	descend(1000);
	EQ(seen.ends[UNWIND_BOTTOM], 1);
	descend(UNWIND_DEPTH - 16);
	EQ(seen.ends[UNWIND_BOTTOM], 2);
	descend(UNWIND_DEPTH);
	EQ(seen.ends[UNWIND_UNKNOWN], 1);
	descend(2 * UNWIND_DEPTH);
	EQ(seen.ends[UNWIND_UNKNOWN], 2);
	EQ(seen.wrong_end, 0);
	weft_waitgroup_done(&deep_done);
}

GTEST(too_deep, 1)
{
	weft_opt roomy = { .stack = 64 << 20 };

	if (!ON_THE_SPOT)
		t_skip("signals are not handled on the spot");
	weft_waitgroup_add(&deep_done, 1);
	OK(weft_try_go_opt(roomy, descends) > 0);
	weft_waitgroup_wait(&deep_done);
}

GTEST(no_modules, 1)
{
	uintptr_t end = 5;

	look_around();
	handle(SIGUSR1, on_keep);
	interrupt();
	EQ(unwind_walk(NULL, 0, kept_regs, kept_pc, &bounds, 0, 0, &end),
	    UNWIND_FOREIGN);
	/* No bottom: frame_entry says itself that it has no caller. */
	EQ(unwind_walk(&program, 1, kept_regs, kept_pc, &bounds, 0, 0, &end),
	    UNWIND_UNKNOWN);
	program.fdes = 0;
	EQ(walk(kept_regs, kept_pc, &end), UNWIND_UNKNOWN);
	EQ(end, 5);
}

/* ---- bad stacks ---- */

/* Pages between others that must not be touched. */
static char *
island(size_t bytes)
{
	char *p = mmap(NULL, bytes + 2 * 4096, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(p != MAP_FAILED);
	OK(mprotect(p + 4096, bytes, PROT_READ | PROT_WRITE) == 0);
	return p + 4096;
}

static uint64_t
dice(void)
{
	static uint64_t x = 88172645463325252u;

	return xorshift(&x);
}

/* A value that may be anything, but likes to look like an address. */
static uintptr_t
any_word(void)
{
	switch (dice() % 6) {
	case 0:
		return program.text[0].lo +
		    dice() % (program.text[0].hi - program.text[0].lo);
	case 1:
		return bounds.lo + dice() % (bounds.hi - bounds.lo) / 8 * 8;
	case 2:
		return bounds.hi - dice() % 64;
	case 3:
		return dice() % 3 - 1;
	case 4:
		return kept_pc;
	}
	return dice();
}

/* Addresses of the one stack become addresses of the other. */
static void
shift(uintptr_t *w, size_t n, const struct range *from, uintptr_t by)
{
	for (size_t i = 0; i < n; i++)
		if (w[i] >= from->lo && w[i] <= from->hi)
			w[i] += by;
}

/* Copies the stack in use to the end of an island and spoils it. */
GTEST(corrupted_stacks, 1)
{
	enum { WORDS = 4096 };
	static uintptr_t good[WORDS];
	uintptr_t regs[DWARF_REGS], end, *copy;
	long ends[4] = {0};
	struct range real;
	size_t used;

	look_around();
	handle(SIGUSR1, on_keep);
	descend(20);
	if (!PLAIN)
		t_skip("stacks are larger and poisoned");
	real = (struct range){ kept_regs[DWARF_SP], bounds.hi };
	used = (real.hi - real.lo) / sizeof(uintptr_t);
	OK(used < WORDS);
	memcpy(good, (void *)real.lo, real.hi - real.lo);
	copy = (uintptr_t *)(void *)island(sizeof(good));
	bounds.lo = (uintptr_t)copy;
	bounds.hi = (uintptr_t)(copy + WORDS);
	copy += WORDS - used;
	shift(good, used, &real, bounds.hi - real.hi);
	shift(kept_regs, DWARF_REGS, &real, bounds.hi - real.hi);
	EQ(walk(kept_regs, kept_pc, &end), UNWIND_UNKNOWN);
	for (long i = 0; i < t_scale(200000); i++) {
		memcpy(copy, good, used * sizeof(good[0]));
		memcpy(regs, kept_regs, sizeof(regs));
		for (uint64_t k = dice() % 4; k > 0; k--)
			copy[dice() % used] = any_word();
		if (dice() % 4 == 0)
			regs[dice() % DWARF_REGS] = any_word();
		ends[walk(regs, dice() % 8 ? kept_pc : any_word(), &end)]++;
	}
	fprintf(stderr, "# %ld %ld %ld\n", ends[0], ends[1], ends[2]);
	for (int i = 0; i < UNWIND_ON; i++)
		OK(ends[i] > 0);
}
