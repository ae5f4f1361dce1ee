/* SPDX-License-Identifier: MIT */
/*
 * The server against clients that others wrote: redis-cli and redis-benchmark,
 * if they are installed.
 */
#include "asking.h"

#include <stdarg.h>

enum { WORDS = 32 };

static char port[16];

/* Skips where there is no such program. */
static void
need(const char *program)
{
	char command[64];

	if (t_emulated())
		t_skip("not under an emulator");
	snprintf(command, sizeof command, "%s --version >/dev/null 2>&1",
	    program);
	if (system(command) != 0)
		t_skip("no redis-cli and redis-benchmark: apt install "
		    "redis-tools");
}

static void
start_with_port(void)
{
	start((struct redis_options){0});
	snprintf(port, sizeof port, "%s", strrchr(address, ':') + 1);
}

/* Runs a program with these words behind its port: what it says. */
static char *
run(const char *program, va_list words)
{
	char *argv[WORDS + 4] = { (char *)(uintptr_t)program,
		(char *)(uintptr_t)"-p", port };
	char *word, *out = NULL;
	int n = 3, status = -1;
	size_t len;

	while (n < WORDS && (word = va_arg(words, char *)))
		argv[n++] = word;
	EQ(weft_process_output(argv, 1 << 20, weft_deadline(55 * WEFT_SECOND),
	    &out, &len, &status), 0);
	EQ(status, 0);
	return out ? out : calloc(1, 1);
}

/* What redis-cli says is that, and a line's end. */
static void
says(const char *expected, ...)
{
	va_list words;
	char *said;

	va_start(words, expected);
	said = run("redis-cli", words);
	va_end(words);
	said[strcspn(said, "\n")] = 0;
	if (strcmp(said, expected) != 0) {
		fprintf(stderr, "# said: %s\n# not: %s\n", said, expected);
		t_fail(__FILE__, __LINE__, "what redis-cli says");
	}
	free(said);
}

/* It says a number between these: of a time that goes by. */
static void
says_number(long least, long most, ...)
{
	va_list words;
	char *said;

	va_start(words, most);
	said = run("redis-cli", words);
	va_end(words);
	if (atol(said) < least || atol(said) > most) {
		fprintf(stderr, "# said: %s\n", said);
		t_fail(__FILE__, __LINE__, "which number redis-cli says");
	}
	free(said);
}

#define END (char *)NULL

GTEST(cli, 2)
{
	need("redis-cli");
	start_with_port();
	says("PONG", "ping", END);
	says("OK", "set", "key", "a value", "ex", "100", END);
	says("a value", "get", "key", END);
	/* A test has a minute. */
	says_number(40, 100, "ttl", "key", END);
	says("1", "persist", "key", END);
	says("-1", "ttl", "key", END);
	says("", "set", "key", "x", "nx", END);
	says("1", "incr", "n", END);
	says("42", "incrby", "n", "41", END);
	says("41", "decr", "n", END);
	says("OK", "mset", "a", "1", "b", "", END);
	says("2", "exists", "a", "b", END);
	says("4", "dbsize", END);
	says("4", "del", "a", "b", "n", "key", "none", END);
	says("ERR unknown command 'hgetall'", "hgetall", "x", END);
	stop();
}

/* What it finds in its output: the requests in a second of each test. */
static int
rows_of(char *said)
{
	int rows = 0;

	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
		rows += line[0] == '"' && strtod(strchr(line, ',') + 2, NULL) >
		    0;
	return rows;
}

static void
benchmark(int rows, ...)
{
	va_list words;
	char *said;

	va_start(words, rows);
	said = run("redis-benchmark", words);
	va_end(words);
	EQ(rows_of(said), rows);
	free(said);
}

GTEST(benchmark_tests, 2)
{
	need("redis-benchmark");
	start_with_port();
	benchmark(5, "-n", "2000", "-c", "20", "-t", "ping,set,get,incr",
	    "--csv", END);
	benchmark(2, "-n", "20000", "-c", "50", "-P", "16", "-r", "1000",
	    "-t", "set,get", "--csv", END);
	benchmark(1, "-n", "2000", "-c", "20", "-r", "100", "-t", "mset",
	    "-d", "5000", "--csv", END);
	stop();
}
