/* SPDX-License-Identifier: MIT */
/* Children of the test, by fork. */
#ifndef CHILD_PROCESS_H
#define CHILD_PROCESS_H

#include <errno.h>
#include <sys/wait.h>

#include "t.h"

/* What the child ended with, -1 if not by exit. */
static inline int
exit_status(pid_t pid)
{
	int status = 0;

	OK(pid > 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
