// SPDX-License-Identifier: MIT

package main

// Calls into C that take long. Go has none that are not announced: cgo tells
// the scheduler of each. Where Go is without a C compiler it leaves out this
// file, and with it these workloads.

// #include <stdint.h>
// #include <stdlib.h>
// #include <unistd.h>
//
// enum { SORTED = 1000000 };
//
// static int
// by_value(const void *a, const void *b)
// {
// 	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
//
// 	return (x > y) - (x < y);
// }
//
// static void
// sort(uint32_t *v)
// {
// 	qsort(v, SORTED, sizeof *v, by_value);
// }
import "C"

import "sync/atomic"

func init() {
	workloads = append(workloads,
		workload{"foreign_block", foreignBlock},
		workload{"foreign_hog", foreignHog})
}

// foreignBlock has hogs that sleep in libc.
func foreignBlock() {
	sleepBeside("foreign_block", func(stop *int32) {
		for atomic.LoadInt32(stop) == 0 {
			C.usleep(200000)
		}
	})
}

// foreignHog has hogs that sort a million numbers in libc.
func foreignHog() {
	sleepBeside("foreign_hog", func(stop *int32) {
		v := make([]C.uint32_t, C.SORTED)
		x := C.uint32_t(1)
		for atomic.LoadInt32(stop) == 0 {
			for i := range v {
				x = x*1664525 + 1013904223
				v[i] = x
			}
			C.sort(&v[0])
		}
	})
}
