/* SPDX-License-Identifier: MIT */
/*
 * A pthread lock that goroutines wait for by address: hooks/lock.h, lock.c. No
 * wake-up is lost: in the end every process has had the lock, though no wait
 * ends by itself. (In the code waits end after some milliseconds, for unlocks
 * that no hook sees. Here all are seen, and there is no such rescue.)
 *
 *	taken			the lock is held
 *	n			of the bucket: processes that wait, or will
 *	queued[p], woken[p]	the waiter of process p, and its event
 *	Process			lock_park, and then an unlock and lock_wake
 *	wake()			wake(): one step, under the bucket's lock
 *
 * All is sequentially consistent here: n is read and written so, and the unlock
 * is a read-modify-write. What is done under the bucket's lock is one step.
 *
 * TIMED: one process gives up when it has waited (a limit in time). It tries
 * once more, for it may have been woken.
 *
 * check ok
 * check ok -DTIMED
 * check bad -DCOUNT_LATE	counts itself after its last try
 * check bad -DNO_RETRY	does not try again once it is queued
 * check bad -DTIMED -DNO_LAST_TRY	gives up without a last try
 */
#define PROCESSES 3

bool taken;
byte n;
bool queued[PROCESSES], woken[PROCESSES];

inline wake()
{
	atomic {
		if
		:: queued[0] -> queued[0] = false; woken[0] = true
		:: !queued[0] && queued[1] -> queued[1] = false; woken[1] = true
		:: !queued[0] && !queued[1] && queued[2] ->
			queued[2] = false;
			woken[2] = true
		:: else
		fi
	}
}

inline try(got)
{
	atomic {
		got = !taken;
		taken = true
	}
}

inline unlock()
{
	taken = false;
	if
	:: n > 0 -> wake()
	:: else
	fi
}

proctype Process(byte p)
{
	bool got, gave_up;

	try(got);
	if
	:: got -> goto has
	:: else
	fi;
#ifndef COUNT_LATE
	n++;
#endif
	do
	:: atomic { queued[p] = true; woken[p] = false };
#ifndef NO_RETRY
		try(got);
		if
		:: got -> break
		:: else
		fi;
#endif
#ifdef COUNT_LATE
		n++;
#endif
		if
		:: woken[p]
#ifdef TIMED
		:: p == 0 -> gave_up = true
#endif
		fi;
#ifdef COUNT_LATE
		n--;
#endif
		queued[p] = false;
#ifdef NO_LAST_TRY
		if
		:: gave_up -> break
		:: else
		fi;
#endif
		try(got);
		if
		:: got -> break
		:: !got && gave_up -> break
		:: else
		fi
	od;
	queued[p] = false;
#ifndef COUNT_LATE
	n--;
#endif
	if
	:: !got -> goto end
	:: else
	fi;
has:
	unlock();
end:
	skip
}

init
{
	atomic {
		run Process(0);
		run Process(1);
		run Process(2)
	}
}
