#!/bin/sh
# test_dump.sh: `coppice dump` before its judge, image by image: those of tests/images, then, where
# there are root and loop devices, all that make-images.sh makes. One TAP line an image.
. "$(dirname "$0")/oracle.sh"
open_work
mkdir "$work/images"

for packed in "$root"/tests/images/*.img.xz; do
    name=$(basename "$packed" .img.xz)
    xz -dc "$packed" > "$work/image" && "$oracle/judge-dump.sh" "$work/image" "$name" || failed=1
done
rm -f "$work/image"

reason=$(why_no_kernel)
if [ -n "$reason" ]; then
    echo "ok - dumps of images that the kernel makes # SKIP $reason"
    exit $failed
fi
"$oracle/make-images.sh" "$work/images" 2> /dev/null
while read -r name why; do echo "ok - dump of $name # SKIP $why"; done < "$work/images/skipped"
while read -r fault; do
    echo "not ok - making the image $fault"
    failed=1
done < "$work/images/failed"
for image in "$work"/images/*.img; do
    "$oracle/judge-dump.sh" "$image" || failed=1
    rm "$image"
done
exit $failed
