/* SPDX-License-Identifier: MIT */
/*
 * Names that were reviewed and are refused, by reason. What is neither here
 * nor in imports.c has not been reviewed, or is not libc's.
 *
 * Each reason has its names in one text, with a blank before and after each.
 */
#include "refusals.h"

#include <string.h>

#include "defs.h"

struct refusal {
	const char *why, *names;
};

static const struct refusal refusals[] = {
	{ "errno is the thread's: include weft.h in every file that uses it",
	  " __errno_location ___errno_location " },
	{ "its text may be the thread's: include weft.h in the file",
	  " strerror strsignal inet_ntoa " },
	{ "its text may be the thread's: use strerror_r",
	  " strerror_l __strerror_l " },
	{ "a thread owns the lock: use weft_mutex, weft_rwmutex, weft_cond",
	  " pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock"
	  " pthread_mutex_timedlock pthread_mutex_clocklock"
	  " pthread_mutex_consistent pthread_cond_wait"
	  " pthread_cond_timedwait pthread_cond_clockwait"
	  " pthread_rwlock_rdlock pthread_rwlock_wrlock"
	  " pthread_rwlock_tryrdlock pthread_rwlock_trywrlock"
	  " pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock"
	  " pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock"
	  " pthread_rwlock_unlock pthread_spin_lock pthread_spin_trylock"
	  " pthread_spin_unlock mtx_lock mtx_trylock mtx_timedlock mtx_unlock"
	  " cnd_wait cnd_timedwait lckpwdf ulckpwdf " },
	{ "a thread owns the stream's lock: use weft_mutex",
	  " flockfile ftrylockfile funlockfile " },
	{ "calls back with a stream's lock held", " fopencookie " },
	{ "asks which thread it is on: use weft_self_id",
	  " pthread_self thrd_current gettid pthread_getattr_np " },
	{ "keeps values in the thread: use weft_gls",
	  " pthread_key_create pthread_key_delete pthread_getspecific"
	  " pthread_setspecific tss_create tss_delete tss_get tss_set"
	  " __tls_get_addr __emutls_get_address __cxa_thread_atexit_impl " },
	{ "h_errno is the thread's: use getaddrinfo",
	  " __h_errno_location herror " },
	{ "the resolver's settings are the thread's",
	  " __res_state __res_init __res_ninit res_init " },
	{ "finds functions that cannot be audited: link them, and see "
	  "weft_preempt_allow",
	  " dlopen dlmopen dlsym dlvsym " },
	{ "the message is the thread's", " dlerror " },
	{ "changes its thread's locale: use newlocale and the _l functions",
	  " uselocale __uselocale " },
	{ "changes its thread's signal stack", " sigaltstack sigstack " },
	{ "changes what the kernel keeps for its thread",
	  " nice setpriority getpriority sched_setaffinity sched_setparam"
	  " sched_setscheduler sched_setattr prctl arch_prctl personality"
	  " setfsuid setfsgid capset capget unshare setns ioperm iopl ptrace"
	  " pkey_set pkey_get pkey_alloc " },
	{ "may be any system call: use libc's function for it", " syscall " },
	{ "makes or ends a thread without libc: use pthread_create",
	  " clone __clone " },
	{ "shares the stack with the child: use posix_spawn",
	  " vfork __vfork " },
	{ "ends the thread, or lets it be ended: use weft_goexit",
	  " pthread_exit thrd_exit pthread_cancel pthread_testcancel"
	  " pthread_setcancelstate pthread_setcanceltype"
	  " __pthread_register_cancel __pthread_unregister_cancel"
	  " __pthread_unwind_next _pthread_cleanup_push"
	  " _pthread_cleanup_pop " },
	{ "changes stacks: use goroutines",
	  " getcontext setcontext makecontext swapcontext " },
};

/* C++ has too many names to list: by their beginnings. */
static bool
is_cxx(const char *name)
{
	static const char *const begin[] = {
		"__cxa_", "_Unwind_", "__gxx_personality", "_ZSt", "_ZNS",
		"_ZNKS", "_ZTVN10__cxxabi", "_Znwm", "_ZdlPv"
	};

	for (size_t i = 0; i < countof(begin); i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	return false;
}

static bool
has(const char *names, const char *name, size_t n)
{
	for (const char *s = names; (s = strstr(s, name)); s++)
		if (s[-1] == ' ' && s[n] == ' ')
			return true;
	return false;
}

const char *
refusal_why(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; n && i < countof(refusals); i++)
		if (has(refusals[i].names, name, n))
			return refusals[i].why;
	return is_cxx(name) ? "C++ keeps its exceptions in the thread" :
	    "not reviewed";
}
