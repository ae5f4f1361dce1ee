/* SPDX-License-Identifier: MIT */
/* Channels and select. Included by weft.h. */
#ifndef WEFT_CHANNEL_H
#define WEFT_CHANNEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- channels ---------------------------------------------------------- */

/*
 * A FIFO queue of elements of one size (0 to 64 KiB), which are copied in and
 * out as bytes. It buffers up to cap elements; with cap 0 a send waits for a
 * receiver. Blocked senders and receivers are served in order of arrival.
 * A send to or receive from a NULL channel waits for ever.
 *
 * A send on a closed channel, a second close and a close of NULL are fatal. A
 * receive from a closed channel gives what is left in it, and then zero bytes.
 *
 * weft_chan_of also notes the kind of the element type T, which weft_send,
 * weft_recv and the other macros compare; weft_chan_make knows the size only.
 * NULL if memory is refused or the sizes are out of range: check for it, since
 * an operation on NULL waits for ever. The caller is the channel's owner.
 */
#define weft_chan_of(type, cap) \
	weft_chan_make_kind(sizeof(type), cap, WEFT_KIND_OF_(type))
weft_chan *weft_chan_make(size_t elem_bytes, size_t cap);

/* The function that weft_chan_of calls. Integers have 1, 2, 4 or 8 bytes. */
enum {
	WEFT_KIND_NONE,		/* not known: only the size is compared */
	WEFT_KIND_SIGNED,
	WEFT_KIND_UNSIGNED,	/* enums are one of these two */
	WEFT_KIND_BOOL,
	WEFT_KIND_FLOAT,	/* float, double, long double */
	WEFT_KIND_OTHER		/* pointers, structs and everything else */
};
weft_chan *weft_chan_make_kind(size_t elem_bytes, size_t cap, int kind);

/*
 * retain adds an owner, and returns c; release removes one. NULL is fine. The
 * last release frees the channel, with what is left in it, and is fatal while a
 * goroutine or thread is blocked on it. The receiver of the last value, or one
 * that has seen the channel closed, may release it at once, even if the sender
 * or closer has not yet returned. A select that has completed one case (its
 * send has been received, say) counts as blocked in none of the others.
 */
weft_chan *weft_chan_retain(weft_chan *c);
void weft_chan_release(weft_chan *c);

/*
 * send copies the element from v, recv to v; with v NULL zero bytes are sent,
 * and a received element is dropped. A receive returns true with a value, false
 * (and zero bytes) if the channel is closed and drained. close: nothing more is
 * sent; receivers that wait return false.
 */
void weft_chan_send(weft_chan *c, const void *v);
bool weft_chan_recv(weft_chan *c, void *v);
void weft_chan_close(weft_chan *c);

/*
 * True if an element was sent or received. `try` does not wait; the others
 * wait until the time (0: no limit), or until the context is cancelled or its
 * deadline is over. What can be done at once is done in any case. A receive
 * that returns false stores zero bytes if the channel is closed and drained,
 * and nothing otherwise.
 *
 * That a buffer is full may only mean that its receiver has not had its turn:
 * to find out that a receiver is slow use an `until` form with some
 * milliseconds, not `try`.
 */
bool weft_chan_try_send(weft_chan *c, const void *v);
bool weft_chan_try_recv(weft_chan *c, void *v);
bool weft_chan_send_until(weft_chan *c, const void *v, int64_t when);
bool weft_chan_recv_until(weft_chan *c, void *v, int64_t when);
bool weft_chan_send_context(weft_chan *c, const void *v, weft_context *ctx);
bool weft_chan_recv_context(weft_chan *c, void *v, weft_context *ctx);

/* Closed and drained: no receive will get a value. Stays true. */
bool weft_chan_is_closed(weft_chan *c);

/* len: elements in it now; cap: at most. 0 for NULL. */
size_t weft_chan_len(weft_chan *c);
size_t weft_chan_cap(weft_chan *c);

/*
 * The typed forms of weft_chan_send and its relatives, with their results. T is
 * the type of an element, which may be a struct; v is a value, p points to room
 * for one (void *: not checked; NULL: the value is dropped). weft_recv returns
 * the value, which is zero bytes if the channel is closed and drained;
 * weft_recv_ok tells that apart.
 *
 * On a channel of weft_chan_of a value that is sent must have the kind and
 * size of the element. An integer may have another size or signedness if the
 * element's type can represent it: weft_send(c, true) on a channel of bool,
 * weft_send(c, 1L) on one of int. An integer that does not fit, an int on a
 * channel of float, a float on one of int or double, are fatal. The type that
 * is received must have the same kind and size; the signedness may differ, but
 * a bool comes only from a channel of bool. With a channel of weft_chan_make
 * the size must be the same, and nothing else is checked.
 *
 * (Send a bit-field as x + 0. In C++ an element is trivially copyable, and NULL
 * is an integer: send nullptr.)
 */
#define weft_send(c, ...) WEFT_SEND_(c, (__VA_ARGS__))
#define weft_recv(c, ...) WEFT_RECV_(c, __VA_ARGS__)
#define weft_recv_ok(c, p) \
	weft_chan_recv_(c, WEFT_ROOM_(p), WEFT_TYPE_AT_(p))
#define weft_try_send(c, ...) WEFT_TRY_SEND_(c, (__VA_ARGS__))
#define weft_try_recv(c, p) \
	weft_chan_try_recv_(c, WEFT_ROOM_(p), WEFT_TYPE_AT_(p))
#define weft_send_until(c, v, when) WEFT_SEND_UNTIL_(c, (v), when)
#define weft_recv_until(c, p, when) \
	weft_chan_recv_until_(c, WEFT_ROOM_(p), WEFT_TYPE_AT_(p), when)
#define weft_send_context(c, v, ctx) WEFT_SEND_CONTEXT_(c, (v), ctx)
#define weft_recv_context(c, p, ctx) \
	weft_chan_recv_context_(c, WEFT_ROOM_(p), WEFT_TYPE_AT_(p), ctx)

void weft_chan_send_(weft_chan *c, const void *v, uint32_t type);
bool weft_chan_recv_(weft_chan *c, void *v, uint32_t type);
void *weft_chan_recv_at_(weft_chan *c, void *v, uint32_t type);
bool weft_chan_try_send_(weft_chan *c, const void *v, uint32_t type);
bool weft_chan_try_recv_(weft_chan *c, void *v, uint32_t type);
bool weft_chan_send_until_(weft_chan *c, const void *v, uint32_t type,
    int64_t when);
bool weft_chan_recv_until_(weft_chan *c, void *v, uint32_t type, int64_t when);
bool weft_chan_send_context_(weft_chan *c, const void *v, uint32_t type,
    weft_context *ctx);
bool weft_chan_recv_context_(weft_chan *c, void *v, uint32_t type,
    weft_context *ctx);

/* ---- select ------------------------------------------------------------ */

/*
 * Waits until one of several channel operations can proceed, and performs it:
 *
 *	WEFT_SELECT(s) {
 *		WEFT_ON_RECV(s, in, &x) {
 *			if (!s.ok)		in is closed and drained
 *				break;
 *			...
 *		}
 *		WEFT_ON_SEND(s, out, y) { ... }
 *		WEFT_ON_TIMEOUT(s, weft_deadline(WEFT_SECOND)) { ... }
 *		WEFT_ON_CANCEL(s, ctx) { ... }
 *	}
 *
 * or, with an array of any length,
 *
 *	weft_case cases[] = { WEFT_CASE_RECV(in, &x), WEFT_CASE_SEND(out, y) };
 *	switch (weft_select(cases, 2)) {
 *	case 0: if (cases[0].ok) ... ; break;
 *	case 1: ...
 *	}
 *
 * Among those that can proceed the choice is random and uniform; the ordered
 * forms take the first. A default (one at most) is chosen, without waiting, if
 * at one instant none of the others could proceed. A case with a NULL channel
 * never can. The same channel may stand in several cases.
 *
 * Returns the index of the case; -ETIMEDOUT if none could proceed until `when`
 * (0: no limit), or until the context's deadline; -ECANCELED if none could
 * until the context was cancelled; -ENOMEM if memory is refused (only with
 * more than 16 cases). More than 65,536 cases are fatal. With no case at all
 * it waits for ever, or until then.
 */
enum { WEFT_OP_SEND = 1, WEFT_OP_RECV = 2, WEFT_OP_DEFAULT = 3 };
enum { WEFT_CASE_BYTES = 16 };

typedef struct weft_case {
	weft_chan *chan;
	void *elem;		/* as v of weft_chan_send, weft_chan_recv */
	uint64_t value_[WEFT_CASE_BYTES / 8];
	uint32_t type_;		/* 0: not checked */
	uint8_t op;		/* WEFT_OP_* */
	bool ok;		/* out, of a receive: a value was received */
} weft_case;

/*
 * WEFT_CASE_SEND copies the value, of at most WEFT_CASE_BYTES, into the case.
 * WEFT_CASE_SEND_FROM reads it from *p when it is sent. WEFT_CASE_RECV stores
 * it in *p. Types (T: that of an element) are checked as by weft_send and
 * weft_recv_ok, but what p points to is not converted. A p that is not a
 * pointer does not compile.
 *
 * weft_select performs one of the n cases, and returns its index.
 */
#define WEFT_CASE_SEND(c, ...) WEFT_CASE_VALUE_(c, (__VA_ARGS__))
#define WEFT_CASE_SEND_FROM(c, p) WEFT_CASE_FROM_(c, p)
#define WEFT_CASE_RECV(c, p) \
	WEFT_CASE_(c, WEFT_ROOM_(p), WEFT_TYPE_AT_(p), WEFT_OP_RECV)
#define WEFT_CASE_DEFAULT WEFT_CASE_(NULL, NULL, 0, WEFT_OP_DEFAULT)

int weft_select(weft_case *cases, size_t n);
int weft_select_until(weft_case *cases, size_t n, int64_t when);
int weft_select_context(weft_case *cases, size_t n, weft_context *ctx);
int weft_select_ordered(weft_case *cases, size_t n);
int weft_select_ordered_until(weft_case *cases, size_t n, int64_t when);
int weft_select_ordered_context(weft_case *cases, size_t n, weft_context *ctx);

/*
 * WEFT_SELECT(s) declares s for the block, a loop of two passes: in the first
 * each WEFT_ON_* evaluates its arguments, once, and adds its case; then the
 * select is performed; in the second the body of the case that was chosen
 * runs. s.ok says whether it received a value. `break` and `continue` leave
 * the block. There are at most 16 cases, one default, timeout and cancel each;
 * anything else is fatal. Both passes must meet the same cases: to leave one
 * out give it a NULL channel. Statements of the block that are in no body run
 * in both passes.
 */
#define WEFT_SELECT(s) WEFT_SELECT_(s, false)
#define WEFT_SELECT_ORDERED(s) WEFT_SELECT_(s, true)
#define WEFT_ON_RECV(s, c, p) \
	WEFT_ON_(s, weft_select_add_(&(s), WEFT_CASE_RECV(c, p), __LINE__))
#define WEFT_ON_SEND(s, c, ...) WEFT_ON_(s, weft_select_add_(&(s), \
	WEFT_CASE_SEND(c, __VA_ARGS__), __LINE__))
#define WEFT_ON_SEND_FROM(s, c, p) WEFT_ON_(s, \
	weft_select_add_(&(s), WEFT_CASE_SEND_FROM(c, p), __LINE__))
#define WEFT_ON_DEFAULT(s) \
	WEFT_ON_(s, weft_select_add_(&(s), WEFT_CASE_DEFAULT, __LINE__))
/* At that time; 0: never. */
#define WEFT_ON_TIMEOUT(s, when) \
	WEFT_ON_(s, weft_select_add_timeout_(&(s), when, __LINE__))
/* When ctx is cancelled, or its deadline is over. */
#define WEFT_ON_CANCEL(s, ctx) \
	WEFT_ON_(s, weft_select_add_context_(&(s), ctx, __LINE__))

/* At most so many in one WEFT_SELECT; more are fatal. */
enum { WEFT_SELECT_CASES = 16 };

/* The `s` of a WEFT_SELECT. */
typedef struct weft_select_state {
	bool ok;		/* in the body of a receive: got a value */
	bool ordered_, ran_;
	uint8_t pass_, n_, at_;
	int chosen_, timeout_, cancel_;
	int64_t when_;
	weft_context *context_;
	int lines_[WEFT_SELECT_CASES];
	weft_case cases_[WEFT_SELECT_CASES];
} weft_select_state;

weft_select_state *weft_select_begin_(weft_select_state *s, bool ordered);
bool weft_select_next_(weft_select_state *s);
void weft_select_add_(weft_select_state *s, weft_case k, int line);
void weft_select_add_timeout_(weft_select_state *s, int64_t when, int line);
void weft_select_add_context_(weft_select_state *s, weft_context *ctx,
    int line);
bool weft_select_chose_(weft_select_state *s, int line);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "case.h"

#endif
