/* SPDX-License-Identifier: MIT */
/*
 * Addresses of code, told apart: the library's, hot and cold, C and assembly,
 * visible and not; and everybody else's.
 */
#include <stdlib.h>

#include "cpu.h"
#include "fatal.h"
#include "switch.h"
#include "t.h"
#include "text.h"
#include "weft.h"

int main(int argc, char **argv);

static bool
ours(void (*fn)(void))
{
	return text_is_ours((uintptr_t)fn);
}

#define OURS(fn) ours((void (*)(void))(fn))

TEST(the_library_is_ours)
{
	OK(OURS(weft_yield));
	OK(OURS(weft_run));
	OK(OURS(cpu_count));
	OK(OURS(fatal));		/* cold */
	OK(OURS(frame_entry));		/* assembly */
	OK(OURS(weft_go_capture_));	/* assembly, visible */
}

TEST(the_rest_is_not)
{
	static const char data[] = "constant";

	OK(!OURS(main));
	OK(!OURS(ours));
	OK(!OURS(abort));
	OK(!text_is_ours((uintptr_t)data));
	OK(!text_is_ours((uintptr_t)&fatal_hook));
	OK(!text_is_ours(0));
	OK(!text_is_ours(UINTPTR_MAX));
}

TEST(it_ends_where_it_ends)
{
	uintptr_t start = (uintptr_t)__start_weft_text;
	uintptr_t stop = (uintptr_t)__stop_weft_text;

	OK(stop - start > 4096);
	OK(text_is_ours(start));
	OK(text_is_ours(stop - 1));
	/* The linker may put the other section of ours right beside it. */
	OK(!text_is_ours(start - 1) || text_calls_out(start - 1));
	OK(!text_is_ours(stop) || text_calls_out(stop));
}
