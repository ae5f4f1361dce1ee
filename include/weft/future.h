/* SPDX-License-Identifier: MIT */
/* Futures, and loops over ranges in parallel. Included by weft.h. */
#ifndef WEFT_FUTURE_H
#define WEFT_FUTURE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- futures ----------------------------------------------------------- */

/*
 * The result of a function that runs beside its caller until it is asked for:
 *
 *	long
 *	fib(long n)
 *	{
 *		weft_future(long) left;
 *		long right;
 *
 *		if (n < 2)
 *			return n;
 *		weft_future_go(&left, fib, n - 1);
 *		right = fib(n - 2);
 *		return weft_future_join(&left) + right;
 *	}
 *
 * weft_future(T) is a type: of a variable, an element of an array, a member of
 * a struct (each use is a type of its own: typedef it to pass pointers to it).
 * T is void, or a number or pointer of at most 8 bytes. It needs no initial
 * value. From go until join (or a cancel that returns true) it must not be
 * copied or freed: a function that starts one joins it before it returns. (In
 * C++ its destructor cancels it or waits for it, for exceptions.) One goroutine
 * or plain thread joins it, once; then it can be used anew.
 *
 * A goroutine that joins a function which has not begun calls it in place, on
 * its own stack, so a future that no idle processor has taken costs little more
 * than the call. (Not if less than half of a default stack is free there, if
 * the goroutine is pinned, in weft_preempt_off or weft_thread_hold or has
 * weft_opt.fenv, nor while a trace is recorded.) So the function has no
 * identity of its own. It may be a goroutine by itself or a part of the one
 * that joins: ids, names, weft_gls values and labels may be of either. It must
 * return: weft_goexit is fatal in it, and no exception may leave it. What it
 * defers (weft_defer) is called before the join returns; what it pins or holds
 * it must release. It may wait and lock as any goroutine does; but what its
 * joiner has locked it must not wait for. To join those first that were started
 * last is the cheapest order. After a fork the child must not join what the
 * parent has started, nor return from the function, or from a body of
 * weft_parallel_for. Once the main goroutine has returned none begins any more,
 * and a plain thread that joins one waits for ever.
 *
 * The function has half of a stack of the default size for sure, 96 KiB, as it
 * may run on what is left of the joiner's; and never more than a whole one if
 * it runs by itself, however large the stack of the one that started it is.
 */
typedef struct weft_future_base {
	void *g_;
	int64_t id_;
	void (*fn_)(void);
	weft_context *context_;
	weft_event done_;
	uint8_t kind_, cancelled_;
	uint64_t result_;
	uint64_t args_[16];
} weft_future_base;

/*
 * weft_future_go(f, fn, args...)
 * weft_future_go_context(f, ctx, fn, args...)
 *
 * Statements: start fn(args...), whose result is of f's type; arguments are as
 * in weft_go. If ctx is cancelled, or its deadline over, before fn begins, fn
 * is not called; one that has begun finds out for itself. ctx lives until the
 * join. Fatal if memory is refused, or no runtime was started.
 */
#define weft_future_go(f, ...) \
	WEFT_START_(__VA_ARGS__)(weft_future_, f, __VA_ARGS__)
#define weft_future_go_context(f, ctx, ...) \
	WEFT_START_(__VA_ARGS__)(weft_future_ctx_, (f, ctx), __VA_ARGS__)

/*
 * T weft_future_join(f)	the result; zero if fn was not called
 * int weft_future_wait(f)	0, or -ECANCELED if fn was not called; the
 *				result is in weft_future_result(f) then
 *
 * Wait until fn has returned, or call it. Fatal if f was joined already.
 */
#define weft_future_wait(f) weft_future_wait_(&(f)->base_)

/*
 * cancel: true if fn had not begun, and will not be called: then f is as
 * before it was started. False: it must be joined. By the one that would join.
 * is_done: fn has returned on another goroutine; a join does not wait. (False
 * does not mean that it would: it may call fn in place.)
 */
#define weft_future_cancel(f) weft_future_cancel_(&(f)->base_)
#define weft_future_is_done(f) weft_event_is_set(&(f)->base_.done_)

int weft_future_wait_(weft_future_base *f);
bool weft_future_cancel_(weft_future_base *f);

/* ---- ranges ------------------------------------------------------------ */

/*
 * Calls body(lo, hi, arg) for parts of begin..end that together make up the
 * whole, each index once, on as many processors as are idle, and returns when
 * all have returned. The order is not defined. A part is given away only when
 * a processor has nothing to do, so there is no grain to choose: indices that
 * take little are called in parts of some ten microseconds. (How many make a
 * part is learnt from those before them, and is at most an eighth of what is
 * left: where cheap indices are followed by expensive ones, some of these may
 * be called together.)
 *
 * body may wait, lock, spawn, and call these functions itself, under the rules
 * for the function of a future. There is no way to stop in the middle: a body
 * that looks at a context can return at once for the parts that remain.
 * Outside of a goroutine body is called once, with the whole range.
 */
void weft_parallel_for(size_t begin, size_t end,
    void (*body)(size_t lo, size_t hi, void *arg), void *arg);

/*
 * weft_parallel_reduce is weft_parallel_for with a result, `bytes` long: *into
 * must hold the neutral element (0 of a sum), with an alignment of at most 16.
 * body adds the indices of its part to what into points to, which holds the
 * neutral element or the result of the part before; join adds *from, a part
 * that follows, to *into. The order of the parts is kept: the operation need
 * not be commutative, only associative. 0; -EINVAL if bytes is 0, -ENOMEM if
 * memory is refused: then nothing was called.
 */
int weft_parallel_reduce(size_t begin, size_t end, void *into, size_t bytes,
    void (*body)(size_t lo, size_t hi, void *into, void *arg),
    void (*join)(void *into, const void *from, void *arg), void *arg);

#ifdef __cplusplus
} /* extern "C" */

namespace weft_detail {

/* An exception between go and join: the function must not outlive f, and need
 * not begin any more. */
template<class T> struct future {
	weft_future_base base_;

	future() { base_.g_ = nullptr; }
	~future()
	{
		if (base_.g_ && !weft_future_cancel_(&base_))
			weft_future_wait_(&base_);
	}
	future(const future &) = delete;
	future &operator=(const future &) = delete;
};

template<class T> struct future_result {
	static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T) &&
	    !__is_class(T) && !__is_union(T) &&
	    __builtin_classify_type(T()) > 0 &&
	    __builtin_classify_type(T()) <= 8, "weft_future: void, a "
	    "number or a pointer of at most 8 bytes");
	static T
	get(const weft_future_base *f)
	{
		T value;

		__builtin_memcpy(&value, &f->result_, sizeof value);
		return value;
	}
};
template<> struct future_result<__complex__ float>;	/* refused */
template<> struct future_result<void> {
	static void get(const weft_future_base *) {}
};

template<class T> T
result_of(const future<T> *f)
{
	return future_result<T>::get(&f->base_);
}

template<class T> T
join(future<T> *f)
{
	weft_future_wait_(&f->base_);
	return result_of(f);
}

} /* namespace weft_detail */

#define weft_future(T) weft_detail::future<T>
#define weft_future_join(f) weft_detail::join(f)
#define weft_future_result(f) weft_detail::result_of(f)

#else /* C */

#define weft_future(T)							\
	struct {							\
		weft_future_base base_;					\
		__extension__ __typeof__(T) *type_[0];			\
	}

/* A pointer to T, or to a char if T is void: *(void *) does not compile. */
#define WEFT_NO_VOID_(T)						\
	__builtin_choose_expr(__builtin_types_compatible_p(T, void),	\
	    (char *)0, (T *)0)
#define weft_future_result(f) __extension__ ({				\
	__auto_type weft_r_ = (f);					\
	typedef __typeof__(*weft_r_->type_[0]) weft_T_;			\
	__typeof__(*WEFT_NO_VOID_(weft_T_)) weft_v_;			\
	__builtin_memcpy(&weft_v_, &weft_r_->base_.result_,		\
	    sizeof weft_v_);						\
	__builtin_choose_expr(						\
	    __builtin_types_compatible_p(weft_T_, void), (void)0,	\
	    weft_v_); })
#define weft_future_join(f) __extension__ ({				\
	__auto_type weft_j_ = (f);					\
	(void)weft_future_wait_(&weft_j_->base_);			\
	weft_future_result(weft_j_); })

#endif /* C */

#endif
