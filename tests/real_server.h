/* SPDX-License-Identifier: MIT */
/*
 * Servers of other packages, for tests of their clients' libraries: started in
 * a temporary folder, on free ports of the loopback.
 *
 *	static void configure(struct server *s) { ... fills s->argv ... }
 *	static struct server redis = { .program = "redis-server",
 *		.package = "redis-server", .configure = configure };
 *	REAL_SERVER(redis)
 *
 * A server belongs to the test program: it is started once, before the tests
 * are forked, and stopped after the last. Each test calls server_needed first.
 *
 * The server's parent is a keeper, a process of its own. The test program and
 * its tests have the write end of a pipe that the keeper reads: when the last
 * of them has ended, in whichever way, the keeper stops the server and removes
 * the folder. If the keeper is killed, the kernel kills the server.
 */
#ifndef REAL_SERVER_H
#define REAL_SERVER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

enum {
	SERVER_PORTS = 2,
	SERVER_ARGS = 32,
	SERVER_TEXT = 4096,
	SERVER_TRIES = 3,	/* another process may take a port first */
	SERVER_START_S = 30,
	SERVER_STOP_MS = 10000,
	/* Below the ports that the kernel gives to clients. */
	SERVER_PORT_FIRST = 12000,
	SERVER_PORT_LAST = 30000,
};

struct server {
	/* given: */
	const char *program;
	const char *package;	/* that it is in */
	const char *user;	/* that it runs as if this is root; or NULL */
	int stop_signal;	/* SIGTERM if 0 */
	int ports;		/* that it listens on; 1 if 0 */
	/* Writes the files and fills the commands; called again with other
	 * ports if the server did not start. setup, if any, is run first. */
	void (*configure)(struct server *s);

	/* for configure: */
	char path[256];		/* of the program */
	char folder[64];
	int port[SERVER_PORTS];
	const char *setup[SERVER_ARGS], *argv[SERVER_ARGS];

	/* private: */
	char text[SERVER_TEXT];	/* of the commands' words */
	size_t used;
	pid_t keeper, owner;
	int alive;		/* write end of the keeper's pipe */
	bool runs;
};

/* ---- for configure ----------------------------------------------------- */

/* A text that lives as long as the server. */
static inline const char *
server_printf(struct server *s, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
static inline const char *
server_printf(struct server *s, const char *format, ...)
{
	char *text = s->text + s->used;
	size_t room = sizeof s->text - s->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		abort();
	s->used += (size_t)n + 1;
	return text;
}

/* A file in the folder, or below it. */
static inline void
server_file(struct server *s, const char *name, const void *data, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", s->folder, name);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0) {
		perror(path);
		abort();
	}
}

/* Appends words to a command, up to a NULL. */
static inline void
server_words(const char **command, ...)
{
	va_list words;
	const char *word;

	va_start(words, command);
	while (*command)
		command++;
	while ((word = va_arg(words, const char *)))
		*command++ = word;
	va_end(words);
	*command = NULL;
}

/* ---- the keeper -------------------------------------------------------- */

static inline int
server_remove_entry(const char *path, const struct stat *st, int type,
    struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

static inline void
server_remove_folder(const struct server *s)
{
	nftw(s->folder, server_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void
server_become(const char *user)
{
	struct passwd *pw = user && geteuid() == 0 ? getpwnam(user) : NULL;

	if (pw && (initgroups(user, pw->pw_gid) || setgid(pw->pw_gid) ||
	    setuid(pw->pw_uid)))
		_exit(126);
}

static inline pid_t
server_spawn(const struct server *s, const char *const *argv)
{
	pid_t keeper = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	server_become(s->user);
	/* Reset by a change of the user, so after it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != keeper)
		_exit(126);
	execv(argv[0], (char **)(uintptr_t)argv);
	perror(argv[0]);
	_exit(127);
}

/* Waits for one of both, and says whether the process has ended. */
static inline bool
server_ended(pid_t pid, int alive, int timeout_ms)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[2] = { { fd, POLLIN, 0 }, { alive, POLLIN, 0 } };

	while (poll(p, alive < 0 ? 1 : 2, timeout_ms) < 0 && errno == EINTR)
		;
	close(fd);
	return p[0].revents != 0;
}

/* Runs a command until it ends (its status) or is not needed (-1). */
static inline int
server_run(const struct server *s, const char *const *argv, int alive)
{
	pid_t pid = server_spawn(s, argv);
	int status = 0;
	bool by_itself = server_ended(pid, alive, -1);

	if (!by_itself) {
		kill(pid, s->stop_signal ? s->stop_signal : SIGTERM);
		if (!server_ended(pid, -1, SERVER_STOP_MS))
			kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	return by_itself ? status : -1;
}

/* Never returns. */
static inline void
server_keep(const struct server *s, int alive)
{
	char log[128];
	int null = open("/dev/null", O_RDONLY), status = 0;

	setpgid(0, 0);
	snprintf(log, sizeof log, "%s/log", s->folder);
	dup2(null, 0);
	dup2(open(log, O_WRONLY | O_CREAT | O_APPEND, 0644), 1);
	dup2(1, 2);
	dup2(alive, 3);
	close_range(4, ~0u, 0);
	fcntl(3, F_SETFD, FD_CLOEXEC);
	if (s->setup[0])
		status = server_run(s, s->setup, 3);
	if (status == 0)
		status = server_run(s, s->argv, 3);
	/* The test program reads the log of a server that has failed. */
	if (status >= 0)
		_exit(1);
	server_remove_folder(s);
	_exit(0);
}

/* ---- starting and stopping --------------------------------------------- */

/* A path of the program, "" if it is not installed. */
static inline void
server_find(struct server *s)
{
	static const char *const folders[] = { "/usr/bin", "/usr/sbin",
		"/usr/lib/postgresql/*/bin", "/usr/local/bin",
		"/usr/local/sbin" };
	char pattern[256];
	glob_t found;

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		snprintf(pattern, sizeof pattern, "%s/%s", folders[i],
		    s->program);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		/* The newest version is the last. */
		snprintf(s->path, sizeof s->path, "%s",
		    found.gl_pathv[found.gl_pathc - 1]);
		globfree(&found);
		return;
	}
}

/* A socket of that port, bound or connected; its descriptor, or -1. */
static inline int
server_socket(int port, int (*call)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (call(fd, (struct sockaddr *)&a, sizeof a) == 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * Keeps other test programs off a port while this process lives: a server that
 * is still starting does not have it, and another's listener would be taken for
 * it. False: another has claimed it.
 */
static inline bool
server_claim(int port)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1,
	    "weft-test-port-%d", port);

	if (bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(
	    struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
		return true;
	close(fd);
	return false;
}

static inline int
server_free_port(void)
{
	static unsigned seed;
	int fd, port;

	if (seed == 0)
		seed = (unsigned)getpid() * 2654435761u;
	do {
		port = SERVER_PORT_FIRST + rand_r(&seed) %
		    (SERVER_PORT_LAST - SERVER_PORT_FIRST);
		fd = server_claim(port) ? server_socket(port, bind) : -1;
	} while (fd < 0);
	close(fd);
	return port;
}

/* A server that says nothing: the kernel completes connections, and the test
 * accepts none. Its socket; as many as `backlog` can connect. */
static inline int
server_silent(int *port, int backlog)
{
	int fd;

	do {
		*port = server_free_port();
		fd = server_socket(*port, bind);
	} while (fd < 0);
	EQ(listen(fd, backlog), 0);
	return fd;
}

/* On all of its ports. */
static inline bool
server_accepts(const struct server *s)
{
	int fd, i = 0;

	do {
		fd = server_socket(s->port[i], connect);
		if (fd < 0)
			return false;
		close(fd);
	} while (++i < s->ports);
	return true;
}

static inline void
server_make_folder(struct server *s)
{
	struct passwd *pw = s->user ? getpwnam(s->user) : NULL;

	snprintf(s->folder, sizeof s->folder, "/tmp/weft-test-XXXXXX");
	if (!mkdtemp(s->folder)) {
		perror(s->folder);
		abort();
	}
	if (pw && geteuid() == 0 &&
	    chown(s->folder, pw->pw_uid, pw->pw_gid) != 0)
		perror(s->folder);
}

static inline void
server_print_log(const struct server *s)
{
	char path[128], line[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/log", s->folder);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		fprintf(stderr, "# %s: %s", s->program, line);
	if (f)
		fclose(f);
}

/* Stops it, with its keeper, and removes the folder. */
static inline void
server_stop(struct server *s)
{
	if (s->keeper <= 0 || s->owner != getpid())
		return;
	close(s->alive);
	waitpid(s->keeper, NULL, 0);
	s->keeper = 0;
	s->runs = false;
}

/* True if it accepts connections; else it has been stopped. */
static inline bool
server_await(struct server *s)
{
	double end = t_now() + SERVER_START_S;

	while (t_now() < end && waitpid(s->keeper, NULL, WNOHANG) == 0) {
		if (server_accepts(s))
			return true;
		usleep(10000);
	}
	server_print_log(s);
	server_stop(s);
	server_remove_folder(s);
	return false;
}

static inline bool
server_try(struct server *s)
{
	int end[2];

	s->used = 0;
	s->setup[0] = s->argv[0] = NULL;
	for (int i = 0; i < SERVER_PORTS; i++)
		s->port[i] = server_free_port();
	server_make_folder(s);
	s->configure(s);
	if (pipe2(end, O_CLOEXEC) != 0)
		abort();
	s->owner = getpid();
	s->keeper = fork();
	if (s->keeper == 0)
		server_keep(s, end[0]);
	close(end[0]);
	s->alive = end[1];
	return s->keeper > 0 && server_await(s);
}

/* Starts it, unless it is not installed. */
static inline void
server_start(struct server *s)
{
	server_find(s);
	for (int i = 0; s->path[0] && !s->runs && i < SERVER_TRIES; i++)
		s->runs = server_try(s);
}

/* In each test: ends it as skipped if there is no server, fails without. */
static inline void
server_needed(const struct server *s)
{
	char why[128];

	snprintf(why, sizeof why, "no %s: apt install %s", s->program,
	    s->package);
	if (!s->path[0])
		t_skip(why);
	if (!s->runs) {
		t_fail(__FILE__, __LINE__, "the server does not start");
		_exit(1);
	}
}

#define REAL_SERVER(s)							\
	__attribute__((constructor)) static void			\
	start_##s(void)							\
	{								\
		server_start(&s);					\
	}								\
	__attribute__((destructor)) static void				\
	stop_##s(void)							\
	{								\
		server_stop(&s);					\
	}

#endif
