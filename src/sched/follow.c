/* SPDX-License-Identifier: MIT */
/*
 * Following the number of CPUs that the process may use.
 *
 * Four threads take part. The monitor, once a second while goroutines run,
 * asks for a look (follow_poke): an idle program pays nothing. A helper, the
 * *reader*, reads the mask and the quota (os/cpu.c); another, the *changer*,
 * changes the number of Ps as weft_set_procs does, if it is not that. The
 * thread in weft_run makes the changer when a look is first asked for, that is
 * not in a program that ends within a second; and the changer makes the reader.
 *
 *	NONE --> ASKED		the monitor
 *	ASKED --> MADE, NONE	the thread in weft_run; NONE: no thread, the
 *				monitor asks again
 *	MADE --> NONE		the changer, which ends after the reader: the
 *				user has set the number
 *
 * Why helpers. The monitor cannot stop the world: each M that does not yield
 * is made to by the monitor itself. The thread in weft_run makes the threads
 * that a goroutine which is about to start the world again may need. And a
 * file that is opened for a moment takes the lowest free number from the
 * program, which may have closed 0 just then in order to open its own: so the
 * reader has a table of descriptors of its own. Where the kernel does not give
 * it one, only the mask is followed. With that table it can wake no thread that
 * sleeps in the poller, nor say why the program dies: so it only reads.
 *
 * The mask is that of the thread in weft_run, mostly the first of the process:
 * `taskset -p` changes that one, and a cpuset those of all threads. Ms are not
 * asked: goroutines may have changed the mask of theirs.
 */
#include "follow.h"

#include "cpu.h"
#include "helper.h"
#include "lock.h"
#include "os.h"
#include "sched.h"

enum { NONE, ASKED, MADE };

static a32 on;
static a32 helper;
static struct note read_note;	/* the reader sleeps here */
static struct note change_note;	/* ... and here the changer */
static a32 seen;		/* what the reader has read; 0: nothing yet */
static a32 reads;		/* the reader has not ended */
static int run_tid;		/* the thread in weft_run; written by it
				 * before it makes the changer */

void (*follow_change)(uint32_t procs);

void
follow_boot(bool is_default)
{
	a_store_relaxed(&on, is_default);
}

void
follow_end(void)
{
	if (!a_load_relaxed(&on))
		return;
	a_store_relaxed(&on, false);
	note_poke(&read_note);
}

bool
follow_on(void)
{
	return a_load_relaxed(&on);
}

void
follow_poke(void)
{
	if (!follow_on())
		return;
	if (a_load_relaxed(&helper) == MADE) {
		note_poke(&read_note);
	} else if (a_cas_relaxed(&helper, NONE, ASKED)) {
		note_poke(&sched.run_note);
	}
}

static void
reader_main(void *arg)
{
	bool files = os_fds_unshare() == 0;

	(void)arg;
	while (follow_on()) {
		int n = cpu_look(run_tid, files);

		a_store_relaxed(&seen,
		    (uint32_t)(n > PROCS_MAX ? PROCS_MAX : n));
		note_poke(&change_note);
		note_wait(&read_note, FOREVER);
	}
	/* pairs with the load in changer_main: run_tid is read no more */
	a_store_rel(&reads, false);
	note_poke(&change_note);
}

static void
changer_main(void *arg)
{
	uint32_t n;

	(void)arg;
	a_store_relaxed(&seen, 0);
	a_store_relaxed(&reads, true);
	if (helper_start(reader_main, NULL) != 0)
		a_store_relaxed(&reads, false);
	while (a_load_acq(&reads)) {	/* pairs with the end of reader_main */
		note_wait(&change_note, FOREVER);
		n = a_load_relaxed(&seen);
		if (n && n != a_load_relaxed(&sched.procs))
			follow_change(n);
	}
	/* pairs with follow_make_requested, which makes the next one */
	a_store_rel(&helper, NONE);
}

void
follow_make_requested(void)
{
	int err;

	/* pairs with the end of changer_main */
	if (!a_cas_acq(&helper, ASKED, MADE))
		return;
	run_tid = os_thread_id();
	err = helper_start(changer_main, NULL);
	if (err)
		a_store_relaxed(&helper, NONE);
}
