/* SPDX-License-Identifier: MIT */
/* WEFT_DEBUG: what is read of it, and what is reported. */
#include "debug_env.h"

#include <stdlib.h>
#include <string.h>

#include "stderr_text.h"
#include "t.h"

static void
set(const char *text)
{
	setenv("WEFT_DEBUG", text, 1);
}

TEST(values)
{
	char v[8];

	unsetenv("WEFT_DEBUG");
	OK(!debug_env("a", v, sizeof v));
	set("");
	OK(!debug_env("a", v, sizeof v));
	set("a=1,bc=,d,e=x=y,a=2");
	OK(debug_env("a", v, sizeof v) && strcmp(v, "2") == 0);
	OK(debug_env("bc", v, sizeof v) && *v == 0);
	OK(debug_env("d", v, sizeof v) && *v == 0);
	OK(debug_env("e", v, sizeof v) && strcmp(v, "x=y") == 0);
	OK(!debug_env("b", v, sizeof v));
	OK(!debug_env("bcd", v, sizeof v));
	OK(!debug_env("x", v, sizeof v));
	OK(!debug_env("1", v, sizeof v));
}

TEST(longer_than_its_room)
{
	char v[4] = "old";

	set("a=abc,b=abcd");
	OK(debug_env("a", v, sizeof v) && strcmp(v, "abc") == 0);
	OK(!debug_env("b", v, sizeof v));
	OK(strcmp(v, "abc") == 0);
}

TEST(numbers)
{
	set("a=12,b,c=,d=x,e=-3,f=99999999999999999999999999999,,");
	EQ(debug_env_num("a", 7), 12);
	EQ(debug_env_num("b", 7), 1);
	EQ(debug_env_num("c", 7), 7);
	EQ(debug_env_num("d", 7), 7);
	EQ(debug_env_num("e", 7), -3);
	EQ(debug_env_num("f", 7), 7);
	EQ(debug_env_num("g", 7), 7);
}

/* What the check prints of that variable. */
static char *
checked(const char *text)
{
	struct stderr_text t;

	set(text);
	t = stderr_begin();
	debug_env_check();
	return stderr_end(&t);
}

static void
is_fine(const char *variable)
{
	char *text = checked(variable);

	OK(!*text);
	free(text);
}

/* One line that says that. */
static void
is_reported(const char *variable, const char *what)
{
	char *text = checked(variable);
	size_t n = strlen(text);

	OK(strncmp(text, "weft: WEFT_DEBUG: ", 18) == 0);
	OK(strstr(text, what));
	OK(n && strchr(text, '\n') == text + n - 1);
	free(text);
}

TEST(known_keys)
{
	is_fine("");
	is_fine(",");
	is_fine("schedtrace=1000,scheddetail=1");
	is_fine("schedtrace=1000,scheddetail,");
	is_fine("socket=");
	is_fine("socket=/tmp/x=y");
	is_fine("trace,traceend=5,tracebytes=1");
	is_fine("tracesig=10,tracebytes=1");
}

TEST(what_is_reported)
{
	is_reported("schedtrac=1", "no key \"schedtrac\"; there are: ");
	is_reported("socket,nonsense", "no key \"nonsense\"");
	is_reported("schedtrace=x", "\"schedtrace\" needs a number");
	is_reported("schedtrace=", "\"schedtrace\" needs a number");
	is_reported("cpuprofile", "\"cpuprofile\" needs the name of a file");
	is_reported("cpuprofile=", "\"cpuprofile\" needs the name of a file");
	is_reported("stall=5", "\"stall\" has no effect without \"flight\"");
	is_reported("traceend=5,flight", "no effect without \"trace\"");
	is_reported("=1", "no key \"\"");
	is_reported("a234567890123456789012345678901234567890123456789012345",
	    "no key \"a23456789012345678901234567890123456789\"");
}
