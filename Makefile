# make            build, and install into .venv; .venv/bin/steelyard is then the command
# make demo       compare this machine's kernel with two others, and write report.html; builds what that needs
# make quick      the checks, and the tests that start no program: within a minute of a change
# make test       all tests; those that fail are tried once more, alone
# make disturbed  the tests, while processors are taken away for SHARE (0.2, at most 0.3) of the time; needs root
# make nightly    the tests, and fresh, reboots, fuzz and kills, for about three hours
# make fresh      what a newcomer does, in minimal roots of Debian 12 and 13, as root and as an ordinary user
# make check      ruff, mypy and clang-format alone
# make fuzz       hostile text and hostile requests, for SECONDS (3600), by clang's fuzzer and sanitizers
# make kills      a laboratory killed at each of its system calls that changes something, or each EVERY-th;
#                 ALL=--all at every one; stopped, or after SECONDS (3600), the same command resumes it
# make reboots    the tests that take long, above all a machine booted from kernel to kernel: an hour or two
# make papers     the papers' experiments in their short forms, one after the other, and their pages
# make format     bring the sources into the project's form
# make dist       a source distribution and a wheel of the last commit, in dist/
# make site       the documents as a site, in site/; make writes their generated pages into docs/reference
# make install    install that wheel below PREFIX (/usr/local), in its own environment, with its manual
# make uninstall  remove what make install put below PREFIX
# make clean      remove all that was built
# make help       this list
#
# Each installs what it needs first (as root or with sudo: Debian packages; else it names them), and does
# again only what has changed. The Python of src/ is used where it stands: only C is built.
# INSTALL=no: install no Debian packages; PYTHON=python3.12: use that one instead of python3.

# What make says of itself to others make, of -j above all, is not for ninja and pip, which have their own ways.
SHELL       := /usr/bin/env
.SHELLFLAGS := -u MAKEFLAGS -u MFLAGS -u MAKELEVEL bash -c
.NOTPARALLEL:
PYTHON   ?= python3
# Without the first nothing can be built; without the second only what needs them; the third build what runs in other
# systems.
COMPILER := build-essential python3 python3-venv
PACKAGES := pkg-config clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev libsqlite3-dev user-mode-linux runsc
FURTHER  := musl-tools gcc-mingw-w64-x86-64 wine wine64
TESTING  := strace openssh-server openssh-client iproute2 chromium-headless-shell e2fsprogs xfsprogs btrfs-progs \
            qemu-system-x86 mmdebstrap busybox-static dropbear-bin fio qemu-user-static podman runc prometheus libclang-rt-dev \
            ccache sysbench rt-tests stress-ng
SERVERS  := nginx-light apache2 mariadb-server postgresql postfix
VENV     := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Each of the tests' workers computes on one processor.
export OPENBLAS_NUM_THREADS := 1
unexport PYTHONDONTWRITEBYTECODE  # images set it; a thousand starts of Python would compile everything again
NINJA    := $(VENV)/ninja --quiet -C
EXTRAS   = $(VENV)/python -c 'import sys, tomllib; \
    extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
    print(*(one for name in sys.argv[1:] for one in extras[name]), sep="\n")'
PREFIX   ?= /usr/local

# Who wants the tests has them from the first configuration on: a change of it compiles all again.
FOR_TESTS := $(if $(filter test disturbed,$(MAKECMDGOALS)),-Dtests=true -Dwerror=true)
ALONE    := scripts/alone
SUITE    := $(VENV)/python tests/support/suite.py
SOURCES_OF_C := find base loadgen workloads agent monitor systems bench tests -name '*.[ch]'

ifeq ($(filter help clean uninstall,$(MAKECMDGOALS))$(findstring n,$(firstword -$(MAKEFLAGS))),)
ifneq ($(shell scripts/begin '$(PYTHON)' && echo begun),begun)
$(error nothing was done)
endif
endif
# ccache, where Meson finds it, must have a place to write to.
ifneq ($(shell test -w "$${XDG_CACHE_HOME:-$$HOME}" && echo writable),writable)
export CCACHE_DIR ?= $(CURDIR)/.stamps/ccache
endif

.PHONY: all demo papers quick test disturbed nightly fresh reboots fuzz kills check format dist site install uninstall \
        clean help packages packages-of-all packages-of-tests tools configured

all: packages-of-all configured
	$(ALONE) $(NINJA) build
	scripts/reference $(VENV)/python
	@$(VENV)/python scripts/summary

help:
	@sed -n '/^$$/q; s/^# \{0,1\}//p' Makefile

demo: packages configured
	$(ALONE) $(NINJA) build native
	$(VENV)/steelyard compare native uml gvisor --study brief --html report.html

papers: all
	scripts/papers $(VENV)/steelyard

quick: check
	$(VENV)/pytest -n 2 --dist worksteal -m "not (program or boots or builds or computes)"

test: packages-of-all check .stamps/testing .stamps/tests build-asan/build.ninja configured
	for directory in build build-asan; do \
	    $(ALONE) $(NINJA) $$directory && $(VENV)/meson test --quiet -C $$directory || exit 1; done
	$(SUITE)

disturbed: all .stamps/testing .stamps/tests
	STEELYARD_PATIENCE=3 $(VENV)/python tests/support/busy_host.py $(or $(SHARE),0.2) $(SUITE) --at-once 3

# Each ends within its time, and what it finds stops the rest.
nightly:
	make test
	make fresh
	make reboots
	make fuzz SECONDS=600
	make kills SECONDS=1200

fresh:
	scripts/fresh --suite bookworm --suite trixie

reboots: all .stamps/testing
	STEELYARD_LONG=1 $(VENV)/pytest -m long

check: .stamps/checkers
	$(VENV)/ruff check src tests bench
	$(VENV)/ruff format --check src tests bench
	$(SOURCES_OF_C) -exec $(VENV)/clang-format --dry-run --Werror {} +
	$(VENV)/mypy

dist: .stamps/release
	scripts/make-dist dist

site: .stamps/release
	$(VENV)/mkdocs build --quiet --strict

install: dist
	scripts/install-into '$(PREFIX)' '$(PYTHON)' dist/steelyard-*.whl

uninstall:
	scripts/install-into --undo '$(PREFIX)'

format: .stamps/checkers
	$(VENV)/ruff format src tests bench
	$(VENV)/ruff check --fix src tests bench
	$(SOURCES_OF_C) -exec $(VENV)/clang-format -i {} +

clean:
	rm -rf .venv build build-asan dist site .stamps

build-asan/build.ninja: meson.options | .stamps/environment
	CC=clang $(VENV)/meson setup -Dtests=true -Dwerror=true -Dfuzz=true -Dmusl=disabled -Dwindows=disabled \
	    -Dbuildtype=debugoptimized -Db_lundef=false -Db_sanitize=address,undefined $(@D)

SECONDS  ?= 3600
# Half of the time for what reads text, half for whole agents. What was found is left in build-asan.
fuzz: .stamps/testing build-asan/build.ninja
	$(ALONE) $(NINJA) build-asan
	mkdir -p build-asan/found build-asan/requested
	cd build-asan && tests/fuzz/steelyard-fuzz -max_total_time=$$(($(SECONDS) / 2)) -max_len=10000 -timeout=60 \
	    -print_final_stats=1 found ../tests/fuzz/corpus
	$(VENV)/python tests/fuzz/whole_agent.py build-asan/agent/steelyard-load build-asan/requested \
	    $$(($(SECONDS) / 2)) $$RANDOM

EVERY ?= 1
# Two seconds each. Some 300 calls of a run change something, 9,500 are made; with a monitor more.
KILLS = $(VENV)/python tests/support/every_call.py --every $(EVERY) $(ALL) --for $(SECONDS)
kills: all
	$(KILLS) build/kills/alone tests/support/every_call.toml --no-watch
	$(KILLS) build/kills/watched tests/support/every_call.toml

packages:
	@scripts/install-packages $(COMPILER) $(PACKAGES)

packages-of-all:
	@scripts/install-packages $(COMPILER) $(PACKAGES) $(FURTHER)

packages-of-tests:
	@scripts/install-packages $(TESTING)
	@scripts/install-packages --servers $(SERVERS)

# Without rights to install packages, report at once what the build needs.
tools:
	@scripts/check-tools '$(PYTHON)' 2>/dev/null || { scripts/install-packages --try $(COMPILER) && \
	    scripts/check-tools '$(PYTHON)'; }

# What has come or gone since Meson looked for it.
configured: .stamps/installed
	@$(ALONE) scripts/configure build build-asan

# The compiler for other processors and systems is large, and only tests need it; a test makes a release.
.stamps/testing: scripts/install-packages .stamps/checkers | packages-of-tests
	{ $(EXTRAS) dist; echo ziglang; } > .stamps/wanted-for-testing
	$(ALONE) $(VENV)/pip install --quiet --requirement .stamps/wanted-for-testing && touch $@ || \
	    echo "pip could not install ziglang and what a release needs; their tests will say so, and the next make" \
	        "tries it again" >&2

# Python compiles what it imports, which is a small part.
.stamps/environment: pyproject.toml | tools
	$(ALONE) $(PYTHON) -m venv .venv
	$(VENV)/python -c 'import tomllib; read = tomllib.load(open("pyproject.toml", "rb")); \
	    print(*read["build-system"]["requires"], *read["project"]["dependencies"], sep="\n")' > .stamps/requirements
	$(ALONE) $(VENV)/pip install --quiet --no-compile --requirement .stamps/requirements
	@touch $@

.stamps/checkers: .stamps/environment
	$(EXTRAS) test > .stamps/wanted-for-tests
	$(ALONE) $(VENV)/pip install --quiet --no-compile --requirement .stamps/wanted-for-tests
	@touch $@

# What only a release and its documents need.
.stamps/release: .stamps/environment
	$(EXTRAS) dist docs > .stamps/wanted-for-release
	$(ALONE) $(VENV)/pip install --quiet --requirement .stamps/wanted-for-release
	@touch $@

# Nothing is built here but what this machine's own programs are made of. meson-python's way to find the sources
# would ask ninja at each start of the command: a path does as well.
.stamps/installed: .stamps/environment scripts/command
	$(ALONE) $(VENV)/pip install --quiet --no-deps --no-build-isolation --config-settings=build-dir=build \
	    --config-settings=compile-args=native $(FOR_TESTS:%=--config-settings=setup-args=%) --editable .
	echo '$(CURDIR)/src' > .venv/lib/python3.*/site-packages/steelyard-editable.pth
	scripts/command .venv '$(CURDIR)/build/systems/steelyard-held'
	@touch $@

.stamps/tests: .stamps/installed
	$(ALONE) $(VENV)/meson configure build -Dtests=true -Dwerror=true
	@touch $@
