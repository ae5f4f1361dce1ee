// SPDX-License-Identifier: MIT
// A library with C++ in it, for a program in C: see api/plugin.c. Throws, and
// has others run while it catches.
#ifdef PLUGIN_INCLUDES_WEFT
#include <weft.h>
#endif

#include <exception>
#include <string>

namespace {

struct oops {
	std::string text;
};

// What was thrown last is thrown again, with another one in between.
int
throws(void (*others)(void), const std::string &text, int depth)
{
	const std::exception_ptr outer = std::current_exception();
	int wrong = 0;

	try {
		throw oops{ text };
	} catch (const oops &e) {
		others();
		wrong += e.text != text || std::uncaught_exceptions() != 0;
		if (depth > 0)
			wrong += throws(others, text + "x", depth - 1);
		others();
		try {
			throw;
		} catch (const oops &again) {
			others();
			wrong += &again != &e || again.text != text;
		}
	}
	return wrong + (std::current_exception() != outer);
}

}

extern "C" int
plugin_throws(void (*others)(void), int nr)
{
	return throws(others, "a string of some length " + std::to_string(nr),
	    nr % 4);
}
