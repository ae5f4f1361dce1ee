/* SPDX-License-Identifier: MIT */
/*
 * weft-top: what it shows of this process, in a terminal too, and what it says
 * of processes and sockets that it cannot show.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include <weft.h>

#include "ask.h"
#include "build_folder.h"
#include "child_process.h"
#include "run_env.h"
#include "t.h"

static char dir[] = "/tmp/weft-top-XXXXXX";
static char tool[600], path[100], said[65536];
static const char *redirect = "2>&1";

static void
begin(void)
{
	if (t_valgrind() || t_emulated())
		t_skip("runs programs");
	snprintf(tool, sizeof tool, "%sbin/weft-top", folder_above("tests/"));
	if (access(tool, X_OK) != 0)
		t_skip("weft-top is not built");
	OK(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/sock", dir);
}

static void
end(void)
{
	unlink(path);
	rmdir(dir);
}

/* Its exit status, or -1; `said` is all that it printed. */
static int
top(const char *args)
{
	char cmd[1000];
	FILE *f;
	int status;

	snprintf(cmd, sizeof cmd, "exec %s %s %s", tool, args, redirect);
	f = popen(cmd, "r");
	said[fread(said, 1, sizeof said - 1, f)] = 0;
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
top_at(const char *args, const char *where)
{
	char all[300];

	snprintf(all, sizeof all, "%s %s", args, where);
	return top(all);
}

static void
has(const char *text)
{
	OK(strstr(said, text));
	if (!strstr(said, text))
		fprintf(stderr, "# not in it: %s\n# %.3000s\n", text, said);
}

/* It fails with one line that says that. */
static void
refuses(const char *where, const char *text)
{
	size_t n;

	EQ(top_at("-b -n 1 -d 0.1", where), 1);
	has(text);
	n = strlen(said);
	OK(strncmp(said, "weft-top: ", 10) == 0);
	OK(n && strchr(said, '\n') == said + n - 1);
}

/* ---- a process that can be shown ---- */

static weft_waitgroup gate, all;
static long stop;

static void
waits_there(void)
{
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

static void
computes_here(void)
{
	compute(&stop);
	weft_waitgroup_done(&all);
}

/* Returns when all of them wait, or compute. */
static void
start_some(void)
{
	weft_goroutine_counts n;

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 7; i++)
		weft_go(waits_there);
	weft_go(computes_here);
	do {
		weft_yield();
		weft_goroutine_counts_read(&n, sizeof n);
	} while (n.waiting < 7 || n.not_started > 0);
}

static void
stop_some(void)
{
	bump(&stop);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

GTEST(batch, 2)
{
	begin();
	EQ(weft_debug_listen(path), 0);
	start_some();
	EQ(top_at("-b -n 2 -d 0.3", path), 0);
	has("Goroutines  9: ");
	has("Waiting for waitgroup wait 7\n");
	has("\nPer second  switches ");
	has("\nLatency ");
	has("\nQueues      global ");
	has("\n  0 [");
	has("\n  1 [");
	has("computes_here\n");
	has("  RUNS  STARTED WITH\n");
	OK(!strchr(said, '\033'));
	OK(strstr(strstr(said, "Goroutines") + 1, "Goroutines"));
	weft_debug_close();
	stop_some();
	end();
}

/* The functions themselves, if the process can be profiled; as long as it takes
 * to be sampled. */
GTEST(functions_by_samples, 2)
{
	const char *text = T_SANITIZED ?
	    "profile: there is no CPU profile with a sanitizer" : "%  ";

	begin();
	EQ(weft_debug_listen(path), 0);
	start_some();
	do
		EQ(top_at("-bp -n 1 -d 0.3", path), 0);
	while (strstr(said, "no CPU time was used"));
	has("   CPU  FUNCTION\n");
	has(text);
	OK(!strstr(said, "STARTED WITH"));
	weft_debug_close();
	stop_some();
	end();
}

GTEST(one_answer, 2)
{
	begin();
	EQ(weft_debug_listen(path), 0);
	EQ(top_at("-r help", path), 0);
	has("profile: ");
	EQ(top_at("-r 'dump each'", path), 0);
	has("the main goroutine");
	EQ(top_at("-r 'trace 0.05' 2>&1", path), 0);
	OK(strncmp(said, "weft", 4) == 0);
	if (access("/dev/full", W_OK) == 0) {
		redirect = "2>&1 >/dev/full";
		EQ(top_at("-r metrics", path), 1);
		has("No space left on device\n");
	}
	weft_debug_close();
	end();
}

/* The request fails with one line, which says that. */
static void
fails(const char *request, const char *text)
{
	size_t n;

	EQ(top_at(request, path), 1);
	has(text);
	n = strlen(said);
	OK(n && strchr(said, '\n') == said + n - 1);
}

/* Errors say what to do, not what the error is called. */
GTEST(requests_that_fail, 2)
{
	begin();
	EQ(weft_debug_listen(path), 0);
	fails("-r nonsense", "sock: no such request: \"-r help\" lists");
	fails("-r 'trace x'", "sock: trace takes a number of seconds");
	fails("-r 'profile heap'", "sock: no such profile: there are cpu "
	    "[SECONDS] (at most 600), goroutine, block, mutex and offcpu");
	fails("-r 'profile mutex'", "sock: no mutex profile is collected: "
	    "start the program with WEFT_DEBUG=mutexprofile=FILE, or let it "
	    "call weft_profile_mutex_fraction\n");
	fails("-r 'profile folded offcpu'", "WEFT_DEBUG=offcpuprofile=FILE, "
	    "or let it call weft_profile_offcpu_rate\n");
	fails("-r 'profile block'", "WEFT_DEBUG=blockprofile=FILE, or let it "
	    "call weft_profile_block_rate\n");
	EQ(weft_trace_start("/dev/null", NULL, 0), 0);
	fails("-r trace", "a trace or profile is being recorded already\n");
	EQ(weft_trace_stop(NULL), 0);
	if (weft_profile_cpu_start(0, 0) == 0) {
		fails("-r 'profile cpu'", "a trace or profile is being "
		    "recorded already");
		EQ(weft_profile_cpu_stop(), 0);
	}
	weft_debug_close();
	end();
}

/* A path needs no slash if something is there. */
GTEST(by_a_path, 2)
{
	char file[120];

	begin();
	EQ(weft_debug_listen(path), 0);
	EQ(chdir(dir), 0);
	EQ(top_at("-b -n 1 -d 0.05", "sock"), 0);
	has("weft-top: process ");
	EQ(chdir("/"), 0);
	snprintf(file, sizeof file, "%s/file", dir);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	refuses(file, "/file: not a socket\n");
	refuses(dir, ": not a socket\n");
	unlink(file);
	weft_debug_close();
	end();
}

GTEST(by_the_id_of_the_process, 2)
{
	char pid[20];

	begin();
	setenv("XDG_RUNTIME_DIR", dir, 1);
	EQ(weft_debug_listen(NULL), 0);
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	EQ(top_at("-b -n 1 -d 0.05", pid), 0);
	has("weft-top: process ");
	has(pid);
	weft_debug_close();
	end();
}

/* ---- a terminal ---- */

/* The tool on a terminal of its own; its process. */
static pid_t
in_terminal(int *master)
{
	struct winsize w = { .ws_row = 30, .ws_col = 70 };
	pid_t pid;
	int slave;

	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0)
		t_skip("no pseudo terminals");
	slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
	ioctl(slave, TIOCSWINSZ, &w);
	pid = fork();
	if (pid == 0) {
		dup2(slave, 0);
		dup2(slave, 1);
		execl(tool, tool, "-d", "0.1", path, (char *)NULL);
		_exit(99);
	}
	close(slave);
	return pid;
}

/* Reads until that has come. */
static void
read_until(int master, const char *text)
{
	size_t n = 0;

	said[0] = 0;
	while (!strstr(said, text) && n < sizeof said - 1) {
		ssize_t r = read(master, said + n, sizeof said - 1 - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		n += (size_t)r;
		said[n] = 0;
	}
	has(text);
}

GTEST(on_a_terminal, 2)
{
	int master;
	pid_t pid;

	begin();
	EQ(weft_debug_listen(path), 0);
	start_some();
	pid = in_terminal(&master);
	read_until(master, "\033[?1049h");
	read_until(master, "waitgroup wait 7");
	read_until(master, "STARTED WITH");
	read_until(master, "\033[H");	/* drawn again */
	EQ(write(master, "q", 1), 1);
	read_until(master, "\033[?1049l");	/* as it was before */
	EQ(exit_status(pid), 0);
	weft_debug_close();
	stop_some();
	close(master);
	end();
}

TEST(without_a_terminal)
{
	begin();
	EQ(top_at("", "/nonexistent/x < /dev/null"), 1);
	has("weft-top: no terminal: use -b\n");
	end();
}

/* ---- processes that cannot be shown ---- */

TEST(no_such_process)
{
	char pid[20];
	pid_t child;

	begin();
	child = fork();
	if (child == 0)
		_exit(0);
	EQ(exit_status(child), 0);
	snprintf(pid, sizeof pid, "%d", (int)child);
	refuses(pid, ": no process ");
	refuses("99999999999999999999", "neither the id of a process");
	refuses("-- -5", "neither the id of a process");
	refuses("nonsense", "neither the id of a process nor a path");
	refuses("/nonexistent/x", "No such file or directory");
	end();
}

TEST(a_process_without_a_socket)
{
	char pid[20];

	begin();
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	refuses(pid, "has no debug socket: start it with WEFT_DEBUG=socket");
	end();
}

/* As another user: the status of the tool that watches our process. */
TEST(a_process_of_another_user)
{
	char cmd[700];
	pid_t pid;

	if (geteuid() != 0)
		t_skip("only root can become another user");
	begin();
	snprintf(cmd, sizeof cmd, "%s -b %d 2>&1 | grep -q 'belongs to "
	    "another user'", tool, (int)getpid());
	pid = fork();
	if (pid == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0 ||
		    access(tool, X_OK) != 0)
			_exit(77);
		_exit(system(cmd) == 0 ? 0 : 1);
	}
	switch (exit_status(pid)) {
	case 77:
		end();
		t_skip("the tool is not readable for others");
	case 0:
		break;
	default:
		t_fail(__FILE__, __LINE__, "not refused");
	}
	end();
}

TEST(about_itself)
{
	begin();
	redirect = "2>/dev/null";
	EQ(top("-h"), 0);
	OK(strncmp(said, "usage: weft-top ", 16) == 0);
	EQ(top("--help"), 0);
	OK(strncmp(said, "usage: weft-top ", 16) == 0);
	EQ(top("--version"), 0);
	EQ(strcmp(said, "weft-top " VERSION "\n"), 0);
	end();
}

/* What is wrong comes first, in one line, then the usage. */
static void
is_misuse(const char *args, const char *why)
{
	const char *rest;

	EQ(top(args), 2);
	OK(strncmp(said, "weft-top: ", 10) == 0);
	has(why);
	rest = strchr(said, '\n');
	OK(rest && strncmp(rest + 1, "usage: weft-top ", 16) == 0);
}

TEST(arguments)
{
	begin();
	is_misuse("", "weft-top: which process? ");
	is_misuse("-n 0 1", "weft-top: -n wants a number above 0\n");
	is_misuse("-d x 1", "weft-top: -d wants seconds");
	is_misuse("-d -1 1", "weft-top: -d wants seconds");
	is_misuse("-x 1", "x");
	is_misuse("--nonsense 1", "nonsense");
	is_misuse("1 2", "weft-top: one process at a time\n");
	end();
}

GTEST(output_that_is_full, 1)
{
	begin();
	if (access("/dev/full", W_OK) != 0)
		t_skip("no /dev/full");
	EQ(weft_debug_listen(path), 0);
	redirect = "2>&1 >/dev/full";
	EQ(top_at("-b -n 1 -d 0.05", path), 1);
	has("weft-top: standard output: ");
	weft_debug_close();
	end();
}

/* ---- servers that mean harm ---- */

static struct {
	int listener;
	const char *answer;
	size_t bytes;
	bool endless, silent;
} evil;

static void *
serve_evil(void *arg)
{
	int fd = accept(evil.listener, NULL, NULL);
	char line[100];

	(void)arg;
	OK(read(fd, line, sizeof line) > 0);
	if (evil.silent)
		OK(read(fd, line, sizeof line) <= 0);
	do
		if (send(fd, evil.answer, evil.bytes, MSG_NOSIGNAL) < 0)
			break;
	while (evil.endless);
	close(fd);
	return NULL;
}

/* What the tool says of a server that answers so. */
static void
says_of(const char *answer, size_t bytes, const char *text)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	pthread_t t;

	evil.answer = answer;
	evil.bytes = bytes;
	evil.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(a.sun_path, path);
	EQ(bind(evil.listener, (struct sockaddr *)&a, sizeof a), 0);
	EQ(listen(evil.listener, 1), 0);
	EQ(pthread_create(&t, NULL, serve_evil, NULL), 0);
	refuses(path, text);
	pthread_join(t, NULL);
	close(evil.listener);
	unlink(path);
}

#define SAYS(answer, text) says_of(answer, sizeof answer - 1, text)
#define HEAD "weft-top 1\n"

TEST(hostile_answers)
{
	static const char none[] =
	    ": no debug socket of weft answers there\n";

	begin();
	SAYS("", none);
	SAYS("HTTP/1.1 400 Bad Request\r\n\r\n", none);
	SAYS("\x7f""ELF\0\0\0\0", none);
	SAYS("weft-top 2\nend\n", none);
	SAYS(HEAD, none);
	SAYS(HEAD "pid 1\n", none);
	SAYS(HEAD "pid x\nend\n", none);
	SAYS(HEAD "pid 99999999999999999999\nend\n", none);
	SAYS(HEAD "pid\nend\n", none);
	SAYS(HEAD "proc 7 running 1 2 3 4 5 f\nend\n", none);
	SAYS(HEAD "proc 0 running 1 2 3\nend\n", none);
	SAYS(HEAD "latency 5 1\nlatency 4 1\nend\n", none);
	SAYS(HEAD "end\nmore 1\n", none);
	SAYS("error: busy\n", ": it is busy with other requests: ");
	SAYS("error: mad\n", ": error: mad\n");
	SAYS("error: \033[2Jx\n", ": error: ");
	OK(!strchr(said, '\033'));
	end();
}

TEST(endless_answer)
{
	begin();
	evil.endless = true;
	SAYS(HEAD "hot 1 x\nhot 1 x\nhot 1 x\nhot 1 x\nhot 1 x\nhot 1 x\n",
	    "the answer is too long\n");
	end();
}

TEST(silent_server)
{
	begin();
	evil.silent = true;
	SAYS("", "no answer within five seconds\n");
	end();
}

/* ---- profiles that mean harm ---- */

static const char *profile;	/* the answer to a request for one */
static const char *top_answer = HEAD "end\n";

/* Answers until an empty line comes. */
static void *
serve_profile(void *arg)
{
	char line[100];
	ssize_t n;

	(void)arg;
	do {
		const char *answer = top_answer;
		int fd = accept(evil.listener, NULL, NULL);

		n = read(fd, line, sizeof line - 1);
		if (n > 0 && strncmp(line, "profile", 7) == 0)
			answer = __atomic_load_n(&profile, __ATOMIC_ACQUIRE);
		send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		close(fd);
	} while (n > 0);
	return NULL;
}

/* A thread that has no P, and one that has P 1. */
TEST(threads_without_a_processor)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	pthread_t t;

	begin();
	top_answer = HEAD "thread 41 -1 running 7 f\n"
	    "thread 42 1 running 8 g\nend\n";
	evil.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(a.sun_path, path);
	EQ(bind(evil.listener, (struct sockaddr *)&a, sizeof a), 0);
	EQ(listen(evil.listener, 9), 0);
	EQ(pthread_create(&t, NULL, serve_profile, NULL), 0);
	EQ(top_at("-b -n 1 -d 0.01", path), 0);
	has("      41   - running            7  f\n"
	    "      42   1 running            8  g\n");
	close(ask_connect(path));
	pthread_join(t, NULL);
	close(evil.listener);
	end();
}

static void
profile_shows(const char *answer, const char *text)
{
	__atomic_store_n(&profile, answer, __ATOMIC_RELEASE);
	EQ(top_at("-bp -n 1 -d 0.01", path), 0);
	has(text);
	OK(!strchr(said, '\033'));
}

TEST(hostile_profiles)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	static const char bad[] = "the profile cannot be read\n";
	static char many[20000];
	pthread_t t;

	begin();
	evil.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(a.sun_path, path);
	EQ(bind(evil.listener, (struct sockaddr *)&a, sizeof a), 0);
	EQ(listen(evil.listener, 9), 0);
	EQ(pthread_create(&t, NULL, serve_profile, NULL), 0);
	profile_shows("", "no CPU time was used\n");
	profile_shows("main;f 3\nmain;f 1\nmain 1\n", " 80.0%  f\n");
	profile_shows("main;\033[2Jx 1\n", "100.0%  ?[2Jx\n");
	profile_shows("nonsense\n", bad);
	profile_shows("f -1\n", bad);
	profile_shows("f 99999999999999999999\n", bad);
	profile_shows("f 1x\n", bad);
	profile_shows("error: \033]0;x\n", "profile: error: \n");
	for (int i = 0, n = 0; i < 1000; i++)
		n += sprintf(many + n, "main;f%d 1\n", i);
	profile_shows(many, "%  (others)\n");
	close(ask_connect(path));
	pthread_join(t, NULL);
	close(evil.listener);
	unlink(path);
	end();
}

/* It listened once. */
TEST(a_socket_left_behind)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	begin();
	strcpy(a.sun_path, path);
	EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	close(fd);
	refuses(path, "no process listens there");
	end();
}
