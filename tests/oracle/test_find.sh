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

# Reads the answers: what is wrong with them, a line each.
wrong() {
    awk '
        function fault(text) { print tree " " key " (" kind "): " text }
        function settle() {
            if (kind == "") return
            if (status != (kind == "absent")) fault("exit status " status)
            if (found != (kind == "present" ? "yes" : "no")) fault("found: " found)
            if (blocks != level + 1 || height != level + 1) fault(blocks " blocks, height " height ", not " level + 1)
            if (kind == "present" && !told) fault("the item found is another one")
            if (kind == "absent" && (errors != 1 || !named)) fault(errors + 0 " lines of error, or not that it has no such item")
            if (kind == "present" && errors) fault("a line of error")
        }
        $1 == "ask" {
            kind = $2; tree = $3; level = $4; key = $5 " " $6 " " $7
            found = blocks = height = ""
            errors = named = told = 0
            next
        }
        $1 == "status" { status = $2; settle(); next }
        /^coppice: / { errors++; if (/ has no item \(/) named = 1; next }
        /^find tree / { found = $NF }
        /^  item slot / && index($0, " key " key " ") { told = 1 }
        /^  stats height / { height = $3; blocks = $5 }' "$1"
}

for image in "$work"/images/*.img; do
    name=$(basename "$image" .img)
    btrfs inspect-internal dump-tree --dfs "$image" | awk -f "$oracle/theirs.awk" > "$work/normal"
    sample "$work/normal" > "$work/sample"
    while read -r kind tree level key; do
        echo "ask $kind $tree $level $key"
        "$coppice" find "$image" "$tree" "$key" --stats 2>&1
        echo "status $?"
    done < "$work/sample" > "$work/answers"
    wrong "$work/answers" > "$work/faults"
    [ -s "$work/sample" ] || echo "no keys" > "$work/faults"
    check "find in $name: $(awk '
        { n[$1]++; if (!($2 in seen)) trees++; seen[$2] = 1; if ($3 >= height) height = $3 + 1 }
        END { printf "%d keys, %d absent ones, %d trees up to height %d", n["present"], n["absent"], trees, height }
        ' "$work/sample")" "$work/faults"
done
exit $failed
