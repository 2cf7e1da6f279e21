# stallprof: `make run` profiles a small training loop, `make test` runs every test, `make help` lists the rest.

# As many jobs as there are CPUs, unless -j says otherwise; several goals one after the other.
ifeq ($(MAKELEVEL)$(findstring -j,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
ifneq ($(word 2,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
endif

BUILD   ?= build
# Relative where it can be: the rules in .d files name the objects as make was told, so that one folder under two
# names would not be built again after a header changed.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
CC      ?= gcc
CLANG   ?= clang
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)

PKGS      := libbpf libprotobuf-c libcurl libcrypto libmicrohttpd libzstd zlib yaml-0.1
WARNINGS  := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Werror
OPT       ?= -O2
CFLAGS    ?= $(OPT) -g -fstack-protector-strong -D_FORTIFY_SOURCE=2
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(SANITIZE) $(WARNINGS) -I. -I$(BUILD)/gen $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LIBS       = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -liberty -lpthread -lm

MODULES := symbolizer pprof stalltag profiler
PROTOS  := $(wildcard $(addsuffix /*.proto,$(MODULES)) $(addsuffix /*/*.proto,$(MODULES)))
PB_C    := $(PROTOS:%.proto=$(BUILD)/gen/%.pb-c.c)
PB_H    := $(PB_C:.c=.h)
SKEL    := $(BUILD)/gen/bpf/stallprof.skel.h

srcs = $(filter-out profiler/main.c,$(wildcard $(1)/*.c $(1)/*/*.c))
objs = $(patsubst %.c,$(BUILD)/obj/%.o,$(call srcs,$(1))) \
       $(patsubst %.proto,$(BUILD)/obj/gen/%.pb-c.o,$(filter $(1)/%,$(PROTOS)))

# A library may use those to its right, never those to its left.
ARCHIVES := $(BUILD)/libprofiler.a $(BUILD)/libpprof.a $(BUILD)/libsymbolizer.a $(BUILD)/libstalltag.a

.PHONY: all run test unit e2e vm test-pyroscope asan fuzz bench check install clean help deps-build deps-page deps-test deps-bench
.DELETE_ON_ERROR:
.SECONDARY:

all: deps-build
	@$(MAKE) --no-print-directory compile

.PHONY: compile
compile: $(BUILD)/stallprof $(BUILD)/libstalltag.so $(BUILD)/libstalltag.a

deps-build:
	@config/install-packages build

# What builds the page, for those goals that show or test it.
deps-page:
	@command -v npm >/dev/null || config/install-packages page || true

# Other kernels are a part of the tests as soon as there is a scenario.
VM := $(if $(wildcard tests/vm/test_*),vm)
# Where a newer Go is put for the delivery tests, if the machine has none.
NEWER_GO := $(CURDIR)/build/go
# What `make bench` compares with and no package has.
PEERS     ?= $(HOME)/.cache/stallprof-peers
WITH_PEERS = BLAZECLI="$${BLAZECLI:-$(PEERS)/bin/blazecli}"
WITH_GO   = GO="$${GO:-$$(ls $(NEWER_GO) 2>/dev/null)}"
deps-test: deps-page
	@config/install-packages build test package $(if $(VM),guest $(VM))
	@config/install-go $(NEWER_GO)
	@# Newer Gos build it at its first use, which takes longer than a test waits.
	@go tool pprof -h >/dev/null 2>&1 || true
	@config/build-page --for-tests

deps-bench: deps-test
	@config/install-peers $(PEERS) || echo 'the bench has a peer less: its test says which'

help:
	@printf '%s\n' \
	'make               build $(BUILD)/stallprof and libstalltag' \
	'make run           install what is missing, build, profile a small training loop, print its stalls (where BPF is refused: in QEMU)' \
	'make test          every test: $(PARTS); the last line counts them' \
	'make unit | e2e | vm | test-pyroscope   one part of them (ONLY=WORD: those with that word in their path; V=1: all that they print;' \
	'                   PYROSCOPE_URL=… for a real server)' \
	'make test-vm       each stall cause made for real in guests, and a table of them (KERNEL=6.1 CASE=nvme_reset)' \
	'make asan          unit and e2e tests under ASan and UBSan' \
	'make planted-faults   do the unit tests see faults? 40 are planted one by one, 36 must be found' \
	'make fuzz          every fuzz target (SECONDS_EACH=60)' \
	"make elfutils-binaries FOLDER=…   the tests/ folder of elfutils' source, every file read under ASan and UBSan" \
	'make bench         cost, speed and memory, as ratios against peers in the same run (BRIEF=1: each part once, not judged)' \
	'make check         format, lint, headers that compile alone, banned functions, shape of the house' \
	'make install       into DESTDIR/PREFIX; make uninstall takes it back' \
	'make deb | wheel | sbom   Debian packages, a wheel of stalltag, the list of what the program is made of, in $(BUILD)' \
	'make test-deb      the Debian packages in a new Debian 12 in QEMU: install, record, push, remove' \
	"make test-container   the container file's steps" \
	'make clean         remove build/ and out/'

# --- generated code -----------------------------------------------------------------------------------
$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h &: %.proto
	@mkdir -p $(@D)
	protoc-c --c_out=$(BUILD)/gen $<

BPF_SRCS := $(wildcard bpf/*.bpf.c)
BPF_OBJS := $(BPF_SRCS:%.bpf.c=$(BUILD)/obj/%.bpf.o)
$(BUILD)/obj/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(CLANG) -target bpf -D__TARGET_ARCH_x86 -mcpu=v3 -O2 -g -Wall -Werror -I. -idirafter /usr/include/$(MULTIARCH) -c $< -o $@

$(BUILD)/obj/bpf/stallprof.linked.o: $(BPF_OBJS)
	$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/obj/bpf/stallprof.linked.o
	@mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name stallprof_bpf > $@

# --- objects, libraries, the program --------------------------------------------------------------------
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Wno-shadow -fPIC -c $< -o $@

$(BUILD)/obj/%.o: %.c $(PB_H) $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -MMD -MP -c $< -o $@

# The tag library needs nothing that the others are built from. Clang for x86 knows one TLS dialect only.
STALLTAG_CFLAGS = $(ALL_CFLAGS) -fPIC $(if $(findstring clang,$(CC)),,-mtls-dialect=gnu2)
$(BUILD)/obj/stalltag/%.o: stalltag/%.c
	@mkdir -p $(@D)
	$(CC) $(STALLTAG_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj/stalltag/shared/%.o: stalltag/%.c
	@mkdir -p $(@D)
	$(CC) $(STALLTAG_CFLAGS) -DSTALLTAG_SHARED -MMD -MP -c $< -o $@

# The page of `stallprof flame`; empty where there is no npm, and then tried again each time.
PAGE := $(BUILD)/gen/profiler/flame/page.html
$(PAGE): $(wildcard profiler/flame/page/*) config/build-page $(if $(wildcard $(PAGE)),$(shell test -s $(PAGE) || echo FORCE))
	@mkdir -p $(@D)
	@config/build-page $@
$(BUILD)/obj/profiler/flame/flame_page.o: $(PAGE)
$(BUILD)/obj/profiler/flame/flame_page.o: ALL_CFLAGS += -DFLAME_PAGE_FILE='"$(PAGE)"'

define archive_rule
$(BUILD)/lib$(1).a: $(call objs,$(1))
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach m,$(MODULES),$(eval $(call archive_rule,$(m))))

STALLTAG_SHARED = $(patsubst stalltag/%.c,$(BUILD)/obj/stalltag/shared/%.o,$(call srcs,stalltag))
$(BUILD)/libstalltag.so: $(STALLTAG_SHARED) stalltag/libstalltag.map
	$(CC) $(SANITIZE) $(LDFLAGS) -shared -Wl,-soname,libstalltag.so.1 -Wl,--version-script=stalltag/libstalltag.map \
		-Wl,-z,now,-z,nodelete -o $@ $(STALLTAG_SHARED) -ldl
	@ln -sf libstalltag.so $(BUILD)/libstalltag.so.1

$(BUILD)/stallprof: $(BUILD)/obj/profiler/main.o $(ARCHIVES)
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $(BUILD)/obj/profiler/main.o $(ARCHIVES) $(LIBS)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

include tests/e2e/workload/workload.mk

# --- the main job ---------------------------------------------------------------------------------------
run: deps-build deps-page
	@$(MAKE) --no-print-directory compile $(BUILD)/workload/train
	@tests/vm/here_or_guest.py $(BUILD) tests/e2e/demo $(BUILD)

# --- tests: every one prints TAP, tests/run counts ------------------------------------------------------
, := ,
UNIT_TESTS := $(wildcard $(addprefix tests/unit/,test_*.c */test_*.c */*/test_*.c))
UNIT_BINS  := $(addprefix $(BUILD)/tests/,$(basename $(notdir $(UNIT_TESTS))))
$(BUILD)/obj/tests/unit/%.o: tests/unit/%.c | $(PB_H) $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -MMD -MP -c $< -o $@
# Objects lie as their sources do: the .d file of one whose source has moved would ask for the old source.
$(foreach test,$(UNIT_TESTS:.c=),$(eval $(BUILD)/tests/$(notdir $(test)): $(BUILD)/obj/$(test).o))
$(UNIT_BINS): $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANITIZE) -o $@ $(filter %.o,$^) $(TEST_LDFLAGS) $(ARCHIVES) $(LIBS) -lcmocka
# Its allocations fail.
$(BUILD)/tests/test_%_memory: TEST_LDFLAGS = $(addprefix -Wl$(,)--wrap=,malloc calloc realloc strdup free)

# Fuzz targets with a plain main, so that any compiler replays their seeds.
REPLAY_BINS := $(patsubst tests/fuzz/%.c,$(BUILD)/replay/%,$(wildcard tests/fuzz/fuzz_*.c))
$(BUILD)/replay/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/replay_files.c $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -o $@ $< tests/fuzz/replay_files.c $(ARCHIVES) $(LIBS)

.PHONY: compile-unit unit-binaries
unit-binaries: $(UNIT_BINS)
compile-unit: compile unit-binaries $(REPLAY_BINS) workloads bench-loads

PARTS := unit e2e $(VM) pyroscope bench
test: deps-bench
	@$(MAKE) --no-print-directory compile-unit
	@$(WITH_GO) $(WITH_PEERS) tests/run $(BUILD) $(PARTS)

unit e2e vm: deps-test
	@$(MAKE) --no-print-directory compile-unit
	@tests/run $(BUILD) $@

# The causes alone, of one kernel or one case if that is given, and a table of all.
.PHONY: test-vm
test-vm: deps-test
	@$(MAKE) --no-print-directory compile
	@KERNEL='$(KERNEL)' CASE='$(CASE)' tests/vm/causes $(BUILD)

# Not a part of `make test`: it takes some ten minutes.
.PHONY: planted-faults
planted-faults: deps-test
	@$(MAKE) --no-print-directory compile-unit
	@tests/planted_faults

test-pyroscope: deps-test
	@$(MAKE) --no-print-directory compile workloads
	@$(WITH_GO) PYROSCOPE_URL='$(PYROSCOPE_URL)' tests/run $(BUILD) pyroscope

SANITIZE_ON := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
asan: deps-test
	@$(MAKE) --no-print-directory compile-unit BUILD=build/asan SANITIZE='$(SANITIZE_ON)' CFLAGS='-O1 -g'
	@tests/run build/asan unit e2e

# --- fuzzing --------------------------------------------------------------------------------------------
SECONDS_EACH ?= 60
FUZZ_BINS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz: deps-test
	@$(MAKE) --no-print-directory compile-fuzz BUILD=build/fuzz CC=$(CLANG) \
		SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' CFLAGS='-O1 -g' \
		WARNINGS='-Wall'
	@tests/fuzz/run build/fuzz $(SECONDS_EACH)

.PHONY: elfutils-binaries
elfutils-binaries: deps-test
	@$(MAKE) --no-print-directory build/asan/libsymbolizer.a BUILD=build/asan SANITIZE='$(SANITIZE_ON)' CFLAGS='-O1 -g'
	@tests/fuzz/elfutils_binaries build/asan '$(FOLDER)'

.PHONY: compile-fuzz
compile-fuzz: $(FUZZ_BINS)
build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(ARCHIVES)
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $< $(ARCHIVES) $(LIBS)

# --- cost, style, packaging -----------------------------------------------------------------------------
BENCH_PARTS := flame unwind/run symbols hooks families tags agent run
bench: deps-bench
	@$(MAKE) --no-print-directory compile bench-loads
	@status=0; for part in $(BENCH_PARTS); do echo "== bench/$$part"; \
		$(WITH_PEERS) BENCH_BRIEF=$(BRIEF) tests/bench/$$part $(BUILD) || status=1; done; exit $$status

check: deps-test
	@$(MAKE) --no-print-directory compile
	@tests/check $(BUILD)

PREFIX ?= /usr/local
# Where Debian's own Python looks; for another one: pip install ./stalltag/python.
DEBIAN_PYTHON := import sys; print("python3" if "$(PREFIX)" == "/usr" else "python3.%d" % sys.version_info[1])
PYTHONDIR ?= $(PREFIX)/lib/$(shell /usr/bin/python3 -c '$(DEBIAN_PYTHON)')/dist-packages
LIBDIR    ?= $(PREFIX)/lib
ZSHDIR    ?= $(PREFIX)/share/zsh/site-functions
# fish looks there below /usr, and below /usr/local only if XDG_DATA_DIRS names that; /etc/fish is the administrator's.
FISHDIR   ?= $(if $(filter /usr/local,$(PREFIX)),/etc/fish/completions,$(PREFIX)/share/fish/vendor_completions.d)
MAN_PAGES := $(wildcard docs/*.[1-8])
MODULE    := $(wildcard $(addprefix stalltag/python/stalltag/,*.py *.pyi py.typed))
# Each file that is installed, mode:source:target, which `make uninstall` removes again. The configuration is not among
# them: one that was changed is neither replaced nor removed.
INSTALLED = 755:$(BUILD)/stallprof:$(PREFIX)/bin/stallprof \
	644:$(BUILD)/libstalltag.a:$(LIBDIR)/libstalltag.a \
	755:$(BUILD)/libstalltag.so:$(LIBDIR)/libstalltag.so.1 \
	644:stalltag/stalltag.h:$(PREFIX)/include/stalltag.h \
	644:$(BUILD)/stallprof.service:/lib/systemd/system/stallprof.service \
	644:config/completions/stallprof.bash:$(PREFIX)/share/bash-completion/completions/stallprof \
	644:config/completions/_stallprof:$(ZSHDIR)/_stallprof \
	644:config/completions/stallprof.fish:$(FISHDIR)/stallprof.fish \
	$(foreach page,$(MAN_PAGES),644:$(page):$(PREFIX)/share/man/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
	$(foreach file,$(MODULE),644:$(file):$(PYTHONDIR)/stalltag/$(notdir $(file)))
CONFIGURATION = $(DESTDIR)/etc/stallprof/stallprof.yaml

$(BUILD)/stallprof.service: config/stallprof.service FORCE
	sed 's|/usr/local/bin|$(PREFIX)/bin|' $< >$@

.PHONY: FORCE uninstall
install: compile $(BUILD)/stallprof.service
	@set -e; for file in $(INSTALLED); do \
		IFS=:; set -- $$file; IFS=' '; echo "install $(DESTDIR)$$3"; install -D -m $$1 $$2 $(DESTDIR)$$3; done
	ln -sf libstalltag.so.1 $(DESTDIR)$(LIBDIR)/libstalltag.so
	test -e $(dir $(CONFIGURATION)) || install -d -m 700 $(dir $(CONFIGURATION))
	test -e $(CONFIGURATION) || install -D -m 600 config/stallprof.yaml $(CONFIGURATION)
	$(if $(DESTDIR),,ldconfig)

uninstall:
	@for file in $(INSTALLED); do rm -fv "$(DESTDIR)$${file##*:}"; done
	rm -f $(DESTDIR)$(LIBDIR)/libstalltag.so
	rm -rf $(DESTDIR)$(PYTHONDIR)/stalltag/__pycache__
	@if cmp -s config/stallprof.yaml $(CONFIGURATION); then rm -fv $(CONFIGURATION); \
	elif test -e $(CONFIGURATION); then echo "kept, as it was changed: $(CONFIGURATION)"; fi
	@for folder in $(PYTHONDIR)/stalltag /etc/stallprof; do \
		test ! -d $(DESTDIR)$$folder || rmdir --ignore-fail-on-non-empty $(DESTDIR)$$folder; done
	@# Of a tree below DESTDIR the folders that install made, as far as they are empty now; never others, which may be a system's.
	$(if $(DESTDIR),@for file in $(INSTALLED) /etc/stallprof/; do folder=$${file##*:}; \
		while folder=$${folder%/*}; test "$$folder"; do rmdir "$(DESTDIR)$$folder" 2>/dev/null || true; done; done; \
		rmdir "$(DESTDIR)" 2>/dev/null || true,ldconfig)

# Packages: config/packages.package has what making them takes beside config/packages.build.
.PHONY: deb wheel sbom test-deb test-container
deb: deps-page
	@config/install-packages build package
	@config/make-deb $(BUILD)/deb

wheel:
	@config/install-packages build package
	@config/make-wheel $(BUILD)/wheel

sbom: all
	@config/make-sbom $(BUILD) >$(BUILD)/stallprof.spdx.json
	@echo $(BUILD)/stallprof.spdx.json

# Not parts of `make test`: a new Debian 12 in QEMU takes minutes.
test-deb: deps-test deb
	@$(MAKE) --no-print-directory compile
	@$(WITH_GO) PYROSCOPE_URL='$(PYROSCOPE_URL)' tests/package/guest $(BUILD)

test-container: deps-test
	@tests/package/container

clean:
	rm -rf build out
