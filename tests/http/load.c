/* SPDX-License-Identifier: MIT */
/* A second of load by wrk, if there is one: nothing goes wrong. */
#include "loopback.h"

#include <sys/wait.h>

enum { TRIES = 5 };

/* What wrk says after a second; NULL if it does not. */
static char *
run_wrk(const char *path, const char *connections)
{
	char url[WEFT_ADDRESS_TEXT + 64], *out = NULL;
	char *argv[] = { (char *)(uintptr_t)"wrk", (char *)(uintptr_t)"-t1",
		(char *)(uintptr_t)"-d1", (char *)(uintptr_t)"--timeout",
		(char *)(uintptr_t)"20s", (char *)(uintptr_t)connections, url,
		NULL };
	int status = -1;
	size_t len;

	snprintf(url, sizeof url, "http://%s%s", address, path);
	EQ(weft_process_output(argv, 1 << 20, weft_deadline(50 * WEFT_SECOND),
	    &out, &len, &status), 0);
	EQ(status, 0);
	return out;
}

/* Once more if this machine stood still for that second. */
static void
load(const char *path, const char *connections)
{
	char *out = run_wrk(path, connections);

	for (int i = 1; i < TRIES && out && strstr(out, " 0 requests in");
	    i++) {
		free(out);
		out = run_wrk(path, connections);
	}
	if (!out)
		return;
	if (!strstr(out, "Requests/sec") || strstr(out, " 0 requests in") ||
	    strstr(out, "Socket errors") || strstr(out, "Non-2xx")) {
		fprintf(stderr, "# %s\n", out);
		t_fail(__FILE__, __LINE__, "errors");
	}
	free(out);
}

static void
set_up(void)
{
	need_tool("command -v wrk >/dev/null 2>&1",
	    "no wrk (apt install wrk)");
	/* No limits: whoever is forgotten is so for good. */
	start((struct http_options){ .arg = (void *)(uintptr_t)"examples",
	    .head_timeout = 3600 * WEFT_SECOND, .idle_timeout = 3600 *
	    WEFT_SECOND, .write_timeout = 3600 * WEFT_SECOND });
}

BOTH_WAYS(hello, 2)
{
	set_up();
	load("/hello", "-c50");
	stop();
}

GTEST(chunks, 2)
{
	set_up();
	load("/count?1000", "-c10");
	stop();
}

GTEST(files, 2)
{
	parking = true;
	set_up();
	load("/demo.c", "-c10");
	stop();
}
