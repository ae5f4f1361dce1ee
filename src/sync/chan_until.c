/* SPDX-License-Identifier: MIT */
/*
 * Sending and receiving with a time limit or a context: a select with one
 * case.
 */
#include "chan_type.h"
#include "select.h"

static bool
send_limited(weft_chan *c, const void *v, uint32_t type,
    struct select_limit limit)
{
	struct converted tmp;
	weft_case k = { .chan = c, .op = WEFT_OP_SEND };

	if (c)
		v = type_convert(c, v, type, &tmp);
	k.elem = (void *)(uintptr_t)v;
	return select_case(&k, 1, false, limit) == 0;
}

static bool
recv_limited(weft_chan *c, void *v, uint32_t type, struct select_limit limit)
{
	weft_case k = { .chan = c, .elem = v, .type_ = type,
		.op = WEFT_OP_RECV };

	return select_case(&k, 1, false, limit) == 0 && k.ok;
}

public bool
weft_chan_send_until_(weft_chan *c, const void *v, uint32_t type, int64_t when)
{
	return send_limited(c, v, type, UNTIL(when));
}

public bool
weft_chan_recv_until_(weft_chan *c, void *v, uint32_t type, int64_t when)
{
	return recv_limited(c, v, type, UNTIL(when));
}

public bool
weft_chan_send_context_(weft_chan *c, const void *v, uint32_t type,
    weft_context *ctx)
{
	return send_limited(c, v, type, CONTEXT(ctx));
}

public bool
weft_chan_recv_context_(weft_chan *c, void *v, uint32_t type,
    weft_context *ctx)
{
	return recv_limited(c, v, type, CONTEXT(ctx));
}

public bool
weft_chan_send_until(weft_chan *c, const void *v, int64_t when)
{
	return send_limited(c, v, 0, UNTIL(when));
}

public bool
weft_chan_recv_until(weft_chan *c, void *v, int64_t when)
{
	return recv_limited(c, v, 0, UNTIL(when));
}

public bool
weft_chan_send_context(weft_chan *c, const void *v, weft_context *ctx)
{
	return send_limited(c, v, 0, CONTEXT(ctx));
}

public bool
weft_chan_recv_context(weft_chan *c, void *v, weft_context *ctx)
{
	return recv_limited(c, v, 0, CONTEXT(ctx));
}
