# SPDX-License-Identifier: MIT
#
# Installed as libweft.so.0-gdb.py, which gdb loads when a program loads the
# library, if it trusts the folder (auto-load safe-path).

import os

import gdb

near = os.path.dirname(os.path.realpath(gdb.current_objfile().filename))
for share in (os.path.join(near, "..", "share", "weft"), "@PREFIX@/share/weft"):
    script = os.path.join(share, "weft-gdb.py")
    if os.path.exists(script):
        gdb.execute("source " + os.path.normpath(script))
        break
