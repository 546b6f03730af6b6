/* Power cuts: from the record of what a device was asked to all that a cut can leave behind.
 *
 * What was written before a flush is safe when the flush returns. Of what was written after the
 * last one any part may be on the device: each write, or some of its sectors of 512 bytes, or
 * nothing. Such states are laid over the device as it was; that one is never changed, so states can
 * be made on states.
 */
#ifndef SUPPORT_CRASH_H
#define SUPPORT_CRASH_H

#include "device.h"
#include "support.h"
#include "volume.h"

enum { OVERLAY_WRITES = 2048, OVERLAY_ROOM = 24 << 20, SECTOR = 512 };

/* --- a device over another ---------------------------------------------------------- */

/* Writes stay in the overlay; what lies under it is the caller's and does not change. One call of
 * one kind can be made to fail, alone. */
struct overlay {
    struct device device;
    struct device *under;
    size_t count;
    struct {
        uint64_t offset;
        size_t length;
        const unsigned char *bytes;
    } writes[OVERLAY_WRITES]; /* the last one counts */
    unsigned char *room;      /* of those that came by device_write */
    size_t used;
    uint64_t calls[DEVICE_RESIZE + 1]; /* by kind, those that failed too */
    struct {
        enum device_event_type type;
        uint64_t call;  /* which fails, from 0; UINT64_MAX: none */
        size_t written; /* by it all the same, where it is a write */
        bool is_passed; /* it happened */
    } fault;
};

void overlay_open(struct overlay *overlay, struct device *under);
void overlay_close(struct overlay *overlay);
void overlay_clear(struct overlay *overlay); /* as it was when it was opened */

/* Lays bytes over the device, which stay the caller's. */
void overlay_put(struct overlay *overlay, uint64_t offset, const void *bytes, size_t length);

/* Writes all that is in the overlay to what is under it, and clears it. */
void overlay_settle(struct overlay *overlay);

/* --- states ------------------------------------------------------------------------- */

/* What an image holds, as one number: the superblock, but for what depends on its place, and all
 * items of all trees. */
struct state {
    uint64_t digest;
    uint64_t generation;
    int mirror;
    struct notes notes;
    uint64_t blocks; /* of all trees */
};

/* 0, or why the image cannot be opened or read to its end. */
int state_read(struct state *state, struct device *device);

/* The same, which must succeed. */
struct state state_of(struct device *device);

/* --- cuts --------------------------------------------------------------------------- */

struct crash {
    struct device *device; /* as the cut leaves it; may be written to */
    unsigned flushes;      /* that were passed */
    bool is_torn;          /* a superblock is in part written */
    char what[160];        /* for messages */
};

struct crash_plan {
    struct device *before;
    const struct device_event *events;
    size_t count;
    unsigned all;    /* of so many writes between two flushes every subset is tried */
    unsigned random; /* of more so many, beside prefixes and all but one */
    unsigned tears;  /* for each of these subsets so many with one torn block */
    bool cuts;       /* a superblock is torn at the 7 places between its sectors only */
    void (*check)(const struct crash *crash, void *context);
    void *context;
    uint64_t seed;
};

/* Calls `check` for each state. How many there were. Superblocks are torn in all 254 ways;
 * where there are two between two flushes, both at once too. */
uint64_t crash_each(const struct crash_plan *plan);

#endif
