/* SPDX-License-Identifier: MIT */
/*
 * The audit: may code of this module be preempted at any instruction and
 * resumed on another thread? Only if it provably keeps nothing in its thread.
 * So all of these are checked, and what is not known to be safe is refused:
 *
 *   - thread-local variables: none but the library's own one object;
 *   - relocations and imports of thread-local variables: none;
 *   - imports: only names in a reviewed table (imports.h), and a few that the
 *     library itself refers to weakly: a program that refers to one of them
 *     makes the reference strong;
 *   - needed libraries: libc and its parts, libgcc, this library, and those
 *     that have passed the audit: what these define may be imported, if no
 *     other loaded object defines it;
 *   - not statically linked, for then libc's own code would be in the module,
 *     and no malloc of its own, which would be preempted with its locks held.
 *
 * System calls that a program makes by their numbers, and its assembler code,
 * are not seen.
 */
#ifndef AUDIT_H
#define AUDIT_H

#include "atomic.h"
#include "module.h"

enum { AUDIT_TEXT = 4096 };

/* Zero is ready for use; texts of several modules follow each other. */
struct audit {
	size_t len;		/* of text, without the NUL */
	size_t omitted;		/* lines that had no room */
	abool tables;		/* some module uses ctype's tables, to which
				 * libc keeps pointers in the thread; read by
				 * signal handlers while others are audited */
	char text[AUDIT_TEXT];

	/* the caller's: libraries that have passed */
	const struct module *passed;
	size_t n_passed;
};

/* True if it passes. Adds its findings to the text, line by line. */
bool audit_module(const struct module *m, bool program, struct audit *a);

/*
 * Copies the text, with a line for those omitted if there are any; at most cap
 * bytes with a NUL. Returns its whole length, which may be more.
 */
size_t audit_explain(const struct audit *a, char *buf, size_t cap);

#endif
