# weft: GNU make only. `make`, `make demo`, `make test`, `make bench`.
#
# Variants, each in a folder of its own under build/:
#	DEBUG=1		state, lock-rank and queue checks
#	HARD=1		rare interleavings made common (and DEBUG)
#	SAN=address	AddressSanitizer and UBSan (and DEBUG); SAN=thread: TSan
#	CC=clang	another compiler
#	ARCH=aarch64	cross-compiled, tests run under qemu-user
#	OPT=-O0		other optimisation, also OPT="-O2 -flto"

HOST	:= $(shell uname -m)
ARCH	?= $(HOST)
SO_MAJOR := 0
VERSION	:= 0.1.0
PREFIX	?= /usr/local

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
LD_R	= $(CROSS)ld -r

OPT	?= -O2

# ---- variant -> flags and folder

VARIANT := $(strip $(if $(filter $(HOST),$(ARCH)),,$(ARCH)) \
	$(if $(findstring clang,$(CC)),clang) $(SAN) \
	$(if $(HARD),hard) $(if $(DEBUG),debug) \
	$(subst -,,$(filter-out -O2,$(OPT))))
EMPTY	:=
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

# -iquote and not -I: sched.h and friends must not hide the system's.
ROOMS	= base os arch arch/$(ARCH) elf mem work sched wait observe
QUOTE	= $(ROOMS:%=-iquote src/%) -iquote include
CLASH	= -fstack-clash-protection
COMMON	= -std=gnu11 $(WARN) $(DEFS) $(SANFLAGS) -pthread $(CLASH)
# No shadow-stack note: a switch is not a return. No LTO: m_self() must not be
# inlined into code that keeps thread-local addresses.
LIBFLAGS = $(COMMON) $(QUOTE) -fPIC -fvisibility=hidden -fno-lto \
	-fcf-protection=none
ifneq ($(ARCH),x86_64)
LIBFLAGS := $(filter-out -fcf-protection=none,$(LIBFLAGS))
endif

SRC	= $(filter-out src/arch/%,$(wildcard src/*/*.c))
ASM	= $(wildcard src/arch/$(ARCH)/*.S)
OBJ	= $(SRC:src/%.c=$(B)/obj/%.o) $(ASM:src/%.S=$(B)/obj/%.o)

LIBA	= $(B)/libweft.a
LIBSO	= $(B)/libweft.so
TESTS	= $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/*/*.c)) \
	$(if $(shell command -v $(CXX)),\
	$(patsubst tests/%.cc,$(B)/tests/%,$(wildcard tests/*/*.cc)))
EXAMPLES = $(patsubst examples/%.c,$(B)/examples/%,$(wildcard examples/*.c))
BENCH	= $(B)/bench/weft-bench

# `make V=1` shows the commands.
Q	= $(if $(V),,@)
say	= @$(if $(V),true,printf '  %-7s %s\n' $(1) $@)

all: $(LIBA) $(LIBSO) $(EXAMPLES) $(BENCH) $(B)/weft.pc

# ---- the library

$(B)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(LIBFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: src/%.S
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(LIBFLAGS) -c -o $@ $<

# One relocatable object whose hidden names are made local, so that short
# internal names cannot collide with a program's.
$(B)/weft.o: $(OBJ)
	$(call say,LD)
	$(Q)$(LD_R) -o $@ $^
	$(Q)$(OBJCOPY) --localize-hidden $@

$(LIBA): $(B)/weft.o
	$(Q)rm -f $@ && ar rcs $@ $<

$(LIBSO): $(OBJ) src/weft.map
	$(call say,CC)
	$(Q)$(CC) -shared $(SANFLAGS) -pthread -Wl,-soname,libweft.so.$(SO_MAJOR) \
	    -Wl,--version-script=src/weft.map -Wl,-z,now -Wl,-z,noexecstack \
	    $(if $(SAN),,-Wl,-z,defs) -o $@.$(SO_MAJOR) $(OBJ)
	$(Q)ln -sf libweft.so.$(SO_MAJOR) $@

$(B)/weft.pc: Makefile FORCE
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: weft' \
	    'Description: goroutines for C' 'Version: $(VERSION)' \
	    'Cflags: -I$${prefix}/include -pthread $(CLASH)' \
	    'Libs: -L$${prefix}/lib -lweft -pthread' > $@

install: all
	install -d $(DESTDIR)$(PREFIX)/include/weft \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 include/weft.h $(DESTDIR)$(PREFIX)/include
	install -m 644 include/weft/*.h $(DESTDIR)$(PREFIX)/include/weft
	install -m 644 $(LIBA) $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(LIBSO).$(SO_MAJOR) $(DESTDIR)$(PREFIX)/lib
	ln -sf libweft.so.$(SO_MAJOR) $(DESTDIR)$(PREFIX)/lib/libweft.so
	install -m 644 $(B)/weft.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -d $(DESTDIR)$(PREFIX)/lib/cmake/weft
	for f in weft-config weft-config-version; do \
	    sed 's/@VERSION@/$(VERSION)/; s/@SO_MAJOR@/$(SO_MAJOR)/' \
	    cmake/$$f.cmake.in \
	    > $(DESTDIR)$(PREFIX)/lib/cmake/weft/$$f.cmake; done

# ---- programs

USER	= $(COMMON) -Iinclude -iquote tests $(CFLAGS) -MMD -MP
T	= tests/t.c

# unit tests open a room by its header, so they see hidden names
$(B)/tests/unit/%: tests/unit/%.c $(T) $(OBJ)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) $(QUOTE) -fPIC -o $@ $(filter-out %.h,$^)

$(B)/tests/%: tests/%.c $(T) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $(filter-out %.h,$^)

$(B)/tests/%: tests/%.cc $(T) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -c -o $@.t.o $(T)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Werror $(DEFS) $(SANFLAGS) -pthread \
	    -Iinclude -iquote tests $(CFLAGS) -o $@ $< $@.t.o $(LIBA)

$(B)/examples/%: examples/%.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $< $(LIBA)

$(B)/bench/weft-bench: $(wildcard bench/*.c) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote bench -o $@ $(filter %.c %.a,$^)

-include $(OBJ:.o=.d) $(TESTS:=.d) $(EXAMPLES:=.d) $(BENCH).d

# ---- doing things

demo: $(B)/examples/demo
	$(RUN) $(B)/examples/demo

test: all $(TESTS)
	@RUN="$(RUN)" CC="$(CC)" B="$(B)" prove $(PROVEFLAGS) \
	    $(if $(RUN),--exec '$(RUN)') $(TESTS)

lint: all
	tools/lint/layers
	tools/lint/names
	tools/lint/atomics
	tools/lint/size
	tools/lint/exports $(LIBA) $(LIBSO)

bench: $(BENCH) peers
	B=$(B) bench/run $(BENCHFLAGS)

clean:
	rm -rf build

include bench/peers.mk

FORCE:

.PHONY: all demo test lint bench install clean
.DELETE_ON_ERROR:
