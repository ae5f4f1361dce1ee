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
#include <getopt.h>
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

static const char usage[] =
"usage: weft-top [-bp] [-n N] [-d SECONDS] PID | PATH\n"
"       weft-top -r REQUEST PID | PATH\n"
"  -b          one screen after the other, without a terminal\n"
"  -n N        so many screens\n"
"  -d SECONDS  between two of them (1)\n"
"  -p          the functions that use the CPUs, by a profile of the process\n"
"  -r REQUEST  copies an answer to standard output: help, metrics, dump,\n"
"              \"profile cpu 5\", \"trace 1\"\n"
"  -h, --help  this\n"
"  --version   the version\n"
"PATH is a debug socket; a process opens one with WEFT_DEBUG=socket\n";

/* Says what is wrong, unless getopt has said it, and how it is right. */
__attribute__((__noreturn__)) static void
misused(const char *why)
{
	if (why)
		fprintf(stderr, "weft-top: %s\n", why);
	fputs(usage, stderr);
	exit(EXIT_USAGE);
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
	source_describe(opt.path, "top\n", text, len, why, cap);
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

static void
set_option(int c)
{
	switch (c) {
	case 'b': opt.batch = true; break;
	case 'p': opt.sampled.on = true; break;
	case 'r': opt.request = optarg; break;
	case 'n':
		if (!set_count(optarg))
			misused("-n wants a number above 0");
		break;
	case 'd':
		if (!set_delay(optarg))
			misused("-d wants seconds, from 0.01 to 86400");
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case 'v':
		puts("weft-top " VERSION);
		exit(0);
	default:
		misused(NULL);
	}
}

/* What is to be watched. */
static const char *
arguments(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' }, {0}
	};
	static char name[] = "weft-top";
	int c;

	argv[0] = name;		/* getopt's messages begin with that */
	while ((c = getopt_long(argc, argv, "bhpn:d:r:", longs, NULL)) != -1)
		set_option(c);
	if (optind == argc)
		misused("which process? give its id, or the path of its "
		    "socket");
	if (optind < argc - 1)
		misused("one process at a time");
	return argv[optind];
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
		misused("-r wants one short line");
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

	signal(SIGPIPE, SIG_IGN);
	if (source_find(what, opt.path, why, sizeof why) != 0) {
		fprintf(stderr, "weft-top: %s\n", why);
		return 1;
	}
	return opt.request ? copy_answer() : watch(v, &s);
}
