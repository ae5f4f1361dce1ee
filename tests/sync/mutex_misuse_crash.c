/* SPDX-License-Identifier: MIT */
/* Locks that are unlocked without being held, and locks held for ever. */
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static weft_mutex m;
static weft_rwmutex rw;
static weft_cond c;
static weft_once o;
static weft_sem s;
static weft_event e;

/* Makes it a lock that is kept in the way of those read often. */
static void
warm(void)
{
	for (int i = 0; i < 1000; i++) {
		weft_rwmutex_rlock(&rw);
		weft_rwmutex_runlock(&rw);
	}
}

/* For tests that wait for ever: the deadlock check must find that out. */
static void
for_ever(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
}

/* ---- mutex ---- */

PLAIN_THREAD(unlock_plainly, weft_mutex_unlock(&m))

DIES(unlock, 1, "mutex: unlock of an unlocked mutex")
{
	weft_mutex_unlock(&m);
}

DIES(unlock_twice, 1, "mutex: unlock of an unlocked mutex")
{
	weft_mutex_lock(&m);
	weft_mutex_unlock(&m);
	weft_mutex_unlock(&m);
}

DIES(unlock_after_try, 1, "mutex: unlock of an unlocked mutex")
{
	OK(weft_mutex_try_lock(&m));
	weft_mutex_unlock(&m);
	weft_mutex_unlock(&m);
}

DIES(unlock_on_thread, 0, "mutex: unlock of an unlocked mutex")
{
	thread_run(unlock_plainly, NULL);
}

DIES(lock_twice, 1, "[waiting: mutex lock]")
{
	for_ever();
	weft_mutex_lock(&m);
	weft_mutex_lock(&m);
}

/* ---- rwmutex ---- */

DIES(rw_unlock, 1, "rwmutex: unlock of an unlocked rwmutex")
{
	weft_rwmutex_unlock(&rw);
}

DIES(rw_unlock_twice, 1, "rwmutex: unlock of an unlocked rwmutex")
{
	weft_rwmutex_lock(&rw);
	weft_rwmutex_unlock(&rw);
	weft_rwmutex_unlock(&rw);
}

DIES(rw_unlock_while_read, 1, "rwmutex: unlock of an unlocked rwmutex")
{
	weft_rwmutex_rlock(&rw);
	weft_rwmutex_unlock(&rw);
}

DIES(rw_unlock_while_read_often, 2, "rwmutex: unlock of an unlocked rwmutex")
{
	warm();
	weft_rwmutex_rlock(&rw);
	weft_rwmutex_unlock(&rw);
}

static void
write_lock(void)
{
	weft_rwmutex_lock(&rw);
}

static void
await_writer(void)
{
	weft_go(write_lock);
	while (weft_rwmutex_try_rlock(&rw)) {
		weft_rwmutex_runlock(&rw);
		weft_yield();
	}
}

DIES(rw_unlock_while_a_writer_waits, 2,
    "rwmutex: unlock of an unlocked rwmutex")
{
	weft_rwmutex_rlock(&rw);
	await_writer();
	weft_rwmutex_unlock(&rw);
}

DIES(runlock, 1, "rwmutex: runlock of an unlocked rwmutex")
{
	weft_rwmutex_runlock(&rw);
}

DIES(runlock_twice, 1, "rwmutex: runlock of an unlocked rwmutex")
{
	weft_rwmutex_rlock(&rw);
	weft_rwmutex_runlock(&rw);
	weft_rwmutex_runlock(&rw);
}

DIES(runlock_twice_often, 2, "rwmutex: runlock of an unlocked rwmutex")
{
	warm();
	weft_rwmutex_rlock(&rw);
	weft_rwmutex_runlock(&rw);
	weft_rwmutex_runlock(&rw);
}

DIES(runlock_while_written, 1, "rwmutex: runlock of an unlocked rwmutex")
{
	weft_rwmutex_lock(&rw);
	weft_rwmutex_runlock(&rw);
}

DIES(runlock_while_written_often, 2,
    "rwmutex: runlock of an unlocked rwmutex")
{
	warm();
	weft_rwmutex_lock(&rw);
	weft_rwmutex_runlock(&rw);
}

PLAIN_THREAD(runlock_plainly, weft_rwmutex_runlock(&rw))

DIES(runlock_on_thread, 0, "rwmutex: runlock of an unlocked rwmutex")
{
	thread_run(runlock_plainly, NULL);
}

DIES(runlock_often_on_thread, 2, "rwmutex: runlock of an unlocked rwmutex")
{
	warm();
	thread_run(runlock_plainly, NULL);
}

DIES(rw_lock_twice, 1, "[waiting: rwmutex lock]")
{
	for_ever();
	weft_rwmutex_lock(&rw);
	weft_rwmutex_lock(&rw);
}

DIES(rw_rlock_in_lock, 1, "[waiting: rwmutex read lock]")
{
	for_ever();
	weft_rwmutex_lock(&rw);
	weft_rwmutex_rlock(&rw);
}

DIES(rw_lock_in_rlock, 1, "[waiting: rwmutex lock]")
{
	for_ever();
	weft_rwmutex_rlock(&rw);
	weft_rwmutex_lock(&rw);
}

DIES(rw_lock_in_rlock_often, 2, "[waiting: rwmutex lock]")
{
	for_ever();
	warm();
	weft_rwmutex_rlock(&rw);
	weft_rwmutex_lock(&rw);
}

/* ---- the others ---- */

DIES(cond_unlocked, 1, "cond: wait with an unlocked mutex")
{
	weft_cond_wait(&c, &m);
}

DIES(cond_until_unlocked, 1, "cond: wait with an unlocked mutex")
{
	weft_cond_wait_until(&c, &m, 0);
}

DIES(cond_for_ever, 1, "[waiting: condition]")
{
	for_ever();
	weft_cond_signal(&c);
	weft_cond_broadcast(&c);
	weft_mutex_lock(&m);
	weft_cond_wait(&c, &m);
}

DIES(once_null, 1, "weft_once_do: null function")
{
	weft_once_do(&o, NULL, NULL);
}

static void
again(void *arg)
{
	weft_once_do(&o, again, arg);
}

DIES(once_in_once, 1, "goroutine 1 \"\" would wait for itself")
{
	weft_once_do(&o, again, NULL);
}

DIES(sem_for_ever, 1, "[waiting: semaphore]")
{
	for_ever();
	weft_sem_release(&s, 1);
	weft_sem_acquire(&s, 2);
}

DIES(sem_too_many, 1, "sem: release of 2 units to 9223372036854775806")
{
	weft_sem_release(&s, UINT64_MAX / 2 - 1);
	weft_sem_release(&s, 2);
}

DIES(sem_far_too_many, 1, "sem: release of 18446744073709551615 units")
{
	weft_sem_release(&s, UINT64_MAX);
}

DIES(event_for_ever, 1, "[waiting: event]")
{
	for_ever();
	weft_event_set(&e);
	weft_event_wait(&e);
	weft_event_reset(&e);
	weft_event_wait(&e);
}
