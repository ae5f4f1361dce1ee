/* SPDX-License-Identifier: MIT */
/*
 * A small HTTP/1.1 server on weft, to be used or to be read.
 *
 *	static void
 *	hello(struct http *h, const struct http_request *r, void *arg)
 *	{
 *		http_reply(h, 200, "text/plain", "Hello, world!\n", 14);
 *	}
 *
 *	int fd = weft_listen("tcp", "127.0.0.1:8080");
 *	struct http_options o = { .handler = hello };
 *	struct http_server *s = http_server_start(fd, &o);
 *	...
 *	http_server_stop(s, weft_deadline(10 * WEFT_SECOND));
 *
 * A handler is plain blocking code in the connection's goroutine. What it is
 * given (the request, and all text in it) lives until it returns. Answers of
 * requests that came together leave together, when there is nothing left to
 * answer.
 *
 * The files, in reading order: parse.c a request's bytes; wire.c a connection's
 * buffers and time limits; body.c what a client sends after its head; reply.c
 * what we answer; server.c connections, beginning and end; static.c files;
 * date.c dates; https.c TLS, if there is weft's library for it. main.c and
 * selftest.c are the program around it.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* ---- a request --------------------------------------------------------- */

/* Some bytes, without a NUL after them. */
struct http_text {
	const char *at;
	size_t len;
};

struct http_field {
	struct http_text name, value;
};

enum http_method {
	HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_DELETE, HTTP_PATCH,
	HTTP_OPTIONS,
	HTTP_OTHER		/* never seen by a handler: 501 */
};

enum {
	HTTP_FIELDS = 64,	/* header lines a request may have, at most */
	HTTP_CHUNKED = -1	/* a length that is not known before */
};

struct http_request {
	enum http_method method;
	int minor;			/* of its version, 1.0 or 1.1 */
	bool keep_alive;		/* the connection goes on after it */
	bool expects;			/* "Expect: 100-continue" */
	int64_t length;			/* of its body; 0: none; HTTP_CHUNKED */
	struct http_text method_name;
	struct http_text target;	/* as it came */
	struct http_text path;		/* from the '/', not decoded; or "*" */
	struct http_text query;		/* behind the '?', or empty */
	struct http_text host;
	unsigned n_fields;
	struct http_field fields[HTTP_FIELDS];
};

/* Are these the same, whatever the case of letters? */
bool http_text_is(struct http_text t, const char *word);
/* The value of the first header line of that name; .at is NULL if none. */
struct http_text http_field(const struct http_request *r, const char *name);
/*
 * Undoes %41 and the like and adds a NUL. The length, or -EINVAL: bad digits
 * or a NUL in it; -ENAMETOOLONG.
 */
ssize_t http_decode(struct http_text t, char *out, size_t cap);

/* ---- handlers ---------------------------------------------------------- */

struct http;

typedef void http_handler(struct http *h, const struct http_request *r,
    void *arg);

/*
 * Bytes of the request's body: how many, 0 at its end, or -errno: -EMSGSIZE if
 * there are more than max_body, -EBADMSG if it is no proper body, -ETIMEDOUT,
 * -EPIPE if the connection ended before it did. A handler may stop there: it
 * is answered as the error deserves (413, 400, 408), if it was not before.
 */
ssize_t http_read(struct http *h, void *buf, size_t len);

/*
 * The whole answer. Results here and below are 0 or -errno, when the client
 * has gone, say; it sticks, so that it need not be looked at each time. A
 * second answer is -EALREADY.
 */
int http_reply(struct http *h, int status, const char *type,
    const void *body, size_t len);
/* The same, with the status as its text. */
int http_error(struct http *h, int status);

/*
 * The answer in pieces: begin, any number of header lines, and then the body's
 * length or HTTP_CHUNKED; then pieces of it. It ends when the handler returns;
 * if bytes are missing then, the connection is cut so that the client knows.
 * A body for HEAD is swallowed. -EINVAL: a header line with a line break.
 */
int http_begin(struct http *h, int status);
int http_header(struct http *h, const char *name, const char *value);
int http_body(struct http *h, int64_t length);
int http_write(struct http *h, const void *data, size_t len);
/* From a file, by sendfile. */
int http_send_file(struct http *h, int file, off_t at, int64_t len);
/* What was written goes out now and not when it is convenient. */
int http_flush(struct http *h);

/* ---- a server ---------------------------------------------------------- */

/*
 * What is between the server and its sockets, as TLS is. open begins it on a
 * connection: NULL if memory is refused. The others have what that returned:
 * read is as weft_read; write writes all, or returns -errno and how much was
 * taken; buffered: a read need not wait for the socket; end says that no more
 * will be written; close also closes the socket. Deadlines are the socket's.
 */
struct iovec;
struct http_layer {
	void *(*open)(void *arg, int fd);
	ssize_t (*read)(void *l, void *buf, size_t len);
	ssize_t (*write)(void *l, const struct iovec *v, int n, size_t *done);
	bool (*buffered)(void *l);
	void (*end)(void *l);
	void (*close)(void *l);
};

/* TLS; the argument is a weft_tls_config. In https.c. */
extern const struct http_layer http_tls;

/* Zero means default; the nanoseconds of weft.h. */
struct http_options {
	http_handler *handler;
	void *arg;
	const struct http_layer *layer;	/* none */
	void *layer_arg;
	/* from its first byte to its last, a head may take so long: 10 s */
	int64_t head_timeout;
	/* a body so long, and a second more for each 1024 bytes: 20 s */
	int64_t body_timeout;
	/* between two requests: 60 s */
	int64_t idle_timeout;
	/* a client may take nothing for so long, or twice: 20 s */
	int64_t write_timeout;
	/* an idle connection keeps its goroutine and its buffers for so long,
	 * and then only a record of some 100 bytes: not at all */
	int64_t linger;
	size_t max_head;		/* bytes: 16 KiB, at least 256 */
	size_t max_line;		/* ... of the request line: 8 KiB */
	unsigned max_fields;		/* HTTP_FIELDS, which is the most */
	int64_t max_body;		/* bytes: 16 MiB; -1: none at all */
};

struct http_server;

/*
 * Answers whoever connects to fd, in goroutines of its own, and closes fd at
 * the end. NULL if memory is refused: then fd is still open.
 */
struct http_server *http_server_start(int fd, const struct http_options *o);

/*
 * Accepts no more, lets the requests that have begun be answered, closes what
 * is idle, and frees the server. 0, or -ETIMEDOUT if some had to be cut off at
 * `when`; -EBUSY if a handler did not even notice that: then the server is
 * left to it.
 */
int http_server_stop(struct http_server *s, int64_t when);

/* ---- files ------------------------------------------------------------- */

/*
 * A handler of the files below a folder, whose name is `arg`. No listings; a
 * folder is its index.html; what begins with a dot (but ".well-known") does not
 * exist. Nor do symbolic links: one that leads out of the folder would give
 * away other files. The folder itself may be one.
 */
void http_static(struct http *h, const struct http_request *r, void *arg);
/* The same, and symbolic links are followed, wherever they lead. */
void http_static_links(struct http *h, const struct http_request *r,
    void *arg);

/* ---- dates ------------------------------------------------------------- */

/* "Sun, 06 Nov 1994 08:49:37 GMT", and back: -1 if it is none of these. */
enum { HTTP_DATE = 29 };
void http_date(int64_t seconds, char out[HTTP_DATE]);
int64_t http_date_parse(struct http_text t);

#endif /* HTTP_H */
