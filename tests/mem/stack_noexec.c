/* SPDX-License-Identifier: MIT */
/* No stack may be executable: not what the program asks for, and not ours. */
#define _GNU_SOURCE 1
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <weft.h>

#include "t.h"

static int
look(struct dl_phdr_info *info, size_t size, void *arg)
{
	int *asks = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_STACK) {
			OK(!(info->dlpi_phdr[i].p_flags & PF_X));
			++*asks;
		}
	return 1;		/* the first one is the program itself */
}

TEST(program_header)
{
	int asks = 0;

	dl_iterate_phdr(look, &asks);
	EQ(asks, 1);
}

/* The permissions of the mapping that holds an address. */
static bool
permissions(uintptr_t addr, char perm[5])
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long lo, hi;
	char line[512];
	bool found = false;

	while (!found && f && fgets(line, sizeof line, f))
		found = sscanf(line, "%lx-%lx %4s", &lo, &hi, perm) == 3 &&
		    addr >= lo && addr < hi;
	if (f)
		fclose(f);
	return found;
}

static void
check_own_stack(weft_waitgroup *wg)
{
	char perm[5] = "";

	OK(permissions((uintptr_t)__builtin_frame_address(0), perm));
	OK(strncmp(perm, "rw-", 3) == 0);
	weft_waitgroup_done(wg);
}

GTEST(goroutine_stack, 1)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 2);
	check_own_stack(&wg);
	OK(weft_try_go(check_own_stack, &wg) > 0);
	weft_waitgroup_wait(&wg);
}
