/* SPDX-License-Identifier: MIT */
/* https: a layer of TLS, by libweft-tls. */
#include "http.h"

#include <weft/tls.h>

static void *
tls_open(void *arg, int fd)
{
	weft_tls *c;

	return weft_tls_server(&c, arg, fd) == 0 ? c : NULL;
}

static ssize_t
tls_read(void *l, void *buf, size_t len)
{
	return weft_tls_read(l, buf, len);
}

static ssize_t
tls_write(void *l, const struct iovec *v, int n, size_t *done)
{
	return weft_tls_writev(l, v, n, done);
}

static bool
tls_buffered(void *l)
{
	return weft_tls_buffered(l);
}

static void
tls_end(void *l)
{
	weft_tls_shutdown(l);
}

static void
tls_close(void *l)
{
	weft_tls_free(l);
}

const struct http_layer http_tls = { tls_open, tls_read, tls_write,
    tls_buffered, tls_end, tls_close };
