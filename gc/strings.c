/* SPDX-License-Identifier: MIT */
/* Strings in collected memory. */
#include <stdio.h>
#include <string.h>

#include "heap.h"

public char *
weft_gc_strndup(const char *s, size_t most)
{
	size_t n = strnlen(s, most);
	char *copy = weft_gc_alloc_atomic(n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

public char *
weft_gc_strdup(const char *s)
{
	return weft_gc_strndup(s, SIZE_MAX);
}

public char *
weft_gc_vprintf(const char *format, va_list args)
{
	va_list again;
	char *text = NULL;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n >= 0)
		text = weft_gc_alloc_atomic((size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	return text;
}

public char *
weft_gc_printf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = weft_gc_vprintf(format, args);
	va_end(args);
	return text;
}
