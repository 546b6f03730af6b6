/* coppice label IMAGE [NAME]: shows or sets the name of a file system. */
#include "change_command.h"
#include "commit.h"
#include "fail.h"
#include "report.h"
#include "volume_command.h"

#include <string.h>

static int set_label(struct invocation *invocation, struct volume *volume, const void *context)
{
    bool is_on_device;
    (void)context;
    const char *label = invocation->args[0];
    size_t length = strlen(label);
    if (length >= LABEL_SIZE)
        return fail(EINVAL, "a label has at most %d bytes, this one has %zu", LABEL_SIZE - 1,
                    length);
    if (memchr(label, '\n', length))
        return fail(EINVAL, "a label is one line");
    memset(volume->super.label, 0, LABEL_SIZE);
    memcpy(volume->super.label, label, length);
    return superblock_commit(volume, &is_on_device);
}

static int get_label(struct invocation *invocation, struct volume *volume, const void *context)
{
    (void)context;
    const char *label = volume->super.label;
    report_printable(invocation->out, label, strnlen(label, LABEL_SIZE));
    fputc('\n', invocation->out);
    return 0;
}

static int run(struct invocation *invocation)
{
    return invocation->nargs ? change_command(invocation, set_label, NULL)
                             : volume_command(invocation, get_label, NULL);
}

const struct command cmd_label = {
    .name = "label",
    .args = "IMAGE [NAME]",
    .doc = "Show or set the label of a file system.\v"
           "Without NAME the label is printed, with NAME it is set; \"\" takes it away. A label is "
           "one line of at most 255 bytes.",
    .min_args = 0,
    .max_args = 1,
    .run = run,
};
