/* Where in the file the image lies: for every command. */
#include "command.h"

extern const struct argp_option options_image[];
const struct argp_option options_image[] = {
    {"offset", 0, "BYTES", 0, "The image begins there in the file (K, M, G: powers of 1024)", 1},
    {"partition", 0, "N", 0, "The image is partition N of a disk (GPT or MBR)", 1},
    {0},
};
