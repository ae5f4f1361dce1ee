/* SPDX-License-Identifier: MIT */
/* See trace_file.h. No malloc: it also runs when the process dies. */
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "g.h"
#include "module_list.h"
#include "os.h"
#include "sched.h"
#include "site_text.h"
#include "weft.h"

enum {
	SITES_FIRST = 512,	/* a page of them */
	REASON_BYTES = 1024
};

/* ---- bytes ---- */

void
trace_file_fail(struct trace_file_out *o, int err)
{
	if (!o->err)
		o->err = err;
}

static ssize_t
write_some(const struct trace_file_out *o, const void *from, size_t bytes)
{
	return o->is_socket ? send(o->fd, from, bytes, MSG_NOSIGNAL) :
	    write(o->fd, from, bytes);
}

void
trace_file_limit(struct trace_file_out *o, int64_t ns)
{
	o->until = o->is_socket ? os_now_ns() + ns : 0;
}

/* All of it, or the file has an error. */
static void
put(struct trace_file_out *o, const void *from, size_t bytes)
{
	const char *p = from;

	while (bytes && !o->err) {
		ssize_t n = write_some(o, p, bytes);

		if (n < 0 && errno != EINTR)
			trace_file_fail(o, -errno);
		if (n > 0) {
			p += n;
			bytes -= (size_t)n;
		}
		if (bytes && o->until && os_now_ns() > o->until)
			trace_file_fail(o, -ETIMEDOUT);
	}
}

static void
put_block(struct trace_file_out *o, enum trace_block_type type,
    const void *payload, size_t bytes)
{
	struct trace_block b = { .type = type, .bytes = (uint32_t)bytes };

	put(o, &b, sizeof b);
	put(o, payload, bytes);
}

/* Appends a string and its NUL, as far as there is room. */
static size_t
add_text(char *buf, size_t at, size_t cap, const char *text)
{
	size_t n = strlen(text);

	if (n > cap - at - 1)
		n = cap - at - 1;
	memcpy(buf + at, text, n);
	buf[at + n] = 0;
	return at + n + 1;
}

/* ---- clocks ---- */

struct trace_clock
trace_clock_read(void)
{
	return (struct trace_clock){ cpu_cycles(), os_now_ns() };
}

void
trace_file_clock(struct trace_file_out *o)
{
	struct trace_clock now = trace_clock_read();

	put_block(o, TRACE_BLOCK_CLOCK, &now, sizeof now);
}

/* ---- the head ---- */

static int64_t
wall_minus_mono(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec - os_now_ns();
}

static void
put_head(struct trace_file_out *o, const struct trace_clock *began)
{
	struct trace_file head = {
		.magic = TRACE_MAGIC, .cycles = began->cycles,
		.mono_ns = began->ns, .wall_ns = began->ns + wall_minus_mono(),
		.pid = (uint32_t)getpid(),
		.procs = a_load_relaxed(&sched.procs),
	};

	put(o, &head, sizeof head);
}

static void
put_reasons(struct trace_file_out *o)
{
	char buf[REASON_BYTES] = {0};
	size_t n = 0;

	for (int i = 0; i < WAIT_REASONS; i++)
		n = add_text(buf, n, sizeof buf,
		    g_reason_name((enum wait_reason)i));
	put_block(o, TRACE_BLOCK_REASONS, buf, round_up(n, 8));
}

static void
put_first(struct trace_file_out *o, const struct trace_clock *began)
{
	put_head(o, began);
	put_reasons(o);
}

int
trace_file_create(struct trace_file_out *o, const char *path,
    const struct trace_clock *began)
{
	*o = (struct trace_file_out){0};
	/* Not to wait for the reader of a pipe, which may never come. */
	o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
	    O_NONBLOCK, 0666);
	if (o->fd < 0)
		return -errno;
	o->fd = (int)os_fd_move_high(o->fd);
	fcntl(o->fd, F_SETFL, fcntl(o->fd, F_GETFL) & ~O_NONBLOCK);
	put_first(o, began);
	return 0;
}

int
trace_file_to_socket(struct trace_file_out *o, int fd,
    const struct trace_clock *began)
{
	struct timeval tv = { .tv_sec = 2 };

	*o = (struct trace_file_out){ .is_socket = true };
	o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (o->fd < 0)
		return -errno;
	setsockopt(o->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
	o->fd = (int)os_fd_move_high(o->fd);
	put_first(o, began);
	return 0;
}

int
trace_file_close(struct trace_file_out *o)
{
	put_block(o, TRACE_BLOCK_END, NULL, 0);
	if (close(o->fd) < 0)
		trace_file_fail(o, -errno);
	o->fd = -1;
	if (o->room)
		os_unmap(o->sites, o->room * sizeof *o->sites);
	o->sites = NULL;
	o->room = o->n_sites = 0;
	return o->err;
}

/* ---- modules ---- */

struct module_payload {
	uint64_t base, lo, hi;
	uint32_t id_bytes, zero;
	char rest[MODULE_ID + LISTED_PATH + 16];
};

static void
put_module(struct trace_file_out *o, const struct listed *l)
{
	const struct module *m = &l->m;
	struct module_payload p = {
		.base = m->base, .lo = m->load.lo, .hi = m->load.hi,
		.id_bytes = m->id_bytes,
	};
	size_t n = round_up(m->id_bytes, 8);

	memcpy(p.rest, m->id, m->id_bytes);
	n = add_text(p.rest, n, sizeof p.rest, l->path);
	put_block(o, TRACE_BLOCK_MODULE, &p,
	    offsetof(struct module_payload, rest) + round_up(n, 8));
}

void
trace_file_modules(struct trace_file_out *o)
{
	for (const struct listed *l = module_list(); l; l = l->next)
		put_module(o, l);
}

/* ---- spawn sites ---- */

static size_t
slot_of(const struct trace_file_out *o, const void *site)
{
	size_t i = (uintptr_t)site * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (i &= o->room - 1; o->sites[i] && o->sites[i] != site; )
		i = (i + 1) & (o->room - 1);
	return i;
}

/* Makes the table twice as large, at least. False: no memory. */
static bool
grow_sites(struct trace_file_out *o)
{
	struct trace_file_out old = *o;

	o->room = old.room ? old.room * 2 : SITES_FIRST;
	o->sites = os_map(o->room * sizeof *o->sites);
	if (!o->sites) {
		o->sites = old.sites;
		o->room = old.room;
		return false;
	}
	for (size_t i = 0; i < old.room; i++)
		if (old.sites[i])
			o->sites[slot_of(o, old.sites[i])] = old.sites[i];
	if (old.room)
		os_unmap(old.sites, old.room * sizeof *old.sites);
	return true;
}

struct site_payload {
	uint64_t address;
	int32_t line;
	uint32_t zero;
	char text[2 * SITE_BYTES];
};

static void
put_site(struct trace_file_out *o, const weft_site *site,
    const struct site_text *text)
{
	struct site_payload p = { (uintptr_t)site, text->line, 0, {0} };
	size_t n = add_text(p.text, 0, sizeof p.text, text->fn);

	n = add_text(p.text, n, sizeof p.text, text->file);
	put_block(o, TRACE_BLOCK_SITE, &p,
	    offsetof(struct site_payload, text) + round_up(n, 8));
}

static void
note_site(struct trace_file_out *o, const void *site)
{
	struct site_text text;
	size_t i;

	if (!site || (o->n_sites * 2 >= o->room && !grow_sites(o)))
		return;
	i = slot_of(o, site);
	if (o->sites[i] || !site_text(site, &text))
		return;
	o->sites[i] = site;
	o->n_sites++;
	put_site(o, site, &text);
}

/* ---- events ---- */

static void
note_sites(struct trace_file_out *o, const struct trace_chunk *c,
    uint32_t words)
{
	for (uint32_t i = 0; i + 1 < words; ) {
		uint64_t word = a_load_relaxed(&c->word[i]);

		if ((word & 63) == TR_SITE)
			note_site(o, (const void *)(uintptr_t)
			    a_load_relaxed(&c->word[i + 1]));
		i += 1 + trace_words_after(word);
	}
}

void
trace_file_chunk(struct trace_file_out *o, const struct trace_chunk *c,
    uint32_t words)
{
	struct trace_block head = c->head;

	note_sites(o, c, words);
	head.bytes = words * 8;
	o->lost += head.lost;
	put(o, &head, sizeof head);
	put(o, c->word, head.bytes);
}
