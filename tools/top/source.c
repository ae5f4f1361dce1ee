/* SPDX-License-Identifier: MIT */
/*
 * The socket of a process: by its path, or where a process of that id and user
 * has it by default (src/observe/debug_path.c). An answer that is shown has
 * five seconds, and at most a megabyte; one that is copied may take as long as
 * it comes.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

enum { ANSWER_MS = 5000 };

/* ---- where it is ---- */

/* Something is there, and no socket. */
static bool
is_other(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISSOCK(st.st_mode);
}

static bool
is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The runtime directory may be the caller's own only if the user is, too. */
static bool
find_default(long pid, uid_t uid, char path[PATH_BYTES])
{
	const char *dir = uid == geteuid() ? getenv("XDG_RUNTIME_DIR") : NULL;

	if (dir && *dir) {
		snprintf(path, PATH_BYTES, "%s/weft-%ld.sock", dir, pid);
		if (is_socket(path))
			return true;
	}
	snprintf(path, PATH_BYTES, "/run/user/%u/weft-%ld.sock",
	    (unsigned)uid, pid);
	if (is_socket(path))
		return true;
	snprintf(path, PATH_BYTES, "/tmp/weft-%u/weft-%ld.sock",
	    (unsigned)uid, pid);
	return is_socket(path);
}

/* Of a process that exists; its id is not 0. */
static int
find_process(long pid, char path[PATH_BYTES], char *why, size_t cap)
{
	char proc[40];
	struct stat st;

	snprintf(proc, sizeof proc, "/proc/%ld", pid);
	if (stat(proc, &st) != 0) {
		snprintf(why, cap, "no process %ld", pid);
		return -1;
	}
	if (geteuid() != 0 && st.st_uid != geteuid()) {
		snprintf(why, cap, "process %ld belongs to another user", pid);
		return -1;
	}
	if (find_default(pid, st.st_uid, path))
		return 0;
	snprintf(why, cap, "process %ld has no debug socket: start it with "
	    "WEFT_DEBUG=socket, or let it call weft_debug_listen", pid);
	return -1;
}

int
source_find(const char *what, char path[PATH_BYTES], char *why, size_t cap)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(what, &end, 10);
	if (end != what && !*end && !errno && pid > 0)
		return find_process(pid, path, why, cap);
	if (!strchr(what, '/') && access(what, F_OK) != 0) {
		snprintf(why, cap, "%.80s: neither the id of a process nor a "
		    "path that exists", what);
		return -1;
	}
	if (strlen(what) >= PATH_BYTES) {
		snprintf(why, cap, "%.80s...: too long for a socket", what);
		return -1;
	}
	if (is_other(what)) {
		snprintf(why, cap, "%s: not a socket", what);
		return -1;
	}
	strcpy(path, what);
	return 0;
}

/* ---- asking ---- */

void
source_describe(const char *path, const char *line, const char *text,
    size_t len, char *why, size_t cap)
{
	char error[121], meaning[250];
	size_t n = 0;

	while (n < len && n < sizeof error - 1 && text[n] >= ' ' &&
	    text[n] <= '~')
		n++;
	memcpy(error, text, n);
	error[n] = 0;
	if (strncmp(error, "error: ", 7) != 0)
		snprintf(why, cap, "%s: no debug socket of weft answers "
		    "there", path);
	else if (explain(line, error + 7, meaning, sizeof meaning))
		snprintf(why, cap, "%s: %s", path, meaning);
	else
		snprintf(why, cap, "%s: %s", path, error);
}

static int64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A connection that does not block, or -1. */
static int
connect_to(const char *path, char *why, size_t cap)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);

	memcpy(a.sun_path, path, strlen(path));
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
		return fd;
	snprintf(why, cap, "%s: %s", path, errno == ECONNREFUSED ?
	    "no process listens there (it has ended)" : strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Waits until there is something to read; false: the time is over. */
static bool
wait_for(int fd, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left;

	while ((left = until - now_ms()) > 0) {
		int n = poll(&p, 1, (int)left);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
	return false;
}

/* All until the end: 0, or -1 and why not. */
static int
read_all(int fd, char *buf, size_t *len, char *why, size_t cap)
{
	int64_t until = now_ms() + ANSWER_MS;
	ssize_t n;

	for (*len = 0; wait_for(fd, until); *len += (size_t)n) {
		n = read(fd, buf + *len, ANSWER_MAX - *len);
		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			n = 0;
			continue;
		}
		if (n == 0 && *len < ANSWER_MAX)
			return 0;
		if (n <= 0) {
			snprintf(why, cap, "%s", n == 0 ?
			    "the answer is too long" : strerror(errno));
			return -1;
		}
	}
	snprintf(why, cap, "no answer within five seconds");
	return -1;
}

int
source_send(const char *path, const char *line, char *why, size_t cap)
{
	int fd = connect_to(path, why, cap);
	size_t n = strlen(line);

	if (fd < 0 || send(fd, line, n, MSG_NOSIGNAL) == (ssize_t)n)
		return fd;
	snprintf(why, cap, "%s: %s", path, strerror(errno));
	close(fd);
	return -1;
}

int
source_answer(int fd, char **answer, size_t *len, char *why, size_t cap)
{
	int err;

	*answer = malloc(ANSWER_MAX + 1);
	if (!*answer) {
		snprintf(why, cap, "out of memory");
		close(fd);
		return -1;
	}
	err = read_all(fd, *answer, len, why, cap);
	close(fd);
	if (err)
		free(*answer);
	else
		(*answer)[*len] = 0;
	return err;
}

int
source_ask(const char *path, const char *line, char **answer, size_t *len,
    char *why, size_t cap)
{
	char reason[100];
	int fd = source_send(path, line, why, cap);

	if (fd < 0)
		return -1;
	if (source_answer(fd, answer, len, reason, sizeof reason) == 0)
		return 0;
	snprintf(why, cap, "%s: %s", path, reason);
	return -1;
}

/* True if these are the first bytes of an error, and no file for a tool. */
static bool
is_error(const char *text, size_t n)
{
	return n > 7 && memcmp(text, "error: ", 7) == 0;
}

int
source_copy(const char *path, const char *line, FILE *out, char *why,
    size_t cap)
{
	struct pollfd p = { .events = POLLIN };
	char buf[64 * 1024];
	bool first = true;
	ssize_t n;

	p.fd = source_send(path, line, why, cap);
	if (p.fd < 0)
		return -1;
	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			break;
		n = read(p.fd, buf, sizeof buf);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n == 0 && fflush(out) == 0) {
			close(p.fd);
			return 0;
		}
		if (n > 0 && first && is_error(buf, (size_t)n)) {
			source_describe(path, line, buf, (size_t)n, why,
			    cap);
			close(p.fd);
			return -1;
		}
		first = false;
		if (n <= 0 || fwrite(buf, 1, (size_t)n, out) != (size_t)n)
			break;
	}
	snprintf(why, cap, "%s: %s", path, strerror(errno));
	close(p.fd);
	return -1;
}
