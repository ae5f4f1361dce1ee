/* SPDX-License-Identifier: MIT */
/* Cache lines and their prices: see cache.h. */
#include "cache.h"

void
line_init(struct line *l, const char *name)
{
	*l = (struct line){ .name = name, .owner = NO_CPU, .left = NO_CPU };
}

static bool
shares(const struct line *l, int cpu)
{
	return l->sharers[cpu / 64] >> cpu % 64 & 1;
}

static void
add_sharer(struct line *l, int cpu)
{
	l->sharers[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static void
set_owner(struct line *l, int cpu)
{
	for (int i = 0; i < CPU_WORDS; i++)
		l->sharers[i] = 0;
	add_sharer(l, cpu);
	l->owner = cpu;
}

bool
line_is_here(const struct line *l, int cpu, bool store, double now)
{
	if (l->left == cpu && now < l->left_at)
		return true;
	return store ? l->owner == cpu : shares(l, cpu);
}

static double
price(const struct prices *m, int a, int b)
{
	if (a == b)
		return m->hit;
	if (a / m->per_llc == b / m->per_llc)
		return m->llc;
	return a / m->per_socket == b / m->per_socket ? m->socket : m->other;
}

/* From the nearest copy, or to the farthest. If there is none: a hit, since
 * what memory costs is not the subject. */
static double
price_of_copies(const struct line *l, const struct prices *m, int cpu,
    bool farthest)
{
	double best = 0;

	for (int i = 0; i < CPUS_MAX; i++) {
		double p = shares(l, i) ? price(m, i, cpu) : 0;

		if (p > 0 && (best == 0 || (farthest ? p > best : p < best)))
			best = p;
	}
	return best > 0 ? best : m->hit;
}

/* One that waits for those before it; returns when it is done. */
static double
transfer(struct line *l, double cost, double now, bool exclusive)
{
	double start = now > l->busy_until ? now : l->busy_until;

	l->waited_ns += start - now;
	l->moved_ns += cost;
	l->transfers++;
	if (exclusive) {
		l->busy_until = start + cost;
		l->left = l->owner;
		l->left_at = start + cost / 2;
	}
	return start + cost;
}

double
line_read(struct line *l, const struct prices *m, int cpu, double now)
{
	bool modified = l->owner != NO_CPU;
	double done;

	if (line_is_here(l, cpu, false, now))
		return now + m->hit;
	done = transfer(l, price_of_copies(l, m, cpu, false), now, modified);
	l->owner = NO_CPU;
	add_sharer(l, cpu);
	return done;
}

double
line_store(struct line *l, const struct prices *m, int cpu, double now)
{
	double done;

	if (line_is_here(l, cpu, true, now))
		return now + m->hit;
	done = transfer(l, price_of_copies(l, m, cpu, true), now, true);
	set_owner(l, cpu);
	return done;
}
