/* SPDX-License-Identifier: MIT */
/*
 * The system's functions behind the hooks: those that the next object in the
 * loader's order defines, which is libc, or a sanitizer. They are looked up
 * once, by a constructor, or earlier if a constructor of another object calls a
 * hook before.
 */
#ifndef REAL_H
#define REAL_H

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>

#include "defs.h"

/* F(result, name, arguments): each hooked function. */
#define REAL_CALLS(F) \
	F(ssize_t, read, (int, void *, size_t)) \
	F(ssize_t, write, (int, const void *, size_t)) \
	F(ssize_t, readv, (int, const struct iovec *, int)) \
	F(ssize_t, writev, (int, const struct iovec *, int)) \
	F(ssize_t, recv, (int, void *, size_t, int)) \
	F(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, \
	    socklen_t *)) \
	F(ssize_t, recvmsg, (int, struct msghdr *, int)) \
	F(ssize_t, send, (int, const void *, size_t, int)) \
	F(ssize_t, sendto, (int, const void *, size_t, int, \
	    const struct sockaddr *, socklen_t)) \
	F(ssize_t, sendmsg, (int, const struct msghdr *, int)) \
	F(int, connect, (int, const struct sockaddr *, socklen_t)) \
	F(int, accept, (int, struct sockaddr *, socklen_t *)) \
	F(int, accept4, (int, struct sockaddr *, socklen_t *, int)) \
	F(int, close, (int)) \
	F(int, fclose, (FILE *)) \
	F(int, socket, (int, int, int)) \
	F(int, socketpair, (int, int, int, int *)) \
	F(int, setsockopt, (int, int, int, const void *, socklen_t)) \
	F(int, pipe, (int *)) \
	F(int, pipe2, (int *, int)) \
	F(int, dup, (int)) \
	F(int, dup2, (int, int)) \
	F(int, dup3, (int, int, int)) \
	F(int, poll, (struct pollfd *, nfds_t, int)) \
	F(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, \
	    const sigset_t *)) \
	F(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *)) \
	F(int, pselect, (int, fd_set *, fd_set *, fd_set *, \
	    const struct timespec *, const sigset_t *)) \
	F(int, epoll_wait, (int, struct epoll_event *, int, int)) \
	F(int, epoll_pwait, (int, struct epoll_event *, int, int, \
	    const sigset_t *)) \
	F(int, nanosleep, (const struct timespec *, struct timespec *)) \
	F(int, clock_nanosleep, (clockid_t, int, const struct timespec *, \
	    struct timespec *)) \
	F(int, usleep, (useconds_t)) \
	F(unsigned, sleep, (unsigned)) \
	F(int, sched_yield, (void)) \
	F(int, getaddrinfo, (const char *, const char *, \
	    const struct addrinfo *, struct addrinfo **)) \
	F(int, pthread_join, (pthread_t, void **)) \
	F(int, pthread_key_create, (pthread_key_t *, void (*)(void *))) \
	F(int, pthread_key_delete, (pthread_key_t)) \
	F(void *, pthread_getspecific, (pthread_key_t)) \
	F(int, pthread_setspecific, (pthread_key_t, const void *)) \
	F(int, pthread_mutex_lock, (pthread_mutex_t *)) \
	F(int, pthread_mutex_trylock, (pthread_mutex_t *)) \
	F(int, pthread_mutex_timedlock, (pthread_mutex_t *, \
	    const struct timespec *)) \
	F(int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, \
	    const struct timespec *)) \
	F(int, pthread_mutex_unlock, (pthread_mutex_t *)) \
	F(int, cnd_wait, (cnd_t *, mtx_t *)) \
	F(int, cnd_timedwait, (cnd_t *, mtx_t *, const struct timespec *)) \
	F(int, pthread_rwlock_rdlock, (pthread_rwlock_t *)) \
	F(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *)) \
	F(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *, \
	    const struct timespec *)) \
	F(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t *, clockid_t, \
	    const struct timespec *)) \
	F(int, pthread_rwlock_wrlock, (pthread_rwlock_t *)) \
	F(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *)) \
	F(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *, \
	    const struct timespec *)) \
	F(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t *, clockid_t, \
	    const struct timespec *)) \
	F(int, pthread_rwlock_unlock, (pthread_rwlock_t *)) \
	F(int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *)) \
	F(int, pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, \
	    const struct timespec *)) \
	F(int, pthread_cond_clockwait, (pthread_cond_t *, pthread_mutex_t *, \
	    clockid_t, const struct timespec *))

struct real_calls {
#define F(result, name, args) result (*name) args;
	REAL_CALLS(F)
#undef F
};

extern struct real_calls real_calls;
void real_find(void);

/*
 * The table. A caller that comes before the constructor fills it itself:
 * then there is one thread, or one of a loader.
 */
static always_inline const struct real_calls *
real(void)
{
	if (unlikely(!real_calls.pthread_cond_clockwait))
		real_find();
	return &real_calls;
}

#endif
