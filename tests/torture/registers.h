/* SPDX-License-Identifier: MIT */
/*
 * All registers at once; <arch>/registers.c. Each function fills them with a
 * pattern, loops, and checks that they have what they should.
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

void registers_general(uint64_t seed, uint64_t loops);
/* Vectors of every width that this machine has, and what else there is. */
void registers_vector(uint64_t seed, uint64_t loops);

/* Floating-point control bits. */
uint64_t registers_control(void);
void registers_control_set(uint64_t bits);
extern const uint64_t registers_control_default, registers_control_up;

#endif
