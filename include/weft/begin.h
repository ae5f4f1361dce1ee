/* SPDX-License-Identifier: MIT */
/* Goroutines that begin later. Included by weft.h. */
#ifndef WEFT_BEGIN_H
#define WEFT_BEGIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- goroutines that begin at a time ----------------------------------- */

/*
 * weft_go_after(ns, fn, args...)
 * weft_go_after_opt(opt, ns, fn, args...)
 * weft_go_at(when, fn, args...)
 * weft_go_at_opt(opt, when, fn, args...)
 *
 * As weft_try_go, with its results, but the goroutine begins in ns, or at a
 * time, as if it slept first: until then it has no stack, and costs some 280
 * bytes. A time that has passed, and 0 is such a time here, begins it at once;
 * WEFT_NEVER never does. It cannot be stopped (see weft_after_func). It is
 * fatal if memory for the list of times is refused.
 */
#define weft_go_after(ns, ...) \
	weft_go_after_opt(WEFT_NO_OPT_, ns, __VA_ARGS__)
#define weft_go_after_opt(opt, ns, ...) \
	weft_go_at_opt(opt, weft_deadline(ns), __VA_ARGS__)
#define weft_go_at(when, ...) \
	weft_go_at_opt(WEFT_NO_OPT_, when, __VA_ARGS__)
#define weft_go_at_opt(opt, when, ...) \
	weft_try_go_opt(weft_opt_at_(opt, when), __VA_ARGS__)

/* ---- goroutines that begin with a receive ------------------------------ */

/*
 * weft_go_recv(c, p, ok, fn, args...)
 * weft_go_recv_opt(opt, c, p, ok, fn, args...)
 *
 * As weft_try_go, with its results, but the goroutine first receives from c,
 * *ok = weft_recv_ok(c, p), and begins with fn(args...) when that returns:
 * until then it has no stack, and costs some 420 bytes. It is a receiver of c
 * from now on, in the order of arrival among all others; so the value that it
 * receives, or that the channel is closed, is its own and is not lost to
 * another. What p and ok point to must live until it begins; both may be NULL.
 * If c is NULL it never begins. The last release of c is fatal meanwhile.
 *
 *	struct session { weft_chan *in; struct message m; bool ok; };
 *
 *	static void serve(struct session *s)
 *	{
 *		while (s->ok) {
 *			handle(s, &s->m);
 *			if (!weft_try_recv(s->in, &s->m)) {
 *				weft_go_recv(s->in, &s->m, &s->ok, serve, s);
 *				return;
 *			}
 *		}
 *	}
 */
#define weft_go_recv(c, p, ok, ...) \
	weft_go_recv_opt(WEFT_NO_OPT_, c, p, ok, __VA_ARGS__)
#define weft_go_recv_opt(opt, c, p, ok, ...)				\
	WEFT_START_(__VA_ARGS__)(weft_recv_,				\
	    weft_recv_make_(opt, c, WEFT_ROOM_(p), ok, WEFT_TYPE_AT_(p)),\
	    __VA_ARGS__)

/* ---- nothing from here on is for programs to use ----------------------- */

typedef struct weft_recv_ {
	weft_chan *chan;
	void *elem;
	bool *ok;
	uint32_t type, unused;
	weft_opt opt;
} weft_recv_;

int weft_go_recv_begin_(const weft_recv_ *to, size_t opt_bytes,
    const weft_site *site, void (*fn)(void), int kind);

static inline weft_opt
weft_opt_at_(weft_opt opt, int64_t when)
{
	opt.at_ = when > 0 ? when : 1;
	return opt;
}

static inline weft_recv_
weft_recv_make_(weft_opt opt, weft_chan *c, void *p, bool *ok, uint32_t type)
{
	weft_recv_ r = { c, p, ok, type, 0, opt };

	return r;
}

#define WEFT_NAME_weft_recv_ "weft_go_recv"

#ifdef __cplusplus
} /* extern "C" */

namespace weft_detail {

struct verb_recv {
	static const bool wants_int = false;
	const weft_recv_ *to;

	template<class C> int64_t
	go(const weft_site *site, any_fn fn, C capture) const
	{
		int err = weft_go_recv_begin_(to, sizeof to->opt, site, fn, 2);
		if (err)
			return err;
		capture();
		return weft_go_end_();
	}
};

} /* namespace weft_detail */

#define WEFT_NO_OPT_ weft_opt()
#define WEFT_VERB_weft_recv_(o) weft_detail::verb_recv{ &weft_o_ }
#define WEFT_KEEP_weft_recv_(o) const weft_recv_ weft_o_ = (o);

#else

#define WEFT_NO_OPT_ ((weft_opt){0})
#define WEFT_KEEP_weft_recv_(o) weft_recv_ weft_o_ = (o);
#define WEFT_RESULT_weft_recv_(f)
#define WEFT_DO_weft_recv_(capture)					\
	int64_t weft_r_ = weft_go_recv_begin_(&weft_o_,			\
	    sizeof weft_o_.opt, WEFT_WHAT_);				\
	if (weft_r_ == 0) {						\
		capture							\
		weft_r_ = weft_go_end_();				\
	}								\
	WEFT_POP_							\
	weft_r_;

#endif

#endif
