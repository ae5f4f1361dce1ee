/* SPDX-License-Identifier: MIT */
/*
 * Atomic words. This is the only file that spells a memory order: elsewhere
 * the order is part of the operation's name.
 *
 * An atomic field is a struct with one hidden member, so that a naked access
 * does not compile. (A bare _Atomic would turn `x = 1` into a silent
 * sequentially consistent exchange.)
 *
 *	relaxed	the word alone is consistent; orders nothing around it
 *	acq	what the releasing thread did before is visible after
 *	rel	what this thread did before is visible to one that acquires
 *	acqrel	both, for read-modify-write
 *	sc	one total order with all other sc operations; needed only where
 *		two sides each store and then load the other's word, and then
 *		the comment names the pair
 *
 * There are no free-standing fences: ThreadSanitizer cannot see them.
 */
#ifndef ATOMIC_H
#define ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { uint8_t v_; } a8;
typedef struct { uint32_t v_; } a32;
typedef struct { uint64_t v_; } a64;
typedef struct { _Bool v_; } abool;
#define APTR(type) struct { type *v_; }

#define a_init(p, x)		((void)((p)->v_ = (x)))

/* The builtins, short enough for a line. */
#define A_LD_(p, o)	__atomic_load_n(&(p)->v_, __ATOMIC_##o)
#define A_ST_(p, x, o)	__atomic_store_n(&(p)->v_, x, __ATOMIC_##o)
#define A_XC_(p, x, o)	__atomic_exchange_n(&(p)->v_, x, __ATOMIC_##o)
#define A_AD_(p, x, o)	__atomic_fetch_add(&(p)->v_, x, __ATOMIC_##o)
#define A_CS_(p, old, new, won, lost) __extension__ ({			\
	__typeof__((p)->v_) expect_ = (old);				\
	__atomic_compare_exchange_n(&(p)->v_, &expect_, new, 0,		\
	    __ATOMIC_##won, __ATOMIC_##lost); })

#define a_load_relaxed(p)	A_LD_(p, RELAXED)
#define a_load_acq(p)		A_LD_(p, ACQUIRE)
#define a_load_sc(p)		A_LD_(p, SEQ_CST)

#define a_store_relaxed(p, x)	A_ST_(p, x, RELAXED)
#define a_store_rel(p, x)	A_ST_(p, x, RELEASE)
#define a_store_sc(p, x)	A_ST_(p, x, SEQ_CST)

#define a_xchg_acq(p, x)	A_XC_(p, x, ACQUIRE)
#define a_xchg_rel(p, x)	A_XC_(p, x, RELEASE)
#define a_xchg_acqrel(p, x)	A_XC_(p, x, ACQ_REL)
#define a_xchg_sc(p, x)		A_XC_(p, x, SEQ_CST)

/* Each returns the old value. */
#define a_add_relaxed(p, x)	A_AD_(p, x, RELAXED)
#define a_add_acqrel(p, x)	A_AD_(p, x, ACQ_REL)
#define a_add_sc(p, x)		A_AD_(p, x, SEQ_CST)
#define a_or_relaxed(p, x) \
	__atomic_fetch_or(&(p)->v_, x, __ATOMIC_RELAXED)
#define a_and_relaxed(p, x) \
	__atomic_fetch_and(&(p)->v_, x, __ATOMIC_RELAXED)
#define a_and_acqrel(p, x) \
	__atomic_fetch_and(&(p)->v_, x, __ATOMIC_ACQ_REL)
#define a_or_sc(p, x)	__atomic_fetch_or(&(p)->v_, x, __ATOMIC_SEQ_CST)
#define a_and_sc(p, x)	__atomic_fetch_and(&(p)->v_, x, __ATOMIC_SEQ_CST)

/* Compare and swap: true if *p was o and is n now. No spurious failures. */
#define a_cas_relaxed(p, o, n)	A_CS_(p, o, n, RELAXED, RELAXED)
#define a_cas_acq(p, o, n)	A_CS_(p, o, n, ACQUIRE, RELAXED)
#define a_cas_rel(p, o, n)	A_CS_(p, o, n, RELEASE, RELAXED)
#define a_cas_acqrel(p, o, n)	A_CS_(p, o, n, ACQ_REL, ACQUIRE)
#define a_cas_sc(p, o, n)	A_CS_(p, o, n, SEQ_CST, SEQ_CST)

/*
 * A counter that one thread writes and others read: no locked instruction.
 * The caller is the only writer.
 */
#define a_bump(p, x)		a_store_relaxed(p, a_load_relaxed(p) + (x))
#define a_bump_rel(p, x)	a_store_rel(p, a_load_relaxed(p) + (x))

#endif
