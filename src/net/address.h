/* SPDX-License-Identifier: MIT */
/*
 * Addresses as text: what "tcp" and "host:port" mean, before any lookup.
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "defs.h"
#include "weft.h"

enum {
	ADDRESS_HOST = 255,	/* the longest name, and the longest service */
	ADDRESS_SERVICE = 63,
	PORT_NAMED = -1
};

/* Where to dial; or, if it is passive, where to listen. */
struct target {
	int family;		/* of the network; AF_UNSPEC: 4 or 6 */
	int type, protocol;
	int port;		/* PORT_NAMED: that of the service */
	char service[ADDRESS_SERVICE + 1];
	char host[ADDRESS_HOST + 1];	/* to be looked up, or "" */
	size_t n;		/* known addresses; 0 if there is a host */
	weft_address known[2];
};

/*
 * 0; -EINVAL: no such network, or a malformed address; -EAFNOSUPPORT: an
 * address of another IP version than the network; -ENAMETOOLONG; -ENODEV: no
 * such zone. An empty host is the wildcard if passive, else the loopback.
 */
int address_parse(struct target *t, const char *network, const char *address,
    bool passive);

/* Of an IP address; others have no port. */
void address_set_port(weft_address *a, int port);
int address_port(const struct sockaddr *a);

/* Sets all of it. The bytes are those of the given family's in(6)_addr. */
void address_fill(weft_address *a, const struct target *t, int family,
    const void *bytes, uint32_t zone);

static inline const struct sockaddr *
address_get(const weft_address *a)
{
	return (const struct sockaddr *)(const void *)a->bytes_;
}

bool address_same(const weft_address *a, const weft_address *b);

#endif
