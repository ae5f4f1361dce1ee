/* SPDX-License-Identifier: MIT */
/* The debug socket: where it is, what it answers, and what cannot harm it. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <weft.h>

#include "ask.h"
#include "child_process.h"
#include "run_env.h"
#include "stderr_text.h"
#include "t.h"

NO_PREEMPTION

static char dir[64];
static char path[100];

/* A directory for the socket, and a path in it. */
static void
make_path(void)
{
	strcpy(dir, "/tmp/weft-test-XXXXXX");
	OK(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/sock", dir);
}

static void
remove_path(void)
{
	unlink(path);
	rmdir(dir);
}

static bool
exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/* ---- answers ---- */

GTEST(answers, 2)
{
	struct stat st;

	make_path();
	OK(!weft_debug_path());
	EQ(weft_debug_listen(path), 0);
	OK(strcmp(weft_debug_path(), path) == 0);
	EQ(lstat(path, &st), 0);
	EQ(st.st_mode & 0777, 0600);
	asked(path, "help\n", "metrics: ");
	asked(path, "metrics\n", "\nweft_goroutines{state=\"running\"} 1\n");
	asked(path, "metrics\r\n", "# TYPE weft_procs gauge\nweft_procs 2\n");
	asked(path, "dump\n", "the main goroutine");
	asked(path, "top\n", "weft-top 1\n");
	asked(path, "top\n", "\nprocs 2\n");
	asked(path, "top\n", "\nend\n");
	asked(path, "nonsense words\n", "error: no verb \"nonsense words\"");
	asked(path, "\n", "error: no verb \"\"");
	EQ(weft_debug_listen(path), -EBUSY);
	weft_debug_close();
	OK(!exists(path) && !weft_debug_path());
	remove_path();
}

GTEST(again_after_close, 1)
{
	make_path();
	for (int i = 0; i < 5; i++) {
		while (weft_debug_listen(path) == -EBUSY)
			weft_sleep(WEFT_MS);
		asked(path, "help\n", "dump: ");
		weft_debug_close();
		EQ(ask_connect(path), -ENOENT);
	}
	remove_path();
}

static void
is_open(void)
{
	asked(path, "metrics\n", "weft_procs 1");
}

TEST(by_the_environment)
{
	char env[200];

	make_path();
	snprintf(env, sizeof env, "WEFT_DEBUG=socket=%s", path);
	run_env(1, env, is_open);
	OK(!exists(path));
	remove_path();
}

static void
goes_on(void)
{
	OK(!weft_debug_path());
}

TEST(path_that_cannot_be)
{
	struct stderr_text t = stderr_begin();
	char *text;

	run_env(1, "WEFT_DEBUG=socket=/nonexistent/x", goes_on);
	text = stderr_end(&t);
	OK(strstr(text, "no debug socket at \"/nonexistent/x\": "));
	free(text);
	memset(path, 'x', sizeof path);
	text = calloc(1, 300);
	memset(text, 'x', 299);
	EQ(weft_debug_listen(text), -ENAMETOOLONG);
	free(text);
}

/* ---- where it is ---- */

static void
is_in(const char *where)
{
	char want[150];

	EQ(weft_debug_listen(""), 0);
	snprintf(want, sizeof want, "%s/weft-%d.sock", where, (int)getpid());
	OK(weft_debug_path() && strcmp(weft_debug_path(), want) == 0);
	asked(want, "help\n", "help: ");
	weft_debug_close();
}

TEST(in_the_runtime_directory)
{
	make_path();
	setenv("XDG_RUNTIME_DIR", dir, 1);
	is_in(dir);
	remove_path();
}

/* Another user could have made it, or could rename what is in it. */
TEST(not_in_a_directory_of_all)
{
	char tmp[40];

	make_path();
	chmod(dir, 0777);
	setenv("XDG_RUNTIME_DIR", dir, 1);
	snprintf(tmp, sizeof tmp, "/tmp/weft-%u", (unsigned)geteuid());
	is_in(tmp);
	remove_path();
}

/* ---- files that are there ---- */

TEST(a_file_is_kept)
{
	int fd;

	make_path();
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	OK(fd >= 0);
	close(fd);
	EQ(weft_debug_listen(path), -EADDRINUSE);
	OK(exists(path));
	remove_path();
}

/* One that another process listens to, and one that it has left behind. */
TEST(a_socket_that_is_there)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	make_path();
	strcpy(a.sun_path, path);
	EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	EQ(listen(fd, 1), 0);
	EQ(weft_debug_listen(path), -EADDRINUSE);
	close(fd);
	EQ(weft_debug_listen(path), 0);
	asked(path, "help\n", "help: ");
	weft_debug_close();
	remove_path();
}

/* ---- clients that mean harm ---- */

static void
still_answers(void)
{
	asked(path, "metrics\n", "\nweft_goroutines{state=");
}

GTEST(garbage, 1)
{
	static char long_line[100000];
	int fd;

	make_path();
	EQ(weft_debug_listen(path), 0);
	asked(path, "\x1b[2J\n", "error: not a line of text\n");
	fd = ask_connect(path);
	ask_send(fd, "metrics\0\n", 9);
	free(ask_read(fd));
	memset(long_line, 'a', sizeof long_line);
	for (int i = 0; i < 20; i++) {
		fd = ask_connect(path);
		ask_send(fd, long_line, sizeof long_line);
		free(ask_read(fd));
	}
	for (int i = 0; i < 256; i++) {
		char byte = (char)i;

		fd = ask_connect(path);
		ask_send(fd, &byte, 1);
		close(fd);
	}
	still_answers();
	weft_debug_close();
	remove_path();
}

/* A thousand connections that say nothing. */
GTEST(silent_clients, 1)
{
	enum { MANY = 1000 };
	static int fds[MANY];

	make_path();
	EQ(weft_debug_listen(path), 0);
	for (int i = 0; i < MANY; i++)
		fds[i] = ask_connect(path);
	still_answers();
	for (int i = 0; i < MANY; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	still_answers();
	weft_debug_close();
	remove_path();
}

static weft_waitgroup gate, all;

static void
pass_gate(void)
{
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

/* They ask for more than the socket's buffer has room for, and do not read. */
GTEST(clients_that_do_not_read, 1)
{
	enum { MANY = 12 };
	int fds[MANY], n = (int)t_scale(20000);

	make_path();
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(pass_gate);
	EQ(weft_debug_listen(path), 0);
	for (int i = 0; i < MANY; i++) {
		fds[i] = ask_connect(path);
		ask_send(fds[i], "dump\n", 5);
	}
	still_answers();
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	still_answers();
	weft_debug_close();
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
	remove_path();
}

/* ---- other processes, other users ---- */

/* Descriptors that are sockets. */
static int
sockets(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	char link[32];
	int n = 0;

	while ((e = readdir(d)))
		if (readlinkat(dirfd(d), e->d_name, link, sizeof link) > 7 &&
		    strncmp(link, "socket:", 7) == 0)
			n++;
	closedir(d);
	return n;
}

GTEST(the_child_of_a_fork_does_not_have_it, 1)
{
	int fd, before = sockets();
	pid_t pid;

	make_path();
	EQ(weft_debug_listen(path), 0);
	fd = ask_connect(path);
	still_answers();
	pid = fork();
	if (pid == 0) {
		close(fd);
		_exit(sockets() == before && !weft_debug_path() ? 0 : 1);
	}
	EQ(exit_status(pid), 0);
	still_answers();
	close(fd);
	pid = fork();
	if (pid == 0)
		exit(0);	/* does not remove the file */
	EQ(exit_status(pid), 0);
	OK(exists(path));
	still_answers();
	weft_debug_close();
	remove_path();
}

/* exit removes the file of the process itself. */
TEST(exit_removes_it)
{
	pid_t pid;

	make_path();
	pid = fork();
	if (pid == 0) {
		if (weft_debug_listen(path) != 0)
			_exit(1);
		exit(0);
	}
	EQ(exit_status(pid), 0);
	OK(!exists(path));
	remove_path();
}

/* As another user: what it is told, or -errno. */
static int
as_another(void)
{
	char *text;
	int fd;

	if (setgid(65534) != 0 || setuid(65534) != 0)
		return 77;
	fd = ask_connect(path);
	if (fd < 0)
		return -fd;
	ask_send(fd, "metrics\n", 8);
	text = ask_read(fd);
	return strcmp(text, "error: not the user of this process\n") == 0 ?
	    0 : 1;
}

static int
status_as_another(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(as_another());
	return exit_status(pid);
}

GTEST(another_user, 1)
{
	if (geteuid() != 0)
		t_skip("only root can become another user");
	make_path();
	chmod(dir, 0755);
	EQ(weft_debug_listen(path), 0);
	EQ(status_as_another(), EACCES);
	chmod(path, 0666);
	EQ(status_as_another(), 0);
	still_answers();
	weft_debug_close();
	remove_path();
}

/* ---- when nothing runs ---- */

static long answered;

static void *
ask_meanwhile(void *arg)
{
	(void)arg;
	asked(path, "metrics\n", "weft_goroutines{state=\"running\"} 1\n");
	asked(path, "dump\n", "the main goroutine");
	bump(&answered);
	return NULL;
}

/* The only P has a goroutine that does not give it back. */
GTEST(while_all_hangs, 1)
{
	pthread_t t;

	make_path();
	EQ(weft_debug_listen(path), 0);
	EQ(pthread_create(&t, NULL, ask_meanwhile, NULL), 0);
	compute(&answered);
	pthread_join(t, NULL);
	weft_debug_close();
	remove_path();
}

static void
wait_forever(void)
{
	remove_path();
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_wait(&gate);
}

DIES(deadlock_is_still_found, 0, "all goroutines are asleep: deadlock")
{
	if (t_emulated())
		t_skip("the emulator has threads of its own");
	make_path();
	EQ(weft_debug_listen(path), 0);
	run_env(2, NULL, wait_forever);
}

/* ---- descriptors that are used up ---- */

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A client that cannot be accepted waits, and costs nothing; and is served
 * when there are some again. */
GTEST(no_descriptor_for_a_client, 2)
{
	struct rlimit old, few = { 64, 64 };
	int fd, used[64], n = 0;
	double before;
	char *text;

	make_path();
	EQ(weft_debug_listen(path), 0);
	getrlimit(RLIMIT_NOFILE, &old);
	few.rlim_max = old.rlim_max;
	EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((used[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	close(used[--n]);	/* for the client itself, and none for us */
	/* The runtime may use that number for a moment. */
	while ((fd = ask_connect(path)) < 0)
		weft_sleep(WEFT_MS);
	while ((used[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	ask_send(fd, "help\n", 5);
	before = cpu_seconds();
	weft_sleep(500 * WEFT_MS);
	OK(cpu_seconds() - before < 0.25);
	while (n > 0)
		close(used[--n]);
	text = ask_read(fd);
	OK(strstr(text, "help: "));
	free(text);
	setrlimit(RLIMIT_NOFILE, &old);
	weft_debug_close();
	remove_path();
}

/* Closing and opening by several threads at a time. */
static void *
open_and_close(void *arg)
{
	while (!__atomic_load_n((long *)arg, __ATOMIC_ACQUIRE)) {
		if (weft_debug_listen(path) == 0)
			free(ask(path, "help\n"));
		weft_debug_close();
	}
	return NULL;
}

GTEST(opened_and_closed_by_threads, 2)
{
	static long over;
	pthread_t t[3];

	make_path();
	for (int i = 0; i < 3; i++)
		EQ(pthread_create(&t[i], NULL, open_and_close, &over), 0);
	weft_sleep((int64_t)(t_share(1) * 1e9));
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	while (weft_debug_listen(path) == -EBUSY)
		weft_sleep(WEFT_MS);
	asked(path, "help\n", "help: ");
	weft_debug_close();
	remove_path();
}

/* The file was replaced by that of another process: it stays. */
GTEST(file_of_another_stays, 1)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_path();
	EQ(weft_debug_listen(path), 0);
	unlink(path);
	strcpy(a.sun_path, path);
	EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	weft_debug_close();
	OK(exists(path));
	close(fd);
	remove_path();
}
