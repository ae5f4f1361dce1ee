/* SPDX-License-Identifier: MIT */
/*
 * The file of an execution trace, as the runtime writes it and tools/trace
 * reads it. All numbers are little-endian, as in memory.
 *
 *	file	= struct trace_file, then blocks until the end
 *	block	= struct trace_block, then `bytes` bytes of payload
 *
 * Blocks are 8-byte aligned. A block is complete or the file is truncated; a
 * reader keeps what came before. Blocks of one ring come in the order of their
 * `number`; blocks of different rings come in any order. A number that is
 * missing means lost events.
 *
 * A ring is a sequence of events by one writer at a time: ring i belongs to P
 * i, whose holder writes it; ring TRACE_RING_SHARED to all threads that have
 * no P (detached Ms, the monitor, plain threads), under a lock.
 *
 * The payload of a TRACE_BLOCK_EVENTS is 64-bit words. An event is a word,
 *
 *	bits 0..5	type, enum trace_type
 *	bits 6..31	cycles since the event before it in this block, or since
 *			`start` of the block
 *	bits 32..63	arg
 *
 * followed by as many words as its type says below ("+ n"). A gap of 2^26
 * cycles or more is preceded by a TR_TIME. Ids of goroutines (`id`) have 64
 * bits, of which arg has the lower half; the upper half is that of the last
 * TR_HIGH in this block, or 0.
 *
 * Which goroutine and thread an event is about, if it does not say so: on the
 * ring of a P, the M that holds it (`m` of the block, then TR_P_START) and the
 * goroutine that M runs (`g` of the block, then TR_P_START, TR_START); on the
 * shared ring those of the TR_THREAD before it, which is repeated at the
 * beginning of a block and whenever it changes.
 *
 * The order of the events of one ring is exact. Clocks of different CPUs may
 * differ by some nanoseconds, so an effect may have an earlier time than its
 * cause on another ring; a reader that needs the order of causes delays an
 * event until the goroutine is in the state that the event requires.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC	"weft trace 1\n\0\0"	/* 16 bytes with its end */

enum {
	TRACE_RING_SHARED = 0xffffff,
	TRACE_DT_BITS = 26,
	TRACE_STACK_MAX = 32,		/* frames in a TR_STACK, TR_SAMPLE */
	TRACE_TEXT_MAX = 1024		/* bytes of a text */
};

struct trace_file {
	char magic[16];
	uint64_t cycles;	/* a reading of the clock, ... */
	int64_t mono_ns;	/* ... of CLOCK_MONOTONIC and ... */
	int64_t wall_ns;	/* ... of CLOCK_REALTIME at the same moment */
	uint64_t hz;		/* cycles a second; an estimate: see CLOCK */
	uint32_t pid;
	uint32_t procs;
	uint64_t reserved[2];
};

enum trace_block_type {
	TRACE_BLOCK_EVENTS = 1,
	TRACE_BLOCK_CLOCK,	/* uint64 cycles, int64 mono_ns: a later pair.
				 * The rate is that between the first (of the
				 * file's head) and the last pair */
	TRACE_BLOCK_SITE,	/* uint64 address, int32 line, uint32 0, then
				 * two strings, each with its NUL: function,
				 * file; padded with NULs to 8 bytes */
	TRACE_BLOCK_MODULE,	/* uint64 base, lo, hi (of its code), uint32
				 * bytes of build id, uint32 0, the build id
				 * padded to 8, path with NUL padded to 8;
				 * address - base is that in its ELF file */
	TRACE_BLOCK_REASONS,	/* what goroutines wait for: strings, each with
				 * its NUL, in the order of their numbers;
				 * padded with NULs to 8 bytes */
	TRACE_BLOCK_END		/* no payload: it was stopped properly */
};

struct trace_block {
	uint32_t type;		/* enum trace_block_type */
	uint32_t bytes;		/* of payload, a multiple of 8 */

	/* TRACE_BLOCK_EVENTS only, else 0: */
	uint32_t ring;
	uint32_t number;	/* of this ring's blocks, from 0 */
	uint64_t start;		/* cycles */
	uint32_t m;		/* the M at the start, or 0 */
	uint32_t lost;		/* events lost on this ring before this block */
	uint64_t g;		/* the goroutine at the start, or 0 */
};

/*
 *                                  argument, and words that follow
 */
enum trace_type {
	TR_NONE,		/* never written: an error */
	TR_TIME,	/* + 1	word: cycles, absolute */
	TR_HIGH,		/* upper half of the ids that follow */

	/* a P and its M */
	TR_P_START,	/* + 1	M; word: id of the goroutine that it runs
			 *	already (it was detached), or 0 */
	TR_P_STOP,		/* enum trace_stop: the M gives it up */
	TR_P_TAKEN,	/* + 1	P, on the shared ring, by the monitor; word: M
			 *	that had it | enum trace_taken << 32. That M
			 *	goes on with its goroutine, detached */
	TR_STEAL,		/* P stolen from | goroutines << 16 */
	TR_PROCS,		/* number of Ps from now on */

	/* goroutines; `self`: the one that runs */
	TR_CREATE,		/* id: spawned, RUNNABLE; at the last TR_SITE */
	TR_CREATE_WAITING,	/* id: spawned, WAITING (for a descriptor or a
				 *	time); at the last TR_SITE */
	TR_SITE,	/* + 1	word: address of the spawn site that holds for
			 *	the events that follow on this ring */
	TR_NAME,	/* + 3	id; words: its name, up to 24 bytes */
	TR_START,		/* id: runs on this P now */
	TR_BLOCK,	/* + 1	self waits: number of the reason; word: address
			 *	of the queue in which it waits (the same for
			 *	all that wait on one channel, descriptor ...),
			 *	or 0 */
	TR_YIELD,		/* self is RUNNABLE again: enum trace_yield */
	TR_END,			/* self has ended */
	TR_UNBLOCK,		/* id: RUNNABLE, by self, or by this thread */
	TR_CALL_BEGIN,		/* self is in a blocking call; 1: it gave its P
				 *	up for it, else it may be taken */
	TR_CALL_END,		/* self has returned from it */
	TR_PAUSE,		/* id: RUNNABLE; its thread sleeps until ... */
	TR_RESUME,		/* id: ... it runs again */
	TR_STATUS,	/* + 1	id, as it was when the trace began: word: state
			 *	(0 dead 1 runnable 2 running 3 call 4
			 *	waiting) | reason << 8; at the last TR_SITE.
			 *	Read while all ran: an event of the goroutine
			 *	says it better */

	/* what the runtime does */
	TR_THREAD,	/* + 1	shared ring: M, or 0; word: id of the goroutine
			 *	it runs; if M is 0: id of the thread | kind <<
			 *	32, 0 a plain thread, 1 the monitor */
	TR_TIMERS,		/* timers that were run */
	TR_NETPOLL,		/* goroutines that became ready */
	TR_WORLD_STOP,		/* self stops the world */
	TR_WORLD_START,

	/* by the user; a text: bytes in arg's upper 16 bits, (bytes + 7) / 8
	 * words */
	TR_TASK_BEGIN,	/* + 2 + text	words: task, parent task (0: none) */
	TR_TASK_END,	/* + 1	word: task */
	TR_REGION_BEGIN, /* + 1 + text	word: task (0: none) */
	TR_REGION_END,		/* the innermost region of self */
	TR_LOG,		/* + 1 + text	word: task (0: none) */

	/* stacks: addresses of code, innermost first; those of callers are in
	 * the call (return address - 1), so all are looked up alike */
	TR_STACK,	/* + arg	of self, at the event before this */
	TR_SAMPLE,	/* + 3 + arg	CPU sample; words: cycles; M | P << 32
			 *	(P 0xffffffff: none); id */

	TR_RUNNING,		/* self runs, as before: so that a P on which
				 *	nothing else happens is seen at the
				 *	beginning and at the end */
	TR_TYPES
};

/* How many words follow this first word of an event. */
static inline uint32_t
trace_words_after(uint64_t word)
{
	uint32_t arg = (uint32_t)(word >> 32), text = (arg >> 16) + 7;

	switch ((enum trace_type)(word & 63)) {
	case TR_TIME: case TR_P_START: case TR_P_TAKEN: case TR_SITE:
	case TR_BLOCK: case TR_STATUS: case TR_THREAD: case TR_TASK_END:
		return 1;
	case TR_NAME:
		return 3;
	case TR_TASK_BEGIN:
		return 2 + text / 8;
	case TR_REGION_BEGIN: case TR_LOG:
		return 1 + text / 8;
	case TR_STACK:
		return arg;
	case TR_SAMPLE:
		return 3 + arg;
	default:
		return 0;
	}
}

enum trace_stop {
	TRACE_STOP_IDLE,	/* it found no work */
	TRACE_STOP_WORLD,	/* the world stops */
	TRACE_STOP_CALL,	/* its goroutine enters a blocking call */
	TRACE_STOP_OTHER	/* hands it to another M */
};

enum trace_taken {
	TRACE_TAKEN_CALL,	/* from a goroutine in an announced call */
	TRACE_TAKEN_BLOCKED,	/* ... that blocked in the kernel */
	TRACE_TAKEN_RUNNING	/* ... that computed */
};

enum trace_yield {
	TRACE_YIELD_ASKED,	/* weft_yield, or a call that yields */
	TRACE_YIELD_PREEMPTED,	/* its slice was over */
	TRACE_YIELD_NO_P	/* it was detached, and no P is free */
};

#endif
