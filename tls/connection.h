/* SPDX-License-Identifier: MIT */
/*
 * A connection, as the files of this folder see it.
 *
 * OpenSSL never sees the descriptor. It reads ciphertext from `in` and writes
 * it to `out`, by a BIO that never waits (transport.c); calls of weft move the
 * bytes between these and the socket, outside of OpenSSL. So
 *
 *   - no goroutine parks, and changes its thread, between a call of OpenSSL and
 *     the reading of its error, which is the thread's (tls_begin, tls_end);
 *   - a record is never written in part: a call of OpenSSL for one direction
 *     cannot meet one that another has not finished;
 *   - deadlines, contexts and closing are those of weft's calls.
 *
 * Locks, in the order in which they are taken:
 *
 *	handshaking	held for a handshake; readers and writers come after it
 *	reading		held for a call that reads, also while it waits
 *	writing		held for a call that writes, also while it waits, and by
 *			any other that sends
 *	state		held for moments: OpenSSL's object and the rest
 *
 * A reader leaves what OpenSSL has to say (an alert, the answer to a key
 * update) in `out`, and sends it only if `writing` is free and the socket has
 * room; otherwise the goroutine that has the lock sees it there after it has
 * unlocked it (transport_unlock), or the next write sends it.
 *
 * Closing: `closed` is set under `state`. A call in progress is counted in
 * `users` and looks at `closed` whenever it takes `state`; the last user closes
 * the descriptor, so its number cannot be another file's while a call could
 * still use it. Waits are ended by a shutdown of the socket.
 */
#ifndef TLS_CONNECTION_H
#define TLS_CONNECTION_H

#include <openssl/ssl.h>

#include <weft/tls.h>

/* What tls.h declares; all else is -fvisibility=hidden. */
#define public __attribute__((__visibility__("default")))

enum {
	TLS_RECORD = 16384,		/* plaintext of a record, at most */
	TLS_IN_BYTES = TLS_RECORD + 512,	/* the longest record fits */
	/* Ciphertext to be sent. A writer that has made so much sends it first;
	 * so OpenSSL meets the other limit in readers only. */
	TLS_OUT_BATCH = 64 << 10,
	TLS_OUT_MOST = 2 * TLS_OUT_BATCH,
	TLS_NAME = 255
};

/* bytes[start .. end) of cap. */
struct tls_buffer {
	unsigned char *bytes;
	size_t start, end, cap;
};

/* What came of a call of OpenSSL. */
enum tls_step {
	TLS_DONE,
	TLS_WANTS_INPUT,
	TLS_WANTS_ROOM,		/* `out` is full */
	TLS_ENDED,		/* close_notify has come */
	TLS_FAILED		/* c->failed says why */
};

struct weft_tls {
	/* constant */
	int fd;
	bool server;
	bool verify;		/* the peer's certificate must be valid */
	char *name;		/* client: of the server, or NULL */
	weft_tls_config *conf;	/* a reference */

	weft_mutex handshaking;
	weft_mutex reading;
	weft_mutex writing;
	weft_mutex state;

	/* under reading or, before the handshake is made, handshaking */
	bool bulk;		/* the last receive got much */

	/* under writing */
	struct tls_buffer sending;	/* before `out` */

	/* under state */
	SSL *ssl;
	struct tls_buffer in;	/* its memory is of transport.c's pool */
	struct tls_buffer out;
	int users;
	bool closing, closed;
	bool established;
	bool shut;		/* close_notify is in out, or sent */
	bool no_memory;		/* for out */
	weft_cond fed;		/* `in` was filled, or the connection ended */
	int failed;		/* -errno of OpenSSL; stays */
	char why[WEFT_TLS_TEXT];
};

/* connection.c */

/* Whether weft_tls_close was called. No lock is held. */
bool tls_is_closed(weft_tls *c);
/* A call on c begins: 0 or -EBADF. It ends with tls_leave. No lock is held. */
int tls_enter(weft_tls *c);
void tls_leave(weft_tls *c);

/*
 * A stretch with OpenSSL, under `state`: until tls_end the goroutine keeps its
 * thread, and nothing of weft is called. 0; or -EBADF or c->failed, and then
 * the stretch has not begun and no lock is held.
 */
int tls_begin(weft_tls *c);
void tls_end(weft_tls *c);
/* The same for what concerns no connection, without the lock. */
void tls_thread_begin(void);
void tls_thread_end(void);

/* stream.c, between enter and leave. */

/* Makes the handshake unless it is made. */
int tls_handshake(weft_tls *c);
/*
 * A writer cannot go on before OpenSSL has got more input: the peer has sent a
 * part of a message of the protocol. Waits for it, or until a reader may have
 * got it: 0 or -errno. No lock but `writing` is held.
 */
int tls_await_input(weft_tls *c);

/* error.c, within a stretch. */

/* What came of a call that returned r. If it failed, c->failed and c->why are
 * set and OpenSSL's queue is empty. */
enum tls_step tls_judge(weft_tls *c, int r);
/* The first error in OpenSSL's queue as text, of WEFT_TLS_TEXT bytes; -errno.
 * The queue is empty then. */
int tls_explain(const char *doing, char *why);
/* Outside of one: remembers why a call fails, if error is less than 0. Returns
 * error. */
int tls_fail(weft_tls *c, const char *doing, int error);

/* transport.c */

/* Before the first transport_bio; not within a stretch. */
void transport_init(void);
/* For SSL_set_bio, within a stretch; NULL if memory is refused. */
BIO *transport_bio(weft_tls *c);
/* Waits for bytes into `in`, which is empty: 1, 0 at the end of the stream, or
 * -errno. `reading`, or handshaking, is held. */
int transport_pull(weft_tls *c);
/* Gives the memory of an empty `in` back. No lock is held. */
void transport_trim(weft_tls *c);
/* Sends all of `out`, with MSG_DONTWAIT as far as there is room: 0 or -errno.
 * `writing` is held. */
int transport_push(weft_tls *c, int flags);
/* Unlocks `writing`; sees to what others have left in `out` meanwhile. */
void transport_unlock(weft_tls *c);
/* Sends what can be sent without waiting, or leaves that to the goroutine that
 * is sending: 0 or -errno. */
int transport_nudge(weft_tls *c);
/* Memory to gather TLS_IN_BYTES in; NULL if refused. No lock is held. */
unsigned char *transport_get(void);
void transport_put(unsigned char *bytes);
/* Frees the buffers of c, which no other goroutine uses. */
void transport_free(weft_tls *c);

/* config.c */

/* An object for a connection; NULL if memory is refused. Within a stretch. */
SSL *config_open(const weft_tls_config *conf, bool server);
void config_retain(weft_tls_config *conf);
bool config_has_cert(const weft_tls_config *conf);
bool config_verifies(const weft_tls_config *conf, bool server);
/* Loads the system's authorities, once, if conf has none. Waits. */
void config_load_system(weft_tls_config *conf);

/* Copies s into text as far as it fits. Returns text. */
char *tls_copy_text(char *text, size_t cap, const char *s);

#endif
