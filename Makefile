# weft: GNU make only. `make`, `make demo`, `make test`, `make bench`.
#
# Variants, each in a folder of its own under build/:
#	DEBUG=1		state, lock-rank and queue checks
#	HARD=1		rare interleavings made common (and DEBUG)
#	SAN=address	AddressSanitizer and UBSan (and DEBUG); SAN=thread: TSan
#	CC=clang	another compiler
#	CC=musl-gcc	another libc; STATIC=1: programs without shared objects
#	ARCH=aarch64	cross-compiled, tests run under qemu-user
#	OPT=-O0		other optimisation, also OPT="-O2 -flto"
#	TLS=		without libweft-tls, as where there is no OpenSSL
#	GC=		without libweft-gc, as where there is no libgc
#	HOOKS=		without libweft-hooks, as with another libc than glibc

HOST	:= $(shell uname -m)
ARCH	?= $(HOST)
SO_MAJOR := 0
VERSION	:= 0.2.0
PREFIX	?= /usr/local
# Where gdb looks for scripts that it trusts; empty: beside the library, where
# its auto-load safe-path must be extended.
GDB_AUTOLOAD ?= $(if $(filter /usr,$(PREFIX)),/usr/share/gdb/auto-load)

ifneq ($(ARCH),$(HOST))
CC	= $(ARCH)-linux-gnu-gcc
CXX	= $(ARCH)-linux-gnu-g++
CROSS	= $(ARCH)-linux-gnu-
RUN	= qemu-$(ARCH) -L /usr/$(ARCH)-linux-gnu
endif
ifeq ($(origin CC),default)
CC	= gcc
endif
ifeq ($(origin CXX),default)
CXX	= $(if $(findstring clang,$(CC)),clang++,g++)
endif
OBJCOPY	= $(CROSS)objcopy
LD_R	= $(CROSS)ld -r -T src/weft.ld --force-group-allocation

OPT	?= -O2

# ---- variant -> flags and folder

# musl-gcc has no C++.
MUSL	:= $(if $(findstring musl,$(CC)),musl)
ifneq ($(MUSL),)
CXX	:=
endif
VARIANT := $(strip $(if $(filter $(HOST),$(ARCH)),,$(ARCH)) \
	$(if $(findstring clang,$(CC)),clang) $(MUSL) $(SAN) \
	$(if $(HARD),hard) $(if $(DEBUG),debug) $(if $(STATIC),static) \
	$(subst -,,$(filter-out -O2,$(OPT))))
EMPTY	:=
COMMA	:= ,
B	:= build$(if $(VARIANT),/$(subst $(EMPTY) $(EMPTY),-,$(VARIANT)))

CFLAGS	?= $(OPT) -g
WARN	= -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes \
	-Wshadow -Wpointer-arith -Wwrite-strings
ifneq ($(SAN)$(HARD)$(DEBUG),)
DEFS	+= -DWEFT_DEBUG
endif
ifneq ($(HARD),)
DEFS	+= -DWEFT_HARD
endif
ifeq ($(SAN),address)
SANFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
ifeq ($(SAN),thread)
SANFLAGS = -fsanitize=thread
# The sanitizer's shadow does not fit beside fully randomised mappings.
RUN	= env TSAN_OPTIONS=atexit_sleep_ms=0 setarch -R
endif

# What the library refers to weakly (see thread_state.c, libc_text.c).
WEAK	= $(addprefix -Wl$(COMMA)-u$(COMMA),__errno_location strerror strsignal)
# gcc leaves the index of frame tables out of static programs, and without it
# stacks cannot be walked.
EH_HDR	= -Wl,--eh-frame-hdr
LINK	= $(if $(STATIC),-static $(EH_HDR) $(WEAK))

# -iquote and not -I: sched.h and friends must not hide the system's.
ROOMS	= base os arch arch/$(ARCH) elf mem trace work sched preempt poll sync time io net \
	process extra observe
QUOTE	= $(ROOMS:%=-iquote src/%) -iquote include
CLASH	= -fstack-clash-protection
COMMON	= -std=gnu11 $(WARN) $(DEFS) $(SANFLAGS) -pthread $(CLASH)
# No shadow-stack note: a switch is not a return. No LTO: m_self() must not be
# inlined into code that keeps thread-local addresses.
LIBFLAGS = $(COMMON) $(QUOTE) -fPIC -fvisibility=hidden -fno-lto \
	-fcf-protection=none
# Every instruction that may run while the library holds something must be in
# its own sections: no stubs of the linker, no helpers of the compiler.
LIBFLAGS += -fno-plt
# Ping-pong takes 58 ns so, and 61 with functions where they happen to lie.
LIBFLAGS += -falign-functions=32
ifneq ($(ARCH),x86_64)
LIBFLAGS := $(filter-out -fcf-protection=none,$(LIBFLAGS))
endif
ifeq ($(ARCH),aarch64)
LIBFLAGS += -mno-outline-atomics
endif

SRC	= $(filter-out src/arch/%,$(wildcard src/*/*.c))
ASM	= $(wildcard src/arch/$(ARCH)/*.S)
OBJ	= $(SRC:src/%.c=$(B)/obj/%.o) $(ASM:src/%.S=$(B)/obj/%.o)

ALL	= $(B)/all.o
LIBA	= $(B)/libweft.a
LIBSO	= $(B)/libweft.so
CHECKSA	= $(B)/libweft-checks.a
# TLS is a library of its own, over OpenSSL: only for this machine and its libc,
# where the headers are. `make TLS=` leaves it out.
TLS	:= $(if $(MUSL)$(STATIC)$(filter-out $(HOST),$(ARCH)),,$(shell \
	printf '\043include <openssl/ssl.h>\nint x = TLS1_3_VERSION;\n' | \
	$(CC) -fsyntax-only -x c - 2> /dev/null && echo 1))
TLSA	= $(if $(TLS),$(B)/libweft-tls.a)
TLSSO	= $(if $(TLS),$(B)/libweft-tls.so)
TLSLIBS	= $(if $(TLS),-lssl -lcrypto)
# The collector is over libgc, in the same way; it stops threads by signals, which
# sanitizers do not pass on in time.
GC	:= $(if $(MUSL)$(STATIC)$(SAN)$(filter-out $(HOST),$(ARCH)),,$(shell \
	printf '\043include <gc/gc.h>\nint x = GC_VERSION_MAJOR;\n' | \
	$(CC) -fsyntax-only -x c - 2> /dev/null && echo 1))
GCA	= $(if $(GC),$(B)/libweft-gc.a)
GCSO	= $(if $(GC),$(B)/libweft-gc.so)
GCLIBS	= $(if $(GC),-lgc)
# Hooks stand before glibc's functions, in programs with shared libraries, where
# ThreadSanitizer has its own.
HOOKS	:= $(if $(MUSL)$(STATIC)$(filter thread,$(SAN)),,1)
HOOKSA	= $(if $(HOOKS),$(B)/libweft-hooks.a)
HOOKSSO	= $(if $(HOOKS),$(B)/libweft-hooks.so)
TESTS	= $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/*/*.c)) \
	$(if $(shell command -v $(CXX)),\
	$(patsubst tests/%.cc,$(B)/tests/%,$(wildcard tests/*/*.cc)))
# These look for libc's own functions at run time, or at what a program with
# shared libraries is made of.
ifneq ($(STATIC),)
TESTS	:= $(filter-out %/context_group_enomem %/sched/fenv \
	%/thread_refused_unit %/preempt_allow %/preempt_allow_linked \
	%/preempt_explain %/loops_audited %/audit_unit %/unwind_unit \
	%/lock_held_unit,$(TESTS))
endif
# A library in C++, for a program in C.
PLUGINS	= $(if $(STATIC),,$(if $(shell command -v $(CXX)),\
	$(B)/tests/plugin.so $(B)/tests/plugin_weft.so))
ifeq ($(PLUGINS),)
TESTS	:= $(filter-out %/cxx_loaded,$(TESTS))
endif
ifeq ($(TLS),)
TESTS	:= $(filter-out $(B)/tests/tls/%,$(TESTS))
endif
ifeq ($(GC),)
TESTS	:= $(filter-out $(B)/tests/gc/%,$(TESTS))
endif
# `make TOOL_TESTS=` leaves out the tools and their tests.
TOOL_TESTS ?= 1
ifeq ($(TOOL_TESTS),)
TESTS	:= $(filter-out $(B)/tests/trace/tool_% $(addprefix \
	$(B)/tests/observe/,prof_tool top symbolize),$(TESTS))
endif
# An emulator's system calls differ from the system's, and some end it.
ifneq ($(if $(HOOKS),,no)$(filter-out $(HOST),$(ARCH)),)
TESTS	:= $(filter-out $(B)/tests/hooks/%,$(TESTS))
endif
# These are run by `make torture`.
TESTS	:= $(filter-out $(B)/tests/torture/%,$(TESTS))
# `make test T=sync/select` runs those whose path begins like that.
TESTS	:= $(filter $(B)/tests/$(T)%,$(TESTS))
# An example is a file, or a folder. The HTTP server without its program is
# used by others, too.
EXAMPLES = $(patsubst examples/%.c,$(B)/examples/%,$(wildcard examples/*.c)) \
	$(B)/examples/http $(B)/examples/redis $(if $(GC),$(B)/examples/gc) \
	$(if $(TLS),$(B)/examples/https $(B)/examples/tls)
HTTP_OBJ = $(patsubst examples/http/%.c,$(B)/http/%.o,\
	$(filter-out %/https.c,$(wildcard examples/http/*.c)))
HTTP	= $(filter-out %/main.o %/selftest.o,$(HTTP_OBJ))
REDIS_OBJ = $(patsubst examples/redis/%.c,$(B)/redis/%.o,\
	$(wildcard examples/redis/*.c))
REDIS	= $(filter-out %/main.o %/selftest.o,$(REDIS_OBJ))
BENCH	= $(B)/bench/weft-bench $(if $(STATIC),,$(B)/bench/weft-loops)

# `make V=1` shows the commands.
Q	= $(if $(V),,@)
say	= @$(if $(V),true,printf '  %-7s %s\n' $(1) $@)

all: $(LIBA) $(LIBSO) $(CHECKSA) tls gc $(HOOKSA) $(HOOKSSO) $(EXAMPLES) $(BENCH) $(B)/weft.pc tools

# ---- the library

$(B)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(LIBFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: src/%.S
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(LIBFLAGS) -c -o $@ $<

# All objects in one, and all code in one section (see the script).
$(ALL): src/weft.ld $(OBJ)
	$(call say,LD)
	$(Q)$(LD_R) -o $@ $(OBJ)

# The same with hidden names made local, so that short internal names cannot
# collide with a program's.
$(B)/weft.o: $(ALL)
	$(Q)$(OBJCOPY) --localize-hidden $< $@

$(LIBA): $(B)/weft.o
	$(Q)rm -f $@ && ar rcs $@ $<

$(LIBSO): $(ALL) src/weft.map
	$(call say,CC)
	$(Q)$(CC) -shared $(SANFLAGS) -pthread -Wl,-soname,libweft.so.$(SO_MAJOR) \
	    -Wl,--version-script=src/weft.map -Wl,-z,now -Wl,-z,noexecstack \
	    $(if $(SAN),,-Wl,-z,defs) -o $@.$(SO_MAJOR) $(ALL)
	$(Q)ln -sf libweft.so.$(SO_MAJOR) $@

# Checks that the compiler puts into programs (see checks/checks.c), and the
# flags that ask for them. clang leaves out loops that it has seen no way out
# of, unless it is told not to; gcc does not know how to be told.
CHECKS	= -fsanitize-coverage=trace-pc
CHECKS_CLANG = -fsanitize-coverage=bb,no-prune

$(B)/obj/checks.o: checks/checks.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(filter-out -fsanitize-coverage% -finstrument-%,$(CFLAGS)) \
	    $(COMMON) -Iinclude -fPIC -fno-lto -MMD -MP -c -o $@ $<

$(CHECKSA): $(B)/obj/checks.o
	$(Q)rm -f $@ && ar rcs $@ $<

# ---- TLS

TLS_OBJ	= $(patsubst tls/%.c,$(B)/tls/%.o,$(wildcard tls/*.c))

tls: $(TLSA) $(TLSSO)
ifeq ($(TLS),)
	@echo "  no libweft-tls: $(if $(MUSL)$(STATIC)$(filter-out \
	    $(HOST),$(ARCH)),not in this variant,switched off or no headers of \
	    OpenSSL (apt install libssl-dev))"
endif

$(B)/tls/%.o: tls/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(COMMON) -Iinclude -fPIC -fvisibility=hidden \
	    -fno-lto -MMD -MP -c -o $@ $<

# One object, as libweft.a: hidden names are made local.
$(B)/libweft-tls.a: $(TLS_OBJ)
	$(call say,LD)
	$(Q)$(CROSS)ld -r -o $(B)/tls/all.o $(TLS_OBJ)
	$(Q)$(OBJCOPY) --localize-hidden $(B)/tls/all.o $(B)/tls/tls.o
	$(Q)rm -f $@ && ar rcs $@ $(B)/tls/tls.o

$(B)/libweft-tls.so: $(TLS_OBJ) $(LIBSO) tls/tls.map
	$(call say,CC)
	$(Q)$(CC) -shared $(SANFLAGS) -pthread \
	    -Wl,-soname,libweft-tls.so.$(SO_MAJOR) \
	    -Wl,--version-script=tls/tls.map -Wl,-z,noexecstack \
	    $(if $(SAN),,-Wl,-z,defs) -o $@.$(SO_MAJOR) $(TLS_OBJ) \
	    -L$(B) -lweft $(TLSLIBS)
	$(Q)ln -sf libweft-tls.so.$(SO_MAJOR) $@

# ---- the collector

GC_OBJ	= $(patsubst gc/%.c,$(B)/gc/%.o,$(wildcard gc/*.c)) \
	$(B)/gc/on_stack.o

gc: $(GCA) $(GCSO)
ifeq ($(GC),)
	@echo "  no libweft-gc: $(if $(MUSL)$(STATIC)$(SAN)$(filter-out \
	    $(HOST),$(ARCH)),not in this variant,switched off or no headers of \
	    libgc (apt install libgc-dev))"
endif

$(B)/gc/%.o: gc/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(COMMON) -Iinclude -fPIC -fvisibility=hidden \
	    -fno-lto -MMD -MP -c -o $@ $<

$(B)/gc/on_stack.o: gc/arch/$(ARCH)/on_stack.S
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -fPIC -c -o $@ $<

$(B)/libweft-gc.a: $(GC_OBJ)
	$(call say,LD)
	$(Q)$(CROSS)ld -r -o $(B)/gc/all.o $(GC_OBJ)
	$(Q)$(OBJCOPY) --localize-hidden $(B)/gc/all.o $(B)/gc/gc.o
	$(Q)rm -f $@ && ar rcs $@ $(B)/gc/gc.o

$(B)/libweft-gc.so: $(GC_OBJ) $(LIBSO) gc/gc.map
	$(call say,CC)
	$(Q)$(CC) -shared $(SANFLAGS) -pthread \
	    -Wl,-soname,libweft-gc.so.$(SO_MAJOR) \
	    -Wl,--version-script=gc/gc.map -Wl,-z,noexecstack \
	    $(if $(SAN),,-Wl,-z,defs) -o $@.$(SO_MAJOR) $(GC_OBJ) \
	    -L$(B) -lweft $(GCLIBS)
	$(Q)ln -sf libweft-gc.so.$(SO_MAJOR) $@

# ---- hooks

HOOKS_OBJ = $(patsubst hooks/%.c,$(B)/hooks/%.o,$(wildcard hooks/*.c))

# Nothing here may be replaced by a checked form of itself: it defines these.
$(B)/hooks/%.o: hooks/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(COMMON) -U_FORTIFY_SOURCE -Iinclude \
	    -iquote src/base -iquote src/os -iquote src/arch/$(ARCH) \
	    -fPIC -fvisibility=hidden -fno-lto -fno-builtin \
	    -MMD -MP -c -o $@ $<

$(B)/libweft-hooks.a: $(HOOKS_OBJ)
	$(call say,LD)
	$(Q)$(CROSS)ld -r -o $(B)/hooks/all.o $(HOOKS_OBJ)
	$(Q)$(OBJCOPY) --localize-hidden $(B)/hooks/all.o $(B)/hooks/hooks.o
	$(Q)rm -f $@ && ar rcs $@ $(B)/hooks/hooks.o

# It needs no libweft: in LD_PRELOAD it is loaded into programs without it.
$(B)/libweft-hooks.so: $(HOOKS_OBJ) hooks/hooks.map
	$(call say,CC)
	$(Q)$(CC) -shared $(SANFLAGS) -pthread \
	    -Wl,-soname,libweft-hooks.so.$(SO_MAJOR) \
	    -Wl,--version-script=hooks/hooks.map -Wl,-z,noexecstack \
	    -o $@.$(SO_MAJOR) $(HOOKS_OBJ)
	$(Q)ln -sf libweft-hooks.so.$(SO_MAJOR) $@

# Writes all files.
$(B)/weft.pc: Makefile FORCE
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: weft' \
	    'Description: goroutines for C' 'Version: $(VERSION)' \
	    'Cflags: -I$${prefix}/include -pthread $(CLASH)' \
	    'Libs: -L$${prefix}/lib -lweft -pthread' \
	    'Libs.private: $(EH_HDR) $(WEAK)' > $@
	@printf '%s\n' 'prefix=$(PREFIX)' 'clang=$(CHECKS_CLANG)' \
	    'Name: weft-checks' \
	    'Description: places to let other goroutines run, by the compiler' \
	    'Version: $(VERSION)' 'Requires: weft = $(VERSION)' \
	    'Cflags: $(CHECKS)' \
	    'Libs: -L$${prefix}/lib -lweft-checks' > $(B)/weft-checks.pc
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: weft-tls' \
	    'Description: TLS for weft, by OpenSSL' 'Version: $(VERSION)' \
	    'Requires: weft = $(VERSION)' 'Requires.private: openssl' \
	    'Libs: -L$${prefix}/lib -lweft-tls' > $(B)/weft-tls.pc
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: weft-gc' \
	    'Description: a garbage-collected heap for weft, by libgc' \
	    'Version: $(VERSION)' 'Requires: weft = $(VERSION)' \
	    'Requires.private: bdw-gc' \
	    'Libs: -L$${prefix}/lib -lweft-gc' > $(B)/weft-gc.pc
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: weft-hooks' \
	    'Description: libraries that block park goroutines instead' \
	    'Version: $(VERSION)' 'Requires: weft = $(VERSION)' \
	    'Libs: -L$${prefix}/lib -Wl,-u,weft_hooks_on -lweft-hooks' \
	    > $(B)/weft-hooks.pc

install: all man
	install -d $(DESTDIR)$(PREFIX)/include/weft \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/bin \
	    $(addprefix $(DESTDIR)$(PREFIX)/share/man/,man1 man3)
	install -m 755 $(TOOLS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(wildcard tools/*/*.1) \
	    $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(MAN)/*.3 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 include/weft.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(filter-out $(if $(TLS),,%/tls.h) $(if $(GC),,%/gc.h) \
	    $(if $(HOOKS),,%/hooks.h),$(wildcard include/weft/*.h)) $(DESTDIR)$(PREFIX)/include/weft
	install -m 644 $(LIBA) $(CHECKSA) $(TLSA) $(GCA) $(HOOKSA) \
	    $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(LIBSO:=.$(SO_MAJOR)) $(TLSSO:=.$(SO_MAJOR)) \
	    $(GCSO:=.$(SO_MAJOR)) \
	    $(HOOKSSO:=.$(SO_MAJOR)) $(DESTDIR)$(PREFIX)/lib
	for lib in $(notdir $(LIBSO) $(TLSSO) $(GCSO) $(HOOKSSO)); do \
	    ln -sf $$lib.$(SO_MAJOR) $(DESTDIR)$(PREFIX)/lib/$$lib; done
	install -m 644 $(B)/weft.pc $(B)/weft-checks.pc \
	    $(if $(TLS),$(B)/weft-tls.pc) $(if $(GC),$(B)/weft-gc.pc) \
	    $(if $(HOOKS),$(B)/weft-hooks.pc) $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -d $(DESTDIR)$(PREFIX)/share/weft \
	    $(DESTDIR)$(GDB_AUTOLOAD)$(PREFIX)/lib
	install -m 644 $(wildcard tools/gdb/weft*.py) \
	    $(DESTDIR)$(PREFIX)/share/weft
	sed 's,@PREFIX@,$(PREFIX),' tools/gdb/autoload.py > \
	    $(DESTDIR)$(GDB_AUTOLOAD)$(PREFIX)/lib/libweft.so.$(SO_MAJOR)-gdb.py
	install -d $(DESTDIR)$(PREFIX)/lib/cmake/weft
	for f in weft-config weft-config-version; do \
	    sed -e 's/@VERSION@/$(VERSION)/; s/@SO_MAJOR@/$(SO_MAJOR)/' \
	    -e 's/@CHECKS@/$(CHECKS)/; s/@CHECKS_CLANG@/$(CHECKS_CLANG)/' \
	    cmake/$$f.cmake.in \
	    > $(DESTDIR)$(PREFIX)/lib/cmake/weft/$$f.cmake; done

# ---- man pages

# Made from the headers; tools/docs/pages says what is on which page.
MAN	= $(B)/man/man3
HEADERS	= include/weft.h $(wildcard include/weft/*.h)

man: $(MAN)/weft.3

$(MAN)/weft.3: $(HEADERS) $(addprefix tools/docs/,man pages Header.pm Pages.pm)
	@mkdir -p $(@D)
	$(call say,MAN)
	$(Q)tools/docs/man $(MAN) $(HEADERS)

# ---- programs

USER	= $(COMMON) -Iinclude -iquote tests $(CFLAGS) -MMD -MP $(LINK)
HARNESS	= $(B)/tests/t.o

$(HARNESS): tests/t.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -fPIC -c -o $@ $<

# unit tests open a room by its header, so they see hidden names
$(B)/tests/%_unit: tests/%_unit.c $(HARNESS) $(ALL)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) $(QUOTE) -fPIC -o $@ $< $(filter %.o %.a,$^)

$(B)/tests/%: tests/%.c $(HARNESS) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $< $(filter %.o %.a,$^)

$(B)/tests/http/%: tests/http/%.c $(HARNESS) $(HTTP) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote examples/http -o $@ $(filter-out %.h,$^)

$(B)/tests/redis/%: tests/redis/%.c $(HARNESS) $(REDIS) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote examples/redis -o $@ $(filter-out %.h,$^)

$(B)/tests/gc/%: tests/gc/%.c $(HARNESS) $(GCA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $< $(filter %.o %.a,$^) $(GCLIBS)

$(B)/tests/tls/%: tests/tls/%.c $(HARNESS) $(TLSA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $< $(filter %.o %.a,$^) $(TLSLIBS)

$(B)/tests/tls/https: $(HTTP) $(B)/http/https.o
$(B)/tests/tls/https: private USER += -iquote examples/http -iquote tests/http

# A program need not refer to any of it by itself.
HOOKED	= -Wl,-u,weft_hooks_on $(HOOKSA)
$(B)/tests/hooks/%: tests/hooks/%.c $(HARNESS) $(HOOKSA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $< $(HARNESS) $(HOOKED) $(LIBA)

$(B)/tests/hooks/%: tests/hooks/%.cc $(HARNESS) $(HOOKSA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Werror $(DEFS) $(SANFLAGS) -pthread \
	    -Iinclude -iquote tests $(CFLAGS) -MMD -MP $(LINK) -o $@ $< $(HARNESS) \
	    $(HOOKED) $(LIBA)

include tests/real/real.mk

CHECKED	= $(addprefix $(B)/tests/preempt/checkpoint_inserted_,loop handler)
$(CHECKED): $(CHECKSA)
$(CHECKED): private USER += $(CHECKS) \
	$(if $(findstring clang,$(CC)),$(CHECKS_CLANG))

$(B)/tests/sched/cxx_loaded: | $(PLUGINS)
$(B)/tests/sched/cxx_loaded: private USER += -rdynamic \
	-DPLUGIN='"$(abspath $(B))/tests/plugin.so"' \
	-DPLUGIN_WEFT='"$(abspath $(B))/tests/plugin_weft.so"'
$(B)/tests/plugin_weft.so: private DEFS += -DPLUGIN_INCLUDES_WEFT

$(PLUGINS): tests/plugin.cc include/weft.h include/weft/threads.h
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Werror $(DEFS) $(SANFLAGS) \
	    -Iinclude $(CFLAGS) -fPIC -shared -o $@ $<

# Programs that a test has gdb look into: always with the same optimisation, and
# with no calls of a sanitizer on their stacks.
GDB_TARGETS = $(B)/tests/gdb_target $(if $(STATIC),,$(B)/tests/gdb_target_so)
$(B)/tests/observe/gdb: | $(GDB_TARGETS)
$(B)/tests/gdb_target.o: tests/gdb_target.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(filter-out $(SANFLAGS) -flto,$(USER)) -O2 -g -c -o $@ $<

$(B)/tests/gdb_target: $(B)/tests/gdb_target.o $(HOOKSA) $(LIBA)
	$(call say,LD)
	$(Q)$(CC) $(SANFLAGS) -pthread $(LINK) -o $@ $< \
	    $(if $(HOOKS),$(HOOKED)) $(LIBA)

$(B)/tests/gdb_target_so: $(B)/tests/gdb_target.o $(LIBSO)
	$(call say,LD)
	$(Q)$(CC) $(SANFLAGS) -pthread -o $@ $< -L$(B) -lweft \
	    -Wl,-rpath,'$$ORIGIN/..'

# In front of the objects that need it, so by all means.
$(B)/tests/preempt/fenv_preempted: private USER += -Wl,--no-as-needed -lm

$(B)/tests/%: tests/%.cc $(HARNESS) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Werror $(DEFS) $(SANFLAGS) -pthread \
	    -Iinclude -iquote tests $(CFLAGS) -MMD -MP $(LINK) -o $@ $< $(HARNESS) \
	    $(LIBA)

# Torture programs: the same works with different mains; see tests/torture.
# A sanitizer's build has no signals, so only one of them.
TORTURED = $(B)/torture/obj
FRAME	= $(patsubst %,$(TORTURED)/%.o,frame cpu_work libc_work weft_work \
	$(ARCH)/registers)
TORTURE	= $(addprefix $(B)/torture/,$(if $(SAN)$(STATIC),,passes own_malloc \
	$(if $(shell command -v $(CXX)),throws)) fails)

$(TORTURED)/%.o: tests/torture/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote tests/torture -iquote src/arch/$(ARCH) \
	    $(if $(STATIC),-DTORTURE_STATIC) -c -o $@ $<

$(TORTURED)/%.o: tests/torture/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Werror $(DEFS) $(SANFLAGS) -pthread \
	    -Iinclude -iquote tests -iquote tests/torture $(CFLAGS) -MMD -MP \
	    -c -o $@ $<

$(B)/torture/fails: $(TORTURED)/thread_work.o
$(B)/torture/throws: LINKER = $(CXX)
$(B)/torture/%: $(TORTURED)/%.o $(FRAME) $(LIBA)
	$(call say,LD)
	$(Q)$(or $(LINKER),$(CC)) $(SANFLAGS) -pthread $(LINK) -o $@ \
	    $(filter-out %.a,$^) $(LIBA)

-include $(wildcard $(TORTURED)/*.d $(TORTURED)/*/*.d)
.PRECIOUS: $(TORTURED)/%.o

$(B)/examples/%: examples/%.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $(filter %.c %.o,$^) $(LIBA)

$(B)/examples/demo: $(HTTP)

# All calls of the program and its libraries, if there are hooks.
$(B)/examples/hooks: $(HOOKSA)
$(B)/examples/hooks: private LIBA := $(if $(HOOKS),$(HOOKED)) $(LIBA)

$(B)/http/%.o: examples/http/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -c -o $@ $<

$(B)/examples/http: $(HTTP_OBJ) $(LIBA)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(USER) -o $@ $^

$(B)/redis/%.o: examples/redis/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -c -o $@ $<

$(B)/examples/redis: $(REDIS_OBJ) $(LIBA)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(USER) -o $@ $^

# The same program, which also serves https.
HTTPS_OBJ = $(filter-out %/main.o,$(HTTP_OBJ)) \
	$(addprefix $(B)/http/,main_tls.o https.o)
$(B)/http/main_tls.o: examples/http/main.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -DHTTP_TLS -c -o $@ $<

$(B)/examples/https: $(HTTPS_OBJ) $(TLSA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(USER) -o $@ $^ $(TLSLIBS)

$(B)/examples/gc: examples/gc/main.c $(GCA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $(filter %.c %.a,$^) $(GCLIBS)

$(B)/examples/tls: $(wildcard examples/tls/*.[ch]) $(TLSA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(filter-out -MMD -MP,$(USER)) -o $@ $(filter-out %.h,$^) \
	    $(TLSLIBS)

$(B)/bench/weft-bench: $(wildcard bench/*.c) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote bench -o $@ $(filter %.c %.a,$^)

# Loops inside a shared library: see bench/foreign/loops.c.
$(B)/bench/libmix.so: bench/foreign/mix.c bench/foreign/mix.h
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(SANFLAGS) -shared -fPIC -o $@ $<

$(B)/bench/weft-loops: $(filter-out %/mix.c,$(wildcard bench/foreign/*.c)) \
		$(LIBA) $(B)/bench/libmix.so
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote bench/foreign -o $@ $(filter %.c %.a,$^) \
	    -L$(@D) -lmix -Wl,-rpath,'$$ORIGIN'

-include $(OBJ:.o=.d) $(B)/obj/checks.d $(B)/tests/gdb_target.d $(HARNESS:.o=.d) $(TESTS:=.d) \
	$(EXAMPLES:=.d) $(HTTP_OBJ:.o=.d) $(HTTPS_OBJ:.o=.d) $(REDIS_OBJ:.o=.d) $(BENCH:=.d) \
	$(TLS_OBJ:.o=.d) $(GC_OBJ:.o=.d) $(HOOKS_OBJ:.o=.d)

# ---- doing things

demo: $(B)/examples/demo
	$(RUN) $(B)/examples/demo

# One more at a time than there are CPUs: many wait for most of their time.
PROVEFLAGS ?= -j$(shell expr 1 + `nproc 2> /dev/null || echo 1`)

test: all $(TESTS)
	@rm -f $(B)/failures
	@RUN="$(RUN)" CC="$(CC)" B="$(B)" T_FAILURES="$(B)/failures" \
	    prove $(PROVEFLAGS) $(if $(RUN),--exec '$(RUN)') $(TESTS) || \
	    { cat $(B)/failures; false; }

# Programs under valgrind: what goroutines wait for, since it may know nothing
# of what is on their stacks, and some input and output.
VALGRIND ?= valgrind -q --error-exitcode=9 --leak-check=no
VALGRIND_TESTS = $(addprefix $(B)/tests/,\
	$(filter-out %_crash %_stress,$(patsubst tests/%.c,%,\
	$(wildcard tests/sync/chan*.c tests/sync/select*.c))) \
	interface/chan_macros time/ticker time/timer time/sleep \
	time/after_func time/timer_before_run sync/mutex sync/cond \
	sync/waitgroup sync/once sync/group sync/context sched/go sched/yield \
	io/socket io/deadline io/close io/reader io/deadline_fd_reuse)

valgrind: $(VALGRIND_TESTS)
	@rm -f $(B)/failures
	@T_SHARE=$(or $(T_SHARE),10) T_FAILURES="$(B)/failures" \
	    prove $(PROVEFLAGS) --exec '$(VALGRIND)' $^ || \
	    { cat $(B)/failures; false; }

# A minute with the default. The plain build runs the static program, too.
SECONDS_EACH ?= 1

torture: $(TORTURE) $(if $(VARIANT),,torture-static)
	RUN="$(RUN)" tests/torture/run $(SECONDS_EACH) $(TORTURE)

torture-static:
	@if command -v musl-gcc > /dev/null; \
	    then $(MAKE) CC=musl-gcc STATIC=1 torture; \
	    else echo "torture: no musl-gcc: no static program"; fi

lint: all
	tools/lint/layers
	tools/lint/names
	tools/lint/atomics
	tools/lint/size
	tools/lint/exports $(LIBA) $(LIBSO) $(TLSA) $(TLSSO) $(GCA) $(GCSO)
	tools/lint/hooks $(HOOKSA) $(HOOKSSO)

# What the documentation says is so: see tools/docs.
docs-check: man $(LIBA) $(LIBSO) $(GCA)
	CC="$(CC)" tools/docs/check $(LIBSO) $(MAN)
	tools/docs/links
	B="$(B)" CC="$(CC)" tools/docs/blocks
	tools/docs/pictures --check
	B="$(B)" CC="$(CC)" tools/docs/selftest
	bench/report/selftest

models:
	models/check

bench: $(BENCH) peers
	B=$(B) bench/run $(BENCHFLAGS)

# Some forty minutes, for docs/benchmarks.md; with BENCHFLAGS=-q some eight.
bench-report: $(BENCH) peers
	B=$(B) CC="$(CC)" OPT="$(OPT)" bench/report/run $(BENCHFLAGS)

bench-http: $(B)/examples/http $(B)/peers/go-http
	B=$(B) bench/http/run $(BENCHFLAGS)

# Pauses, allocations and trees beside libgc, malloc and Go.
bench-gc: $(GCA) $(LIBA)
	B=$(B) bench/gc/run $(BENCHFLAGS)

bench-redis: $(B)/examples/redis
	B=$(B) bench/redis/run $(BENCHFLAGS)

clean:
	rm -rf build

include tools/tools.mk
include bench/peers.mk
include bench/real/real.mk
include bench/observe/observe.mk
include bench/lines/lines.mk
include bench/model/model.mk
include bench/growth/growth.mk

FORCE:

.PHONY: all tls gc man docs-check demo test valgrind torture torture-static models \
	lint bench bench-report bench-http bench-redis bench-gc install clean
.DELETE_ON_ERROR:
