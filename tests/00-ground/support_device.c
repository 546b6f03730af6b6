#include "support_device.h"

#include "fail.h"
#include "support.h"

#include <dirent.h>
#include <string.h>

enum { MODEL_SIZE = 1 << 16, STEPS = 2000 };

struct device *make_memory(uint64_t size)
{
    struct device *device;
    expect_success(memory_device_open(size, &device));
    return device;
}

/* What would pass the end is refused, also where offset + length wraps around; nothing is touched.
 */
static void check_end(struct device *device, uint64_t size)
{
    static const struct {
        uint64_t beyond; /* how far behind the last `length` bytes */
        size_t length;
    } cases[] = {{1, 1}, {1, 4096}, {4096, 4096}, {1, 0}, {1ULL << 40, 8}};
    unsigned char bytes[4096];
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        uint64_t offset = size - cases[i].length + cases[i].beyond;
        expect_failure(EIO, "passes the end", device_read(device, offset, bytes, cases[i].length));
        expect_failure(EIO, "passes the end", device_write(device, offset, bytes, cases[i].length));
    }
    for (uint64_t offset = UINT64_MAX; offset > UINT64_MAX - 4096; offset -= 1365) {
        expect_failure(EIO, "passes the end", device_read(device, offset, bytes, sizeof bytes));
        expect_failure(EIO, "passes the end", device_write(device, offset, bytes, sizeof bytes));
    }
    expect_success(device_read(device, size, bytes, 0));
    expect_success(device_write(device, size, bytes, 0));
}

static void check_resize(struct device *device, struct dice *dice, unsigned char *model,
                         uint64_t *size)
{
    uint64_t next = 8192 + dice_below(dice, MODEL_SIZE - 8192);
    expect_success(device_resize(device, next));
    if (next < *size)
        memset(model + next, 0, *size - next);
    *size = next;
}

void check_device_rules(struct device *device, bool can_resize)
{
    static unsigned char model[MODEL_SIZE], bytes[MODEL_SIZE];
    struct dice dice = {7};
    uint64_t size, told;
    memset(model, 0, sizeof model);
    expect_success(device_size(device, &size));
    for (unsigned step = 0; step < STEPS; step++) {
        if (can_resize && step % 50 == 49)
            check_resize(device, &dice, model, &size);
        uint64_t offset = dice_below(&dice, size);
        size_t length = dice_below(&dice, size - offset + 1);
        if (step % 2) {
            dice_fill(&dice, model + offset, length);
            expect_success(device_write(device, offset, model + offset, length));
        } else {
            expect_success(device_read(device, offset, bytes, length));
            expect(memcmp(bytes, model + offset, length) == 0, "step %u", step);
        }
        expect_success(device_size(device, &told));
        expect(told == size, "size %ju, not %ju", (uintmax_t)told, (uintmax_t)size);
    }
    check_end(device, size);
    expect_success(device_flush(device));
    expect_success(device_read(device, 0, bytes, size));
    expect(memcmp(bytes, model, size) == 0, "the bytes at the end");
}

int open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}
