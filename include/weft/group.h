/* SPDX-License-Identifier: MIT */
/*
 * Groups of goroutines, and goroutine-local storage; part of weft.h.
 */
#ifndef WEFT_GROUP_H
#define WEFT_GROUP_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- groups ------------------------------------------------------------ */

/*
 * Goroutines that belong together. Each runs a function that returns int; the
 * first result that is not 0 becomes the group's, and cancels its context. (If
 * one failure is not to end the others: a member stores its result and returns
 * 0.) A member that ends by weft_goexit has no result. The zero value is ready;
 * it must not be copied or freed while in use. Two waits at the same time are
 * fatal; when a wait has returned the result the group can be used anew.
 *
 * WEFT_GROUP(g, .limit = 4); declares one that is waited for where its scope
 * is left. (Not by weft_goexit or longjmp: do not leave it that way.)
 */
typedef struct weft_group {
	int limit WEFT_ZERO_;	/* members that run at a time; 0: no limit */
	/* of the group's context, or NULL; the group does not retain it: it
	 * lives until a wait has returned the result */
	weft_context *parent WEFT_ZERO_;
	weft_context *context_ WEFT_ZERO_;
	uint64_t state_ WEFT_ZERO_;
	uint32_t room_ WEFT_ZERO_, ended_ WEFT_ZERO_;
	int error_ WEFT_ZERO_;
} weft_group;

#define WEFT_GROUP(g, ...) \
	weft_group g __attribute__((__cleanup__(weft_group_leave_), \
	    __unused__)) = { __VA_ARGS__ }

/*
 * weft_group_go(g, fn, args...)
 *
 * A statement: starts fn(args...) as a member, as weft_go does; fn returns int.
 * Waits while `limit` members run, also if the group's context is cancelled
 * meanwhile: members have to end then. (To give up, limit them with
 * weft_sem_acquire_context instead.)
 *
 * weft_group_try_go(g, fn, args...)
 *
 * As weft_group_go, but an expression that does not wait: true if the member
 * was started, false if `limit` run or memory is refused.
 */
#define weft_group_go(g, ...) \
	WEFT_START_(__VA_ARGS__)(weft_group_, g, __VA_ARGS__)
#define weft_group_try_go(g, ...) \
	WEFT_START_(__VA_ARGS__)(weft_group_try_, g, __VA_ARGS__)

/* weft_group_go without macros: the member's id, or -errno as weft_spawn. */
int64_t weft_group_spawn(weft_group *g, int (*fn)(void *arg), void *arg);

/*
 * Waits until all members have ended and returns the group's result, which is
 * 0 if none failed. The forms with a limit return true and put the result into
 * *result (unless that is NULL), or false if members still run at `when` (0:
 * no limit), or when ctx is cancelled; then the group is as before.
 */
int weft_group_wait(weft_group *g);
bool weft_group_wait_until(weft_group *g, int *result, int64_t when);
bool weft_group_wait_context(weft_group *g, int *result, weft_context *ctx);

/*
 * The context for the members' work, a child of `parent`. It is cancelled by
 * the first result that is not 0, which is its cause, by the end of a wait, or
 * by the program; and lives until a wait has returned the result. NULL if
 * memory is refused.
 */
weft_context *weft_group_context(weft_group *g);
void weft_group_leave_(weft_group *g);

/* ---- goroutine-local storage ------------------------------------------- */

/*
 * A value of each goroutine under one key, the address of a weft_gls. When a
 * goroutine ends, each value that it has set is passed to destroy, unless that
 * is NULL.
 */
typedef struct weft_gls {
	void (*destroy)(void *value);
} weft_gls;

/* 0, -ENOMEM, -EPERM outside of a goroutine. NULL removes the value, which is
 * not destroyed. */
int weft_gls_set(weft_gls *key, void *value);
/* NULL if not set, or outside of a goroutine. */
void *weft_gls_get(weft_gls *key);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_GROUP_H */
