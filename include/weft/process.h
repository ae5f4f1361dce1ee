/* SPDX-License-Identifier: MIT */
/*
 * Signals and child processes; part of weft.h.
 */
#ifndef WEFT_PROCESS_H
#define WEFT_PROCESS_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- signals as channels ----------------------------------------------- */

/*
 * From now on the process' signal `sig` arrives as an int on channel c, and has
 * no other effect. Several channels may have the same signal: each gets it. If
 * one is full it misses that one: make it with room. A channel may have many
 * signals. As always several of one number, also of the real-time ones, may
 * arrive as one, and one that all threads block does not arrive.
 *
 * 0, -EINVAL (no such signal, SIGKILL, SIGSTOP, those that a fault raises, the
 * one that preempts, or elements that are no int), -EPERM if no runtime is
 * running, -ENOMEM, -EMFILE.
 *
 * stop: the channel gets sig no more (0: none at all); what arrived before is
 * in it, if there was room. When nobody wants a signal, what it did before is
 * restored; so it is in the child of a fork, and when the runtime has ended. 0,
 * also if the channel did not have it; -EINVAL, -EPERM.
 *
 * The channel is retained meanwhile; do not close it before stop. While any
 * signal is wanted a goroutine waits for it, and a deadlock is not reported.
 */
int weft_signal_notify(weft_chan *c, int sig);
int weft_signal_stop(weft_chan *c, int sig);

/* ---- child processes --------------------------------------------------- */

/* What becomes of a standard descriptor of a child. */
enum {
	WEFT_FD_INHERIT = -1,	/* ours */
	WEFT_FD_NULL = -2,	/* /dev/null */
	WEFT_FD_PIPE = -3,	/* a pipe to us: weft_process.in, out, err */
	WEFT_FD_OUT = -4	/* for err: where out goes */
};

/* Options of a child; zero means default. */
typedef struct weft_process_opt {
	/* one of the above, or a descriptor, which is left open here; 0, which
	 * is what is left out, is WEFT_FD_INHERIT for each */
	int in WEFT_ZERO_, out WEFT_ZERO_, err WEFT_ZERO_;
	const char *directory WEFT_ZERO_;	/* NULL: ours */
	char *const *environment WEFT_ZERO_;	/* NULL: ours */
	bool group WEFT_ZERO_;	/* a process group of its own */
} weft_process_opt;

/*
 * A child, and our ends of its pipes (else -1), which do not block and are ours
 * to close; wait does not. It must be waited for, and not be copied before.
 */
typedef struct weft_process {
	pid_t pid;
	int in, out, err;
	int pidfd_;
	int status_;
	int state_;
	weft_mutex mutex_;
} weft_process;

/*
 * Starts argv[0], looked up in our PATH if it has no slash, else from the
 * child's directory. The child has an empty signal mask, default actions also
 * for what we ignore, and no descriptors but its standard ones and those
 * without FD_CLOEXEC. 0, or why it could not be executed (-ENOENT, -EACCES,
 * -ENOEXEC, -E2BIG, -ENOTDIR for the directory ...) or made (-EAGAIN, -EMFILE,
 * -EBADF, -EINVAL ...): then there is no child. opt may be NULL.
 */
int weft_process_start(weft_process *p, char *const argv[],
    const weft_process_opt *opt);

/*
 * Waits for its end, which releases it: 0 and its status as waitpid(2) has it
 * (WIFEXITED ...); -ETIMEDOUT at `when`; -ECHILD if another one waited for it,
 * or SIGCHLD is ignored. Status may be NULL. Asked again it gives the same
 * answer. One goroutine at a time. (Where there is no pidfd_open(2), Linux
 * before 5.3, wait blocks a thread, and wait_until sees the end up to 10 ms
 * late.)
 */
int weft_process_wait(weft_process *p, int *status);
int weft_process_wait_until(weft_process *p, int *status, int64_t when);
/*
 * 0, also if it has ended, as long as nobody has waited for that; then -ESRCH,
 * and never another process of that number. Others may be waiting meanwhile.
 * To a group, with all that it has started: kill(-p->pid, sig), before wait.
 */
int weft_process_kill(weft_process *p, int sig);

/*
 * Runs argv, with /dev/null to read and our standard error, to its end and
 * collects what it writes to its standard output, at most max bytes
 * (-EMSGSIZE: there was more, it was killed), NUL-terminated, to be given to
 * free(). At `when` it is killed: -ETIMEDOUT. Its end is when it has ended and
 * nobody, of those it has started neither, can write any more. Other errors as
 * above; with any of them *out is NULL. len and status may be NULL.
 */
int weft_process_output(char *const argv[], size_t max, int64_t when,
    char **out, size_t *len, int *status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_PROCESS_H */
