/* SPDX-License-Identifier: MIT */
/*
 * Whole files: read into memory, or written from it.
 *
 * A file may grow or shrink while it is read, and one of /proc has no size
 * beforehand. So its size is only a hint for the first buffer, and the end is
 * where read finds it.
 */
#include "contents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "weft.h"

enum { FIRST_BYTES = 4096, OFFSET_BYTES = 256 * 1024 };

bool
contents_grow(struct contents *c, size_t want, size_t max)
{
	size_t cap = c->cap > max / 2 ? max : 2 * c->cap;
	char *buf;

	if (want < FIRST_BYTES)
		want = FIRST_BYTES;
	if (cap < want)
		cap = want < max ? want : max;
	buf = realloc(c->buf, cap + 1);
	if (!buf)
		return false;
	c->buf = buf;
	c->cap = cap;
	return true;
}

/* By offset a read need not take a thread (file_at.c), if it is not large. */
static ssize_t
read_more(const struct contents *c, int fd, void *buf, size_t n)
{
	ssize_t got = c->by_offset ? weft_pread(fd, buf,
	    n < OFFSET_BYTES ? n : OFFSET_BYTES, (off_t)c->len) : -ESPIPE;

	return got == -ESPIPE ? weft_read(fd, buf, n) : got;
}

/* A full buffer is the end only if there is not one byte more. */
int
contents_read(struct contents *c, int fd, size_t max)
{
	char more;
	ssize_t n;

	do {
		if (c->len == c->cap && (c->cap < max || !c->buf) &&
		    !contents_grow(c, 0, max))
			return -ENOMEM;
		n = c->len < c->cap ?
		    read_more(c, fd, c->buf + c->len, c->cap - c->len) :
		    read_more(c, fd, &more, 1);
		if (n > 0 && c->len == c->cap)
			return -EMSGSIZE;
		if (n > 0)
			c->len += (size_t)n;
	} while (n > 0);
	if (n == 0)
		c->buf[c->len] = '\0';
	return (int)n;
}

/*
 * One byte more than there are: the read that finds the end needs room. 0: it
 * is not known, or what is no plain file.
 */
static size_t
expected(int fd)
{
	struct stat st;

	if (weft_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size < 0 || (uint64_t)st.st_size >= SIZE_MAX)
		return 0;
	return (size_t)st.st_size + 1;
}

public int
weft_read_file(const char *path, size_t max, char **out, size_t *len)
{
	struct contents c = {0};
	int fd = weft_open(path, O_RDONLY, 0), err = fd < 0 ? fd : 0;
	size_t bytes = err ? 0 : expected(fd);

	if (max > SIZE_MAX / 2)
		max = SIZE_MAX / 2;
	c.by_offset = bytes > 1;	/* not in /proc */
	if (!err && !contents_grow(&c, bytes, max))
		err = -ENOMEM;
	if (!err)
		err = contents_read(&c, fd, max);
	if (fd >= 0)
		weft_close(fd);
	if (err) {
		free(c.buf);
		c = (struct contents){0};
	}
	*out = c.buf;
	if (len)
		*len = c.len;
	return err;
}

public int
weft_write_file(const char *path, const void *data, size_t len, mode_t mode)
{
	int fd = weft_open(path, O_WRONLY | O_CREAT | O_TRUNC, mode), err;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	if (len)
		n = weft_write_full(fd, data, len, NULL);
	/* A file system may report only now that it could not write. */
	err = weft_close(fd);
	return n < 0 ? (int)n : (size_t)n < len ? -EIO : err;
}
