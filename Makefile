# make          build, and install into .venv; .venv/bin/steelyard is then the command
# make demo     compare this machine's kernel with two others, and write report.html
# make test     run the tests
# make fuzz     hostile text and hostile requests, for SECONDS (3600), by clang's fuzzer and sanitizers
# make dist     a source distribution and a wheel of the last commit, in dist/
# make site     the documents as a site, in site/
# make install  install that wheel below PREFIX (/usr/local), in an environment of its own, with its manual
#
# Each installs what it needs first (as root or with sudo: Debian packages; else it names them), and does
# again only what has changed.

SHELL    := /bin/bash
PYTHON   ?= python3
PACKAGES := build-essential python3 python3-venv musl-tools gcc-mingw-w64-x86-64 user-mode-linux runsc wine wine64 \
            clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev
TESTING  := strace openssh-server openssh-client chromium-headless-shell e2fsprogs \
            qemu-system-x86 qemu-user-static podman runc prometheus libclang-rt-dev
VENV     := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)
SOURCES  := $(shell find src workloads monitor meson.build pyproject.toml README.md -type f -not -path '*/__pycache__/*')

PREFIX   ?= /usr/local

.PHONY: all demo test fuzz fuzzers check format dist site install clean

all: .stamps/installed

demo: .stamps/installed
	$(VENV)/steelyard compare native uml gvisor --study pegasus --budget 150s --html report.html

test: .stamps/testing .stamps/installed check
	$(VENV)/python -m pytest tests

# What a reader of the code relies on without running it.
check: .stamps/installed
	$(VENV)/ruff check src tests bench
	$(VENV)/mypy

dist: .stamps/release
	scripts/make-dist dist

site: .stamps/release
	$(VENV)/mkdocs build --quiet --strict

install: dist
	$(PYTHON) -m venv $(PREFIX)/lib/steelyard
	$(PREFIX)/lib/steelyard/bin/pip install --quiet --force-reinstall dist/steelyard-*.whl
	scripts/link-into $(PREFIX) $(PREFIX)/lib/steelyard

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

clean:
	rm -rf .venv build build-fuzz dist site .stamps

.stamps/packages: scripts/install-packages
	@mkdir -p .stamps
	scripts/install-packages $(PACKAGES)
	@touch $@

# The compiler for other processors and systems is large, and only tests need it.
.stamps/testing: scripts/install-packages .stamps/environment
	@mkdir -p .stamps
	scripts/install-packages $(TESTING)
	$(VENV)/pip install --quiet ziglang || echo "pip could not install ziglang; its tests will say so" >&2
	@touch $@

.stamps/environment: .stamps/packages pyproject.toml
	$(PYTHON) -m venv .venv
	$(VENV)/pip install --quiet --upgrade meson-python meson ninja
	@touch $@

# What only a release and its documents need.
.stamps/release: .stamps/environment
	$(VENV)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
	    print(*extras["dist"], *extras["docs"], sep="\n")' > .stamps/wanted-for-release
	$(VENV)/pip install --quiet --requirement .stamps/wanted-for-release
	@touch $@

.stamps/installed: .stamps/environment $(SOURCES)
	$(VENV)/pip install --quiet --no-build-isolation --config-settings=build-dir=build '.[test]'
	@touch $@
