/* SPDX-License-Identifier: MIT */
/* check_go FILE: does it obey the rules of Go's reader of traces? */
#include "check_go.h"

static uint8_t *
read_all(const char *path, size_t *bytes)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t n = 0, room = 0, got = 1;

	while (in && got) {
		if (n == room)
			data = realloc(data, room = room ? room * 2 : 1 << 20);
		got = fread(data + n, 1, room - n, in);
		n += got;
	}
	if (in)
		fclose(in);
	*bytes = n;
	return data;
}

int
main(int argc, char **argv)
{
	struct go_check c;
	size_t bytes;
	uint8_t *data = argc == 2 ? read_all(argv[1], &bytes) : NULL;

	if (!data) {
		fprintf(stderr, "usage: check_go FILE\n");
		return 2;
	}
	if (!go_check(&c, data, bytes)) {
		fprintf(stderr, "%s: %s\n", argv[1], c.error);
		return 1;
	}
	return 0;
}
