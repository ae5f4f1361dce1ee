/* SPDX-License-Identifier: MIT */
/*
 * Works that keep state in their thread, as they may as long as they make no
 * call of weft meanwhile, or are pinned. No weft.h here: errno is libc's.
 */
#include "torture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

void weft_pin(void);
void weft_unpin(void);
void weft_yield(void);
void weft_sleep(int64_t ns);

/* ---- variables of the thread ---- */

static __thread uint64_t mine, other[16];
static pthread_key_t key;

static void
locals_once(void)
{
	MUST(pthread_key_create(&key, NULL) == 0);
}

static void
locals_use(uint64_t mark)
{
	pthread_t self = pthread_self();

	mine = mark;
	other[mark % 16] = ~mark;
	SAME(pthread_setspecific(key, (void *)(uintptr_t)(mark | 1)), 0);
	torture_spin(100000);
	MUST(mine == mark && other[mark % 16] == ~mark);
	MUST((uintptr_t)pthread_getspecific(key) == (uintptr_t)(mark | 1));
	MUST(pthread_equal(self, pthread_self()));
}

static void
locals(struct me *me)
{
	locals_use(me->rng);
	locals_use(me->rng + 1);
}

/* No address is kept, as nothing moves: so weft may be called, too. */
static void
locals_pinned(struct me *me)
{
	uint64_t mark = torture_random(me, 1000000);

	weft_pin();
	mine = mark;
	for (int i = 0; i < 5; i++) {
		torture_spin(50000);
		weft_yield();
		weft_sleep(20000);
		SAME(mine, mark);
	}
	weft_unpin();
}

/* ---- locks of threads ---- */

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t strict, deep;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static volatile uint64_t a1, b1, a2, b2, a3, b3, a4, b4;

static void
locks_once(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&strict, &a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&deep, &a);
	pthread_mutexattr_destroy(&a);
}

/* Only the owner sees the two differ. */
static void
both(volatile uint64_t *a, volatile uint64_t *b, uint64_t steps)
{
	SAME(*a, *b);
	*a = *a + 1;
	torture_spin(steps);
	*b = *b + 1;
}

/* It is not this thread's, whoever has it. A sanitizer minds the question. */
static void
not_held(pthread_mutex_t *m)
{
	if (!TORTURE_SAN)
		SAME(pthread_mutex_unlock(m), EPERM);
}

static void
mutexes(struct me *me)
{
	uint64_t steps = 1000 + torture_random(me, 100000);

	SAME(pthread_mutex_lock(&plain), 0);
	both(&a1, &b1, steps);
	SAME(pthread_mutex_unlock(&plain), 0);
	SAME(pthread_mutex_lock(&strict), 0);
	both(&a2, &b2, steps);
	SAME(pthread_mutex_lock(&strict), EDEADLK);
	SAME(pthread_mutex_unlock(&strict), 0);
	not_held(&strict);
}

static void
mutexes_deep(struct me *me)
{
	for (int i = 0; i < 3; i++) {
		SAME(pthread_mutex_lock(&deep), 0);
		torture_spin(torture_random(me, 30000));
	}
	both(&a3, &b3, 30000);
	for (int i = 0; i < 3; i++) {
		torture_spin(10000);
		SAME(pthread_mutex_unlock(&deep), 0);
	}
	not_held(&deep);
	if (torture_random(me, 4) == 0) {
		SAME(pthread_rwlock_wrlock(&rw), 0);
		both(&a4, &b4, 20000);
	} else {
		SAME(pthread_rwlock_rdlock(&rw), 0);
		SAME(a4, b4);
		torture_spin(20000);
		SAME(a4, b4);
	}
	SAME(pthread_rwlock_unlock(&rw), 0);
}

/* A condition, with a partner that is a plain thread. */
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int asked, answered;

static void *
partner(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&turn_lock);
	for (;;) {
		while (asked == answered)
			pthread_cond_wait(&turn_changed, &turn_lock);
		answered = asked;
		pthread_cond_broadcast(&turn_changed);
	}
	return NULL;
}

static void
conditions_once(void)
{
	pthread_t t;

	MUST(pthread_create(&t, NULL, partner, NULL) == 0);
}

static void
conditions(struct me *me)
{
	int my;

	SAME(pthread_mutex_lock(&turn_lock), 0);
	my = ++asked;
	torture_spin(torture_random(me, 50000));
	pthread_cond_broadcast(&turn_changed);
	while (answered - my < 0)
		SAME(pthread_cond_wait(&turn_changed, &turn_lock), 0);
	SAME(pthread_mutex_unlock(&turn_lock), 0);
}

/* ---- libc's errno ---- */

static void
plain_errno(struct me *me)
{
	int *at = &errno;

	(void)me;
	SAME(open("/nonexistent/file", O_RDONLY), -1);
	torture_spin(100000);
	SAME(errno, ENOENT);
	SAME(close(-1), -1);
	torture_spin(100000);
	SAME(errno, EBADF);
	MUST(at == &errno);
	errno = 0;
	SAME(strtol("99999999999999999999", NULL, 10), INT64_MAX);
	torture_spin(10000);
	SAME(errno, ERANGE);
}

const struct work torture_thread[] = {
	{ "locals", locals, locals_once, NULL },
	{ "locals pinned", locals_pinned, NULL, NULL },
	{ "mutexes", mutexes, locks_once, NULL },
	{ "mutexes deep", mutexes_deep, NULL, NULL },
	{ "conditions", conditions, conditions_once, NULL },
	{ "plain errno", plain_errno, NULL, NULL },
	{ NULL, NULL, NULL, NULL }
};
