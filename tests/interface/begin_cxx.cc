// SPDX-License-Identifier: MIT
// Goroutines that begin later, in C++.
#include <string_view>

#include <weft.h>

#include "t.h"

static weft_waitgroup all;

struct point {
	int x, y;
};

static void
check_point(point *p, bool &ok, double d)
{
	EQ(p->x, 1);
	EQ(p->y, 2);
	OK(ok);
	OK(d == 2.5);
	weft_waitgroup_done(&all);
}

static void
named(const char *name)
{
	OK(weft_self_name() == std::string_view(name));
	weft_waitgroup_done(&all);
}

GTEST(begins_with_a_receive, 2)
{
	weft_chan *c = weft_chan_of(point, 0);
	point p = {}, from = { 1, 2 };
	bool ok = false;

	weft_waitgroup_add(&all, 2);
	OK(weft_go_recv(c, &p, &ok, check_point, &p, ok, 2.5f) > 0);
	OK(weft_go_recv_opt(WEFT_OPT(.name = "patient"), c, nullptr, nullptr,
	    named, "patient") > 0);
	weft_send(c, from);
	weft_send(c, from);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
}

GTEST(begins_at_a_time, 2)
{
	int64_t when = weft_deadline(WEFT_MS);

	weft_waitgroup_add(&all, 2);
	OK(weft_go_at(when, named, "") > 0);
	OK(weft_go_after_opt(WEFT_OPT(.name = "late"), WEFT_MS, named, "late")
	    > 0);
	weft_waitgroup_wait(&all);
	OK(weft_now() >= when);
}
