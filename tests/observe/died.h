/* SPDX-License-Identifier: MIT */
/* A child of the test that dies, and what it said. */
#ifndef DIED_H
#define DIED_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

static char died_text[1 << 16];		/* what it wrote to standard error */
static void (*died_body)(void);

static inline int
died_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	died_body();
	return 0;
}

/* How: weft_run, or as programs with WEFT_MAIN do. */
static inline void
died_child(int fd, void (*fn)(void), bool by_macro)
{
	struct rlimit no_core = {0};

	setrlimit(RLIMIT_CORE, &no_core);
	dup2(fd, 2);
	died_body = fn;
	if (by_macro)
		weft_main_(died_main, 0, NULL);
	else
		weft_run(died_main, 0, NULL);
	_exit(0);
}

/* The status of a child in which fn was the main goroutine. */
static inline int
died(void (*fn)(void), bool by_macro)
{
	size_t n = 0;
	ssize_t r;
	int end[2], status = 0;
	pid_t pid;

	EQ(pipe(end), 0);
	pid = fork();
	if (pid == 0)
		died_child(end[1], fn, by_macro);
	close(end[1]);
	while ((r = read(end[0], died_text + n, sizeof died_text - 1 - n)) > 0)
		n += (size_t)r;
	died_text[n] = 0;
	close(end[0]);
	EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static inline bool
died_of(int status, int sig)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

/* Fails, and says what was said instead. */
#define SAID(text) do {							\
	if (!strstr(died_text, text)) {					\
		t_fail(__FILE__, __LINE__, "should have said: " text);	\
		fprintf(stderr, "%.3000s\n", died_text);		\
	}								\
	} while (0)

#endif
