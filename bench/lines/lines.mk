# SPDX-License-Identifier: MIT
#
# What operations write: see bench/lines.

$(B)/bench/weft-lines: bench/lines/lines.c $(ALL)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) $(QUOTE) -no-pie -o $@ $< $(ALL)

# Needs valgrind.
bench-lines: $(B)/bench/weft-lines
	bench/lines/run $<

-include $(B)/bench/weft-lines.d
.PHONY: bench-lines
