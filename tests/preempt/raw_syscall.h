/* SPDX-License-Identifier: MIT */
/* System calls for tests that must pass the audit: not by libc's syscall(). */
#ifndef RAW_H
#define RAW_H

#if defined(__x86_64__)
#include "../src/arch/x86_64/rawcall.h"
#else
#include "../src/arch/aarch64/rawcall.h"
#endif

#endif
