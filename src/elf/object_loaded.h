/* SPDX-License-Identifier: MIT */
/*
 * Is a module that was listed before still the one at an address? Another
 * thread may have unloaded it, and another object be there. Signal-safe.
 */
#ifndef OBJECT_LOADED_H
#define OBJECT_LOADED_H

#include "module.h"

/* True if that cannot be known: with a libc that unloads nothing. */
bool object_loaded(const struct module *m, uintptr_t pc);

#endif
