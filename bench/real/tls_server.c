/* SPDX-License-Identifier: MIT */
/*
 * tls-server weft|plain|pthread PORT
 *
 * Echoes bytes over TLS 1.3 on a port of loopback, for tls-load, until it is
 * killed. Its certificate (ECDSA P-256) is made at the start; it gives out no
 * tickets.
 *
 *	weft	a goroutine for each connection, with libweft-tls
 *	plain	the same with OpenSSL on the blocking socket. tls-server-hooked
 *		is this program linked with hooks: there it parks in OpenSSL.
 *		Without hooks a goroutine would find another one's errors.
 *	pthread	a thread for each connection, with OpenSSL
 *
 * OpenSSL releases its buffers between reads in all of them, as libweft-tls has
 * it: they shall differ by what holds a connection.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/tls.h>

static int listener;
static EVP_PKEY *key;
static X509 *cert;
static SSL_CTX *ctx;
static weft_tls_config *conf;

static void
must(const char *what, bool good)
{
	if (good)
		return;
	fprintf(stderr, "tls-server: %s: failed\n", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

/* ---- the start ---- */

static void
make_certificate(void)
{
	enum { DAY = 86400 };
	const unsigned char here[] = "localhost";
	X509_NAME *name;

	key = EVP_EC_gen("P-256");
	cert = X509_new();
	must("key", key && cert);
	name = X509_get_subject_name(cert);
	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -DAY);
	X509_gmtime_adj(X509_getm_notAfter(cert), DAY);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, here, -1, -1, 0);
	X509_set_issuer_name(cert, name);
	X509_set_pubkey(cert, key);
	must("certificate", X509_sign(cert, key, EVP_sha256()) > 0);
}

/* What was written to b, with a NUL; frees b. */
static char *
text_of(BIO *b)
{
	char *at, *text;
	long n = BIO_get_mem_data(b, &at);

	text = strndup(at, (size_t)n);
	must("memory", text != NULL);
	BIO_free(b);
	return text;
}

static void
configure_weft(void)
{
	BIO *c = BIO_new(BIO_s_mem()), *k = BIO_new(BIO_s_mem());
	char *cert_pem, *key_pem;

	PEM_write_bio_X509(c, cert);
	PEM_write_bio_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL);
	cert_pem = text_of(c);
	key_pem = text_of(k);
	must("configuration", weft_tls_config_with(&conf, NULL,
	    .cert = cert_pem, .key = key_pem, .no_resumption = true,
	    .min_version = WEFT_TLS_1_3) == 0);
	free(cert_pem);
	free(key_pem);
}

static void
configure_plain(void)
{
	ctx = SSL_CTX_new(TLS_server_method());
	must("context", ctx && SSL_CTX_use_certificate(ctx, cert) == 1 &&
	    SSL_CTX_use_PrivateKey(ctx, key) == 1 &&
	    SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_num_tickets(ctx, 0) == 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
}

static void
listen_on(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int on = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((uint16_t)port);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	must("listen", !bind(listener, (struct sockaddr *)&a, sizeof a) &&
	    !listen(listener, SOMAXCONN));
}

/* As many descriptors as it may have. */
static void
raise_limit(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static void
no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- connections ---- */

/* A client that leaves without a handshake is no error here. */
static void
serve_weft(int fd)
{
	char buf[256];
	weft_tls *c;
	ssize_t n;

	must("connection", weft_tls_server(&c, conf, fd) == 0);
	while ((n = weft_tls_read(c, buf, sizeof buf)) > 0)
		if (weft_tls_write(c, buf, (size_t)n) != n)
			break;
	weft_tls_free(c);
}

static void
serve_plain(int fd)
{
	char buf[256];
	SSL *s = SSL_new(ctx);
	int n;

	must("connection", s && SSL_set_fd(s, fd) == 1);
	if (SSL_accept(s) == 1) {
		while ((n = SSL_read(s, buf, sizeof buf)) > 0)
			if (SSL_write(s, buf, n) != n)
				break;
		SSL_shutdown(s);
	}
	ERR_clear_error();
	SSL_free(s);
	close(fd);
}

static void *
serve_thread(void *arg)
{
	serve_plain((int)(intptr_t)arg);
	return NULL;
}

static int
goroutines(int argc, char **argv)
{
	int fd;

	(void)argc, (void)argv;
	while ((fd = conf ? weft_accept(listener, NULL, NULL) :
	    accept(listener, NULL, NULL)) >= 0) {
		no_delay(fd);
		weft_go(conf ? serve_weft : serve_plain, fd);
	}
	return 1;
}

static int
threads(void)
{
	pthread_t t;
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		no_delay(fd);
		must("thread", !pthread_create(&t, NULL, serve_thread,
		    (void *)(intptr_t)fd));
		pthread_detach(t);
	}
	return 1;
}

int
main(int argc, char **argv)
{
	if (argc != 3 || !atoi(argv[2])) {
		fprintf(stderr,
		    "usage: tls-server weft|plain|pthread PORT\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	raise_limit();
	make_certificate();
	if (!strcmp(argv[1], "weft"))
		configure_weft();
	else
		configure_plain();
	listen_on(atoi(argv[2]));
	if (!strcmp(argv[1], "pthread"))
		return threads();
	return weft_run(goroutines, argc, argv);
}
