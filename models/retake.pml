/* SPDX-License-Identifier: MIT */
/*
 * The handshake of src/preempt/retake.h and retake.c: a P is retaken from an M
 * that is outside, with no barrier on the M's side.
 *
 * One M, whose processor reorders; one monitor; one more M, `other`, that gets
 * the Ps that were retaken; two Ps. No step is limited in number, so runs of
 * any length are covered.
 *
 *	mem[INSIDE], [RETAKE], [PP]	inside, retake, pp of struct m
 *	mem[OF+p]		pp->mp of P p
 *	mem[DATA+p]		the data of P p that its owner reads and writes
 *	enter(), leave()	rt_enter with rt_enter_slow, rt_leave
 *	acquire()		rt_take_idle_p, m_acquire
 *	release()		m_release, p_idle_put
 *	the monitor		retake_try, retake_one, p_hand_off
 *
 * Memory: a store of the M goes to its store buffer, and from there to mem at
 * any time. TSO: in order. WEAK (aarch64): in any order, but those to one word
 * in order and a release after all before it; and a load may be executed
 * early, but not before the last acquire or the last access to the same word.
 * The membarrier is an interrupt at some instruction of the M: it empties the
 * buffer, and loads executed early are repeated. The monitor and `other` are
 * sequentially consistent: each of their steps is ordered by a
 * compare-and-swap, a lock or the membarrier.
 *
 * What must hold:
 *   - an M that uses a P is its owner (owner[] is decided by the idle list and
 *     by the compare-and-swap), and reads in it what the last owner wrote
 *   - retake makes only the steps of the picture in retake.h
 *   - the monitor leaves no M ASKED; and, with fair threads, no M is ASKED
 *     forever
 *
 * check ok
 * check ok -DWEAK
 * check ok ltl=asked_ends
 * check bad -DNO_BARRIER
 * check bad -DWEAK -DNO_BARRIER
 * check bad -DSTORE_TAKEN	the monitor stores TAKEN, no compare-and-swap
 * check bad -DSTORE_NONE	the M stores NONE, no compare-and-swap
 * check bad -DWEAK -DLEAVE_RELAXED
 * check ok -DLEAVE_RELAXED	(enough on x86)
 * check bad -DNO_LOOK	the M does not look at retake
 * check bad -DREAD_AGAIN	the monitor reads pp again after TAKEN
 * check bad -DNO_WAY_BACK	the monitor does not reset ASKED to NONE
 */

/* Stores that fit into the buffer. 4: three times the states, same results. */
#define ROOM	3
#define NP	2

/* words */
#define INSIDE	0
#define RETAKE	1
#define PP	2	/* 0: none, p + 1 */
#define OF	3	/* 1: the M, 0: not the M */
#define DATA	5

/* retake */
#define NONE	0
#define ASKED	1
#define TAKEN	2

/* owner */
#define IDLE	0
#define THE_M	1
#define OTHER	2
#define MONITOR	3

byte mem[7];
byte owner[NP];
byte wrote[NP];		/* what the last owner wrote to DATA */
bool using;		/* the M is inside and may use its P */
bool lock;

/* ---- the M's processor ---- */

byte n;				/* stores in the buffer */
byte where[ROOM], what[ROOM];
bool rel[ROOM];
#ifdef WEAK
byte early_retake, early_data[NP];	/* value + 1; 0: not loaded early */
#endif

inline forget_early()
{
#ifdef WEAK
	early_retake = 0;
	early_data[0] = 0;
	early_data[1] = 0
#else
	skip
#endif
}

/* The only changes of retake that are allowed. */
#define legal(from, to)							\
	((from == NONE && to == ASKED) || (from == ASKED && to == TAKEN) || \
	 (from == ASKED && to == NONE) || (from == TAKEN && to == NONE))

inline to_mem(i)
{
	if
	:: where[i] == RETAKE -> assert(legal(mem[RETAKE], what[i]))
	:: else
	fi;
	mem[where[i]] = what[i];
	j = i;
	do
	:: j + 1 < n ->
		where[j] = where[j + 1];
		what[j] = what[j + 1];
		rel[j] = rel[j + 1];
		j++
	:: else -> break
	od;
	n--;
	where[j] = 0;
	what[j] = 0;
	rel[j] = 0;
	j = 0
}

/* Is a store of the M to that word in the buffer? */
#define at(i, w) (n > i && where[i] == w)
#define mine(w) (at(0, w) || at(1, w) || at(2, w))
#define forward(w)							\
	(at(2, w) -> what[2] : (at(1, w) -> what[1] : what[0]))

#define same(i, k) (where[i] == where[k])

active proctype buffer()
{
	byte j;

end:	do
	:: d_step { n > 0 -> to_mem(0) }
#ifdef WEAK
	:: d_step { n > 1 && !rel[1] && !same(1, 0) -> to_mem(1) }
	:: d_step { n > 2 && !rel[2] && !same(2, 0) && !same(2, 1) ->
		to_mem(2) }
	:: d_step { early_retake == 0 && !mine(RETAKE) ->
		early_retake = mem[RETAKE] + 1 }
	:: d_step { early_data[0] == 0 && !mine(DATA) ->
		early_data[0] = mem[DATA] + 1 }
	:: d_step { early_data[1] == 0 && !mine(DATA + 1) ->
		early_data[1] = mem[DATA + 1] + 1 }
#endif
	od
}

inline put(w, v, r)
{
	d_step {
		n < ROOM ->
		where[n] = w;
		what[n] = v;
		rel[n] = r;
		n++
	}
}

#define store(w, v) put(w, v, 0)
#define store_rel(w, v) put(w, v, 1)

inline load_retake(v)
{
	if
	:: d_step { mine(RETAKE) -> v = forward(RETAKE) }
#ifdef WEAK
	:: d_step { !mine(RETAKE) && early_retake -> v = early_retake - 1 }
#endif
	:: d_step { !mine(RETAKE) -> v = mem[RETAKE] }
	fi;
#ifdef WEAK
	early_retake = 0
#endif
}

inline load_data(p, v)
{
	if
	:: d_step { mine(DATA + p) -> v = forward(DATA + p) }
#ifdef WEAK
	:: d_step { !mine(DATA + p) && early_data[p] -> v = early_data[p] - 1 }
#endif
	:: d_step { !mine(DATA + p) -> v = mem[DATA + p] }
	fi
}

inline store_data(p, v)
{
	store(DATA + p, v);
#ifdef WEAK
	early_data[p] = 0
#endif
}

/* Succeeds with the buffer empty. One that fails is a load with acquire. */
inline m_cas_retake(from, to, ok)
{
	if
	:: d_step { n == 0 && mem[RETAKE] == from ->
		assert(legal(mem[RETAKE], to));
		mem[RETAKE] = to; ok = true; forget_early() }
#ifdef WEAK
	:: d_step { !mine(RETAKE) && mem[RETAKE] != from ->
		ok = false; forget_early() }
#else
	:: d_step { n == 0 && mem[RETAKE] != from -> ok = false }
#endif
	fi
}

inline m_lock()
{
#ifdef WEAK
	d_step { !lock -> lock = true; forget_early() }
#else
	d_step { !lock && n == 0 -> lock = true }
#endif
}

inline m_unlock()
{
	d_step { n == 0 -> lock = false }
}

/* ---- the M ---- */

inline slow()
{
#ifdef STORE_NONE
	if
	:: seen == ASKED -> store(RETAKE, NONE); ok = true
	:: else -> ok = false
	fi;
#else
	m_cas_retake(ASKED, NONE, ok);
#endif
	if
	:: ok
	:: else ->
		load_retake(seen);
		forget_early();
		if
		:: seen == TAKEN ->
			had = 0;
			store(PP, 0);
			store_rel(RETAKE, NONE)
		:: else
		fi
	fi
}

inline enter()
{
	store(INSIDE, 1);
#ifndef NO_LOOK
	load_retake(seen);
	if
	:: seen != NONE -> slow()
	:: else
	fi;
#endif
	seen = NONE;
	ok = false;
	d_step {
		using = (had > 0);
		assert(!had || owner[had - 1] == THE_M)
	}
}

inline leave()
{
	using = false;
#ifdef LEAVE_RELAXED
	store(INSIDE, 0)
#else
	store_rel(INSIDE, 0)
#endif
}

inline use()
{
	load_data(had - 1, val);
	assert(owner[had - 1] == THE_M && val == wrote[had - 1]);
	d_step { val = 1 - val; wrote[had - 1] = val };
	store_data(had - 1, val);
	val = 0
}

inline acquire()
{
	m_lock();
	if
	:: d_step { owner[0] == IDLE -> owner[0] = THE_M; had = 1 }
	:: d_step { owner[1] == IDLE -> owner[1] = THE_M; had = 2 }
	:: owner[0] != IDLE && owner[1] != IDLE
	fi;
	m_unlock();
	if
	:: had ->
		store(PP, had);
		store_rel(OF + had - 1, 1);
		using = true
	:: else
	fi
}

inline release()
{
	using = false;
	store(OF + had - 1, 0);
	store(PP, 0);
	m_lock();
	owner[had - 1] = IDLE;
	had = 0;
	m_unlock()
}

active proctype m()
{
	byte had, seen, val;
	bool ok;

end:	do
	:: enter();
		if
		:: had -> use()
		:: had -> release()
		:: !had -> acquire()
		:: !had
		fi;
		if
		:: had ->	/* calls nest */
			enter();
			assert(had);
			use();
		:: true
		fi;
		leave()
	od
}

/* ---- the sequentially consistent processes ---- */

inline cas_retake(from, to, ok)
{
	if
	:: d_step { mem[RETAKE] == from ->
		assert(legal(from, to)); mem[RETAKE] = to; ok = true }
	:: d_step { mem[RETAKE] != from -> ok = false }
	fi
}

active proctype monitor()
{
	byte p, j;
	bool ok;

end:	do
	:: (mem[OF] || mem[OF + 1]) ->
		cas_retake(NONE, ASKED, ok);
		if
		:: !ok -> goto done
		:: else
		fi;
#ifndef NO_BARRIER
		d_step {
			do
			:: n > 0 -> to_mem(0)
			:: else -> break
			od;
			forget_early();
			j = 0
		};
#endif
		if
		:: d_step { mem[INSIDE] == 0 -> ok = true }
		:: d_step { mem[INSIDE] != 0 -> ok = false }
		fi;
		p = mem[PP];
		if
		:: ok && p
		:: else ->
#ifndef NO_WAY_BACK
			cas_retake(ASKED, NONE, ok);
#endif
			p = 0;
			goto done
		fi;
		d_step { !lock -> lock = true };
#ifdef STORE_TAKEN
		d_step { mem[RETAKE] = TAKEN; ok = true };
#else
		cas_retake(ASKED, TAKEN, ok);
#endif
		if
		:: !ok -> lock = false; p = 0; goto done
		:: else
		fi;
#ifdef READ_AGAIN
		p = mem[PP];
#endif
		d_step {
			assert(p);
			p--;
			assert(mem[OF + p] == 1 && owner[p] == THE_M && !using);
			mem[OF + p] = 0;
			owner[p] = MONITOR
		};
		lock = false;
		if
		:: owner[p] = OTHER
		:: d_step { !lock -> lock = true };
			owner[p] = IDLE;
			lock = false
		fi;
		p = 0;
done:		assert(mem[RETAKE] != ASKED);
		ok = false
	od
}

inline work(p)
{
	d_step {
		assert(mem[DATA + p] == wrote[p]);
		mem[DATA + p] = 1 - mem[DATA + p];
		wrote[p] = mem[DATA + p]
	};
	d_step { !lock -> owner[p] = IDLE }
}

active proctype other()
{
end:	do
	:: d_step { !lock && owner[0] == IDLE -> owner[0] = OTHER }
	:: d_step { !lock && owner[1] == IDLE -> owner[1] = OTHER }
	:: owner[0] == OTHER -> work(0)
	:: owner[1] == OTHER -> work(1)
	od
}

ltl asked_ends { [] (mem[RETAKE] == ASKED -> <> (mem[RETAKE] != ASKED)) }
