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
 * notify: from now on the signal `sig`, sent to the process, is sent on channel
 * c as an int, and has no other effect; also if it was ignored (in the
 * background of a shell, under nohup: ask sigaction(2) before). Several
 * channels may subscribe to one signal, and each receives it; one channel may
 * subscribe to many signals. A channel that is full misses the signal: give it
 * a buffer. Signals of one number that arrive close together may be coalesced,
 * real-time signals too. A signal that all threads block does not arrive.
 *
 * 0; -EINVAL: no such signal, SIGKILL, SIGSTOP, a signal that a fault raises,
 * the preemption signal, or a channel whose elements are not int; -EPERM: no
 * runtime is running; -ENOMEM, -EMFILE.
 *
 * stop: the channel receives sig (0: any signal) no more; what arrived before
 * has been sent to it, if there was room. When the last subscription to a
 * signal ends, its previous action is restored; so it is in the child of a
 * fork, and when the runtime has ended. 0, also if c was not subscribed;
 * -EINVAL, -EPERM.
 *
 * A subscription retains the channel; do not close it before stop. While there
 * is any subscription a goroutine waits for signals, so that no deadlock is
 * reported.
 */
int weft_signal_notify(weft_chan *c, int sig);
int weft_signal_stop(weft_chan *c, int sig);

/* ---- child processes --------------------------------------------------- */

/* What a standard descriptor of a child is. */
enum {
	WEFT_FD_INHERIT = -1,	/* the parent's */
	WEFT_FD_NULL = -2,	/* /dev/null */
	WEFT_FD_PIPE = -3,	/* a pipe to the parent: weft_process.in, out,
				 * err */
	WEFT_FD_OUT = -4	/* for err: the same as out */
};

/* Zero means default. */
typedef struct weft_process_options {
	/* one of WEFT_FD_*, or a descriptor, which stays open in the parent;
	 * 0 means WEFT_FD_INHERIT */
	int in WEFT_ZERO_, out WEFT_ZERO_, err WEFT_ZERO_;
	const char *directory WEFT_ZERO_;	/* NULL: the parent's */
	char *const *environment WEFT_ZERO_;	/* NULL: the parent's */
	bool group WEFT_ZERO_;	/* in a process group of its own */
} weft_process_options;

/*
 * A child, and the parent's ends of its pipes (-1 if there is none), which are
 * non-blocking and which the caller closes; wait does not. The caller must wait
 * for the child, and must not copy the struct before that.
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
 * Starts argv[0], which is looked up in the parent's PATH if it has no slash,
 * and otherwise from the child's directory. The child has an empty signal mask,
 * default actions also for the signals that the parent ignores, and no
 * descriptors but its standard ones and those without FD_CLOEXEC. 0, or why
 * the program could not be executed (-ENOENT, -EACCES, -ENOEXEC, -E2BIG,
 * -ENOTDIR for the directory ...) or the process made (-EAGAIN, -EMFILE,
 * -EBADF, -EINVAL ...): then there is no child. opt may be NULL; size is sizeof
 * *opt.
 */
int weft_process_start(weft_process *p, char *const argv[],
    const weft_process_options *opt, size_t size);
#define weft_process_start_with(p, argv, ...) \
	weft_process_start(p, argv, WEFT_OPTIONS_(weft_process_options, \
	    __VA_ARGS__))

/*
 * Waits for the end of the child, and reaps it: 0 and its status as of
 * waitpid(2) (WIFEXITED ...), which may be NULL. -ECHILD if the program reaped
 * it in another way, or ignores SIGCHLD. Further calls give the same answer.
 * One goroutine at a time.
 *
 * try: -EAGAIN while it runs. until: -ETIMEDOUT at `when` (0: no limit).
 * context: -ECANCELED or -ETIMEDOUT when ctx is cancelled.
 *
 * On Linux before 5.3, which has no pidfd_open(2), wait blocks a thread, and
 * the forms with a limit notice the end up to 10 ms late.
 */
int weft_process_wait(weft_process *p, int *status);
int weft_process_try_wait(weft_process *p, int *status);
int weft_process_wait_until(weft_process *p, int *status, int64_t when);
int weft_process_wait_context(weft_process *p, int *status,
    weft_context *ctx);

/*
 * Sends a signal: 0, also if the child has ended and is not reaped yet; -ESRCH
 * after that, and never to another process with the same id. Others may be
 * waiting meanwhile. For a group, with all that the child has started:
 * kill(-p->pid, sig), before wait.
 */
int weft_process_kill(weft_process *p, int sig);

/*
 * Runs argv to its end, with /dev/null as standard input and the parent's
 * standard error, and collects its standard output: at most max bytes
 * (-EMSGSIZE: there was more, and the child was killed), NUL-terminated, to be
 * freed with free(). At `when` (0: no limit) the child is killed: -ETIMEDOUT.
 * The end is reached when the child has ended and no process holds the other
 * end of its standard output, also none that it has started. Other errors as
 * weft_process_start; with any of them *out is NULL. len and status may be
 * NULL.
 */
int weft_process_output(char *const argv[], size_t max, int64_t when,
    char **out, size_t *len, int *status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_PROCESS_H */
