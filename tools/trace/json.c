/* SPDX-License-Identifier: MIT */
/* See json.h. */
#include "json.h"

#include <stdint.h>

/* How many bytes the character at s has; 0: it is none. */
static size_t
character(const uint8_t *s, size_t bytes)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 :
	    s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 :
	    0;

	if (!n || n > bytes)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* too long a form, half of a pair, beyond the last one */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

void
json_string(FILE *out, const char *s, size_t bytes)
{
	const uint8_t *at = (const uint8_t *)s, *end = at + bytes;

	putc('"', out);
	while (at < end) {
		size_t n = character(at, (size_t)(end - at));

		if (!n)
			fputs("\\ufffd", out);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
	}
	putc('"', out);
}
