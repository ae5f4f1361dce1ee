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
void bench_ms(const char *name, double ns);
void bench_value(const char *name, double value, const char *unit);
/* Sorts n times and prints two of them in a line, in "us" or "ms". */
void bench_p50_p99(const char *name, int64_t *ns, long n, const char *unit);
/* Ends the program with a message if a result is not what it must be. */
void bench_check(const char *name, long got, long want);
/*
 * Waits until no more goroutines exist than that, so that nothing a workload
 * has left behind runs into the next one or uses what is then released.
 */
void bench_settle(int64_t count);

/* The workloads, each in the file of its family. */
void bench_spawn(void);
void bench_spawnjoin(void);
void bench_yield(void);
void bench_pingpong(void);
void bench_ring(void);
void bench_spsc(void);
void bench_mpmc(void);
void bench_select(void);
void bench_skynet(void);
void bench_sieve(void);
void bench_fib(void);
void bench_fib_future(void);
void bench_skynet_future(void);
void bench_spawnjoin_future(void);
void bench_pfor(void);
void bench_mutex(void);
void bench_sleepers(void);
void bench_timers(void);
void bench_parked(void);
void bench_parked_lazy_chan(void);
void bench_parked_lazy_time(void);
void bench_echo(void);
void bench_netload(void);
void bench_netpaced(void);
void bench_preempt(void);
void bench_syscall(void);
void bench_sysblock(void);
void bench_files(void);
void bench_foreign_block(void);
void bench_foreign_hog(void);
void bench_blockers(void);
void bench_blockers_announced(void);
void bench_blockers_pthread(void);
void bench_blockers_short(void);
void bench_idle(void);
void bench_idle_readable(void);
void bench_lateness(void);

/* The other end of the idle connections, a process without a runtime. */
int bench_idle_client(int port, int count);

#endif
