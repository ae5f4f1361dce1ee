/* SPDX-License-Identifier: MIT */
/*
 * TLS over connected sockets, by OpenSSL: an optional library (libweft-tls,
 * pkg-config weft-tls). This header is not part of weft.h.
 *
 *	weft_tls_config *conf;
 *	weft_tls *c;
 *	char why[WEFT_TLS_TEXT];
 *
 *	err = weft_tls_config_with(&conf, why, .cert_file = "cert.pem",
 *	    .key_file = "key.pem");
 *	...
 *	err = weft_tls_server(&c, conf, weft_accept(listener, NULL, NULL));
 *	while ((n = weft_tls_read(c, buf, sizeof buf)) > 0)
 *		weft_tls_write(c, buf, (size_t)n);
 *	weft_tls_free(c);
 *
 * A connection may be used by several goroutines, and other threads, at the
 * same time: a reader that waits does not block a writer, nor a writer a
 * reader; of two readers, or two writers, one waits for the other.
 *
 * Deadlines and contexts are those of the descriptor (weft_tls_fd): the read
 * deadline ends waits for bytes of the peer, also in a handshake, the write
 * deadline waits for room to send, weft_set_context both. A call that returns
 * -ETIMEDOUT or -ECANCELED has lost nothing: with a new deadline the next call
 * continues, a handshake where it was, and what a write had taken is sent
 * before anything else. Bytes that are decrypted already are returned whatever
 * the deadline is.
 *
 * Other results than those of the socket (-ECONNRESET, -EPIPE and the like):
 *
 *   - -EPROTO: the peer sent what is no TLS, broke the protocol, or sent an
 *     alert;
 *   - -EKEYREJECTED: the certificate of the peer was not accepted here, or is
 *     missing;
 *   - -ECONNABORTED: the stream ended without the peer's close_notify, so some
 *     of it may be missing;
 *   - -EBADF: weft_tls_close was called;
 *   - -ENOMEM.
 *
 * After -EPROTO or -EKEYREJECTED from a handshake, read or write all later ones
 * return the same. weft_tls_error has the reason as text.
 *
 * OpenSSL keeps its errors in the thread. This library asks for them before the
 * goroutine can leave the thread, and never waits inside OpenSSL. A goroutine
 * needs 64 KiB of stack for these calls; the default is more.
 */
#ifndef WEFT_TLS_H
#define WEFT_TLS_H

#include "../weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No text that these calls write needs more bytes, with its NUL. */
enum { WEFT_TLS_TEXT = 512 };

/* ---- configuration ----------------------------------------------------- */

/* What a server asks of its clients. */
enum weft_tls_client_auth {
	WEFT_TLS_NO_CERT,	/* it does not ask for a certificate */
	WEFT_TLS_ASK_CERT,	/* one that is sent must be valid */
	WEFT_TLS_REQUIRE_CERT	/* a client without one is refused */
};

/* Versions of the protocol, as they are on the wire. */
enum weft_tls_protocol {
	WEFT_TLS_1_2 = 0x0303,
	WEFT_TLS_1_3 = 0x0304
};

/*
 * Zero means default. Certificates and keys are PEM: in a file, or in memory
 * as text that ends with a NUL. All is copied.
 */
typedef struct weft_tls_options {
	/* the own certificate, followed by those up to the root; a server needs
	 * one */
	const char *cert_file WEFT_ZERO_;
	const char *cert WEFT_ZERO_;
	/* its private key */
	const char *key_file WEFT_ZERO_;
	const char *key WEFT_ZERO_;
	/* of the key; without one an encrypted key is an error */
	const char *key_password WEFT_ZERO_;
	/* certificates of the authorities that are trusted; a client has the
	 * system's if none are given, a server none */
	const char *ca_file WEFT_ZERO_;
	const char *ca WEFT_ZERO_;
	/* protocols for ALPN, the preferred one first: "h2,http/1.1". A server
	 * that has none in common with a client that offers some refuses it */
	const char *alpn WEFT_ZERO_;
	/* server: client certificates; a ca must be given */
	enum weft_tls_client_auth client_auth WEFT_ZERO_;
	/* client: accept any certificate. weft_tls_verify_text still says what
	 * is wrong with it */
	bool no_verify WEFT_ZERO_;
	/* server: give out no tickets, resume no sessions */
	bool no_resumption WEFT_ZERO_;
	/* oldest and newest version; default: TLS 1.2, and the newest */
	enum weft_tls_protocol min_version WEFT_ZERO_;
	enum weft_tls_protocol max_version WEFT_ZERO_;
	/* server: how long a session can be resumed; default 2 hours */
	int64_t session_lifetime WEFT_ZERO_;
} weft_tls_options;

/* A configuration, constant once it is made, for any number of connections. */
typedef struct weft_tls_config weft_tls_config;

/*
 * Makes a configuration: 0 and *out, or -errno and the reason in why, which may
 * be NULL and else has WEFT_TLS_TEXT bytes. -EINVAL: no such PEM, a key that
 * does not belong to the certificate, options that contradict each other;
 * -ENOENT and the like: as weft_read_file; -ENOMEM. opt may be NULL; size is
 * sizeof *opt. Files are read here.
 */
int weft_tls_config_make(weft_tls_config **out, char *why,
    const weft_tls_options *opt, size_t size);
#define weft_tls_config_with(out, why, ...) \
	weft_tls_config_make(out, why, WEFT_OPTIONS_(weft_tls_options, \
	    __VA_ARGS__))
/* The caller uses it no more. Connections that were made with it go on. */
void weft_tls_config_release(weft_tls_config *conf);

/* ---- connections ------------------------------------------------------- */

/* A connection. */
typedef struct weft_tls weft_tls;

/*
 * A TLS connection over the connected stream socket fd, which it owns from now
 * on: 0 and *out, or -errno, and then fd is still the caller's: -EINVAL,
 * -ENOTSOCK, -EBADF, -ENOMEM, -EPROTOTYPE (no stream socket). These do not wait
 * for the peer.
 *
 * server: -EINVAL if conf has no certificate.
 *
 * client: the certificate of the server must be valid for name, a DNS name or
 * an IP address (without brackets); a DNS name is also sent to the server
 * (SNI). NULL only with no_verify, or else -EINVAL, as for a name that is
 * empty, begins with a dot or has more than 255 bytes.
 */
int weft_tls_server(weft_tls **out, weft_tls_config *conf, int fd);
int weft_tls_client(weft_tls **out, weft_tls_config *conf, int fd,
    const char *name);

/*
 * The descriptor, to set deadlines and a context, or for weft_go_readable (see
 * weft_tls_buffered). Do not read, write or close it.
 */
int weft_tls_fd(const weft_tls *c);

/*
 * Makes the handshake, unless it is made already: 0 or -errno. The first read
 * or write does so by itself. With TLS 1.3 a client has made its handshake
 * before the server has looked at the client's certificate: that the server
 * refuses it is an error of a later read.
 */
int weft_tls_handshake(weft_tls *c);

/*
 * read: at least one byte, 0 at the end of the stream (close_notify) or if len
 * is 0, or -errno.
 *
 * read_full: len bytes, less only at the end of the stream. An error after some
 * bytes is returned, and *done (if not NULL) is their number.
 */
ssize_t weft_tls_read(weft_tls *c, void *buf, size_t len);
ssize_t weft_tls_read_full(weft_tls *c, void *buf, size_t len, size_t *done);

/*
 * Waits until all is handed to the kernel: len, or -errno. If it returns
 * -ETIMEDOUT or -ECANCELED then *done (if not NULL) bytes were taken: they are
 * encrypted and will be sent by the next write or shutdown, so a caller that
 * continues does so behind them. A write of 0 bytes sends what was taken.
 * writev copies small pieces together, so that they share a record.
 */
ssize_t weft_tls_write(weft_tls *c, const void *buf, size_t len);
ssize_t weft_tls_write_full(weft_tls *c, const void *buf, size_t len,
    size_t *done);
ssize_t weft_tls_writev(weft_tls *c, const struct iovec *iov, int n,
    size_t *done);

/* Whether a read may find bytes that have been taken from the socket already:
 * waiting for the descriptor would then be wrong. */
bool weft_tls_buffered(weft_tls *c);

/*
 * Sends close_notify, after what was written: the peer reads the end of the
 * stream. Then writes return -EPIPE, and reads go on. 0 or -errno; -ENOTCONN
 * before the handshake. It waits as a write does, and if that ends with
 * -ETIMEDOUT it may be called again.
 */
int weft_tls_shutdown(weft_tls *c);

/*
 * Closes the connection and its descriptor: 0, or -EBADF if it was closed
 * before. Calls of other goroutines return -EBADF, and the descriptor number is
 * not reused before they have returned. It does not wait: close_notify is sent
 * if there is room for it and no writer is waiting, whatever the deadline is;
 * what a write had taken and could not send is dropped.
 */
int weft_tls_close(weft_tls *c);

/* Frees it, after weft_tls_close if that was not called. No call on it may be
 * in progress: that is fatal. NULL is ignored. */
void weft_tls_free(weft_tls *c);

/* ---- what is known of a connection ------------------------------------- */

/*
 * Text, at most cap bytes with its NUL; what does not fit is cut off. They
 * return text.
 *
 * error: why the last call of this connection that failed did so; "" if none
 * did. verify_text: "ok", or what is wrong with the certificate of the peer;
 * "no certificate". peer_subject: of that certificate, as in "CN = example.org,
 * O = Example". alpn: the protocol that was agreed on. server_name: the name
 * that the client sent, or that weft_tls_client was given. cipher: its name in
 * OpenSSL. The last five are "" before the handshake, or if there is none.
 */
char *weft_tls_error(weft_tls *c, char *text, size_t cap);
char *weft_tls_verify_text(weft_tls *c, char *text, size_t cap);
char *weft_tls_peer_subject(weft_tls *c, char *text, size_t cap);
char *weft_tls_alpn(weft_tls *c, char *text, size_t cap);
char *weft_tls_server_name(weft_tls *c, char *text, size_t cap);
char *weft_tls_cipher(weft_tls *c, char *text, size_t cap);

/* The certificate of the peer in DER: its length, and it is written if cap is
 * not less; 0: none; -ENOMEM. */
ssize_t weft_tls_peer_cert(weft_tls *c, void *buf, size_t cap);

/* The version that was agreed on (WEFT_TLS_1_3); 0 before the handshake. */
int weft_tls_version(weft_tls *c);
/* Whether the handshake has resumed an earlier session. */
bool weft_tls_resumed(weft_tls *c);

/* ---- sessions ---------------------------------------------------------- */

/*
 * A client that has been connected before resumes that session with a shorter
 * handshake, if the server still knows it.
 *
 * session_get: the session as bytes, for a later connection, also of another
 * process: their number, and they are written if cap is not less; 0 if there is
 * none that could be resumed. With TLS 1.3 it comes after the handshake, with
 * the first bytes that are read, and should be used once. The bytes are secret.
 *
 * session_set: resumes it; before the handshake of a client, else -EISCONN. It
 * must have been made with the same server name, and if certificates are
 * verified here then they were there: else -EINVAL, as for bytes that are no
 * session. The trusted authorities should be the same. 0; -ENOMEM.
 */
ssize_t weft_tls_session_get(weft_tls *c, void *buf, size_t cap);
int weft_tls_session_set(weft_tls *c, const void *buf, size_t len);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_TLS_H */
