#include "support_faults.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct fault fault;
static bool counting;
static uint64_t calls;

void faults_begin(const struct fault *wanted)
{
    fault = *wanted;
    calls = 0;
    counting = true;
}

uint64_t faults_end(void)
{
    counting = false;
    return calls;
}

/* malloc is called before the sanitizers are ready to look at what it does. */
#define EARLY __attribute__((no_sanitize("address,undefined")))

/* Is this call one that fails? */
EARLY static bool strikes(enum fault_call call)
{
    if (!counting || fault.call != call)
        return false;
    uint64_t number = calls++;
    if (number < fault.first || number - fault.first >= fault.failing)
        return false;
    errno = fault.error;
    return true;
}

/* --- memory ------------------------------------------------------------------------- */

/* What is behind the definitions here: AddressSanitizer, or the C library. */
#ifdef __SANITIZE_ADDRESS__
#define REAL(name) __interceptor_##name

/* The leak checker knows what the dynamic linker allocates by its direct caller, which is here; the
 * linker has no names to go by, but it has a file name. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:ld-linux\n";
}

/* What no memory can hold is a case of the tests, and no reason to stop. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#else
#define REAL(name) __libc_##name
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *memory, size_t size);
void REAL(free)(void *memory);

static int64_t pieces;

int64_t memory_pieces(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0; /* it looks for leaks itself, and its strdup would not be counted */
#else
    return pieces;
#endif
}

EARLY static void *count_piece(void *memory)
{
    pieces += memory != NULL;
    return memory;
}

EARLY void *malloc(size_t size)
{
    return strikes(FAULT_MEMORY) ? NULL : count_piece(REAL(malloc)(size));
}

EARLY void *calloc(size_t count, size_t size)
{
    return strikes(FAULT_MEMORY) ? NULL : count_piece(REAL(calloc)(count, size));
}

EARLY void *realloc(void *memory, size_t size)
{
    if (strikes(FAULT_MEMORY))
        return NULL;
    void *moved = REAL(realloc)(memory, size);
    return memory ? moved : count_piece(moved);
}

EARLY void free(void *memory)
{
    pieces -= memory != NULL;
    REAL(free)(memory);
}

/* --- files -------------------------------------------------------------------------- */

/* What becomes of a transfer of `length` bytes that is struck: its new length, or -1. */
static ssize_t struck(size_t length)
{
    if (fault.way == FAULT_ERROR)
        return -1;
    return fault.way == FAULT_PART ? (ssize_t)(length + 1) / 2 : 0;
}

ssize_t pread64(int fd, void *buffer, size_t length, off64_t offset)
{
    ssize_t most = strikes(FAULT_READ) ? struck(length) : (ssize_t)length;
    return most <= 0 ? most : syscall(SYS_pread64, fd, buffer, (size_t)most, offset);
}

ssize_t pwrite64(int fd, const void *buffer, size_t length, off64_t offset)
{
    ssize_t most = strikes(FAULT_WRITE) ? struck(length) : (ssize_t)length;
    return most <= 0 ? most : syscall(SYS_pwrite64, fd, buffer, (size_t)most, offset);
}

int fdatasync(int fd)
{
    return strikes(FAULT_FLUSH) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

off64_t lseek64(int fd, off64_t offset, int whence)
{
    return strikes(FAULT_SEEK) ? -1 : syscall(SYS_lseek, fd, offset, whence);
}

int fstat64(int fd, struct stat64 *status)
{
    return strikes(FAULT_STAT) ? -1 : (int)syscall(SYS_fstat, fd, status);
}
