/* SPDX-License-Identifier: MIT */
/*
 * A program that uses what programs use of libc: it can be preempted. Each call
 * here is one that returns something, in a goroutine.
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <ctype.h>
#include <grp.h>
#include <locale.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "run_env.h"

static void
texts(void)
{
	char buf[128];
	char words[] = "a b c";
	int n = 0;

	for (char *s = strtok(words, " "); s; s = strtok(NULL, " "))
		n += isalpha((unsigned char)*s) != 0;
	EQ(n, 3);
	OK(strlen(strerror(ENOENT)) > 0);
	OK(strlen(strerror(12345)) > 0);
	OK(strlen(strsignal(SIGTERM)) > 0);
	errno = EAGAIN;
	snprintf(buf, sizeof buf, "%m");
	OK(strlen(buf) > 0);
	OK(setlocale(LC_ALL, "C") != NULL);
	OK(localeconv() != NULL);
	EQ(wcslen(L"wide"), 4);
	EQ(strtol("12", NULL, 10), 12);
}

static void
times(void)
{
	time_t now = time(NULL);
	struct timeval tv;
	char buf[64];

	OK(localtime(&now) != NULL && gmtime(&now) != NULL);
	OK(ctime(&now) != NULL && asctime(gmtime(&now)) != NULL);
	OK(strftime(buf, sizeof buf, "%Y", gmtime(&now)) == 4);
	EQ(gettimeofday(&tv, NULL), 0);
	OK(mktime(localtime(&now)) == now);
}

static int
by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void
tools(void)
{
	int v[] = { 3, 1, 2 };
	char name[] = "prog", flag[] = "-x", *argv[] = { name, flag, NULL };
	regex_t re;

	qsort(v, 3, sizeof v[0], by_value);
	EQ(v[0], 1);
	EQ(getopt(2, argv, "x"), 'x');
	srand(1);
	OK(rand() >= 0 && random() >= 0);
	OK(setenv("EVERYDAY", "1", 1) == 0 && getenv("EVERYDAY"));
	EQ(regcomp(&re, "a+", REG_EXTENDED), 0);
	regfree(&re);
	OK(sysconf(_SC_NPROCESSORS_ONLN) > 0);
}

static void
process(void)
{
	sigset_t set;
	struct stat st;

	EQ(setuid(getuid()), 0);
	EQ(setgid(getgid()), 0);
	getpwuid(getuid());
	getgrgid(getgid());
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	EQ(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
	EQ(stat("/", &st), 0);
	OK(major(st.st_dev) < UINT32_MAX);
	OK(sched_getcpu() >= 0 || errno == ENOSYS);
	OK(isatty(-1) == 0);
}

static void
network(void)
{
	struct in_addr a = { htonl(INADDR_LOOPBACK) };
	struct pollfd p = { .fd = -1 };

	OK(!strcmp(inet_ntoa(a), "127.0.0.1"));
	EQ(inet_addr("127.0.0.1"), a.s_addr);
	getservbyname("http", "tcp");
	OK(gethostbyname("127.0.0.1") != NULL);
	EQ(poll(&p, 1, 0), 0);
}

GTEST(can_be_preempted, 1)
{
	char text[4096];

	texts();
	times();
	tools();
	process();
	network();
	weft_preempt_explain(text, sizeof text);
	if (T_SANITIZED || strstr(text, "no table of frames") ||
	    strstr(text, "is statically linked"))
		t_skip("this compiler's programs cannot be preempted");
	if (!can_preempt())
		t_fail(__FILE__, __LINE__, text);
}
