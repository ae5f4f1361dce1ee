/* SPDX-License-Identifier: MIT */
/*
 * Connections by name; part of weft.h.
 *
 * A network is "tcp", "udp" (version 4 or 6, whatever there is), "tcp4",
 * "tcp6", "udp4", "udp6", or "unix", "unixgram", "unixpacket". An address is
 * "host:port" for the former: host is a name, an IPv4 address (four decimal
 * numbers), an IPv6 address in brackets, maybe with a zone
 * ("[fe80::1%eth0]:80"), or empty (to listen: every address; to dial: this
 * machine); port is a number or a service's name. For the latter it is a path
 * of at most 107 bytes, or "@name" in the abstract name space ("@" alone, to
 * listen: a name that the system chooses).
 *
 * Names are looked up with getaddrinfo by goroutines of their own, 32 at a
 * time, so that a slow name server stops nobody else; who gives up earlier
 * leaves the lookup to itself. Addresses and ports that are numbers are never
 * looked up.
 *
 * While no runtime is running a lookup cannot be cut short, addresses are
 * dialled one after the other, and a context is looked at only in between.
 */
#ifndef WEFT_NET_H
#define WEFT_NET_H

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means default. */
typedef struct weft_dial_opt {
	int64_t until WEFT_ZERO_;	/* give up then; 0: never */
	weft_context *context WEFT_ZERO_;	/* ... or when cancelled */
	/* address to dial from, as to listen; host or port may be left open
	 * (":53", "192.0.2.1:0") */
	const char *local WEFT_ZERO_;
	/* how long the first address is alone; then the next, of the other
	 * version if there is one, is tried beside it, and so on; at once if
	 * one has failed. Default 250 ms; -1: one after the other */
	int64_t head_start WEFT_ZERO_;
	/* TCP: let small writes wait for each other (default: they do not) */
	bool delay WEFT_ZERO_;
	/* TCP: probe an idle connection after so many seconds; default 15,
	 * -1: never */
	int keepalive WEFT_ZERO_;
} weft_dial_opt;

/*
 * A connected descriptor, non-blocking and closed by exec, or -errno: -EINVAL
 * (no such network, or an address that is none), -ENAMETOOLONG, -EAFNOSUPPORT
 * (of another version than the network), -ENODEV (no such zone), -ENOENT (no
 * such name or service), -EAGAIN (the name server does not answer), -EIO (it
 * refuses to), -ETIMEDOUT, -ECANCELED; or why the first address could not be
 * connected. opt may be NULL.
 */
int weft_dial(const char *network, const char *address);
int weft_dial_opt_(const char *network, const char *address,
    const weft_dial_opt *opt);
#define weft_dial_with(network, address, ...) \
	weft_dial_opt_(network, address, WEFT_NET_OPT_(weft_dial_opt, \
	    __VA_ARGS__))

/* Zero means default. */
typedef struct weft_listen_opt {
	int backlog WEFT_ZERO_;		/* default: the system's most */
	bool reuse_port WEFT_ZERO_;	/* SO_REUSEPORT: several may listen */
	bool v6_only WEFT_ZERO_;	/* "tcp", "udp": not version 4 */
	/* of a UNIX socket's file; 0: by the umask */
	mode_t mode WEFT_ZERO_;
	/* of TCP connections that are accepted: as in weft_dial_opt */
	int keepalive WEFT_ZERO_;
} weft_listen_opt;

/*
 * A descriptor to accept on ("udp", "unixgram": to receive on), non-blocking
 * and closed by exec, or -errno as above. Port 0: any. TCP: SO_REUSEADDR. TCP
 * connections accepted from it do not delay small writes.
 *
 * "tcp" and "udp" with no host, or "[::]", mean versions 4 and 6 on the one
 * descriptor. A name with several addresses: the first that this machine has.
 *
 * UNIX: a socket's file that is there, and that nobody listens on, is replaced;
 * one that somebody listens on, and any other file, is -EADDRINUSE. Closing the
 * descriptor leaves the file.
 */
int weft_listen(const char *network, const char *address);
int weft_listen_opt_(const char *network, const char *address,
    const weft_listen_opt *opt);
#define weft_listen_with(network, address, ...) \
	weft_listen_opt_(network, address, WEFT_NET_OPT_(weft_listen_opt, \
	    __VA_ARGS__))

/* An address as the system has it: a struct sockaddr of any family. */
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
 * Looks a name up: at most max addresses, best first, in the order in which
 * dial tries them. Returns how many there are, which may be more than max; or
 * as weft_dial. Of opt, which may be NULL, until and context count.
 */
int weft_resolve(const char *network, const char *address,
    weft_address *out, size_t max, const weft_dial_opt *opt);

/*
 * "127.0.0.1:80" (also if it is within version 6), "[::1]:80", a path, "@name";
 * "" if it has none, or of another family. Never needs more than
 * WEFT_ADDRESS_TEXT bytes; what does not fit into cap is cut, with a NUL at the
 * end. Returns text.
 */
enum { WEFT_ADDRESS_TEXT = 128 };
char *weft_address_text(const struct sockaddr *a, unsigned len, char *text,
    size_t cap);
/* The same of a descriptor's own end, and of the other; "" if unknown. */
char *weft_local_address(int fd, char *text, size_t cap);
char *weft_peer_address(int fd, char *text, size_t cap);
/* The port of its own end, or -errno; -EAFNOSUPPORT: it has no ports. */
int weft_local_port(int fd);

/*
 * Over a UNIX socket: one descriptor, with one byte, which recv takes away.
 * The sender keeps its own. Send returns 0, recv the new descriptor, closed by
 * exec; or -errno. recv: -EPIPE if the other end is closed, -ENOMSG if there
 * was a byte without a descriptor, -EMFILE if there is no number left for it
 * (it is lost then).
 */
int weft_send_fd(int fd, int passed);
int weft_recv_fd(int fd);

/*
 * Who was at the other end of a UNIX socket when it was connected: 0 or -errno;
 * -EOPNOTSUPP for another socket, -ENOTCONN.
 */
typedef struct weft_credentials {
	pid_t pid;
	uid_t uid;
	gid_t gid;
} weft_credentials;
int weft_peer_credentials(int fd, weft_credentials *out);

#ifdef __cplusplus
#define WEFT_NET_OPT_(type, ...) (&(const type &)type{__VA_ARGS__})
#else
#define WEFT_NET_OPT_(type, ...) (&(const type){__VA_ARGS__})
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_NET_H */
