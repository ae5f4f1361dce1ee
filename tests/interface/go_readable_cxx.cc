// SPDX-License-Identifier: MIT
// Reading, and goroutines that begin when there is something to read, in C++.
#include <string_view>

#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup all;

static void
answer(int fd, double add, const char *name)
{
	char c = 0;

	OK(weft_self_name() == std::string_view(name));
	EQ(weft_read(fd, &c, 1), 1);
	c = static_cast<char>(c + static_cast<int>(add));
	EQ(weft_write(fd, &c, 1), 1);
	weft_waitgroup_done(&all);
}

struct counter {
	int begun = 0;
	void count(int fd)
	{
		char c;

		__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
		EQ(weft_sock_recv(fd, &c, 1, 0), 1);
		weft_waitgroup_done(&all);
	}
};

static void
count_on(counter &c, int fd)
{
	c.count(fd);
}

GTEST(begins_when_readable, 2)
{
	int end[2];
	char c = 'a';
	counter n;

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable_opt(WEFT_OPT(.name = "begun"), end[1], answer,
	    end[1], 2.5f, "begun") > 0);
	EQ(weft_go_readable(end[1], answer, end[1], 2, ""), -EBUSY);
	EQ(weft_write(end[0], &c, 1), 1);
	EQ(weft_read(end[0], &c, 1), 1);
	EQ(c, 'c');
	weft_waitgroup_wait(&all);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(end[1], answer, end[1], 3, "") > 0);
	EQ(weft_write(end[0], &c, 1), 1);
	EQ(weft_read(end[0], &c, 1), 1);
	EQ(c, 'f');
	weft_waitgroup_wait(&all);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(end[1], count_on, n, end[1]) > 0);
	weft_yield();
	EQ(__atomic_load_n(&n.begun, __ATOMIC_RELAXED), 0);
	EQ(weft_write(end[0], &c, 1), 1);
	weft_waitgroup_wait(&all);
	EQ(n.begun, 1);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
}

static void
reader(int fd)
{
	char c;

	try {
		if (weft_read(fd, &c, 1) != 1)
			throw 5;
		t_fail(__FILE__, __LINE__, "read something");
	} catch (int n) {
		EQ(n, 5);
	}
	weft_waitgroup_done(&all);
}

GTEST(throws_after_a_wait, 2)
{
	weft_goroutine_counts n;
	int end[2];

	EQ(pipe(end), 0);
	weft_waitgroup_add(&all, 20);
	for (int i = 0; i < 20; i++)
		weft_go(reader, end[0]);
	do {	/* one that came later would read what has the number then */
		weft_yield();
		weft_goroutine_counts_read(&n, sizeof n);
	} while (n.waiting < 20);
	EQ(weft_close(end[0]), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[1]), 0);
}
