# SPDX-License-Identifier: MIT
#
# Frames of goroutines in gdb; weft-gdb.py has the commands.
#
# A goroutine that is not on a thread is shown by an unwinder, which pretends
# that the innermost frame of the selected thread was called by it. So all
# that gdb knows about frames works (bt, up, info locals, print), nothing is
# written to the process, and core files, whose registers cannot be written,
# are no different. The price is that such a goroutine's frames are numbered
# from 1: frame 0 is the thread's own, and a frame filter leaves it out of
# backtraces.
#
# A goroutine that is on a thread has the frames of that thread. They end at its
# entry by themselves, since frame tables say so there.

import os
import struct

import gdb
import gdb.unwinder
from gdb.FrameDecorator import FrameDecorator

from weft_debug import MAGIC, Problem, Runtime

UNWINDS_MAX = 2000      # of goroutines that look like no other, for a list

# ---- memory, threads, registers

REGISTERS = {"i386:x86-64": ("rip", "rsp", "rbp"),
             "aarch64": ("pc", "sp", "x29")}
# The code of rt_sigreturn by which gdb recognises a signal frame.
SIGRETURN = {"i386:x86-64": b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05",
             "aarch64": b"\x68\x11\x80\xd2\x01\0\0\xd4"}


def gdb_read(addr, n):
    try:
        return gdb.selected_inferior().read_memory(addr, n).tobytes() \
            if n else b""
    except (gdb.error, OverflowError):
        raise Problem("cannot read memory at %#x" % addr) from None


def find_layout():
    """Its address: by its symbol, or by its magic string."""
    if gdb.selected_thread() is None:
        raise Problem("there is no process and no core file")
    try:
        return int(gdb.parse_and_eval("(unsigned long)&weft_debug_layout_"))
    except gdb.error:
        pass
    for line in gdb.execute("info files", to_string=True).splitlines():
        words = line.split()
        if len(words) < 5 or words[1] != "-" or \
                words[4] not in (".data.rel.ro", ".data", ".data.rel.ro.local"):
            continue
        lo, hi = int(words[0], 16), int(words[2], 16)
        try:
            at = gdb.selected_inferior().search_memory(lo, hi - lo, MAGIC)
        except gdb.error:
            continue
        if at is not None:
            return at
    raise Problem("there is no weft in this process")


def runtime():
    return Runtime(gdb_read, find_layout())


def registers():
    name = gdb.newest_frame().architecture().name()
    if name not in REGISTERS:
        raise Problem("goroutines of %s are not known to this script" % name)
    return REGISTERS[name]


def number(value):
    return int(value) & (1 << 64) - 1


class Threads:
    """gdb's threads of Ms, and the stack pointers of these."""

    def __init__(self, rt):
        self.sps = {}
        self.by_tid = {t.ptid[1] or t.ptid[2]: t
                       for t in gdb.selected_inferior().threads()}
        if not any(mp.tid in self.by_tid for mp in rt.ms()):
            self.by_tid = self.by_stack(rt)

    def by_stack(self, rt):
        """
        Seen from another PID namespace all threads have other numbers: there
        the stack pointers tell which thread runs which goroutine.
        """
        found = {}
        spans = [(mp.tid, rt.stack_of(gp)) for mp in rt.ms()
                 for gp in (mp.curg, mp.prev_g) if gp]
        for t in gdb.selected_inferior().threads():
            sp = self.sp_of(t)
            for tid, (lo, hi) in spans:
                if lo <= sp < hi:
                    found[tid] = t
        return found

    def of(self, mp):
        return self.by_tid.get(mp.tid)

    def sp(self, mp):
        """None if it has no thread."""
        t = self.of(mp)
        return None if t is None else self.sp_of(t)

    def sp_of(self, t):
        if t.num not in self.sps:
            with native(t):
                self.sps[t.num] = number(
                    gdb.newest_frame().read_register(registers()[1]))
        return self.sps[t.num]


# ---- the selected goroutine and its frames

class Selection:
    """A goroutine that is not on a thread, shown on the selected one."""

    def __init__(self, rt, g):
        self.rt, self.id = rt, g.id
        self.pc_name, self.sp_name, self.bp_name = registers()
        frame = gdb.newest_frame()
        arch = frame.architecture().name()
        self.ptid = gdb.selected_thread().ptid
        self.real = tuple(number(frame.read_register(r))
                          for r in (self.pc_name, self.sp_name))
        self.saved = ((self.pc_name, g.pc), (self.sp_name, g.sp),
                      (self.bp_name, g.bp))
        self.sp, self.pc = g.sp, g.pc
        self.preempt = rt.layout["&preempt_return"]
        self.sigreturn = self.preempt + \
            gdb_read(self.preempt, 128).find(SIGRETURN[arch])


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Unwinder(gdb.unwinder.Unwinder):
    """
    Answers for two frames only: the innermost of the thread, whose caller
    is the selected goroutine, and preempt_return, whose caller is the code
    that returns from a signal, so that gdb goes on from the kept registers.
    """

    def __init__(self):
        super().__init__("weft")
        self.enabled = False
        self.now = None         # the Selection

    def select(self, selection):
        """Returns what was selected before."""
        was, self.now = self.now, selection
        self.enabled = hide.enabled = selection is not None
        gdb.invalidate_cached_frames()
        return was

    def __call__(self, frame):
        s = self.now
        if s is None or gdb.selected_thread().ptid != s.ptid:
            return None
        pc, sp = (frame.read_register(r) for r in (s.pc_name, s.sp_name))
        at = number(pc), number(sp)
        if at == s.real:
            return self.answer(frame, sp, s.sp - 32, s.pc, s.saved)
        if s.preempt < at[0] < s.sigreturn:
            return self.answer(frame, sp, at[1], at[0],
                               ((s.pc_name, s.sigreturn), (s.sp_name, at[1])))
        return None

    @staticmethod
    def answer(frame, like, id_sp, id_pc, saved):
        word = gdb.lookup_type("unsigned long")
        info = frame.create_unwind_info(FrameId(
            gdb.Value(id_sp).cast(word), gdb.Value(id_pc).cast(word)))
        for name, value in saved:
            kind = frame.read_register(name).type
            info.add_saved_register(
                name, gdb.Value(value).cast(word).cast(kind))
        return info


class Decorator(FrameDecorator):
    """Code of a stripped libweft is at least called that."""

    def function(self):
        frame = self.inferior_frame()
        if frame.name() is not None or frame.type() == gdb.SIGTRAMP_FRAME:
            return super().function()
        return "(libweft)" if unwinder.now.rt.in_library(frame.pc()) else "??"


class Hide:
    """The frame filter that leaves out the thread's own innermost frame."""

    def __init__(self):
        self.name, self.priority, self.enabled = "weft", 1000, False

    def filter(self, frames):
        s = unwinder.now
        for f in frames:
            if s and is_threads_own(f.inferior_frame(), s):
                continue
            yield Decorator(f) if s else f


def is_threads_own(frame, s):
    return gdb.selected_thread().ptid == s.ptid and s.real == tuple(
        number(frame.read_register(r)) for r in (s.pc_name, s.sp_name))


def innermost():
    """The newest frame of what is selected."""
    frame = gdb.newest_frame()
    while frame is not None and unwinder.now and \
            is_threads_own(frame, unwinder.now):
        frame = frame.older()
    if frame is None:
        raise Problem("its stack cannot be read")
    return frame


class keep:
    """with keep(): what is selected now is selected again afterwards."""

    def __enter__(self):
        self.thread, self.now = gdb.selected_thread(), unwinder.now
        try:
            self.level = gdb.selected_frame().level()
        except gdb.error:
            self.level = 0
        return self

    def __exit__(self, *exc):
        if unwinder.now is not self.now:
            unwinder.select(self.now)
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
            frame = gdb.newest_frame()
            for _ in range(self.level):
                frame = frame and frame.older()
            if frame:
                frame.select()


class native(keep):
    """with native(thread): its own frames, whatever is selected."""

    def __init__(self, thread):
        self.to = thread

    def __enter__(self):
        super().__enter__()
        if unwinder.now:
            unwinder.select(None)
        self.to.switch()


class NotStarted(Problem):
    """It has no frames yet."""


def enter(rt, threads, g):
    """Makes its frames the selected thread's. Its thread, or None."""
    mp = rt.m_of(g, threads.sp)
    thread = threads.of(mp) if mp else None
    unwinder.select(None)
    if thread:
        thread.switch()
    elif any(g.addr == mp.curg and threads.of(mp) is None for mp in rt.ms()):
        raise Problem("goroutine %d runs, but its thread is not known to gdb"
                      % g.id)
    elif rt.not_started(g):
        raise NotStarted("goroutine %d has not started" % g.id)
    else:
        unwinder.select(Selection(rt, g))
    return thread


def select_users_frame(rt):
    """The first one that is not libweft's: its locals are of interest."""
    first = frame = innermost()
    for _ in range(64):
        if frame is None:
            break
        if frame.type() != gdb.SIGTRAMP_FRAME and \
                not rt.in_library(frame.pc()):
            first = frame
            break
        frame = frame.older()
    first.select()


# ---- which function a goroutine is in, fast for many

class Functions:
    """
    The first frame outside of libweft, as text. Goroutines that wait at the
    same place have the same return addresses at the same distances from their
    stack pointers: such a chain is unwound once by gdb and then compared.
    """

    BYTES_MAX = 1 << 15

    def __init__(self, rt, threads):
        self.rt, self.threads = rt, threads
        self.chains = {}        # saved pc: [([(offset, word)], text)]
        self.bytes = 0          # of a stack that all known chains need
        self.unwinds = UNWINDS_MAX

    def of(self, g):
        rt = self.rt
        on_thread = g.state in (rt.layout["G_RUNNING"], rt.layout["G_CALL"]) \
            or g.paused
        stack = b"" if on_thread else self.stack(g, self.bytes)
        for chain, text in self.chains.get(g.pc, ()) if stack else ():
            if all(stack[at:at + 8] == word for at, word in chain):
                return text
        if not g.stack:
            return ""
        if self.unwinds <= 0:
            return "?"
        self.unwinds -= 1
        return self.unwind(g, on_thread)

    def stack(self, g, n):
        n = min(n, g.stack - g.sp)
        try:
            return self.rt.read(g.sp, n) if n > 0 else b""
        except Problem:
            return b""

    def unwind(self, g, on_thread):
        try:
            with keep():
                enter(self.rt, self.threads, g)
                frames = self.frames()
                text = self.text(frames)
                chain = None if on_thread else self.chain(g, frames)
        except NotStarted:
            return ""
        except (Problem, gdb.error):
            return "?"
        if chain:
            self.bytes = max(self.bytes, chain[-1][0] + 8)
            self.chains.setdefault(g.pc, []).append((chain, text))
        return text

    def frames(self):
        """Up to the one that the user wants to see, or all."""
        frame, found = innermost(), []
        while frame is not None and len(found) < 40:
            found.append(frame)
            if self.is_users(frame) and frame.find_sal().symtab:
                break
            frame = frame.older()
        return found

    def is_users(self, frame):
        library = os.path.basename(gdb.solib_name(frame.pc()) or "")
        return frame.type() in (gdb.NORMAL_FRAME, gdb.INLINE_FRAME) and \
            not self.rt.in_library(frame.pc()) and \
            not library.startswith(("libc.", "libc-", "ld-", "libweft"))

    def text(self, frames):
        """
        Without debugging information the first one outside of libweft; if
        there is none, since the user's last call was a jump, that call.
        """
        last = frames[-1]
        if not self.is_users(last) or not last.find_sal().symtab:
            outside = [f for f in frames if not self.rt.in_library(f.pc())]
            inside = [f for f in frames if self.rt.is_ordinary(f.pc())]
            last = (outside[:1] or inside[-1:] or frames)[0]
        sal = last.find_sal()
        name = last.name() or ("(libweft)"
            if self.rt.in_library(last.pc()) else "%#x" % last.pc())
        if sal.symtab and sal.line:
            name += " at %s:%d" % (sal.symtab.filename, sal.line)
        return name

    def chain(self, g, frames):
        """The words that prove another goroutine to be in the same place."""
        words, at, stack = [], 0, self.stack(g, self.BYTES_MAX)
        if any(f.type() == gdb.SIGTRAMP_FRAME for f in frames):
            return None
        sp_name = registers()[1]
        was = number(frames[0].pc()), number(frames[0].read_register(sp_name))
        for f in frames[1:]:
            now = number(f.pc()), number(f.read_register(sp_name))
            if now == was:
                continue        # one is inlined into the other
            was, word = now, struct.pack("<Q", now[0])
            at = stack.find(word, at)
            if at < 0:
                return None
            words.append((at, word))
        return words


def deselect(_event):
    if unwinder.now:
        unwinder.select(None)


hide, unwinder = Hide(), Unwinder()
