/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server of the examples over TLS, asked by clients of weft, by curl
 * if there is one, and by what is no TLS.
 */
#include "pki.h"

#include "loopback.h"

#include <sys/stat.h>

enum { LARGE = 3000000, CLIENTS = 20 };

static weft_tls_config *server_conf, *client_conf;
static weft_waitgroup all;

static void
start_tls(struct http_options o)
{
	make_identities();
	server_conf = SERVER(.alpn = "http/1.1");
	client_conf = CLIENT(.alpn = "http/1.1");
	o.layer = &http_tls;
	o.layer_arg = server_conf;
	start(o);
}

static void
stop_tls(void)
{
	stop();
	weft_tls_config_release(server_conf);
	weft_tls_config_release(client_conf);
}

static weft_tls *
dial_tls(void)
{
	weft_tls *c = NULL;

	EQ(weft_tls_client(&c, client_conf, dial(), HERE), 0);
	return c;
}

/* Says it, and hears all until the server ends the stream; to be freed. */
static char *
ask_tls(const char *text)
{
	size_t cap = 1 << 20, n = 0;
	char *got = malloc(cap);
	weft_tls *c = dial_tls();
	ssize_t r;

	EQ(weft_tls_write(c, text, strlen(text)), strlen(text));
	EQ(weft_tls_shutdown(c), 0);
	while ((r = weft_tls_read(c, got + n, cap - n - 1)) > 0)
		n += (size_t)r;
	EQ(r, 0);
	got[n] = 0;
	weft_tls_free(c);
	return without_dates(got);
}

static void
says(const char *text, const char *expected)
{
	char *got = ask_tls(text);

	if (strcmp(got, expected) != 0) {
		fprintf(stderr, "# got: %s\n# not: %s\n", got, expected);
		t_fail(__FILE__, __LINE__, "the answer");
	}
	free(got);
}

BOTH_WAYS(answers_over_tls, 2)
{
	start_tls((struct http_options){0});
	says(GET_HELLO, HELLO);
	says(GET_HELLO GET_HELLO GET_HELLO, HELLO HELLO HELLO);
	says("POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
	    "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\n"
	    "Content-Type: application/octet-stream\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n"
	    "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
	stop_tls();
}

/* One request after the other, so that the connection is idle in between. */
static void
one_by_one(void)
{
	static const char text[] = GET_HELLO;
	weft_tls *c = dial_tls();
	char got[4096];
	size_t n;

	for (int i = 0; i < 5; i++) {
		EQ(weft_tls_write(c, text, sizeof text - 1), sizeof text - 1);
		for (n = 0; !n || !strstr(got, "world!\n");) {
			ssize_t r = weft_tls_read(c, got + n,
			    sizeof got - 1 - n);

			MUST(r > 0);
			got[n += (size_t)r] = 0;
		}
		weft_sleep(2 * WEFT_MS);
	}
	weft_tls_free(c);
}

/* Clients that speak no TLS, or do not speak. */
static void
by_mistake(void)
{
	int fd = dial();
	char got[100];

	say(fd, GET_HELLO);
	weft_read(fd, got, sizeof got);
	weft_close(fd);
	fd = dial();
	weft_close(fd);
}

BOTH_WAYS(many_clients, 4)
{
	start_tls((struct http_options){0});
	for (int i = 0; i < CLIENTS; i++) {
		weft_waitgroup_go(&all, one_by_one);
		weft_waitgroup_go(&all, by_mistake);
	}
	weft_waitgroup_wait(&all);
	stop_tls();
}

/*
 * A client that sends nothing, or half a handshake, is dropped in time. On a
 * busy machine that may be over before the server has read what was sent: then
 * the connection is reset, and it is tried again.
 */
BOTH_WAYS(silent_clients, 2)
{
	char got[100];
	ssize_t n = -1;
	int a, b;

	start_tls((struct http_options){ .head_timeout = 50 * WEFT_MS });
	a = dial();
	for (int i = 0; i < 20; i++) {
		b = dial();
		weft_write(b, "\x16\x03\x01\x01", 4);
		n = weft_read(b, got, sizeof got);
		weft_close(b);
		if (n != -ECONNRESET)
			break;
	}
	EQ(n, 0);
	EQ(weft_read(a, got, sizeof got), 0);
	weft_close(a);
	stop_tls();
}

/* ---- curl ---- */

static char top[64], url[WEFT_ADDRESS_TEXT + 32];

static char *
in_top(const char *name)
{
	static char ring[4][128];
	static int next;
	char *s = ring[next++ % 4];

	snprintf(s, 128, "%s/%s", top, name);
	return s;
}

static char *
at(const char *path)
{
	static char ring[4][256];
	static int next;
	char *s = ring[next++ % 4];

	snprintf(s, 256, "%s%s", url, path);
	return s;
}

/* What curl says; the arguments end with NULL. */
static void
curl_says(int line, const char *expected, const char *const *args)
{
	char *argv[24] = { (char *)(uintptr_t)"curl", (char *)(uintptr_t)"-sS",
	    (char *)(uintptr_t)"--max-time", (char *)(uintptr_t)"50" };
	char *out = NULL;
	size_t len;
	int n = 4, status = -1;

	while (*args && n < 23)
		argv[n++] = (char *)(uintptr_t)*args++;
	EQ(weft_process_output(argv, 1 << 20, weft_deadline(55 * WEFT_SECOND),
	    &out, &len, &status), 0);
	if (status != 0 || !out || strcmp(out, expected) != 0) {
		fprintf(stderr, "# status %d, said: %s\n", status,
		    out ? out : "");
		t_fail(__FILE__, line, expected);
	}
	free(out);
}
#define CURL(expected, ...) curl_says(__LINE__, expected, \
	(const char *const[]){ __VA_ARGS__, NULL })

static bool
same_as_large(const char *name, const char *data)
{
	char *got = NULL;
	size_t len = 0;
	bool same = weft_read_file(name, LARGE + 1, &got, &len) == 0 &&
	    len == LARGE && memcmp(got, data, LARGE) == 0;

	free(got);
	return same;
}

static void
asked_by_curl(void)
{
	char *data = malloc(LARGE), to[256];
	const char *port = strrchr(address, ':') + 1;

	wire_fill(data, LARGE, 0);
	EQ(weft_write_file(in_top("www/large"), data, LARGE, 0644), 0);
	EQ(weft_write_file(in_top("ca"), ca.cert, strlen(ca.cert), 0644), 0);
	snprintf(url, sizeof url, "https://%s", address);
	CURL("Hello, world!\nHello, world!\n", "-k", at("/hello"),
	    at("/hello"));
	CURL("200", "-k", "-o", in_top("got"), "-w", "%{http_code}",
	    at("/large"));
	OK(same_as_large(in_top("got"), data));
	CURL("200", "-k", "-T", in_top("www/large"), "-o", in_top("back"),
	    "-w", "%{http_code}", at("/echo"));
	OK(same_as_large(in_top("back"), data));
	/* With verification, by address and by name. */
	CURL("Hello, world!\n", "--cacert", in_top("ca"), at("/hello"));
	snprintf(to, sizeof to, "%s:%s:127.0.0.1", HERE, port);
	snprintf(url, sizeof url, "https://%s:%s", HERE, port);
	CURL("Hello, world!\n", "--cacert", in_top("ca"), "--resolve", to,
	    "--tls-max", "1.2", at("/hello"));
	free(data);
}

BOTH_WAYS(curl, 2)
{
	char command[128];

	if (system("curl --version 2>&1 | grep -q https") != 0)
		t_skip("no curl with https (apt install curl)");
	snprintf(top, sizeof top, "/tmp/weft-https-XXXXXX");
	MUST(mkdtemp(top));
	mkdir(in_top("www"), 0755);
	start_tls((struct http_options){ .arg = in_top("www") });
	asked_by_curl();
	stop_tls();
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	OK(strncmp(top, "/tmp/weft-https-", 16) == 0 && system(command) == 0);
}
