/* SPDX-License-Identifier: MIT */
/* The macros behind the channel macros of weft.h. Nothing here is for you. */
#ifndef WEFT_CASE_H
#define WEFT_CASE_H

/* The size of what p points to; -1, which is not checked, for a void *. */
#ifdef __cplusplus

namespace weft_detail {
/* NULL, which may be a number, is no pointer either. */
template<class P> struct size { static const size_t bytes = (size_t)-1; };
template<class P> struct size<P &> : size<P> {};
template<class P> struct size<P *const> : size<P *> {};
template<class T> struct size<T *> {
	static const size_t bytes = sizeof(T);
};
template<> struct size<void *> { static const size_t bytes = (size_t)-1; };
template<> struct size<const void *> : size<void *> {};
inline void *untyped(const void *p) { return const_cast<void *>(p); }

/* By value: arrays become pointers. */
template<class T> void send(weft_chan *c, T v)
{
	weft_chan_send_(c, &v, sizeof v);
}

template<class T> T recv(weft_chan *c)
{
	T v;

	weft_chan_recv_(c, &v, sizeof v);
	return v;
}
} /* namespace weft_detail */

#define WEFT_SIZE_(p) weft_detail::size<__typeof__(p)>::bytes
#define WEFT_CASE_(c, p, op) \
	(weft_case{ c, weft_detail::untyped(p), WEFT_SIZE_(p), op, false })
#define WEFT_SEND_(c, v) weft_detail::send(c, v)
#define WEFT_RECV_(c, ...) weft_detail::recv<__VA_ARGS__>(c)

#else

#define WEFT_IS_(p, type) \
	__builtin_types_compatible_p(__typeof__(p), type)
#define WEFT_VOID_(p) (WEFT_IS_(p, void *) || WEFT_IS_(p, const void *))
/* (sizeof of a void is an extension that some have a warning for.) */
#define WEFT_SIZE_(p) (WEFT_VOID_(p) ? (size_t)-1 : \
	sizeof *__builtin_choose_expr(WEFT_VOID_(p), (char *)0, p))
#define WEFT_CASE_(c, p, op) \
	((weft_case){ c, (void *)(uintptr_t)(p), WEFT_SIZE_(p), op, 0 })
/*
 * The value is in an object without a name, so that one macro can stand in
 * another's argument. (void)0 makes it what an argument is: arrays become
 * pointers, const is dropped.
 */
#define WEFT_SEND_(c, v) weft_chan_send_(c, \
	(__typeof__(((void)0, v))[1]){ v }, sizeof(__typeof__(((void)0, v))))
#define WEFT_RECV_(c, ...) __extension__ ({ *(__typeof__(__VA_ARGS__) *) \
	weft_chan_recv_at_(c, (__typeof__(__VA_ARGS__)[1]){0}, \
	    sizeof(__VA_ARGS__)); })

#endif

#endif
