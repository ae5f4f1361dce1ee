/* SPDX-License-Identifier: MIT */
/*
 * Random reads of 4 KiB of a file, by 1, 16 and 256 goroutines: in the page
 * cache, and not (see files_data.h). What one read takes of the time in all.
 */
#include "bench.h"

#include "files_data.h"

#include <weft.h>

struct work {
	struct files_data data;
	long ops, readers;
	long right;		/* atomic */
};

static void
reader(struct work *w, long first)
{
	char *buf = aligned_alloc(FILES_BLOCK, FILES_BLOCK);
	long right = 0;

	for (long op = first; op < w->ops; op += w->readers) {
		uint32_t block = files_block(&w->data, op);
		long n = weft_pread(w->data.fd, buf, FILES_BLOCK,
		    (off_t)block * FILES_BLOCK);

		right += files_right(buf, n, block);
	}
	__atomic_add_fetch(&w->right, right, __ATOMIC_RELAXED);
	free(buf);
}

static void
measure(struct work *w, int cached, int readers)
{
	weft_waitgroup wg = {0};
	char name[32];
	double t;

	snprintf(name, sizeof name, "files_%s_%d",
	    cached ? "cached" : "uncached", readers);
	w->ops = files_ops(cached, readers);
	w->readers = readers;
	w->right = 0;
	files_prepare(&w->data, cached);
	t = bench_now_ns();
	for (long i = 0; i < readers; i++)
		weft_waitgroup_go(&wg, reader, w, i);
	weft_waitgroup_wait(&wg);
	bench_ns_op(name, w->ops, bench_now_ns() - t);
	bench_check(name, w->right, w->ops);
}

void
bench_files(void)
{
	static const int readers[] = { 1, 16, 256 };
	static struct work w;

	if (!files_make(&w.data)) {
		fprintf(stderr, "files: no room for 64 MiB in TMPDIR\n");
		return;
	}
	for (int cached = 1; cached >= 0; cached--)
		for (int i = 0; i < 3; i++)
			measure(&w, cached, readers[i]);
	weft_close(w.data.fd);
}
