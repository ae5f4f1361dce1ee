/* SPDX-License-Identifier: MIT */
/*
 * For libFuzzer: all that weft-trace does with a file, on any bytes. By hand,
 * from the top of the tree:
 *
 *	clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
 *	    -iquote tools/trace -iquote tests/trace -o /tmp/fuzz \
 *	    tests/trace/fuzz/reader.c \
 *	    $(ls tools/trace/[!mv]*.c) tools/trace/model.c
 *	/tmp/fuzz -max_len=20000 -timeout=10 NEW_FILES tests/trace/corpus
 *
 * tests/trace/tool_damaged.c does the same with the files of the corpus, and
 * with some that are like them. A file that made a difference goes there.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_go.h"
#include "command.h"
#include "json_check.h"

static char *
written(int (*command)(struct trace *, FILE *), struct trace *t, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	command(t, out);
	fclose(out);
	return text;
}

static void
check_conversions(struct trace *t)
{
	struct go_check c;
	size_t bytes = 0;
	char *text = written(command_go, t, &bytes);

	if (!go_check(&c, (uint8_t *)text, bytes)) {
		fprintf(stderr, "%s\n", c.error);
		abort();
	}
	go_check_free(&c);
	free(text);
	text = written(command_chrome, t, &bytes);
	if (!is_json(text))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct text why = {0};
	uint64_t *copy = malloc(bytes ? bytes : 1);
	struct trace *t;
	size_t n;

	memcpy(copy, data, bytes);
	t = trace_open_memory(copy, bytes, &why);
	if (t) {
		free(written(command_stats, t, &n));
		free(written(command_events, t, &n));
		check_conversions(t);
		trace_close(t);
	}
	text_free(&why);
	free(copy);
	return 0;
}
