/* SPDX-License-Identifier: MIT */
/*
 * An echo server over TLS, and two clients: one that trusts its certificate,
 * which is made here, and one that does not.
 */
#include "certificate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/tls.h>

#define NAME "echo.example"

static void
serve(weft_tls_config *conf, int fd)
{
	char buf[4096], why[WEFT_TLS_TEXT];
	weft_tls *c;
	ssize_t n;

	if (weft_tls_server(&c, conf, fd) != 0) {
		weft_close(fd);
		return;
	}
	/* The handshake is made by the first read. */
	weft_set_deadline(fd, weft_deadline(10 * WEFT_SECOND));
	while ((n = weft_tls_read(c, buf, sizeof buf)) > 0)
		if (weft_tls_write(c, buf, (size_t)n) != n)
			break;
	if (n < 0)
		printf("server: %s\n", weft_tls_error(c, why, sizeof why));
	weft_tls_free(c);
}

static void
accept_all(int listener, weft_tls_config *conf, weft_waitgroup *wg)
{
	int fd;

	while ((fd = weft_accept(listener, NULL, NULL)) >= 0)
		weft_waitgroup_go(wg, serve, conf, fd);
}

/* Sends a word and gets it back: 0 or -errno. */
static int
ask(const char *address, weft_tls_config *conf, const char *word)
{
	char text[WEFT_TLS_TEXT], back[100] = "";
	weft_tls *c;
	ssize_t n;
	int fd = weft_dial("tcp", address);

	if (fd < 0 || weft_tls_client(&c, conf, fd, NAME) != 0)
		return -1;
	n = weft_tls_write(c, word, strlen(word));
	if (n > 0)
		n = weft_tls_shutdown(c);
	if (n == 0)
		n = weft_tls_read_full(c, back, sizeof back - 1, NULL);
	if (n >= 0)
		printf("client: %s says: %s\n", weft_tls_peer_subject(c, text,
		    sizeof text), back);
	else
		printf("client: %s\n", weft_tls_error(c, text, sizeof text));
	weft_tls_free(c);
	return n < 0 ? (int)n : 0;
}

int
weft_main(int argc, char **argv)
{
	weft_tls_config *server, *friendly, *suspicious;
	char address[WEFT_ADDRESS_TEXT], *cert, *key, why[WEFT_TLS_TEXT];
	int listener = weft_listen("tcp", "127.0.0.1:0"), ok;
	weft_waitgroup connections = {0}, accepting = {0};

	(void)argc, (void)argv;
	if (listener < 0 || !certificate_make(NAME, &cert, &key))
		return 1;
	if (weft_tls_config_with(&server, why, .cert = cert, .key = key) ||
	    weft_tls_config_with(&friendly, why, .ca = cert) ||
	    weft_tls_config_make(&suspicious, why, NULL, 0)) {
		printf("%s\n", why);
		return 1;
	}
	weft_local_address(listener, address, sizeof address);
	weft_waitgroup_go(&accepting, accept_all, listener, server,
	    &connections);
	ok = ask(address, friendly, "hello") == 0 &&
	    ask(address, suspicious, "hello") == -EKEYREJECTED;
	weft_close(listener);
	weft_waitgroup_wait(&accepting);
	weft_waitgroup_wait(&connections);
	weft_tls_config_release(server);
	weft_tls_config_release(friendly);
	weft_tls_config_release(suspicious);
	free(cert);
	free(key);
	return !ok;
}
WEFT_MAIN
