/* SPDX-License-Identifier: MIT */
/*
 * The same, and more that keeps state in threads: no signal is ever sent. Also
 * linked statically, with another libc.
 */
#include "torture.h"

#ifdef TORTURE_STATIC
#define NAME "static"
#define WHY "is statically linked"
#else
#define NAME "fails"
#define WHY "uses pthread_mutex_lock"
#endif

int
main(int argc, char **argv)
{
	static const struct torture t = {
		NAME, { torture_cpu, torture_libc, torture_weft,
		    torture_thread }, WHY
	};

	return torture_main(&t, argc, argv);
}
