/* SPDX-License-Identifier: MIT */
/*
 * Sleeping in the poller, and waking the sleeper: the head of
 * src/poll/netpoll.c. No wake-up is lost, and no event is left unfetched while
 * a thread wants to sleep there.
 *
 * OLD, a watcher, is to be woken for work. NEW becomes the watcher after it,
 * and wants to sleep in the poller until there is an event. MON, the monitor,
 * comes at times, too; its sleep on its note may end at any time: it has a
 * timeout. Looker polls without sleeping, as a P does. Every access to a shared
 * word is one step here: all of them are sequentially consistent in C.
 *
 *	sleeper, next	sleeper and next_sleeper of struct netpoll
 *	note[t]		the mark of a thread's note
 *	broken		a wake-up (os_poller_wake) is pending in the poller
 *	event		... and an event
 *	in()		enter_poller: true if `got`
 *	out()		leave_poller
 *	wake_sleeper()	the same
 *	wake(), poke()	netpoll_wake, netpoll_poke
 *
 * A thread that fetches the event and is not NEW wakes NEW, which waits for it.
 *
 * What must hold: in the end all have ended.
 *
 * All three together have too many states for a full search, so OLD and MON
 * are checked one at a time beside NEW; the defects of the bad variants are
 * found with all three.
 *
 * check ok -DMON_TIMES=0
 * check ok -DMON_TIMES=0 -DLOOKS=1	a P polls
 * check ok -DMON_TIMES=2 -DNO_OLD
 * check bad -DNO_LOOK	a sleeper that is in does not look at its note
 * check bad -DLOOKS=1 -DMON_TIMES=0 -DDROP_BREAK	a poll loses a wake-up
 * check bad -DNO_POKE_OTHER	replacing `next` does not poke the old one
 * check bad -DNO_POKE_NEXT	a thread that leaves does not poke `next`
 */

#define OLD	0
#define NEW	1
#define MON	2
#define NONE	7
#ifndef MON_TIMES
#define MON_TIMES 1	/* how often the monitor may come */
#endif
#ifdef NO_OLD
#define WATCHERS 1
#else
#define WATCHERS 2
#endif
#ifndef LOOKS
#define LOOKS 0		/* how often Looker may poll */
#endif

/* note */
#define NOT_YET	0
#define WOKEN	1
#define POKED	2

byte sleeper = NONE, next = NONE;
byte note[3];
bool broken, event, given;	/* given: Looker has the event of NEW */
byte looks, ended;

/* The mark is set. If t sleeps on its note that is enough. */
inline wake_sleeper(t)
{
	if
	:: sleeper == t -> broken = true
	:: else
	fi
}

inline poke(t)
{
	atomic {
		if
		:: note[t] == NOT_YET -> note[t] = POKED; done = true
		:: else -> done = false
		fi
	}
	if
	:: done -> wake_sleeper(t)
	:: else
	fi
}

inline wake(t)
{
	note[t] = WOKEN;
	wake_sleeper(t)
}

inline try_in()
{
	atomic {
		if
		:: sleeper == NONE -> sleeper = me; got = true
		:: else -> got = false
		fi
	}
}

inline in()
{
	try_in();
	if
	:: got
	:: else ->
		atomic { other = next; next = me }
#ifndef NO_POKE_OTHER
		if
		:: other != NONE && other != me -> poke(other)
		:: else
		fi;
#endif
		try_in();
		if
		:: got ->
			atomic {
				if
				:: next == me -> next = NONE
				:: else
				fi
			}
		:: else ->
			if
			:: sleeper != NONE -> broken = true
			:: else
			fi
		fi
	fi
}

inline out()
{
	sleeper = NONE;
#ifndef NO_POKE_NEXT
	if
	:: next == NONE
	:: else ->
		atomic { other = next; next = NONE }
		if
		:: other != NONE -> poke(other)
		:: else
		fi
	fi
#endif
}

/* Reads the mark: WOKEN stays, POKED is consumed. */
inline look()
{
	atomic {
		mark = note[me];
		if
		:: mark == POKED -> note[me] = NOT_YET
		:: else
		fi
	}
}

/* One sleep. mark: how it ended; mine: it has fetched the event. */
inline sleep_once()
{
	mine = false;
	in();
	if
	:: !got ->
		/* on its note; the monitor's sleep may time out */
		if
		:: note[me] != NOT_YET
		:: me == MON
		fi;
		look();
		atomic {
			if
			:: next == me -> next = NONE
			:: else
			fi
		}
	:: else ->
		mark = NOT_YET;
#ifndef NO_LOOK
		look();
#endif
		if
		:: mark == NOT_YET ->
			/* in the poller */
			if
			:: atomic { event -> event = false; mine = true;
				broken = false }
			:: atomic { broken -> broken = false }
			:: me == MON && ended == WATCHERS /* its timeout */
			fi
		:: else
		fi;
		out();
		if
		:: mark == NOT_YET -> look()
		:: else
		fi
	fi;
	if
	:: mine && me != NEW -> wake(NEW)
	:: else
	fi;
	d_step { other = 0; got = false; done = false }
}

proctype Watcher(byte me)
{
	byte other, mark;
	bool got, mine, done;

	do
	:: sleep_once();
		if
		:: mark == WOKEN || (me == NEW && mine) -> break
		:: else
		fi
	od;
	ended++
}

/* It may come several times, but in the end finds that there is a watcher. */
proctype Monitor()
{
	byte me = MON, other, mark, times;
	bool got, mine, done;

	do
	:: times < MON_TIMES -> times++; sleep_once()
	:: break
	od
}

proctype Looker()
{
	bool fetched, done;

	do
	:: looks < LOOKS ->
		looks++;
		atomic {
			fetched = broken;
			broken = false;
			if
			:: event -> event = false; given = true
			:: else
			fi
		}
#ifndef DROP_BREAK
		if
		:: fetched -> broken = true
		:: else
		fi;
#endif
		if
		:: given -> given = false; wake(NEW)
		:: else
		fi
	:: break
	od
}

init
{
	bool done;

	atomic {
#ifndef NO_OLD
		run Watcher(OLD);
#endif
		run Watcher(NEW);
		run Monitor();
		run Looker()
	}
#ifndef NO_OLD
	wake(OLD);
#endif
	event = true
}
