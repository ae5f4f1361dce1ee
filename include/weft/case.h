/* SPDX-License-Identifier: MIT */
/*
 * The macros behind channel.h. Nothing here is for you.
 *
 * A type is passed to the library as one word, its size in the low 24 bits and
 * its kind above. 0 is the type of what is not checked.
 */
#ifndef WEFT_CASE_H
#define WEFT_CASE_H

#define WEFT_WORD_(bytes, kind) ((uint32_t)(kind) << 24 | \
	(uint32_t)((bytes) < 0xffffff ? (bytes) : 0xffffff))

#ifdef __CHAR_UNSIGNED__
#define WEFT_KIND_CHAR_ WEFT_KIND_UNSIGNED
#else
#define WEFT_KIND_CHAR_ WEFT_KIND_SIGNED
#endif

/* Sends the WEFT_CASE_BYTES of value_, or as many as the type has. */
enum { WEFT_OP_VALUE_ = WEFT_OP_SEND | 4 };

#define WEFT_SELECT_(s, ordered)					\
	for (weft_select_state s,					\
	    *s##_weft_ = weft_select_begin_(&s, ordered);		\
	    weft_select_next_(s##_weft_);)
#define WEFT_ON_(s, add) if ((s).pass_ == 1 ? (add, false) : \
	    weft_select_chose_(&(s), __LINE__))

#ifdef __cplusplus

namespace weft_detail {

template<class T, bool is_enum = __is_enum(T)> struct kind {
	static const uint32_t value = WEFT_KIND_OTHER;
};
template<class T> struct kind<T, true> : kind<__underlying_type(T), false> {};
template<class T> struct kind<const T, false> : kind<T, false> {};
template<class T> struct kind<volatile T, false> : kind<T, false> {};
template<class T> struct kind<const volatile T, false> : kind<T, false> {};
#define WEFT_HAS_KIND_(T, k) template<> struct kind<T, false> { \
	static const uint32_t value = k; }
WEFT_HAS_KIND_(bool, WEFT_KIND_BOOL);
WEFT_HAS_KIND_(char, WEFT_KIND_CHAR_);
WEFT_HAS_KIND_(signed char, WEFT_KIND_SIGNED);
WEFT_HAS_KIND_(short, WEFT_KIND_SIGNED);
WEFT_HAS_KIND_(int, WEFT_KIND_SIGNED);
WEFT_HAS_KIND_(long, WEFT_KIND_SIGNED);
WEFT_HAS_KIND_(long long, WEFT_KIND_SIGNED);
WEFT_HAS_KIND_(unsigned char, WEFT_KIND_UNSIGNED);
WEFT_HAS_KIND_(unsigned short, WEFT_KIND_UNSIGNED);
WEFT_HAS_KIND_(unsigned, WEFT_KIND_UNSIGNED);
WEFT_HAS_KIND_(unsigned long, WEFT_KIND_UNSIGNED);
WEFT_HAS_KIND_(unsigned long long, WEFT_KIND_UNSIGNED);
WEFT_HAS_KIND_(float, WEFT_KIND_FLOAT);
WEFT_HAS_KIND_(double, WEFT_KIND_FLOAT);
WEFT_HAS_KIND_(long double, WEFT_KIND_FLOAT);
#undef WEFT_HAS_KIND_

template<class T> struct type {
	static_assert(__is_trivially_copyable(T),
	    "weft: elements of a channel are copied as bytes");
	static const uint32_t word = WEFT_WORD_(sizeof(T), kind<T>::value);
};

template<> struct type<void> { static const uint32_t word = 0; };
template<> struct type<const void> : type<void> {};

/* Not defined: only for decltype. NULL may be an integer constant. */
template<class T> type<T> type_at(T *);
type<void> type_at(const volatile void *);
inline void *room(void *p) { return p; }
inline void *unconst(const void *p) { return const_cast<void *>(p); }

/* By value: arrays become pointers. */
template<class T> void send(weft_chan *c, T v)
{
	weft_chan_send_(c, &v, type<T>::word);
}
template<class T> bool try_send(weft_chan *c, T v)
{
	return weft_chan_try_send_(c, &v, type<T>::word);
}
template<class T> bool send_until(weft_chan *c, T v, int64_t when)
{
	return weft_chan_send_until_(c, &v, type<T>::word, when);
}
template<class T> bool send_context(weft_chan *c, T v, weft_context *ctx)
{
	return weft_chan_send_context_(c, &v, type<T>::word, ctx);
}

template<class T> T recv(weft_chan *c)
{
	T v;

	weft_chan_recv_(c, &v, type<T>::word);
	return v;
}

inline weft_case
make_case(weft_chan *c, void *elem, uint32_t type, int op)
{
	return weft_case{ c, elem, { 0, 0 }, type, (uint8_t)op, false };
}

template<class T> weft_case case_value(weft_chan *c, T v)
{
	static_assert(sizeof v <= WEFT_CASE_BYTES, "weft: a value of more than "
	    "16 bytes does not fit a case: use WEFT_CASE_SEND_FROM");
	weft_case k = make_case(c, nullptr, type<T>::word, WEFT_OP_VALUE_);

	__builtin_memcpy(k.value_, &v, sizeof v);
	return k;
}
} /* namespace weft_detail */

#define WEFT_KIND_OF_(T) (int)weft_detail::kind<T>::value
#define WEFT_TYPE_AT_(p) (decltype(weft_detail::type_at(p))::word)
#define WEFT_ROOM_(p) weft_detail::room(p)
#define WEFT_SEND_(c, v) weft_detail::send(c, v)
#define WEFT_TRY_SEND_(c, v) weft_detail::try_send(c, v)
#define WEFT_SEND_UNTIL_(c, v, when) weft_detail::send_until(c, v, when)
#define WEFT_SEND_CONTEXT_(c, v, ctx) weft_detail::send_context(c, v, ctx)
#define WEFT_RECV_(c, ...) weft_detail::recv<__VA_ARGS__>(c)
#define WEFT_CASE_(c, elem, type, op) \
	weft_detail::make_case(c, elem, type, op)
#define WEFT_CASE_VALUE_(c, v) weft_detail::case_value(c, v)
#define WEFT_CASE_FROM_(c, p) WEFT_CASE_(c, weft_detail::unconst(p), \
	WEFT_TYPE_AT_(p), WEFT_OP_SEND)

#else

#define WEFT_KIND_(x) _Generic((x), _Bool: WEFT_KIND_BOOL,		\
	char: WEFT_KIND_CHAR_, signed char: WEFT_KIND_SIGNED,		\
	short: WEFT_KIND_SIGNED, int: WEFT_KIND_SIGNED,			\
	long: WEFT_KIND_SIGNED, long long: WEFT_KIND_SIGNED,		\
	unsigned char: WEFT_KIND_UNSIGNED,				\
	unsigned short: WEFT_KIND_UNSIGNED,				\
	unsigned: WEFT_KIND_UNSIGNED, unsigned long: WEFT_KIND_UNSIGNED,\
	unsigned long long: WEFT_KIND_UNSIGNED,				\
	float: WEFT_KIND_FLOAT, double: WEFT_KIND_FLOAT,		\
	long double: WEFT_KIND_FLOAT, default: WEFT_KIND_OTHER)
#define WEFT_KIND_OF_(T) WEFT_KIND_(*(__typeof__(T) *)0)

/* What p points to. (A void has a size only as an extension.) */
#define WEFT_IS_(p, type) \
	__builtin_types_compatible_p(__typeof__(p), type)
#define WEFT_VOID_(p) (WEFT_IS_(p, void *) || WEFT_IS_(p, const void *))
#define WEFT_POINTER_(p) (__builtin_classify_type(p) == 5)
#define WEFT_AT_(p) (*__builtin_choose_expr(WEFT_VOID_(p) || \
	!WEFT_POINTER_(p), (char *)0, p))
#define WEFT_TYPE_AT_(p) (WEFT_VOID_(p) ? 0 : \
	WEFT_WORD_(sizeof WEFT_AT_(p), WEFT_KIND_(WEFT_AT_(p))))
/* (One message for a p that is no pointer, since what follows compiles.) */
#define WEFT_ROOM_(p) (sizeof(struct { _Static_assert(WEFT_POINTER_(p), \
	"weft: a value is received through a pointer: pass &v"); \
	char unused_; }) ? \
	__builtin_choose_expr(WEFT_POINTER_(p), p, (void *)0) : 0)

/*
 * The type of a value as an argument: (void)0 makes arrays pointers, and drops
 * const. The value is in an object without a name, so that one macro can stand
 * in another's argument.
 */
#define WEFT_T_(v) __typeof__(((void)0, v))
#define WEFT_VALUE_(v) (WEFT_T_(v)[1]){ v }, \
	WEFT_WORD_(sizeof(WEFT_T_(v)), WEFT_KIND_OF_(WEFT_T_(v)))
#define WEFT_SEND_(c, v) weft_chan_send_(c, WEFT_VALUE_(v))
#define WEFT_TRY_SEND_(c, v) weft_chan_try_send_(c, WEFT_VALUE_(v))
#define WEFT_SEND_UNTIL_(c, v, when) \
	weft_chan_send_until_(c, WEFT_VALUE_(v), when)
#define WEFT_SEND_CONTEXT_(c, v, ctx) \
	weft_chan_send_context_(c, WEFT_VALUE_(v), ctx)
#define WEFT_RECV_(c, ...) __extension__ ({ *(__typeof__(__VA_ARGS__) *) \
	weft_chan_recv_at_(c, (__typeof__(__VA_ARGS__)[1]){0}, \
	    WEFT_WORD_(sizeof(__VA_ARGS__), WEFT_KIND_OF_(__VA_ARGS__))); })

#define WEFT_CASE_(c, elem, type, op) \
	((weft_case){ c, elem, {0}, type, op, false })
#define WEFT_CASE_FROM_(c, p) WEFT_CASE_(c, weft_unconst_(p), \
	WEFT_TYPE_AT_(p), WEFT_OP_SEND)
#define WEFT_CASE_VALUE_(c, v) \
	weft_case_value_(c, WEFT_VALUE_(v), sizeof(struct { _Static_assert( \
	    sizeof(WEFT_T_(v)) <= WEFT_CASE_BYTES, "weft: a value of more " \
	    "than 16 bytes does not fit a case: use WEFT_CASE_SEND_FROM"); \
	    char unused_; }))

/* Nothing is read there yet: gcc may warn of a variable that has no value. */
#if defined(__has_attribute)
#if __has_attribute(__access__)
__attribute__((__access__(__none__, 1)))
#endif
#endif
static inline void *
weft_unconst_(const void *p)
{
	return (void *)(uintptr_t)p;
}

static inline weft_case
weft_case_value_(weft_chan *c, const void *v, uint32_t type, size_t unused)
{
	weft_case k = { c, NULL, {0}, type, WEFT_OP_VALUE_, false };

	(void)unused;
	__builtin_memcpy(k.value_, v, type & 0xffffff);
	return k;
}

#endif

#endif
