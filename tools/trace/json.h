/* SPDX-License-Identifier: MIT */
/* Strings in JSON, whatever bytes are in them. */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

/* With its quotes. What is no UTF-8 becomes U+FFFD. */
void json_string(FILE *out, const char *s, size_t bytes);

#endif
