/* SPDX-License-Identifier: MIT */
/* The version: in the header, in the library, and of what is installed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "t.h"

static char header[32];

static void
of_header(void)
{
	snprintf(header, sizeof header, "%d.%d.%d", WEFT_VERSION_MAJOR,
	    WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
}

TEST(header_and_library_agree)
{
	of_header();
	OK(strcmp(weft_version(), header) == 0);
}

/* `make test` says where it is. */
TEST(pkg_config_agrees)
{
	const char *b = getenv("B");
	char path[512], line[256], want[64];
	bool found = false;
	FILE *f;

	of_header();
	snprintf(path, sizeof path, "%s/weft.pc", b ? b : "build");
	f = fopen(path, "r");
	if (!f)
		t_skip("no weft.pc");
	snprintf(want, sizeof want, "Version: %s\n", header);
	while (fgets(line, sizeof line, f))
		found |= strcmp(line, want) == 0;
	fclose(f);
	OK(found);
}
