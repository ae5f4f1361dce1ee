/* SPDX-License-Identifier: MIT */
/*
 * The default number of processors, from fixture trees that look like the
 * systems it has to start on: v1, v2, hybrid, containers, and nonsense.
 */
#define _GNU_SOURCE 1
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cpu.h"
#include "fixture_tree.h"
#include "t.h"

#define CG "/sys/fs/cgroup"

static void
put_v1(const char *dir, const char *quota, const char *period)
{
	char name[512];

	snprintf(name, sizeof(name), "%s/cpu.cfs_quota_us", dir);
	put(name, quota);
	snprintf(name, sizeof(name), "%s/cpu.cfs_period_us", dir);
	put(name, period);
}

static void
cgroup(const char *text)
{
	put("/proc/self/cgroup", text);
}

static void
mountinfo(const char *text)
{
	put("/proc/self/mountinfo", text);
}

/* The usual v2 system, with our cgroup at the given path. */
static void
v2(const char *group)
{
	char line[512];

	fixture();
	snprintf(line, sizeof(line), "0::%s\n", group);
	cgroup(line);
	mountinfo("24 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
		  "31 24 0:27 / " CG " rw,nosuid shared:4 master:9"
		  " - cgroup2 cgroup2 rw,nsdelegate\n");
}

/* The usual v1 system. */
static void
v1(const char *group)
{
	char line[512];

	fixture();
	snprintf(line, sizeof(line), "4:memory:/m\n3:cpu,cpuacct:%s\n"
		 "2:cpuset:/s\n1:name=systemd:/init\n", group);
	cgroup(line);
	mountinfo("31 24 0:28 / " CG " ro - tmpfs tmpfs ro,mode=755\n"
		  "32 31 0:29 / " CG "/systemd rw shared:5 - cgroup cgroup"
		  " rw,xattr,name=systemd\n"
		  "33 31 0:30 / " CG "/cpuset rw - cgroup cgroup rw,cpuset\n"
		  "34 31 0:31 / " CG "/cpu,cpuacct rw - cgroup cgroup"
		  " rw,cpu,cpuacct\n");
}

/* The answer for the fixture at hand, which ends here. */
static int
answer(void)
{
	int n = cpu_quota_at(root);

	fixture_end();
	return n;
}

/* The answer to one cpu.max. */
static int
answer_max(const char *text)
{
	v2("/app");
	put(CG "/app/cpu.max", text);
	return answer();
}

TEST(v2_quota)
{
	EQ(answer_max("300000 100000\n"), 3);
	EQ(answer_max("50000 25000\n"), 2);
	EQ(answer_max("max 100000\n"), 0);
}

TEST(fraction_rounds_up)
{
	EQ(answer_max("150000 100000\n"), 2);
	EQ(answer_max("20000 100000\n"), 1);
	EQ(answer_max("1000 1000000\n"), 1);
	EQ(answer_max("100001 100000\n"), 2);
}

TEST(v2_root_group)
{
	v2("/");
	EQ(answer(), 0);
	v2("/");
	put(CG "/cpu.max", "200000 100000\n");
	EQ(answer(), 2);
}

TEST(v1_quota)
{
	v1("/app");
	put_v1(CG "/cpu,cpuacct/app", "250000\n", "100000\n");
	EQ(answer(), 3);
	v1("/app");
	put_v1(CG "/cpu,cpuacct/app", "-1\n", "100000\n");
	EQ(answer(), 0);
}

/* A v1 quota is not looked for in the hierarchies of other controllers. */
TEST(v1_other_controllers)
{
	v1("/app");
	put_v1(CG "/cpuset/app", "100000\n", "100000\n");
	put_v1(CG "/systemd/app", "100000\n", "100000\n");
	EQ(answer(), 0);
}

TEST(smallest_of_the_chain)
{
	v2("/slice/pod/app");
	put(CG "/slice/cpu.max", "800000 100000\n");
	put(CG "/slice/pod/cpu.max", "200000 100000\n");
	put(CG "/slice/pod/app/cpu.max", "400000 100000\n");
	EQ(answer(), 2);
	v2("/slice/pod/app");
	put(CG "/slice/cpu.max", "100000 100000\n");
	put(CG "/slice/pod/app/cpu.max", "max 100000\n");
	EQ(answer(), 1);
	v1("/pod/app");
	put_v1(CG "/cpu,cpuacct", "-1\n", "100000\n");
	put_v1(CG "/cpu,cpuacct/pod", "200000\n", "100000\n");
	put_v1(CG "/cpu,cpuacct/pod/app", "300000\n", "100000\n");
	EQ(answer(), 2);
}

/* Above the mount point it is not a cgroup any more. */
TEST(chain_ends_at_the_mount)
{
	v2("/app");
	put("/sys/fs/cpu.max", "100000 100000\n");
	put(CG "/app/cpu.max", "400000 100000\n");
	EQ(answer(), 4);
}

TEST(hybrid)
{
	fixture();
	cgroup("1:cpu,cpuacct:/old\n0::/new\n");
	mountinfo("41 31 0:38 / " CG "/unified rw - cgroup2 cgroup2 rw\n"
		  "34 31 0:31 / " CG "/cpu rw - cgroup cgroup"
		  " rw,cpuacct,cpu\n");
	put(CG "/unified/new/cgroup.procs", "1\n");
	put_v1(CG "/cpu/old", "200000\n", "100000\n");
	EQ(answer(), 2);
}

/* The controllers we need are in v2 although others are still in v1. */
TEST(hybrid_cpu_in_v2)
{
	fixture();
	cgroup("2:memory:/old\n0::/new\n");
	mountinfo("40 31 0:37 / " CG "/memory rw - cgroup cgroup rw,memory\n"
		  "41 31 0:38 / " CG "/unified rw - cgroup2 cgroup2 rw\n");
	put(CG "/unified/new/cpu.max", "300000 100000\n");
	EQ(answer(), 3);
}

static void
container(const char *group, const char *top)
{
	char line[512];

	v2(group);
	snprintf(line, sizeof(line),
		 "31 24 0:27 %s " CG " ro - cgroup2 cgroup rw\n", top);
	mountinfo(line);
}

TEST(container_mount_root)
{
	container("/docker/abc", "/docker/abc");
	put(CG "/cpu.max", "200000 100000\n");
	EQ(answer(), 2);
	container("/docker/abc/job", "/docker/abc");
	put(CG "/cpu.max", "400000 100000\n");
	put(CG "/job/cpu.max", "300000 100000\n");
	EQ(answer(), 3);
}

/* A mount that does not hold our cgroup has other people's quotas. */
TEST(container_other_mount_root)
{
	container("/docker/abcdef", "/docker/abc");
	put(CG "/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
	container("/elsewhere", "/docker/abc");
	put(CG "/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
	container("/docker", "/docker/abc");
	put(CG "/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
}

/* The cgroup path is the host's, the mount begins at the container. */
TEST(container_host_path)
{
	container("/docker/abc", "/");
	put(CG "/cpu.max", "200000 100000\n");
	EQ(answer(), 2);
}

TEST(several_mounts)
{
	v2("/docker/abc");
	mountinfo("31 24 0:27 /docker/xyz /a rw - cgroup2 none rw\n"
		  "32 24 0:27 /docker/abc /b rw - cgroup2 none rw\n"
		  "33 24 0:27 / /c rw - cgroup2 none rw\n");
	put("/a/cpu.max", "100000 100000\n");
	put("/b/cpu.max", "400000 100000\n");
	put("/c/docker/cpu.max", "300000 100000\n");
	EQ(answer(), 3);
}

TEST(outside_of_namespace)
{
	container("/../..", "/");
	put(CG "/cpu.max", "200000 100000\n");
	put("/sys/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
	container("/../other", "/");
	put(CG "/cpu.max", "200000 100000\n");
	put("/sys/fs/other/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
	container("/a/../b", "/");
	put(CG "/b/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
}

/* Mounted from further up than our namespace begins. */
TEST(mount_outside_of_namespace)
{
	container("/../../app", "/../..");
	put(CG "/app/cpu.max", "200000 100000\n");
	EQ(answer(), 2);
	container("/app", "/../..");
	put(CG "/cpu.max", "300000 100000\n");
	put(CG "/app/cpu.max", "200000 100000\n");
	EQ(answer(), 3);
	container("/", "/../sibling");
	put(CG "/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
}

/* Dots that are part of a name go nowhere. */
TEST(dots_in_names)
{
	container("/..x/y..", "/");
	put(CG "/..x/y../cpu.max", "200000 100000\n");
	EQ(answer(), 2);
}

TEST(escaped_paths)
{
	fixture();
	cgroup("0::/my pod:1/a\\b\n");
	mountinfo("31 24 0:27 /my\\040pod:1 /mnt/c\\040g\\134x rw"
		  " - cgroup2  rw\n");
	put("/mnt/c g\\x/a\\b/cpu.max", "200000 100000\n");
	EQ(answer(), 2);
}

TEST(deleted_group)
{
	v2("/pod/app (deleted)");
	put(CG "/pod/cpu.max", "200000 100000\n");
	EQ(answer(), 2);
}

TEST(garbage_numbers)
{
	EQ(answer_max(""), 0);
	EQ(answer_max("\n"), 0);
	EQ(answer_max("200000"), 0);
	EQ(answer_max("200000 "), 0);
	EQ(answer_max("200000 0\n"), 0);
	EQ(answer_max("0 100000\n"), 0);
	EQ(answer_max("-200000 100000\n"), 0);
	EQ(answer_max("2e5 100000\n"), 0);
	EQ(answer_max("200000 100000 7\n"), 0);
	EQ(answer_max("999999999999999999999999999 100000\n"), 0);
	EQ(answer_max("200000 99999999999999999999999999999999999999999"
		      "9999999999999999999999999999999999999999\n"), 0);
	EQ(answer_max("999999999999999999 1\n"), INT_MAX);
	EQ(answer_max("200000 100000"), 2);
}

/* Every prefix of good files, which also ends in every odd place. */
TEST(garbage_prefixes)
{
	static const char groups[] = "3:cpu:/app\n0::/app\n";
	static const char mounts[] =
		"31 24 0:27 / " CG " rw - cgroup cgroup rw,cpu\n"
		"32 24 0:28 / " CG " rw - cgroup2 cgroup2 rw\n";
	char text[sizeof(mounts)];
	size_t i;
	int n;

	fixture();
	put(CG "/app/cpu.max", "200000 100000\n");
	put_v1(CG "/app", "300000\n", "100000\n");
	cgroup(groups);
	for (i = 0; i < sizeof(mounts); i++) {
		snprintf(text, i + 1, "%s", mounts);
		mountinfo(text);
		n = cpu_quota_at(root);
		OK(n == 0 || n == 2 || n == 3);
	}
	for (i = 0; i < sizeof(groups); i++) {
		snprintf(text, i + 1, "%s", groups);
		cgroup(text);
		n = cpu_quota_at(root);
		OK(n == 0 || n == 2 || n == 3);
	}
	EQ(answer(), 2);
}

/* A line that does not end was cut, and may name another cgroup. */
TEST(truncated_line)
{
	v2("/app");
	put(CG "/ap/cpu.max", "200000 100000\n");
	cgroup("0::/ap");
	EQ(answer(), 0);
}

TEST(garbage_lines)
{
	v2("/app");
	put(CG "/cpu.max", "200000 100000\n");
	cgroup("\n:\n::\n:::\n0::\n0::app\nx\n\\\n");
	EQ(answer(), 0);
	v2("/app");
	put(CG "/app/cpu.max", "200000 100000\n");
	mountinfo("\n \n - \n          \n- - -\n"
		  "1 2 3 / " CG " rw cgroup2 cgroup2 rw\n"
		  "1 2 3 / " CG "\\ rw - cgroup2 cgroup2 rw\n"
		  "1 2 3 / \\777\\08\\1 rw - cgroup2 cgroup2 rw\n");
	EQ(answer(), 0);
}

/* Longer than a path, and longer than any buffer. */
TEST(garbage_lengths)
{
	enum { BYTES = 100000 };
	static const size_t lens[] = { 4080, 4095, 4096, 16384, BYTES };
	char *text = malloc(2 * BYTES);
	size_t i;

	OK(text != NULL);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		v2("/app");
		put(CG "/cpu.max", "200000 100000\n");
		memset(text, 'a', lens[i]);
		memcpy(text, "0::/", 4);
		memcpy(text + lens[i], "\n", 2);
		cgroup(text);
		EQ(answer(), 0);
	}
	/* The folder's path fits, the file's does not: its parent's counts. */
	v2("/app");
	put(CG "/cpu.max", "200000 100000\n");
	memset(text, 'a', PATH_MAX);
	memcpy(text, "0::/", 4);
	memcpy(text + 3 + PATH_MAX - 4 - strlen(root) - strlen(CG), "\n", 2);
	cgroup(text);
	EQ(answer(), 2);
	v2("/app");
	memset(text, 'a', BYTES);
	memcpy(text + BYTES, "\n0::/app\n", 10);
	mountinfo(text);
	EQ(answer(), 0);
	free(text);
}

TEST(missing_files)
{
	EQ(cpu_quota_at("/nonexistent"), 0);
	fixture();
	EQ(answer(), 0);
	fixture();
	cgroup("0::/app\n");
	put(CG "/app/cpu.max", "200000 100000\n");
	EQ(answer(), 0);
	v2("/app");
	EQ(answer(), 0);
	v1("/app");
	put(CG "/cpu,cpuacct/app/cpu.cfs_quota_us", "200000\n");
	EQ(answer(), 0);
}

TEST(count_follows_affinity)
{
	cpu_set_t all, one;
	int cpu = 0;

	EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	EQ(cpu_count(), CPU_COUNT(&all));
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	EQ(cpu_count(), 1);
	EQ(cpu_default_procs(), 1);
	EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

TEST(default_is_the_smaller)
{
	int quota = cpu_quota_at("");
	int n = cpu_default_procs();

	OK(n >= 1);
	OK(n <= cpu_count());
	OK(quota == 0 || n <= quota);
}

/* ---- while the program runs ---- */

static void
running_on_8(void)
{
	v2("/a");
	put(CG "/a/cpu.max", "300000 100000\n");
	cpu_test.root = root;
	cpu_test.cpus = 8;
	EQ(cpu_default_procs(), 3);
}

TEST(look_sees_changes)
{
	running_on_8();
	EQ(cpu_look(0, true), 3);
	put(CG "/a/cpu.max", "450000 100000\n");
	EQ(cpu_look(0, false), 3);
	EQ(cpu_look(0, true), 5);
	cpu_test.cpus = 2;
	EQ(cpu_look(0, true), 2);
	cpu_test.cpus = 8;
	put(CG "/a/cpu.max", "max 100000\n");
	EQ(cpu_look(0, true), 8);
	/* Moved to another cgroup. */
	put(CG "/b/cpu.max", "150000 100000\n");
	cgroup("0::/b\n");
	EQ(cpu_look(0, true), 2);
	fixture_end();
}

static void
lose(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s%s", root, name);
	EQ(unlink(path), 0);
	EQ(cpu_look(0, true), 3);
}

TEST(look_keeps_what_it_cannot_read)
{
	struct rlimit old, none;

	running_on_8();
	EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	EQ(cpu_look(0, true), 3);
	EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
	lose(CG "/a/cpu.max");
	lose("/proc/self/mountinfo");
	lose("/proc/self/cgroup");
	/* No thread has this id. */
	cpu_test.cpus = 0;
	EQ(cpu_look(INT_MAX, true), 3);
	fixture_end();
}
