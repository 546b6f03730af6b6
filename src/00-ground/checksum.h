/* Checksums: the four algorithms that a file system may name in its superblock.
 *
 * All come from libraries: crc32c from isa-l (by the processor's own instructions), xxhash64 from
 * xxhash, sha256 and blake2b (256 bits) from libgcrypt.
 */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include "format.h"

#include <stddef.h>
#include <stdint.h>

/* How many bytes a checksum of this type has; 0 for a type that is not known. */
size_t csum_size(uint16_t type);

/* "crc32c", "xxhash64", "sha256", "blake2b", as mkfs.btrfs names them; NULL if not known. */
const char *csum_name(uint16_t type);

/* The checksum of `length` bytes as it lies on disk; what is left of `csum` becomes zero. The type
 * must be known. */
void csum_compute(uint16_t type, const void *data, size_t length, uint8_t csum[CSUM_SIZE]);

/* CRC-32C without the usual inversion before and after, as the hashes of names use it. The checksum
 * proper is ~crc32c(~0, data, length). */
uint32_t crc32c(uint32_t seed, const void *data, size_t length);

#endif
