/* SPDX-License-Identifier: MIT */
/* What a child writes, in one call. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

/* Literals are not const to exec. */
#define ARGV(...) ((char **)(const char *[]){ __VA_ARGS__, NULL })
#define SH(text) ARGV("sh", "-c", text)

static char *out;
static size_t len;
static int status;

/* As the call, with the answers above; what was there before is freed. */
static int
gather(char **argv, size_t max, int64_t when)
{
	free(out);
	out = (char *)1;
	len = 12345;
	status = -1;
	return weft_process_output(argv, max, when, &out, &len, &status);
}

static void
said(const char *text)
{
	EQ(len, strlen(text));
	OK(out && strcmp(out, text) == 0);
}

static void
said_nothing(void)
{
	OK(out == NULL);
	EQ(len, 0);
	OK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

GTEST(hello, 1)
{
	EQ(gather(ARGV("echo", "hello"), 100, WEFT_NEVER), 0);
	said("hello\n");
	EQ(status, 0);
	EQ(gather(SH("echo out; exit 3"), 100, weft_deadline(60 * WEFT_SECOND)),
	    0);
	said("out\n");
	EQ(WEXITSTATUS(status), 3);
	EQ(gather(ARGV("true"), 100, 0), 0);
	said("");
	EQ(gather(ARGV("cat"), 100, WEFT_NEVER), 0);
	said("");
	free(out);
	out = NULL;
	EQ(weft_process_output(ARGV("echo", "x"), 5, WEFT_NEVER, &out, NULL,
	    NULL), 0);
	OK(strcmp(out, "x\n") == 0);
	free(out);
}

GTEST(limits, 1)
{
	EQ(gather(ARGV("printf", "12345"), 5, WEFT_NEVER), 0);
	said("12345");
	EQ(gather(ARGV("printf", "12345"), 4, WEFT_NEVER), -EMSGSIZE);
	said_nothing();
	EQ(gather(ARGV("true"), 0, WEFT_NEVER), 0);
	said("");
	EQ(gather(ARGV("echo"), 0, WEFT_NEVER), -EMSGSIZE);
	said_nothing();
	EQ(gather(ARGV("printf", "12345"), SIZE_MAX, WEFT_NEVER), 0);
	said("12345");
	free(out);
}

/* One that never ends by itself. */
GTEST(endless_is_killed, 1)
{
	EQ(gather(ARGV("yes"), 100000, WEFT_NEVER), -EMSGSIZE);
	said_nothing();
	EQ(status, SIGKILL);
}

GTEST(much, 2)
{
	size_t n = 3 << 20;
	char count[32];

	strcpy(count, "3145728");
	EQ(gather(ARGV("head", "-c", count, "/dev/zero"), n, WEFT_NEVER), 0);
	EQ(len, n);
	for (size_t i = 0; i <= n; i++)
		if (out[i] != 0) {
			t_fail(__FILE__, __LINE__, "not a zero");
			break;
		}
	EQ(gather(ARGV("head", "-c", count, "/dev/zero"), n - 1, WEFT_NEVER),
	    -EMSGSIZE);
	said_nothing();
}

GTEST(too_late, 1)
{
	int64_t when = weft_deadline(20 * WEFT_MS);

	EQ(gather(ARGV("sleep", "100"), 100, when), -ETIMEDOUT);
	OK(weft_now() >= when);
	said_nothing();
	EQ(status, SIGKILL);
	/* It has closed what we read, and does not end. */
	when = weft_deadline(20 * WEFT_MS);
	EQ(gather(SH("exec sleep 100 >&-"), 100, when), -ETIMEDOUT);
	OK(weft_now() >= when);
	said_nothing();
	EQ(status, SIGKILL);
	EQ(gather(ARGV("true"), 100, 1), -ETIMEDOUT);
	said_nothing();
}

/* What it has started goes on writing when it has ended. */
GTEST(until_no_process_writes, 1)
{
	EQ(gather(SH("(sleep 0.1; echo late) & exit 6"), 100, WEFT_NEVER), 0);
	said("late\n");
	EQ(WEXITSTATUS(status), 6);
	free(out);
}

GTEST(none_to_run, 1)
{
	if (t_emulated())
		t_skip("errors of exec are not seen under an emulator");
	EQ(gather(ARGV("/no/such/program"), 100, WEFT_NEVER), -ENOENT);
	said_nothing();
	EQ(gather(NULL, 100, WEFT_NEVER), -EINVAL);
	said_nothing();
}

static void
gathers(int n)
{
	char text[16], *got;
	size_t bytes;

	snprintf(text, sizeof text, "%d", n);
	EQ(weft_process_output(ARGV("echo", text), 100, WEFT_NEVER, &got,
	    &bytes, NULL), 0);
	OK(got && bytes == strlen(text) + 1 && atoi(got) == n);
	free(got);
}

GTEST(many_at_once, 4)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 40; i++)
		weft_waitgroup_go(&wg, gathers, i);
	weft_waitgroup_wait(&wg);
	OK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}
