/* SPDX-License-Identifier: MIT */
/*
 * Connections by name; part of weft.h.
 *
 * A network is "tcp", "udp" (IPv4 or IPv6), "tcp4", "tcp6", "udp4", "udp6", or
 * "unix", "unixgram", "unixpacket". An address is "host:port" for the former:
 * host is a name, an IPv4 address (four decimal numbers), an IPv6 address in
 * brackets, which may have a zone ("[fe80::1%eth0]:80"), or empty (to listen:
 * every address; to dial: this machine); port is a number or the name of a
 * service. For the latter it is a path of at most 107 bytes, or "@name" in the
 * abstract name space ("@" alone, to listen: a name that the system chooses).
 *
 * Names are resolved by getaddrinfo in goroutines of their own, at most 32 at a
 * time, so that a slow name server does not delay other goroutines; a lookup
 * that its caller abandons finishes in the background. Numeric addresses and
 * ports are never looked up.
 *
 * While no runtime is running a lookup cannot be abandoned, addresses are
 * dialled one after the other, and a context is checked only in between.
 */
#ifndef WEFT_NET_H
#define WEFT_NET_H

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means default. */
typedef struct weft_dial_options {
	int64_t until WEFT_ZERO_;	/* -ETIMEDOUT then; 0: no limit */
	weft_context *context WEFT_ZERO_;	/* ... or when cancelled */
	/* address to dial from, as for listen; host or port may be left out
	 * (":53", "192.0.2.1:0") */
	const char *local WEFT_ZERO_;
	/* Happy Eyeballs (RFC 8305): how long an attempt goes on before the
	 * next address, of the other IP version if there is one, is tried in
	 * parallel; the next one starts at once when one fails. Default 250 ms;
	 * -1: one address after the other */
	int64_t head_start WEFT_ZERO_;
	/* TCP: enable Nagle's algorithm (default: TCP_NODELAY) */
	bool delay WEFT_ZERO_;
	/* TCP: how long a connection is idle before it is probed, rounded up to
	 * seconds; default 15 s, at least 1 ms, -1: never */
	int64_t keepalive WEFT_ZERO_;
} weft_dial_options;

/*
 * A connected descriptor, non-blocking and close-on-exec, or -errno: -EINVAL
 * (no such network, or a malformed address), -ENAMETOOLONG, -EAFNOSUPPORT (an
 * address of another IP version than the network), -ENODEV (no such zone),
 * -ENOENT (no such name or service), -EAGAIN (the name server does not answer),
 * -EIO (it fails), -ETIMEDOUT, -ECANCELED; or why the first address could not
 * be connected to. opt may be NULL; size is sizeof *opt.
 */
int weft_dial(const char *network, const char *address);
int weft_dial_opt(const char *network, const char *address,
    const weft_dial_options *opt, size_t size);
#define weft_dial_with(network, address, ...) \
	weft_dial_opt(network, address, WEFT_OPTIONS_(weft_dial_options, \
	    __VA_ARGS__))

/* Zero means default. */
typedef struct weft_listen_options {
	int backlog WEFT_ZERO_;		/* default: the system's maximum */
	bool reuse_port WEFT_ZERO_;	/* SO_REUSEPORT: several listeners */
	bool v6_only WEFT_ZERO_;	/* "tcp", "udp": IPv6 only */
	/* of a UNIX socket's file; 0: by the umask */
	mode_t mode WEFT_ZERO_;
	/* of accepted TCP connections: as in weft_dial_options */
	int64_t keepalive WEFT_ZERO_;
} weft_listen_options;

/*
 * A listener to accept on ("udp", "unixgram": to receive on), non-blocking and
 * close-on-exec, or -errno as weft_dial. Port 0: any. TCP: SO_REUSEADDR;
 * accepted connections have TCP_NODELAY.
 *
 * "tcp" and "udp" with no host, or "[::]", accept IPv4 and IPv6 on the one
 * descriptor. A name with several addresses: the first that this machine has.
 *
 * UNIX: the file of a socket on which no process listens is replaced; one that
 * has a listener, and any other file, is -EADDRINUSE. Closing the descriptor
 * leaves the file.
 */
int weft_listen(const char *network, const char *address);
int weft_listen_opt(const char *network, const char *address,
    const weft_listen_options *opt, size_t size);
#define weft_listen_with(network, address, ...) \
	weft_listen_opt(network, address, WEFT_OPTIONS_(weft_listen_options, \
	    __VA_ARGS__))

/* An address in the system's form: a struct sockaddr of any family. */
enum { WEFT_ADDRESS_BYTES = 128 };
typedef struct weft_address {
	unsigned len;
	int family, type, protocol;	/* for socket(2) */
	/* char: the compiler lets any type be stored there */
	char bytes_[WEFT_ADDRESS_BYTES] __attribute__((__aligned__(8)));
} weft_address;

/* For connect(2); for accept(2), with len set to WEFT_ADDRESS_BYTES before. */
static inline struct sockaddr *
weft_address_get(weft_address *a)
{
	return (struct sockaddr *)(void *)a->bytes_;
}

/*
 * Resolves a name: at most max addresses, in the order in which dial tries
 * them. Returns how many there are, which may be more than max, or -errno as
 * weft_dial. Of opt, which may be NULL, `until` and `context` have an effect.
 */
int weft_resolve(const char *network, const char *address,
    weft_address *out, size_t max, const weft_dial_options *opt, size_t size);
#define weft_resolve_with(network, address, out, max, ...) \
	weft_resolve(network, address, out, max, \
	    WEFT_OPTIONS_(weft_dial_options, __VA_ARGS__))

/*
 * "127.0.0.1:80" (also if it is mapped into IPv6), "[::1]:80", a path, "@name";
 * "" if it has none, or of another family. Never needs more than
 * WEFT_ADDRESS_TEXT bytes; what does not fit into cap is cut off, with a NUL at
 * the end. Returns text.
 */
enum { WEFT_ADDRESS_TEXT = 128 };
char *weft_address_text(const struct sockaddr *a, unsigned len, char *text,
    size_t cap);
/* As weft_address_text for a descriptor's own address, and its peer's; "" if
 * unknown. */
char *weft_local_address(int fd, char *text, size_t cap);
char *weft_peer_address(int fd, char *text, size_t cap);
/* The descriptor's own port, or -errno; -EAFNOSUPPORT: it has no ports. */
int weft_local_port(int fd);

/*
 * Passes a descriptor over a UNIX socket, with one byte, which recv consumes.
 * The sender keeps its own. send returns 0, recv the new descriptor,
 * close-on-exec; or -errno. recv: -EPIPE if the peer has closed, -ENOMSG if
 * there was a byte without a descriptor, -EMFILE if the process has no number
 * left for it (it is lost then).
 */
int weft_send_fd(int fd, int passed);
int weft_recv_fd(int fd);

/*
 * The process at the other end of a UNIX socket, as of when it was connected: 0
 * or -errno; -EOPNOTSUPP for another socket, -ENOTCONN.
 */
typedef struct weft_credentials {
	pid_t pid;
	uid_t uid;
	gid_t gid;
} weft_credentials;
int weft_peer_credentials(int fd, weft_credentials *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_NET_H */
