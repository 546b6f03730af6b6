/* Faults on demand: the n-th call of malloc, pread, ... of this process fails.
 *
 * The test program defines these functions itself, so that every call goes through here, those of
 * the libraries too; each does what the C library's does, until it is told to fail.
 */
#ifndef SUPPORT_FAULTS_H
#define SUPPORT_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_call {
    FAULT_MEMORY, /* malloc, calloc, realloc: ENOMEM */
    FAULT_READ,   /* pread */
    FAULT_WRITE,  /* pwrite */
    FAULT_FLUSH,  /* fdatasync */
    FAULT_SEEK,   /* lseek */
    FAULT_STAT,   /* fstat */
};

enum fault_way {
    FAULT_ERROR, /* the call fails with `error` */
    FAULT_PART,  /* it does half of its work, rightly (reads, writes) */
    FAULT_NONE,  /* it does nothing and says so: 0 bytes */
};

struct fault {
    enum fault_call call;
    enum fault_way way;
    int error;
    uint64_t first;   /* the number of the call that fails, from 0 */
    uint64_t failing; /* how many calls fail from there on */
};

#define FAULTS_WITHOUT_END UINT64_MAX

/* Begins to count, and to fail when its time has come. */
void faults_begin(const struct fault *fault);

/* Ends it. How many calls of the kind there were. */
uint64_t faults_end(void);

/* Pieces of memory that were allocated and not freed. */
int64_t memory_pieces(void);

#endif
