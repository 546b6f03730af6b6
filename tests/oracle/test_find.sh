#!/bin/sh
# test_find.sh: `coppice find` over a sample of the keys that dump-tree shows, of trees of height 1 to 3
# or more. Each key is found, with as many blocks as the tree is high. Its absent neighbours are not:
# exit status 1 and one line that says so, with as many blocks.
. "$(dirname "$0")/oracle.sh"
need_kernel "find in images that the kernel makes"
open_work
mkdir "$work/images"
"$oracle/make-images.sh" "$work/images" n4k_crc32c n64k_crc32c many snapshots || failed=1
for packed in first tall; do xz -dc "$root/tests/images/$packed.img.xz" > "$work/images/$packed.img"; done

# From the normal form: "present TREE LEVEL KEY" for the first and the last key of each tree and some in
# between, and "absent TREE LEVEL KEY" for a key right behind each of them and at both ends. The sample
# is the same in every run: a random number generator of its own, from a fixed seed.
sample() {
    awk -F '|' -v wanted=200 '
        function random() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
        function present(i) {
            if (i in taken) return
            taken[i] = 1
            print "present", tree[i], level[tree[i]], key[i]
            # One more at the offset: absent unless it is the next key.
            split(key[i], word, /[() ]/)
            if (word[4] !~ /^[0-9]+$/ || length(word[4]) > 15) return
            next_key = "(" word[2] " " word[3] " " sprintf("%.0f", word[4] + 1) ")"
            if (!((tree[i], next_key) in has)) print "absent", tree[i], level[tree[i]], next_key
        }
        $2 == "tree" { match($3, /level=[0-9]+/); level[$1] = substr($3, RSTART + 6, RLENGTH - 6); next }
        $2 ~ /^\(/ && $3 ~ /^item slot=/ {
            tree[++n] = $1
            key[n] = $2
            has[$1, $2] = 1
            if ($1 != tree[n - 1]) starts[++trees] = n
        }
        END {
            seed = 20240229
            starts[trees + 1] = n + 1
            for (i = 1; i <= trees; i++) {
                present(starts[i])
                present(starts[i + 1] - 1)
                print "absent", tree[starts[i]], level[tree[starts[i]]], "(0 0 0)"
                print "absent", tree[starts[i]], level[tree[starts[i]]], "(-1 255 -1)"
            }
            for (i = 0; i < wanted; i++) present(1 + int(random() * n))
        }' "$1"
}

for image in "$work"/images/*.img; do
    name=$(basename "$image" .img)
    btrfs inspect-internal dump-tree --dfs "$image" | awk -f "$oracle/theirs.awk" > "$work/normal"
    sample "$work/normal" > "$work/sample"
    : > "$work/faults"
    while read -r kind tree level key; do
        "$coppice" find "$image" "$tree" "$key" --stats > "$work/out" 2> "$work/err"
        status=$?
        if [ "$kind" = present ]; then right="0 found yes" errors=0; else right="1 found no" errors=1; fi
        found=$(sed -n 's/^find tree .* key (.*) found \(.*\)/\1/p' "$work/out")
        [ "$status found $found" = "$right" ] ||
            echo "$tree $key ($kind): exit status $status, found $found" >> "$work/faults"
        [ "$(grep -c . "$work/err")" = $errors ] && { [ $errors = 0 ] || grep -qF 'has no item (' "$work/err"; } ||
            sed "s/^/$tree $key ($kind): /" "$work/err" >> "$work/faults"
        grep -q "stats height $((level + 1)) blocks $((level + 1)) " "$work/out" ||
            echo "$tree $key ($kind): $(grep 'stats height' "$work/out")" >> "$work/faults"
        [ "$kind" = absent ] || grep -qF "key $key " "$work/out" || echo "$tree $key: not told" >> "$work/faults"
    done < "$work/sample"
    [ -s "$work/sample" ] || echo "no keys" > "$work/faults"
    check "find in $name: $(grep -c '^present' "$work/sample") keys, $(grep -c '^absent' "$work/sample") absent ones, $(
        awk '{ print $2 }' "$work/sample" | sort -u | wc -l) trees up to height $(
        awk '$3 >= top { top = $3 + 1 } END { print top }' "$work/sample")" "$work/faults"
done
exit $failed
