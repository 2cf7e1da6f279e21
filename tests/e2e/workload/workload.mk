# The workloads of the e2e tests: every tests/e2e/workload/NAME.c (or .cc) with a main becomes BUILD/workload/NAME.
# Included by the Makefile, after the libraries.

WORKLOAD_DIR   := tests/e2e/workload
WORKLOAD_PARTS := account clocks coldfile loads stalled_write
WORKLOAD_MAINS := $(filter-out $(WORKLOAD_PARTS),$(patsubst $(WORKLOAD_DIR)/%.c,%,$(wildcard $(WORKLOAD_DIR)/*.c)))
WORKLOAD_CC    := $(patsubst $(WORKLOAD_DIR)/%.cc,%_cc,$(wildcard $(WORKLOAD_DIR)/*.cc))
WORKLOADS      := $(addprefix $(BUILD)/workload/,$(WORKLOAD_MAINS) $(WORKLOAD_CC) pusher_so)
WORKLOAD_LIB   := $(BUILD)/workload/obj/libparts.a
WORKLOAD_FLAGS  = -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(SANITIZE) $(WARNINGS) -I. -MMD -MP
# The deep ones must not be easy to unwind: no frame pointers, and levels that only DWARF knows of.
WORKLOAD_DEEP  := -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -U_FORTIFY_SOURCE

.PHONY: workloads
workloads: $(WORKLOADS)

$(BUILD)/workload/obj/%.o: $(WORKLOAD_DIR)/%.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_FLAGS) -c $< -o $@

$(BUILD)/workload/obj/deep.o: $(WORKLOAD_DIR)/deep.c
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_FLAGS) $(WORKLOAD_DEEP) -c $< -o $@

$(BUILD)/workload/obj/%_cc.o: $(WORKLOAD_DIR)/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=gnu++17 $(CFLAGS) $(SANITIZE) -Wall -Wextra -Werror -I. -MMD -MP $(WORKLOAD_DEEP) -c $< -o $@

$(BUILD)/workload/%_cc: $(BUILD)/workload/obj/%_cc.o $(BUILD)/libstalltag.a
	$(CXX) $(SANITIZE) -o $@ $^ -lpthread -ldl

$(WORKLOAD_LIB): $(WORKLOAD_PARTS:%=$(BUILD)/workload/obj/%.o)
	@rm -f $@
	ar rcs $@ $^

# It is a publisher of its own: what it publishes must be visible, and stalltag must not be in it.
$(BUILD)/workload/hostile_ctx: $(BUILD)/workload/obj/hostile_ctx.o $(WORKLOAD_LIB)
	$(CC) $(SANITIZE) -Wl,--export-dynamic-symbol=otel_thread_ctx_v1 -o $@ $^ -lpthread

# The same with the library that is shared.
$(BUILD)/workload/pusher_so: $(BUILD)/workload/obj/pusher.o $(WORKLOAD_LIB) $(BUILD)/libstalltag.so
	$(CC) $(SANITIZE) -o $@ $^ -Wl,-rpath,'$$ORIGIN/..'

$(BUILD)/workload/%: $(BUILD)/workload/obj/%.o $(WORKLOAD_LIB) $(BUILD)/libstalltag.a
	$(CC) $(SANITIZE) -o $@ $^ -luring -lpthread -ldl

-include $(wildcard $(BUILD)/workload/obj/*.d $(BUILD)/bench/*.d)

# The loads of `make bench`. What looks addresses up needs the symbolizer; the others link the tag library alone.
BENCH_LOADS := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c)) $(BUILD)/bench/stalltag_push_shared
BENCH_LIBS  := $(BUILD)/libstalltag.a
$(BUILD)/bench/lookups: BENCH_LIBS := $(BUILD)/libsymbolizer.a -lzstd -lz -liberty
$(BUILD)/bench/lookups: $(BUILD)/libsymbolizer.a
.PHONY: bench-loads
bench-loads: $(BENCH_LOADS)
$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libstalltag.a
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_FLAGS) -MF $@.d -o $@ $< $(BENCH_LIBS) -lpthread -ldl

$(BUILD)/bench/stalltag_push_shared: tests/bench/stalltag_push.c $(BUILD)/libstalltag.so
	@mkdir -p $(@D)
	$(CC) $(WORKLOAD_FLAGS) -MF $@.d -o $@ $< -L$(BUILD) -lstalltag
