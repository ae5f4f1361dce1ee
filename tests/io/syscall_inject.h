/* SPDX-License-Identifier: MIT */
/*
 * Makes system calls of this process fail, some times: a filter of the kernel
 * asks a thread of the test what to do with each call of a kind. The thread
 * says with which error it fails, or that it may go on.
 *
 *	inject_start((long[]){ SYS_accept4 }, 1);	before the runtime
 *	inject(SYS_accept4, ENFILE, 3);			the next three
 *	await_injected(SYS_accept4);			they have failed
 *
 * Or it keeps a call waiting, so that something can be done while a thread is
 * in the middle of it:
 *
 *	inject_hold(SYS_accept4);			the next one waits
 *	await_held(SYS_accept4);			it does
 *	inject(SYS_accept4, EAGAIN, 1);
 *	inject_release(SYS_accept4);			and fails
 *
 * Meanwhile all other calls of these kinds wait, too. With error 0 a call has
 * not been made, and returns 0.
 *
 * Spelt out, since not every libc comes with the kernel's headers.
 */
#ifndef INJECT_H
#define INJECT_H

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "connection.h"
#include "run_env.h"

enum { INJECT_KINDS = 4 };

struct inject_kind {
	long nr;
	int error;
	long left;		/* so many calls still fail */
	long seen;		/* calls in all */
	int hold;		/* INJECT_FREE ... */
};
enum { INJECT_FREE, INJECT_HOLD, INJECT_HELD };

static struct inject_kind inject_kinds[INJECT_KINDS];
static int inject_fd = -1;

struct inject_insn { uint16_t code; uint8_t jt, jf; uint32_t k; };
struct inject_prog { uint16_t len; struct inject_insn *insn; };
struct inject_notice {
	uint64_t id;
	uint32_t pid, flags;
	int nr;
	uint32_t arch;
	uint64_t ip, args[6];
};
struct inject_verdict {
	uint64_t id;
	int64_t val;
	int32_t error;
	uint32_t flags;
};

#define INJECT_RECV _IOWR('!', 0, struct inject_notice)
#define INJECT_SEND _IOWR('!', 1, struct inject_verdict)
enum { INJECT_GO_ON = 1, INJECT_SET_FILTER = 1, INJECT_NEW_LISTENER = 8,
	INJECT_NO_NEW_PRIVS = 38 };

static inline struct inject_kind *
inject_find_(long nr)
{
	for (int i = 0; i < INJECT_KINDS; i++)
		if (inject_kinds[i].nr == nr)
			return &inject_kinds[i];
	abort();
}

/* If it is to be held, returns when it is to go on. */
static inline void
inject_keep_(struct inject_kind *k)
{
	int hold = INJECT_HOLD;

	__atomic_compare_exchange_n(&k->hold, &hold, INJECT_HELD, false,
	    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	while (__atomic_load_n(&k->hold, __ATOMIC_ACQUIRE) == INJECT_HELD)
		usleep(100);
}

static inline void *
inject_thread_(void *arg)
{
	struct inject_notice n;

	(void)arg;
	for (;;) {
		struct inject_verdict v = { .flags = INJECT_GO_ON };
		struct inject_kind *k;

		memset(&n, 0, sizeof n);
		if (ioctl(inject_fd, INJECT_RECV, &n) != 0)
			continue;
		k = inject_find_(n.nr);
		v.id = n.id;
		inject_keep_(k);
		if (__atomic_load_n(&k->left, __ATOMIC_ACQUIRE) > 0) {
			v.flags = 0;
			v.error = -__atomic_load_n(&k->error,
			    __ATOMIC_RELAXED);
		}
		/* It fails if a signal has cut the call short: then it is
		 * made again, and we are asked again. */
		if (ioctl(inject_fd, INJECT_SEND, &v) != 0)
			continue;
		__atomic_add_fetch(&k->seen, 1, __ATOMIC_RELEASE);
		if (!v.flags)
			__atomic_sub_fetch(&k->left, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Skips the test where that is not possible. */
static inline void
inject_start(const long *nr, int n)
{
	struct inject_insn insn[INJECT_KINDS + 3];
	struct inject_prog prog = { (uint16_t)(n + 3), insn };
	pthread_t t;

	if (t_emulated())
		t_skip("not under an emulator");
	insn[0] = (struct inject_insn){ 0x20, 0, 0, 0 };	/* load nr */
	for (int i = 0; i < n; i++) {
		inject_kinds[i].nr = nr[i];
		insn[1 + i] = (struct inject_insn){ 0x15, (uint8_t)(n - i), 0,
			(uint32_t)nr[i] };		/* equal: to the end */
	}
	insn[n + 1] = (struct inject_insn){ 0x06, 0, 0, 0x7fff0000 };
	insn[n + 2] = (struct inject_insn){ 0x06, 0, 0, 0x7fc00000 };
	if (prctl(INJECT_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    (inject_fd = (int)syscall(SYS_seccomp, INJECT_SET_FILTER,
	    INJECT_NEW_LISTENER, &prog)) < 0)
		t_skip("the kernel does not let us");
	NEED(-pthread_create(&t, NULL, inject_thread_, NULL));
}

static inline void
inject(long nr, int error, long times)
{
	struct inject_kind *k = inject_find_(nr);

	__atomic_store_n(&k->error, error, __ATOMIC_RELAXED);
	__atomic_store_n(&k->left, times, __ATOMIC_RELEASE);
}

static inline bool
injected(long nr)
{
	return __atomic_load_n(&inject_find_(nr)->left, __ATOMIC_ACQUIRE) <= 0;
}

static inline void
await_injected(long nr)
{
	while (!injected(nr))
		weft_sleep(100 * WEFT_US);
}

static inline void
inject_hold(long nr)
{
	__atomic_store_n(&inject_find_(nr)->hold, INJECT_HOLD,
	    __ATOMIC_RELEASE);
}

static inline void
await_held(long nr)
{
	while (__atomic_load_n(&inject_find_(nr)->hold, __ATOMIC_ACQUIRE) !=
	    INJECT_HELD)
		weft_sleep(100 * WEFT_US);
}

static inline void
inject_release(long nr)
{
	__atomic_store_n(&inject_find_(nr)->hold, INJECT_FREE,
	    __ATOMIC_RELEASE);
}

static inline long
inject_seen(long nr)
{
	return __atomic_load_n(&inject_find_(nr)->seen, __ATOMIC_ACQUIRE);
}

/* Runs fn as the main goroutine, with calls of one kind that can be changed. */
static inline void
inject_run(long nr, int procs, void (*fn)(void))
{
	inject_start(&nr, 1);
	run_env(procs, NULL, fn);
}

#endif
