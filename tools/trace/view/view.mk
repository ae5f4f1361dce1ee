# The page of weft-trace view: made of the files here, and put into the program
# as bytes. zlib makes the pages three times smaller; without it they work, too.

VIEW	= $(B)/tools/trace/view_head.html
ZLIB	:= $(if $(MUSL)$(STATIC)$(filter-out $(HOST),$(ARCH)),,$(shell \
	printf '\043include <zlib.h>\nint x = Z_OK;\n' | \
	$(CC) -fsyntax-only -x c - 2> /dev/null && echo 1))
TRACE_LIBS += $(if $(ZLIB),-lz)
TRACE_OBJ += $(B)/tools/trace/view_page.o

$(B)/tools/trace/view_column.o: private DEFS += $(if $(ZLIB),-DHAVE_ZLIB)

$(VIEW): $(wildcard tools/trace/view/*.js tools/trace/view/*.css) \
		tools/trace/view/page.html tools/trace/view/build
	@mkdir -p $(@D)
	$(call say,PAGE)
	$(Q)tools/trace/view/build $(@D)

$(B)/tools/trace/view_page.o: tools/trace/view_page.S $(VIEW)
	$(call say,CC)
	$(Q)$(CC) -I$(@D) -Wa,-I$(@D) -c -o $@ $<

# A browser opens pages made of real and of hostile traces: see tests/browser.
$(B)/tests/browser/%: tests/browser/programs/%.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $< $(LIBA)

browser-programs: $(B)/bin/weft-trace $(B)/tests/browser/skynet \
	$(B)/tests/browser/orders

test-browser: browser-programs
	B="$(B)" tests/browser/run $(BROWSERFLAGS)

.PHONY: browser-programs test-browser
