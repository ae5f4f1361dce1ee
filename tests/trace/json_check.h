/* SPDX-License-Identifier: MIT */
/* Is a text JSON? */
#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Each returns what follows the thing, or NULL. */
static inline const char *json_value(const char *s, int depth);

static inline const char *
json_space(const char *s)
{
	while (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r')
		s++;
	return s;
}

static inline const char *
json_text(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s != '"'; s++) {
		if ((unsigned char)*s < 0x20)
			return NULL;
		if (*s != '\\')
			continue;
		s++;
		if (*s == 'u') {
			for (int i = 0; i < 4; i++)
				if (!isxdigit((unsigned char)*++s))
					return NULL;
		} else if (!*s || !strchr("\"\\/bfnrt", *s)) {
			return NULL;
		}
	}
	return s + 1;
}

static inline const char *
json_digits(const char *s)
{
	if (!isdigit((unsigned char)*s))
		return NULL;
	while (isdigit((unsigned char)*s))
		s++;
	return s;
}

static inline const char *
json_numeral(const char *s)
{
	s = json_digits(s + (*s == '-'));
	if (s && *s == '.')
		s = json_digits(s + 1);
	if (s && (*s == 'e' || *s == 'E'))
		s = json_digits(s + 1 + (s[1] == '-' || s[1] == '+'));
	return s;
}

/* A list or an object: they differ in their brackets and names. */
static inline const char *
json_group(const char *s, int depth)
{
	char close = *s == '[' ? ']' : '}';

	s = json_space(s + 1);
	if (*s == close)
		return s + 1;
	for (;;) {
		if (close == '}') {
			s = json_text(json_space(s));
			if (!s || *(s = json_space(s)) != ':')
				return NULL;
			s++;
		}
		s = json_value(s, depth + 1);
		if (!s)
			return NULL;
		s = json_space(s);
		if (*s == close)
			return s + 1;
		if (*s++ != ',')
			return NULL;
	}
}

static inline const char *
json_value(const char *s, int depth)
{
	s = json_space(s);
	if (depth > 20)
		return NULL;
	if (*s == '[' || *s == '{')
		return json_group(s, depth);
	if (*s == '"')
		return json_text(s);
	if (strncmp(s, "true", 4) == 0 || strncmp(s, "null", 4) == 0)
		return s + 4;
	if (strncmp(s, "false", 5) == 0)
		return s + 5;
	return json_numeral(s);
}

static inline bool
is_json(const char *s)
{
	s = json_value(s, 0);
	return s && !*json_space(s);
}

#endif
