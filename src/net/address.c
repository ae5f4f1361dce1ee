/* SPDX-License-Identifier: MIT */
/*
 * Parsing and printing of addresses, as far as no lookup is needed: numeric
 * ones, the wildcard, the loopback, paths.
 *
 * libc's parser of IPv4 is not used: it accepts "127.1", "010.0.0.1" (as
 * 8.0.0.1) and "2130706433". Here these are malformed, and no names either,
 * since a name does not end in a number.
 */
#define _GNU_SOURCE 1
#include "address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>

#include "fatal.h"
#include "netcall.h"

/* ---- networks ---- */

struct network {
	char name[12];
	int family, type, protocol;
};

static const struct network *
network_named(const char *name)
{
	static const struct network all[] = {
		{ "tcp", AF_UNSPEC, SOCK_STREAM, IPPROTO_TCP },
		{ "tcp4", AF_INET, SOCK_STREAM, IPPROTO_TCP },
		{ "tcp6", AF_INET6, SOCK_STREAM, IPPROTO_TCP },
		{ "udp", AF_UNSPEC, SOCK_DGRAM, IPPROTO_UDP },
		{ "udp4", AF_INET, SOCK_DGRAM, IPPROTO_UDP },
		{ "udp6", AF_INET6, SOCK_DGRAM, IPPROTO_UDP },
		{ "unix", AF_UNIX, SOCK_STREAM, 0 },
		{ "unixgram", AF_UNIX, SOCK_DGRAM, 0 },
		{ "unixpacket", AF_UNIX, SOCK_SEQPACKET, 0 },
	};

	for (size_t i = 0; name && i < countof(all); i++)
		if (strcmp(name, all[i].name) == 0)
			return &all[i];
	return NULL;
}

/* ---- one address ---- */

int
address_port(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)
		    (const void *)a)->sin_port);
	if (a->sa_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)
		    (const void *)a)->sin6_port);
	return -EAFNOSUPPORT;
}

void
address_set_port(weft_address *a, int port)
{
	in_port_t p = htons((uint16_t)port);

	if (a->family == AF_INET)
		((struct sockaddr_in *)(void *)a->bytes_)->sin_port = p;
	if (a->family == AF_INET6)
		((struct sockaddr_in6 *)(void *)a->bytes_)->sin6_port = p;
}

void
address_fill(weft_address *a, const struct target *t, int family,
    const void *bytes, uint32_t zone)
{
	struct sockaddr_in *v4 = (void *)a->bytes_;
	struct sockaddr_in6 *v6 = (void *)a->bytes_;

	memset(a, 0, sizeof *a);
	a->family = family;
	a->type = t->type;
	a->protocol = t->protocol;
	if (family == AF_INET) {
		a->len = sizeof *v4;
		v4->sin_family = AF_INET;
		memcpy(&v4->sin_addr, bytes, sizeof v4->sin_addr);
	} else {
		a->len = sizeof *v6;
		v6->sin6_family = AF_INET6;
		v6->sin6_scope_id = zone;
		memcpy(&v6->sin6_addr, bytes, sizeof v6->sin6_addr);
	}
	if (t->port != PORT_NAMED)
		address_set_port(a, t->port);
}

/* Unused bytes are zero in both: see address_fill and parse_path. */
bool
address_same(const weft_address *a, const weft_address *b)
{
	return a->len == b->len && memcmp(a->bytes_, b->bytes_, a->len) == 0;
}

/* ---- letters (not isalpha, which depends on the thread's locale) ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* How many bytes at s are of that class. */
static size_t
span(const char *s, bool (*is)(char))
{
	size_t n = 0;

	while (is(s[n]))
		n++;
	return n;
}

/* Decimal, nothing else, at most `max`; or -1. */
static int64_t
number(const char *s, int64_t max)
{
	int64_t v = 0;

	if (!*s)
		return -1;
	for (; *s; s++) {
		if (!is_digit(*s))
			return -1;
		v = v * 10 + (*s - '0');
		if (v > max)
			return -1;
	}
	return v;
}

/* ---- ports ---- */

/* "http", "3com-tsmux": what may be looked up. */
static bool
is_service(const char *s)
{
	bool letters = false;

	if (strlen(s) > ADDRESS_SERVICE || !(is_digit(*s) || is_letter(*s)))
		return false;
	for (; *s; s++) {
		letters |= is_letter(*s);
		if (!is_digit(*s) && !is_letter(*s) && !strchr("-_.+", *s))
			return false;
	}
	return letters;
}

static int
parse_port(struct target *t, const char *port)
{
	int64_t n = number(port, UINT16_MAX);

	t->port = n < 0 ? PORT_NAMED : (int)n;
	if (t->port != PORT_NAMED)
		return 0;
	if (!is_service(port))
		return -EINVAL;
	strcpy(t->service, port);
	return 0;
}

/* ---- hosts ---- */

static void
add_known(struct target *t, int family, const void *bytes, uint32_t zone)
{
	address_fill(&t->known[t->n++], t, family, bytes, zone);
}

/* No host. To listen IPv6 first, since its socket accepts both versions. */
static int
parse_nowhere(struct target *t, bool passive)
{
	in_addr_t v4 = htonl(passive ? INADDR_ANY : INADDR_LOOPBACK);
	const struct in6_addr *v6 = passive ? &in6addr_any : &in6addr_loopback;

	if (passive && t->family != AF_INET)
		add_known(t, AF_INET6, v6, 0);
	if (t->family != AF_INET6)
		add_known(t, AF_INET, &v4, 0);
	if (!passive && t->family != AF_INET)
		add_known(t, AF_INET6, v6, 0);
	return 0;
}

static int
know_v4(struct target *t, const void *bytes)
{
	if (t->family == AF_INET6)
		return -EAFNOSUPPORT;
	add_known(t, AF_INET, bytes, 0);
	return 0;
}

/* The index of an interface, by name or number; or -errno. */
static int64_t
parse_zone(const char *zone)
{
	int64_t n = number(zone, UINT32_MAX);
	struct ifreq r = {0};
	int fd;

	if (n >= 0)
		return n;
	if (!*zone || strlen(zone) >= sizeof r.ifr_name)
		return -EINVAL;
	strcpy(r.ifr_name, zone);
	fd = net_socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd < 0)
		return fd;
	n = syscall6(SYS_ioctl, fd, SIOCGIFINDEX, (long)&r, 0, 0, 0);
	fd_close(fd);
	return n < 0 ? n : r.ifr_ifindex;
}

/* What is in brackets. An IPv4-mapped address is treated as IPv4. */
static int
parse_v6(struct target *t, char *host)
{
	char *zone = strchr(host, '%');
	int64_t index = 0;
	struct in6_addr v6;

	if (zone)
		*zone++ = 0;
	if (inet_pton(AF_INET6, host, &v6) != 1)
		return -EINVAL;
	if (IN6_IS_ADDR_V4MAPPED(&v6))
		return zone ? -EINVAL : know_v4(t, &v6.s6_addr[12]);
	if (t->family == AF_INET)
		return -EAFNOSUPPORT;
	if (zone)
		index = parse_zone(zone);
	if (index < 0)
		return (int)index;
	add_known(t, AF_INET6, &v6, (uint32_t)index);
	return 0;
}

/* Then it is no name. A final dot does not count. */
static bool
ends_in_number(const char *host)
{
	size_t len = strlen(host), from;

	if (len > 1 && host[len - 1] == '.')
		len--;
	for (from = len; from > 0 && host[from - 1] != '.'; from--)
		;
	if (from + span(host + from, is_digit) == len)
		return true;
	return host[from] == '0' && (host[from + 1] | 32) == 'x' &&
	    from + 2 + span(host + from + 2, is_hex) == len;
}

/* False for what must not be passed to a name server or /etc/hosts. */
static bool
is_name(const char *host)
{
	for (const char *s = host; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f ||
		    strchr("%/@[]\\", *s))
			return false;
	return *host != '.' && !ends_in_number(host);
}

static int
parse_host(struct target *t, char *host, bool passive)
{
	in_addr_t v4;

	if (!*host)
		return parse_nowhere(t, passive);
	if (inet_pton(AF_INET, host, &v4) == 1)
		return know_v4(t, &v4);
	if (!is_name(host))
		return -EINVAL;
	strcpy(t->host, host);
	return 0;
}

static int
parse_internet(struct target *t, const char *address, bool passive)
{
	bool brackets = *address == '[';
	const char *from = address + brackets, *end;
	char host[ADDRESS_HOST + 1];
	size_t len;
	int err;

	end = strchr(from, brackets ? ']' : ':');
	if (!end)
		return -EINVAL;
	len = (size_t)(end - from);
	end += brackets;
	if (*end != ':')
		return -EINVAL;
	if (len >= sizeof host)
		return -ENAMETOOLONG;
	memcpy(host, from, len);
	host[len] = 0;
	err = parse_port(t, end + 1);
	if (err)
		return err;
	return brackets ? parse_v6(t, host) : parse_host(t, host, passive);
}

/* ---- paths ---- */

/* "@" alone has the kernel choose a name. */
static int
parse_path(struct target *t, const char *path, bool passive)
{
	weft_address *a = &t->known[0];
	struct sockaddr_un *un = (void *)a->bytes_;
	size_t len = strlen(path);
	bool abstract = *path == '@';

	if (len == 0 || (abstract && len == 1 && !passive))
		return -EINVAL;
	/* A path ends with a NUL, an abstract name begins with one. */
	if (len + !abstract > sizeof un->sun_path)
		return -ENAMETOOLONG;
	memset(a, 0, sizeof *a);
	a->family = AF_UNIX;
	a->type = t->type;
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, len);
	if (abstract)
		un->sun_path[0] = 0;
	a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
	    !abstract);
	if (abstract && len == 1)
		a->len = offsetof(struct sockaddr_un, sun_path);
	t->n = 1;
	return 0;
}

int
address_parse(struct target *t, const char *network, const char *address,
    bool passive)
{
	const struct network *net = network_named(network);

	if (!net || !address)
		return -EINVAL;
	memset(t, 0, sizeof *t);
	t->family = net->family;
	t->type = net->type;
	t->protocol = net->protocol;
	if (net->family == AF_UNIX)
		return parse_path(t, address, passive);
	return parse_internet(t, address, passive);
}

/* ---- text ---- */

static void
print_v4(const void *bytes, int port, char *text)
{
	char host[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, bytes, host, sizeof host);
	format(text, WEFT_ADDRESS_TEXT, "%s:%d", host, port);
}

/* "%eth0", "%7" if it has no name, "" for no zone. */
static void
print_zone(uint32_t zone, char *text, size_t cap)
{
	struct ifreq r = { .ifr_ifindex = (int)zone };
	long err = -ENODEV;
	int fd;

	*text = 0;
	if (!zone)
		return;
	fd = net_socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd >= 0) {
		err = syscall6(SYS_ioctl, fd, SIOCGIFNAME, (long)&r, 0, 0, 0);
		fd_close(fd);
	}
	if (err)
		format(text, cap, "%%%u", zone);
	else
		format(text, cap, "%%%s", r.ifr_name);
}

static void
print_v6(const struct sockaddr_in6 *a, char *text)
{
	char host[INET6_ADDRSTRLEN], zone[IF_NAMESIZE + 1];
	int port = ntohs(a->sin6_port);

	if (IN6_IS_ADDR_V4MAPPED(&a->sin6_addr)) {
		print_v4(&a->sin6_addr.s6_addr[12], port, text);
		return;
	}
	inet_ntop(AF_INET6, &a->sin6_addr, host, sizeof host);
	print_zone(a->sin6_scope_id, zone, sizeof zone);
	format(text, WEFT_ADDRESS_TEXT, "[%s%s]:%d", host, zone, port);
}

/* NULs of an abstract name are printed as '@'. */
static void
print_path(const struct sockaddr_un *a, size_t len, char *text)
{
	if (len > sizeof a->sun_path)
		len = sizeof a->sun_path;
	memcpy(text, a->sun_path, len);
	text[len] = 0;
	if (len == 0 || *text)
		return;		/* a path, maybe with a NUL at its end */
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = '@';
}

public char *
weft_address_text(const struct sockaddr *a, unsigned len, char *text,
    size_t cap)
{
	char whole[WEFT_ADDRESS_TEXT] = "";
	sa_family_t family = a && len >= sizeof family ? a->sa_family :
	    AF_UNSPEC;
	const void *p = a;

	if (family == AF_INET && len >= sizeof(struct sockaddr_in))
		print_v4(&((const struct sockaddr_in *)p)->sin_addr,
		    address_port(a), whole);
	else if (family == AF_INET6 && len >= sizeof(struct sockaddr_in6))
		print_v6(p, whole);
	else if (family == AF_UNIX)
		print_path(p, len - offsetof(struct sockaddr_un, sun_path),
		    whole);
	if (cap > 0) {
		size_t n = strnlen(whole, cap - 1);

		memcpy(text, whole, n);
		text[n] = 0;
	}
	return text;
}

public char *
weft_local_address(int fd, char *text, size_t cap)
{
	weft_address a;

	if (net_name(fd, &a) < 0)
		a.len = 0;
	return weft_address_text(address_get(&a), a.len, text, cap);
}

public char *
weft_peer_address(int fd, char *text, size_t cap)
{
	weft_address a;

	if (net_peer(fd, &a) < 0)
		a.len = 0;
	return weft_address_text(address_get(&a), a.len, text, cap);
}

public int
weft_local_port(int fd)
{
	weft_address a;
	int err = net_name(fd, &a);

	return err < 0 ? err : address_port(address_get(&a));
}
