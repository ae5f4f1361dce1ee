/* SPDX-License-Identifier: MIT */
/*
 * Errors that the socket answers, in words that say what to do. The process
 * says only what the error is called, since it knows nothing of who asks; what
 * it means follows from the request. A process may have another libc than the
 * tool, so an error is known by each of its names.
 */
#include <string.h>

#include "top.h"

/* "profile" of "profile cpu 5": is that the verb, and which words follow? */
static const char *
after_verb(const char *request, const char *verb)
{
	size_t n = strlen(verb);

	return strncmp(request, verb, n) == 0 && strchr(" \n", request[n]) ?
	    request + n : NULL;
}

static bool
has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (words += strspn(words, " "); *words && *words != '\n';
	    words += strspn(words, " ")) {
		size_t here = strcspn(words, " \n");

		if (here == n && strncmp(words, word, n) == 0)
			return true;
		words += here;
	}
	return false;
}

/* Profiles that are collected only if the program, or its user, wants it. */
static bool
explain_missing(const char *words, char *why, size_t cap)
{
	static const struct { const char *kind, *setting, *call; } kinds[] = {
		{ "mutex", "mutexprofile", "weft_profile_mutex_fraction" },
		{ "block", "blockprofile", "weft_profile_block_rate" },
		{ "offcpu", "offcpuprofile", "weft_profile_offcpu_rate" },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!has_word(words, kinds[i].kind))
			continue;
		snprintf(why, cap, "no %s profile is collected: start the "
		    "program with WEFT_DEBUG=%s=FILE, or let it call %s",
		    kinds[i].kind, kinds[i].setting, kinds[i].call);
		return true;
	}
	return false;
}

static bool
explain_profile(const char *words, const char *error, char *why, size_t cap)
{
	if (strcmp(error, "Invalid argument") == 0)
		snprintf(why, cap, "no such profile: there are cpu [SECONDS] "
		    "(at most 600), goroutine, block, mutex and offcpu, each "
		    "with \"folded\" after it or not");
	else if (strcmp(error, "Device or resource busy") == 0 ||
	    strcmp(error, "Resource busy") == 0)
		snprintf(why, cap, "a trace or profile is being recorded "
		    "already, or the program has a handler for SIGPROF");
	else if (strcmp(error, "Operation not supported") == 0 ||
	    strcmp(error, "Not supported") == 0)
		snprintf(why, cap, "there is no CPU profile with a sanitizer "
		    "or valgrind");
	else if (strcmp(error, "Operation not permitted") == 0)
		snprintf(why, cap, "the program blocks SIGPROF, which a CPU "
		    "profile needs");
	else if (strcmp(error, "No such process") == 0)
		return explain_missing(words, why, cap);
	else
		return false;
	return true;
}

static bool
explain_trace(const char *error, char *why, size_t cap)
{
	if (strcmp(error, "Invalid argument") == 0)
		snprintf(why, cap, "trace takes a number of seconds, at most "
		    "600");
	else if (strcmp(error, "Device or resource busy") == 0 ||
	    strcmp(error, "Resource busy") == 0)
		snprintf(why, cap, "a trace or profile is being recorded "
		    "already");
	else
		return false;
	return true;
}

bool
explain(const char *request, const char *error, char *why, size_t cap)
{
	const char *words;

	if (strcmp(error, "busy") == 0) {
		snprintf(why, cap, "it is busy with other requests: try again "
		    "later");
		return true;
	}
	if (strncmp(error, "no verb ", 8) == 0) {
		snprintf(why, cap, "no such request: \"-r help\" lists them");
		return true;
	}
	if ((words = after_verb(request, "profile")))
		return explain_profile(words, error, why, cap);
	if (after_verb(request, "trace"))
		return explain_trace(error, why, cap);
	return false;
}
