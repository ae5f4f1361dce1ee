/* SPDX-License-Identifier: MIT */
/*
 * Pausing: the head of src/preempt/pause.c. A goroutine that cannot be moved is
 * paused with its thread, even if it holds a lock of libc, and all of them get
 * their turn.
 *
 * NP Ps; NM threads, of which one is started when it is needed; the thread in
 * weft_run, which starts it; the monitor. Three goroutines:
 *
 *	0	main: can be moved. It runs until all have begun, or until the
 *		others have ended. END: it returns at any time instead
 *	1, 2	cannot be moved. They take libc's lock, compute for a while,
 *		release it, and compute until all have begun. INTERRUPTED: 1
 *		is then at times in a signal handler of the program that
 *		interrupted the runtime while it held sched.lock
 *
 *	globq			sched.globq
 *	p[q]			which M has P q; IDLE_P; MOVING: on its way
 *	at[m]			where an M is: see m.h
 *	note[m], nextp[m]	of struct m; poked[m]: note_poke
 *	bound[g]		the M of a goroutine that is bound: HOLD_PIN
 *	lock			the goroutine that holds sched.lock (any other
 *				section under it is one step here)
 *	libc			the holder of libc's lock
 *	release_p(), pause()	release_p with successor and queue; pause_here
 *	get_bound()		pin_take_any
 *	wake()			idle_wake_slow
 *	hand_off()		p_hand_off, world_no_thread
 *	look()			next_runnable, idle_park
 *	park()			idle_park_detached, idle_park_new
 *	the monitor		plan_take, retake_one, retry_no_thread
 *
 * Left out: how a P is retaken (retake.pml), spinning (idle.pml), the verdict
 * of the handler, stopping the world, the limit of threads, and retaking the P
 * of a goroutine that computes, which needs an idle M as pausing does. What
 * the C code retries waits here until it can be done: so a state in which
 * nothing changes is a deadlock.
 *
 * The rule that is easy to miss: a goroutine that is bound is never in the
 * ring of a P (BATCH), and if no M is idle the first bound one is found
 * wherever it is in the global queue (FIRST_ONLY). Else a P stays with an M
 * that waits for libc's lock, the new M waits for it too, and the goroutine
 * that holds it cannot be run.
 *
 * What must hold: a P has one owner, a goroutine runs on one M, an M is woken
 * once. In the end all goroutines have ended, all Ps are idle and both locks
 * are free. END: weft_run returns, and no M stays paused.
 *
 * check ok
 * check ok -DEND
 * check ok -DNP=2
 * check ok -DEND -DNP=2
 * check ok -DNM=4
 * check ok -DINTERRUPTED
 * check ok ltl=turns	all begin, and get further turns
 * check bad -DNO_SPARE ltl=turns	paused Ms hand the P only to each other
 * check bad -DNEWEST ltl=turns	the newest in the global queue is next
 * check bad -DNO_WAKE	a goroutine is queued, and no P is woken for it
 * check bad -DNM=4 -DMONITOR_MAKES	the monitor starts threads
 * check bad -DM_MAKES	... or the M that needs one
 * check bad -DBORN_WITH_P	a P waits for the thread that is started for it
 * check bad -DINTERRUPTED -DPAUSE_LOCKED	paused with sched.lock held
 * check bad -DNO_SUCCESSOR	paused without an M for its P
 * check bad -DNP=2 -DPEEK	... or with one that stays on the idle list
 * check bad -DFIRST_ONLY	a bound goroutine is found at the head only
 * check bad -DBATCH	bound ones are moved to a P's ring
 * check bad -DEND -DNO_POKE	paused Ms are not woken at the end
 * check bad -DEND -DTWO_STEPS	the P is released before g is queued
 * check bad -DEND -DLATE_PAUSE	a goroutine is paused after the end
 * check bad -DEND -DNP=2 -DUNBIND	at the end one is queued but not bound
 */

#ifndef NP
#define NP	1
#endif
#ifndef NM
#define NM	3
#endif
#define MAX_M	4
#define NG	3
#define NONE	7
#define IDLE_P	8
#define MOVING	9

/* goroutines */
#define MAIN	0

/* at */
#define UNBORN	0
#define BORN	1	/* started, does not run yet */
#define AWAKE	2
#define IDLE	3	/* on the idle list */
#define COMING	4	/* off it: a P is on its way */
#define PAUSED	5
#define HALTED	6

/* step of a goroutine */
#define WANTS	0	/* waits for libc's lock */
#define HOLDS	1	/* computes, with libc's lock: for a while */
#define COMPUTES 2	/* ... without, until all have begun */
#define LOCKED	3	/* ... with sched.lock, for a while */

byte globq[NG], n_globq;
byte ring[NG], n_ring;		/* of P 0: see BATCH */
byte p[NP];
byte at[MAX_M], has[MAX_M], nextp[MAX_M], runs[MAX_M];
bool note[MAX_M], poked[MAX_M];
byte bound[NG], step[NG];
bool begun[NG], ended[NG];
byte lock = NONE, libc = NONE;
bool patient;			/* main runs until the others have ended */
bool wanted, starved, end_set, returned;
bool making;			/* the monitor starts a thread: no signals */
#ifdef BORN_WITH_P
byte wanted_p = NONE;
#endif

#define all_begun (begun[0] && begun[1] && begun[2])
#define all_ended (ended[0] && ended[1] && ended[2])
#define is(m, where) (m < NM && at[m] == where)
#define any_m(where)							\
	(is(0, where) || is(1, where) || is(2, where) || is(3, where))
#define an_idle_m							\
	(is(0, IDLE) -> 0 : (is(1, IDLE) -> 1 :				\
	(is(2, IDLE) -> 2 : (is(3, IDLE) -> 3 : NONE))))
#define an_unborn_m (is(2, UNBORN) -> 2 : (is(3, UNBORN) -> 3 : NONE))
#if NP == 1
#define an_idle_p (p[0] == IDLE_P -> 0 : NONE)
#else
#define an_idle_p (p[0] == IDLE_P -> 0 : (p[1] == IDLE_P -> 1 : NONE))
#endif

#define work (n_globq > 0 || n_ring > 0)

/* Is the one at that index of the global queue bound to an M? */
#define bound_at(i) (n_globq > i && bound[globq[i]] != NONE)
#ifdef FIRST_ONLY
#define bound_waits bound_at(0)
#else
#define bound_waits (bound_at(0) || bound_at(1) || bound_at(2))
#endif

inline put(g)
{
	globq[n_globq] = g;
	n_globq++
}

/* Removes the one at index i; those behind it move up. */
inline get_at(i, g)
{
	g = globq[i];
	do
	:: i + 1 < n_globq -> globq[i] = globq[i + 1]; i++
	:: else -> break
	od;
	globq[i] = 0;
	n_globq--;
	i = 0
}

/* pin_take_any: the M of the first bound goroutine. */
inline get_bound(x)
{
	k = (bound_at(0) -> 0 : (bound_at(1) -> 1 : 2));
	get_at(k, y);
	x = bound[y];
	y = 0
}

/* M x gets P q: m_start, hand_p_to. */
inline start(x, q)
{
	d_step {
		assert(!note[x] && p[q] == MOVING);
		nextp[x] = q;
		note[x] = true;
		x = NONE;
		q = NONE
	}
}

inline acquire(q)
{
	assert(has[me] == NONE && p[q] == MOVING);
	p[q] = me;
	has[me] = q
}

inline release(q)
{
	q = has[me];
	assert(p[q] == me);
	p[q] = MOVING;
	has[me] = NONE
}

/* One step under sched.lock: an M for P q, idle or bound; or NONE. */
inline get_m(x)
{
	x = an_idle_m;
	if
	:: x != NONE -> at[x] = COMING
	:: x == NONE && bound_waits -> get_bound(x)
	:: else
	fi
}

/* No M for a P that has work. */
inline no_thread(q)
{
	p[q] = IDLE_P;
	q = NONE;
	starved = true;
	wanted = true
}

inline wake()
{
	atomic {
		lock == NONE ->
		q = an_idle_p;
		if
		:: q != NONE && work && !end_set ->
			p[q] = MOVING;
			get_m(x);
			if
			:: x == NONE -> no_thread(q)
			:: else
			fi
		:: else -> q = NONE
		fi
	};
	if
	:: x != NONE -> start(x, q)
	:: else
	fi
}

/* P q, which no M has. */
inline hand_off()
{
	atomic {
		lock == NONE ->
		if
		:: work && !end_set ->
			get_m(x);
			if
			:: x == NONE -> no_thread(q)
			:: x != NONE && an_idle_m == NONE -> wanted = true
			:: else
			fi
		:: else -> p[q] = IDLE_P; q = NONE
		fi
	};
	if
	:: x != NONE -> start(x, q)
	:: else
	fi
}

/* A thread takes libc's lock for a moment. */
inline use_libc(as)
{
	d_step { libc == NONE -> libc = as };
	libc = NONE
}

/* ---- an M ---- */

/* With a P: takes a goroutine, g, or parks. */
inline look()
{
	atomic {
		lock == NONE ->
		if
		:: end_set -> at[me] = HALTED; goto halted
		:: !end_set && n_ring > 0 ->
			g = ring[0];
			ring[0] = ring[1];
			ring[1] = ring[2];
			ring[2] = 0;
			n_ring--
		:: !end_set && n_globq > 0 ->
#ifdef NEWEST
			k = n_globq - 1;
#endif
			get_at(k, g);
#ifdef BATCH
			do
			:: n_globq > 0 ->
				get_at(k, y);
				ring[n_ring] = y;
				n_ring++
			:: else -> break
			od;
			y = 0
#endif
		:: !end_set && !work ->
			release(q);
			p[q] = IDLE_P;
			q = NONE;
			at[me] = IDLE
		fi
	}
}

/* idle_park_detached, and recheck_and_sleep of a new thread. */
inline park()
{
	atomic {
		lock == NONE ->
		q = an_idle_p;
		if
		:: end_set -> at[me] = HALTED; goto halted
		:: !end_set && work && q != NONE ->
			p[q] = MOVING;
			acquire(q);
			at[me] = AWAKE
		:: else -> at[me] = IDLE
		fi;
		q = NONE
	}
}

/* Is there a reason against pausing it? */
#ifdef PAUSE_LOCKED
#define pausable (g != MAIN && step[g] != WANTS)
#define lock_is_free (lock == NONE || lock == g)
#else
#define pausable (g != MAIN && (step[g] == HOLDS || step[g] == COMPUTES))
#define lock_is_free (lock == NONE)
#endif
#ifdef LATE_PAUSE
#define not_over true
#else
#define not_over !end_set
#endif
#ifdef BORN_WITH_P
#define a_successor							\
	(an_idle_m != NONE || bound_waits || an_unborn_m != NONE)
#else
#define a_successor (an_idle_m != NONE || bound_waits)
#endif
#ifdef NO_SUCCESSOR
#define may_step_down true
#else
#define may_step_down (has[me] == NONE || a_successor)
#endif
/* Work waits for its P; or it has none. */
#define signalled (work || has[me] == NONE)

inline queue()
{
	assert(bound[g] == NONE || bound[g] == me);
	bound[g] = me;
	put(g);
	at[me] = PAUSED
}

/* One step under sched.lock: releases the P, queues the goroutine. */
inline release_p()
{
	if
	:: has[me] != NONE ->
		release(q);
#ifdef PEEK
		x = an_idle_m;
		if
		:: x == NONE && bound_waits -> get_bound(x)
		:: else
		fi
#else
		get_m(x)
#endif
	:: else
	fi;
#ifndef NO_SPARE
	if
	:: an_idle_m == NONE && an_unborn_m != NONE -> wanted = true
	:: else
	fi;
#endif
#ifdef BORN_WITH_P
	if
	:: x == NONE && q != NONE ->
		wanted_p = q;
		wanted = true
	:: else
	fi;
#endif
#ifndef TWO_STEPS
	queue()
#endif
}

/* After that, until it has a P again. */
inline pause()
{
	if
	:: x != NONE ->
#ifdef PEEK
		at[x] = COMING;
#endif
		start(x, q)
	:: else -> q = NONE
	fi;
#ifndef NO_WAKE
	wake();
#endif
	if
	:: d_step { note[me] ->
		note[me] = false;
		acquire(nextp[me]);
		bound[g] = NONE;
		at[me] = AWAKE
	   }
	:: d_step { poked[me] && end_set && !note[me] ->
#ifdef UNBIND
		bound[g] = NONE;
#endif
		poked[me] = false;
		at[me] = AWAKE
	   }
	fi
}

proctype m(byte me)
{
	byte g = NONE, q = NONE, x = NONE, y, k;

end0:	if
	:: is(me, BORN) ->
		use_libc(NG + me);
		if
		:: d_step { note[me] -> at[me] = COMING }
		:: else -> park()
		fi
	:: is(me, COMING) || is(me, IDLE)
	fi;
sleep:	if
	:: has[me] != NONE -> goto next
	:: else
	fi;
end1:	atomic {
		note[me] ->
		note[me] = false;
		assert(is(me, COMING));
		at[me] = AWAKE;
		acquire(nextp[me])
	};
next:	look();
	if
	:: is(me, IDLE) || is(me, COMING) -> goto sleep
	:: else
	fi;
	if
	:: d_step { bound[g] != NONE -> x = bound[g]; g = NONE }
	:: d_step { else ->
		assert(runs[0] != g && runs[1] != g && runs[2] != g &&
		    runs[3] != g);
		runs[me] = g;
		begun[g] = true };
		goto user
	fi;
	d_step { release(q) };		/* hand_p_to */
	start(x, q);
	park();
	goto sleep;

user:	if
	:: g == MAIN ->
		if
#ifdef END
		:: d_step { lock == NONE -> end_set = true };
#ifndef NO_POKE
			d_step {
				lock == NONE ->
				for (y : 0 .. NM - 1) {
					if
					:: is(y, PAUSED) -> poked[y] = true
					:: else
					fi
				};
				y = 0
			};
#endif
			returned = true;
			goto over
#else
		:: all_begun && (!patient || (ended[1] && ended[2])) ->
			goto over
#endif
		:: atomic { lock == NONE && work && !end_set && !making ->
			put(g);
			runs[me] = NONE;
			g = NONE };
			wake();
			goto next
		fi
	:: g != MAIN && step[g] == WANTS ->
		d_step { libc == NONE -> libc = g; step[g] = HOLDS }
	:: d_step { g != MAIN && step[g] == HOLDS ->
		libc = NONE;
		step[g] = COMPUTES }
#ifdef INTERRUPTED
	:: d_step { g == 1 && step[g] == COMPUTES && lock == NONE ->
		lock = g;
		step[g] = LOCKED }
	:: d_step { g == 1 && step[g] == LOCKED ->
		lock = NONE;
		step[g] = COMPUTES }
#endif
	:: g != MAIN && step[g] == COMPUTES && (all_begun || end_set) ->
		goto over
	:: atomic { pausable && lock_is_free && not_over && may_step_down &&
		signalled ->
		runs[me] = NONE;
		release_p() };
#ifdef TWO_STEPS
		if
		:: x != NONE -> start(x, q)
		:: else
		fi;
		atomic { lock_is_free -> queue() };
#endif
		pause();
		runs[me] = g
#ifndef NO_SUCCESSOR
	:: pausable && signalled && !end_set &&
		!may_step_down && !wanted && an_unborn_m != NONE ->
#ifdef M_MAKES
		use_libc(NG + me);
#endif
		wanted = true
#endif
	fi;
	goto user;
over:	atomic { ended[g] = true; runs[me] = NONE; g = NONE };
	if
	:: has[me] != NONE -> goto next
	:: else -> park(); goto sleep
	fi;
halted:	skip
}

/* ---- the others ---- */

/* The thread in weft_run. */
active proctype maker()
{
	byte x = NONE;

end:	do
	:: returned -> break
#ifndef MONITOR_MAKES
	:: d_step { wanted && !returned -> wanted = false; x = an_unborn_m };
		if
		:: x != NONE ->
#ifndef M_MAKES
			use_libc(NG + NM);
#endif
			d_step {
				at[x] = BORN;
#ifdef BORN_WITH_P
				nextp[x] = wanted_p;
				note[x] = wanted_p != NONE;
				wanted_p = NONE;
#endif
				x = NONE
			}
		:: else
		fi
#endif
	od
}

/* M i sleeps in the kernel with a P that others wait for. */
#define asleep(i)							\
	(has[i] != NONE && runs[i] != NONE && runs[i] != MAIN &&	\
	 step[runs[i]] == WANTS && libc != NONE && work)
#define some_asleep (asleep(0) || asleep(1) || asleep(2) || asleep(3))

active proctype monitor()
{
	byte x = NONE, q = NONE, y, k, i;

end:	do
	:: end_set -> break
	:: atomic { lock == NONE && some_asleep && a_successor && !end_set ->
		i = (asleep(0) -> 0 : (asleep(1) -> 1 : (asleep(2) -> 2 : 3)));
		q = has[i];
		has[i] = NONE;
		p[q] = MOVING;
		i = 0 };
		hand_off()
	:: some_asleep && !a_successor && !wanted && !end_set &&
		an_unborn_m != NONE ->
		wanted = true
	:: d_step { starved && a_successor -> starved = false };
		wake()
#ifdef MONITOR_MAKES
	:: d_step { wanted && an_unborn_m != NONE ->
		wanted = false;
		making = true };
		use_libc(NG + NM);
		d_step { x = an_unborn_m; at[x] = BORN; x = NONE };
		making = false
#endif
	od
}

init {
	byte i;

	atomic {
		for (i : 0 .. MAX_M - 1) {
			has[i] = NONE;
			runs[i] = NONE;
			if
			:: i < NM -> run m(i)
			:: else
			fi
		}
		for (i : 0 .. NG - 1) {
			bound[i] = NONE;
			put(i)
		}
		for (i : 0 .. NP - 1) {
			p[i] = IDLE_P
		}
		if
		:: patient = true
		:: true
		fi;
		/* the first M; the others are idle, but for one */
		p[0] = MOVING;
		at[0] = COMING;
		at[1] = IDLE;
		at[NM - 2] = IDLE;
		nextp[0] = 0;
		note[0] = true;
		i = 0
	}
end:	timeout ->
	assert(lock == NONE && libc == NONE && !any_m(PAUSED));
#ifdef END
	assert(returned)
#else
	assert(all_ended && p[0] == IDLE_P && p[NP - 1] == IDLE_P)
#endif
}

/* Provided that libc's lock is not held forever: the maker waits for it. */
ltl turns {
	(<> ([] (libc == NONE))) -> (
	(<> all_begun) &&
	[] (<> (ended[MAIN] || runs[0] == MAIN || runs[1] == MAIN ||
	    runs[2] == MAIN)) &&
	[] (bound[1] != NONE -> <> (bound[1] == NONE)))
}
