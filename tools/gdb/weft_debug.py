# SPDX-License-Identifier: MIT
#
# Finds the goroutines, Ms and Ps of a process or a core file. Knows nothing of
# a debugger but how to read memory: weft-gdb.py and weft_lldb.py use it. What
# is where comes from the table weft_debug_layout_ in the process, so neither
# debugging information nor symbols of libweft are needed (src/observe/layout.h
# says how the table is read).
#
# Memory may be corrupt: every walk ends, every string is bounded, and what goes
# wrong is a Problem with one line of text.

import struct

MAGIC = b"weft layout\r\n\x1a\0\0"
VERSION = 1
RECORDS_MAX = 1 << 26   # a corrupt list must end
STRING_MAX = 256


class Problem(Exception):
    """What the user is told, in one line."""


class Layout:
    """The table in the process: offsets, sizes, constants, addresses."""

    def __init__(self, read, at):
        head = read(at, 40)
        magic, version, size, entry, n = struct.unpack("<16sIIQQ", head)
        if magic != MAGIC:
            raise Problem("weft_debug_layout_ is not what it should be: "
                          "corrupt memory, or not libweft's")
        if version != VERSION:
            raise Problem("this process has version %d of weft's table for "
                          "debuggers; this script reads version %d: use the "
                          "script of its libweft" % (version, VERSION))
        if not entry:
            raise Problem("weft's runtime has not started")
        if size < 40 or n > 10000:
            raise Problem("weft's table for debuggers is corrupt")
        self.value, self.bytes = {}, {}
        data = read(entry, size * n)
        for i in range(n):
            name, value, width = struct.unpack_from("<24sQI", data, i * size)
            name = name.split(b"\0")[0].decode("ascii", "replace")
            self.value[name], self.bytes[name] = value, width

    def __getitem__(self, name):
        if name not in self.value:
            raise Problem("weft's table for debuggers has no '%s': use the "
                          "script of this process's libweft" % name)
        return self.value[name]

    def field(self, name):
        """(offset, format) of a member that is a number or a pointer."""
        kind = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}
        at = self[name]
        return at, kind.get(self.bytes[name], "<Q")


class Record:
    """A struct in memory that was read; its members by their names in C."""

    def __init__(self, layout, kind, addr, data):
        self.layout, self.kind, self.addr, self.data = layout, kind, addr, data

    def __getattr__(self, name):
        at, fmt = self.layout.field(self.kind + "." + name)
        return struct.unpack_from(fmt, self.data, at)[0]

    def get(self, name):
        """The same for names with a dot."""
        return self.__getattr__(name)


class Goroutine:
    __slots__ = ("addr", "id", "state", "hold", "paused", "name", "reason", "site",
                 "stack", "sp", "bp", "pc", "fn")


class Runtime:
    """All that is read of one process, as it is stopped."""

    def __init__(self, read, at):
        self.read = read
        self.layout = Layout(read, at)
        self.warning = None     # why a list is not complete
        self.strings, self.sites = {}, {}
        self.states = self.names("&g_state_names")
        self.reasons = self.names("&g_reason_names")
        self.pstates = self.names("&p_state_names")
        self.why_detached = self.names("&detached_names")
        self.ms_read = None

    def word(self, addr):
        return struct.unpack("<Q", self.read(addr, 8))[0]

    def string(self, addr):
        if addr not in self.strings:
            self.strings[addr] = self.read_string(addr)
        return self.strings[addr]

    def read_string(self, addr):
        """In steps that end with a page: the next one may not be there."""
        text = b""
        try:
            while addr and len(text) < STRING_MAX and b"\0" not in text:
                n = min(64, 4096 - addr % 4096)
                text += self.read(addr, n)
                addr += n
        except Problem:
            pass
        text = text.split(b"\0")[0].decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "?" for c in text) or "?"

    def names(self, array):
        n = self.layout.bytes.get(array, 0) // 8
        data = self.read(self.layout[array], 8 * n)
        return [self.read_string(a).strip("?")
                for a in struct.unpack("<%dQ" % n, data)]

    def name_in(self, names, i):
        return names[i] if i < len(names) else "? (%d)" % i

    # ---- records

    def chunks(self, slab):
        """(address of the first record, data, number, size) of each."""
        lay = self.layout
        base, head = lay[slab], lay["sizeof chunk"]
        width = struct.unpack("<I", self.read(
            base + lay["slab.record_bytes"], 4))[0]
        at = self.word(base + lay["slab.chunks"])
        if not at:
            raise Problem("weft's runtime has not started")
        if not 64 <= width <= lay["CHUNK_BYTES"]:
            raise Problem("weft's records are corrupt: %d bytes each" % width)
        seen, left = set(), RECORDS_MAX
        while at and left > 0:
            if at in seen:
                raise Problem("weft's list of records is a circle")
            seen.add(at)
            data = self.read(at, head)
            n = struct.unpack_from("<I", data, lay["chunk.used"])[0]
            if n > (lay["CHUNK_BYTES"] - head) // width:
                raise Problem("weft's list of records is corrupt at %#x" % at)
            left -= n
            yield at + head, self.read(at + head, n * width), n, width
            at = struct.unpack_from("<Q", data, lay["chunk.next"])[0]

    def complete(self, iterator):
        """What can be read; where it ends too early it says so."""
        first = True
        try:
            for item in iterator:
                first = False
                yield item
        except Problem as e:
            if first:
                raise
            self.warning = "the list is not complete: %s" % e

    def ms(self):
        if self.ms_read is None:
            self.ms_read = [
                Record(self.layout, "m", at + i * width,
                       data[i * width:(i + 1) * width])
                for at, data, n, width in self.complete(self.chunks("&m_slab"))
                for i in range(n)]
        return self.ms_read

    def ps(self):
        lay, sched = self.layout, self.layout["&sched"]
        n = min(lay["PROCS_MAX"], 1 << 16)
        all_p = struct.unpack("<%dQ" % n, self.read(
            sched + lay["sched.allp"], 8 * n))
        for at in all_p:
            if not at:
                break
            yield Record(lay, "p", at, self.read(at, lay["sizeof p"]))

    def sched(self, name):
        at, fmt = self.layout.field("sched." + name)
        data = self.read(self.layout["&sched"] + at, struct.calcsize(fmt))
        return struct.unpack(fmt, data)[0]

    def goroutines(self):
        """The living ones, in the order of their ids."""
        return sorted(self.unsorted(), key=lambda g: g.id)

    def unsorted(self):
        lay = self.layout
        members = [(slot, *lay.field("g." + name)) for slot, name in (
            ("id", "id"), ("hold", "hold"), ("reason", "reason"),
            ("paused", "paused"),
            ("site", "site"), ("stack", "stack"), ("fn", "fn"),
            ("sp", "frame.sp"), ("bp", "frame.bp"), ("pc", "frame.pc"))]
        state, named, name = (lay["g." + x]
                              for x in ("state", "named", "name"))
        name_bytes = lay.bytes["g.name"]
        for at, data, n, width in self.complete(self.chunks("&g_slab")):
            for i in range(n):
                base = i * width
                if not data[base + state]:
                    continue
                g = Goroutine()
                g.addr, g.state = at + base, data[base + state]
                for slot, offset, fmt in members:
                    setattr(g, slot, struct.unpack_from(
                        fmt, data, base + offset)[0])
                if not g.site:
                    continue            # it is just being made
                text = b""
                if data[base + named]:
                    text = data[base + name:base + name + name_bytes]
                g.name = text.split(b"\0")[0].decode("utf-8", "replace")
                yield g

    # ---- words

    def site(self, g):
        """(function, "file:line" or "") of where it was spawned."""
        if g.site not in self.sites:
            self.sites[g.site] = self.read_site(g.site)
        return self.sites[g.site]

    def read_site(self, at):
        lay = self.layout
        try:
            fn = self.string(self.word(at + lay["weft_site.fn"]))
            line = struct.unpack("<i", self.read(
                at + lay["weft_site.line"], 4))[0]
            if line <= 0:
                return fn, ""
            file = self.string(self.word(at + lay["weft_site.file"]))
        except Problem:
            return "?", ""
        return fn, "%s:%d" % (file, line)

    def spawned(self, g):
        fn, where = self.site(g)
        return "%s, spawned at %s" % (fn, where) if where else fn

    def not_started(self, g):
        return not g.stack or g.pc == self.layout["&frame_entry"]

    def status(self, g):
        text = self.name_in(self.states, g.state)
        if g.state == self.layout["G_WAITING"]:
            text += ": " + self.name_in(self.reasons, g.reason)
        if g.paused:
            text += ", paused"
        elif not g.stack:
            text += ", not started"
        return text

    def describe(self, g):
        return 'goroutine %d "%s" [%s]: %s' % (
            g.id, g.name, self.status(g), self.spawned(g))

    def in_library(self, pc):
        lay = self.layout
        return (lay["&__start_weft_text"] <= pc < lay["&__stop_weft_text"] or
                lay["&__start_weft_calls"] <= pc < lay["&__stop_weft_calls"])

    def is_ordinary(self, pc):
        """In the library, but not in what is at the bottom of a stack."""
        lay = self.layout
        return lay["&__start_weft_text"] <= pc < lay["&__stop_weft_text"] \
            and not 0 <= pc - lay["&frame_entry"] < 64

    # ---- where a goroutine is

    def m_of(self, g, sp_of):
        """
        The M on whose thread it is, or None: then its saved frame counts.
        sp_of gives the stack pointer of an M's thread, None if it has none.
        An M in the middle of a switch has one goroutine as curg and is on
        the stack of another, so the stack pointer decides.
        """
        for mp in self.ms():
            if g.addr not in (mp.curg, mp.prev_g):
                continue
            sp = sp_of(mp)
            if sp is None:
                continue
            if self.stack_lo(g) <= sp < g.stack:
                return mp
            if mp.curg == g.addr and not mp.prev_g and \
                    not mp.own_lo <= sp < mp.own_hi:
                return mp       # in a signal handler, or on a stack of its own
        return None

    def stack_lo(self, g):
        try:
            return self.word(g.stack + self.layout["stack.lo"])
        except Problem:
            return g.stack

    def stack_of(self, addr):
        """(lowest address, end) of the stack of the goroutine there."""
        try:
            end = self.word(addr + self.layout["g.stack"])
            return self.word(end + self.layout["stack.lo"]), end
        except Problem:
            return 0, 0


def matches(rt, g, words):
    """Does a goroutine pass the filter? All words must be in its line."""
    line = rt.describe(g).lower()
    for word in words:
        if word in ("waiting", "running", "runnable", "paused"):
            if word not in rt.status(g).split(":")[0]:
                return False
        elif word not in line:
            return False
    return True


def columns(rows):
    """Lines with all columns but the last as wide as they need."""
    wide = [max(len(r[i]) for r in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [c.ljust(w) for c, w in zip(row, wide)] + [row[-1]]
        yield "  ".join(cells).rstrip()


def grouped(items, key):
    """[(key, the items that have it)], most first."""
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return sorted(groups.items(), key=lambda kv: -len(kv[1]))
