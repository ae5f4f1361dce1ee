# SPDX-License-Identifier: MIT
#
# The cost model: see bench/model. For the main Makefile to include, after its
# first target.

MODEL_OBJ = $(patsubst bench/model/%.c,$(B)/bench/model/%.o,\
	$(wildcard bench/model/*.c))

$(B)/bench/model/%.o: bench/model/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(filter-out -static,$(USER)) -c -o $@ $<

$(B)/bench/weft-model: $(MODEL_OBJ) $(LIBA)
	$(call say,LD)
	$(Q)$(CC) $(USER) -o $@ $^

$(B)/tests/model/%: tests/model/%.c $(HARNESS) $(filter-out %/main.o,$(MODEL_OBJ)) \
		$(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) -iquote bench/model -o $@ $(filter %.c %.o %.a,$^)

bench-model: $(B)/bench/weft-model
	$<
	$< -c

-include $(MODEL_OBJ:.o=.d)
.PHONY: bench-model
