/* SPDX-License-Identifier: MIT */
/*
 * gc [-listen PORT]: a store of documents whose handlers free nothing; without
 * a port it tests itself. A document is a word or a list of documents, as
 * (fruit (apple 3) pear). Requests are lines:
 *
 *	set KEY DOCUMENT	answer: ok
 *	add KEY DOCUMENT	... in front of a list: ok, or none
 *	get KEY			the document, or none
 *
 * Documents never change. An add makes another list, which shares its elements
 * with the old one, and readers take no lock: one that prints the old list goes
 * on. What neither the map nor a goroutine points to any more is collected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>
#include <weft/extra.h>
#include <weft/gc.h>

enum { DEPTH = 64, CLIENTS = 32, ROUNDS = 30, KEYS = 8, NUMBERS = 500 };

struct node {
	const char *word;	/* NULL: a list */
	struct node *first, *next;
};

static weft_map documents;	/* nodes, constant since they are in it */
static weft_mutex writers;	/* an add depends on what it replaces */

static void *
must(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "gc: out of memory\n");
	exit(1);
}

/* NULL if there is none, or it is too deep; *at is then anywhere. */
static struct node *
parse(const char **at, int depth)
{
	struct node *n = must(weft_gc_alloc(sizeof *n)), **last = &n->first;
	size_t len = strcspn(*at, " ()");

	if (**at != '(') {
		n->word = must(weft_gc_strndup(*at, len));
		*at += len;
		return len > 0 ? n : NULL;
	}
	for (++*at; **at != ')'; last = &(*last)->next) {
		*last = depth < DEPTH ? parse(at, depth + 1) : NULL;
		if (!*last)
			return NULL;
		*at += strspn(*at, " ");
	}
	++*at;
	return n;
}

static void
print(weft_writer *w, const struct node *n)
{
	weft_writer_text(w, n->word ? n->word : "(");
	for (const struct node *m = n->first; m; m = m->next) {
		print(w, m);
		weft_writer_text(w, m->next ? " " : "");
	}
	weft_writer_text(w, n->word ? "" : ")");
}

/* A list with one more element, in front; NULL if there is no list. */
static struct node *
longer(struct node *element, const struct node *list)
{
	struct node *new;

	if (!list || list->word)
		return NULL;
	new = must(weft_gc_alloc(sizeof *new));
	element->next = list->first;
	new->first = element;
	return new;
}

static struct node *
find(const char *key)
{
	void *found = NULL;

	weft_map_get(&documents, weft_key_string(key), &found);
	return found;
}

static const char *
store(const char *key, const char *text, bool add)
{
	struct node *d = text ? parse(&text, add) : NULL;

	if (!d || *text)
		return "bad";
	weft_mutex_lock(&writers);
	if (add)
		d = longer(d, find(key));
	if (d && weft_map_set(&documents, weft_key_string(key), d) < 0)
		must(NULL);
	weft_mutex_unlock(&writers);
	return d ? "ok" : "none";
}

/* What is left to print. */
static const char *
answer(weft_writer *w, char *line)
{
	const char *verb = strsep(&line, " "), *key = strsep(&line, " ");
	const struct node *d;

	if (key && strcmp(verb, "set") == 0)
		return store(key, line, false);
	if (key && strcmp(verb, "add") == 0)
		return store(key, line, true);
	if (!key || strcmp(verb, "get") != 0)
		return "bad";
	d = find(key);
	if (d)
		print(w, d);
	return d ? "" : "none";
}

static void
serve(int fd)
{
	weft_reader r = WEFT_READER(fd);
	weft_writer w = WEFT_WRITER(fd);
	char *line;
	ssize_t n;

	while ((n = weft_reader_line(&r, &line)) > 0 && line[n - 1] == '\n') {
		line[n - 1] = '\0';
		weft_writer_printf(&w, "%s\n", answer(&w, line));
		if (weft_writer_flush(&w) < 0)
			break;
	}
	weft_reader_free(&r);
	weft_writer_free(&w);
	weft_close(fd);
}

/* Returns why it ends. */
static int
accept_all(int listener)
{
	int fd;

	while ((fd = weft_accept(listener, NULL, NULL)) >= 0)
		if (weft_try_go(serve, fd) < 0)
			weft_close(fd);
	return fd;
}

static int wrong;	/* answers; atomic */

static void
expect(weft_reader *r, const char *want, const char *format, ...)
{
	char *request, *line;
	va_list args;
	ssize_t n;

	va_start(args, format);
	request = must(weft_gc_vprintf(format, args));
	va_end(args);
	weft_write_full(r->fd, request, strlen(request), NULL);
	n = weft_reader_line(r, &line);
	if (n == (ssize_t)strlen(want) && memcmp(line, want, (size_t)n) == 0)
		return;
	fprintf(stderr, "gc: a wrong answer to %.60s\n", request);
	__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

/* A document, with the end of its line. */
static char *
text_of(int id, int version, const char *front)
{
	char list[8 * NUMBERS], *end = list;

	for (int i = 0; i < NUMBERS; i++)
		end += sprintf(end, " %d", (id + i) * version % 997);
	return must(weft_gc_printf("(%sof %d (list%s))\n", front, id, list));
}

/* A document is read again KEYS rounds later. */
static void
client(const char *address, int id)
{
	weft_reader r = WEFT_READER(weft_dial("tcp", address));
	const char *kept[KEYS] = {0};

	for (int v = 0; v < ROUNDS; v++) {
		const char **text = &kept[v % KEYS];
		int key = id * KEYS + v % KEYS;

		expect(&r, *text ? *text : "none\n", "get %d\n", key);
		expect(&r, "ok\n", "set %d %s", key, text_of(id, v, ""));
		expect(&r, "ok\n", "add %d (a (b))\n", key);
		*text = text_of(id, v, "(a (b)) ");
		expect(&r, *text, "get %d\n", key);
		expect(&r, "none\n", "add none-%d (a (b))\n", key);
		expect(&r, "bad\n", "add %d (a (b)\n", key);
	}
	weft_reader_free(&r);
	weft_close(r.fd);
}

static int
selftest(int listener)
{
	char address[WEFT_ADDRESS_TEXT];
	weft_waitgroup wg = {0};
	weft_gc_stats s;

	weft_go(accept_all, listener);
	weft_local_address(listener, address, sizeof address);
	for (int i = 0; i < CLIENTS; i++)
		weft_waitgroup_go(&wg, client, address, i);
	weft_waitgroup_wait(&wg);
	weft_gc_stats_read(&s, sizeof s);
	printf("%d requests, %d wrong answers, %d collections, longest pause "
	    "%.2f ms, heap %.1f MB\n", CLIENTS * ROUNDS * 6, wrong, (int)
	    s.collections, s.pause_max_ns / 1e6, s.heap_bytes / 1e6);
	return wrong > 0;
}

int
weft_main(int argc, char **argv)
{
	bool listen = argc == 3 && strcmp(argv[1], "-listen") == 0;
	char *address = must(weft_gc_printf("127.0.0.1:%s", listen ? argv[2] :
	    "0"));
	int fd = weft_listen("tcp", address);

	if (fd >= 0 && !listen)
		return selftest(fd);
	fprintf(stderr, "gc: %s: %s\n", address,
	    weft_strerror(fd < 0 ? fd : accept_all(fd)));
	return 1;
}
WEFT_MAIN
