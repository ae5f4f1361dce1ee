/* SPDX-License-Identifier: MIT */
/*
 * The debug socket: a UNIX socket that the process opens when it is asked to,
 * for tools such as weft-top. A helper serves it, so that there is an answer
 * also when no goroutine runs. A connection is for one line, and ends with the
 * answer (debug_verb.h).
 *
 *	CLOSED --- weft_debug_listen ---> OPEN --- weft_debug_close,
 *	  ^                                 |      end of the runtime
 *	  |                                 v
 *	  |                               CLOSING
 *	  |                                 | the closer: it is done with
 *	  |                                 v path and descriptor
 *	  +---------- the helper ---------- SHUT
 *
 * What a client may do wrong harms itself alone: only the user of the process
 * and root are served; there are at most 16 connections, and the oldest is
 * closed for a new one; a line is at most 200 bytes and comes within five
 * seconds; an answer that is not read times out. Answers that may be long are
 * given by other helpers, at most four.
 *
 * The child of a fork has the descriptors and no helper: it closes them. A
 * descriptor is stored after it was opened and forgotten before it is closed,
 * so the child may keep one that it did not know of, but closes no other.
 */
#include "debug_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "debug_env.h"
#include "debug_path.h"
#include "debug_verb.h"
#include "fatal.h"
#include "fdcall.h"
#include "helper.h"
#include "lock.h"
#include "os.h"
#include "start.h"
#include "weft.h"

enum {
	CLIENTS = 16,
	JOBS = 4,
	LINE_BYTES = 200,
	QUICK_SECONDS = 1,	/* without progress of a write */
	SLOW_SECONDS = 10
};
#define LINE_NS INT64_C(5000000000)
#define REST_NS INT64_C(100000000)
#define SHUT_NS INT64_C(20000)

enum state { CLOSED, OPEN, CLOSING, SHUT };

struct client {
	a32 fd;			/* + 1; 0: free. The fork handler reads it */
	int64_t until;		/* closed then, if no line has come */
	size_t n;
	char line[LINE_BYTES];
};

/* A request for a verb that takes long. */
struct job {
	a32 fd;			/* the same; not 0: taken */
	const struct debug_verb *verb;
	char line[LINE_BYTES];
};

static struct {
	a32 state;
	a32 fd;			/* + 1, of the socket that listens */
	int pid;		/* which process opened it */
	char path[DEBUG_PATH_BYTES];	/* constant unless CLOSED */
	struct debug_file file;		/* the same */
	/* the helper's */
	int64_t listen_at;	/* not before this time */
	struct client clients[CLIENTS];
	struct job jobs[JOBS];	/* a job's own, while it is taken */
} server;

/* Constant after the constructors. */
static struct debug_verb *verbs;

int64_t (*debug_socket_tick)(int64_t now);

void
debug_verb_add(struct debug_verb *v)
{
	v->next = verbs;
	verbs = v;
}

const struct debug_verb *
debug_verb_first(void)
{
	return verbs;
}

/* ---- descriptors ---- */

static int
fd_of(const a32 *slot)
{
	return (int)a_load_relaxed(slot) - 1;
}

static void
fd_store(a32 *slot, int fd)
{
	a_store_relaxed(slot, (uint32_t)fd + 1);
}

static void
fd_drop(a32 *slot)
{
	int fd = fd_of(slot);

	a_store_rel(slot, 0);	/* pairs with free_job */
	if (fd >= 0)
		fd_close(fd);
}

/* ---- an answer ---- */

static void
tell(int fd, const char *fmt, const char *what)
{
	char text[LINE_BYTES + 80];
	size_t n = format(text, sizeof text, fmt, what);

	fd_send(fd, text, n, MSG_NOSIGNAL);
}

static const struct debug_verb *
find_verb(const char *line)
{
	size_t n = strcspn(line, " ");

	for (const struct debug_verb *v = verbs; v; v = v->next)
		if (strlen(v->name) == n && memcmp(v->name, line, n) == 0)
			return v;
	return NULL;
}

/* Blocking from now on, but not for ever. */
static void
limit_writes(int fd, int seconds)
{
	struct timeval tv = { .tv_sec = seconds };
	long flags = fd_control(fd, F_GETFL, 0);

	fd_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
	fd_control(fd, F_SETFL, flags & ~O_NONBLOCK);
}

static void
serve(int fd, const struct debug_verb *v, const char *line)
{
	const char *words = line + strlen(v->name);
	int err;

	limit_writes(fd, v->slow ? SLOW_SECONDS : QUICK_SECONDS);
	err = v->serve(fd, words + (*words == ' '));
	if (err && err != -EPIPE && err != -EAGAIN)
		tell(fd, "error: %s\n", weft_strerror(err));
}

/* ---- answers that take long ---- */

static struct job *
free_job(void)
{
	for (int i = 0; i < JOBS; i++)
		/* pairs with fd_drop: its last user is done */
		if (!a_load_acq(&server.jobs[i].fd))
			return &server.jobs[i];
	return NULL;
}

static void
job_main(void *arg)
{
	struct job *j = arg;

	serve(fd_of(&j->fd), j->verb, j->line);
	fd_drop(&j->fd);
}

/* The job has the client's descriptor from now on. */
static void
start_job(struct client *c, const struct debug_verb *v)
{
	struct job *j = free_job();
	int fd = fd_of(&c->fd);

	if (!j) {
		tell(fd, "error: busy\n%s", "");
		fd_drop(&c->fd);
		return;
	}
	j->verb = v;
	memcpy(j->line, c->line, sizeof j->line);
	fd_store(&j->fd, fd);
	a_store_relaxed(&c->fd, 0);
	if (helper_start(job_main, j) != 0) {
		tell(fd, "error: no thread\n%s", "");
		fd_drop(&j->fd);
	}
}

/* ---- a client ---- */

/* A whole line is there, ended by a NUL. */
static void
answer(struct client *c)
{
	const struct debug_verb *v = find_verb(c->line);

	if (v && v->slow) {
		start_job(c, v);
		return;
	}
	if (v)
		serve(fd_of(&c->fd), v, c->line);
	else
		tell(fd_of(&c->fd), "error: no verb \"%s\"; try help\n",
		    c->line);
	fd_drop(&c->fd);
}

/*
 * Ends the line there, or before a carriage return. True if it is printable
 * ASCII: what is told back harms no terminal.
 */
static bool
end_line(char *line, char *end)
{
	if (end > line && end[-1] == '\r')
		end--;
	*end = 0;
	for (; line < end; line++)
		if (*line < ' ' || *line > '~')
			return false;
	return true;
}

/* It has sent so many bytes. */
static void
take_bytes(struct client *c, size_t n)
{
	char *end = memchr(c->line + c->n, '\n', n);

	c->n += n;
	if (!end && c->n < sizeof c->line)
		return;
	if (end && end_line(c->line, end)) {
		answer(c);
		return;
	}
	tell(fd_of(&c->fd), "error: %s\n", "not a line of text");
	fd_drop(&c->fd);
}

static void
read_line(struct client *c)
{
	long n = fd_recv(fd_of(&c->fd), c->line + c->n, sizeof c->line - c->n,
	    MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n > 0)
		take_bytes(c, (size_t)n);
	else if (n == -EBADF || n == -ENOTSOCK)
		a_store_relaxed(&c->fd, 0);	/* the program closed it */
	else
		fd_drop(&c->fd);
}

static bool
may_ask(int fd)
{
	struct { int32_t pid; uint32_t uid, gid; } peer = { 0, UINT32_MAX, 0 };
	unsigned len = sizeof peer;

	return fd_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	    (peer.uid == 0 || peer.uid ==
	    (uint32_t)syscall6(SYS_geteuid, 0, 0, 0, 0, 0, 0));
}

/* A free place, or that of the client that has waited longest. */
static struct client *
place(void)
{
	struct client *oldest = &server.clients[0];

	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &server.clients[i];

		if (fd_of(&c->fd) < 0)
			return c;
		if (c->until < oldest->until)
			oldest = c;
	}
	fd_drop(&oldest->fd);
	return oldest;
}

/* False if there is none. If descriptors are used up the client stays where it
 * is, and the socket is not looked at for a while. */
static bool
accept_one(void)
{
	long fd = os_fd_move_high(syscall6(SYS_accept4, fd_of(&server.fd), 0,
	    0, SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0));
	struct client *c;

	if (fd < 0) {
		if (fd != -EAGAIN && fd != -EINTR && fd != -ECONNABORTED)
			server.listen_at = os_now_ns() + REST_NS;
		return false;
	}
	if (!may_ask((int)fd)) {
		tell((int)fd, "error: %s\n", "not the user of this process");
		fd_close((int)fd);
		return true;
	}
	c = place();
	c->n = 0;
	c->until = os_now_ns() + LINE_NS;
	fd_store(&c->fd, (int)fd);
	read_line(c);		/* most often it is there already */
	return true;
}

/* ---- the helper ---- */

static int64_t
drop_late(int64_t now)
{
	int64_t next = NEVER_NS;

	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &server.clients[i];

		if (fd_of(&c->fd) < 0)
			continue;
		if (c->until <= now)
			fd_drop(&c->fd);
		else if (c->until < next)
			next = c->until;
	}
	return next;
}

static long
wait_until(struct pollfd *p, int64_t next, int64_t now)
{
	int64_t ns = next > now ? next - now : 0;
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	for (int i = 0; i < CLIENTS; i++)
		p[i] = (struct pollfd){ .fd = fd_of(&server.clients[i].fd),
		    .events = POLLIN };
	p[CLIENTS] = (struct pollfd){ .fd = fd_of(&server.fd),
	    .events = server.listen_at > now ? 0 : POLLIN };
	return syscall6(SYS_ppoll, (long)p, CLIENTS + 1,
	    next == NEVER_NS ? 0 : (long)&ts, 0, 0, 0);
}

/* False if the socket is no longer ours to listen to. */
static bool
serve_ready(const struct pollfd *p)
{
	for (int i = 0; i < CLIENTS; i++)
		if (p[i].revents && fd_of(&server.clients[i].fd) == p[i].fd)
			read_line(&server.clients[i]);
	if (p[CLIENTS].revents & ~POLLIN)
		return false;
	for (int n = 0; n < CLIENTS && p[CLIENTS].revents; n++)
		if (!accept_one())
			break;
	return true;
}

static void
close_all(void)
{
	for (int i = 0; i < CLIENTS; i++)
		fd_drop(&server.clients[i].fd);
	fd_drop(&server.fd);
}

/* Until the closer is done with path and descriptor. */
static void
wait_shut(void)
{
	/* pairs with weft_debug_close */
	while (a_load_acq(&server.state) != SHUT)
		os_sleep_ns(SHUT_NS);
}

static void
server_main(void *arg)
{
	struct pollfd p[CLIENTS + 1];
	bool ours = true;

	(void)arg;
	/* pairs with weft_debug_close */
	while (ours && a_load_acq(&server.state) == OPEN) {
		int64_t now = os_now_ns(), next = drop_late(now), tick;

		tick = debug_socket_tick ? debug_socket_tick(now) : NEVER_NS;
		if (tick < next)
			next = tick;
		if (server.listen_at > now && server.listen_at < next)
			next = server.listen_at;
		if (wait_until(p, next, now) > 0)
			ours = serve_ready(p);
	}
	/* Not ours: the program closed it, the number may be another file. */
	if (!ours && a_cas_acq(&server.state, OPEN, SHUT))
		a_store_relaxed(&server.fd, 0);
	wait_shut();
	close_all();
	a_store_rel(&server.state, CLOSED);	/* pairs with take_over */
}

/* ---- beginning and end ---- */

static void
forked(void)
{
	close_all();
	for (int i = 0; i < JOBS; i++)
		fd_drop(&server.jobs[i].fd);
	a_store_relaxed(&server.state, CLOSED);
}

/* By exit: of the process that opened it. */
static void
remove_at_exit(void)
{
	if (weft_debug_path() &&
	    server.pid == (int)syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0))
		debug_path_remove(server.path, &server.file);
}

static bool
register_once(void)
{
	static bool done;

	if (!done && (pthread_atfork(NULL, NULL, forked) != 0 ||
	    atexit(remove_at_exit) != 0))
		return false;
	return done = true;
}

static int
start(const char *asked)
{
	int err = debug_path_choose(asked, server.path);
	long fd;

	if (err)
		return err;
	if (!register_once())
		return -ENOMEM;
	fd = debug_path_listen(server.path, &server.file);
	if (fd < 0)
		return (int)fd;
	server.pid = (int)syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
	fd_store(&server.fd, (int)fd);
	a_store_rel(&server.state, OPEN);	/* pairs with server_main */
	err = helper_start(server_main, NULL);
	if (err) {
		/* Another thread may be closing it: waits for that one. */
		if (a_cas_acq(&server.state, OPEN, SHUT))
			debug_path_remove(server.path, &server.file);
		wait_shut();
		fd_drop(&server.fd);
	}
	return err;
}

public int
weft_debug_listen(const char *path)
{
	int err;

	/* pairs with server_main: it has closed all. CLOSING: neither open nor
	 * to be opened by another. */
	if (!a_cas_acq(&server.state, CLOSED, CLOSING))
		return -EBUSY;
	err = start(path);
	if (err)
		a_store_rel(&server.state, CLOSED);	/* as in server_main */
	return err;
}

public void
weft_debug_close(void)
{
	/* pairs with server_main */
	if (!a_cas_acqrel(&server.state, OPEN, CLOSING))
		return;
	debug_path_remove(server.path, &server.file);
	/* Wakes the helper, which closes it. */
	syscall6(SYS_shutdown, fd_of(&server.fd), SHUT_RDWR, 0, 0, 0, 0);
	a_store_rel(&server.state, SHUT);	/* pairs with server_main */
}

public const char *
weft_debug_path(void)
{
	/* pairs with start */
	return a_load_acq(&server.state) == OPEN ? server.path : NULL;
}

static void
boot(void)
{
	char path[DEBUG_PATH_BYTES];
	int err;

	if (!debug_env("socket", path, sizeof path))
		return;
	err = weft_debug_listen(path);
	if (err && err != -EBUSY)
		say("weft: WEFT_DEBUG: no debug socket at \"%s\": %s\n",
		    server.path, weft_strerror(err));
}

static struct run_hook hook = { .boot = boot, .end = weft_debug_close };

__attribute__((constructor)) static void
add_hook(void)
{
	run_hook_add(&hook);
}
