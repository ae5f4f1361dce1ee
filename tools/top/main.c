/* SPDX-License-Identifier: MIT */
/*
 * weft-top [-bp] [-n N] [-d SECONDS] PID | PATH
 * weft-top -r REQUEST PID | PATH
 *
 * -b prints one screen after the other, for scripts; without it the screen is
 * redrawn until q is pressed. There is always one period before the first
 * screen, since rates need two answers. -r copies one answer of the socket to
 * standard output: a profile, a trace, a dump.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

enum { SCREEN_BYTES = 256 * 1024, EXIT_USAGE = 2 };

static struct {
	bool batch;
	const char *request;	/* one answer is copied, and nothing shown */
	struct sampled sampled;
	long count;		/* screens; 0: no end */
	double delay;		/* seconds */
	char path[PATH_BYTES];
} opt = { .delay = 1, .sampled = { .fd = -1 } };

static int
usage(void)
{
	fprintf(stderr, "usage: weft-top [-bp] [-n N] [-d SECONDS] PID | PATH\n"
	    "       weft-top -r REQUEST PID | PATH\n"
	    "  -b          one screen after the other, without a terminal\n"
	    "  -n N        so many screens\n"
	    "  -d SECONDS  between two of them (1)\n"
	    "  -p          the functions that use the CPUs, by a profile of "
	    "the process\n"
	    "  -r REQUEST  copies an answer to standard output: help, metrics, "
	    "dump,\n"
	    "              \"profile cpu 5\", \"trace 1\"\n"
	    "PATH is a debug socket; a process opens one with "
	    "WEFT_DEBUG=socket\n");
	return EXIT_USAGE;
}

/* ---- the terminal ---- */

static struct termios saved;
static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* The other screen, no cursor; keys come at once and are not shown. */
static void
open_terminal(void)
{
	struct termios raw;
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	tcgetattr(STDIN_FILENO, &saved);
	raw = saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	printf("\033[?1049h\033[?25l");
	fflush(stdout);
}

static void
close_terminal(void)
{
	printf("\033[?25h\033[?1049l");
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

/* Lines are cut at the right edge, and what was there before is erased. */
static void
draw(const struct screen *s)
{
	const char *line = s->text;
	int rows = s->rows;

	printf("\033[H");
	while (*line && rows-- > 0) {
		size_t n = strcspn(line, "\n"), shown = n;

		/* A title's escapes take no room. */
		if (*line != '\033' && shown > (size_t)s->columns)
			shown = (size_t)s->columns;
		printf("%.*s\033[K%s", (int)shown, line, rows ? "\r\n" : "");
		line += n + (line[n] == '\n');
	}
	printf("\033[J");
	fflush(stdout);
}

static void
measure(struct screen *s)
{
	struct winsize w = {0};

	s->rows = 24;
	s->columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 1) {
		s->rows = w.ws_row;
		s->columns = w.ws_col;
	}
}

/* Waits for the next screen. False if it shall end: q, or a signal. */
static bool
wait_key(double delay)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char key = 0;

	if (poll(&p, 1, (int)(delay * 1000)) > 0 &&
	    read(STDIN_FILENO, &key, 1) <= 0)
		return false;
	return !stop && key != 'q' && key != 'Q';
}

static bool
wait_batch(double delay)
{
	struct timespec ts = { .tv_sec = (time_t)delay };

	ts.tv_nsec = (long)((delay - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
	return true;
}

static bool
wait_next(double delay)
{
	return opt.batch ? wait_batch(delay) : wait_key(delay);
}

/* ---- the loop ---- */

static int
look(struct view *v, char *why, size_t cap)
{
	char *text;
	size_t len;

	if (source_ask(opt.path, "top\n", &text, &len, why, cap) != 0)
		return -1;
	source_describe(opt.path, text, len, why, cap);
	if (parse(v, text, len) != 0) {
		free(text);
		return -1;
	}
	free(text);
	return 0;
}

static bool
print(struct screen *s, const struct view *now, const struct view *before)
{
	s->n = 0;
	if (!opt.batch)
		measure(s);
	show(s, now, before, &opt.sampled, opt.path);
	if (!opt.batch) {
		draw(s);
		return true;
	}
	return fwrite(s->text, 1, s->n, stdout) == s->n &&
	    putchar('\n') != EOF && fflush(stdout) == 0;
}

/* Until the end of the process, of the screens, or of patience. */
static int
run(struct view v[2], struct screen *s, char *why, size_t cap)
{
	int at = 0;

	if (look(&v[0], why, cap) != 0)
		return -1;
	for (long n = 0; !opt.count || n < opt.count; n++) {
		double delay = n || opt.batch ? opt.delay : 0.3;

		sampled_begin(&opt.sampled, opt.path, delay);
		if (!wait_next(delay))
			return 0;
		sampled_end(&opt.sampled);
		if (look(&v[!at], why, cap) != 0)
			return -1;
		at = !at;
		if (!print(s, &v[at], &v[!at])) {
			snprintf(why, cap, "standard output: %s",
			    strerror(errno));
			return -1;
		}
	}
	return 0;
}

/* ---- arguments ---- */

static bool
set_delay(const char *s)
{
	char *end;

	opt.delay = strtod(s, &end);
	return end != s && !*end && opt.delay >= 0.01 && opt.delay <= 86400;
}

static bool
set_count(const char *s)
{
	char *end;

	opt.count = strtol(s, &end, 10);
	return end != s && !*end && opt.count > 0;
}

static const char *
arguments(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "bpn:d:r:")) != -1)
		if (c == 'b')
			opt.batch = true;
		else if (c == 'p')
			opt.sampled.on = true;
		else if (c == 'r')
			opt.request = optarg;
		else if (!(c == 'n' && set_count(optarg)) &&
		    !(c == 'd' && set_delay(optarg)))
			return NULL;
	return optind == argc - 1 ? argv[optind] : NULL;
}

static int
watch(struct view v[2], struct screen *s)
{
	char why[400] = "";
	int err;

	if (!opt.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		fprintf(stderr, "weft-top: no terminal: use -b\n");
		return 1;
	}
	if (!opt.batch)
		open_terminal();
	s->colour = !opt.batch;
	err = run(v, s, why, sizeof why);
	if (!opt.batch)
		close_terminal();
	if (err)
		fprintf(stderr, "weft-top: %s\n", why);
	return err ? 1 : 0;
}

/* A word of the socket's protocol is a line: no request has two. */
static int
copy_answer(void)
{
	char line[200], why[400];

	if (strchr(opt.request, '\n') || snprintf(line, sizeof line, "%s\n",
	    opt.request) >= (int)sizeof line)
		return usage();
	if (source_copy(opt.path, line, stdout, why, sizeof why) == 0)
		return 0;
	fprintf(stderr, "weft-top: %s\n", why);
	return 1;
}

int
main(int argc, char **argv)
{
	static struct view v[2];
	static char text[SCREEN_BYTES];
	struct screen s = { .cap = sizeof text, .text = text };
	const char *what = arguments(argc, argv);
	char why[400];

	if (!what)
		return usage();
	signal(SIGPIPE, SIG_IGN);
	if (source_find(what, opt.path, why, sizeof why) != 0) {
		fprintf(stderr, "weft-top: %s\n", why);
		return 1;
	}
	return opt.request ? copy_answer() : watch(v, &s);
}
