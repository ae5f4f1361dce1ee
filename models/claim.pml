/* SPDX-License-Identifier: MIT */
/*
 * Claiming a goroutine that waits, to read its stack or to scavenge it:
 * src/preempt/claim.h. While it is claimed no M is on its stack.
 *
 * One goroutine, which two Ms run by turns; a waker, which readies it WAKES
 * times; a claimer, which tries to claim it CLAIMS times.
 *
 *	state		the goroutine's, as memory has it
 *	claim		HOLD_CLAIM of its `hold`, which is only changed by
 *			atomic operations
 *	curg[m]		it is m's curg, as memory has it; prev[m]: its prev_g
 *	on[m]		m is on the goroutine's stack
 *	parked		its park was committed: it can be readied
 *	queued		it is on a run queue
 *	claimed		the claimer reads its stack
 *
 * The Ms use no barrier. What an M stores goes into a buffer, and from there to
 * memory at any time later: a release after all that was stored before it, any
 * other store whenever it likes, but in order with those to the same word. What
 * an M loads comes from memory at once. The claimer's barrier on all threads
 * empties each buffer, one after the other; without it the claimer's load of
 * the state may come before its own store of the claim.
 *
 * What must hold: `claimed` and `on` exclude each other, and all end.
 *
 * check ok
 * check ok -DWAKES=3
 * check ok -DSEEN	the M finds another bit set in hold, and clears it
 * check bad -DNO_WAIT	the M runs it although it is claimed
 * check bad -DNO_STATE	the claimer does not look at the state
 * check bad -DNO_STACK	... or not at the Ms
 * check bad -DNO_FIRST	no barrier between claim and state
 * check bad -DNO_SECOND	no barrier between state and Ms
 * check bad -DSTACK_FIRST	the Ms are looked at before the state
 * check bad -DPREV_FIRST	prev_g is read before curg
 * check bad -DSTORE_CURG_FIRST	an M that leaves clears curg before it sets prev_g
 * check bad -DEARLY_PREV	... clears prev_g while it is on the stack
 */

#ifndef WAKES
#define WAKES	2
#endif
#ifndef CLAIMS
#define CLAIMS	2
#endif

mtype = { WAITING, RUNNABLE, RUNNING };		/* states */
/* What a buffer has; the last three are releases. */
mtype = { STATE, PREV, PREV_REL, CURG, PARKED };

mtype state = WAITING;
bool claim, claimed, queued, done;
bool parked = true;
bool curg[2], prev[2], on[2];
chan buf[2] = [8] of { mtype, mtype, bool };

/* The oldest store of m's gets to memory. */
inline drain_one(m, what, s, b)
{
	buf[m]?what, s, b;
	if
	:: what == STATE -> state = s
	:: what == CURG -> curg[m] = b
	:: what == PREV || what == PREV_REL -> prev[m] = b
	:: what == PARKED -> parked = b
	fi
}

proctype buffer(byte m)
{
	mtype what, s;
	bool b;

end:	do
	:: atomic { nempty(buf[m]) -> drain_one(m, what, s, b) }
	/* one that is no release overtakes others */
	:: atomic { buf[m]??STATE, s, b -> state = s }
	:: atomic { buf[m]??PREV, s, b -> prev[m] = b }
	od
}

inline store_state(m, s) { buf[m]!STATE, s, false }
inline store_curg(m, b) { buf[m]!CURG, WAITING, b }
inline store_prev(m, b) { buf[m]!PREV, WAITING, b }
inline store_prev_rel(m, b) { buf[m]!PREV_REL, WAITING, b }

/* pin.c, wait_scavenged */
inline wait_unclaimed()
{
	do
	:: !claim ->
		if
		:: atomic { !claim -> break }	/* hold &= ~SEEN */
		:: claim
		fi
	od
}

proctype runner(byte id)
{
	do
	:: atomic { queued -> queued = false };
#ifdef NO_WAIT
		skip;
#elif defined(SEEN)
		wait_unclaimed();
#else
		if
		:: claim -> wait_unclaimed()
		:: !claim
		fi;
#endif
		/* make_current, sched_loop */
		store_state(id, RUNNING);
		store_curg(id, true);
		store_prev(id, false);
		atomic { assert(!claimed); on[id] = true };
		/* park_as, switch_from */
		store_state(id, WAITING);
#ifdef STORE_CURG_FIRST
		store_curg(id, false);
		store_prev(id, true);
#else
		store_prev(id, true);
		store_curg(id, false);
#endif
#ifdef EARLY_PREV
		store_prev_rel(id, false);
		on[id] = false;
#else
		on[id] = false;
		store_prev_rel(id, false);	/* finish_switch */
#endif
		buf[id]!PARKED, WAITING, true
	:: done -> break
	od
}

proctype waker()
{
	byte n;

	do
	:: n == WAKES -> break
	:: else ->
		atomic { parked -> parked = false };
		n++;
		state = RUNNABLE;
		queued = true
	od;
	parked;
	done = true
}

inline empty_buffer(m)
{
	atomic {
		do
		:: nempty(buf[m]) -> drain_one(m, what, s, b)
		:: empty(buf[m]) -> break
		od
	}
}

inline barrier()
{
	empty_buffer(0);
	empty_buffer(1)
}

inline look_at_m(m)
{
#ifdef PREV_FIRST
	lost = lost || prev[m];
	lost = lost || curg[m]
#else
	lost = lost || curg[m];
	lost = lost || prev[m]
#endif
}

inline look_at_stacks()
{
#ifndef NO_STACK
	look_at_m(0);
	look_at_m(1)
#else
	skip
#endif
}

inline look_at_state()
{
#ifndef NO_STATE
	lost = lost || state != WAITING
#else
	skip
#endif
}

proctype claimer()
{
	mtype what, s;
	bool b, lost;
	byte n;

	do
	:: n == CLAIMS -> break
	:: else ->
		n++;
		lost = false;
#ifdef NO_FIRST
		look_at_state();
		claim = true;
#else
		claim = true;
		barrier();
#endif
#ifdef STACK_FIRST
		look_at_stacks();
		look_at_state();
#else
#ifndef NO_FIRST
		look_at_state();
#endif
#ifndef NO_SECOND
		barrier();
#endif
		look_at_stacks();
#endif
		if
		:: lost
		:: !lost ->
			atomic { claimed = true; assert(!on[0] && !on[1]) };
			claimed = false
		fi;
		claim = false
	od
}

init
{
	atomic {
		run buffer(0);
		run buffer(1);
		run runner(0);
		run runner(1);
		run waker();
		run claimer()
	}
	(_nr_pr == 3) -> assert(done && !claim)
}
