/* SPDX-License-Identifier: MIT */
/*
 * Listening: at the first of the addresses that this machine has.
 *
 * The file of a UNIX socket outlives its socket, so that a server that was
 * killed leaves a stale file. One without a listener, which a connect tells, is
 * removed; only sockets are ever removed. (Two servers that start at the same
 * time may both find the old file stale. The kernel has no way to replace it
 * atomically; the first server then listens on a file without a name.)
 *
 * The mode of that file is set on the socket before it has a name, so that it
 * never has more permissions than were asked for. The kernel applies the umask;
 * what that took away is added afterwards by chmod, and before listen.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "desc.h"
#include "netcall.h"
#include "options.h"
#include "resolve.h"
#include "tcp_options.h"

/* ---- UNIX sockets ---- */

/* The path, or NULL: it has none, or an abstract name. */
static const char *
path_of(const weft_address *a)
{
	const struct sockaddr_un *un = (const void *)address_get(a);

	return a->family == AF_UNIX && a->len > sizeof un->sun_family &&
	    un->sun_path[0] ? un->sun_path : NULL;
}

/* 0 or -errno. Does not follow links. */
static int
lstat_path(const char *path, struct stat *st)
{
	return (int)syscall6(SYS_newfstatat, AT_FDCWD, (long)path, (long)st,
	    AT_SYMLINK_NOFOLLOW, 0, 0);
}

static void
remove_path(const char *path)
{
	syscall6(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

/* Is there the file of a socket, without a listener? */
static bool
is_stale_socket(const weft_address *a)
{
	struct stat st;
	int fd, err;

	if (lstat_path(path_of(a), &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = net_socket(AF_UNIX, a->type, 0);
	if (fd < 0)
		return false;
	err = net_connect(fd, a);
	fd_close(fd);
	return err == -ECONNREFUSED;
}

static int
set_mode(const char *path, mode_t mode)
{
	struct stat st;
	int err = lstat_path(path, &st);

	if (err || (st.st_mode & 07777) == mode)
		return err;
	return (int)syscall6(SYS_fchmodat, AT_FDCWD, (long)path, (long)mode,
	    0, 0, 0);
}

static int
bind_path(int fd, const weft_address *a, mode_t mode)
{
	const char *path = path_of(a);
	int err;

	if (mode)
		syscall6(SYS_fchmod, fd, (long)mode, 0, 0, 0, 0);
	err = net_bind(fd, a);
	if (err == -EADDRINUSE && is_stale_socket(a)) {
		remove_path(path);
		err = net_bind(fd, a);
	}
	if (err || !mode)
		return err;
	err = set_mode(path, mode);
	if (err)
		remove_path(path);
	return err;
}

/* ---- one address ---- */

static int
set_options(int fd, const weft_address *a, bool v6_only,
    const weft_listen_options *opt)
{
	int err = 0;

	if (a->family == AF_UNIX)
		return 0;
	/* Set in both cases: the default is a setting of the system. */
	if (a->family == AF_INET6)
		err = net_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6_only);
	if (!err && a->type == SOCK_STREAM)
		err = net_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (!err && opt->reuse_port)
		err = net_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!err && a->protocol == IPPROTO_TCP)
		err = netopt_tcp(fd, false, opt->keepalive);
	return err;
}

/* The kernel limits the backlog to its maximum. */
static int
bind_and_listen(int fd, const weft_address *a, const weft_listen_options *opt)
{
	int err = path_of(a) ? bind_path(fd, a, opt->mode) :
	    net_bind(fd, a);

	if (err || a->type == SOCK_DGRAM)
		return err;
	err = net_listen(fd, opt->backlog ? opt->backlog : INT_MAX);
	if (err && path_of(a))
		remove_path(path_of(a));
	return err;
}

static int
listen_at(const weft_address *a, bool v6_only, const weft_listen_options *opt)
{
	int fd = net_socket(a->family, a->type, a->protocol);
	int err;

	if (fd < 0)
		return fd;
	err = set_options(fd, a, v6_only, opt);
	if (!err)
		err = bind_and_listen(fd, a, opt);
	if (err) {
		fd_close(fd);
		return err;
	}
	if (a->type == SOCK_STREAM && a->protocol == IPPROTO_TCP)
		desc_new_tcp(fd);
	else
		desc_new_fd(fd);
	return fd;
}

/* ---- which address ---- */

/* The network without version 4; NULL if nothing is left. */
static const char *
only_v6(const char *network)
{
	if (strncmp(network, "tcp", 3) == 0)
		return strcmp(network, "tcp4") != 0 ? "tcp6" : NULL;
	if (strncmp(network, "udp", 3) == 0)
		return strcmp(network, "udp4") != 0 ? "udp6" : NULL;
	return network;
}

/* Not -EADDRINUSE: a listener for both versions must not get only one. */
static bool
is_elsewhere(int err)
{
	return err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL;
}

public int
weft_listen_opt(const char *network, const char *address,
    const weft_listen_options *opt, size_t size)
{
	weft_listen_options o;
	struct dial_deadline limit = dial_deadline_of(NULL);
	struct found *f;
	bool v6_only;
	int first = 0, r = options_copy(&o, sizeof o, opt, size);

	if (r)
		return r;
	if (network && o.v6_only)
		network = only_v6(network);
	r = o.backlog < 0 ? -EINVAL :
	    resolve(network, address, true, &limit, &f);
	if (r < 0)
		return r;
	v6_only = strchr(network, '6') != NULL;
	r = -EAFNOSUPPORT;
	for (size_t i = 0; i < f->n && is_elsewhere(r); i++) {
		r = listen_at(&f->at[i], v6_only, &o);
		first = i == 0 ? r : first;
	}
	free(f);
	return r < 0 ? first : r;
}

public int
weft_listen(const char *network, const char *address)
{
	return weft_listen_opt(network, address, NULL, 0);
}
