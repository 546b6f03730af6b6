# A new file system of 64 MiB with two copies of its trees.
coppice mkfs --metadata dup --size 64M --uuid 0c0ffee0-1234-4321-8888-00000c0bb1ce --time 0 new.img > /dev/null &&
    coppice map --dot new.img
