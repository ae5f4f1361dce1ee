/* SPDX-License-Identifier: MIT */
/*
 * The macros behind weft_go and its relatives; included by weft.h. Nothing
 * here is for programs to use.
 *
 * The compiler itself passes the arguments: a capture function is called as
 * if it were fn and stores the argument registers in the record of the new
 * goroutine, which later calls fn with them. So types are checked and
 * converted as in a plain call, by any compiler, at any optimisation level.
 *
 * Every call is three: one that begins (and may refuse), the capture, and
 * weft_go_end_, which queues the goroutine. Between the first and the last
 * the caller is inside the runtime and evaluates nothing of the user's.
 */
#ifndef WEFT_GO_H
#define WEFT_GO_H

#ifdef __cplusplus
extern "C" {
#endif

/* Where a goroutine was spawned, for dumps; line 0: it is not known. */
typedef struct weft_site {
	const char *fn, *file;
	int line;
} weft_site;

void weft_go_begin_(const weft_opt *opt, size_t opt_bytes,
    const weft_site *site, void (*fn)(void), int kind);
int weft_try_go_begin_(const weft_opt *opt, size_t opt_bytes,
    const weft_site *site, void (*fn)(void), int kind);
void weft_group_go_begin_(weft_group *g, const weft_site *site,
    void (*fn)(void), int kind);
bool weft_group_try_go_begin_(weft_group *g, const weft_site *site,
    void (*fn)(void), int kind);
void weft_waitgroup_go_begin_(weft_waitgroup *wg, const weft_site *site,
    void (*fn)(void), int kind);
void weft_future_go_begin_(weft_future_base *f, weft_context *ctx,
    const weft_site *site, void (*fn)(void), int kind);
void weft_future_go_end_(void);
int64_t weft_go_end_(void);

/* Kind 1: at most 2 arguments, integers or pointers. Kind 2: anything. */
void weft_go_capture2_(void);
void weft_go_capture_(void);

/*
 * WEFT_START_(fn, args...)(verb, object, fn, args...): the macro for that
 * number of arguments. The verb names the calls that begin; the object is the
 * options, the group or the waitgroup. (Few levels of macros: each is three
 * lines of every message that a compiler has about the user's call.)
 */
#define WEFT_START_(...)						\
	WEFT_PICK_(__VA_ARGS__, WEFT_GO_9, WEFT_GO_9, WEFT_GO_9,	\
	    WEFT_GO_9, WEFT_GO_9, WEFT_GO_9, WEFT_GO_9, WEFT_GO_9,	\
	    WEFT_GO_8, WEFT_GO_7, WEFT_GO_6, WEFT_GO_5, WEFT_GO_4,	\
	    WEFT_GO_3, WEFT_GO_2, WEFT_GO_1, WEFT_GO_0, 0)
#define WEFT_PICK_(f, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r,	\
    n, ...) n
#define WEFT_GO_9(verb, obj, f, ...)					\
	__extension__ ({ WEFT_ASSERT_(0, WEFT_NAME_##verb "(" #f	\
	    ", ...): a goroutine has at most 8 arguments"); })

#define WEFT_NAME_weft_go_ "weft_go"
#define WEFT_NAME_weft_go_opt_ "weft_go_opt"
#define WEFT_NAME_weft_try_ "weft_try_go"
#define WEFT_NAME_weft_try_opt_ "weft_try_go_opt"
#define WEFT_NAME_weft_group_ "weft_group_go"
#define WEFT_NAME_weft_group_try_ "weft_group_try_go"
#define WEFT_NAME_weft_waitgroup_ "weft_waitgroup_go"
#define WEFT_NAME_weft_future_ "weft_future_go"
#define WEFT_NAME_weft_future_ctx_ "weft_future_go_context"

#ifdef __cplusplus
} /* extern "C" */

#define WEFT_ASSERT_ static_assert

namespace weft_detail {

template<class P> struct fits {
	static const bool value =
	    sizeof(P) <= 8 && __is_trivially_copyable(P);
};
template<class P> struct fits<P &> { static const bool value = true; };
template<class P> struct fits<P &&> { static const bool value = false; };

template<class... P> struct all_fit { static const bool value = true; };
template<class P, class... Q> struct all_fit<P, Q...> {
	static const bool value =
	    fits<P>::value && all_fit<Q...>::value;
};

/* The size of a result; void has none. */
template<class R> struct result {
	static const bool fits = sizeof(R) <= 8 && __is_trivially_copyable(R);
	static const bool is_int = false;
};
template<class R> struct result<R &> {
	static const bool fits = true, is_int = false;
};
template<> struct result<void> {
	static const bool fits = true, is_int = false;
};
template<> struct result<int> {
	static const bool fits = true, is_int = true;
};

/*
 * The verbs. `go` begins, calls capture() unless that was refused, and ends;
 * wants_int: the function must return int.
 */
typedef void (*any_fn)();

struct verb_go {
	static const bool wants_int = false;
	const weft_opt *opt;

	template<class C> void
	go(const weft_site *site, any_fn fn, C capture) const
	{
		weft_go_begin_(opt, opt ? sizeof *opt : 0, site, fn, 2);
		capture();
		weft_go_end_();
	}
};

struct verb_try {
	static const bool wants_int = false;
	const weft_opt *opt;

	template<class C> int64_t
	go(const weft_site *site, any_fn fn, C capture) const
	{
		int err = weft_try_go_begin_(opt, opt ? sizeof *opt : 0, site,
		    fn, 2);
		if (err)
			return err;
		capture();
		return weft_go_end_();
	}
};

struct verb_group {
	static const bool wants_int = true;
	weft_group *g;

	template<class C> void
	go(const weft_site *site, any_fn fn, C capture) const
	{
		weft_group_go_begin_(g, site, fn, 2);
		capture();
		weft_go_end_();
	}
};

struct verb_group_try {
	static const bool wants_int = true;
	weft_group *g;

	template<class C> bool
	go(const weft_site *site, any_fn fn, C capture) const
	{
		if (!weft_group_try_go_begin_(g, site, fn, 2))
			return false;
		capture();
		weft_go_end_();
		return true;
	}
};

struct verb_waitgroup {
	static const bool wants_int = false;
	weft_waitgroup *wg;

	template<class C> void
	go(const weft_site *site, any_fn fn, C capture) const
	{
		weft_waitgroup_go_begin_(wg, site, fn, 2);
		capture();
		weft_go_end_();
	}
};

/* Which register has a result: see WEFT_FUTURE_KIND_. */
template<class R> struct is_float {
	static const bool value = __builtin_classify_type(R()) == 8;
};
template<> struct is_float<void> { static const bool value = false; };
template<class R, class T> struct is_same { static const bool value = false; };
template<class R> struct is_same<R, R> { static const bool value = true; };

template<class T> struct verb_future {
	static const bool wants_int = false;
	future<T> *f;
	weft_context *ctx;

	template<class C> void
	go(const weft_site *site, any_fn fn, C capture) const
	{
		weft_future_go_begin_(&f->base_, ctx, site, fn,
		    2 | (is_float<T>::value ? 4 : 0));
		capture();
		weft_future_go_end_();
	}
};

template<class T> verb_future<T>
make_verb_future(future<T> *f, weft_context *ctx)
{
	return verb_future<T>{ f, ctx };
}

/* A future's type is its function's; other verbs take any. */
template<class V, class R> struct result_is {
	static const bool value = true;
};
template<class T, class R> struct result_is<verb_future<T>, R> {
	static const bool value = is_same<T, R>::value;
};

/*
 * Called with the arguments, which are converted on the way in, before
 * anything is begun.
 */
template<class V, class R, class... P> struct starter {
	V verb;
	const weft_site *site;
	R (*fn)(P...);

	auto operator()(P... p) const
	    -> decltype(verb.go(site, any_fn(), any_fn()))
	{
		static_assert(all_fit<P...>::value, "weft_go: each parameter "
		    "is a scalar, a pointer, a reference or a trivial struct "
		    "of at most 8 bytes");
		static_assert(result<R>::fits,
		    "weft_go: the function's result has more than 8 bytes");
		static_assert(!V::wants_int || result<R>::is_int,
		    "weft_group_go: the function must return int");
		static_assert(result_is<V, R>::value, "weft_future_go: the "
		    "function's result is not of the future's type");
		return verb.go(site, reinterpret_cast<any_fn>(fn), [&] {
			reinterpret_cast<R (*)(P...)>(weft_go_capture_)(
			    static_cast<P &&>(p)...);
		});
	}
};

template<class V, class R, class... P> starter<V, R, P...>
start(V verb, const weft_site *site, R (*fn)(P...))
{
	return starter<V, R, P...>{ verb, site, fn };
}

/* A lambda without captures, which is a function by its unary plus. */
template<bool> struct enable;
template<> struct enable<true> { typedef int type; };

template<class V, class F, typename enable<__is_class(F)>::type = 0> auto
start(V verb, const weft_site *site, F fn) -> decltype(start(verb, site, +fn))
{
	return start(verb, site, +fn);
}

} /* namespace weft_detail */

/* (The options are in a variable, which lives until the goroutine has them.) */
#define WEFT_VERB_weft_go_(o) weft_detail::verb_go{ NULL }
#define WEFT_VERB_weft_go_opt_(o) weft_detail::verb_go{ &weft_o_ }
#define WEFT_VERB_weft_try_(o) weft_detail::verb_try{ NULL }
#define WEFT_VERB_weft_try_opt_(o) weft_detail::verb_try{ &weft_o_ }
#define WEFT_VERB_weft_group_(o) weft_detail::verb_group{ o }
#define WEFT_VERB_weft_group_try_(o) weft_detail::verb_group_try{ o }
#define WEFT_VERB_weft_waitgroup_(o) weft_detail::verb_waitgroup{ o }
#define WEFT_VERB_weft_future_(o) weft_detail::make_verb_future(o, NULL)
#define WEFT_VERB_weft_future_ctx_(o) weft_detail::make_verb_future o
#define WEFT_KEEP_weft_future_(o)
#define WEFT_KEEP_weft_future_ctx_(o)
#define WEFT_KEEP_weft_go_(o)
#define WEFT_KEEP_weft_go_opt_(o) const weft_opt weft_o_ = (o);
#define WEFT_KEEP_weft_try_(o)
#define WEFT_KEEP_weft_try_opt_(o) const weft_opt weft_o_ = (o);
#define WEFT_KEEP_weft_group_(o)
#define WEFT_KEEP_weft_group_try_(o)
#define WEFT_KEEP_weft_waitgroup_(o)

#define WEFT_GOXX_(verb, o_, f_, ...) __extension__ ({			\
	static const weft_site weft_site_ = { #f_, __FILE__, __LINE__ };\
	WEFT_KEEP_##verb(o_)						\
	weft_detail::start(WEFT_VERB_##verb(o_), &weft_site_, f_)	\
	    (__VA_ARGS__); })
#define WEFT_GO_0 WEFT_GOXX_
#define WEFT_GO_1 WEFT_GOXX_
#define WEFT_GO_2 WEFT_GOXX_
#define WEFT_GO_3 WEFT_GOXX_
#define WEFT_GO_4 WEFT_GOXX_
#define WEFT_GO_5 WEFT_GOXX_
#define WEFT_GO_6 WEFT_GOXX_
#define WEFT_GO_7 WEFT_GOXX_
#define WEFT_GO_8 WEFT_GOXX_

#else /* C */

#define WEFT_ASSERT_ _Static_assert

/* One argument, evaluated; arrays and functions have become pointers. */
#define WEFT_ARG_(v, x)							\
	__auto_type v = (x);						\
	_Static_assert(sizeof(v) <= 8,					\
	    "weft_go: an argument has more than 8 bytes: pass a pointer");

/* A vector has no class, or one above all of these: -1 in older compilers. */
#define WEFT_INT_(v)							\
	(__builtin_classify_type(v) > 0 && __builtin_classify_type(v) <= 5)
#define WEFT_REC_(v) (__builtin_classify_type(v) >= 12)
/* False; does not compile (array of size -1) with more than 4 structs. */
#define WEFT_FEW_(n) (sizeof(char[(n) <= 4 ? 1 : -1]) == 0)

/* What the verbs evaluate first, ask of the result's type, and do. */
#define WEFT_KEEP_weft_go_(o)
#define WEFT_KEEP_weft_go_opt_(o) weft_opt weft_o_ = (o);
#define WEFT_KEEP_weft_try_(o)
#define WEFT_KEEP_weft_try_opt_(o) weft_opt weft_o_ = (o);
#define WEFT_KEEP_weft_group_(o) weft_group *weft_o_ = (o);
#define WEFT_KEEP_weft_group_try_(o) weft_group *weft_o_ = (o);
#define WEFT_KEEP_weft_waitgroup_(o) weft_waitgroup *weft_o_ = (o);
#define WEFT_KEEP_weft_future_(o) __auto_type weft_o_ = (o);
#define WEFT_KEEP_weft_future_ctx_(o) WEFT_KEEP_FUTURE_ o
#define WEFT_KEEP_FUTURE_(f, ctx)					\
	__auto_type weft_o_ = (f);					\
	weft_context *weft_ctx_ = (ctx);

#define WEFT_RESULT_weft_go_(f)
#define WEFT_RESULT_weft_go_opt_(f)
#define WEFT_RESULT_weft_try_(f)
#define WEFT_RESULT_weft_try_opt_(f)
#define WEFT_RESULT_weft_group_(f)					\
	_Static_assert(__builtin_types_compatible_p(weft_ret_, int),	\
	    "weft_group_go(" f "): the function must return int");
#define WEFT_RESULT_weft_group_try_ WEFT_RESULT_weft_group_
#define WEFT_RESULT_weft_waitgroup_(f)
/* 8: a real number; above that complex ones, structs and others. */
#define WEFT_CLASS_(T) __builtin_classify_type(*WEFT_NO_VOID_(T))
#define WEFT_RESULT_weft_future_(f)					\
	_Static_assert(__builtin_types_compatible_p(weft_ret_,		\
	    __typeof__(*weft_o_->type_[0])), "weft_future_go(" f	\
	    "): its result is not of the future's type");		\
	_Static_assert(WEFT_CLASS_(weft_ret_) > 0 &&			\
	    WEFT_CLASS_(weft_ret_) <= 8,				\
	    "weft_future_go(" f "): a result is a number or a pointer");
#define WEFT_RESULT_weft_future_ctx_ WEFT_RESULT_weft_future_
/* Bit 2: the result is in the first floating-point register. */
#define WEFT_FUTURE_KIND_						\
	&weft_site_, (void (*)(void))weft_f_, weft_kind_ |		\
	(WEFT_CLASS_(weft_ret_) == 8 ? 4 : 0)

#define WEFT_POP_ _Pragma("GCC diagnostic pop")
#define WEFT_WHAT_ &weft_site_, (void (*)(void))weft_f_, weft_kind_
#define WEFT_DO_VOID_(begin, capture)					\
	begin;								\
	capture								\
	WEFT_POP_							\
	(void)weft_go_end_();
#define WEFT_DO_TRY_(opt, bytes, capture)				\
	int64_t weft_r_ = weft_try_go_begin_(opt, bytes, WEFT_WHAT_);	\
	if (weft_r_ == 0) {						\
		capture							\
		weft_r_ = weft_go_end_();				\
	}								\
	WEFT_POP_							\
	weft_r_;
#define WEFT_DO_weft_go_(capture) \
	WEFT_DO_VOID_(weft_go_begin_(NULL, 0, WEFT_WHAT_), capture)
#define WEFT_DO_weft_go_opt_(capture)					\
	WEFT_DO_VOID_(weft_go_begin_(&weft_o_, sizeof weft_o_,		\
	    WEFT_WHAT_), capture)
#define WEFT_DO_weft_try_(capture) WEFT_DO_TRY_(NULL, 0, capture)
#define WEFT_DO_weft_try_opt_(capture) \
	WEFT_DO_TRY_(&weft_o_, sizeof weft_o_, capture)
#define WEFT_DO_weft_group_(capture) \
	WEFT_DO_VOID_(weft_group_go_begin_(weft_o_, WEFT_WHAT_), capture)
#define WEFT_DO_weft_group_try_(capture)				\
	bool weft_r_ = weft_group_try_go_begin_(weft_o_, WEFT_WHAT_);	\
	if (weft_r_) {							\
		capture							\
		(void)weft_go_end_();					\
	}								\
	WEFT_POP_							\
	weft_r_;
#define WEFT_DO_weft_waitgroup_(capture) \
	WEFT_DO_VOID_(weft_waitgroup_go_begin_(weft_o_, WEFT_WHAT_), capture)

#define WEFT_DO_FUTURE_(ctx, capture)					\
	weft_future_go_begin_(&weft_o_->base_, ctx, WEFT_FUTURE_KIND_);	\
	capture								\
	WEFT_POP_							\
	weft_future_go_end_();
#define WEFT_DO_weft_future_(capture) WEFT_DO_FUTURE_(NULL, capture)
#define WEFT_DO_weft_future_ctx_(capture) WEFT_DO_FUTURE_(weft_ctx_, capture)

/*
 * The call in weft_f_ had these warnings; once is enough. If it was an error
 * gcc does not declare weft_f_ at all, and takes it for a function.
 */
#ifdef __clang__
#define WEFT_QUIET_							\
	_Pragma("GCC diagnostic ignored \"-Wincompatible-pointer-types\"") \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")		\
	_Pragma("GCC diagnostic ignored \"-Wpointer-sign\"")
#else
#define WEFT_QUIET_							\
	_Pragma("GCC diagnostic ignored \"-Wincompatible-pointer-types\"") \
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")		\
	_Pragma("GCC diagnostic ignored \"-Wdiscarded-qualifiers\"")	\
	_Pragma("GCC diagnostic ignored \"-Wimplicit-function-declaration\"") \
	_Pragma("GCC diagnostic ignored \"-Wpointer-sign\"")
#endif

/*
 * `small`: at most two arguments, integers or pointers; `args` are the
 * user's, in brackets; `eval` evaluates them into variables; `types` are
 * theirs, in brackets; the rest is what is passed.
 *
 * If fn takes exactly these types, and only then, its type can be spelled
 * anew. That matters twice: small ones then need two registers kept, and a
 * function that never returns must be captured by one that does.
 *
 * The user's own call is written once, in weft_f_, where it is not evaluated:
 * what a compiler has to say about it, it says there, in the user's words, and
 * nowhere else. (The brackets stand in one line: gcc shows all between them
 * where the result of a statement is used.)
 */
#define WEFT_GO_DO_(...) __extension__ ({ WEFT_GO_BODY_(__VA_ARGS__) })
#define WEFT_GO_BODY_(verb, o_, f_, small, args, eval, types, ...)	\
	_Pragma("GCC diagnostic push")	/* one in another's argument */	\
	_Pragma("GCC diagnostic ignored \"-Wshadow\"")			\
	static const weft_site weft_site_ = { #f_, __FILE__, __LINE__ };\
	__auto_type weft_f_ = sizeof((f_) args) ? (f_) : 0;		\
	WEFT_QUIET_							\
	WEFT_KEEP_##verb(o_)						\
	eval								\
	typedef __typeof__(weft_f_(__VA_ARGS__)) weft_ret_;		\
	_Static_assert(sizeof(weft_ret_) <= 8,				\
	    "weft_go: the function's result has more than 8 bytes");	\
	WEFT_RESULT_##verb(#f_)						\
	typedef weft_ret_ (*weft_t_) types;				\
	typedef weft_ret_ (*weft_n_) types __attribute__((__noreturn__)); \
	enum { weft_same_ =						\
	    __builtin_types_compatible_p(__typeof__(weft_f_), weft_t_) || \
	    __builtin_types_compatible_p(__typeof__(weft_f_), weft_n_) }; \
	enum { weft_kind_ = weft_same_ && (small) ? 1 : 2 };		\
	__typeof__(__builtin_choose_expr(weft_same_, (weft_t_)0, &*weft_f_)) \
	    weft_c_ = (void *)(weft_kind_ == 1 ? weft_go_capture2_ :	\
	    weft_go_capture_);						\
	WEFT_DO_##verb(weft_c_(__VA_ARGS__);)

#define WEFT_GO_0(v, o, f) WEFT_GO_DO_(v, o, f, 1, (), , (void))
#define WEFT_GO_1(v, o, f, a)						\
	WEFT_GO_DO_(v, o, f, WEFT_INT_(weft_a_),			\
	    (a),							\
	    WEFT_ARG_(weft_a_, a),					\
	    (__typeof__(weft_a_)),					\
	    weft_a_)
#define WEFT_GO_2(v, o, f, a, b)					\
	WEFT_GO_DO_(v, o, f, WEFT_INT_(weft_a_) && WEFT_INT_(weft_b_),	\
	    (a, b),							\
	    WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b),		\
	    (__typeof__(weft_a_), __typeof__(weft_b_)),			\
	    weft_a_, weft_b_)
#define WEFT_GO_3(v, o, f, a, b, c)					\
	WEFT_GO_DO_(v, o, f, 0,						\
	    (a, b, c),							\
	    WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c),					\
	    (__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_)),					\
	    weft_a_, weft_b_, weft_x_)
#define WEFT_GO_4(v, o, f, a, b, c, d)					\
	WEFT_GO_DO_(v, o, f, 0,						\
	    (a, b, c, d),						\
	    WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d),		\
	    (__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_)),			\
	    weft_a_, weft_b_, weft_x_, weft_d_)
#define WEFT_GO_5(v, o, f, a, b, c, d, e)				\
	WEFT_GO_DO_(v, o, f, WEFT_FEW_(WEFT_REC_(weft_a_) +		\
	    WEFT_REC_(weft_b_) + WEFT_REC_(weft_x_) +			\
	    WEFT_REC_(weft_d_) + WEFT_REC_(weft_e_)),			\
	    (a, b, c, d, e),						\
	    WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e),					\
	    (__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_)),					\
	    weft_a_, weft_b_, weft_x_, weft_d_, weft_e_)
#define WEFT_GO_6(v, o, f, a, b, c, d, e, g)				\
	WEFT_GO_DO_(v, o, f, WEFT_FEW_(WEFT_REC_(weft_a_) +		\
	    WEFT_REC_(weft_b_) + WEFT_REC_(weft_x_) +			\
	    WEFT_REC_(weft_d_) + WEFT_REC_(weft_e_) +			\
	    WEFT_REC_(weft_g_)),					\
	    (a, b, c, d, e, g),						\
	    WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e) WEFT_ARG_(weft_g_, g),		\
	    (__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_), __typeof__(weft_g_)),			\
	    weft_a_, weft_b_, weft_x_, weft_d_, weft_e_, weft_g_)
#define WEFT_GO_7(v, o, f, a, b, c, d, e, g, h)				\
	WEFT_GO_DO_(v, o, f, WEFT_FEW_(WEFT_REC_(weft_a_) +		\
	    WEFT_REC_(weft_b_) + WEFT_REC_(weft_x_) +			\
	    WEFT_REC_(weft_d_) + WEFT_REC_(weft_e_) +			\
	    WEFT_REC_(weft_g_) + WEFT_REC_(weft_h_)),			\
	    (a, b, c, d, e, g, h),					\
	    WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e) WEFT_ARG_(weft_g_, g)			\
	    WEFT_ARG_(weft_h_, h),					\
	    (__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_), __typeof__(weft_g_),			\
	    __typeof__(weft_h_)),					\
	    weft_a_, weft_b_, weft_x_, weft_d_, weft_e_, weft_g_,	\
	    weft_h_)
#define WEFT_GO_8(v, o, f, a, b, c, d, e, g, h, i)			\
	WEFT_GO_DO_(v, o, f, WEFT_FEW_(WEFT_REC_(weft_a_) +		\
	    WEFT_REC_(weft_b_) + WEFT_REC_(weft_x_) +			\
	    WEFT_REC_(weft_d_) + WEFT_REC_(weft_e_) +			\
	    WEFT_REC_(weft_g_) + WEFT_REC_(weft_h_) +			\
	    WEFT_REC_(weft_i_)),					\
	    (a, b, c, d, e, g, h, i),					\
	    WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e) WEFT_ARG_(weft_g_, g)			\
	    WEFT_ARG_(weft_h_, h) WEFT_ARG_(weft_i_, i),		\
	    (__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_), __typeof__(weft_g_),			\
	    __typeof__(weft_h_), __typeof__(weft_i_)),			\
	    weft_a_, weft_b_, weft_x_, weft_d_, weft_e_, weft_g_,	\
	    weft_h_, weft_i_)

#endif /* C */

#endif
