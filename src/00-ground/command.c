#include "command.h"

#include "fail.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *invocation_option(const struct invocation *invocation, const char *name)
{
    for (int i = invocation->noptions; i-- > 0;)
        if (strcmp(invocation->options[i].name, name) == 0)
            return invocation->options[i].value;
    return NULL;
}

int parse_number(const char *text, uint64_t *value)
{
    /* strtoull would take signs and leading space. */
    if (!isdigit((unsigned char)text[0]))
        return fail(EINVAL, "'%s' is not a number", text);
    char *end;
    errno = 0;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    unsigned long long number = strtoull(text, &end, hexadecimal ? 16 : 10);
    if (errno == ERANGE)
        return fail(EINVAL, "'%s' is too large", text);

    static const char units[] = "KMGTPE";
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (end[unit ? 1 : 0])
        return fail(EINVAL, "'%s' is not a number", text);
    if (number > UINT64_MAX >> shift)
        return fail(EINVAL, "'%s' is too large", text);
    *value = (uint64_t)number << shift;
    return 0;
}

int invocation_number(const struct invocation *invocation, const char *name, uint64_t *value)
{
    const char *text = invocation_option(invocation, name);
    if (!text || parse_number(text, value) == 0)
        return 0;
    return wrong_usage("--%s: %s", name, fail_message());
}

int wrong_usage(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(EINVAL, "%s", text);
    return EXIT_USAGE;
}

int invocation_open(const struct invocation *invocation, bool writable, struct device **device)
{
    uint64_t offset = 0, partition = 0;
    int result = invocation_number(invocation, "offset", &offset);
    if (result == 0)
        result = invocation_number(invocation, "partition", &partition);
    if (result != 0)
        return result;
    bool in_partition = invocation_option(invocation, "partition") != NULL;
    if (in_partition && (partition < 1 || partition > INT_MAX))
        return wrong_usage("--partition: partitions are counted from 1");
    if (in_partition && invocation_option(invocation, "offset"))
        return wrong_usage("--offset and --partition exclude each other");

    struct device *file;
    result = file_device_open(invocation->image, writable, &file);
    if (result < 0)
        return result;
    *device = file;
    if (in_partition)
        result = partition_device_open(file, invocation->image, (int)partition, device);
    else if (offset)
        result = window_device_open(file, offset, 0, device);
    if (result < 0)
        device_close(file);
    return result;
}
