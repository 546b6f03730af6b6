#include "superblock.h"
#include "support.h"
#include "support_command.h"
#include "support_crash.h"
#include "support_image.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct image image;

/* Both copies; zeros where the image has one only. */
static void read_supers(struct superblock supers[2])
{
    memset(supers, 0, 2 * sizeof *supers);
    for (int mirror = 0; mirror < 2; mirror++)
        if (superblock_offset(mirror) + SUPERBLOCK_SIZE <= image.size)
            image_read(&image, superblock_offset(mirror), &supers[mirror], SUPERBLOCK_SIZE);
}

/* Prints this line and no other. */
static void expect_label(const char *line)
{
    struct ran ran;
    run_command(&ran, image.path, "label");
    expect(ran.result == 0 && strcmp(ran.out, line) == 0, "%d, %s: %s", ran.result, ran.out,
           fail_message());
    ck_assert_uint_eq(ran.notes.count, 0);
    free(ran.out);
}

/* Sets the label, and prints nothing. */
static void set_label(const char *label)
{
    struct ran ran;
    run_command(&ran, image.path, "label", label);
    expect(ran.result == 0 && ran.length == 0, "%d, %s: %s", ran.result, ran.out, fail_message());
    ck_assert_int_eq(ran.leaked, 0);
    free(ran.out);
}

/* In both copies the label has changed, and else nothing but the checksum. */
static void expect_changed(const struct superblock before[2], const char *label)
{
    struct superblock after[2];
    read_supers(after);
    for (int mirror = 0; mirror < 2; mirror++) {
        struct superblock right = before[mirror];
        if (from_le64(right.magic) == 0)
            continue;
        memset(right.label, 0, LABEL_SIZE);
        memcpy(right.label, label, strlen(label));
        memset(right.csum, 0, CSUM_SIZE);
        put_csum(from_le16(right.csum_type), &right, sizeof right);
        ck_assert_mem_eq(&after[mirror], &right, sizeof right);
    }
}

START_TEST(show_and_set)
{
    static const char *const labels[] = {"x", "a longer one", "", "\xc3\xa4\xc3\xb6", " "};
    image_open(&image, "first");
    expect_label("first\n");
    for (size_t i = 0; i < LENGTH_OF(labels); i++) {
        struct superblock before[2];
        char line[100];
        read_supers(before);
        set_label(labels[i]);
        snprintf(line, sizeof line, "%s\n", labels[i]);
        expect_label(line);
        expect_changed(before, labels[i]);
    }
    image_close(&image);
}
END_TEST

/* On images of every make and checksum; trees and generation stay. */
START_TEST(every_image)
{
    for (size_t i = 0; image_names[i]; i++) {
        struct superblock before[2];
        image_open(&image, image_names[i]);
        uint64_t generation = from_le64(image.super.generation);
        read_supers(before);
        expect_output("\n", image.path, "label"); /* libraries keep what they allocate first */
        set_label("changed");
        expect_label("changed\n");
        expect_changed(before, "changed");
        struct superblock after[2];
        read_supers(after);
        ck_assert_uint_eq(from_le64(after[0].generation), generation);
        image_close(&image);
    }
}
END_TEST

/* 255 bytes are the longest. */
START_TEST(longest)
{
    char label[300], line[301];
    struct superblock before[2], after[2];
    image_open(&image, "first");
    for (size_t length = 254; length <= 258; length++) {
        memset(label, 'l', length);
        label[length] = '\0';
        if (length <= 255) {
            read_supers(before);
            set_label(label);
            expect_changed(before, label);
            snprintf(line, sizeof line, "%s\n", label);
            expect_label(line);
            continue;
        }
        char words[100];
        snprintf(words, sizeof words, "a label has at most 255 bytes, this one has %zu", length);
        read_supers(before);
        expect_refusal(-EINVAL, words, image.path, "label", label);
        read_supers(after);
        ck_assert_mem_eq(before, after, sizeof before);
    }
    image_close(&image);
}
END_TEST

START_TEST(one_line)
{
    static const char *const labels[] = {"\n", "a\nb", "end\n", "\nstart"};
    struct superblock before[2], after[2];
    image_open(&image, "first");
    read_supers(before);
    for (size_t i = 0; i < LENGTH_OF(labels); i++)
        expect_refusal(-EINVAL, "a label is one line", image.path, "label", labels[i]);
    read_supers(after);
    ck_assert_mem_eq(before, after, sizeof before);
    image_close(&image);
}
END_TEST

/* What an image holds is shown so that it does no harm; a label without an end ends at the end. */
START_TEST(odd_labels)
{
    image_open(&image, "first");
    struct superblock super = image.super;
    memset(super.label, 0, LABEL_SIZE);
    strcpy(super.label, "a\nb\x1b[31m\x7f\xff\\");
    image_put_super(&image, &super);
    expect_output("a\\x0ab\\x1b[31m\\x7f\\xff", image.path, "label");
    memset(super.label, 'z', LABEL_SIZE);
    super.cache_generation = to_le64(0x4141); /* what lies behind it */
    image_put_super(&image, &super);
    char line[LABEL_SIZE + 2];
    memset(line, 'z', LABEL_SIZE);
    strcpy(line + LABEL_SIZE, "\n");
    expect_label(line);
    image_close(&image);
}
END_TEST

/* What must not be written is refused; showing is possible. */
START_TEST(refused)
{
    struct superblock before[2], after[2];
    image_open(&image, "first");
    struct superblock super = image.super;
    super.compat_ro_flags = to_le64(1ULL << 40);
    image_put_super(&image, &super);
    read_supers(before);
    expect_label("first\n");
    expect_refusal(-EOPNOTSUPP, "compat_ro feature bit 40 is not known", image.path, "label", "x");
    read_supers(after);
    ck_assert_mem_eq(before, after, sizeof before);
    expect_refusal(-ENOENT, "No such file", "/nowhere", "label", "x");
    expect_refusal(-ENOENT, "No such file", "/nowhere", "label");
    image_close(&image);
}
END_TEST

/* Another writes: the label can be read, not set. */
START_TEST(locked)
{
    struct device *writer;
    image_open(&image, "first");
    expect_success(file_device_open(image.path, true, &writer));
    expect_refusal(-EBUSY, "is open for writing elsewhere", image.path, "label", "x");
    expect_label("first\n");
    device_close(writer);
    set_label("x");
    image_close(&image);
}
END_TEST

/* A mirror that was damaged is right afterwards. */
START_TEST(mends_mirrors)
{
    static const char torn[600] = "torn";
    for (int mirror = 0; mirror < 2; mirror++) {
        struct superblock before[2];
        struct ran ran;
        image_open(&image, "first");
        read_supers(before);
        image_write(&image, superblock_offset(mirror) + 700, torn, sizeof torn);
        run_command(&ran, image.path, "label", "whole");
        expect_success(ran.result);
        ck_assert_uint_eq(ran.notes.count, mirror == 0 ? 1 : 0);
        free(ran.out);
        expect_changed(before, "whole");
        image_close(&image);
    }
}
END_TEST

/* --- faults ------------------------------------------------------------------------- */

static const char *const words[] = {"label", "new", NULL};

/* The image opens, and has the old label or the new one. */
static bool is_new(void)
{
    struct device *device;
    struct superblock super;
    struct notes notes = {0};
    int mirror;
    expect_success(file_device_open(image.path, false, &device));
    expect_success(superblock_open(device, &super, &mirror, &notes));
    device_close(device);
    bool old = strcmp(super.label, "first") == 0, new = strcmp(super.label, "new") == 0;
    ck_assert(old || new);
    return new;
}

/* Each call of a kind fails in each way, alone and with all that follow. Success is said only where
 * both copies have it; failure never leaves a third state. */
START_TEST(faults)
{
    static const struct {
        enum fault_call call;
        enum fault_way way;
        int error;
        bool is_harmless;
    } kinds[] = {
        {FAULT_MEMORY, FAULT_ERROR, ENOMEM, false}, {FAULT_READ, FAULT_ERROR, EIO, false},
        {FAULT_READ, FAULT_PART, 0, true},          {FAULT_READ, FAULT_NONE, EIO, false},
        {FAULT_WRITE, FAULT_ERROR, EIO, false},     {FAULT_WRITE, FAULT_ERROR, ENOSPC, false},
        {FAULT_WRITE, FAULT_PART, 0, true},         {FAULT_WRITE, FAULT_NONE, EIO, false},
        {FAULT_FLUSH, FAULT_ERROR, EIO, false},     {FAULT_SEEK, FAULT_ERROR, EIO, false},
        {FAULT_STAT, FAULT_ERROR, EIO, false},
    };
    uint64_t count = 0;
    for (size_t i = 0; i < LENGTH_OF(kinds); i++)
        for (unsigned lasting = 0; lasting < 2; lasting++) {
            bool struck = true;
            for (uint64_t first = 0; struck; first++) {
                struct fault fault = {kinds[i].call, kinds[i].way, kinds[i].error, first,
                                      lasting ? FAULTS_WITHOUT_END : 1};
                struct superblock before[2];
                struct ran ran;
                if (lasting && kinds[i].way == FAULT_NONE && kinds[i].is_harmless)
                    break;
                image_open(&image, "first");
                read_supers(before);
                run_words(&ran, image.path, words, &fault);
                struck = ran.calls > first;
                count += struck;
                ck_assert_int_eq(ran.leaked, 0);
                ck_assert_uint_eq(ran.length, 0);
                if (ran.result == 0)
                    expect_changed(before, "new");
                else {
                    expect(struck && fail_message()[0], "kind %zu, call %ju", i, (uintmax_t)first);
                    expect(!kinds[i].is_harmless, "kind %zu, call %ju", i, (uintmax_t)first);
                    ck_assert_int_eq(ran.result, -kinds[i].error);
                    is_new();
                }
                free(ran.out);
                image_close(&image);
            }
        }
    ck_assert_uint_gt(count, 60);
}
END_TEST

/* A write that fails may have done any part of its work; the mirror is whole while the primary is
 * not. A label of more than 213 bytes lies in two sectors. */
static void check_torn(uint64_t call, size_t cut, const char *label)
{
    struct superblock before[2], after[2];
    struct ran ran;
    image_open(&image, "first");
    read_supers(before);
    struct superblock new = before[call];
    strcpy(new.label, label);
    put_csum(from_le16(new.csum_type), &new, sizeof new);
    struct fault fault = {FAULT_WRITE, FAULT_ERROR, EIO, call, FAULTS_WITHOUT_END};
    run_words(&ran, image.path, (const char *const[]){"label", label, NULL}, &fault);
    expect_failure(EIO, call ? "superblock 1: cannot write" : "superblock 0: cannot write",
                   ran.result);
    free(ran.out);
    read_supers(after);
    ck_assert_mem_eq(&after[call], &before[call], SUPERBLOCK_SIZE);
    image_write(&image, superblock_offset((int)call), &new, cut);

    char line[LABEL_SIZE + 1];
    size_t whole = strlen(label) > 213 ? 1024 : 512;
    bool is_torn = call == 0 && cut > 0 && cut < whole;
    snprintf(line, sizeof line, "%s\n", call == 1 || cut >= whole ? label : "first");
    run_command(&ran, image.path, "label");
    expect_success(ran.result);
    ck_assert_str_eq(ran.out, line);
    ck_assert_uint_eq(ran.notes.count, is_torn);
    if (is_torn)
        ck_assert_ptr_nonnull(strstr(ran.notes.text[0], "mirror 1 at 67108864 is used"));
    free(ran.out);
    set_label("at last"); /* and it can be set again */
    expect_label("at last\n");
    image_close(&image);
}

START_TEST(torn_writes)
{
    static const char *const labels[] = {
        "new",
        "a label of more than two hundred and thirteen bytes ... ... ... ... ... ... ... ... ... "
        "... ... ... ... ... ... ... ... ... ... ... ... ... ... ... ... ... ... ... ... ... ... "
        "... ... ... ... ... ... ... ... ... ... ... ... end",
    };
    for (size_t i = 0; i < LENGTH_OF(labels); i++)
        for (uint64_t call = 0; call < 2; call++)
            for (size_t cut = 0; cut <= SUPERBLOCK_SIZE; cut += SECTOR)
                check_torn(call, cut, labels[i]);
}
END_TEST

SUITE_WITH(cmd_label, 60, load_all_images, show_and_set, every_image, longest, one_line, odd_labels,
           refused, locked, mends_mirrors, faults, torn_writes)
