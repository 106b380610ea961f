# tightlip. `make help` lists the targets; V=1 shows every command.
VERSION := 0.1.0
SOVERSION := 0

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CFLAGS ?= -O3 -g
CXXFLAGS ?= $(CFLAGS)
LDFLAGS ?=
# BLAS and LAPACK: openblas, blis, or generic (the system's libblas and liblapack alternatives).
BLAS ?= openblas
PKG_CONFIG ?= pkg-config
CLANG ?= clang
CLANG_FORMAT ?= clang-format

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n' '$(1)' '$(2)')

# ---- what is built -------------------------------------------------------------------------------
MODULES := base linalg attention bounds search attack certify model robust experiment
LIB_C := $(sort $(wildcard $(MODULES:%=src/%/*.c)))
LIB_CXX := $(sort $(wildcard $(MODULES:%=src/%/*.cpp)))
CLI_C := $(sort $(wildcard src/cli/*.c))
SUPPORT_C := $(sort $(wildcard tests/support/*.c))
TEST_C := $(sort $(wildcard tests/test_*.c))
BENCH_C := $(sort $(wildcard tests/bench/*.c))
RACE_C := $(sort $(wildcard tests/race/*.c))
HEADERS := $(sort $(wildcard include/tightlip/*.h))
EXPERIMENTS := $(sort $(wildcard experiments/*.cfg))
FORMATTED := $(sort $(wildcard src/*/*.[ch] src/*/*.cpp include/tightlip/*.h \
    tests/*.[ch] tests/*/*.[ch] experiments/c/*.c))

object = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
# The messages of ONNX files, by protobuf-c's compiler.
ONNX ?= $(shell command -v protoc-c >/dev/null && $(PKG_CONFIG) --exists libprotobuf-c && echo yes)
ONNX_H := $(if $(ONNX),$(BUILD)/onnx.pb-c.h)
ONNX_O := $(ONNX_H:%.h=%.o)
LIB_O := $(call object,$(LIB_C) $(LIB_CXX)) $(ONNX_O)
CLI_O := $(call object,$(CLI_C))
SUPPORT_O := $(call object,$(SUPPORT_C))
TESTS := $(TEST_C:tests/%.c=$(BUILD)/tests/%)
BENCHES := $(BENCH_C:tests/bench/%.c=$(BUILD)/bench/%)
BENCH_BLAS := evaluate layer
RACES := $(RACE_C:tests/race/%.c=$(BUILD)/race/%)

PROGRAM := $(BUILD)/tightlip
STATIC := $(BUILD)/libtightlip.a
SHARED := $(BUILD)/libtightlip.so
SUPPORT := $(BUILD)/libsupport.a
STAMP := $(BUILD)/tightlip_version.h

# ---- compilers -----------------------------------------------------------------------------------
CC_IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Werror
# clang applies -Wdouble-promotion to the float constants inside INFINITY and NAN; gcc does the check.
WARN_C := $(WARN) -Wno-unknown-pragmas -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion \
    $(if $(CC_IS_CLANG),-Wno-double-promotion)
COMMON := -fopenmp -ffp-contract=off -fPIC
INCLUDES := -Isrc -Iinclude -I$(BUILD)
TL_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L $(WARN_C) $(COMMON)
# No exceptions, so that a plain C link needs no C++ runtime.
TL_CXXFLAGS := -std=c++17 -Wall -Wextra -Wshadow -Werror -fno-exceptions $(COMMON)

# Sources compiled for every vector width (linalg/wide.h): by clang where it takes the same flags,
# since gcc keeps vectors wider than the processor's in memory, and fuses no product with a sum.
WIDE_C := $(shell grep -lE 'WIDE_CALL|wide_variants\.h|bound\.h' $(LIB_C) $(TEST_C) $(BENCH_C))
ONE_COMPILER := $(CC_IS_CLANG)$(foreach f,-fsanitize --coverage -fprofile -flto,$(findstring $(f),$(CFLAGS)))
ifndef WIDE_CC
override WIDE_CC := $(or $(if $(strip $(ONE_COMPILER)),,$(shell $(CC) -dumpmachine 2>/dev/null | \
    grep -q '^x86_64' && echo 'int x;' | $(CLANG) $(TL_CFLAGS) -Wno-double-promotion $(CFLAGS) -x c \
    -c - -o /dev/null 2>/dev/null && echo '$(CLANG)')),$(CC))
endif
first_line = $(shell $(1) --version 2>/dev/null | head -n 1)
COMPILER := $(call first_line,$(CC))$(if $(filter-out $(CC),$(WIDE_CC)),; vectors by $(call first_line,$(WIDE_CC)))
# A vector of square roots cannot set errno. valgrind 3.19 reads DWARF 4.
WIDE_CFLAGS := $(TL_CFLAGS) -fno-math-errno $(if $(findstring clang,$(WIDE_CC)),-Wno-double-promotion -fdebug-default-version=4)
# Where signs of zeros tell nothing, so that sums begin at their first term.
UNSIGNED_C := src/attention/batch_steps.c src/attention/batch_whole.c src/linalg/top_batch.c
unsigned = $(if $(filter $<,$(UNSIGNED_C)),-fno-signed-zeros)
compile = $(if $(filter $<,$(WIDE_C)),$(WIDE_CC) $(WIDE_CFLAGS) $(unsigned),$(CC) $(TL_CFLAGS))

# ---- libraries -----------------------------------------------------------------------------------
pkg = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null || echo '$(3)')
# Formulas of users; MUPARSER= builds without them.
MUPARSER ?= $(shell $(PKG_CONFIG) --exists muparser 2>/dev/null && echo yes)
MUPARSER_LIBS := $(if $(MUPARSER),-lmuparser)
MUPARSER_CFLAGS := $(if $(MUPARSER),-DTL_WITH_MUPARSER)
# Compressed images and SVHN's MATLAB files; ZLIB= and MATIO= build without them.
ZLIB ?= $(shell $(PKG_CONFIG) --exists zlib 2>/dev/null && echo yes)
MATIO ?= $(shell $(PKG_CONFIG) --exists matio 2>/dev/null && echo yes)
IMAGE_LIBS := $(if $(MATIO),-lmatio) $(if $(ZLIB),-lz)
IMAGE_CFLAGS := $(if $(ZLIB),-DTL_WITH_ZLIB) \
    $(if $(MATIO),-DTL_WITH_MATIO $(shell $(PKG_CONFIG) --cflags matio 2>/dev/null))
# Text for tokenisers, weights in ONNX files; UNISTRING= and ONNX= (above) build without them.
UNISTRING ?= $(shell $(CC) -include uninorm.h -x c -fsyntax-only /dev/null 2>/dev/null && echo yes)
MODEL_LIBS := $(if $(ONNX),-lprotobuf-c) $(if $(UNISTRING),-lunistring)
MODEL_CFLAGS := $(if $(ONNX),-DTL_WITH_ONNX) $(if $(UNISTRING),-DTL_WITH_UNISTRING)
PKG_CFLAGS := $(call pkg,--cflags,gsl jansson libconfig) $(MUPARSER_CFLAGS) $(IMAGE_CFLAGS) \
    $(MODEL_CFLAGS)
# Runs over several machines; off unless make MPI=1. The program alone is linked with it.
MPI ?=
MPI_CFLAGS := $(if $(MPI),-DTL_WITH_MPI $(patsubst -I%,-isystem %,$(call pkg,--cflags,mpi-c)))
MPI_LIBS := $(if $(MPI),$(call pkg,--libs,mpi-c,-lmpi))
# GSL's own CBLAS stays out: the provider below has the same names.
PKG_LIBS := $(filter-out -lgslcblas -lm,$(call pkg,--libs,gsl jansson libconfig,-lgsl -ljansson -lconfig))
CRITERION_CFLAGS := $(call pkg,--cflags,criterion)
CRITERION_LIBS := $(call pkg,--libs,criterion,-lcriterion)
BLAS_LIBS_openblas := -llapacke -lopenblas
BLAS_LIBS_blis := -llapacke -llapack -lblis
BLAS_LIBS_generic := -llapacke -llapack -lblas
BLAS_LIBS ?= $(BLAS_LIBS_$(BLAS))
# Ball arithmetic; Debian ships no pkg-config file for either.
ARB_LIBS ?= -lflint-arb -lflint -lgmp
# Linear programs of optimal transport; no pkg-config file either.
GLPK_LIBS ?= -lglpk
LIBS := $(BLAS_LIBS) $(PKG_LIBS) $(ARB_LIBS) $(MUPARSER_LIBS) $(GLPK_LIBS) $(IMAGE_LIBS) $(MODEL_LIBS) -lm

BLAS_PACKAGES_openblas := libopenblas-dev
BLAS_PACKAGES_blis := libblis-dev liblapack-dev
BLAS_PACKAGES_generic := libblas-dev liblapack-dev
PACKAGES := build-essential g++ pkg-config git \
    libgsl-dev libpcg-cpp-dev $(BLAS_PACKAGES_$(BLAS)) liblapacke-dev libjansson-dev libconfig-dev \
    libflint-arb-dev libflint-dev libmuparser-dev libglpk-dev zlib1g-dev libmatio-dev \
    libprotobuf-c-dev protobuf-c-compiler libunistring-dev \
    libcriterion-dev gnuplot-nox fonts-dejavu-core \
    clang clang-format cppcheck libomp-dev libclang-rt-dev python3 \
    $(if $(MPI),libopenmpi-dev openmpi-bin)

# ---- general -------------------------------------------------------------------------------------
.PHONY: all
all: $(if $(filter src/cli/main.c,$(CLI_C)),$(PROGRAM)) $(STATIC) $(SHARED) ## program and libraries (default)

.PHONY: help
help: ## this list
	@echo 'tightlip $(VERSION): make TARGET [V=1] [BUILD=dir] [BLAS=openblas|blis|generic] [MPI=1]'
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: deps
deps: ## install the Debian packages that are missing (asks sudo when not root)
	@missing=; for p in $(PACKAGES); do \
	    dpkg-query -W -f='$${Status}\n' $$p 2>/dev/null | grep -q 'ok installed' || \
	        missing="$$missing $$p"; \
	done; \
	if [ -z "$$missing" ]; then echo 'every package is installed'; exit 0; fi; \
	echo "installing:$$missing"; \
	sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	$$sudo apt-get update -qq && \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing

.PHONY: info
info: ## what would be built, with what
	@echo 'version   $(VERSION) ($(shell git describe --always --dirty --tags 2>/dev/null || echo unknown))'
	@echo 'compiler  $(COMPILER)'
	@echo 'flags     $(TL_CFLAGS) $(CFLAGS)'
	@echo 'libraries $(LIBS)'
	@echo 'build     $(BUILD)   prefix $(PREFIX)'
	@echo 'sources   $(words $(LIB_C) $(LIB_CXX)) library, $(words $(CLI_C)) program, $(words $(TEST_C)) test files'

print-%:
	@echo '$* = $($*)'

.PHONY: FORCE
FORCE:

# ---- compiling -----------------------------------------------------------------------------------
# Everything that decides what comes out of a compiler: objects depend on it.
FLAGS_TEXT = $(CC) $(TL_CFLAGS) $(CFLAGS) $(PKG_CFLAGS) | $(WIDE_CC) $(WIDE_CFLAGS) | $(CXX) $(TL_CXXFLAGS) $(CXXFLAGS) | $(LDFLAGS) $(LIBS)

# update FILE: replaces it by standard input when that differs.
update = { mkdir -p $(BUILD) && cat > $(1).new; } && \
    { cmp -s $(1).new $(1) && rm $(1).new || mv $(1).new $(1); }

$(BUILD)/flags.txt: FORCE
	@printf '%s\n' '$(FLAGS_TEXT)' | $(call update,$@)

$(BUILD)/mpi.txt: FORCE
	@printf '%s\n' '$(MPI_CFLAGS) $(MPI_LIBS)' | $(call update,$@)
	@[ -z '$(MPI)' ] || printf '#include <mpi.h>\n' | $(CC) $(MPI_CFLAGS) -x c -fsyntax-only - \
	    2>/dev/null || { echo "cannot find: mpi.h; run 'make deps MPI=1'" >&2; exit 1; }

$(STAMP): FORCE
	@{ printf '#define TL_BUILD_VERSION "%s"\n' '$(VERSION)'; \
	   printf '#define TL_BUILD_GIT "%s"\n' \
	       "$$(git describe --always --dirty --tags 2>/dev/null || echo unknown)"; \
	   printf '#define TL_BUILD_COMPILER "%s"\n' '$(COMPILER)'; \
	   printf '#define TL_BUILD_FLAGS "%s"\n' '$(TL_CFLAGS) $(CFLAGS)'; } | $(call update,$@)

# One clear message instead of a page of compiler errors.
$(BUILD)/probed: Makefile
	@mkdir -p $(BUILD); missing=; \
	for h in gsl/gsl_rng.h jansson.h libconfig.h cblas.h lapacke.h arb_mat.h glpk.h; do \
	    printf '#include <%s>\n' $$h | $(CC) $(PKG_CFLAGS) -x c -fsyntax-only - 2>/dev/null || \
	        missing="$$missing $$h"; \
	done; \
	printf '#include <pcg_random.hpp>\n' | $(CXX) -x c++ -fsyntax-only - 2>/dev/null || \
	    missing="$$missing pcg_random.hpp"; \
	printf 'int main(void) { return 0; }\n' | \
	    $(CC) -x c - -o $(BUILD)/probe $(LIBS) 2>/dev/null || missing="$$missing libraries($(LIBS))"; \
	rm -f $(BUILD)/probe; \
	if [ -n "$$missing" ]; then \
	    echo "cannot find:$$missing; run 'make deps' (Debian) or install them by hand" >&2; exit 1; \
	fi; touch $@

$(BUILD)/probed-tests: $(BUILD)/probed
	@printf '#include <criterion/criterion.h>\n' | \
	    $(CC) $(CRITERION_CFLAGS) -x c -fsyntax-only - 2>/dev/null || \
	    { echo "cannot find: criterion; run 'make deps'" >&2; exit 1; }
	@touch $@

$(BUILD)/obj/src/%.o: src/%.c $(BUILD)/flags.txt | $(BUILD)/probed
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(compile) $(CFLAGS) $(INCLUDES) $(PKG_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj/src/%.o: src/%.cpp $(BUILD)/flags.txt | $(BUILD)/probed
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(TL_CXXFLAGS) $(CXXFLAGS) $(INCLUDES) -MMD -MP -c $< -o $@

$(BUILD)/obj/tests/%.o: tests/%.c $(BUILD)/flags.txt | $(BUILD)/probed
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(compile) $(CFLAGS) $(INCLUDES) -Itests $(PKG_CFLAGS) $(CRITERION_CFLAGS) \
	    -MMD -MP -c $< -o $@

$(BUILD)/obj/src/base/version.o: $(STAMP)
$(BUILD)/obj/src/cli/ranks.o: $(BUILD)/mpi.txt
$(BUILD)/obj/src/cli/ranks.o: PKG_CFLAGS += $(MPI_CFLAGS)
# Last words: errors bounded beforehand are those of these operations, whatever CFLAGS says.
$(patsubst %,$(BUILD)/obj/src/certify/%.o,pairs quick quick_head): \
    private PKG_CFLAGS += -ffp-contract=off -fno-fast-math

$(BUILD)/onnx.pb-c.h $(BUILD)/onnx.pb-c.c &: src/model/onnx.proto
	@mkdir -p $(BUILD)
	$(Q)protoc-c --proto_path=src/model --c_out=$(BUILD) $<

$(BUILD)/onnx.pb-c.o: $(BUILD)/onnx.pb-c.c $(BUILD)/flags.txt
	$(call say,CC,$<)
	$(Q)$(CC) -std=c11 $(COMMON) $(CFLAGS) -w -I$(BUILD) -c $< -o $@

$(BUILD)/obj/src/model/onnx.o: $(ONNX_H)

$(STATIC): $(LIB_O)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(SHARED): $(LIB_O) src/tightlip.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fopenmp -shared -Wl,-soname,libtightlip.so.$(SOVERSION) \
	    -Wl,-Bsymbolic-functions -Wl,--version-script=src/tightlip.map -o $@ $(LIB_O) $(LIBS)

# An archive: benchmarks and race drivers take what they use, and are not linked with Criterion.
$(SUPPORT): $(SUPPORT_O)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(PROGRAM): $(CLI_O) $(STATIC)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fopenmp -o $@ $^ $(LIBS) $(MPI_LIBS)

# The program with MPI beside one without: nothing else differs.
MPI_PROGRAM := $(BUILD)/mpi/tightlip
$(MPI_PROGRAM): $(CLI_O) $(STATIC) src/cli/ranks.c
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TL_CFLAGS) $(CFLAGS) $(INCLUDES) $(PKG_CFLAGS) -DTL_WITH_MPI \
	    $(patsubst -I%,-isystem %,$(call pkg,--cflags,mpi-c)) -c src/cli/ranks.c -o $(@D)/ranks.o
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fopenmp -o $@ $(filter-out %/ranks.o,$(CLI_O)) $(@D)/ranks.o \
	    $(STATIC) $(LIBS) $(call pkg,--libs,mpi-c,-lmpi)

$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(SUPPORT) $(STATIC) | $(BUILD)/probed-tests
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fopenmp -o $@ $^ $(LIBS) $(CRITERION_LIBS)

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(STATIC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fopenmp -o $@ $^ $(LIBS)

# The other side of the comparison of ascents; without it those rows are left out. Private: what the
# library is compiled with stays the same.
NLOPT ?= $(shell $(PKG_CONFIG) --exists nlopt 2>/dev/null && echo yes)
$(BUILD)/bench/panel: private LIBS += $(if $(NLOPT),-lnlopt)
$(BUILD)/obj/tests/bench/panel.o: private CFLAGS += $(if $(NLOPT),-DTL_WITH_NLOPT)

$(BUILD)/race/%: $(BUILD)/obj/tests/race/%.o $(SUPPORT) $(STATIC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fopenmp -o $@ $^ $(LIBS)

.SECONDARY:
-include $(wildcard $(BUILD)/obj/*/*/*.d $(BUILD)/obj/*/*.d)

# ---- checking ------------------------------------------------------------------------------------
.PHONY: tests
tests: $(TESTS)

.PHONY: test
test: $(TESTS) $(if $(filter src/cli/main.c,$(CLI_C)),$(PROGRAM)) ## build and run the unit tests
	@tests/support/run.sh $(TESTS)

.PHONY: cli
cli: $(if $(filter src/cli/main.c,$(CLI_C)),$(PROGRAM)) ## the command line, as a table of calls
	@if [ -x tests/cli/run.sh ]; then tests/cli/run.sh $(PROGRAM); \
	 else echo 'no tests/cli/run.sh'; fi

.PHONY: install-check
install-check: all ## install into an empty directory and use what is there
	@tests/install/run.sh '$(MAKE)' '$(BUILD)' '$(CC)' '$(CXX)'

.PHONY: mpi-check
mpi-check: all ## runs shared by ranks, where mpirun and mpi.h are installed
	@if command -v mpirun > /dev/null && $(PKG_CONFIG) --exists mpi-c; then \
	    $(MAKE) $(MPI_PROGRAM) && python3 tests/cluster/mpi.py $(MPI_PROGRAM); \
	 else echo 'no MPI here: ranks are not tested; get it with make deps MPI=1'; fi

.PHONY: cluster
cluster: all mpi-check ## ranks, and the job scripts under a Slurm of one node (as root) or GNU parallel
	@if [ -x $(MPI_PROGRAM) ]; then tests/cluster/slurm.sh $(PROGRAM) $(MPI_PROGRAM); \
	 else tests/cluster/slurm.sh $(PROGRAM); fi

.PHONY: cluster-cost
cluster-cost: all ## what ranks cost in processor time: the figures of experiments/cluster/README.md
	@$(MAKE) $(MPI_PROGRAM) && python3 tests/cluster/cost.py $(PROGRAM) $(MPI_PROGRAM)

.PHONY: verify-results
verify-results: all ## every witness under results/ and experiments/refuted/ in ball arithmetic
	@python3 tests/support/verified.py $(PROGRAM) $(sort $(dir $(wildcard results/*/cells.ndjson))) experiments/refuted

.PHONY: check
check: ## lint, command line and unit tests; goes on after a failure and counts them
	@tests/support/check.sh '$(MAKE)' '$(BUILD)'

LINTS := lint-format lint-includes lint-shape lint-figures lint-speeds lint-exponents lint-page \
    lint-symbols lint-clang lint-cc lint-cppcheck
.PHONY: lint $(LINTS)
lint: $(LINTS) ## formatting, includes, sizes, symbols, both compilers and cppcheck

LINT := @tests/lint/run.sh
lint-format:
	$(LINT) $@ $(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

lint-includes:
	$(LINT) $@ python3 tests/lint/includes.py

lint-shape:
	$(LINT) $@ python3 tests/lint/shape.py

lint-figures:
	$(LINT) $@ python3 experiments/livit/figures.py --check

lint-speeds:
	$(LINT) $@ python3 tests/bench/publish.py --check results/bench

lint-exponents:
	$(LINT) $@ python3 tests/lint/exponents.py

lint-page:
	$(LINT) $@ python3 experiments/summary.py results --check

lint-symbols: $(STATIC)
	$(LINT) $@ tests/lint/symbols.sh $(STATIC)

lint-clang: $(STAMP) $(ONNX_H)
	$(LINT) $@ $(CLANG) -fsyntax-only $(TL_CFLAGS) -Wno-double-promotion $(INCLUDES) $(PKG_CFLAGS) \
	    $(LIB_C) $(CLI_C)

# What WIDE_CC compiles, by the compiler of the rest: where there is no clang, and under sanitizers.
# Some warnings come only where it optimises; gcc takes lanes set one by one for unset.
lint-cc: $(STAMP) $(ONNX_H)
	$(LINT) $@ sh -c 'printf "%s\n" $(WIDE_C) | xargs -P 2 -n 1 \
	    $(CC) $(TL_CFLAGS) -O1 -Wno-uninitialized $(INCLUDES) $(PKG_CFLAGS) -S -o /dev/null'

lint-cppcheck: $(STAMP) $(ONNX_H)
	$(LINT) $@ cppcheck --quiet --error-exitcode=1 --std=c11 --language=c -j2 \
	    --enable=warning,portability --inline-suppr --suppressions-list=tests/lint/cppcheck.txt \
	    $(INCLUDES) $(LIB_C) $(CLI_C)

SANITIZED := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all

.PHONY: sanitize
sanitize: ## unit tests and command lines under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) BUILD=$(BUILD)/sanitize LDFLAGS= \
	    CFLAGS='$(SANITIZED)' tests \
	    $(if $(filter src/cli/main.c,$(CLI_C)),$(BUILD)/sanitize/tightlip)
	@tests/support/sanitized.sh $(BUILD)/sanitize $(TEST_C:tests/%.c=$(BUILD)/sanitize/tests/%)

VALGRIND_SECONDS ?= 1500
.PHONY: valgrind
valgrind: $(TESTS) $(PROGRAM) ## unit tests and the quick experiment under memcheck, VALGRIND_SECONDS each
	@tests/support/valgrind.sh $(BUILD)/valgrind $(VALGRIND_SECONDS) $(PROGRAM) $(TESTS)

.PHONY: coverage
coverage: ## line coverage of src by unit tests and command line, and what is left (gcovr)
	@command -v gcovr > /dev/null || { echo 'no gcovr here: apt install gcovr'; exit 1; }
	@$(MAKE) BUILD=$(BUILD)/coverage LDFLAGS= \
	    CFLAGS='-O1 -g --coverage -fprofile-update=atomic' tests $(BUILD)/coverage/tightlip
	@$(MAKE) BUILD=$(BUILD)/coverage LDFLAGS= \
	    CFLAGS='-O1 -g --coverage -fprofile-update=atomic' coverage-run

.PHONY: coverage-run
coverage-run:
	-@find $(BUILD) -name '*.gcda' -delete
	-@tests/support/run.sh $(TESTS) | tail -n 1
	-@tests/cli/run.sh $(PROGRAM) | tail -n 1
	@gcovr --root . --filter 'src/' --object-directory $(BUILD) --exclude-unreachable-branches \
	    --print-summary --fail-under-line 90 $(BUILD)/obj/src

.PHONY: race
race: ## the parallel parts under ThreadSanitizer (clang, libomp)
	@$(MAKE) BUILD=$(BUILD)/tsan CC=$(CLANG) CXX=$(CLANG)++ LDFLAGS= \
	    CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=thread' race-run

.PHONY: race-run
race-run: $(RACES)
	@for t in $(RACES); do echo "$$t"; \
	    TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 exitcode=66" \
	    OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=1 $$t || exit 1; done
	@echo '$(words $(RACES)) drivers without a race'

# Readers under libFuzzer, with the sanitizers; finds go to build/fuzz.
FUZZ_C := $(sort $(wildcard tests/fuzz/*.c))
FUZZ := $(FUZZ_C:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_SECONDS ?= 60

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(SUPPORT) $(STATIC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer -fopenmp -o $@ $^ $(LIBS)

.PHONY: fuzz
fuzz: ## every reader under libFuzzer for FUZZ_SECONDS each
	@$(MAKE) BUILD=$(BUILD)/fuzzing CC=$(CLANG) CXX=$(CLANG)++ LDFLAGS= \
	    CFLAGS='$(SANITIZED) -fsanitize=fuzzer-no-link' fuzz-run

.PHONY: fuzz-run
fuzz-run: $(FUZZ)
	@for t in $(FUZZ); do name=$$(basename $$t); mkdir -p $(BUILD)/found/$$name; echo "== $$name"; \
	    LSAN_OPTIONS=suppressions=tests/fuzz/lsan.supp:print_suppressions=0 OMP_NUM_THREADS=1 $$t -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -malloc_limit_mb=512 \
	        -timeout=20 -print_final_stats=1 -verbosity=0 -artifact_prefix=$(BUILD)/found/ \
	        $(BUILD)/found/$$name tests/fuzz/corpus/$$name $$(test $$name = problem && echo tests/cli/data) \
	        2> $(BUILD)/found/$$name.log || { tail -30 $(BUILD)/found/$$name.log; exit 1; }; \
	    grep -e number_of_executed -e peak_rss $(BUILD)/found/$$name.log; done

.PHONY: soak
soak: $(TESTS) $(PROGRAM) ## the property tests with many more draws; runs killed, interrupted, out of disk; fuzzed readers
	@TIGHTLIP_SOAK=1 tests/support/run.sh $(TESTS)
	@python3 tests/soak/kill.py $(PROGRAM) 200
	@$(MAKE) fuzz
	@if command -v mpirun > /dev/null && $(PKG_CONFIG) --exists mpi-c; then \
	    $(MAKE) $(MPI_PROGRAM) && python3 tests/cluster/mpi.py $(MPI_PROGRAM) 60; fi

.PHONY: format
format: ## clang-format on every source file
	$(Q)$(CLANG_FORMAT) -i $(FORMATTED)

# ---- running -------------------------------------------------------------------------------------
# Goes on where an earlier one was interrupted, unless configuration or build have changed since.
GO_ON = $$(test -e $(1)/cells.ndjson.partial && echo --resume --overwrite)

.PHONY: demo
demo: all ## a sweep in under a minute, and where its plot lies
	$(Q)$(PROGRAM) run experiments/quick.cfg -o $(BUILD)/demo $(call GO_ON,$(BUILD)/demo)
	@echo 'plot: $(BUILD)/demo/plot.svg and $(BUILD)/demo/plot.png'

.PHONY: bench
bench: all $(BENCHES) ## timings, each beside a check of the answer
	@tests/bench/bench.py $(BUILD)/bench

# Figures change from run to run and from machine to machine: no part of `results`.
.PHONY: bench-results
bench-results: all $(BENCHES) bench-blis ## timings into results/bench and README.md; wants a quiet machine
	@tests/bench/bench.py $(BUILD)/bench results/bench
	@tests/bench/blas.py results/bench $(BUILD)/bench $(BUILD)/bench-blis
	@tests/bench/map.py $(PROGRAM) $(BUILD)/bench results/bench

# The same objects with the other library.
.PHONY: bench-blis
bench-blis: $(BENCHES)
	@if printf 'int main(void) { return 0; }\n' | $(CC) -x c - -o /dev/null -lblis 2>/dev/null; then \
	    mkdir -p $(BUILD)/bench-blis && for b in $(BENCH_BLAS); do \
	        $(CC) $(CFLAGS) $(LDFLAGS) -fopenmp -o $(BUILD)/bench-blis/$$b \
	            $(BUILD)/obj/tests/bench/$$b.o $(STATIC) \
	            $(subst $(BLAS_LIBS),$(BLAS_LIBS_blis),$(LIBS)) || exit 1; done; \
	 else echo 'BLIS skipped: no libblis-dev'; fi

.PHONY: results
results: all ## run every experiment into results/
	$(Q)for cfg in $(EXPERIMENTS); do name=$$(basename $$cfg .cfg); echo "== $$name"; \
	    $(PROGRAM) run $$cfg -o results/$$name $(call GO_ON,results/$$name) || exit 1; done
	$(Q)python3 experiments/summary.py results
	$(Q)$(PROGRAM) report $(sort $(dir $(wildcard results/*/manifest.json))) -o results/index.html

.PHONY: plots
plots: all ## draw the plots of results/ again from their data
	$(Q)for dir in $(sort $(dir $(wildcard results/*/manifest.json))); do \
	    $(PROGRAM) plot $$dir || exit 1; done

# ---- installing ----------------------------------------------------------------------------------
PC := $(BUILD)/tightlip.pc
MAN := $(BUILD)/tightlip.1
COMPLETION := $(BUILD)/tightlip.bash

$(MAN): $(PROGRAM) src/cli/manual.py
	$(Q)python3 src/cli/manual.py $(PROGRAM) man > $@

$(COMPLETION): $(PROGRAM) src/cli/manual.py
	$(Q)python3 src/cli/manual.py $(PROGRAM) completion > $@

.PHONY: $(PC)
$(PC):
	@mkdir -p $(BUILD)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
	    'Name: tightlip' 'Description: Sharpness of Lipschitz bounds of self-attention' \
	    'Version: $(VERSION)' 'Requires: gsl jansson libconfig' 'Cflags: -I$${includedir}' \
	    'Libs: -L$${libdir} -ltightlip' 'Libs.private: -fopenmp $(LIBS)' > $@

# The experiments with the data they need, as shipped: not what was put beside it.
SHIPPED := $(EXPERIMENTS) $(wildcard experiments/README.md experiments/pretrained/*.cfg \
    experiments/refuted/* experiments/data/*/README.md experiments/data/models/*.json \
    experiments/data/text/*.txt experiments/data/fashion_mnist/*.idx \
    experiments/data/svtr/svtr_*.safetensors) experiments/livit/model.safetensors

.PHONY: install
install: all $(PC) $(MAN) $(COMPLETION) ## program, libraries, headers, manual, completion, experiments; PREFIX and DESTDIR
	$(Q)install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
	    $(DESTDIR)$(PREFIX)/include/tightlip
	$(Q)install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/
	$(Q)install -m 644 $(STATIC) $(DESTDIR)$(PREFIX)/lib/
	$(Q)install -m 755 $(SHARED) $(DESTDIR)$(PREFIX)/lib/libtightlip.so.$(VERSION)
	$(Q)ln -sf libtightlip.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libtightlip.so.$(SOVERSION)
	$(Q)ln -sf libtightlip.so.$(SOVERSION) $(DESTDIR)$(PREFIX)/lib/libtightlip.so
	$(Q)install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/tightlip/
	$(Q)install -m 644 $(PC) $(DESTDIR)$(PREFIX)/lib/pkgconfig/
	$(Q)install -D -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1/tightlip.1
	$(Q)install -D -m 644 $(COMPLETION) $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tightlip
	$(Q)for file in $(SHIPPED); do \
	    install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/tightlip/$$file || exit 1; done

.PHONY: uninstall
uninstall: ## remove what install put there
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/tightlip $(DESTDIR)$(PREFIX)/lib/libtightlip.a \
	    $(DESTDIR)$(PREFIX)/lib/libtightlip.so $(DESTDIR)$(PREFIX)/lib/libtightlip.so.$(SOVERSION) \
	    $(DESTDIR)$(PREFIX)/lib/libtightlip.so.$(VERSION) \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig/tightlip.pc \
	    $(DESTDIR)$(PREFIX)/share/man/man1/tightlip.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tightlip
	$(Q)rm -rf $(DESTDIR)$(PREFIX)/include/tightlip $(DESTDIR)$(PREFIX)/share/tightlip

.PHONY: dist
dist: ## a tarball of the committed sources that builds offline
	@mkdir -p $(BUILD)
	$(Q)git archive --prefix=tightlip-$(VERSION)/ HEAD | gzip -9n > $(BUILD)/tightlip-$(VERSION).tar.gz
	@echo '$(BUILD)/tightlip-$(VERSION).tar.gz'

.PHONY: clean
clean: ## remove the build directory
	$(Q)rm -rf $(BUILD)
