/* SPDX-License-Identifier: MIT */
/*
 * The benchmark program. A workload is a function of the main goroutine that
 * prints one or more lines `name value unit`; its name and size are fixed,
 * and the same as in the peers' programs.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

double bench_now_ns(void);
/* Resident bytes, page tables included. */
double bench_resident(void);
/* Prints a line. */
void bench_ns_op(const char *name, long n, double ns);
void bench_value(const char *name, double value, const char *unit);

/* The workloads, each in the file of its family. */
void bench_spawn(void);
void bench_yield(void);
void bench_parked(void);

#endif
