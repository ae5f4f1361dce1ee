/* SPDX-License-Identifier: MIT */
/* Names of what events say in numbers; "?" for a number that has none. */
#ifndef NAMES_H
#define NAMES_H

#include <stdint.h>

const char *type_name(uint32_t type);		/* enum trace_type */
const char *state_name(uint32_t state);		/* enum g_state */
const char *stop_name(uint32_t why);		/* enum trace_stop */
const char *taken_name(uint32_t why);		/* enum trace_taken */
const char *yield_name(uint32_t why);		/* enum trace_yield */

#endif
