# SPDX-License-Identifier: MIT
#
# Goroutines in gdb, of live processes and of core files:
#
#     info goroutines [-l | -g] [FILTER ...]
#     goroutine N [COMMAND]       goroutine all|FILTER COMMAND
#     weft procs      weft threads      weft gcore FILE      $goroutine()
#
# gdb loads it by itself if libweft.so.0-gdb.py is beside the library and its
# auto-load safe-path allows that; otherwise `source` it. It needs gdb 11 with
# Python 3, and no symbols of libweft. weft_frames.py says how it works.

import os
import sys

import gdb
import gdb.unwinder

MODULES = ("weft_debug", "weft_core", "weft_frames")
for name in MODULES:
    sys.modules.pop(name, None)         # of an older copy
# Not by __file__: a script that sources this one leaves its own there.
HERE = os.path.dirname(os.path.abspath((lambda: 0).__code__.co_filename))
sys.path.insert(0, HERE)
from weft_core import add_stacks
from weft_debug import Problem, columns, grouped, matches
from weft_frames import (Functions, NotStarted, Threads, deselect, enter,
                         gdb_read, hide, keep, runtime, select_users_frame,
                         unwinder)
sys.path.pop(0)

GROUP_FROM = 100        # more goroutines than this are listed in groups
RESUMING = set("""advance attach c continue detach disconnect finish fg i j jump
    k kill n next nexti ni r reverse-continue reverse-finish reverse-next
    reverse-nexti reverse-step reverse-stepi run s si signal start starti step
    stepi stop u until""".split())


class Command(gdb.Command):
    """Problems are one line; the end of a list may be missing."""

    def invoke(self, arg, from_tty):
        self.dont_repeat()
        try:
            rt = self.run(arg.split(), arg, from_tty)
            if rt is not None and rt.warning:
                print("warning: " + rt.warning)
        except Problem as e:
            raise gdb.GdbError("weft: %s" % e) from None
        except gdb.error as e:
            raise gdb.GdbError(str(e)) from None
        except RecursionError:
            raise gdb.GdbError("weft: corrupt memory") from None


def current_id(rt, threads):
    """Of the selected goroutine, or that of the selected thread, or 0."""
    if unwinder.now:
        return unwinder.now.id
    thread = gdb.selected_thread()
    for mp in rt.ms():
        if mp.curg and thread is not None and threads.of(mp) == thread:
            at = mp.curg + rt.layout["g.id"]
            return rt.word(at)
    return 0


class InfoGoroutines(Command):
    """The goroutines: id, state, where they are, where they were spawned.
Usage: info goroutines [-l | -g] [FILTER ...]
More than 100 are counted in groups that have the same state, function and
place of spawning; -l lists them all, -g groups few as well. A FILTER is a state
(waiting, running, runnable, paused), or a word of a goroutine's line, e.g. its
name, "select", or the function that it was spawned with. All must match."""

    def __init__(self):
        super().__init__("info goroutines", gdb.COMMAND_STATUS)

    def run(self, words, arg, from_tty):
        options = [w for w in words if w in ("-l", "-g")]
        words = [w.lower() for w in words if w not in ("-l", "-g")]
        rt = runtime()
        threads = Threads(rt)
        gs = [g for g in rt.goroutines() if matches(rt, g, words)]
        functions = Functions(rt, threads)
        if not gs:
            print("No goroutines%s." % (" like that" if words else ""))
        elif "-g" in options or len(gs) > GROUP_FROM and not options:
            self.groups(rt, functions, gs)
        else:
            self.list(rt, functions, gs, current_id(rt, threads))
        return rt

    def list(self, rt, functions, gs, current):
        rows = [("  Id", "Name", "State", "In", "Spawned")]
        for g in gs:
            mark = "* " if g.id == current else "  "
            rows.append((mark + str(g.id), g.name, rt.status(g),
                         functions.of(g), self.site(rt, g)))
        for line in columns(rows):
            print(line)

    def groups(self, rt, functions, gs):
        rows = [("  Count", "State", "In", "Spawned", "Ids")]
        for key, members in grouped(gs, lambda g: (
                rt.status(g), functions.of(g), self.site(rt, g))):
            ids = " ".join(str(g.id) for g in members[:3])
            rows.append(("%7d" % len(members), *key,
                         ids + (" ..." if len(members) > 3 else "")))
        for line in columns(rows):
            print(line)
        print("%d goroutines in %d groups" % (len(gs), len(rows) - 1))

    @staticmethod
    def site(rt, g):
        fn, where = rt.site(g)
        return "%s at %s" % (fn, where) if where else fn


class GoroutineCommand(Command):
    """Selects a goroutine, or runs a command in it.
Usage: goroutine             which one is selected
       goroutine N           selects number N: bt, up, info locals ... are its
       goroutine N COMMAND   runs one command in it, e.g. goroutine 7 bt
       goroutine all COMMAND, goroutine FILTER COMMAND
                             in each; FILTER is a state: waiting, running,
                             runnable, paused
       goroutine 0           selects none: the thread's own frames again
The selected frame is the first one outside of libweft. Frames of a goroutine
that is on no thread have numbers from 1 on. Continuing the program selects
none, too."""

    def __init__(self):
        super().__init__("goroutine", gdb.COMMAND_STACK)

    def run(self, words, arg, from_tty):
        if words and words[0] in ("0", "off"):
            unwinder.select(None)
            return None
        rt = runtime()
        threads = Threads(rt)
        if not words:
            self.current(rt, threads)
            return rt
        command = arg.strip()[len(words[0]):].strip()
        if words[0].isdigit():
            self.one(rt, threads, self.find(rt, int(words[0])), command)
            return rt
        if words[0] not in ("all", "waiting", "running", "runnable", "paused"):
            raise Problem("goroutine %s: not a number, nor all, waiting, "
                          "running, runnable, paused" % words[0])
        self.all(rt, threads, words[0], command)
        return rt

    @staticmethod
    def find(rt, id):
        for g in rt.unsorted():
            if g.id == id:
                return g
        raise Problem("there is no goroutine %d" % id)

    def current(self, rt, threads):
        id = current_id(rt, threads)
        print(rt.describe(self.find(rt, id)) if id else
              "The selected thread runs no goroutine.")

    @staticmethod
    def refuse_resuming(g, thread, command):
        word = command.split()[0] if command else ""
        if thread is None and word in RESUMING:
            raise Problem("goroutine %d is on no thread: it cannot be made to "
                          "run by '%s'" % (g.id, word))

    def one(self, rt, threads, g, command):
        if not command:
            thread = enter(rt, threads, g)
            select_users_frame(rt)
            print("[%s%s]" % (rt.describe(g), ", on thread %d" % thread.num
                              if thread else ""))
            gdb.execute("frame")
            return
        with keep():
            self.refuse_resuming(g, enter(rt, threads, g), command)
            select_users_frame(rt)
            gdb.execute(command)

    def all(self, rt, threads, which, command):
        if not command:
            raise Problem("goroutine %s: which command?" % which)
        for g in rt.goroutines():
            if which != "all" and not matches(rt, g, [which]):
                continue
            print("\n" + rt.describe(g))
            try:
                self.one(rt, threads, g, command)
            except NotStarted:
                pass            # its line has said so
            except (Problem, gdb.error) as e:
                print("weft: %s" % e)


class Weft(gdb.Command):
    """What weft has besides goroutines: its processors and threads."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


def goroutine_at(rt, addr):
    if not addr:
        return ""
    return "goroutine %d" % rt.word(addr + rt.layout["g.id"])


class Procs(Command):
    """The Ps: state, thread, goroutine, lengths of the queues.
Usage: weft procs"""

    def __init__(self):
        super().__init__("weft procs", gdb.COMMAND_STATUS)

    def run(self, words, arg, from_tty):
        rt = runtime()
        threads = Threads(rt)
        by_addr = {mp.addr: mp for mp in rt.ms()}
        rows = [("  P", "State", "Thread", "Goroutine", "Queued", "Newborn",
                 "Timers")]
        for pp in rt.ps():
            mp = by_addr.get(pp.mp)
            t = threads.of(mp) if mp else None
            queued = pp.get("q.tail") - pp.get("q.head") & 0xffffffff
            queued += pp.get("q.next") != 0
            newborn = pp.get("q.deque.bottom") - pp.get("q.deque.top")
            newborn = max((newborn + 2**31) % 2**32 - 2**31, 0)
            rows.append(("  %d" % pp.id, rt.name_in(rt.pstates, pp.state),
                         str(t.num) if t else "",
                         goroutine_at(rt, mp.curg) if mp else "",
                         str(queued), str(newborn), str(pp.get("timers.n"))))
        for line in columns(rows):
            print(line)
        print("%d procs, %d goroutines in the global queue" % (
            rt.sched("procs"), rt.sched("globq.n")))
        return rt


class ThreadsCommand(Command):
    """The Ms, which are threads that run goroutines: what each does.
Usage: weft threads"""

    def __init__(self):
        super().__init__("weft threads", gdb.COMMAND_STATUS)

    def run(self, words, arg, from_tty):
        rt = runtime()
        threads = Threads(rt)
        ps = {pp.mp: str(pp.id) for pp in rt.ps()}
        rows = [("  M", "Thread", "LWP", "P", "State", "Goroutine")]
        for mp in rt.ms():
            t = threads.of(mp)
            if t is None and not mp.curg:
                continue        # it has ended
            p = ps.get(mp.addr, "")     # mp.pp may have been retaken
            rows.append(("  %d" % mp.id, str(t.num) if t else "?",
                         str(mp.tid), p, self.state(rt, mp, p),
                         goroutine_at(rt, mp.curg)))
        for line in columns(rows):
            print(line)
        return rt

    @staticmethod
    def state(rt, mp, p):
        if mp.paused:
            return "paused"
        if mp.detached:
            return "detached: " + rt.name_in(rt.why_detached, mp.detached)
        if mp.curg:
            return ("in a call" if mp.in_call else "running") + \
                ("" if p else ", detached")
        if mp.idle:
            return "idle"
        if mp.pinned:
            return "waits for its pinned goroutine"
        return "searching" if p else "idle"


class Gcore(Command):
    """Writes a core file of the live process, with all stacks.
Usage: weft gcore FILE
As generate-core-file, which leaves out most stacks of goroutines, since it
stops at their guards. A core file by the kernel has them, and is smaller."""

    def __init__(self):
        super().__init__("weft gcore", gdb.COMMAND_FILES,
                         gdb.COMPLETE_FILENAME)

    def run(self, words, arg, from_tty):
        path = os.path.expanduser(arg.strip())
        if not path:
            raise Problem("weft gcore: which file?")
        rt = runtime()
        threads = Threads(rt)
        stacks = []
        for g in rt.unsorted():
            if not g.stack:
                continue
            mp = rt.m_of(g, threads.sp)
            lo, sp = rt.stack_lo(g), threads.sp(mp) if mp else g.sp
            # In a signal handler: how much of it is in use is not known.
            stacks.append((sp if lo <= sp < g.stack else lo,
                           g.stack + rt.layout["sizeof stack"]))
        gdb.execute("generate-core-file " + path)
        try:
            add_stacks(path, gdb_read, stacks)
        except OSError as e:
            raise Problem("%s: %s" % (path, e.strerror)) from None
        return rt


class GoroutineFunction(gdb.Function):
    """$goroutine(): the id of the selected goroutine, or of the one that the
selected thread runs; 0 if there is none. break send if $goroutine() == 7"""

    def __init__(self):
        super().__init__("goroutine")

    def invoke(self):
        try:
            rt = runtime()
            return current_id(rt, Threads(rt))
        except Problem:
            return 0


def install():
    """Once: a second copy of this script takes the place of the first."""
    gdb.unwinder.register_unwinder(None, unwinder, replace=True)
    gdb.frame_filters[hide.name] = hide
    for event in (gdb.events.cont, gdb.events.stop, gdb.events.exited):
        event.connect(deselect)
    for command in (InfoGoroutines, GoroutineCommand, Weft, Procs,
                    ThreadsCommand, Gcore, GoroutineFunction):
        command()


install()
