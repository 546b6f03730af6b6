# An image that the kernel has filled with files.
xz -dc "$COPPICE/tests/images/bgt-4k-xxhash.img.xz" > filled.img && coppice map --dot filled.img
