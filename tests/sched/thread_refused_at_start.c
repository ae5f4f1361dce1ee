/* SPDX-License-Identifier: MIT */
/*
 * The kernel refuses the first thread, by a filter of system calls: the
 * program is told just that, whatever error the filter gives.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

/* Spelt out, since not every libc comes with the kernel's headers. */
struct insn { uint16_t code; uint8_t jt, jf; uint32_t k; };
struct prog { uint16_t len; struct insn *insn; };
enum {
	LOAD = 0x20, EQUAL = 0x15, RETURN = 0x06,
	ALLOW = 0x7fff0000, FAIL = 0x00050000,
	SET_FILTER = 1, NO_NEW_PRIVS = 38, CLONE3 = 435
};

/* musl's pthread_create calls all of them EAGAIN. */
#ifdef __GLIBC__
enum { LIBC_TELLS = 1 };
#else
enum { LIBC_TELLS = 0 };
#endif

/* From now on clone and clone3 fail with this error. */
static void
refuse_threads(uint32_t error)
{
	struct insn insn[] = {
		{ LOAD, 0, 0, 0 },
		{ EQUAL, 2, 0, SYS_clone },
		{ EQUAL, 1, 0, CLONE3 },
		{ RETURN, 0, 0, ALLOW },
		{ RETURN, 0, 0, FAIL | error }
	};
	struct prog prog = { 5, insn };

	if (t_emulated())
		t_skip("not under an emulator");
	if (prctl(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SET_FILTER, 0, &prog) != 0)
		t_skip("the kernel does not let us");
}

static int
nothing(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

/* What WEFT_MAIN prints. */
static void
main_says(char *buf, size_t cap)
{
	FILE *f = tmpfile();
	int old = dup(2);

	dup2(fileno(f), 2);
	EQ(weft_main_(nothing, 0, NULL), 1);
	dup2(old, 2);
	close(old);
	rewind(f);
	buf[fread(buf, 1, cap - 1, f)] = 0;
	fclose(f);
}

static void
refused_with(int error)
{
	char said[4096];

	refuse_threads((uint32_t)error);
	EQ(weft_run(nothing, 0, NULL), -EAGAIN);
	main_says(said, sizeof said);
	if (!strstr(said, "refuses a thread"))
		t_fail(__FILE__, __LINE__, said);
	OK(!strstr(said, "already"));
	EQ(weft_run(nothing, 0, NULL), -EAGAIN);
}

TEST(for_want_of_resources) { refused_with(EAGAIN); }
TEST(by_permission) { refused_with(EPERM); }
TEST(by_access) { refused_with(EACCES); }
TEST(as_unknown) { refused_with(ENOSYS); }
TEST(as_invalid) { refused_with(EINVAL); }

/* The number of the error says what refuses. */
TEST(with_its_error)
{
	char said[4096], error[32];

	refuse_threads(EPERM);
	main_says(said, sizeof said);
	snprintf(error, sizeof error, "error %d", EPERM);
	OK(strstr(said, error) || !LIBC_TELLS);
}

TEST(a_second_run)
{
	char said[4096];

	EQ(weft_run(nothing, 0, NULL), 0);
	main_says(said, sizeof said);
	OK(strstr(said, "it ran already"));
}
