/* SPDX-License-Identifier: MIT */
/*
 * Who sleeps in the poller and who wakes it: the head of src/poll/netpoll.c.
 * No wake-up is lost, and no event is left lying while somebody wants to sleep
 * there.
 *
 * OLD, a watcher, is to be woken for work. NEW becomes the watcher after it,
 * and wants to sleep in the poller until there is an event. MON, the monitor,
 * comes by, too; on its note it gives up at any time: it has a timeout. One
 * more only looks, as a P does. Every step on a shared word is one step here:
 * all of them are sequentially consistent in C.
 *
 *	sleeper, next	of struct netpoll
 *	note[t]		the mark of its note
 *	broken, event	what the poller would report
 *	in()		enter_poller: true if `got`
 *	out()		leave_poller
 *	wake_sleeper(), poke()	the same
 *
 * Who gets the event and is not NEW wakes NEW, which waits for it.
 *
 * What must hold: in the end all have ended.
 *
 * All three together have too many states to go through, so OLD and MON are
 * checked one at a time beside NEW; what is missing is found with all three.
 *
 * check ok -DMON_TIMES=0
 * check ok -DMON_TIMES=0 -DLOOKS=1	somebody looks
 * check ok -DMON_TIMES=2 -DNO_OLD
 * check bad -DNO_LOOK	who sleeps does not look at its note when it is in
 * check bad -DLOOKS=1 -DMON_TIMES=0 -DDROP_BREAK	... and keeps a break
 * check bad -DNO_POKE_OTHER	the place of who is next is taken from it
 * check bad -DNO_POKE_NEXT	who leaves does not tell who is next
 */

#define OLD	0
#define NEW	1
#define MON	2
#define NOBODY	7
#ifndef MON_TIMES
#define MON_TIMES 1	/* that the monitor comes */
#endif
#ifdef NO_OLD
#define WATCHERS 1
#else
#define WATCHERS 2
#endif
#ifndef LOOKS
#define LOOKS 0		/* of who only looks */
#endif

/* note */
#define NOT_YET	0
#define WOKEN	1
#define POKED	2

byte sleeper = NOBODY, next = NOBODY;
byte note[3];
bool broken, event, given;	/* given: to NEW, by who got it */
byte looks, ended;

/* The mark was made. If it sleeps on its note that is enough. */
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
		:: sleeper == NOBODY -> sleeper = me; got = true
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
		:: other != NOBODY && other != me -> poke(other)
		:: else
		fi;
#endif
		try_in();
		if
		:: got ->
			atomic {
				if
				:: next == me -> next = NOBODY
				:: else
				fi
			}
		:: else ->
			if
			:: sleeper != NOBODY -> broken = true
			:: else
			fi
		fi
	fi
}

inline out()
{
	sleeper = NOBODY;
#ifndef NO_POKE_NEXT
	if
	:: next == NOBODY
	:: else ->
		atomic { other = next; next = NOBODY }
		if
		:: other != NOBODY -> poke(other)
		:: else
		fi
	fi
#endif
}

/* Takes the mark: WOKEN stays, POKED is used up. */
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

/* One sleep. mark: how it ended; mine: with the event. */
inline sleep_once()
{
	mine = false;
	in();
	if
	:: !got ->
		/* on its note; the monitor may have enough of it */
		if
		:: note[me] != NOT_YET
		:: me == MON
		fi;
		look();
		atomic {
			if
			:: next == me -> next = NOBODY
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
			:: me == MON && ended == WATCHERS	/* its timeout */
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

/* It may come several times; it finds in the end that somebody watches. */
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
