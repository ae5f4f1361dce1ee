/* SPDX-License-Identifier: MIT */
#ifndef ROOTS_H
#define ROOTS_H

#include "tls_self.h"
#include "weft/collector.h"

/* Plain threads that a collector stops: see collector.c. */
extern struct self *roots_threads;

#endif
