/* SPDX-License-Identifier: MIT */
/* What is sent, and what comes back, byte by byte. */
#include "asking.h"

#define OK_ "+OK\r\n"
#define NIL "$-1\r\n"
#define NO_NUMBER "-ERR value is not an integer or out of range\r\n"
#define SYNTAX "-ERR syntax error\r\n"

/* ---- forms of requests ------------------------------------------------- */

/* However it is cut into pieces, it is the same request. */
GTEST(pieces, 2)
{
	static const char text[] = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\n"
	    "a\r\nb\0\r\nGET key\r\n*2\r\n$3\r\nget\r\n$3\r\nkey\r\n";
	static const char reply[] = OK_ "$5\r\na\r\nb";
	int fd;

	start((struct redis_options){0});
	for (size_t piece = 1; piece < sizeof text; piece += piece / 8 + 1) {
		char got[5];

		fd = dial();
		for (size_t at = 0; at < sizeof text - 1; at += piece) {
			size_t n = sizeof text - 1 - at;

			say_bytes(fd, text + at, n < piece ? n : piece);
			if (piece < 4 && at % 8 == 0)
				weft_yield();
		}
		hear(fd, reply);
		EQ(weft_read_full(fd, got, 3, NULL), 3);
		OK(memcmp(got, "\0\r\n", 3) == 0);
		hear(fd, "$5\r\na\r\nb");
		weft_close(fd);
	}
	stop();
}

GTEST(inline_requests, 1)
{
	start((struct redis_options){0});
	ask("\r\n\r\nPING\r\n", "+PONG\r\n");
	ask("ping\n", "+PONG\r\n");
	ask("  echo   x  \r\n", "$1\r\nx\r\n");
	ask("echo \"a b\\x00\\n\\\"\"\r\necho 'a\\n\\''\r\necho \"\"\r\n",
	    "$6\r\na b");
	ask("echo 'a\\n\\''\r\necho \"\"\r\n", "$4\r\na\\n'\r\n$0\r\n\r\n");
	ask("*0\r\n*-1\r\nping\r\n", "+PONG\r\n");
	stop();
}

/* A thousand requests in one piece: all replies, in order. */
GTEST(pipeline, 2)
{
	enum { N = 1000 };
	char *text = malloc(N * 16), *p = text, expected[16];
	int fd;

	start((struct redis_options){0});
	for (int i = 0; i < N; i++)
		p += sprintf(p, "incr n\r\n");
	fd = dial();
	say_bytes(fd, text, (size_t)(p - text));
	for (int i = 1; i <= N; i++) {
		snprintf(expected, sizeof expected, ":%d\r\n", i);
		hear(fd, expected);
	}
	weft_close(fd);
	free(text);
	stop();
}

/* ---- commands ---------------------------------------------------------- */

GTEST(set_and_get, 1)
{
	start((struct redis_options){0});
	ask("get a\r\nset a 1\r\nget a\r\n", NIL OK_ "$1\r\n1\r\n");
	ask("set a 22 nx\r\nget a\r\n", NIL "$1\r\n1\r\n");
	ask("set b 2 xx\r\nexists b\r\n", NIL ":0\r\n");
	ask("set a 333 XX GET\r\nget a\r\n", "$1\r\n1\r\n$3\r\n333\r\n");
	ask("set c 1 nx get\r\nget c\r\n", NIL "$1\r\n1\r\n");
	ask("set a 1 nx xx\r\n", SYNTAX);
	ask("set a 1 ex\r\n", SYNTAX);
	ask("set a 1 ex 1 px 1\r\n", SYNTAX);
	ask("set a 1 ex x\r\n", NO_NUMBER);
	ask("set a 1 ex 0\r\n",
	    "-ERR invalid expire time in 'set' command\r\n");
	ask("set a 1 ex 9223372036854775807\r\n",
	    "-ERR invalid expire time in 'set' command\r\n");
	ask("set t 1 ex 100\r\nset t 2 keepttl\r\nttl t\r\nset t 3\r\n"
	    "ttl t\r\n", OK_ OK_ ":100\r\n" OK_ ":-1\r\n");
	stop();
}

GTEST(numbers, 1)
{
	start((struct redis_options){0});
	ask("incr n\r\nincrby n 10\r\ndecr n\r\ndecrby n 20\r\n",
	    ":1\r\n:11\r\n:10\r\n:-10\r\n");
	ask("set n 9223372036854775807\r\nincr n\r\nget n\r\n",
	    OK_ "-ERR increment or decrement would overflow\r\n"
	    "$19\r\n9223372036854775807\r\n");
	ask("set n -9223372036854775808\r\ndecr n\r\nincr n\r\n",
	    OK_ "-ERR increment or decrement would overflow\r\n"
	    ":-9223372036854775807\r\n");
	ask("decrby n -9223372036854775808\r\n",
	    "-ERR decrement would overflow\r\n");
	ask("incrby n 9223372036854775808\r\n", NO_NUMBER);
	ask("incrby n 1.5\r\nincrby n +1\r\nincrby n 01\r\nincrby n -\r\n",
	    NO_NUMBER NO_NUMBER NO_NUMBER NO_NUMBER);
	ask("set n 1x\r\nincr n\r\nset n ''\r\nincr n\r\n",
	    OK_ NO_NUMBER OK_ NO_NUMBER);
	ask("set n 5 ex 100\r\nincr n\r\nttl n\r\n", OK_ ":6\r\n:100\r\n");
	stop();
}

GTEST(several_keys, 2)
{
	start((struct redis_options){0});
	ask("mset a 1 b 2 a 3\r\nmget b a none\r\n",
	    OK_ "*3\r\n$1\r\n2\r\n$1\r\n3\r\n" NIL);
	ask("mset a 1 b\r\n",
	    "-ERR wrong number of arguments for 'mset' command\r\n");
	ask("exists a b a none\r\ndel a a b none\r\ndbsize\r\n",
	    ":3\r\n:2\r\n:0\r\n");
	stop();
}

GTEST(times, 1)
{
	start((struct redis_options){0});
	ask("ttl k\r\nexpire k 1\r\nset k 1\r\nttl k\r\nexpire k 100\r\n"
	    "ttl k\r\npersist k\r\npersist k\r\nttl k\r\n",
	    ":-2\r\n:0\r\n" OK_ ":-1\r\n:1\r\n:100\r\n:1\r\n:0\r\n:-1\r\n");
	ask("expire k -1\r\nexists k\r\n", ":1\r\n:0\r\n");
	ask("set k 1\r\nexpire k 99999999999999999\r\nexpire k x\r\n",
	    OK_ "-ERR invalid expire time in 'expire' command\r\n" NO_NUMBER);
	ask("set k 1 px 1\r\n", OK_);
	weft_sleep(2 * WEFT_MS);
	ask("get k\r\nset k 2 nx\r\nget k\r\n", NIL OK_ "$1\r\n2\r\n");
	stop();
}

GTEST(about_the_server, 1)
{
	start((struct redis_options){ .max_clients = 77 });
	ask("config get maxcl*\r\n", "*2\r\n$10\r\nmaxclients\r\n$2\r\n77\r\n");
	ask("config get *****************************x\r\n", "*0\r\n");
	ask("config get save appendonly\r\n", "*4\r\n$10\r\nappendonly\r\n"
	    "$2\r\nno\r\n$4\r\nsave\r\n$0\r\n\r\n");
	ask("config set save 1\r\n",
	    "-ERR only CONFIG GET pattern is there\r\n");
	ask("command info get none\r\n", "*2\r\n*6\r\n$3\r\nget\r\n:2\r\n*2"
	    "\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n" NIL);
	ask("set a 1\r\ninfo keyspace\r\n", OK_ "$34\r\n# Keyspace\r\n"
	    "db0:keys=1,expires=0\r\n");
	ask("select 0\r\nselect 1\r\n",
	    OK_ "-ERR DB index is out of range\r\n");
	ask("flushall\r\ndbsize\r\n", OK_ ":0\r\n");
	stop();
}

/* ---- sizes ------------------------------------------------------------- */

/* More than a buffer of any kind, and as many bytes as there are. */
GTEST(large_values, 2)
{
	enum { LARGE = 3000000 };
	char *text = malloc(LARGE + 64), *got = malloc(LARGE + 64);
	int fd, n;

	start((struct redis_options){0});
	fd = dial();
	n = sprintf(text, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", LARGE);
	for (int i = 0; i < LARGE; i++)
		text[n + i] = (char)(i % 251 * i % 241);
	memcpy(text + n + LARGE, "\r\n", 2);
	say_bytes(fd, text, (size_t)n + LARGE + 2);
	hear(fd, OK_);
	for (int i = 0; i < 2; i++) {
		say(fd, "get k\r\n");
		hear(fd, "$3000000\r\n");
		EQ(weft_read_full(fd, got, LARGE, NULL), LARGE);
		OK(memcmp(got, text + n, LARGE) == 0);
		hear(fd, "\r\n");
	}
	EQ(server_count(server).input, 0);
	say(fd, "mget k k x\r\n");
	hear(fd, "*3\r\n$3000000\r\n");
	weft_close(fd);		/* and does not want it */
	free(text);
	free(got);
	stop();
}

/* Keys and arguments beyond those that need no memory. */
GTEST(many_arguments, 2)
{
	enum { N = 3000 };
	char *text = malloc(N * 40), *p = text;
	int fd;

	start((struct redis_options){0});
	p += sprintf(p, "*%d\r\n$4\r\nMSET\r\n", 2 * N + 1);
	for (int i = 0; i < N; i++)
		p += sprintf(p, "$5\r\n%05d\r\n$1\r\n%d\r\n", i, i % 10);
	p += sprintf(p, "*%d\r\n$3\r\nDEL\r\n", N + 1);
	for (int i = 0; i < N; i++)
		p += sprintf(p, "$5\r\n%05d\r\n", i);
	fd = dial();
	say_bytes(fd, text, (size_t)(p - text));
	hear(fd, OK_ ":3000\r\n");
	weft_close(fd);
	free(text);
	stop();
}
