/* SPDX-License-Identifier: MIT */
/*
 * How weft_go works. Included by weft.h, and nothing here is for you.
 *
 * The compiler itself passes the arguments: a capture function is called as
 * if it were fn, keeps the argument registers in the new goroutine, and the
 * goroutine later calls fn with them. So types are checked and converted as
 * in a plain call, with any compiler, at any optimisation level.
 */
#ifndef WEFT_GO_H
#define WEFT_GO_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_site {
	const char *fn, *file;
	int line;
} weft_site;

int weft_go_begin_(const weft_opt *opt, const weft_site *site,
    void (*fn)(void), int kind);
int64_t weft_go_end_(void);

/* Kind 1: at most 2 arguments, integers or pointers. Kind 2: anything. */
void weft_go_capture2_(void);
void weft_go_capture_(void);

#define WEFT_CAT_(a, b) WEFT_CAT2_(a, b)
#define WEFT_CAT2_(a, b) a##b
/* Number of arguments after fn. */
#define WEFT_COUNT_(...) \
	WEFT_COUNT2_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define WEFT_COUNT2_(f, a, b, c, d, e, g, h, i, n, ...) n

#ifdef __cplusplus
} /* extern "C" */

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
};
template<class R> struct result<R &> { static const bool fits = true; };
template<> struct result<void> { static const bool fits = true; };

/*
 * Called with the arguments, which are converted on the way in, before
 * anything is begun.
 */
template<class R, class... P> struct starter {
	const weft_opt &opt;
	const weft_site *site;
	R (*fn)(P...);

	int64_t operator()(P... p) const
	{
		static_assert(all_fit<P...>::value, "weft_go: each parameter "
		    "is a scalar, a pointer, a reference or a trivial struct "
		    "of at most 8 bytes");
		static_assert(result<R>::fits,
		    "weft_go: the function's result has more than 8 bytes");
		int err = weft_go_begin_(&opt, site,
		    reinterpret_cast<void (*)()>(fn), 2);
		if (err)
			return err;
		reinterpret_cast<R (*)(P...)>(weft_go_capture_)(
		    static_cast<P &&>(p)...);
		return weft_go_end_();
	}
};

template<class R, class... P> starter<R, P...>
start(const weft_opt &opt, const weft_site *site, R (*fn)(P...))
{
	return starter<R, P...>{ opt, site, fn };
}

} /* namespace weft_detail */

#define WEFT_GOXX_(opt_, f_, ...) __extension__ ({			\
	static const weft_site weft_site_ = { #f_, __FILE__, __LINE__ };\
	weft_detail::start(opt_, &weft_site_, f_)(__VA_ARGS__); })
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

/* One argument, evaluated; arrays and functions have become pointers. */
#define WEFT_ARG_(v, x)							\
	__auto_type v = (x);						\
	_Static_assert(sizeof(v) <= 8,					\
	    "weft_go: an argument has more than 8 bytes: pass a pointer");

/*
 * `small`: at most two arguments, integers or pointers; `eval` evaluates the
 * arguments; `types` are theirs, in brackets; the rest is what is passed.
 *
 * If fn takes exactly these types, and only then, its type can be spelled
 * anew. That matters twice: small ones then need two registers kept, and a
 * function that never returns must be captured by one that does.
 */
#define WEFT_INT_(v) (__builtin_classify_type(v) <= 5)
#define WEFT_REC_(v) (__builtin_classify_type(v) >= 12)
/* False; does not compile (array of size -1) with more than 4 structs. */
#define WEFT_FEW_(n) (sizeof(char[(n) <= 4 ? 1 : -1]) == 0)
#define WEFT_GO_DO_(opt_, f_, small, eval, types, ...) __extension__ ({	\
	_Pragma("GCC diagnostic push")	/* one in another's argument */	\
	_Pragma("GCC diagnostic ignored \"-Wshadow\"")			\
	static const weft_site weft_site_ = { #f_, __FILE__, __LINE__ };\
	__auto_type weft_f_ = (f_);					\
	weft_opt weft_o_ = (opt_);					\
	int64_t weft_r_;						\
	eval								\
	_Static_assert(sizeof(__typeof__(weft_f_(__VA_ARGS__))) <= 8,	\
	    "weft_go: the function's result has more than 8 bytes");	\
	typedef __typeof__(weft_f_(__VA_ARGS__)) (*weft_t_) types;	\
	typedef __typeof__(weft_f_(__VA_ARGS__)) (*weft_n_) types	\
	    __attribute__((__noreturn__));				\
	enum { weft_same_ =						\
	    __builtin_types_compatible_p(__typeof__(weft_f_), weft_t_) || \
	    __builtin_types_compatible_p(__typeof__(weft_f_), weft_n_) }; \
	enum { weft_kind_ = weft_same_ && (small) ? 1 : 2 };		\
	weft_r_ = weft_go_begin_(&weft_o_, &weft_site_,			\
	    (void (*)(void))weft_f_, weft_kind_);			\
	if (weft_r_ == 0) {						\
		__typeof__(__builtin_choose_expr(weft_same_,		\
		    (weft_t_)0, weft_f_)) weft_c_ = (void *)		\
		    (weft_kind_ == 1 ? weft_go_capture2_ :		\
		    weft_go_capture_);					\
		weft_c_(__VA_ARGS__);					\
		weft_r_ = weft_go_end_();				\
	}								\
	_Pragma("GCC diagnostic pop")					\
	weft_r_; })

#define WEFT_GO_0(o, f) WEFT_GO_DO_(o, f, 1, , (void))
#define WEFT_GO_1(o, f, a) WEFT_GO_DO_(o, f,				\
	WEFT_INT_(weft_a_),						\
	WEFT_ARG_(weft_a_, a),						\
	(__typeof__(weft_a_)),						\
	weft_a_)
#define WEFT_GO_2(o, f, a, b) WEFT_GO_DO_(o, f,				\
	WEFT_INT_(weft_a_) && WEFT_INT_(weft_b_),			\
	WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b),			\
	(__typeof__(weft_a_), __typeof__(weft_b_)),			\
	weft_a_, weft_b_)
#define WEFT_GO_3(o, f, a, b, c) WEFT_GO_DO_(o, f, 0,			\
	WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c),					\
	(__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_)),					\
	weft_a_, weft_b_, weft_x_)
#define WEFT_GO_4(o, f, a, b, c, d) WEFT_GO_DO_(o, f, 0,		\
	WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d),		\
	(__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_)),			\
	weft_a_, weft_b_, weft_x_, weft_d_)
#define WEFT_GO_5(o, f, a, b, c, d, e) WEFT_GO_DO_(o, f,		\
	WEFT_FEW_(WEFT_REC_(weft_a_) + WEFT_REC_(weft_b_) +		\
	    WEFT_REC_(weft_x_) + WEFT_REC_(weft_d_) +			\
	    WEFT_REC_(weft_e_)),					\
	WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e),					\
	(__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_)),					\
	weft_a_, weft_b_, weft_x_, weft_d_, weft_e_)
#define WEFT_GO_6(o, f, a, b, c, d, e, g) WEFT_GO_DO_(o, f,		\
	WEFT_FEW_(WEFT_REC_(weft_a_) + WEFT_REC_(weft_b_) +		\
	    WEFT_REC_(weft_x_) + WEFT_REC_(weft_d_) +			\
	    WEFT_REC_(weft_e_) + WEFT_REC_(weft_g_)),			\
	WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e) WEFT_ARG_(weft_g_, g),		\
	(__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_), __typeof__(weft_g_)),			\
	weft_a_, weft_b_, weft_x_, weft_d_, weft_e_, weft_g_)
#define WEFT_GO_7(o, f, a, b, c, d, e, g, h) WEFT_GO_DO_(o, f,		\
	WEFT_FEW_(WEFT_REC_(weft_a_) + WEFT_REC_(weft_b_) +		\
	    WEFT_REC_(weft_x_) + WEFT_REC_(weft_d_) +			\
	    WEFT_REC_(weft_e_) + WEFT_REC_(weft_g_) +			\
	    WEFT_REC_(weft_h_)),					\
	WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e) WEFT_ARG_(weft_g_, g)			\
	    WEFT_ARG_(weft_h_, h),					\
	(__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_), __typeof__(weft_g_),			\
	    __typeof__(weft_h_)),					\
	weft_a_, weft_b_, weft_x_, weft_d_, weft_e_, weft_g_, weft_h_)
#define WEFT_GO_8(o, f, a, b, c, d, e, g, h, i) WEFT_GO_DO_(o, f,	\
	WEFT_FEW_(WEFT_REC_(weft_a_) + WEFT_REC_(weft_b_) +		\
	    WEFT_REC_(weft_x_) + WEFT_REC_(weft_d_) +			\
	    WEFT_REC_(weft_e_) + WEFT_REC_(weft_g_) +			\
	    WEFT_REC_(weft_h_) + WEFT_REC_(weft_i_)),			\
	WEFT_ARG_(weft_a_, a) WEFT_ARG_(weft_b_, b)			\
	    WEFT_ARG_(weft_x_, c) WEFT_ARG_(weft_d_, d)			\
	    WEFT_ARG_(weft_e_, e) WEFT_ARG_(weft_g_, g)			\
	    WEFT_ARG_(weft_h_, h) WEFT_ARG_(weft_i_, i),		\
	(__typeof__(weft_a_), __typeof__(weft_b_),			\
	    __typeof__(weft_x_), __typeof__(weft_d_),			\
	    __typeof__(weft_e_), __typeof__(weft_g_),			\
	    __typeof__(weft_h_), __typeof__(weft_i_)),			\
	weft_a_, weft_b_, weft_x_, weft_d_, weft_e_, weft_g_, weft_h_,	\
	    weft_i_)

#endif /* C */

#endif
