/* SPDX-License-Identifier: MIT */
/*
 * libcurl and nginx, by http and https: what each goroutine gets is what it
 * has asked for, and its errors are its own. libcurl's sockets do not block;
 * it waits in poll, and looks names up on threads of its own.
 *
 * nginx serves files, and hands what is below /held/ on to a socket of the
 * test, so that requests wait until the test lets them go.
 */
#include "real_server.h"

#include <curl/curl.h>
#include <sys/un.h>

#include <weft.h>

#include "certificate.h"
#include "counter.h"
#include "run_env.h"
#include "t.h"
#include "thread_count.h"

enum {
	CLIENTS = 200, REQUESTS = 10,
	FILES = 40,
	HELD = 100,
	DRIVERS = 10, TRANSFERS = 20,
	FAILING = 120,
	SAID_BYTES = 64,
};

/* ---- the server and its files ---- */

static size_t
file_size(int k)
{
	return (size_t)k * (size_t)k * 137;
}

static char
file_byte(int k, size_t i)
{
	return (char)((size_t)k * 31 + i * 7 + i / 251);
}

static void
write_files(struct server *s)
{
	size_t most = file_size(FILES);
	char *data = malloc(most), name[32];

	for (int k = 0; k < FILES; k++) {
		for (size_t i = 0; i < file_size(k); i++)
			data[i] = file_byte(k, i);
		snprintf(name, sizeof name, "%d.bin", k);
		server_file(s, name, data, file_size(k));
	}
	free(data);
}

static void
write_text(struct server *s, const char *name, const char *text)
{
	server_file(s, name, text, strlen(text));
}

static const char nginx_conf[] =
	"daemon off;\n"
	"master_process off;\n"
	"pid %1$s/pid;\n"
	"error_log stderr error;\n"
	"events { worker_connections 2048; }\n"
	"http {\n"
	"	access_log off;\n"
	"	client_body_temp_path %1$s/t1; proxy_temp_path %1$s/t2;\n"
	"	fastcgi_temp_path %1$s/t3; uwsgi_temp_path %1$s/t4;\n"
	"	scgi_temp_path %1$s/t5;\n"
	"	keepalive_requests 7;\n"
	"	server {\n"
	"		listen 127.0.0.1:%2$d backlog=1024;\n"
	"		listen 127.0.0.1:%3$d ssl backlog=1024;\n"
	"		ssl_certificate %1$s/cert.pem;\n"
	"		ssl_certificate_key %1$s/key.pem;\n"
	"		root %1$s;\n"
	"		location /held/ { proxy_pass http://unix:%1$s/held; }\n"
	"	}\n"
	"}\n";

static void
configure(struct server *s)
{
	char text[4096];

	make_identities();
	write_text(s, "ca.pem", ca.cert);
	write_text(s, "other_ca.pem", other_ca.cert);
	write_text(s, "cert.pem", server_id.cert);
	write_text(s, "key.pem", server_id.key);
	write_files(s);
	snprintf(text, sizeof text, nginx_conf, s->folder, s->port[0],
	    s->port[1]);
	write_text(s, "conf", text);
	server_words(s->argv, s->path, "-p", s->folder, "-c",
	    server_printf(s, "%s/conf", s->folder), NULL);
}
static struct server nginx = { .program = "nginx", .package = "nginx-light",
	.ports = 2, .configure = configure };
REAL_SERVER(nginx)

/* ---- requests ---- */

enum scheme { HTTP, HTTPS };

/* One handle, and what is expected of its next answer. */
struct request {
	CURL *curl;
	char error[CURL_ERROR_SIZE], ca_file[128];
	int file;		/* the number of the file; -1: a text */
	size_t got;		/* bytes of it */
	bool differs;
	char said[SAID_BYTES];	/* the text */
};

static size_t
take(char *data, size_t size, size_t n, void *arg)
{
	struct request *q = arg;

	n *= size;
	for (size_t i = 0; i < n; i++, q->got++) {
		if (q->file >= 0)
			q->differs |= data[i] != file_byte(q->file, q->got);
		else if (q->got < SAID_BYTES - 1)
			q->said[q->got] = data[i];
	}
	return n;
}

static void
request_open(struct request *q, const char *ca_name)
{
	memset(q, 0, sizeof *q);
	snprintf(q->ca_file, sizeof q->ca_file, "%s/%s", nginx.folder,
	    ca_name);
	q->curl = curl_easy_init();
	curl_easy_setopt(q->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(q->curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(q->curl, CURLOPT_WRITEDATA, q);
	curl_easy_setopt(q->curl, CURLOPT_ERRORBUFFER, q->error);
	curl_easy_setopt(q->curl, CURLOPT_CAINFO, q->ca_file);
	curl_easy_setopt(q->curl, CURLOPT_PROXY, "");
}

static void
request_aim(struct request *q, enum scheme scheme, const char *host, int port,
    const char *path)
{
	char url[256];

	snprintf(url, sizeof url, "%s://%s:%d%s", scheme == HTTPS ? "https" :
	    "http", host, port, path);
	curl_easy_setopt(q->curl, CURLOPT_URL, url);
	q->file = -1;
	q->got = 0;
	q->error[0] = 0;
	memset(q->said, 0, sizeof q->said);
}

static void
request_file(struct request *q, enum scheme scheme, const char *host, int k)
{
	char path[32];

	snprintf(path, sizeof path, "/%d.bin", k);
	request_aim(q, scheme, host, nginx.port[scheme], path);
	q->file = k;
}

static long
status_of(const struct request *q)
{
	long status = 0;

	curl_easy_getinfo(q->curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static void
check_file(const struct request *q, CURLcode code)
{
	if (code != CURLE_OK)
		fprintf(stderr, "# %d: %s\n", code, q->error);
	EQ(code, CURLE_OK);
	EQ(status_of(q), 200);
	EQ(q->got, file_size(q->file));
	OK(!q->differs);
}

/* ---- every body is that of its request ---- */

static int bodies;

static void
client(enum scheme scheme, const char *host, int id, int requests)
{
	struct request q;

	request_open(&q, "ca.pem");
	for (int i = 0; i < requests; i++) {
		request_file(&q, scheme, host, (id + i * 7) % FILES);
		check_file(&q, curl_easy_perform(q.curl));
		counter_add(&bodies, 1);
	}
	curl_easy_cleanup(q.curl);
}

static void
begin(void)
{
	server_needed(&nginx);
	EQ(curl_global_init(CURL_GLOBAL_ALL), 0);
}

static void
own_bodies(enum scheme scheme, const char *host, int clients, int requests)
{
	weft_waitgroup wg = {0};

	begin();
	for (int i = 0; i < clients; i++)
		weft_waitgroup_go(&wg, client, scheme, host, i, requests);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&bodies), clients * requests);
}
static void http(void) { own_bodies(HTTP, "127.0.0.1", CLIENTS, REQUESTS); }
static void https(void) { own_bodies(HTTPS, "127.0.0.1", CLIENTS, REQUESTS); }
/* A move in each call of a lock, of which OpenSSL makes thousands. */
static void https_few(void) { own_bodies(HTTPS, "127.0.0.1", 60, 4); }
GTEST(http_on_1, 1) { http(); }
GTEST(http_on_4, 4) { http(); }
GTEST(https_on_1, 1) { https(); }
GTEST(https_on_4, 4) { https(); }
ETEST(http_moving, 2, "WEFT_MIGRATE=1") { http(); }
ETEST(https_moving, 2, "WEFT_MIGRATE=1") { https_few(); }
ETEST(http_sliced, 2, "WEFT_SLICE_US=50") { http(); }
ETEST(https_sliced, 2, "WEFT_SLICE_US=50") { https(); }
/* With a look-up of the name, which is a thread's. */
GTEST(names, 2) { own_bodies(HTTP, "localhost", CLIENTS / 4, 3); }

/* ---- many wait, few threads ---- */

static void
wait_held(int id)
{
	enum scheme scheme = id % 2 ? HTTPS : HTTP;
	char path[32];
	struct request q;

	snprintf(path, sizeof path, "/held/%d", id);
	request_open(&q, "ca.pem");
	request_aim(&q, scheme, "127.0.0.1", nginx.port[scheme], path);
	EQ(curl_easy_perform(q.curl), CURLE_OK);
	EQ(status_of(&q), 200);
	OK(strcmp(q.said, path) == 0);
	counter_add(&bodies, 1);
	curl_easy_cleanup(q.curl);
}

static int
listen_held(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s/held", nginx.folder);
	unlink(a.sun_path);
	EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	EQ(listen(fd, HELD), 0);
	return fd;
}

/* Reads the head of a request; its path. */
static void
read_path(int fd, char *path)
{
	char head[4096];
	size_t n = 0;
	ssize_t r;

	do {
		r = read(fd, head + n, sizeof head - 1 - n);
		if (r <= 0)
			break;
		n += (size_t)r;
		head[n] = 0;
	} while (!strstr(head, "\r\n\r\n"));
	head[n] = 0;
	path[0] = 0;
	EQ(sscanf(head, "GET %31s", path), 1);
}

static void
answer(int fd, const char *path)
{
	char text[128];
	int n = snprintf(text, sizeof text, "HTTP/1.0 200 OK\r\n\r\n%s", path);

	EQ(write(fd, text, (size_t)n), n);
	EQ(close(fd), 0);
}

GTEST(waiting_takes_few_threads, 2)
{
	static char path[HELD][32];
	int listener, fd[HELD];
	weft_waitgroup wg = {0};

	begin();
	listener = listen_held();
	for (int i = 0; i < HELD; i++)
		weft_waitgroup_go(&wg, wait_held, i);
	for (int i = 0; i < HELD; i++) {
		fd[i] = accept(listener, NULL, NULL);
		OK(fd[i] >= 0);
		read_path(fd[i], path[i]);
	}
	OK(threads_are_few());
	EQ(counter_get(&bodies), 0);
	for (int i = HELD - 1; i >= 0; i--)
		answer(fd[i], path[i]);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&bodies), HELD);
	close(listener);
}

/* ---- several transfers of one goroutine ---- */

static int
finish_transfers(CURLM *multi)
{
	int left, done = 0;
	CURLMsg *m;
	void *q;

	while ((m = curl_multi_info_read(multi, &left))) {
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &q);
		check_file(q, m->data.result);
		done++;
	}
	return done;
}

static void
driver(int id)
{
	CURLM *multi = curl_multi_init();
	struct request *q = calloc(TRANSFERS, sizeof *q);
	int running, done = 0;

	for (int i = 0; i < TRANSFERS; i++) {
		request_open(&q[i], "ca.pem");
		request_file(&q[i], i % 2 ? HTTPS : HTTP, "127.0.0.1",
		    (id * 3 + i) % FILES);
		curl_easy_setopt(q[i].curl, CURLOPT_PRIVATE, &q[i]);
		EQ(curl_multi_add_handle(multi, q[i].curl), CURLM_OK);
	}
	do {
		EQ(curl_multi_perform(multi, &running), CURLM_OK);
		done += finish_transfers(multi);
		if (running)
			EQ(curl_multi_poll(multi, NULL, 0, 1000, NULL),
			    CURLM_OK);
	} while (running);
	EQ(done, TRANSFERS);
	for (int i = 0; i < TRANSFERS; i++) {
		curl_multi_remove_handle(multi, q[i].curl);
		curl_easy_cleanup(q[i].curl);
	}
	curl_multi_cleanup(multi);
	free(q);
}

static void
drive(void)
{
	weft_waitgroup wg = {0};

	begin();
	for (int i = 0; i < DRIVERS; i++)
		weft_waitgroup_go(&wg, driver, i);
	weft_waitgroup_wait(&wg);
}
GTEST(transfers_together, 2) { drive(); }
ETEST(transfers_together_moving, 2, "WEFT_MIGRATE=1") { drive(); }

/* ---- every error is that of its request ---- */

static int silent_port, refusing_port;

static void
fails(struct request *q, CURLcode expected, const char *text)
{
	CURLcode code = curl_easy_perform(q->curl);

	if (code != expected || !strstr(q->error, text))
		fprintf(stderr, "# %d: %s\n", code, q->error);
	EQ(code, expected);
	OK(strstr(q->error, text) != NULL);
}

static void
fail_in_its_way(int id)
{
	struct request q;

	request_open(&q, id % 6 == 3 ? "other_ca.pem" : "ca.pem");
	curl_easy_setopt(q.curl, CURLOPT_FAILONERROR, 1L);
	switch (id % 6) {
	case 0:
		request_aim(&q, HTTP, "127.0.0.1", refusing_port, "/");
		fails(&q, CURLE_COULDNT_CONNECT, "Failed to connect");
		break;
	case 1:
		request_aim(&q, HTTPS, "127.0.0.1", nginx.port[HTTP], "/");
		fails(&q, CURLE_SSL_CONNECT_ERROR, "wrong version number");
		break;
	case 2:
		request_aim(&q, HTTP, "127.0.0.1", nginx.port[HTTP], "/none");
		fails(&q, CURLE_HTTP_RETURNED_ERROR, "404");
		break;
	case 3:
		request_aim(&q, HTTPS, "127.0.0.1", nginx.port[HTTPS], "/");
		fails(&q, CURLE_PEER_FAILED_VERIFICATION,
		    "unable to get local issuer certificate");
		break;
	case 4:
		curl_easy_setopt(q.curl, CURLOPT_TIMEOUT_MS, 300L);
		request_aim(&q, HTTP, "127.0.0.1", silent_port, "/");
		fails(&q, CURLE_OPERATION_TIMEDOUT, "timed out");
		break;
	default:
		request_file(&q, HTTPS, "127.0.0.1", id % FILES);
		check_file(&q, curl_easy_perform(q.curl));
	}
	curl_easy_cleanup(q.curl);
}

static void
own_errors(void)
{
	weft_waitgroup wg = {0};
	int fd;

	begin();
	fd = server_silent(&silent_port, FAILING);
	refusing_port = server_free_port();
	for (int i = 0; i < FAILING; i++)
		weft_waitgroup_go(&wg, fail_in_its_way, i);
	weft_waitgroup_wait(&wg);
	close(fd);
}
GTEST(own_errors_on_1, 1) { own_errors(); }
GTEST(own_errors_on_4, 4) { own_errors(); }
ETEST(own_errors_moving, 2, "WEFT_MIGRATE=1") { own_errors(); }
ETEST(own_errors_sliced, 2, "WEFT_SLICE_US=50") { own_errors(); }
