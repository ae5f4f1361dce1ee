/* SPDX-License-Identifier: MIT */
/*
 * A value computed once: a weft_once whose function stores the result beside
 * it. The store comes before the once is done, and each caller reads the value
 * after it has seen that; so the value needs no order of its own.
 */
#include "defs.h"
#include "fatal.h"
#include "weft/extra.h"

struct computation {
	weft_once_value *o;
	void *(*fn)(void *arg);
	void *arg;
};

calls_out static void
compute(void *arg)
{
	struct computation *c = arg;

	c->o->value_ = c->fn(c->arg);
}

calls_out public void *
weft_once_value_get(weft_once_value *o, void *(*fn)(void *arg), void *arg)
{
	struct computation c = { o, fn, arg };

	if (!fn)
		fatal("weft_once_value_get: null function");
	weft_once_do(&o->once_, compute, &c);
	return o->value_;
}
