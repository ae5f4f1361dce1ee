/* SPDX-License-Identifier: MIT */
/* The server against a client that others wrote: curl, if there is one. */
#include "loopback.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 4000000, PARALLEL = 20 };

static char top[64], folder[80], url[WEFT_ADDRESS_TEXT + 16];

/* Runs curl with these arguments: what it says, to be freed. */
static char *
curl(const char *first, ...)
{
	char *argv[32] = { (char *)(uintptr_t)"curl", (char *)(uintptr_t)"-sS",
		(char *)(uintptr_t)"--max-time", (char *)(uintptr_t)"50" };
	char *out = NULL;
	size_t len;
	va_list ap;
	int n = 4, status = -1;

	va_start(ap, first);
	for (const char *s = first; s && n < 31; s = va_arg(ap, const char *))
		argv[n++] = (char *)(uintptr_t)s;
	va_end(ap);
	EQ(weft_process_output(argv, 1 << 24, weft_deadline(55 * WEFT_SECOND),
	    &out, &len, &status), 0);
	EQ(status, 0);
	return out ? out : calloc(1, 1);
}

/* The same, and compares; the arguments follow. */
#define SAYS(expected, ...) do {					\
	char *said_ = curl(__VA_ARGS__, (char *)NULL);			\
	if (strcmp(said_, expected) != 0) {				\
		fprintf(stderr, "# said: %s\n# not: %s\n", said_,	\
		    expected);						\
		t_fail(__FILE__, __LINE__, "what curl says");		\
	}								\
	free(said_);							\
} while (0)

/* In one of eight buffers. */
static char *
join(const char *a, const char *between, const char *b)
{
	static char ring[8][256];
	static int next;
	char *s = ring[next++ % 8];

	snprintf(s, 256, "%s%s%s", a, between, b);
	return s;
}

static char *
at(const char *path)
{
	return join(url, "", path);
}

static char *
in_top(const char *name)
{
	return join(top, "/", name);
}

static void
make_large(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0644);
	char *data = malloc(LARGE);

	for (size_t i = 0; i < LARGE; i++)
		data[i] = (char)(i * i % 251);
	EQ(write(fd, data, LARGE), LARGE);
	close(fd);
	free(data);
}

static bool
same_files(const char *a, const char *b)
{
	char *x = malloc(LARGE + 1), *y = malloc(LARGE + 1);
	int fa = open(a, O_RDONLY), fb = open(b, O_RDONLY);
	ssize_t n = weft_read_full(fa, x, LARGE + 1, NULL);
	ssize_t m = weft_read_full(fb, y, LARGE + 1, NULL);
	bool same = n == m && n == LARGE && memcmp(x, y, LARGE) == 0;

	weft_close(fa);
	weft_close(fb);
	free(x);
	free(y);
	return same;
}

static void
set_up(void)
{
	need_tool("curl --version >/dev/null 2>&1",
	    "no curl (apt install curl)");
	snprintf(top, sizeof top, "/tmp/weft-curl-XXXXXX");
	OK(mkdtemp(top));
	snprintf(folder, sizeof folder, "%s/www", top);
	mkdir(folder, 0755);
	make_large(in_top("www/large"));
	start((struct http_options){ .arg = folder });
	snprintf(url, sizeof url, "http://%s", address);
}

static void
tear_down(void)
{
	char command[128];

	stop();
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	OK(strncmp(top, "/tmp/weft-curl-", 15) == 0 && system(command) == 0);
}

BOTH_WAYS(keeps_the_connection, 2)
{
	set_up();
	SAYS("Hello, world!\n1 200\nHello, world!\n0 200\n"
	    "Hello, world!\n0 200\n", "-w", "%{num_connects} %{http_code}\n",
	    at("/hello"), at("/hello"), at("/hello"));
	SAYS("Hello, world!\n200\nHello, world!\n200\n", "-0", "-w",
	    "%{http_code}\n", at("/hello"), at("/hello"));
	SAYS("404 Not Found\n1\nHello, world!\n0\n", "-w", "%{num_connects}\n",
	    at("/nothing"), at("/hello"));
	tear_down();
}

BOTH_WAYS(heads, 2)
{
	char *said;

	set_up();
	said = without_dates(curl("-I", at("/hello"), (char *)NULL));
	OK(strcmp(said, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	    "Content-Length: 14\r\n\r\n") == 0);
	free(said);
	SAYS("405", "-o", in_top("x"), "-w", "%{http_code}", "-X", "DELETE",
	    at("/large"));
	SAYS("501", "-o", in_top("x"), "-w", "%{http_code}", "-X", "BREW",
	    at("/large"));
	SAYS("404", "-o", in_top("x"), "-w", "%{http_code}", "--path-as-is",
	    at("/../secret"));
	tear_down();
}

BOTH_WAYS(uploads, 2)
{
	set_up();
	SAYS("200", "-T", in_top("www/large"), "-o", in_top("length"), "-w",
	    "%{http_code}", at("/echo"));
	OK(same_files(in_top("www/large"), in_top("length")));
	SAYS("200", "-T", in_top("www/large"), "-o", in_top("chunks"), "-w",
	    "%{http_code}", "-H", "Transfer-Encoding: chunked", at("/echo"));
	OK(same_files(in_top("www/large"), in_top("chunks")));
	SAYS("a=b", "-d", "a=b", at("/echo"));
	SAYS("a=b", "-d", "a=b", "-H", "Transfer-Encoding: chunked",
	    at("/echo"));
	tear_down();
}

/* curl waits a second if it is not told to go on; we look for the words. */
BOTH_WAYS(told_to_go_on, 2)
{
	char *said;

	set_up();
	said = curl("-v", "--stderr", "-", "-H", "Expect: 100-continue", "-d",
	    "body", at("/echo"), (char *)NULL);
	OK(strstr(said, "HTTP/1.1 100 Continue"));
	OK(strstr(said, "HTTP/1.1 200 OK"));
	free(said);
	tear_down();
}

BOTH_WAYS(answers_in_chunks, 2)
{
	char *said, *p;

	set_up();
	p = said = curl(at("/count?100000"), (char *)NULL);
	for (long i = 1; i <= 100000; i++)
		OK(strtol(p, &p, 10) == i && *p == '\n');
	OK(strcmp(p, "\n") == 0);
	free(said);
	tear_down();
}

BOTH_WAYS(files, 2)
{
	set_up();
	SAYS("200", "-o", in_top("all"), "-w", "%{http_code}", at("/large"));
	OK(same_files(in_top("www/large"), in_top("all")));
	/* In two parts. */
	SAYS("206", "-r", "0-1999999", "-o", in_top("parts"), "-w",
	    "%{http_code}", at("/large"));
	SAYS("206", "-C", "-", "-o", in_top("parts"), "-w", "%{http_code}",
	    at("/large"));
	OK(same_files(in_top("www/large"), in_top("parts")));
	SAYS("304", "-z", in_top("www/large"), "-o", in_top("x"), "-w",
	    "%{http_code}", at("/large"));
	tear_down();
}

BOTH_WAYS(in_parallel, 4)
{
	char name[32];

	set_up();
	if (system("curl --help all 2>&1 | grep -q parallel-max") != 0)
		t_skip("this curl is too old");
	/* It shows its progress, however it is asked not to. */
	free(curl("--parallel", "--parallel-max", "20", "--stderr",
	    in_top("progress"), "-o", in_top("copy#1"), at("/large?[1-20]"),
	    (char *)NULL));
	for (int i = 1; i <= PARALLEL; i++) {
		snprintf(name, sizeof name, "copy%d", i);
		OK(same_files(in_top("www/large"), in_top(name)));
	}
	tear_down();
}
