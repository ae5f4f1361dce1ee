# Tools: C programs under tools/, built into $(B)/bin. `make tools` builds them
# all; each has a section of its own here.

TOOLS	=

tools: tools-all

$(B)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(COMMON) -DVERSION='"$(VERSION)"' -MMD -MP -c \
	    -o $@ $<

# What --version prints is said there; tests compare it.
$(patsubst %,$(B)/tools/%/main.o,trace prof top symbolize): Makefile
TOOL_TESTED = $(B)/tests/trace/tool_commands $(addprefix $(B)/tests/observe/,\
	top prof_tool symbolize)
$(TOOL_TESTED): Makefile
$(TOOL_TESTED): private USER += -DVERSION='"$(VERSION)"'

# ---- weft-trace

TRACE_OBJ = $(patsubst tools/%.c,$(B)/tools/%.o,$(wildcard tools/trace/*.c))
TOOLS	+= $(B)/bin/weft-trace
TRACE_LIBS =
# Sums of times in a file that is damaged may be too large; so they are wrong.
$(B)/tools/trace/%.o: private COMMON += -fwrapv
include tools/trace/view/view.mk

$(B)/bin/weft-trace: $(TRACE_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(COMMON) $(LINK) -o $@ $(TRACE_OBJ) $(TRACE_LIBS)

-include $(TRACE_OBJ:.o=.d)

# Tests that open the files of the tool by their headers.
$(B)/tests/trace/tool_%: tests/trace/tool_%.c $(HARNESS) $(LIBA) \
		$(filter-out %/main.o,$(TRACE_OBJ)) $(B)/bin/weft-trace
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote tools/trace -o $@ $< \
	    $(filter-out %/weft-trace,$(filter %.o %.a,$^)) $(TRACE_LIBS)

# ---- weft-prof

# It finds names as the library does, and so has the library in it.
PROF_OBJ = $(patsubst tools/%.c,$(B)/tools/%.o,$(wildcard tools/prof/*.c)) \
	$(B)/tools/prof/page.o
TOOLS	+= $(B)/bin/weft-prof

$(B)/tools/prof/names.o: private COMMON += $(QUOTE)
$(B)/tools/prof/input.o: private DEFS += $(if $(ZLIB),-DHAVE_ZLIB)

$(B)/tools/prof/page.o: tools/prof/page.S tools/prof/flame.html
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -Wa,-Itools/prof -c -o $@ $<

$(B)/bin/weft-prof: $(PROF_OBJ) $(ALL)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(COMMON) $(LINK) -o $@ $(PROF_OBJ) $(ALL) \
	    $(if $(ZLIB),-lz)

-include $(PROF_OBJ:.o=.d)

# It runs the tool.
$(B)/tests/observe/prof_tool: | $(B)/bin/weft-prof

# ---- weft-top

TOP_OBJ	= $(patsubst tools/%.c,$(B)/tools/%.o,$(wildcard tools/top/*.c))
TOOLS	+= $(B)/bin/weft-top

$(B)/bin/weft-top: $(TOP_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(COMMON) $(LINK) -o $@ $(TOP_OBJ)

-include $(TOP_OBJ:.o=.d)

# It runs the tool.
$(B)/tests/observe/top: | $(B)/bin/weft-top

# ---- weft-symbolize

# Lines of source by libdw, where its headers are; else names only, which it
# finds as the library does.
LIBDW	:= $(if $(MUSL)$(STATIC)$(filter-out $(HOST),$(ARCH)),,$(shell \
	printf '\043include <elfutils/libdwfl.h>\n' | \
	$(CC) -fsyntax-only -x c - 2> /dev/null && echo 1))
SYMBOLIZE_OBJ = $(patsubst tools/%.c,$(B)/tools/%.o,\
	$(wildcard tools/symbolize/*.c))
TOOLS	+= $(B)/bin/weft-symbolize

$(B)/tools/symbolize/%.o: private DEFS += $(if $(LIBDW),-DHAVE_LIBDW)
$(B)/tools/symbolize/source_names.o: private COMMON += $(QUOTE)

$(B)/bin/weft-symbolize: $(SYMBOLIZE_OBJ) $(if $(LIBDW),,$(ALL))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(COMMON) $(LINK) -o $@ $^ $(if $(LIBDW),-ldw -lelf)

-include $(SYMBOLIZE_OBJ:.o=.d)

# It runs the tool.
$(B)/tests/observe/symbolize: | $(B)/bin/weft-symbolize

# ---- end of sections

# It compares what each says of itself with its manual page.
$(B)/tests/trace/tool_commands: | $(TOOLS)

tools-all: $(if $(TOOL_TESTS),$(TOOLS))

.PHONY: tools tools-all
