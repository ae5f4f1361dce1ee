# SPDX-License-Identifier: MIT
#
# How costs grow: see bench/growth.

$(B)/bench/weft-growth: bench/growth/growth.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $< $(LIBA)

bench-growth: $(B)/bench/weft-growth
	B=$(B) bench/growth/run $(BENCHFLAGS)

-include $(B)/bench/weft-growth.d
.PHONY: bench-growth
