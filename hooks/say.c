/* SPDX-License-Identifier: MIT */
/* See say.h. */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "rawcall.h"

enum { SAY_BYTES = 300, STDERR = 2 };

void
say(const char *format, ...)
{
	char line[SAY_BYTES];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (n >= (int)sizeof line)
		n = sizeof line - 1;
	if (n > 0)
		syscall6(SYS_write, STDERR, (long)line, n, 0, 0, 0);
}
