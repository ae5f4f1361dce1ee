/* SPDX-License-Identifier: MIT */
/*
 * Who queues and who rests: the head of src/sched/idle.c. Nobody sleeps while
 * there is work and a P for it.
 *
 * Two Ps, up to NM threads, NG goroutines that do or do not queue another, run
 * for ever, or lose their P to the monitor. One more is queued by a thread that
 * is no M (a stranger; not if ALONE). Every step on a shared word is one step
 * here: all of them are sequentially consistent in C.
 *
 *	globq, q[p]		length of sched.globq and of a P's runq
 *	idle_p[p], n_idle_p	sched.idle_mask, n_idle_p
 *	n_spinning		sched.n_spinning
 *	at[m]			where an M is: see m.h; UNBORN: not started yet
 *	note[m], nextp[m], nextspin[m]	of struct m
 *	starved			sched.starved: a thread was refused
 *	queue()			put_last or put_global, then idle_wake
 *	wake()			idle_wake, idle_wake_slow, m_start, start_failed
 *	wake_if_work()		idle_any_work, idle_wake
 *	rest()			idle_park: release_if_no_work, uncount, take_back
 *	rest_loose()		idle_park_detached
 *	hand_off()		p_hand_off, world_no_thread
 *	retry_no_thread()			retry_no_thread of monitor.c
 *
 * Left out: naps and patience of thieves (they end), the world stopping, and
 * timers (monitor.pml).
 *
 * What must hold when nobody can go on: no work is queued while a P is idle,
 * unless no more threads are to be had; nobody is counted as spinning; each P
 * is idle or has an M.
 *
 * check ok
 * check ok -DALONE -DNG=4
 * check ok -DNG=1 -DTAKES=1	a P is taken
 * check ok -DALONE -DNG=3 -DTAKES=1
 * check ok -DREFUSE	threads are refused at times
 * check ok -DALONE -DREFUSE -DTAKES=1
 * check bad -DNO_LOOK	who rests does not look again
 * check bad -DUNCOUNT_LAST	... or looks before it is no longer counted
 * check bad -DTAKES=1 -DUNCOUNT_UNLOCKED	a waker that finds no P, later
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
#define NG	2	/* the main one, and those that Ms queue */
#endif
#ifndef TAKES
#define TAKES	0	/* times that a P is taken */
#endif
#define NOBODY	7

/* at */
#define UNBORN	0
#define AWAKE	1
#define IDLE	2	/* on the idle list */
#define COMING	3	/* off it: a P is on its way */
#define STUCK	4	/* in a goroutine that does not come back */

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

/* An idle P, or NOBODY. */
inline idle_get(p)
{
	d_step {
		if
		:: idle_p[0] -> p = 0
		:: else ->
			if
			:: idle_p[1] -> p = 1
			:: else -> p = NOBODY
			fi
		fi;
		if
		:: p != NOBODY -> idle_p[p] = false; n_idle_p--
		:: else
		fi
	}
}

/* An idle M, or one that is not born yet, or NOBODY. */
inline m_get(x)
{
	d_step {
		x = 0;
		do
		:: x < NM && at[x] != IDLE -> x++
		:: else -> break
		od;
		if
		:: x == NM -> x = NOBODY
		:: else -> at[x] = COMING
		fi
	}
}

/* at[x] is COMING, or x is NOBODY: then a new thread, if there is one. */
inline m_start(x, p, spin)
{
	if
	:: x != NOBODY
	:: x == NOBODY ->
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
		:: x != NOBODY ->
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
		:: x == NM -> x = NOBODY
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
		x = NOBODY
	}
}

/* start_failed: the P is idle again. Shall somebody look in our place? */
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

/* It goes round again where the C code calls itself. */
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
		:: p == NOBODY ->
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
		:: x == NOBODY -> failed(p)
		:: else
		fi;
		if
		:: !yes -> break
		:: else
		fi
	od;
	atomic { p = NOBODY; x = NOBODY; yes = false }
}

inline wake_if_work()
{
	idle_any_work(yes);
	if
	:: yes -> yes = false; wake()
	:: else
	fi
}

/* P h, which nobody has. */
inline hand_off(h)
{
	take_lock();
	if
	:: q[h] > 0 || globq > 0 ->
		m_get(x);
		drop_lock();
		m_start(x, h, false);
		if
		:: x == NOBODY ->	/* world_no_thread */
			take_lock();
			d_step {
				globq = globq + q[h];
				q[h] = 0;
				idle_put(h);
				set_starved()
			};
			drop_lock()
		:: else -> x = NOBODY
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

byte stuck, taken = NOBODY, takes = TAKES;

/* Something to run, in `got`. */
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
	:: has[me] != NOBODY -> q[has[me]]++
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

/* Ends, is stuck, loses its P, or queues another. */
inline go_on()
{
	do
	:: break
	:: d_step { stuck == 0 -> stuck = 1; at[me] = STUCK }; goto gone
	:: d_step { has[me] != NOBODY && takes > 0 ->
		takes--; taken = has[me]; has[me] = NOBODY }
	:: d_step { left > 0 -> left-- }; put()
	od;
	got = false
}

inline take_back()
{
	take_lock();
	if
	:: at[me] == IDLE ->
		idle_get(p);
		if
		:: p != NOBODY -> d_step { has[me] = p; at[me] = AWAKE }
		:: else
		fi
	:: else
	fi;
	drop_lock();
	if
	:: has[me] != NOBODY ->
		d_step { spinning = true; n_spinning++; p = NOBODY }
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

inline rest()
{
	take_lock();
	if
	:: globq == 0 ->
		d_step { idle_put(has[me]) };
		d_step { has[me] = NOBODY; at[me] = IDLE }
	:: else
	fi;
	drop_lock();
	if
	:: has[me] == NOBODY ->
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
		:: yes -> yes = false; take_back()
		:: else
		fi
	:: else
	fi
}

inline rest_loose()
{
	take_lock();
	if
	:: globq > 0 -> idle_get(p)
	:: else
	fi;
	if
	:: p == NOBODY -> at[me] = IDLE
	:: else -> d_step { has[me] = p; p = NOBODY }
	fi;
	drop_lock()
}

proctype m(byte me)
{
	byte p = NOBODY, x = NOBODY;
	bool yes, spinning, got;

	goto sleep;
look:	if
	:: has[me] == NOBODY -> rest_loose()
	:: else ->
		search();
		if
		:: got ->
			if
			:: spinning -> stop_spinning()
			:: else
			fi;
			go_on()
		:: else -> rest()
		fi
	fi;
	if
	:: has[me] != NOBODY || at[me] == AWAKE -> goto look
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
	byte p = NOBODY, x = NOBODY, h;
	bool yes;

end:	do
	:: d_step { taken != NOBODY -> h = taken };
		hand_off(h);
		d_step { h = 0; taken = NOBODY }
	:: d_step { starved -> starved = false };
		wake_if_work()
	od
}

proctype stranger()
{
	byte p = NOBODY, x = NOBODY;
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
			has[i] = NOBODY;
			run m(i)
		}
		run monitor();
#ifndef ALONE
		run stranger();
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
