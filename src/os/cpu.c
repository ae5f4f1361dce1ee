/* SPDX-License-Identifier: MIT */
/*
 * The default number of processors: min(affinity mask, cgroup quota).
 *
 * More Ps than the quota allows are worse than useless: all of them run for
 * the first part of each period, then the kernel throttles every thread of
 * the process at once until the next period begins, even with locks held.
 *
 * How the quota is found:
 *
 *   /proc/self/cgroup     which cgroup we are in, per hierarchy. v1 names
 *                         the controller ("3:cpu,cpuacct:/a/b"), v2 is the
 *                         line "0::/a/b". A hybrid system has both.
 *   /proc/self/mountinfo  where a hierarchy is mounted, and which cgroup is
 *                         the top of that mount. In a container that is
 *                         often not "/": only what our path has below the
 *                         top is then found below the mount point.
 *
 * A quota limits the whole subtree, so each cgroup from ours up to the mount
 * point is read and the smallest quota counts; reading the leaf alone would
 * miss the limit of a pod or a slice above it. All mounts that hold our
 * cgroup are read, v1 and v2: the kernel gives the cpu controller to one of
 * the two only, so the other has no such files.
 *
 * CPU weights are ignored: they divide what is left under load, and are not
 * a limit.
 *
 * None of this input can be relied on. What does not parse, does not fit or
 * is not there means "no limit": a wrong number of Ps costs speed, a refusal
 * to start costs the program.
 *
 * While the program runs all of it is read again, now and then (cpu_look).
 * Then what cannot be read changes nothing: a program that has used up its
 * descriptors or memory, or has changed its root directory, keeps the limit
 * that was found before.
 *
 * One thread at a time, that of weft_run at boot and then one helper: hence
 * the static buffers, which are too large for the stack, and no locks.
 */
#include "cpu.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "os.h"

enum {
	/*
	 * 32768 CPUs, four times what Linux can be built for. The kernel
	 * refuses a mask smaller than its own and fills only its own size
	 * of a larger one, so one ample mask needs no retry loop.
	 */
	MASK_BYTES = 4096,

	/*
	 * Lines beyond are not seen. cgroups are mounted early in the life
	 * of a system or a container, so theirs are near the top.
	 */
	GROUPS_BYTES = 16 * 1024,
	MOUNTS_BYTES = 64 * 1024,

	PATH_BYTES = 4096,	/* the kernel opens no longer one */
	NUMBER_BYTES = 64,	/* two decimal numbers, with room */
	MAX_DIGITS = 18,	/* always fits an int64_t */
};

/* A path under construction. s is terminated and len is its length, always. */
struct path {
	size_t len;
	char s[PATH_BYTES];
};

/* The fields of a mountinfo line that matter here, unescaped. */
struct mount {
	char *top;	/* cgroup at the top of the mount */
	char *point;	/* where it is mounted */
	char *type;
	char *options;	/* of the file system: the v1 controllers */
};

/* Our cgroup in each kind of hierarchy, NULL if we are in none. */
struct groups {
	const char *v1;
	const char *v2;
};

typedef int quota_fn(struct path *dir);

/* One thread at a time; see the head of this file. */
static char groups_text[GROUPS_BYTES];
static char mounts_text[MOUNTS_BYTES];

/* What the last search for a quota could read. */
static struct {
	bool refused;	/* a file may be there, but there was no memory or
			 * descriptor to read it */
	int files;	/* with a quota, or with none as their value */
} found;

struct cpu_test cpu_test = { .root = "" };

/*
 * Cuts the next field off *sp, which ends at sep or at the end of the text.
 * NULL when the text is used up. Empty fields count: mountinfo separates by
 * exactly one space and its source field may be empty.
 */
static char *
cut(char **sp, char sep)
{
	char *field = *sp;
	char *end;

	if (field == NULL)
		return NULL;
	end = memchr(field, sep, strlen(field));
	if (end != NULL)
		*end++ = '\0';
	*sp = end;
	return field;
}

/*
 * Cuts the next complete line off *sp. A last line without a newline is
 * dropped: in these files it means the text was truncated, and half a path
 * is a wrong path.
 */
static char *
cut_line(char **sp)
{
	char *line = cut(sp, '\n');

	return *sp == NULL ? NULL : line;
}

/* Is word an item of the comma-separated list? Consumes the list. */
static bool
has_word(char *list, const char *word)
{
	char *item;

	while ((item = cut(&list, ',')) != NULL)
		if (strcmp(item, word) == 0)
			return true;
	return false;
}

/*
 * The value of a positive decimal number, and 0 for all else: "max" and "-1",
 * which mean no limit, and garbage, which is taken to.
 */
static int64_t
number(const char *s)
{
	int64_t n = 0;
	int digits = 0;

	for (; *s >= '0' && *s <= '9'; s++) {
		if (++digits > MAX_DIGITS)
			return 0;
		n = n * 10 + (*s - '0');
	}
	return *s == '\0' ? n : 0;
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Undoes in place the kernel's \ooo for space, tab, newline and backslash. */
static void
unescape(char *s)
{
	char *d = s;

	while (*s != '\0') {
		if (s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) &&
		    is_octal(s[3])) {
			*d++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 +
				      (s[3] - '0'));
			s += 4;
		} else {
			*d++ = *s++;
		}
	}
	*d = '\0';
}

static void
path_cut(struct path *p, size_t len)
{
	p->len = len;
	p->s[len] = '\0';
}

/* Appends s, or leaves p alone and returns false if it does not fit. */
static bool
path_add(struct path *p, const char *s)
{
	size_t len = strlen(s);

	if (len >= sizeof(p->s) - p->len)
		return false;
	memcpy(p->s + p->len, s, len + 1);
	p->len += len;
	return true;
}

/* Removes the last component, but nothing of the first stop bytes. */
static void
path_up(struct path *p, size_t stop)
{
	size_t len = p->len;

	while (len > stop && p->s[--len] != '/')
		;
	path_cut(p, len);
}

/* Reads a file; false if there is nothing to read. */
static bool
read_text(const char *path, char *buf, size_t cap)
{
	long n = os_read_file(path, buf, cap);

	if (n == -EMFILE || n == -ENFILE || n == -ENOMEM)
		found.refused = true;
	return n > 0;
}

/* Reads the file name below root; false if there is nothing to read. */
static bool
read_at(const char *root, const char *name, char *buf, size_t cap)
{
	struct path p;

	path_cut(&p, 0);
	return path_add(&p, root) && path_add(&p, name) &&
	       read_text(p.s, buf, cap);
}

/* Reads the first line of a file in dir, which is as before on return. */
static bool
read_in(struct path *dir, const char *name, char *buf, size_t cap)
{
	size_t len = dir->len;
	bool ok;

	ok = path_add(dir, name) && read_text(dir->s, buf, cap);
	path_cut(dir, len);
	if (ok) {
		cut(&buf, '\n');
		found.files++;
	}
	return ok;
}

/* The smaller of two limits, where 0 is none. */
static int
min_limit(int a, int b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

/*
 * Rounds up: half a CPU of quota left idle is lost for good, half a P too
 * many costs a little throttling at worst.
 */
static int
quota_cpus(int64_t quota, int64_t period)
{
	int64_t n;

	if (quota <= 0 || period <= 0)
		return 0;
	n = quota / period + (quota % period != 0);
	return n < INT_MAX ? (int)n : INT_MAX;
}

/* cgroup v1: a number of microseconds each, quota -1 for no limit. */
static int
quota_v1(struct path *dir)
{
	char quota[NUMBER_BYTES];
	char period[NUMBER_BYTES];

	if (!read_in(dir, "/cpu.cfs_quota_us", quota, sizeof(quota)) ||
	    !read_in(dir, "/cpu.cfs_period_us", period, sizeof(period)))
		return 0;
	return quota_cpus(number(quota), number(period));
}

/* cgroup v2: "QUOTA PERIOD" in one file, QUOTA "max" for no limit. */
static int
quota_v2(struct path *dir)
{
	char text[NUMBER_BYTES];
	char *period = text;
	char *quota;

	if (!read_in(dir, "/cpu.max", text, sizeof(text)))
		return 0;
	quota = cut(&period, ' ');
	if (period == NULL)
		return 0;
	return quota_cpus(number(quota), number(period));
}

/*
 * Finds our cgroups in the text of /proc/self/cgroup, "ID:CONTROLLERS:PATH"
 * a line. PATH may hold colons, and unlike mountinfo is not escaped.
 */
static void
find_groups(char *text, struct groups *g)
{
	char *line, *controllers;

	g->v1 = g->v2 = NULL;
	while ((line = cut_line(&text)) != NULL) {
		cut(&line, ':');
		controllers = cut(&line, ':');
		if (line == NULL || line[0] != '/')
			continue;
		if (controllers[0] == '\0')
			g->v2 = line;
		else if (has_word(controllers, "cpu"))
			g->v1 = line;
	}
}

/*
 * Splits a mountinfo line:
 * ID PARENT DEVICE TOP POINT OPTIONS [TAG...] - TYPE SOURCE FS-OPTIONS
 */
static bool
parse_mount(char *line, struct mount *m)
{
	char *field;
	int i;

	for (i = 0; i < 3; i++)
		cut(&line, ' ');
	m->top = cut(&line, ' ');
	m->point = cut(&line, ' ');
	do {
		field = cut(&line, ' ');
	} while (field != NULL && strcmp(field, "-") != 0);
	m->type = cut(&line, ' ');
	cut(&line, ' ');
	m->options = cut(&line, ' ');
	if (m->options == NULL)
		return false;
	unescape(m->top);
	unescape(m->point);
	return true;
}

/* How many "/.." the path begins with. */
static size_t
count_ups(const char *path)
{
	size_t n = 0;

	while (strncmp(path, "/..", 3) == 0 &&
	       (path[3] == '/' || path[3] == '\0')) {
		path += 3;
		n++;
	}
	return n;
}

static bool
has_ups(const char *path)
{
	for (; *path != '\0'; path++)
		if (count_ups(path) > 0)
			return true;
	return false;
}

/*
 * The part of group below top: "" or "/x...". NULL if our cgroup is not in
 * the mount, whose quotas then do not concern us.
 *
 * Both paths are relative to the root of our cgroup namespace, and go up from
 * it with "/.." if they are outside. A top that is only ups is an ancestor
 * of every group with fewer of them, but the names between are not visible
 * from here; the limits at the mount point itself still apply.
 */
static const char *
below_top(const char *group, const char *top)
{
	size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);
	size_t ups = count_ups(top);

	if (ups > count_ups(group))
		return ups * 3 == len ? "" : NULL;
	if (strncmp(group, top, len) != 0)
		return NULL;
	group += len;
	if (group[0] != '\0' && group[0] != '/')
		return NULL;
	if (has_ups(group))
		return NULL;
	return strcmp(group, "/") == 0 ? "" : group;
}

/*
 * The smallest quota from our cgroup up to the mount point. A cgroup whose
 * folder is not there is skipped: it was deleted meanwhile, or the path is
 * the host's and the mount already begins at the container.
 */
static int
mount_quota(const char *root, const struct mount *m,
	    const char *group, quota_fn *quota)
{
	const char *below = below_top(group, m->top);
	struct path dir;
	size_t stop;
	int limit;

	path_cut(&dir, 0);
	if (below == NULL || !path_add(&dir, root) ||
	    !path_add(&dir, m->point))
		return 0;
	stop = dir.len;
	if (!path_add(&dir, below))
		return 0;
	limit = quota(&dir);
	while (dir.len > stop) {
		path_up(&dir, stop);
		limit = min_limit(limit, quota(&dir));
	}
	return limit;
}

/* The smallest quota in any mount of a cgroup hierarchy we are in. */
static int
mounts_quota(const char *root, char *text, const struct groups *g)
{
	struct mount m;
	int limit = 0;
	int n;
	char *line;

	while ((line = cut_line(&text)) != NULL) {
		n = 0;
		if (!parse_mount(line, &m))
			continue;
		if (g->v2 != NULL && strcmp(m.type, "cgroup2") == 0)
			n = mount_quota(root, &m, g->v2, quota_v2);
		else if (g->v1 != NULL && strcmp(m.type, "cgroup") == 0 &&
			 has_word(m.options, "cpu"))
			n = mount_quota(root, &m, g->v1, quota_v1);
		limit = min_limit(limit, n);
	}
	return limit;
}

/* Works in the static buffers. */
int
cpu_quota_at(const char *root)
{
	struct groups g;

	found.refused = false;
	found.files = 0;
	if (!read_at(root, "/proc/self/cgroup", groups_text,
		     sizeof(groups_text)) ||
	    !read_at(root, "/proc/self/mountinfo", mounts_text,
		     sizeof(mounts_text)))
		return 0;
	find_groups(groups_text, &g);
	return mounts_quota(root, mounts_text, &g);
}

/* CPUs in a thread's mask, 0 if the kernel does not say. */
static int
mask_count(int tid)
{
	unsigned long mask[MASK_BYTES / sizeof(long)];
	long bytes = os_affinity(tid, mask, sizeof(mask));
	unsigned long word;
	int n = 0;
	long i;

	/* Not popcount: without the instruction it is a libgcc import. */
	for (i = 0; i < bytes / (long)sizeof(word); i++)
		for (word = mask[i]; word != 0; word &= word - 1)
			n++;
	return n;
}

/* The mask of this thread, which at boot is the one all others inherit. */
int
cpu_count(void)
{
	int n = mask_count(0);

	return n > 0 ? n : 1;
}

/* The two that make the default number of Ps, when last known. */
static int last_cpus, last_quota;

int
cpu_default_procs(void)
{
	last_cpus = cpu_test.cpus ? cpu_test.cpus : cpu_count();
	last_quota = cpu_quota_at(cpu_test.root);
	return min_limit(last_cpus, last_quota);
}

int
cpu_look(int tid, bool files)
{
	int cpus = cpu_test.cpus ? cpu_test.cpus : mask_count(tid);
	int quota = files ? cpu_quota_at(cpu_test.root) : last_quota;

	if (cpus > 0)
		last_cpus = cpus;
	if (files && found.files > 0 && !found.refused)
		last_quota = quota;
	return min_limit(last_cpus, last_quota);
}
