/* SPDX-License-Identifier: MIT */
/*
 * http serve [options] ADDRESS [FOLDER]
 *
 * Serves until SIGINT or SIGTERM. Without arguments it tests itself. It is
 * built twice: as https it also serves that (HTTP_TLS), and needs OpenSSL.
 */
#include "http.h"
#include "site.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#ifdef HTTP_TLS
#include <weft/tls.h>
#endif

static int
usage(void)
{
	fprintf(stderr, "usage: http serve [options] ADDRESS [FOLDER]\n"
	    "  -linger MS      an idle connection keeps its goroutine so "
	    "long (0)\n"
	    "  -readable       ... not at all\n"
	    "  -idle MS        it is closed after so long (60000)\n"
	    "  -head MS        a request's head may take so long (10000)\n"
	    "  -body MS        its body so long, plus 1 s for each KiB "
	    "(20000)\n"
	    "  -write MS       a client may take nothing for so long (20000)\n"
	    "  -max-body N     bytes of a request's body (16777216)\n"
	    "  -links          symbolic links are followed, also out of "
	    "FOLDER\n"
	    "  -cert FILE      https, with this certificate (PEM)\n"
	    "  -key FILE       ... and its key\n");
	return 2;
}

/* An option with a number: true if it is one. */
static bool
take_option(struct http_options *o, const char *name, const char *value)
{
	const struct {
		const char *name;
		int64_t *to, unit;
	} known[] = {
		{ "-linger", &o->linger, WEFT_MS },
		{ "-idle", &o->idle_timeout, WEFT_MS },
		{ "-head", &o->head_timeout, WEFT_MS },
		{ "-body", &o->body_timeout, WEFT_MS },
		{ "-write", &o->write_timeout, WEFT_MS },
		{ "-max-body", &o->max_body, 1 }
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (strcmp(name, known[i].name) == 0 && value &&
		    atoll(value) > 0) {
			*known[i].to = atoll(value) * known[i].unit;
			return true;
		}
	}
	return false;
}

static const char *cert, *key;

/* Serves https, if that was asked for: 0, or the status to exit with. */
#ifdef HTTP_TLS
static int
secure(struct http_options *o)
{
	weft_tls_config *conf;
	char why[WEFT_TLS_TEXT];

	if (!cert && !key)
		return 0;
	if (weft_tls_config_with(&conf, why, .cert_file = cert,
	    .key_file = key, .alpn = "http/1.1") != 0) {
		fprintf(stderr, "http: %s\n", why);
		return 1;
	}
	o->layer = &http_tls;
	o->layer_arg = conf;
	return 0;
}
#else
static int
secure(struct http_options *o)
{
	(void)o;
	if (!cert && !key)
		return 0;
	fprintf(stderr, "http: built without TLS; see examples/https\n");
	return 1;
}
#endif

/* A channel that says when the process shall end. */
static weft_chan *
signals(void)
{
	weft_chan *c = weft_chan_of(int, 1);

	weft_signal_notify(c, SIGINT);
	weft_signal_notify(c, SIGTERM);
	return c;
}

static int
serve(const char *address, const struct http_options *o)
{
	weft_chan *stop = signals();
	char text[WEFT_ADDRESS_TEXT];
	struct http_server *s;
	int fd = weft_listen("tcp", address);

	if (fd < 0) {
		fprintf(stderr, "http: %s: %s\n", address,
		    weft_strerror(fd));
		return 1;
	}
	s = http_server_start(fd, o);
	if (!s)
		return 1;
	printf("http%s://%s/\n", o->layer ? "s" : "",
	    weft_local_address(fd, text, sizeof text));
	fflush(stdout);
	weft_recv(stop, int);
	fprintf(stderr, "http: stopping\n");
	return http_server_stop(s, weft_deadline(10 * WEFT_SECOND)) != 0;
}

int
weft_main(int argc, char **argv)
{
	struct http_options o = { .handler = site };
	int i = 2;

	if (argc < 2)
		return selftest();
	if (strcmp(argv[1], "serve") != 0)
		return usage();
	while (i < argc && argv[i][0] == '-') {
		if (strcmp(argv[i], "-readable") == 0) {
			o.linger = 0;
			i++;
		} else if (strcmp(argv[i], "-links") == 0) {
			o.handler = site_links;
			i++;
		} else if (strcmp(argv[i], "-cert") == 0 && argv[i + 1]) {
			cert = argv[i + 1];
			i += 2;
		} else if (strcmp(argv[i], "-key") == 0 && argv[i + 1]) {
			key = argv[i + 1];
			i += 2;
		} else if (take_option(&o, argv[i], argv[i + 1])) {
			i += 2;
		} else {
			return usage();
		}
	}
	if (argc - i < 1 || argc - i > 2)
		return usage();
	if (secure(&o) != 0)
		return 1;
	o.arg = argv[i + 1];
	return serve(argv[i], &o);
}
WEFT_MAIN
