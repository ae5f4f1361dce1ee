/* SPDX-License-Identifier: MIT */
/*
 * Files. The path of a request is decoded first and judged then, so that there
 * is one way only to write what is forbidden: no part of it may begin with a
 * dot, which is "..", too. It is then a name below the folder, by the kernel's
 * reading as well as ours, but for symbolic links. So the names in it are
 * opened one after the other, each in the folder that was opened before, and
 * none of them may be a link: also if another process puts one there meanwhile.
 * (openat2 would do that at once. But a program that calls the kernel itself is
 * not preempted by signals.)
 */
#define _GNU_SOURCE 1
#include "folder.h"
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft.h>

/* O_NONBLOCK: there may be a FIFO of that name. */
enum {
	TO_READ = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
	TO_ENTER = O_PATH | O_DIRECTORY | O_CLOEXEC
};

static const char *
type_of(const char *name)
{
	static const char *const known[][2] = {
		{ "html", "text/html; charset=utf-8" },
		{ "htm", "text/html; charset=utf-8" },
		{ "css", "text/css; charset=utf-8" },
		{ "js", "text/javascript; charset=utf-8" },
		{ "json", "application/json" },
		{ "txt", "text/plain; charset=utf-8" },
		{ "md", "text/plain; charset=utf-8" },
		{ "c", "text/plain; charset=utf-8" },
		{ "h", "text/plain; charset=utf-8" },
		{ "svg", "image/svg+xml" }, { "png", "image/png" },
		{ "jpg", "image/jpeg" }, { "jpeg", "image/jpeg" },
		{ "gif", "image/gif" }, { "webp", "image/webp" },
		{ "ico", "image/x-icon" }, { "pdf", "application/pdf" },
		{ "wasm", "application/wasm" }, { "woff2", "font/woff2" },
		{ "xml", "application/xml" }, { "mp4", "video/mp4" },
		{ "gz", "application/gzip" }, { "zip", "application/zip" }
	};
	const char *slash = strrchr(name, '/');
	const char *dot = strrchr(slash ? slash : name, '.');

	for (size_t i = 0; dot && i < sizeof known / sizeof known[0]; i++)
		if (strcasecmp(dot + 1, known[i][0]) == 0)
			return known[i][1];
	return "application/octet-stream";
}

/* ---- names ------------------------------------------------------------- */

/* No part begins with a dot, but for one name that is meant to. */
static bool
is_shown(const char *path)
{
	static const char known[] = "/.well-known/";

	if (strncmp(path, known, sizeof known - 1) == 0)
		path += sizeof known - 2;
	return !strstr(path, "/.");
}

/* The file's name, which does not end in '/': 0, or the status to answer
 * with. */
static int
name_of(const struct http_request *r, const char *folder, char *name,
    size_t cap)
{
	static const char index[] = "index.html";
	size_t n = strlen(folder);
	ssize_t len;

	if (n >= cap)
		return 500;
	memcpy(name, folder, n);
	len = http_decode(r->path, name + n, cap - n);
	if (len < 0)
		return len == -EINVAL ? 400 : 404;
	if (name[n] != '/' || !is_shown(name + n))
		return 404;
	n += (size_t)len;
	if (name[n - 1] != '/')
		return 0;
	if (n + sizeof index > cap)
		return 404;
	memcpy(name + n, index, sizeof index);
	return 0;
}

/* A folder without the slash at its end: relative links in it would be wrong.
 * One slash only at the beginning: two would mean another host. */
static void
redirect(struct http *h, const struct http_request *r)
{
	char to[PATH_MAX];
	size_t skip = 0;
	int n;

	while (skip + 1 < r->path.len && r->path.at[skip + 1] == '/')
		skip++;
	n = snprintf(to, sizeof to, "%.*s/%s%.*s", (int)(r->path.len - skip),
	    r->path.at + skip, r->query.len ? "?" : "", (int)r->query.len,
	    r->query.at);
	if (n >= (int)sizeof to) {
		http_error(h, 414);
		return;
	}
	http_begin(h, 301);
	http_header(h, "Location", to);
	http_body(h, 0);
}

/* ---- parts of files ---------------------------------------------------- */

struct range {
	int64_t from, len;
};

/* Digits at *s, at most up to end: the number, or -1 if there are none. */
static int64_t
digits(const char **s, const char *end)
{
	int64_t n = -1;

	for (; *s < end && **s >= '0' && **s <= '9'; (*s)++) {
		n = n < 0 ? 0 : n;
		n = n > INT64_MAX / 10 - 1 ? INT64_MAX / 10 :
		    n * 10 + (**s - '0');
	}
	return n;
}

/*
 * "bytes=1-9", "bytes=5-", "bytes=-5": 206, or 416 if the file has none of
 * these, or 200: it is something else, which may be ignored.
 */
static int
range_of(struct http_text t, int64_t size, struct range *r)
{
	const char *s = t.at, *end = t.at + t.len;
	int64_t from, to;

	if (t.len < 6 || strncasecmp(s, "bytes=", 6) != 0)
		return 200;
	s += 6;
	from = digits(&s, end);
	if (s == end || *s++ != '-')
		return 200;
	to = digits(&s, end);
	if (s != end || (from < 0 && to < 0) ||
	    (from >= 0 && to >= 0 && to < from))
		return 200;
	if (from < 0) {		/* the last so many */
		from = to > size ? 0 : size - to;
		to = size - 1;
	} else if (to < 0 || to >= size) {
		to = size - 1;
	}
	if (from >= size)
		return 416;
	*r = (struct range){ from, to + 1 - from };
	return 206;
}

/* Is a part of this file asked for, and of the version that we have? */
static int
part(const struct http_request *q, const struct stat *st, struct range *r)
{
	struct http_text range = http_field(q, "range");
	struct http_text of = http_field(q, "if-range");

	*r = (struct range){ 0, st->st_size };
	if (q->method != HTTP_GET || !range.at ||
	    (of.at && http_date_parse(of) != st->st_mtime))
		return 200;
	return range_of(range, st->st_size, r);
}

/* ---- answers ----------------------------------------------------------- */

static bool
is_unchanged(const struct http_request *r, const struct stat *st)
{
	struct http_text t = http_field(r, "if-modified-since");

	return t.at && http_date_parse(t) >= st->st_mtime;
}

static void
send_head(struct http *h, int status, const char *name, const struct stat *st,
    struct range r)
{
	char date[HTTP_DATE + 1] = {0}, span[80];

	http_begin(h, status);
	http_date(st->st_mtime, date);
	http_header(h, "Last-Modified", date);
	if (status == 304)
		return;
	http_header(h, "Accept-Ranges", "bytes");
	if (status == 206)
		snprintf(span, sizeof span, "bytes %lld-%lld/%lld",
		    (long long)r.from, (long long)(r.from + r.len - 1),
		    (long long)st->st_size);
	else
		snprintf(span, sizeof span, "bytes */%lld",
		    (long long)st->st_size);
	if (status != 200)
		http_header(h, "Content-Range", span);
	if (status != 416)
		http_header(h, "Content-Type", type_of(name));
}

static void
send_open(struct http *h, const struct http_request *q, const char *name,
    int fd, const struct stat *st)
{
	struct range r = {0};
	int status = is_unchanged(q, st) ? 304 : part(q, st, &r);

	if (status == 416)
		r.len = 0;
	send_head(h, status, name, st, r);
	http_body(h, r.len);
	http_send_file(h, fd, r.from, r.len);
}

static int
status_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return 403;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return 503;
	case -EIO:
		return 500;
	}
	return 404;
}

/* Opens what the path names below a folder; or -errno. */
static int
walk(int folder, char *path)
{
	int dir = folder;

	for (;;) {
		char *end, last;
		int fd, err;

		path += strspn(path, "/");
		end = path + strcspn(path, "/");
		last = *end;
		*end = 0;
		fd = openat(dir, path, O_NOFOLLOW |
		    (last ? TO_ENTER : TO_READ));
		err = -errno;
		*end = last;
		if (dir != folder)
			close(dir);
		if (fd < 0 || !last)
			return fd < 0 ? err : fd;
		dir = fd;
		path = end;
	}
}

/*
 * A number, or -errno. Links above the folder, and itself, are followed. The
 * number did not come from weft, which may still be closing an older file of
 * that number.
 */
static int
open_below(const char *folder, char *name)
{
	struct folder *f;
	int fd;

	f = folder_take(folder, &fd);
	if (!f)
		return fd;
	weft_blocking_enter();
	fd = walk(folder_fd(f), name + strlen(folder));
	weft_blocking_leave();
	folder_release(f);
	if (fd >= 0)
		weft_fd_replaced(fd);
	return fd;
}

static void
send_name(struct http *h, const struct http_request *r, const char *name,
    int fd)
{
	struct stat st;

	if (fd < 0) {
		http_error(h, status_of(fd));
		return;
	}
	if (fstat(fd, &st) != 0)
		http_error(h, 500);
	else if (S_ISDIR(st.st_mode) && r->path.at[r->path.len - 1] != '/')
		redirect(h, r);
	else if (S_ISREG(st.st_mode))
		send_open(h, r, name, fd, &st);
	else
		http_error(h, 404);
	weft_close(fd);
}

static void
serve(struct http *h, const struct http_request *r, const char *folder,
    bool links)
{
	char name[PATH_MAX];
	int status;

	if (r->method != HTTP_GET && r->method != HTTP_HEAD) {
		http_begin(h, 405);
		http_header(h, "Allow", "GET, HEAD");
		http_body(h, 0);
		return;
	}
	status = name_of(r, folder, name, sizeof name);
	if (status)
		http_error(h, status);
	else
		send_name(h, r, name, links ? weft_open(name, TO_READ, 0) :
		    open_below(folder, name));
}

void
http_static(struct http *h, const struct http_request *r, void *arg)
{
	serve(h, r, arg, false);
}

void
http_static_links(struct http *h, const struct http_request *r, void *arg)
{
	serve(h, r, arg, true);
}
