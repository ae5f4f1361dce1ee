/* SPDX-License-Identifier: MIT */
/*
 * What frames are called: as the profile says, or as the symbol tables of the
 * files do, if they are still those that were profiled.
 */
#ifndef NAMES_H
#define NAMES_H

#include "profile.h"

/* Gives every location at least one line with a name. */
void names_complete(struct profile *p);

#endif
