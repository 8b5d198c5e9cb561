# A thin front: CMake builds, the scripts in dev/ do the rest.

PREFIX ?= /usr/local
ONLY ?=
ARGS ?=

.PHONY: help run check soak dpor zoo bench build install format lint clean

help:
	@echo 'make run      install missing packages, build, show what runnel does'
	@echo 'make check    all builds and all tests; takes minutes'
	@echo 'make soak     stress without a stall; SOAK_SECONDS=600'
	@echo 'make dpor     count the traces of programs that were counted on paper'
	@echo 'make zoo      how soon each strategy finds the known bugs in tests/zoo'
	@echo 'make bench    compare with the peers; ONLY=id,id picks benchmarks,'
	@echo '              ARGS=--quick or other options of bench/run'
	@echo 'make build    the optimised build, in build/release'
	@echo 'make install  install it; PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make format   bring all C files into the style of .clang-format'
	@echo 'make lint     look for bugs with clang-tidy'
	@echo 'make clean    remove build/'

run:
	@dev/setup
	@echo '== build: build/release'
	@dev/build release
	@dev/demo

check:
	@dev/setup
	@dev/check

soak:
	@dev/setup
	@dev/soak

dpor:
	@dev/setup
	@dev/build release test_dpor
	@build/release/test_dpor --json build/dpor.json

zoo:
	@dev/setup
	@echo '== build: build/release'
	@dev/build release
	@tests/zoo/table --json build/zoo.json $(ARGS) build/release

bench:
	@dev/setup --bench
	@echo '== build: build/release'
	@dev/build release
	@bench/run $(if $(ONLY),--only $(ONLY)) $(ARGS)

build:
	@dev/build release

install: build
	@cmake --install build/release --prefix '$(PREFIX)'

format:
	@dev/format

lint:
	@dev/lint

clean:
	rm -rf build
