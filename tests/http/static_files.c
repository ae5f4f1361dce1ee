/* SPDX-License-Identifier: MIT */
/* Files: which of them are served, and what is said about them. */
#include "loopback.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 5000000, WHEN = 784111777 };

static char top[64], folder[80];

static char *
in_top(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/%s", top, name);
	return path;
}

/* A file of that many bytes, as old as all others. */
static void
put(const char *name, const char *text, size_t len)
{
	struct timespec when[2] = { { WHEN, 0 }, { WHEN, 999 } };
	int fd = open(in_top(name), O_WRONLY | O_CREAT, 0644);

	OK(fd >= 0);
	EQ(write(fd, text, len), len);
	futimens(fd, when);
	close(fd);
}

static char *large;

static void
set_up(void)
{
	snprintf(top, sizeof top, "/tmp/weft-http-XXXXXX");
	OK(mkdtemp(top));
	snprintf(folder, sizeof folder, "%s/www", top);
	large = malloc(LARGE);
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (char)(i * i % 251);
	put("secret", "secret", 6);
	mkdir(in_top("www"), 0755);
	mkdir(in_top("www/sub"), 0755);
	mkdir(in_top("www/empty"), 0755);
	mkdir(in_top("www/.git"), 0755);
	mkdir(in_top("www/.well-known"), 0755);
	put("www/index.html", "<p>top", 6);
	put("www/sub/index.html", "<p>sub", 6);
	put("www/a b.txt", "0123456789", 10);
	put("www/none", "", 0);
	put("www/.git/config", "hidden", 6);
	put("www/.well-known/x", "shown", 5);
	put("www/large.png", large, LARGE);
	mkfifo(in_top("www/fifo"), 0644);
	start((struct http_options){ .arg = folder });
}

static void
tear_down(void)
{
	char command[128];

	stop();
	free(large);
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	OK(strncmp(top, "/tmp/weft-http-", 15) == 0 && system(command) == 0);
}

#define LINES "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n" \
	"Accept-Ranges: bytes\r\n"
#define FILE_200(type, n, body) "HTTP/1.1 200 OK\r\n" LINES \
	"Content-Type: " type "\r\nContent-Length: " n "\r\n\r\n" body
#define GET(path) "GET " path " HTTP/1.1\r\n" H "\r\n"
#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n" \
	"Content-Length: 14\r\n\r\n404 Not Found\n"
#define HTML "text/html; charset=utf-8"
#define TEXT "text/plain; charset=utf-8"

GTEST(names, 2)
{
	set_up();
	answers(GET("/"), FILE_200(HTML, "6", "<p>top"));
	answers(GET("//"), FILE_200(HTML, "6", "<p>top"));
	answers(GET("/?x"), FILE_200(HTML, "6", "<p>top"));
	answers(GET("/index.html"), FILE_200(HTML, "6", "<p>top"));
	answers(GET("/sub/"), FILE_200(HTML, "6", "<p>sub"));
	answers(GET("/s%75b%2f"), FILE_200(HTML, "6", "<p>sub"));
	answers(GET("/a%20b.txt"), FILE_200(TEXT, "10", "0123456789"));
	answers(GET("/none"), FILE_200("application/octet-stream", "0", ""));
	answers(GET("/.well-known/x"), FILE_200("application/octet-stream",
	    "5", "shown"));
	answers("HEAD /a%20b.txt HTTP/1.1\r\n" H "\r\n" GET("/none"),
	    FILE_200(TEXT, "10", "")
	    FILE_200("application/octet-stream", "0", ""));
	answers(GET("/sub"), "HTTP/1.1 301 Moved Permanently\r\n"
	    "Location: /sub/\r\nContent-Length: 0\r\n\r\n");
	answers(GET("//sub?a=b"), "HTTP/1.1 301 Moved Permanently\r\n"
	    "Location: /sub/?a=b\r\nContent-Length: 0\r\n\r\n");
	answers("POST /none HTTP/1.1\r\n" H "\r\n", "HTTP/1.1 405 Method Not "
	    "Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\n\r\n");
	tear_down();
}

static const char *const hidden[] = {
	"/../secret", "/sub/../../secret", "/%2e%2e/secret", "/..%2fsecret",
	"/%2e%2e%2fsecret", "/.%2e/secret", "/sub/..%2f..%2fsecret", "/..",
	"/.", "/./none", "/sub/..", "/sub/../", "/%2e", "/.git/config",
	"/%2egit/config", "/sub/.", "//../secret", "/.well-known/.",
	"/.well-known/../.git/config", "/.well-known", "/nothing", "/none/",
	"/none/x", "/empty/", "/fifo", "/..;/secret", "/\\..\\secret",
	"/sub//..//..//secret", "*"
};

GTEST(not_there, 2)
{
	char text[256], *long_name = malloc(6000);

	set_up();
	for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
		snprintf(text, sizeof text, "%s %s HTTP/1.1\r\n" H "\r\n",
		    hidden[i][0] == '*' ? "OPTIONS" : "GET", hidden[i]);
		if (hidden[i][0] == '*')
			answers(text, "HTTP/1.1 405 Method Not Allowed\r\n"
			    "Allow: GET, HEAD\r\nContent-Length: 0\r\n\r\n");
		else
			answers(text, NOT_FOUND);
	}
	memset(long_name, 'a', 6000);
	memcpy(long_name, "GET /", 5);
	strcpy(long_name + 5000, " HTTP/1.1\r\n" H "\r\n");
	answers(long_name, NOT_FOUND);
	free(long_name);
	tear_down();
}

/* ---- links -------------------------------------------------------------- */

static void
put_links(void)
{
	EQ(symlink("../secret", in_top("www/out")), 0);
	EQ(symlink("/etc", in_top("www/etc")), 0);
	EQ(symlink("..", in_top("www/up")), 0);
	EQ(symlink("none", in_top("www/in")), 0);
	EQ(symlink("sub", in_top("www/folder")), 0);
	EQ(symlink("round", in_top("www/round")), 0);
	EQ(symlink("../../secret", in_top("www/empty/index.html")), 0);
}

#define OCTETS(n, body) FILE_200("application/octet-stream", n, body)

/* A link is nothing that is there, wherever it leads. */
GTEST(links, 2)
{
	set_up();
	put_links();
	answers(GET("/out"), NOT_FOUND);
	answers(GET("/etc/passwd"), NOT_FOUND);
	answers(GET("/etc/"), NOT_FOUND);
	answers(GET("/etc"), NOT_FOUND);
	answers(GET("/up/secret"), NOT_FOUND);
	answers(GET("/up/www/none"), NOT_FOUND);
	answers(GET("/in"), NOT_FOUND);
	answers(GET("/folder/index.html"), NOT_FOUND);
	answers(GET("/folder/"), NOT_FOUND);
	answers(GET("/folder"), NOT_FOUND);
	answers(GET("/round"), NOT_FOUND);
	answers(GET("/empty/"), NOT_FOUND);
	answers(GET("/none"), OCTETS("0", ""));
	answers(GET("//sub///index.html"), FILE_200(HTML, "6", "<p>sub"));
	answers(GET("/sub"), "HTTP/1.1 301 Moved Permanently\r\n"
	    "Location: /sub/\r\nContent-Length: 0\r\n\r\n");
	answers(GET("/none/x"), NOT_FOUND);
	tear_down();
}

/* The folder itself may be one. */
GTEST(linked_folder, 2)
{
	char link[256];

	set_up();
	stop();
	snprintf(link, sizeof link, "%s", in_top("link"));
	EQ(symlink("www", link), 0);
	start((struct http_options){ .arg = link });
	answers(GET("/sub/"), FILE_200(HTML, "6", "<p>sub"));
	tear_down();
}

GTEST(followed_links, 2)
{
	set_up();
	put_links();
	stop();
	start((struct http_options){ .arg = folder, .handler = site_links });
	answers(GET("/out"), OCTETS("6", "secret"));
	answers(GET("/in"), OCTETS("0", ""));
	answers(GET("/folder/"), FILE_200(HTML, "6", "<p>sub"));
	answers(GET("/up/secret"), OCTETS("6", "secret"));
	answers(GET("/round"), NOT_FOUND);
	answers(GET("/up/../secret"), NOT_FOUND);
	tear_down();
}

GTEST(not_even_a_name, 2)
{
#define BAD "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n" \
	"Content-Length: 16\r\n\r\n400 Bad Request\n"
	set_up();
	answers(GET("/no%00ne"), BAD);
	answers(GET("/none%00"), BAD);
	answers(GET("/%"), BAD);
	answers(GET("/%zz"), BAD);
	answers(GET("/%2"), BAD);
	tear_down();
}

/* ---- conditions and parts ---------------------------------------------- */

#define WITH(line) "GET /a%20b.txt HTTP/1.1\r\n" H line "\r\n\r\n"
#define ALL FILE_200(TEXT, "10", "0123456789")
#define PART(range, n, body) "HTTP/1.1 206 Partial Content\r\n" LINES \
	"Content-Range: bytes " range "/10\r\nContent-Type: " TEXT "\r\n" \
	"Content-Length: " n "\r\n\r\n" body
#define NO_PART "HTTP/1.1 416 Range Not Satisfiable\r\n" LINES \
	"Content-Range: bytes */10\r\nContent-Length: 0\r\n\r\n"
#define SAME "HTTP/1.1 304 Not Modified\r\nLast-Modified: Sun, 06 Nov 1994 " \
	"08:49:37 GMT\r\n\r\n"

GTEST(unchanged, 2)
{
	set_up();
	answers(WITH("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"),
	    SAME);
	answers(WITH("If-Modified-Since: Sun, 06 Nov 1994 08:49:38 GMT")
	    GET("/none"), SAME
	    FILE_200("application/octet-stream", "0", ""));
	answers(WITH("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT"),
	    ALL);
	answers(WITH("If-Modified-Since: yesterday"), ALL);
	answers(WITH("If-Modified-Since:"), ALL);
	tear_down();
}

GTEST(parts, 2)
{
	set_up();
	answers(WITH("Range: bytes=0-0"), PART("0-0", "1", "0"));
	answers(WITH("Range: bytes=2-5"), PART("2-5", "4", "2345"));
	answers(WITH("Range: bytes=7-"), PART("7-9", "3", "789"));
	answers(WITH("Range: bytes=7-99"), PART("7-9", "3", "789"));
	answers(WITH("Range: bytes=-3"), PART("7-9", "3", "789"));
	answers(WITH("Range: bytes=-99"), PART("0-9", "10", "0123456789"));
	answers(WITH("Range: BYTES=0-99999999999999999999999999"),
	    PART("0-9", "10", "0123456789"));
	answers(WITH("Range: bytes=10-"), NO_PART);
	answers(WITH("Range: bytes=-0"), NO_PART);
	answers(WITH("Range: bytes=99999999999999999999999999-"), NO_PART);
	answers(WITH("Range: bytes=5-2"), ALL);
	answers(WITH("Range: bytes=1-2,4-5"), ALL);
	answers(WITH("Range: bytes=-"), ALL);
	answers(WITH("Range: bytes="), ALL);
	answers(WITH("Range: bytes=a-b"), ALL);
	answers(WITH("Range: bytes=1"), ALL);
	answers(WITH("Range: lines=1-2"), ALL);
	answers(WITH("Range: bytes=1-2\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 "
	    "GMT"), PART("1-2", "2", "12"));
	answers(WITH("Range: bytes=1-2\r\nIf-Range: Sun, 06 Nov 1994 08:49:38 "
	    "GMT"), ALL);
	answers(WITH("Range: bytes=1-2\r\nIf-Range: \"tag\""), ALL);
	tear_down();
}

/* ---- large ones -------------------------------------------------------- */

static void
gets_large(const char *lines, size_t from, size_t to)
{
	char text[256], *got, *body;
	size_t len;
	int fd = dial();

	snprintf(text, sizeof text, "GET /large.png HTTP/1.1\r\n" H "%s"
	    "Connection: close\r\n\r\n", lines);
	say(fd, text);
	got = hear_all(fd, &len);
	body = strstr(got, "\r\n\r\n") + 4;
	EQ(len - (size_t)(body - got), to - from);
	OK(strstr(got, "\r\nContent-Type: image/png\r\n"));
	OK(len - (size_t)(body - got) == to - from &&
	    memcmp(body, large + from, to - from) == 0);
	free(got);
	weft_close(fd);
}

GTEST(large_ones, 2)
{
	set_up();
	gets_large("", 0, LARGE);
	gets_large("Range: bytes=1-4999998\r\n", 1, LARGE - 1);
	gets_large("Range: bytes=4000-7900\r\n", 4000, 7901);
	gets_large("Range: bytes=-3000\r\n", LARGE - 3000, LARGE);
	tear_down();
}

/* Several behind each other, each by sendfile. */
GTEST(large_at_once, 2)
{
	char *got, *p;
	size_t len;
	int fd;

	set_up();
	fd = dial();
	say(fd, GET("/large.png") GET("/large.png") GET("/none"));
	weft_shutdown(fd, SHUT_WR);
	p = got = hear_all(fd, &len);
	for (int i = 0; i < 2; i++) {
		p = strstr(p, "\r\n\r\n");
		OK(p && len > (size_t)(p - got) + LARGE &&
		    memcmp(p + 4, large, LARGE) == 0);
		p += 4 + LARGE;
	}
	OK(strncmp(p, "HTTP/1.1 200 OK\r\n", 17) == 0);
	free(got);
	weft_close(fd);
	tear_down();
}

/* The file shrinks while it is on its way: the connection is cut. */
static void
shrink(struct http *h, const struct http_request *r, void *arg)
{
	int fd = weft_open(arg, O_RDWR, 0);

	(void)r;
	http_begin(h, 200);
	http_body(h, LARGE);
	EQ(ftruncate(fd, LARGE / 2), 0);
	EQ(http_send_file(h, fd, 0, LARGE), -EIO);
	weft_close(fd);
}

GTEST(shrinking, 2)
{
	char path[256], *got;
	size_t len;
	int fd;

	set_up();
	stop();
	snprintf(path, sizeof path, "%s", in_top("www/large.png"));
	start((struct http_options){ .handler = shrink, .arg = path });
	fd = dial();
	say(fd, GET("/"));
	got = hear_all(fd, &len);
	OK(len > LARGE / 2 && len < LARGE);
	free(got);
	weft_close(fd);
	tear_down();
}
