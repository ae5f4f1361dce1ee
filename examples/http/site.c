/* SPDX-License-Identifier: MIT */
/* What the program serves: an example of handlers. */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

static const char hello[] = "Hello, world!\n";

static bool
is_path(const struct http_request *r, const char *path)
{
	return r->path.len == strlen(path) &&
	    memcmp(r->path.at, path, r->path.len) == 0;
}

/* The query as a number of at most six digits. */
static long
asked(const struct http_request *r)
{
	long n = 0;

	for (size_t i = 0; i < r->query.len && i < 6; i++)
		if (r->query.at[i] >= '0' && r->query.at[i] <= '9')
			n = n * 10 + (r->query.at[i] - '0');
	return n;
}

/* What comes goes back, while it still comes; of the same length, if that is
 * known. */
static void
echo(struct http *h, const struct http_request *r)
{
	char buf[8192];
	ssize_t n;

	if (r->method != HTTP_POST && r->method != HTTP_PUT) {
		http_begin(h, 405);
		http_header(h, "Allow", "POST, PUT");
		http_body(h, 0);
		return;
	}
	n = http_read(h, buf, sizeof buf);
	if (n < 0)
		return;
	http_begin(h, 200);
	http_header(h, "Content-Type", "application/octet-stream");
	http_body(h, r->length);
	while (n > 0 && http_write(h, buf, (size_t)n) == 0)
		n = http_read(h, buf, sizeof buf);
}

static void
count(struct http *h, long n)
{
	char line[32];

	http_begin(h, 200);
	http_header(h, "Content-Type", "text/plain");
	http_body(h, HTTP_CHUNKED);
	for (long i = 1; i <= n; i++) {
		int len = snprintf(line, sizeof line, "%ld\n", i);

		if (http_write(h, line, (size_t)len) != 0)
			return;
	}
}

/* For Prometheus. A text that grows between the two calls is tried again. */
static void
metrics(struct http *h)
{
	size_t cap = 0, n;
	char *text = NULL;

	while ((n = weft_metrics_text(text, cap)) >= cap) {
		free(text);
		text = malloc(cap = n + 1024);
		if (!text) {
			http_error(h, 503);
			return;
		}
	}
	http_reply(h, 200, "text/plain; version=0.0.4", text, n);
	free(text);
}

static void
answer(struct http *h, const struct http_request *r, void *arg,
    http_handler *files)
{
	if (is_path(r, "/hello") || (!arg && is_path(r, "/"))) {
		http_reply(h, 200, "text/plain", hello, sizeof hello - 1);
	} else if (is_path(r, "/echo")) {
		echo(h, r);
	} else if (is_path(r, "/count")) {
		count(h, asked(r));
	} else if (is_path(r, "/metrics")) {
		metrics(h);
	} else if (is_path(r, "/wait")) {
		weft_sleep(asked(r) * WEFT_MS);
		http_reply(h, 200, "text/plain", hello, sizeof hello - 1);
	} else if (arg) {
		files(h, r, arg);
	} else {
		http_error(h, 404);
	}
}

void
site(struct http *h, const struct http_request *r, void *arg)
{
	answer(h, r, arg, http_static);
}

void
site_links(struct http *h, const struct http_request *r, void *arg)
{
	answer(h, r, arg, http_static_links);
}
