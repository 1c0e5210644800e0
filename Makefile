# make          build, and install into .venv; .venv/bin/steelyard is then the command
# make demo     compare this machine's kernel with two others, and write report.html; builds what that needs
# make quick    the checks, and the tests that start no program: within a minute of a change
# make test     everything that CI runs
# make disturbed  the tests, while processors are taken away for SHARE (0.2) of the time; needs root
# make check    ruff and mypy alone
# make fuzz     hostile text and hostile requests, for SECONDS (3600), by clang's fuzzer and sanitizers
# make kills    a laboratory killed at each of its system calls that changes something, or each EVERY-th;
#               ALL=--all at every one; stopped, or after SECONDS (3600), the same command goes on with it
# make reboots  a machine that is booted from kernel to kernel, and all that can go wrong: an hour or two
# make format   bring the sources into the project's form
# make dist     a source distribution and a wheel of the last commit, in dist/
# make site     the documents as a site, in site/
# make install  install that wheel below PREFIX (/usr/local), in an environment of its own, with its manual
#
# Each installs what it needs first (as root or with sudo: Debian packages; else it names them), and does
# again only what has changed. The Python of src/ is used where it stands: only C is built.

SHELL    := /bin/bash
PYTHON   ?= python3
PACKAGES := build-essential python3 python3-venv user-mode-linux runsc clang llvm bpftool libbpf-dev libelf-dev \
            zlib1g-dev libsqlite3-dev
FURTHER  := musl-tools gcc-mingw-w64-x86-64 wine wine64
TESTING  := strace openssh-server openssh-client iproute2 chromium-headless-shell e2fsprogs xfsprogs btrfs-progs \
            qemu-system-x86 mmdebstrap busybox-static dropbear-bin fio qemu-user-static podman runc prometheus libclang-rt-dev \
            ccache
SERVERS  := nginx-light apache2 mariadb-server postgresql postfix
VENV     := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Each of the tests' workers computes on one processor.
export OPENBLAS_NUM_THREADS := 1
unexport PYTHONDONTWRITEBYTECODE  # images set it; a thousand starts of Python would compile all anew
NINJA    := $(VENV)/ninja --quiet -C
EXTRAS   = $(VENV)/python -c 'import sys, tomllib; \
    extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
    print(*(one for name in sys.argv[1:] for one in extras[name]), sep="\n")'
PREFIX   ?= /usr/local
CHECKED  := -Dtests=true -Dwerror=true -Dmusl=disabled -Dwindows=disabled

.PHONY: all demo quick test disturbed reboots fuzz fuzzers kills check format dist site install clean

all: .stamps/further .stamps/installed
	$(NINJA) build

demo: .stamps/installed
	$(NINJA) build native
	$(VENV)/steelyard compare native uml gvisor --study brief --html report.html

quick: check
	$(VENV)/pytest -n 2 --dist worksteal -m "not (program or boots or builds or computes)"

test: check .stamps/further .stamps/testing .stamps/tests build-clang/build.ninja build-asan/build.ninja
	for directory in build build-clang build-asan; do \
	    $(NINJA) $$directory && $(VENV)/meson test --quiet -C $$directory || exit 1; done
	$(VENV)/pytest -n 3 --dist worksteal -m "not quiet"  # the third works while others wait
	$(VENV)/pytest -m quiet

disturbed: all .stamps/testing .stamps/tests
	$(VENV)/python tests/taking_away.py $(or $(SHARE),0.2) $(VENV)/pytest -n 3 --dist worksteal -m "not quiet"
	$(VENV)/python tests/taking_away.py $(or $(SHARE),0.2) $(VENV)/pytest -m quiet

reboots: all .stamps/testing
	STEELYARD_LONG=1 $(VENV)/pytest -m long

check: .stamps/checkers
	$(VENV)/ruff check src tests bench
	$(VENV)/ruff format --check src tests bench
	$(VENV)/mypy

dist: .stamps/release
	scripts/make-dist dist

site: .stamps/release
	$(VENV)/mkdocs build --quiet --strict

install: dist
	$(PYTHON) -m venv $(PREFIX)/lib/steelyard
	$(PREFIX)/lib/steelyard/bin/pip install --quiet --force-reinstall dist/steelyard-*.whl
	scripts/link-into $(PREFIX) $(PREFIX)/lib/steelyard

# Of C only the lines that differ from the last commit: a table keeps its columns.
format: .stamps/checkers
	$(VENV)/ruff format src tests bench
	$(VENV)/ruff check --fix src tests bench
	! command -v git-clang-format || git clang-format HEAD -- '*.c' '*.h' || true

clean:
	rm -rf .venv build build-clang build-asan build-fuzz dist site .stamps

build-clang/build.ninja: meson.options | .stamps/environment
	CC=clang $(VENV)/meson setup $(CHECKED) $(@D)

build-asan/build.ninja: meson.options | .stamps/environment
	$(VENV)/meson setup $(CHECKED) -Dbuildtype=debugoptimized -Db_sanitize=address,undefined $(@D)

SECONDS  ?= 3600
# Half of the time for what reads text, half for whole agents. What was found is left in build-fuzz.
fuzz: fuzzers
	mkdir -p build-fuzz/found build-fuzz/agent
	cd build-fuzz && tests/fuzz/steelyard-fuzz -max_total_time=$$(($(SECONDS) / 2)) -max_len=10000 -timeout=60 \
	    -print_final_stats=1 found ../tests/fuzz/corpus
	$(VENV)/python tests/fuzz/whole_agent.py build-fuzz/workloads/steelyard-load build-fuzz/agent \
	    $$(($(SECONDS) / 2)) $$RANDOM

fuzzers: .stamps/testing build-fuzz/build.ninja
	$(VENV)/ninja --quiet -C build-fuzz tests/fuzz/steelyard-fuzz workloads/steelyard-load

build-fuzz/build.ninja: meson.options | .stamps/environment
	CC=clang $(VENV)/meson setup --wipe -Dfuzz=true -Dbuildtype=debugoptimized -Db_lundef=false \
	    -Db_sanitize=address,undefined $(@D)

EVERY ?= 1
# Two seconds each. Some 300 calls of a run change something, 9,500 are made; with a monitor more.
KILLS = $(VENV)/python tests/every_call.py --every $(EVERY) $(ALL) --for $(SECONDS)
kills: all
	$(KILLS) build/kills/alone tests/every_call.toml --no-watch
	$(KILLS) build/kills/watched tests/every_call.toml

.stamps/packages: scripts/install-packages
	@mkdir -p .stamps
	scripts/install-packages $(PACKAGES)
	@touch $@

# What the other systems' programs are built by: Meson looks for it anew.
.stamps/further: .stamps/packages
	scripts/install-packages $(FURTHER)
	! test -f build/build.ninja || $(VENV)/meson setup --reconfigure build
	@touch $@

# The compiler for other processors and systems is large, and only tests need it.
.stamps/testing: scripts/install-packages .stamps/checkers
	scripts/install-packages $(TESTING)
	scripts/install-packages --servers $(SERVERS)
	$(VENV)/pip install --quiet ziglang || echo "pip could not install ziglang; its tests will say so" >&2
	@touch $@

# Python compiles what it imports, which is a small part.
.stamps/environment: .stamps/packages pyproject.toml
	$(PYTHON) -m venv .venv
	$(VENV)/python -c 'import tomllib; read = tomllib.load(open("pyproject.toml", "rb")); \
	    print(*read["build-system"]["requires"], *read["project"]["dependencies"], sep="\n")' > .stamps/requirements
	$(VENV)/pip install --quiet --no-compile --requirement .stamps/requirements
	@touch $@

.stamps/checkers: .stamps/environment
	$(EXTRAS) test > .stamps/wanted-for-tests
	$(VENV)/pip install --quiet --no-compile --requirement .stamps/wanted-for-tests
	@touch $@

# What only a release and its documents need.
.stamps/release: .stamps/environment
	$(EXTRAS) dist docs > .stamps/wanted-for-release
	$(VENV)/pip install --quiet --requirement .stamps/wanted-for-release
	@touch $@

# Nothing is built here but what this machine's own programs are made of. meson-python's way to find the sources
# would ask ninja at each start of the command: a path does as well.
.stamps/installed: .stamps/environment
	$(VENV)/pip install --quiet --no-deps --no-build-isolation --config-settings=build-dir=build \
	    --config-settings=compile-args=native --editable .
	echo $(CURDIR)/src > .venv/lib/python3.*/site-packages/steelyard-editable.pth
	@touch $@

.stamps/tests: .stamps/installed
	$(VENV)/meson configure build -Dtests=true
	@touch $@
