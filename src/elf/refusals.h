/* SPDX-License-Identifier: MIT */
/* Why the audit refuses a name, and what a program can do about it. */
#ifndef REFUSALS_H
#define REFUSALS_H

/* Of a name that imports.h does not allow: a few words, never NULL. */
const char *refusal_why(const char *name);

#endif
