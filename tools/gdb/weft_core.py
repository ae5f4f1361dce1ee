# SPDX-License-Identifier: MIT
#
# gdb's generate-core-file leaves out the rest of a mapping after a page that
# cannot be read: it copies 1 MiB at a time. Stacks of goroutines are in one
# mapping, and between them are guards, so most of them are missing in such a
# file (and none in one that the kernel writes). Here they are put in.

import bisect
import struct

from weft_debug import Problem

PAGE = 4096
PT_LOAD = 1
MANY = 0xffff           # of program headers: the number is elsewhere


def segments(f):
    """[(address, offset in the file, bytes)] of a core file, sorted."""
    head = f.read(64)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        raise Problem("gdb's core file is no 64-bit ELF file")
    phoff, shoff = struct.unpack_from("<QQ", head, 32)
    size, n = struct.unpack_from("<HH", head, 54)
    if n == MANY:
        f.seek(shoff + 44)      # sh_info of the first section
        n = struct.unpack("<I", f.read(4))[0]
    f.seek(phoff)
    table = f.read(size * n)
    found = []
    for i in range(n):
        kind, _, offset, addr, _, in_file = struct.unpack_from(
            "<IIQQQQ", table, i * size)
        if kind == PT_LOAD and in_file:
            found.append((addr, offset, in_file))
    return sorted(found)


def put(f, table, read, lo, hi):
    """Copies lo..hi of the process to where the file has room for it."""
    i = bisect.bisect_right(table, (lo, 1 << 64, 0)) - 1
    if i < 0:
        return
    addr, offset, size = table[i]
    hi = min(hi, addr + size)
    if lo < hi:
        f.seek(offset + lo - addr)
        f.write(read(lo, hi - lo))


def add_stacks(path, read, stacks):
    """stacks: (stack pointer, end of the stack) of each."""
    with open(path, "r+b") as f:
        table = segments(f)
        for sp, end in stacks:
            hi = (end + PAGE - 1) & -PAGE
            try:
                put(f, table, read, sp & -PAGE, hi)
            except Problem:
                pass            # one stack less
