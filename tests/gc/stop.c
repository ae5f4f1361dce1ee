/* SPDX-License-Identifier: MIT */
/*
 * Stops that are difficult: a thread that takes no signal, and libraries that
 * come and go meanwhile.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build_folder.h"
#include "run_env.h"
#include "things.h"

static long over, collected;
static char folder[64], file[96];

static weft_gc_stats
stats(void)
{
	weft_gc_stats s;

	weft_gc_stats_read(&s, sizeof s);
	return s;
}

static void
make_folder(const char *name)
{
	snprintf(folder, sizeof folder, "/tmp/weft-gc-XXXXXX");
	OK(mkdtemp(folder) != NULL);
	snprintf(file, sizeof file, "%s/%s", folder, name);
}

static void
remove_folder(void)
{
	unlink(file);
	rmdir(folder);
}

/* ---- a thread in vfork ---- */

static bool
is_child(const char *pid)
{
	char path[300], text[512] = "";
	FILE *f;
	char *at;
	long parent = 0;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	at = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return at && sscanf(at + 1, " %*c %ld", &parent) == 1 &&
	    parent == getpid();
}

static bool
has_child(void)
{
	DIR *d = opendir("/proc");
	bool found = false;
	struct dirent *e;

	while (d && !found && (e = readdir(d)))
		found = e->d_name[0] >= '0' && e->d_name[0] <= '9' &&
		    is_child(e->d_name);
	if (d)
		closedir(d);
	return found;
}

/* The child opens the FIFO before it begins its program; until it does so its
 * parent waits, with all signals blocked. */
static void *
spawn(void *arg)
{
	static char name[] = "true";
	static char *argv[] = { name, NULL }, *env[] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	(void)arg;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, file, O_RDONLY, 0);
	EQ(posix_spawn(&pid, "/bin/true", &actions, NULL, argv, env), 0);
	posix_spawn_file_actions_destroy(&actions);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	bump(&over);
	return NULL;
}

static void
spawner(void)
{
	weft_blocking(spawn, NULL);
}

enum { FEW = 64 };
static bool no_descriptors;
static int taken[FEW];

static void
take_descriptors(void)
{
	int n = 0;

	while (n < FEW - 1 && (taken[n] = dup(2)) >= 0)
		n++;
	taken[n] = -1;
	EQ(errno, EMFILE);
}

static void
give_descriptors_back(void)
{
	for (int n = 0; taken[n] >= 0; n++)
		close(taken[n]);
}

static void
beside_a_thread_in_vfork(void)
{
	uint64_t before;
	int fd;

	make_folder("fifo");
	EQ(mkfifo(file, 0600), 0);
	EQ(weft_gc_collect(), 0);
	weft_go(spawner);
	while (!has_child())
		weft_sleep(WEFT_MS);
	before = stats().collections;
	if (no_descriptors)
		take_descriptors();
	EQ(weft_gc_collect(), -EBUSY);
	for (uint64_t i = 0; i < 1000000; i++)
		thing_make(i);
	EQ(stats().collections, before);
	OK(stats().refused >= 1 && stats().heap_bytes > 30 << 20);
	EQ(get(&over), 0);
	/* Now it goes on, and so do collections, by themselves. */
	if (no_descriptors)
		give_descriptors_back();
	fd = open(file, O_RDWR);
	OK(fd >= 0);
	while (!get(&over) || stats().collections == before)
		weft_sleep(WEFT_MS);
	EQ(weft_gc_collect(), 0);
	close(fd);
	remove_folder();
}

GTEST(a_thread_that_cannot_be_stopped, 2) { beside_a_thread_in_vfork(); }

GTEST(one_and_a_limit, 2)
{
	weft_gc_set_limit(8 << 20, false);
	beside_a_thread_in_vfork();
}

/* The state of that thread cannot be read then. */
GTEST(one_and_no_descriptors, 2)
{
	struct rlimit few;

	EQ(getrlimit(RLIMIT_NOFILE, &few), 0);
	few.rlim_cur = FEW;
	EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	no_descriptors = true;
	beside_a_thread_in_vfork();
}

/* ---- a thread that does not take the signal, and computes ---- */

static void
compute_until_over(weft_waitgroup *wg)
{
	sigset_t s;

	weft_pin();
	sigemptyset(&s);
	sigaddset(&s, SIGURG);
	pthread_sigmask(SIG_BLOCK, &s, NULL);
	bump(&collected);
	while (!get(&over))
		;
	pthread_sigmask(SIG_UNBLOCK, &s, NULL);
	weft_unpin();
	weft_waitgroup_done(wg);
}

/* It waits for a goroutine that is stopped. */
GTEST(a_thread_that_computes_and_cannot_be_stopped, 2)
{
	weft_waitgroup wg = {0};

	EQ(weft_gc_collect(), 0);
	weft_waitgroup_add(&wg, 1);
	weft_go(compute_until_over, &wg);
	while (!get(&collected))
		weft_yield();
	EQ(weft_gc_collect(), -EBUSY);
	bump(&over);
	weft_waitgroup_wait(&wg);
	EQ(weft_gc_collect(), 0);
}

/* ---- libraries that come and go ---- */

static struct thing *kept;
static weft_gc_weak *watch;
static int lost, rounds;

static bool
make_library(void)
{
	char command[400];

	make_folder("lib.so");
	snprintf(command, sizeof command, "printf '%s' | %s -shared -fPIC "
	    "-x c -o %s - 2>&1", "static void *v; void set(void *p) { v = p; }"
	    " void *get(void) { return v; }\\n", compiler(), file);
	return system(command) == 0;
}

static void
wait_for_collections(long n)
{
	n += get(&collected);
	while (get(&collected) < n && !get(&over))
		usleep(100);
}

/* The only pointer moves into the library's data, and back out of it. */
T_NOT_INLINED static void
load_and_unload(void)
{
	void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	void (*set)(void *) = (void (*)(void *))dlsym(lib, "set");
	void *(*get_it)(void) = (void *(*)(void))dlsym(lib, "get");

	set(kept);
	kept = NULL;
	wipe_stack();
	wait_for_collections(rounds++ % 3);
	kept = get_it();
	lost += !weft_gc_weak_get(watch) || !thing_is(kept, 7);
	dlclose(lib);
}

static void *
load_until_over(void *arg)
{
	(void)arg;
	while (!get(&over))
		load_and_unload();
	return NULL;
}

static void
loader(weft_waitgroup *wg)
{
	weft_blocking(load_until_over, NULL);
	weft_waitgroup_done(wg);
}

/* So that a stop takes some time, in which libraries come and go. */
static void
keep_processor(weft_waitgroup *wg)
{
	int64_t until;

	while (!get(&over)) {
		weft_preempt_off();
		until = weft_now() + 3 * WEFT_MS;
		while (weft_now() < until)
			;
		weft_preempt_on();
		weft_yield();
	}
	weft_waitgroup_done(wg);
}

T_NOT_INLINED static void
make_watched(void)
{
	kept = thing_make(7);
	watch = weft_gc_weak_make(kept);
}

static void
beside_a_loader(void)
{
	weft_waitgroup wg = {0};

	if (!make_library())
		t_skip("no compiler");
	make_watched();
	weft_waitgroup_add(&wg, 2);
	weft_go(loader, &wg);
	weft_go(keep_processor, &wg);
	while (t_more(2)) {
		EQ(weft_gc_collect(), 0);
		bump(&collected);
	}
	bump(&over);
	weft_waitgroup_wait(&wg);
	EQ(lost, 0);
	OK(rounds > 2);
	remove_folder();
}

GTEST(libraries_that_come_and_go, 2) { beside_a_loader(); }

/* Code of weft that takes the lock of the loader, too. */
static void
dump_until_over(weft_waitgroup *wg)
{
	weft_dump_options opt = { .flags = WEFT_DUMP_NO_SIGNALS };
	int fd = open("/dev/null", O_WRONLY);

	while (!get(&over)) {
		EQ(weft_dump(fd, &opt, sizeof opt), 0);
		weft_yield();
	}
	close(fd);
	weft_waitgroup_done(wg);
}

GTEST(libraries_that_come_and_go_and_dumps, 2)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 3);
	for (int i = 0; i < 3; i++)
		weft_go(dump_until_over, &wg);
	beside_a_loader();
	weft_waitgroup_wait(&wg);
}
