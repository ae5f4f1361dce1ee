/* SPDX-License-Identifier: MIT */
/* Labels of goroutines. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <weft.h>

#include "t.h"

static bool
is(const char *key, const char *value)
{
	const char *v = weft_label(key);

	return value ? v && strcmp(v, value) == 0 : !v;
}

static void *
on_thread(void *arg)
{
	EQ(weft_label_set("a", "b"), -EPERM);
	OK(is("a", NULL));
	return arg;
}

TEST(only_on_goroutines)
{
	pthread_t t;

	pthread_create(&t, NULL, on_thread, NULL);
	pthread_join(t, NULL);
}

GTEST(set_change_remove, 1)
{
	OK(is("kind", NULL));
	EQ(weft_label_set("kind", "a"), 0);
	EQ(weft_label_set("tenant", "x"), 0);
	OK(is("kind", "a") && is("tenant", "x"));
	EQ(weft_label_set("kind", "b"), 0);
	OK(is("kind", "b") && is("tenant", "x"));
	EQ(weft_label_set("tenant", NULL), 0);
	EQ(weft_label_set("none", NULL), 0);
	OK(is("kind", "b") && is("tenant", NULL));
	EQ(weft_label_set("kind", NULL), 0);
	OK(is("kind", NULL));
	EQ(weft_label_set("empty", ""), 0);
	OK(is("empty", ""));
}

GTEST(limits, 1)
{
	char key[300], value[300];

	memset(key, 'k', sizeof key);
	memset(value, 'v', sizeof value);
	key[63] = value[255] = '\0';
	EQ(weft_label_set(key, value), 0);
	OK(is(key, value));
	EQ(weft_label_set(key, NULL), 0);
	key[63] = 'k', key[64] = '\0';
	EQ(weft_label_set(key, ""), -EINVAL);
	value[255] = 'v', value[256] = '\0';
	EQ(weft_label_set("k", value), -EINVAL);
	EQ(weft_label_set("", "v"), -EINVAL);
	EQ(weft_label_set(NULL, "v"), -EINVAL);
	for (int i = 0; i < 17; i++) {
		snprintf(key, sizeof key, "k%d", i);
		EQ(weft_label_set(key, "v"), i < 16 ? 0 : -ENOSPC);
	}
	EQ(weft_label_set("k3", "w"), 0);
	OK(is("k3", "w") && is("k15", "v") && is("k16", NULL));
}

static weft_waitgroup all;
static int wrong;

static void
expect(bool yes)
{
	if (!yes)
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void
child(int level)
{
	expect(is("kind", "job") && is("level", level ? "one" : NULL));
	if (level == 0) {
		weft_label_set("level", "one");
		weft_waitgroup_go(&all, child, 1);
		weft_yield();
		expect(is("level", "one"));
	} else {
		weft_label_set("kind", "other");
	}
}

static void without(void) { expect(is("kind", NULL)); }

GTEST(inherited_by_spawned, 1)
{
	enum { MANY = 2000 };

	weft_label_set("kind", "job");
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&all, child, 0);
	weft_waitgroup_wait(&all);
	EQ(wrong, 0);
	OK(is("kind", "job") && is("level", NULL));
	/* Their stacks and records are reused. */
	weft_label_set("kind", NULL);
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&all, without);
	weft_waitgroup_wait(&all);
	EQ(wrong, 0);
}

/* Sets are kept for ever, so there is a limit. */
GTEST(too_many_sets, 1)
{
	char value[32];
	int err = 0, n = 0;

	for (; !err && n < 1 << 17; n++) {
		snprintf(value, sizeof value, "request %d", n);
		err = weft_label_set("id", value);
	}
	EQ(err, -ENOSPC);
	OK(n > 60000);
	EQ(weft_label_set("id", "request 5"), 0);
	OK(is("id", "request 5"));
	EQ(weft_label_set("id", NULL), 0);
}
