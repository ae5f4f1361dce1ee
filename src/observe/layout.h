/* SPDX-License-Identifier: MIT */
/*
 * What a debugger has to know to find the goroutines of a process or of a core
 * file, as data of the library: it needs neither debugging information nor a
 * symbol table, so a stripped library will do. tools/gdb/weft-gdb.py reads it.
 *
 * The table is the exported symbol weft_debug_layout_, which is in the dynamic
 * symbol table of the shared library and so survives strip. In a static
 * program that is stripped of all symbols it is found by its magic string, in
 * the writable data that the loader relocates.
 *
 * Each entry has a name and a value, and means one of these:
 *
 *	g.state			offset of that member of struct g in `value`,
 *				its size in `bytes`; and so for m, p, frame,
 *				stack, slab, chunk, sched, weft_site
 *	sizeof chunk		a size, in `value`
 *	HOLD_PIN		a constant, in `value`
 *	&g_slab			an address; `bytes` is the size of the object,
 *				if it is an array of pointers to strings
 *
 * The rules for a reader:
 *
 *  - Everything is as wide as it is in C, little-endian, pointers of 8 bytes.
 *  - Entries are found by name. A later version may add entries and move them.
 *    `version` changes if the meaning of one changes, or of the table itself.
 *  - Goroutines are the records of &g_slab; Ms those of &m_slab. A slab is a
 *    list of chunks (slab.chunks, chunk.next), each of CHUNK_BYTES, in which
 *    chunk.used records of slab.record_bytes follow its head. A record with
 *    g.state 0 is no goroutine.
 *  - A goroutine that no M has as curg or prev_g, and whose g.stack is not
 *    NULL, continues at g.frame.pc with g.frame.sp and g.frame.bp; no other
 *    register has a value there. Its stack ends at g.stack, which is the
 *    address of the stack's head, and begins at the lo in that.
 *  - The chain of callers ends in &frame_entry. It may also end in
 *    &preempt_return: then the stack pointer there is the address of the
 *    signal frame from which the goroutine continues, and __restore_rt, which
 *    follows, is the code whose caller that is.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "defs.h"

enum { DEBUG_LAYOUT_VERSION = 1 };
#define DEBUG_LAYOUT_MAGIC "weft layout\r\n\x1a"

struct debug_entry {
	char name[24];
	union {
		uint64_t number;
		const void *address;
	} value;
	uint32_t bytes;
	uint32_t unused;
};

struct debug_layout {
	char magic[16];
	uint32_t version;
	uint32_t entry_bytes;		/* size of one entry */
	const struct debug_entry *entry;
	uint64_t entries;		/* how many */
};

extern const struct debug_layout weft_debug_layout_;

#endif
