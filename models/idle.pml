/* SPDX-License-Identifier: MIT */
/*
 * Queueing work and parking an M: the head of src/sched/idle.c. No M sleeps
 * while there is work and a P for it.
 *
 * Two Ps, up to NM threads, NG goroutines that do or do not queue another, run
 * forever, or lose their P to the monitor. One more is queued by a plain thread
 * (not if ALONE). Every access to a shared word is one step here: all of them
 * are sequentially consistent in C.
 *
 *	globq, q[p]		length of sched.globq and of a P's runq
 *	idle_p[p], n_idle_p	sched.idle_mask, n_idle_p
 *	n_spinning		sched.n_spinning
 *	at[m]			where an M is: see m.h; UNBORN: not started yet
 *	note[m], nextp[m], nextspin[m]	of struct m
 *	starved			sched.no_thread: no thread could be started
 *	put()			put_last or put_global, then idle_wake
 *	wake()			idle_wake, idle_wake_slow, m_start, start_failed
 *	wake_if_work()		idle_wake_if_work: idle_any_work, idle_wake
 *	stop_spinning()		idle_stop_spinning
 *	park()			idle_park: release_if_no_work, uncount,
 *				idle_reacquire
 *	park_detached()		idle_park_detached
 *	hand_off()		p_hand_off, world_no_thread
 *	monitor			also retry_no_thread of monitor.c
 *
 * Left out: backoff and patience of thieves (they end), stopping the world,
 * and timers.
 *
 * What must hold in the end, when no process can continue: no work is queued
 * while a P is idle, unless no more threads are available; no M is counted as
 * spinning; each P is idle or has an M.
 *
 * check ok
 * check ok -DALONE -DNG=4
 * check ok -DNG=1 -DTAKES=1	a P is retaken
 * check ok -DALONE -DNG=3 -DTAKES=1
 * check ok -DREFUSE	starting a thread fails at times
 * check ok -DALONE -DREFUSE -DTAKES=1
 * check bad -DNO_LOOK	an M that parks does not look again
 * check bad -DUNCOUNT_LAST	... or looks before it uncounts itself
 * check bad -DTAKES=1 -DUNCOUNT_UNLOCKED	... or a waker unlocked
 * check bad -DNO_LOOK_AFTER	a spinner that found work does not look for more
 * check bad -DTAKES=1 -DHAND_OFF_IDLE	p_hand_off does not look
 * check bad -DALONE -DREFUSE -DSTARVED_EARLY	set before the P is idle
 * check bad -DALONE -DREFUSE -DSTARVED_COUNTED	... or the spinner uncounted
 */

#define NP	2
#ifndef NM
#define NM	3
#endif
#ifndef NG
#define NG	2	/* the main goroutine, and those that Ms queue */
#endif
#ifndef TAKES
#define TAKES	0	/* how often a P is retaken */
#endif
#define NONE	7

/* at */
#define UNBORN	0
#define AWAKE	1
#define IDLE	2	/* on the idle list */
#define COMING	3	/* off it: a P is on its way */
#define STUCK	4	/* in a goroutine that runs forever */

byte globq, q[NP];
bool idle_p[NP];
byte n_idle_p, n_spinning;
byte at[NM];
bool note[NM];
byte nextp[NM];
bool nextspin[NM];
byte has[NM];			/* the P of an M */
bool lock;
bool starved;
byte left = NG;			/* goroutines that may still be queued */
#ifdef REFUSE
byte refusals = 2;
#endif

#define take_lock() d_step { !lock -> lock = true }
#define drop_lock() lock = false

inline idle_put(p)
{
	assert(!idle_p[p] && q[p] == 0);
	idle_p[p] = true;
	n_idle_p++
}

/* An idle P, or NONE. */
inline idle_get(p)
{
	d_step {
		if
		:: idle_p[0] -> p = 0
		:: else ->
			if
			:: idle_p[1] -> p = 1
			:: else -> p = NONE
			fi
		fi;
		if
		:: p != NONE -> idle_p[p] = false; n_idle_p--
		:: else
		fi
	}
}

/* An idle M, or NONE. */
inline m_get(x)
{
	d_step {
		x = 0;
		do
		:: x < NM && at[x] != IDLE -> x++
		:: else -> break
		od;
		if
		:: x == NM -> x = NONE
		:: else -> at[x] = COMING
		fi
	}
}

/* at[x] is COMING, or x is NONE: then a new thread, if one can be started. */
inline m_start(x, p, spin)
{
	if
	:: x != NONE
	:: x == NONE ->
#ifdef REFUSE
		if
		:: d_step { refusals > 0 -> refusals-- }
		:: born(x)
		fi
#else
		born(x)
#endif
	fi;
	d_step {
		if
		:: x != NONE ->
			assert(!note[x]);
			nextp[x] = p;
			nextspin[x] = spin;
			note[x] = true
		:: else ->
#ifdef STARVED_EARLY
			starved = true
#else
			skip
#endif
		fi
	}
}

inline born(x)
{
	d_step {
		x = 0;
		do
		:: x < NM && at[x] != UNBORN -> x++
		:: else -> break
		od;
		if
		:: x == NM -> x = NONE
		:: else -> at[x] = COMING
		fi
	}
}

#ifdef STARVED_EARLY
#define set_starved() skip
#else
#define set_starved() starved = true
#endif

/* Is anything queued? One queue after the other, global first. */
inline idle_any_work(yes)
{
	if
	:: globq > 0 -> yes = true
	:: globq == 0 ->
		if
		:: !idle_p[0] && q[0] > 0 -> yes = true
		:: !(!idle_p[0] && q[0] > 0) ->
			if
			:: !idle_p[1] && q[1] > 0 -> yes = true
			:: !(!idle_p[1] && q[1] > 0) -> yes = false
			fi
		fi
	fi
}

inline any_idle_m(yes)
{
	d_step {
		x = 0;
		do
		:: x < NM && at[x] != IDLE -> x++
		:: else -> break
		od;
		yes = (x < NM);
		x = NONE
	}
}

/* start_failed: the P is idle again; yes: an idle M shall be woken instead. */
inline failed(p)
{
	take_lock();
	d_step { idle_put(p) };
	any_idle_m(yes);
#ifdef STARVED_COUNTED
	set_starved();
	n_spinning--;
#else
	n_spinning--;
	set_starved();
#endif
	drop_lock();
	if
	:: yes -> idle_any_work(yes)
	:: else
	fi
}

/* A loop where the C code is recursive. */
inline wake()
{
	do
	:: n_idle_p == 0 -> break
	:: n_idle_p > 0 ->
		yes = false;
		if
		:: d_step { n_spinning == 0 -> n_spinning = 1 }
		:: n_spinning > 0 -> break
		fi;
		take_lock();
		idle_get(p);
		if
		:: p == NONE ->
#ifdef UNCOUNT_UNLOCKED
			drop_lock();
			n_spinning--;
#else
			n_spinning--;
			drop_lock();
#endif
			break
		:: else
		fi;
		m_get(x);
		drop_lock();
		m_start(x, p, true);
		if
		:: x == NONE -> failed(p)
		:: else
		fi;
		if
		:: !yes -> break
		:: else
		fi
	od;
	atomic { p = NONE; x = NONE; yes = false }
}

inline wake_if_work()
{
	idle_any_work(yes);
	if
	:: yes -> yes = false; wake()
	:: else
	fi
}

/* P h, which no M has. */
inline hand_off(h)
{
	take_lock();
	if
	:: q[h] > 0 || globq > 0 ->
		m_get(x);
		drop_lock();
		m_start(x, h, false);
		if
		:: x == NONE ->	/* world_no_thread */
			take_lock();
			d_step {
				globq = globq + q[h];
				q[h] = 0;
				idle_put(h);
				set_starved()
			};
			drop_lock()
		:: else -> x = NONE
		fi
	:: else ->
		d_step { idle_put(h) };
		drop_lock();
#ifndef HAND_OFF_IDLE
		wake_if_work()
#endif
	fi
}

/* ---- an M ---- */

byte stuck, taken = NONE, takes = TAKES;

/* next_runnable: `got` if there is a goroutine to run. */
inline search()
{
	if
	:: d_step { q[has[me]] > 0 -> q[has[me]]--; got = true }
	:: q[has[me]] == 0 && globq > 0 ->	/* a batch */
		take_lock();
		if
		:: globq > 0 ->
			q[has[me]] = q[has[me]] + globq - 1;
			globq = 0;
			got = true
		:: else
		fi;
		drop_lock()
	:: q[has[me]] == 0 && globq == 0 ->
		if
		:: spinning
		:: !spinning && 2 * n_spinning < NP - n_idle_p ->
			d_step { spinning = true; n_spinning++ }
		:: !spinning && 2 * n_spinning >= NP - n_idle_p
		fi;
		if
		:: d_step { spinning && !idle_p[1 - has[me]] &&
			q[1 - has[me]] > 0 -> q[1 - has[me]]--; got = true }
		:: !(spinning && !idle_p[1 - has[me]] && q[1 - has[me]] > 0)
		fi
	fi
}

inline put()
{
	if
	:: has[me] != NONE -> q[has[me]]++
	:: else -> take_lock(); globq++; drop_lock()
	fi;
	wake()
}

inline stop_spinning()
{
	d_step { spinning = false; n_spinning-- };
#ifndef NO_LOOK_AFTER
	wake_if_work()
#endif
}

/* The goroutine ends, is stuck, loses its P, or queues another. */
inline go_on()
{
	do
	:: break
	:: d_step { stuck == 0 -> stuck = 1; at[me] = STUCK }; goto gone
	:: d_step { has[me] != NONE && takes > 0 ->
		takes--; taken = has[me]; has[me] = NONE }
	:: d_step { left > 0 -> left-- }; put()
	od;
	got = false
}

inline reacquire()
{
	take_lock();
	if
	:: at[me] == IDLE ->
		idle_get(p);
		if
		:: p != NONE -> d_step { has[me] = p; at[me] = AWAKE }
		:: else
		fi
	:: else
	fi;
	drop_lock();
	if
	:: has[me] != NONE ->
		d_step { spinning = true; n_spinning++; p = NONE }
	:: else -> wake()
	fi
}

inline uncount()
{
	if
	:: d_step { spinning -> spinning = false; n_spinning-- }
	:: else
	fi
}

inline park()
{
	take_lock();
	if
	:: globq == 0 ->
		d_step { idle_put(has[me]) };
		d_step { has[me] = NONE; at[me] = IDLE }
	:: else
	fi;
	drop_lock();
	if
	:: has[me] == NONE ->
#ifndef UNCOUNT_LAST
		uncount();
#endif
#ifndef NO_LOOK
		idle_any_work(yes);
#endif
#ifdef UNCOUNT_LAST
		uncount();
#endif
		if
		:: yes -> yes = false; reacquire()
		:: else
		fi
	:: else
	fi
}

inline park_detached()
{
	take_lock();
	if
	:: globq > 0 -> idle_get(p)
	:: else
	fi;
	if
	:: p == NONE -> at[me] = IDLE
	:: else -> d_step { has[me] = p; p = NONE }
	fi;
	drop_lock()
}

proctype m(byte me)
{
	byte p = NONE, x = NONE;
	bool yes, spinning, got;

	goto sleep;
look:	if
	:: has[me] == NONE -> park_detached()
	:: else ->
		search();
		if
		:: got ->
			if
			:: spinning -> stop_spinning()
			:: else
			fi;
			go_on()
		:: else -> park()
		fi
	fi;
	if
	:: has[me] != NONE || at[me] == AWAKE -> goto look
	:: else
	fi;
sleep:	skip;
end:	note[me] ->
	d_step {
		assert(at[me] == COMING);
		note[me] = false;
		at[me] = AWAKE;
		has[me] = nextp[me];
		spinning = nextspin[me];
		nextp[me] = 0;
		nextspin[me] = false
	};
	goto look;
gone:	skip
}

/* ---- the others ---- */

proctype monitor()
{
	byte p = NONE, x = NONE, h;
	bool yes;

end:	do
	:: d_step { taken != NONE -> h = taken };
		hand_off(h);
		d_step { h = 0; taken = NONE }
	:: d_step { starved -> starved = false };
		wake_if_work()
	od
}

proctype plain_thread()
{
	byte p = NONE, x = NONE;
	bool yes;

	take_lock();
	globq++;
	drop_lock();
	wake()
}

#define has_one(p) (has[0] == p || has[1] == p || has[2] == p)
#define thread_left()							\
	(at[0] == IDLE || at[1] == IDLE || at[2] == IDLE ||		\
	 at[0] == UNBORN || at[1] == UNBORN || at[2] == UNBORN)

init {
	byte i;

	atomic {
		for (i : 0 .. NM - 1) {
			has[i] = NONE;
			run m(i)
		}
		run monitor();
#ifndef ALONE
		run plain_thread();
#endif
		/* the first M, with the main goroutine */
		d_step { idle_put(1) };
		q[0] = 1;
		left--;
		nextp[0] = 0;
		at[0] = COMING;
		note[0] = true;
		i = 0
	}
end:	timeout ->
	assert(n_spinning == 0);
	assert(idle_p[0] || has_one(0));
	assert(idle_p[1] || has_one(1));
	assert(n_idle_p == 0 || globq + q[0] + q[1] == 0 || !thread_left())
}
