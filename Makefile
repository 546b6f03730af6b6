# Coppice: a real Btrfs, small enough to read. `make help` lists what can be made.
#
# The source is split into rooms, src/NN-name, one for each chapter. A file of room NN is compiled
# with the folders of rooms 00..NN on its include path and no others, so a chapter cannot lean on a
# later one. Chapter NN's tool and its tests are linked from the rooms 00..NN alone. Where two rooms
# (or the reader's own folder, MINE=dir) hold a file of the same name, the last one wins.

SHELL = /bin/sh
CC = cc
CLANG = clang
PREFIX = /usr/local
DESTDIR =
MINE =
SANITIZE =
FUZZ_SECONDS ?= 60

BUILD := build$(if $(SANITIZE),/sanitize)$(if $(MINE),/mine)
ROOMS := $(sort $(notdir $(wildcard src/[0-9][0-9]-*)))
NUMBERS := $(foreach room,$(ROOMS),$(firstword $(subst -, ,$(room))))
LAST := $(lastword $(NUMBERS))

WARNINGS = -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion \
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Wcast-align -Wcast-qual \
  -Wwrite-strings -Wundef -Wformat=2 -Wpointer-arith -Wimplicit-fallthrough -Wswitch-enum -Wno-format-truncation -Wno-unknown-warning-option
CFLAGS = -O2 -g
SANITIZER = $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
comma := ,
COMPILE = $(CC) -std=c17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(WARNINGS) $(CFLAGS) $(SANITIZER) -MMD -MP
LIBS = -lisal -lgcrypt -lyajl -lblkid -luuid -lunistring
CHECK_LIBS = -lcheck -lsubunit -lm -lrt -lpthread

.PHONY: all help test tools bench figures sync check-book book format install clean fuzz test-list FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/coppice

help:
	@echo 'make                build the tool: build/coppice'
	@echo 'make chapter-N      build chapter N alone (build/NN/coppice), run tests and transcripts 0..N'
	@echo '                    MINE=dir takes your own .c in place of the file of the same name'
	@echo 'make exercise-NAME  test your answer to an exercise: MINE=dir holds your NAME.c'
	@echo 'make test           every test; ends with the line "N passed, N failed, N skipped"'
	@echo 'make bench          run the benchmarks, rewrite figures/data'
	@echo 'make figures        redraw figures/*.svg from their data'
	@echo 'make sync           refill the excerpts of the book from the source'
	@echo 'make check-book     compare excerpts, transcripts and figures with code and tool'
	@echo 'make book           the book as HTML, EPUB and PDF: build/book'
	@echo 'make fuzz           fuzz the readers for FUZZ_SECONDS=60 each (clang)'
	@echo 'make format         clang-format on the source'
	@echo 'make install        PREFIX=/usr/local DESTDIR='
	@echo 'make clean          remove build'
	@echo 'SANITIZE=1          with any of these: AddressSanitizer and UBSan, in build/sanitize'

# --- rooms and chapters ---------------------------------------------------------------------------

number_of = $(firstword $(subst -, ,$1))
# ROOMS_TO_NN: the rooms 00..NN.
so_far :=
$(foreach room,$(ROOMS),$(eval so_far += $(room))$(eval ROOMS_TO_$(call number_of,$(room)) := $(so_far)))
rooms_to = $(ROOMS_TO_$1)
includes_to = $(foreach room,$(call rooms_to,$1),-Isrc/$(room))
test_includes_to = -Itests $(foreach room,$(call rooms_to,$1),-Itests/$(room)) $(call includes_to,$1)
# Of files with the same name the last one stays.
last_of_name = $(shell printf '%s\n' $1 | awk -F/ '{ at[$$NF] = $$0; order[NR] = $$NF } \
  END { for (i = 1; i <= NR; i++) if (order[i] in at) { print at[order[i]]; delete at[order[i]] } }')
# The reader's files: one named as a file of room NN counts from chapter NN on, a new one in all.
mine_to = $(if $(MINE),$(foreach file,$(wildcard $(MINE)/*.c),$(if \
  $(or $(wildcard $(patsubst %,src/%/$(notdir $(file)),$(call rooms_to,$1))), \
       $(if $(wildcard src/*/$(notdir $(file))),,new)),$(file))))

# A room: how its sources, tests and benchmarks are compiled.
define ROOM_RULES
$(BUILD)/obj/$1/%.o: src/$1/%.c Makefile
	@mkdir -p $$(@D)
	@echo '  CC   ' $$<
	@$$(COMPILE) $(call includes_to,$(call number_of,$1)) -c -o $$@ $$<
$(BUILD)/tests/$1/%.o: tests/$1/%.c Makefile
	@mkdir -p $$(@D)
	@echo '  CC   ' $$<
	@$$(COMPILE) -DTEST_IMAGES='"$(CURDIR)/tests/images"' $(call test_includes_to,$(call number_of,$1)) -c -o $$@ $$<
endef
$(foreach room,$(ROOMS),$(eval $(call ROOM_RULES,$(room))))

# A chapter: the generated tables, the tool, the test runner.
define CHAPTER_RULES
SOURCES_$1 := $(call last_of_name,$(foreach room,$(call rooms_to,$1),$(sort $(wildcard src/$(room)/*.c))) $(call mine_to,$1))
OBJECTS_$1 = $$(patsubst src/%.c,$(BUILD)/obj/%.o,$$(filter src/%,$$(SOURCES_$1))) \
  $$(patsubst %.c,$(BUILD)/$1/mine/%.o,$$(notdir $$(filter-out src/%,$$(SOURCES_$1))))
TESTS_$1 := $(foreach room,$(call rooms_to,$1),$(sort $(filter-out $(wildcard tests/$(room)/bench_*.c tests/$(room)/fuzz_*.c tests/$(room)/tool_*.c),$(wildcard tests/$(room)/*.c))))
SUPPORT_$1 = $$(patsubst tests/%.c,$(BUILD)/tests/%.o,$$(filter-out $$(foreach room,$(ROOMS),tests/$$(room)/test_%.c),$$(TESTS_$1)))
INCLUDES_$1 := $(call test_includes_to,$1)

# Built anew each time: MINE may name another folder than it did.
$(BUILD)/$1/mine/%.o: $(MINE)/%.c Makefile FORCE
	@mkdir -p $$(@D)
	@echo '  CC   ' $$<
	@$$(COMPILE) $(call includes_to,$1) -c -o $$@ $$<
$(BUILD)/$1/tables.c: src/tables.awk $$(SOURCES_$1)
	@mkdir -p $$(@D)
	@printf '%s\n' $$(SOURCES_$1) | awk -f src/tables.awk > $$@
$(BUILD)/$1/suites.c: src/tables.awk $$(TESTS_$1)
	@mkdir -p $$(@D)
	@printf '%s\n' $$(TESTS_$1) | awk -f src/tables.awk > $$@
$(BUILD)/$1/%.o: $(BUILD)/$1/%.c
	@echo '  CC   ' $$<
	@$$(COMPILE) -Isrc/00-ground -Itests -c -o $$@ $$<
$(BUILD)/$1/coppice: $(BUILD)/obj/main.o $(BUILD)/$1/tables.o $$(OBJECTS_$1)
	@echo '  LINK ' $$@
	@$$(CC) $$(CFLAGS) $$(SANITIZER) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
$(BUILD)/$1/tests: $(BUILD)/obj/runner.o $(BUILD)/$1/suites.o $(BUILD)/$1/tables.o \
  $$(patsubst tests/%.c,$(BUILD)/tests/%.o,$$(TESTS_$1)) $$(OBJECTS_$1)
	@echo '  LINK ' $$@
	@$$(CC) $$(CFLAGS) $$(SANITIZER) $$(LDFLAGS) -o $$@ $$^ $$(CHECK_LIBS) $$(LIBS)
-include $$(patsubst %.o,%.d,$$(filter-out $(BUILD)/$1/mine/%,$$(OBJECTS_$1))) $$(patsubst tests/%.c,$(BUILD)/tests/%.d,$$(TESTS_$1))
endef
$(foreach number,$(NUMBERS),$(eval $(call CHAPTER_RULES,$(number))))

$(BUILD)/obj/main.o: src/main.c Makefile
	@mkdir -p $(@D)
	@echo '  CC   ' $<
	@$(COMPILE) -Isrc/00-ground -c -o $@ $<
$(BUILD)/obj/runner.o: tests/runner.c Makefile
	@mkdir -p $(@D)
	@echo '  CC   ' $<
	@$(COMPILE) -Itests -c -o $@ $<
-include $(BUILD)/obj/main.d $(BUILD)/obj/runner.d

# The final tool is the last chapter's.
$(BUILD)/coppice: $(BUILD)/$(LAST)/coppice
	@cp $< $@

chapter-%: FORCE
	@n=$$(printf '%02d' "$$(echo $* | sed 's/^0*\([0-9]\)/\1/')") && \
	$(MAKE) --no-print-directory $(BUILD)/$$n/coppice $(BUILD)/$$n/tests && \
	sh tests/chapter.sh $$n $(BUILD)

# --- tests -------------------------------------------------------------------------------------------

test:
	@sh tests/all.sh

# --- benchmarks: tests/NN-name/bench_WHAT.c (_ becomes -) writes figures/data/NN-WHAT.{counts,times}.csv ----------

BENCH_LIBS_04-speed = -llmdb -lsqlite3
BENCH_LIBS_06-durable = -llmdb
BENCHES := $(wildcard tests/[0-9][0-9]-*/bench_*.c)
bench_program = $(BUILD)/bench/$(call number_of,$(notdir $(patsubst %/,%,$(dir $1))))-$(subst _,-,$(patsubst bench_%.c,%,$(notdir $1)))
define BENCH_RULES
$(call bench_program,$1): $(patsubst tests/%.c,$(BUILD)/tests/%.o,$1) \
  $$(OBJECTS_$(call number_of,$(notdir $(patsubst %/,%,$(dir $1)))))
	@mkdir -p $$(@D)
	@echo '  LINK ' $$@
	@$$(CC) $$(CFLAGS) $$(SANITIZER) $$(LDFLAGS) -o $$@ $$^ $$(LIBS) $$(BENCH_LIBS_$$(@F)) -lm
-include $(patsubst tests/%.c,$(BUILD)/tests/%.d,$1)
endef
$(foreach bench,$(BENCHES),$(eval $(call BENCH_RULES,$(bench))))
BENCH_PROGRAMS := $(foreach bench,$(BENCHES),$(call bench_program,$(bench)))

bench-programs: $(BENCH_PROGRAMS)
bench: bench-programs
	sh tests/bench.sh $(BENCH_PROGRAMS)

# --- tools for the judges: tests/NN-name/tool_WHAT.c makes build/tools/NN-WHAT ------------------------------

TOOL_SOURCES := $(wildcard tests/[0-9][0-9]-*/tool_*.c)
room_number = $(call number_of,$(notdir $(patsubst %/,%,$(dir $1))))
tool_program = $(BUILD)/tools/$(room_number)-$(subst _,-,$(patsubst tool_%.c,%,$(notdir $1)))
define TOOL_RULES
$(tool_program): $(patsubst tests/%.c,$(BUILD)/tests/%.o,$1) $$(SUPPORT_$(room_number)) \
  $$(OBJECTS_$(room_number)) $(BUILD)/$(room_number)/tables.o
	@mkdir -p $$(@D)
	@echo '  LINK ' $$@
	@$$(CC) $$(CFLAGS) $$(SANITIZER) $$(LDFLAGS) -o $$@ $$^ $$(CHECK_LIBS) $$(LIBS)
-include $(patsubst tests/%.c,$(BUILD)/tests/%.d,$1)
endef
$(foreach tool,$(TOOL_SOURCES),$(eval $(call TOOL_RULES,$(tool))))
TOOLS := $(foreach tool,$(TOOL_SOURCES),$(call tool_program,$(tool)))

tools: $(TOOLS)

# --- figures: figures/NN-name.gp, .dot, or .sh (prints DOT) make figures/NN-name.svg -------------------

figures: $(BUILD)/coppice
	sh tests/book/figures.sh figures

# --- the book ----------------------------------------------------------------------------------------

sync: $(BUILD)/coppice
	sh tests/book/excerpts.sh fill
	sh tests/book/transcripts.sh fill $(BUILD)/coppice $$(sh tests/book/chapters.sh)
check-book: $(BUILD)/coppice
	sh tests/book/check-book.sh . $(BUILD)/coppice
book: figures
	sh tests/book/make-book.sh build/book
exercise-%: FORCE
	@sh tests/book/exercise.sh $* $(if $(MINE),$(MINE))

# --- fuzzing (clang): tests/NN-name/fuzz_WHAT.c ------------------------------------------------------------

FUZZERS := $(wildcard tests/[0-9][0-9]-*/fuzz_*.c)
FUZZ_SUPPORT := tests/00-ground/support_image.c
fuzz_program = build/fuzz/$(patsubst fuzz_%.c,%,$(notdir $1))
define FUZZ_RULES
$(call fuzz_program,$1): $1 $$(FUZZ_SUPPORT) $$(SOURCES_$(LAST)) $(wildcard src/*/*.h tests/*/*.h) Makefile
	@mkdir -p $$(@D)
	$$(CLANG) -std=c17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -g -O1 -fsanitize=fuzzer,address,undefined \
	  -fno-sanitize-recover=all -DTEST_IMAGES='"$(CURDIR)/tests/images"' $(call test_includes_to,$(LAST)) \
	  -o $$@ $1 $$(FUZZ_SUPPORT) $$(SOURCES_$(LAST)) $$(LIBS)
endef
$(foreach fuzzer,$(FUZZERS),$(eval $(call FUZZ_RULES,$(fuzzer))))
FUZZ_PROGRAMS := $(foreach fuzzer,$(FUZZERS),$(call fuzz_program,$(fuzzer)))
fuzz: $(FUZZ_PROGRAMS)
	sh tests/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_PROGRAMS)

# --- the rest --------------------------------------------------------------------------------------------

format:
	clang-format -i $$(find src tests -name '*.[ch]')
install: $(BUILD)/coppice
	install -D -m 755 $(BUILD)/coppice $(DESTDIR)$(PREFIX)/bin/coppice
clean:
	rm -rf build
# For scripts: prints a variable as an assignment for sh.
print-%: FORCE
	@printf "%s='%s'\n" $* '$($*)'
FORCE:
