/* SPDX-License-Identifier: MIT */
/* Text on its way: see the header. */
#include "sink.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "fatal.h"
#include "rawcall.h"

enum { PIECE_BYTES = 700 };

int
sink_flush(struct sink *s)
{
	if (s->n && !s->err)
		s->err = s->drain(s, s->buf, s->n);
	s->n = 0;
	return s->err;
}

void
sink_write(struct sink *s, const char *text, size_t n)
{
	s->total += n;
	while (n && !s->err) {
		size_t some = s->cap - s->n < n ? s->cap - s->n : n;

		memcpy(s->buf + s->n, text, some);
		s->n += some;
		text += some;
		n -= some;
		if (s->n == s->cap)
			sink_flush(s);
	}
}

void
sink_add(struct sink *s, const char *fmt, ...)
{
	char piece[PIECE_BYTES];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = format_list(piece, sizeof piece, fmt, &ap);
	va_end(ap);
	sink_write(s, piece, n);
}

static int
drain_to_fd(struct sink *sink, const char *text, size_t n)
{
	struct fd_sink *s = container_of(sink, struct fd_sink, sink);

	while (n) {
		long r = syscall6(SYS_write, s->fd, (long)text, (long)n, 0, 0,
		    0);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			return r ? (int)r : -EIO;
		text += r;
		n -= (size_t)r;
	}
	return 0;
}

void
fd_sink_init(struct fd_sink *s, int fd, char *buf, size_t cap)
{
	*s = (struct fd_sink){
		.sink = { .drain = drain_to_fd, .buf = buf, .cap = cap },
		.fd = fd
	};
}
