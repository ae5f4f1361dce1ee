/* SPDX-License-Identifier: MIT */
/* Nothing in this program ties state to a thread: it is preempted. */
#include "torture.h"

int
main(int argc, char **argv)
{
	static const struct torture t = {
		"passes", { torture_cpu, torture_libc, torture_weft }, NULL
	};

	return torture_main(&t, argc, argv);
}
