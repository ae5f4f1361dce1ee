/* SPDX-License-Identifier: MIT */
/*
 * glibc from 2.35 on finds the object of an address without a lock, for the
 * sake of exceptions. musl never unloads an object.
 */
#include "object_loaded.h"

#include <sys/auxv.h>

/* As glibc has it: struct dl_find_object, of which more is reserved. */
struct found {
	uint64_t flags;
	void *start, *end, *link_map, *eh_frame_hdr;
	uint64_t reserved[10];
};

extern int _dl_find_object(void *address, struct found *result)
    __attribute__((__weak__));

bool
object_loaded(const struct module *m, uintptr_t pc)
{
	struct found f;

	if (!_dl_find_object)
		return true;
	if (_dl_find_object((void *)pc, &f) == 0)
		return (uintptr_t)f.eh_frame_hdr == m->eh_hdr;
	/* The vDSO, which it does not know and which stays. */
	return range_has(&m->load, getauxval(AT_SYSINFO_EHDR));
}
