/* SPDX-License-Identifier: MIT */
/* What the debug socket answers: help, metrics, dump. */
#include <string.h>

#include "debug_verb.h"
#include "prometheus.h"
#include "sink.h"
#include "weft.h"

enum { BUF_BYTES = 4096 };

static int
serve_metrics(int fd, const char *words)
{
	char buf[BUF_BYTES];
	struct fd_sink s;

	(void)words;
	fd_sink_init(&s, fd, buf, sizeof buf);
	prometheus_write(&s.sink);
	return sink_flush(&s.sink);
}

/* Words: "each" lists goroutines with equal stacks one by one, "quiet" sends
 * no signals to threads that run. */
static int
serve_dump(int fd, const char *words)
{
	weft_dump_options opt = {0};

	if (strstr(words, "each"))
		opt.flags |= WEFT_DUMP_EACH;
	if (strstr(words, "quiet"))
		opt.flags |= WEFT_DUMP_NO_SIGNALS;
	return weft_dump(fd, &opt, sizeof opt);
}

static int serve_help(int fd, const char *words);

static struct debug_verb verbs[] = {
	{ "help", "what can be asked", serve_help, false, NULL },
	{ "metrics", "all metrics, for Prometheus", serve_metrics, false,
	    NULL },
	{ "dump", "every goroutine; dump each, dump quiet", serve_dump, true,
	    NULL },
};

static int
serve_help(int fd, const char *words)
{
	char buf[BUF_BYTES];
	struct fd_sink s;

	(void)words;
	fd_sink_init(&s, fd, buf, sizeof buf);
	for (const struct debug_verb *v = debug_verb_first(); v; v = v->next)
		sink_add(&s.sink, "%s: %s\n", v->name, v->help);
	return sink_flush(&s.sink);
}

__attribute__((constructor)) static void
add_verbs(void)
{
	for (unsigned i = 0; i < sizeof verbs / sizeof *verbs; i++)
		debug_verb_add(&verbs[i]);
}
