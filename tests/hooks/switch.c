/* SPDX-License-Identifier: MIT */
/* weft_hooks_off and weft_hooks_on. */
#include <weft.h>
#include <weft/hooks.h>

#include "t.h"

GTEST(nests, 1)
{
	EQ(weft_hooks_off(), 0);
	EQ(weft_hooks_off(), 0);
	weft_hooks_on();
	weft_hooks_on();
	weft_hooks_on();
}
