/* SPDX-License-Identifier: MIT */
/*
 * Stopping all goroutines for a collector: src/collect/collector.c and
 * src/preempt/halt.h. While the collector marks, no goroutine computes.
 *
 * One P; N threads, each with a goroutine that computes for a while and ends;
 * the collector, which makes ROUNDS collections. The monitor's part is done by
 * the threads themselves: at any time the P is retaken from one, or one is
 * paused, or one that has lost its P gets a free one.
 *
 *	at[t]		COMPUTES, with or without the P; LOCKED: inside, without
 *			a P, holding sched.lock; PAUSED: in the handler, asleep
 *			until it is given the P; PAUSING: in the handler, not
 *			queued yet; STOPPED: its goroutine was switched out;
 *			HALTED: in the handler; ENDED
 *	p		the thread that has the P, FREE, or TAKEN: stopped
 *	stopping	sched.stopping
 *	halt[t]		m->halt
 *	signal[t]	the signal is pending; the handler blocks it
 *	lock		who holds sched.lock
 *	ended		STOP_ENDED: thread 0 runs main, which returns without a
 *			P if END; then paused ones go on without a P, and stay
 *			so until their threads end
 *
 * Left out: how the P is retaken (retake.pml), how a paused one gets its turn
 * (pause.pml), plain threads.
 *
 * What must hold: `marking` and a step of a goroutine exclude each other; all
 * goroutines end, the collector is done, nothing is left asked for.
 *
 * check ok
 * check ok -DROUNDS=3
 * check ok -DEND
 * check ok -DGIVE_UP	the stopper may give up: it cannot signal one, or one
 *			does not answer
 * check ok -DEND -DGIVE_UP
 * check bad -DHALT_FIRST	threads are halted before the world is stopped
 * check bad -DNO_HALT	... or not at all: the world is stopped alone
 * check bad -DNO_PAUSED	one that is paused is waited for
 * check bad -DPAUSED_ONCE	... that became so after it was asked
 * check bad -DGIVE_UP -DSTORE	the handler stores HALTED, whatever is there
 * check bad -DHALT_LOCKED	a thread is halted that holds sched.lock
 * check bad -DEND -DNO_RELOOK	the end is looked for before each round only
 * check bad -DEND -DSTAYS	paused ones count as halted after the end, too
 */

#ifndef N
#define N	2
#endif
#ifndef ROUNDS
#define ROUNDS	2
#endif

#define FREE	9
#define TAKEN	8
#define NOBODY	9
#define STEPS	2

mtype = { COMPUTES, LOCKED, PAUSING, PAUSED, STOPPED, HALTED, ENDED };
mtype = { NONE, ASKED, IS_HALTED };

mtype at[N] = COMPUTES;
mtype halt[N] = NONE;
bool signal[N];
byte steps[N];
byte p = FREE, lock = NOBODY;
bool stopping, marking, done, gave_up;
bool ended, is_stopped, again;

/* It runs a goroutine, as the stopper sees it. */
#define runs(t) (at[t] != STOPPED && at[t] != ENDED)
#define paused(t) (at[t] == PAUSED)
#ifdef NO_PAUSED
#define stays(t) false
#elif defined(STAYS)
#define stays(t) paused(t)
#else
#define stays(t) (is_stopped && paused(t))
#endif
/* It is neither halted, nor paused, nor without a goroutine. */
#ifdef PAUSED_ONCE
#define must_halt(t) (halt[t] != IS_HALTED && runs(t) && \
	(halt[t] == ASKED || !stays(t)))
#else
#define must_halt(t) (halt[t] != IS_HALTED && runs(t) && !stays(t))
#endif

/* The handler, on a signal that is pending. `back`: where it was. */
inline handle(t, back)
{
	signal[t] = false;
	if
#ifndef HALT_LOCKED
	:: halt[t] == ASKED && at[t] == LOCKED	/* it is asked again */
	:: halt[t] == ASKED && at[t] != LOCKED ->
#else
	:: halt[t] == ASKED ->
#endif
		/* The stopper may release it between the two. */
#ifdef STORE
		halt[t] = IS_HALTED;
		back = at[t];
		at[t] = HALTED
#else
		if
		:: atomic { halt[t] == ASKED ->
			halt[t] = IS_HALTED; back = at[t]; at[t] = HALTED }
		:: else
		fi
#endif
	:: else
	fi;
	if
	:: at[t] == HALTED ->
		halt[t] != IS_HALTED;
		at[t] = back
	:: else
	fi
}

proctype thread(byte t)
{
	mtype back;
	do
	/* a step of the goroutine */
	:: atomic { at[t] == COMPUTES && steps[t] < STEPS ->
		assert(!marking); steps[t]++ }
	/* it gets a free P, loses it, or gives it to the stopper */
	:: atomic { at[t] == COMPUTES && p == FREE && !stopping -> p = t }
	:: atomic { at[t] == COMPUTES && p == t && !stopping -> p = FREE }
	:: atomic { at[t] == COMPUTES && p == t && stopping ->
		p = TAKEN; at[t] = STOPPED }
	/* ... whose P is retaken instead, since it does not yield */
	:: atomic { at[t] == COMPUTES && p == t && stopping -> p = TAKEN }
	/* switched out: it runs again with the P */
	:: atomic { at[t] == STOPPED && p == FREE && !stopping ->
		p = t; at[t] = COMPUTES }
	/* inside, with the lock, for a moment */
	:: atomic { at[t] == COMPUTES && p != t && lock == NOBODY ->
		lock = t; at[t] = LOCKED }
	:: atomic { at[t] == LOCKED -> lock = NOBODY; at[t] = COMPUTES }
	/* paused: it gives the P up, if it has it, and needs it to go on */
	:: atomic { at[t] == COMPUTES -> at[t] = PAUSING }
	:: atomic { at[t] == PAUSING && lock == NOBODY ->
		if
		:: p == t && stopping -> p = TAKEN
		:: p == t && !stopping -> p = FREE
		:: else
		fi;
		at[t] = PAUSED }
	:: atomic { at[t] == PAUSED && p == FREE && !stopping ->
		p = t; at[t] = COMPUTES }
	/* the signal, where it is not blocked */
	:: atomic { signal[t] && (at[t] == COMPUTES || at[t] == LOCKED) ->
		skip };
		handle(t, back)
#ifdef END
	/* main returns, without a P */
	:: atomic { t == 0 && at[t] == COMPUTES && p != t &&
		steps[t] == STEPS && lock == NOBODY && !ended ->
		ended = true };
		atomic { at[t] = ENDED; break }
	/* paused: it is poked, and goes on without a P, or ends if it would
	 * need one */
	:: atomic { at[t] == PAUSED && ended -> at[t] = COMPUTES }
	:: atomic { (at[t] == COMPUTES || at[t] == STOPPED) && ended &&
		steps[t] == STEPS && t != 0 ->
		if
		:: p == t -> p = (stopping -> TAKEN : FREE)
		:: else
		fi;
		at[t] = ENDED; break }
#endif
	/* its goroutine ends, with the P; it has no other */
	:: atomic { at[t] == COMPUTES && p == t && steps[t] == STEPS &&
		!stopping -> p = FREE; at[t] = ENDED; break }
	od
}

inline stop_world()
{
	atomic { lock == NOBODY -> stopping = true;
		if
		:: p == FREE -> p = TAKEN
		:: else
		fi };
	p == TAKEN
}

inline start_world()
{
	atomic { lock == NOBODY -> stopping = false; p = FREE }
}

/* It took the signal, and had a lock. */
#define changed(t) (must_halt(t) && !signal[t])

/* One M, in a round. */
inline look_at(t)
{
	if
	:: must_halt(t) ->
		again = true;
		if
		:: halt[t] == NONE -> halt[t] = ASKED; signal[t] = true
		:: else -> signal[t] = true
		fi
	:: else
	fi
}

inline release(t)
{
	halt[t] = NONE
}

inline halt_all()
{
	do
	:: again = false;
		is_stopped = !ended;
		look_at(0);
		look_at(1);
		if
#ifdef NO_RELOOK
		:: !again -> break
#else
		:: !again && is_stopped == !ended -> break
		:: !again && is_stopped != !ended
#endif
		/* Until there is something to do: a state in which nothing
		 * changes is a deadlock. */
		:: again -> changed(0) || changed(1) ||
			(!must_halt(0) && !must_halt(1)) || is_stopped != !ended
		fi
#ifdef GIVE_UP
	:: gave_up = true; break
#endif
	od
}

inline halt_release()
{
	release(0);
	release(1)
}

proctype collector()
{
	byte round;

	do
	:: round == ROUNDS -> break
	:: else ->
		round++;
#ifdef HALT_FIRST
		halt_all();
		stop_world();
#else
		stop_world();
#ifndef NO_HALT
		halt_all();
#endif
#endif
		if
		:: gave_up -> gave_up = false
		:: else -> marking = true; marking = false
		fi;
		halt_release();
		start_world()
	od;
	done = true
}

init
{
	atomic {
		run thread(0);
		run thread(1);
		run collector()
	}
	(_nr_pr == 1) -> assert(done && halt[0] == NONE && halt[1] == NONE &&
	    lock == NOBODY)
}
