# SPDX-License-Identifier: MIT
#
# What it costs to look, and whether what was recorded can be read. For the main
# Makefile to include, after its first target.

OBSERVE	= $(B)/observe/look $(B)/observe/check_go

$(B)/observe/look: bench/observe/look.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -o $@ $(filter %.c %.a,$^)

$(B)/observe/check_go: bench/observe/check_go.c tests/trace/check_go.h \
		$(B)/tools/trace/grow.o $(B)/tools/trace/idmap.o
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote tests/trace -iquote tools/trace -o $@ \
	    $(filter %.c %.o,$^)

.PHONY: bench-observe trace-check
bench-observe: $(BENCH) $(OBSERVE) tools
	B=$(B) bench/observe/run $(BENCHFLAGS)
	$(B)/observe/look

trace-check: $(BENCH) $(OBSERVE) tools
	B=$(B) bench/observe/convert
