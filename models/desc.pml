/* SPDX-License-Identifier: MIT */
/*
 * A descriptor, its waiters and its close: src/poll/desc.h, desc.c,
 * desc_close.c, fdio.h and readable.c. No wake-up is lost, and no call and no
 * event of one life of a number reaches the next one.
 *
 * There is one number, and one direction. A peer sends data and end of file;
 * the kernel reports edges, merged until they are fetched. A reader reads
 * until end of file or an error. Depending on the variant there are: another
 * reader (OTHER); a process that closes, and one that opens the number as soon
 * as it is free, and reads, too (CLOSE); one that sets deadlines, and the clock
 * (DEADLINE); processes that spawn a goroutine which begins when the number is
 * readable (SPAWN); one that closes the number externally, after which it is
 * opened externally or by a call of weft (BACK, FRESH).
 *
 *	users, closing, closed	refs
 *	drained			of the word ready[DIR_IN]
 *	same[r]			its count of events is what reader r has seen
 *	gen, registered, deadline	of struct desc
 *	known, odd, begin	its kind, HUP_OR_PRI and on_readable
 *	queued[r], ok[r]	the waiter of reader r in waiters[DIR_IN]
 *	race[r], armed[r]	its sleeper
 *	life			which file has that number; 0: none
 *	data[l], fin[l]		what can be read from it
 *	watched[l], tag[l], edge[l]	its state in the poller
 *	enter(), leave(), last()	desc_enter with desc_enter_slow, ...
 *	close_fd(), end_life(), repair()	the same
 *	forget(), fresh()	desc_clear, desc_new_fd
 *	become_ready()		became_ready
 *	Reader			fdio_call: fdio_loop, desc_wait
 *	Closer, Setter		desc_close, desc_set_deadline
 *	Spawner			readable_claim, readable_attach or readable_drop
 *	Poller			poll_events in netpoll.c, desc_event
 *	Monitor			netpoll_verify, desc_verify
 *
 * All is sequentially consistent here. What is done under the lock is one step
 * if it uses at most one word that others use without it; else there is a step
 * for each such word. (When close_fd calls forget, no other process uses any.)
 * A read takes all, and had room for more: then it is drained, as with TCP; or
 * it takes one, and had no room for more.
 *
 * Not here: the other direction, files, blocking descriptors (desc_lock_dir),
 * desc_enqueue, which file a deadline was set for (there is no variant with
 * both BACK and DEADLINE), and that a count wraps around.
 *
 * What must hold:
 *   - in the end a waiter has nothing to read, no deadline, and a number that
 *     was not closed; the same for a goroutine that has not begun
 *   - a process reads, closes, or gets an event in the life in which it began;
 *     one that has just opened a number can use it, and claim it
 *   - a goroutine begins once
 *
 * check ok -DOTHER -DFULL
 * check ok -DCLOSE -DARRIVALS=1
 * check ok -DDEADLINE -DARRIVALS=1
 * check ok -DDEADLINE -DSETS=1 -DCLOSE -DNOT_AGAIN -DARRIVALS=1
 * check ok -DSPAWN=1 -DNO_READER -DCLOSE -DARRIVALS=1
 * check ok -DSPAWN=2 -DNO_READER -DCLOSE -DARRIVALS=1	the opener spawns, too
 * check ok -DSPAWN=2 -DNO_READER -DDEADLINE -DSETS=1 -DARRIVALS=1
 * check ok -DBACK -DARRIVALS=1
 * check ok -DBACK -DFRESH -DARRIVALS=1
 * check ok -DSPAWN=1 -DNO_READER -DBACK
 * check ok -DSPAWN=1 -DNO_READER -DBACK -DFRESH -DARRIVALS=1
 * check bad -DNO_LOOK	a waiter does not check again that it is drained
 * check bad -DNO_COUNT	an event is not counted
 * check bad -DKEEP_DRAINED	... or leaves it drained
 * check bad -DFULL_DRAINED	a full read sets it drained, too
 * check bad -DFULL -DNO_ODD	... or a short one after a hang-up
 * check bad -DCLOSE -DCLOSE_QUIET	close does not wake waiters
 * check bad -DCLOSE -DCLOSE_EARLY	... or does not wait for the last call
 * check bad -DCLOSE -DNO_LOOK_CLOSING	a waiter does not check for it
 * check bad -DCLOSE -DNO_MARK	the last call does not set CLOSED
 * check bad -DCLOSE -DNO_SETTLE	a call after that does not wait for it
 * check bad -DCLOSE -DSAME_GEN	the next life has the same tag
 * check bad -DCLOSE -DLATE_REGISTER	a closed number is added to the poller
 * check bad -DCLOSE -DARRIVALS=1 -DKEEP_REGISTERED	... stays registered
 * check bad -DDEADLINE -DSET_QUIET	a waiter is not woken for a new deadline
 * check bad -DDEADLINE -DNO_LOOK_DEADLINE	... or does not see it before
 * check bad -DSPAWN=1 -DNO_READER -DNO_LOOK_ATTACH	is it readable already?
 * check bad -DSPAWN=1 -DNO_READER -DDEADLINE -DNO_ATTACH_TIMER
 * check bad -DSPAWN=1 -DNO_READER -DDEADLINE -DTAKE_STORE	two take it
 * check bad -DSPAWN=2 -DNO_READER -DCLOSE -DKEEP_CLAIMED	close keeps it
 * check bad -DSPAWN=2 -DNO_READER -DCLOSE -DCLAIM_UNCOUNTED	uncounted claim
 * check bad -DBACK -DARRIVALS=1 -DVERIFIED_LAST	the monitor looks first
 */

#ifndef ARRIVALS
#define ARRIVALS 2	/* in each life */
#endif
#ifndef SPAWN
#define SPAWN 0		/* goroutines */
#endif
#ifdef BACK
#define BEHIND	true
#else
#define BEHIND	false
#endif
#ifndef SETS
#define SETS	2	/* of the deadline */
#endif
#define LIVES	3	/* two, and 0 is none */

/* race */
#define EARLY	0
#define OPEN	1
#define CLAIMED	2
#define EXPIRED	3

/* deadline */
#define NONE	0
#define PAST	1
#define SOON	2
#define over(when) (when == PAST || (when == SOON && late))

/* err */
#define EBADF	1
#define ETIMEDOUT 2
#define END	3	/* of what is read */

/* begin: of spawner s it is GOROUTINE + s */
#define NO_G		0
#define READABLE_CLAIMED	1
#define READABLE_CLOSED	2
#define GOROUTINE	3

/* What a variant omits. */
#ifdef NO_LOOK
#define LOOK	true
#else
#define LOOK	drained
#endif
#ifdef NO_LOOK_CLOSING
#define LOOK_CLOSING	true
#else
#define LOOK_CLOSING	(!closing)
#endif
#ifdef NO_LOOK_DEADLINE
#define LOOK_DEADLINE	true
#else
#define LOOK_DEADLINE	(deadline == my_when)
#endif
#ifdef NO_ODD
#define ODD	false
#else
#define ODD	odd
#endif
#ifdef FULL_DRAINED
#define FULL_READ	1
#else
#define FULL_READ	2
#endif
#ifdef LATE_REGISTER
#define SHUT	false
#else
#define SHUT	closing
#endif

/* the record */
bool lock;
byte users;
bool closing, closed;
byte gen, deadline, begin;
bool drained, same[2];
bool known, registered, odd;
bool queued[2], ok[2], armed[2];
byte race[2], when[2];
bool begin_armed;
byte begin_when;
bool unverified, late;
byte taken;		/* goroutine taken by the holder of the lock */

/* the kernel */
byte life = 1, last_life = 1;
byte data[LIVES];
bool fin[LIVES], watched[LIVES], edge[LIVES];
byte tag[LIVES];

/* for assertions only */
byte dying;		/* the life that is closed */
byte in_life[2];	/* in which a reader reads */
bool done[2];
byte spawned_in[2];	/* in which a spawner claimed; 0: not */
bool begun[2];
bool back;		/* it was closed externally */

inline take() { d_step { !lock -> lock = true } }
inline drop() { lock = false }

/* ---- the kernel ---- */

#define readable(l) (data[l] > 0 || fin[l])

/* os_poller_add: reports it if it is ready. Lock held. */
inline add()
{
	watched[life] = true;
	tag[life] = gen;
	edge[life] = readable(life);
	registered = true
}

inline kernel_close()
{
	watched[life] = false;
	edge[life] = false;
	life = 0
}

inline open()
{
	d_step { life == 0 && last_life < LIVES - 1 ->
		last_life++; life = last_life }
}

inline tell(l)
{
	edge[l] = edge[l] || watched[l]
}

/* The peer. FULL: data arrives and is reported in two steps. */
proctype Peer(byte l)
{
	byte n;

end:	life == l;
	do
#ifdef FULL
	:: d_step { n < ARRIVALS && life == l -> n++; data[l]++ };
		tell(l)
	:: d_step { life == l -> n = 0; fin[l] = true };
		tell(l);
		break
#else
	:: d_step { n < ARRIVALS && life == l -> n++; data[l]++; tell(l) }
#endif
	:: n = 0; break
	od
}

/* ---- waking ---- */

/* The goroutine of a spawner. */
inline start(gp)
{
	assert(!begun[gp - GOROUTINE]);
	begun[gp - GOROUTINE] = true
}

inline wake_one(r, good)
{
	if
	:: queued[r] ->
		queued[r] = false;
		ok[r] = good;
		if
		:: race[r] == OPEN -> race[r] = CLAIMED
		:: else
		fi
	:: else
	fi
}

inline wake_all(good)
{
	wake_one(0, good);
	wake_one(1, good)
}

/* readable_start: by compare and swap, for the sake of the timer. */
inline readable_start(shut)
{
#ifndef KEEP_CLAIMED
	d_step {
		if
		:: shut && begin == READABLE_CLAIMED -> begin = READABLE_CLOSED
		:: else
		fi
	};
#endif
#ifdef TAKE_STORE
	if
	:: d_step { begin >= GOROUTINE -> taken = begin };
		d_step { start(taken); taken = 0; begin = NO_G }
	:: begin < GOROUTINE
	fi
#else
	d_step {
		if
		:: begin >= GOROUTINE ->
			start(begin);
			begin = NO_G;
			begin_armed = false
		:: else
		fi
	}
#endif
}

inline end_life()
{
	d_step {
		!lock ->
#ifndef SAME_GEN
		gen++;
#endif
#ifndef CLOSE_QUIET
		wake_all(false);
#endif
		lock = (SPAWN > 0)
	};
#if SPAWN
	readable_start(true);
	drop()
#endif
}

inline forget()
{
#ifndef KEEP_REGISTERED
	registered = false;
#endif
	odd = false;
	drained = false;
	known = false
}

/* ---- users ---- */

/* The caller has set closed. */
inline close_fd()
{
	d_step { !lock -> deadline = NONE; forget() };
	d_step { assert(life == dying); kernel_close() };
	d_step { closing = false; closed = false }
}

/* is: it was the last user, and the number is being closed. */
inline uncount()
{
	is = (users == 1 && closing && !closed);
	users--
}

/* desc_last */
inline last()
{
#ifndef NO_MARK
	d_step {
		is = (users == 0 && closing && !closed);
		closed = closed || is
	};
#endif
	if
	:: is -> close_fd()
	:: else
	fi
}

inline leave()
{
	d_step { uncount() };
	if
	:: is -> last()
	:: else
	fi
}

/* Counted, or err. */
inline enter()
{
	d_step { err = 0; users++; is = closing };
	if
	:: !is && known
	:: else ->
#ifdef NO_SETTLE
		is = closing;
#else
		d_step { !closed -> is = closing };
#endif
		if
		:: is -> err = EBADF
		:: else ->
			d_step {
				!lock ->
				if
				:: closing || life == 0 -> err = EBADF
				:: else -> known = true
				fi
			}
		fi;
		if
		:: err -> leave()
		:: else
		fi
	fi
}

inline register()
{
	if
	:: registered
	:: else ->
		d_step {
			!lock ->
			if
			:: registered
			:: !registered && (SHUT || life == 0) -> err = EBADF
			:: else -> add()
			fi
		}
	fi
}

inline fresh()
{
	if
	:: known ->
		take();
		d_step { gen++; wake_all(false) };
#if SPAWN
		readable_start(true);
#endif
		deadline = NONE;
		forget();
		drop()
	:: else
	fi
}

/* ---- reading ---- */

inline set_drained()
{
	drained = (same[me] -> true : drained)
}

/* One try. is: there was nothing to read. */
inline try()
{
	is = false;
	atomic {
		assert(life == in_life[me] || back);
		if
		:: life == 0 -> err = EBADF; n = 0
		:: life && data[life] -> n = 2; data[life] = 0	/* short */
		:: life && data[life] -> n = 1; data[life]--	/* full */
		:: life && !data[life] && fin[life] -> n = 0; err = END
		:: life && !readable(life) -> n = 0; is = true
		fi
	};
	if
	:: is || (n >= FULL_READ && !ODD) -> set_drained()
	:: else
	fi;
	same[me] = false
}

#define may_wait()							\
	(LOOK_CLOSING && LOOK_DEADLINE && LOOK && registered)

inline open_up()
{
	race[me] = (race[me] == EARLY -> OPEN : race[me])
}

/* Waits until it shall be tried again, or err. */
inline wait()
{
	my_when = deadline;
	register();
	if
	:: err
	:: else ->
		d_step {
			race[me] = EARLY;
			when[me] = my_when;
			armed[me] = (my_when != NONE)
		};
		d_step {
			!lock ->
			is = may_wait();
			err = (closing -> EBADF : 0);
			if
			:: is ->
				queued[me] = true;
				ok[me] = true;
#ifdef BACK
				lock = true
#else
				open_up()
#endif
			:: else
			fi
		};
		if
		:: is ->
#ifdef BACK
			unverified = true;
			d_step { open_up(); drop() };
#endif
end_park:		race[me] != OPEN;
			armed[me] = false;
			if
			:: race[me] == EXPIRED ->
				d_step {
					!lock ->
					queued[me] = false;
					err = (ok[me] -> ETIMEDOUT : EBADF)
				}
			:: else -> err = (ok[me] -> 0 : EBADF)
			fi
		:: else -> armed[me] = false
		fi;
		d_step { race[me] = EARLY; when[me] = NONE; ok[me] = false }
	fi;
	my_when = NONE
}

proctype Reader(byte me; bool opens)
{
	byte err, n, my_when;
	bool is;

	if
	:: opens ->
end:		open();
#ifdef FRESH
		fresh()
#endif
	:: else
	fi;
	do
	:: enter();
		d_step {
			assert(!(opens && err));
			in_life[me] = life
		};
		if
		:: err -> break
		:: else
		fi;
		n = 0;
		do
		:: over(deadline) -> err = ETIMEDOUT; break
		:: else ->
			d_step { is = drained; same[me] = !drained };
			if
			:: is
			:: else -> try()
			fi;
			if
			:: err || n -> break
			:: else -> wait()
			fi;
			if
			:: err -> break
			:: else
			fi
		od;
		n = 0;
		leave();
		if
		:: err -> break
		:: else
		fi
	od;
	done[me] = true
}

/* ---- the others ---- */

#ifdef CLOSE
proctype Closer()
{
	bool is;

	d_step { users++; is = closing; dying = life; closing = true };
	assert(!is);		/* there is only one */
	end_life();
	if
	:: registered -> d_step { watched[life] = false; edge[life] = false }
	:: else
	fi;
	d_step {
#ifdef CLOSE_EARLY
		is = true;
		users--;
		closed = true
#else
		is = (users == 1);
		if
		:: is -> users = 0; closed = true
		:: else
		fi
#endif
	};
	if
	:: is -> close_fd()
	:: else -> leave()
	fi
}
#endif

/* The deadline of a goroutine that has not begun. Lock held. */
inline readable_deadline()
{
	if
	:: begin >= GOROUTINE ->
		begin_armed = false;
		d_step {
			begin_when = deadline;
			begin_armed = (deadline != NONE)
		}
	:: else
	fi
}

inline set_deadline(w)
{
	d_step {
		!lock ->
		lock = (SPAWN > 0);
#ifndef SET_QUIET
		wake_all(true);
#endif
		deadline = w
	};
#if SPAWN
	readable_deadline();
	drop()
#endif
}

#ifdef DEADLINE
proctype Setter()
{
	byte err, times;
	bool is;

	do
	:: times < SETS ->
		enter();
		if
		:: err -> break
		:: else
		fi;
		if
		:: set_deadline(NONE)
		:: set_deadline(PAST)
		:: set_deadline(SOON)
		fi;
		leave();
		times++
	:: break
	od
}
#endif

inline expire(r)
{
	armed[r] = false;
	if
	:: race[r] == EARLY || race[r] == OPEN -> race[r] = EXPIRED
	:: else
	fi
}

#ifdef DEADLINE
proctype Timers()
{
end:	do
	:: !late -> late = true
	:: d_step { armed[0] && over(when[0]) -> expire(0) }
	:: d_step { armed[1] && over(when[1]) -> expire(1) }
	:: d_step { begin_armed && over(begin_when) ->
		begin_armed = false;
		if
		:: begin >= GOROUTINE -> start(begin); begin = NO_G
		:: else
		fi }
	od
}
#endif

#if SPAWN
proctype Spawner(byte me; bool opens)
{
	byte err;
	bool is, was_last;

	if
	:: opens ->
end:		open()
	:: else
	fi;
	enter();
	assert(!(opens && err));
	if
	:: err -> goto out
	:: else
	fi;
	register();
	if
	:: err
	:: else ->
		take();
		if
		:: closing -> err = EBADF
		:: else ->
			d_step {
				if
				:: begin == NO_G ->
					begin = READABLE_CLAIMED;
					spawned_in[me] = life
				:: else ->	/* EBUSY: one in a life */
					assert(!opens || spawned_in[0] == life);
					err = EBADF
				fi
			}
		fi;
		drop()
	fi;
#ifdef CLAIM_UNCOUNTED
	leave();
#endif
	if
	:: err -> goto left
	:: d_step { !err -> begin = NO_G; spawned_in[me] = 0 };
		goto left			/* readable_drop */
	:: !err
	fi;
	take();
#ifndef CLAIM_UNCOUNTED
	d_step { uncount(); was_last = is };
#endif
	d_step {
		is = (begin == READABLE_CLAIMED);
		if
		:: is -> begin = GOROUTINE + me
		:: else -> begin = NO_G; start(GOROUTINE + me)
		fi
	};
	if
	:: !is
	:: is && !registered -> readable_start(false)
	:: else ->
		if
		:: drained -> is = false
		:: else ->
			assert(life == spawned_in[me] || back);
			if
#ifndef NO_LOOK_ATTACH
			:: readable(life)
#endif
			:: else -> drained = true; is = false
			fi
		fi;
		if
		:: is -> readable_start(false)
#ifndef NO_ATTACH_TIMER
		:: else -> unverified = BEHIND; readable_deadline()
#else
		:: else
#endif
		fi
	fi;
	drop();
	if
	:: was_last -> last()
	:: else
	fi;
	goto out;
left:
#ifndef CLAIM_UNCOUNTED
	leave();
#endif
out:	skip
}
#endif

/* Lock held, until it is done. */
inline become_ready()
{
	d_step {
#ifndef KEEP_DRAINED
		drained = false;
#endif
#ifndef NO_COUNT
		same[0] = false;
		same[1] = false;
#endif
		wake_all(true);
		lock = (SPAWN > 0)
	};
#if SPAWN
	readable_start(false);
	drop()
#endif
}

proctype Poller()
{
	byte from, its;
	bool hup;

end:	do
	:: atomic {
		if
		:: edge[1] -> from = 1
		:: edge[2] -> from = 2
		fi;
		edge[from] = false;
		its = tag[from];
		hup = fin[from];
		if
		:: readable(from)
		:: else -> from = 0
		fi };
		if
		:: from ->
			d_step {
				!lock ->
				if
				:: its == gen ->
					assert(from == life || back);
					lock = true;
					odd = odd || hup
				:: else -> from = 0
				fi
			}
		:: else
		fi;
		if
		:: from -> become_ready()
		:: else
		fi;
		d_step { from = 0; its = 0; hup = false }
	od
}

/* ---- closed externally ---- */

#ifdef BACK
/* Only while there is no waiter: else it need not be noticed. */
proctype Back()
{
end:	d_step { !queued[0] && !queued[1] && begin < GOROUTINE ->
		back = true;
		kernel_close() };
#ifndef FRESH
	if
	:: open()
	:: true
	fi
#endif
}
#endif

#define awaited (queued[0] || queued[1] || begin >= GOROUTINE)

inline repair()
{
	gen++;
	forget();
	known = (life != 0);
	d_step { wake_all(known) };
#if SPAWN
	readable_start(!known)
#endif
}

#ifdef BACK
proctype Monitor()
{
end:	do
	:: unverified ->
#ifndef VERIFIED_LAST
		unverified = false;
#endif
		if
		:: registered && awaited ->
			take();
			if
			:: registered && awaited && !closing &&
			    !(life && watched[life]) -> repair()
			:: else
			fi;
			drop()
		:: else
		fi;
#ifdef VERIFIED_LAST
		unverified = false
#endif
	od
}
#endif

/* ---- the end ---- */

#define nothing (life && !readable(life) && !closing && deadline == NONE)

inline judge_reader(r)
{
	assert(done[r] || !in_life[r] || (queued[r] && race[r] == OPEN &&
	    (in_life[r] == life || back) && nothing))
}

inline judge_spawner(s)
{
	assert(!spawned_in[s] || begun[s] || (begin == GOROUTINE + s &&
	    (spawned_in[s] == life || back) && registered && nothing))
}

init
{
	atomic {
#ifndef NO_READER
		run Reader(0, false);
#endif
#ifdef OTHER
		run Reader(1, false);
#endif
#ifdef CLOSE
#ifndef NOT_AGAIN
#if SPAWN < 2
		run Reader(1, true);
#endif
		run Peer(2);
#endif
		run Closer();
#endif
#ifdef DEADLINE
		run Setter();
		run Timers();
#endif
#if SPAWN > 0
		run Spawner(0, false);
#endif
#if SPAWN > 1
#ifdef CLOSE
		run Spawner(1, true);
#else
		run Spawner(1, false);
#endif
#endif
#ifdef BACK
#ifdef FRESH
		run Reader(1, true);
#endif
		run Peer(2);
		run Back();
		run Monitor();
#endif
#ifndef FRESH
		run Peer(1);
#endif
		run Poller()
	}
	timeout;
	assert(!lock);
	judge_reader(0);
	judge_reader(1);
	judge_spawner(0);
	judge_spawner(1)
}
