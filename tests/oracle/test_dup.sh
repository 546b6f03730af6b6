#!/bin/sh
# test_dup.sh: damage and the copies. Each metadata block of a DUP image is damaged in several ways. The
# first copy: the dump is the same, exit status 0, a warning names block, copies and fault. The second:
# nothing is noticed. Both: exit status 1, one line that names the block and the fault of each copy.
# Then the superblock: the mirror takes the place of a bad primary, and it is said; none good: exit 1.
# Where the blocks and their copies lie is told by dump-tree.
. "$(dirname "$0")/oracle.sh"
open_work
image=$work/image

# --- damage ------------------------------------------------------------------------------------------

# put FILE AT: FILE's bytes into the image at this offset, a multiple of 4096.
put() { dd if="$1" of="$image" bs=4096 seek=$(($2 / 4096)) conv=notrunc 2> /dev/null; }
# get IMAGE AT SIZE
get() { dd if="$1" bs=4096 skip=$(($2 / 4096)) count=$(($3 / 4096)) 2> /dev/null; }
# flip FILE AT BIT: FILE with one bit turned.
flip() {
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    if [ $((byte >> $3 & 1)) = 1 ]; then byte=$((byte - (1 << $3))); else byte=$((byte + (1 << $3))); fi
    { head -c "$2" "$1"; printf "\\$(printf '%03o' $byte)"; tail -c +$(($2 + 2)) "$1"; }
}

# "BYTENR PHYSICAL PHYSICAL" of each block that is in a tree and has two copies.
block_list() {
    btrfs inspect-internal dump-tree "$1" | awk '
        /^\titem .* CHUNK_ITEM / { logical = substr($6, 1, length($6) - 1); order[++chunks] = logical }
        /^\t\tlength .* stripe_len / { length_of[logical] = $2 }
        /^\t\t\tstripe [0-9]+ devid / { at[logical, $2] = $6; copies[logical] = $2 + 1 }
        /^(leaf|node) [0-9]+ (level|items)/ && !seen[$2]++ { blocks[++n] = $2 }
        END {
            for (i = 1; i <= n; i++)
                for (j = 1; j <= chunks; j++) {
                    within = blocks[i] - order[j]
                    if (within >= 0 && within < length_of[order[j]] && copies[order[j]] == 2)
                        printf "%.0f %.0f %.0f\n", blocks[i], at[order[j], 0] + within, at[order[j], 1] + within
                }
        }'
}

# --- what must come of it ------------------------------------------------------------------------------

dump() {
    "$coppice" dump "$image" > "$work/out" 2> "$work/err"
    status=$?
}
fault() { echo "$what: $*" >> "$work/faults"; }
same_dump() {
    [ $status = 0 ] || fault "exit status $status: $(head -n 1 "$work/err")"
    cmp -s "$work/out" "$work/right" || fault "another dump"
}
expect_fallback() {
    same_dump
    mark="coppice: $image: warning: copy 1 at $first: "
    end="; copy 2 at $second is used"
    awk -v mark="$mark" -v end="$end" -v block="$block" '
        index($0, mark) != 1 || substr($0, length($0) - length(end) + 1) != end ||
            !match($0, "(block|leaf|node) " block "( slot [0-9]+)?: ") { print; bad = 1 }
        END { if (NR == 0) print "no warning" }' "$work/err" > "$work/bad"
    [ ! -s "$work/bad" ] || fault "$(head -n 1 "$work/bad")"
}
expect_nothing() {
    same_dump
    [ ! -s "$work/err" ] || fault "$(head -n 1 "$work/err")"
}
expect_failure() {
    [ $status = 1 ] || fault "exit status $status"
    [ "$(grep -c . "$work/err")" = 1 ] || fault "$(grep -c . "$work/err") lines of error: $(head -n 1 "$work/err")"
    for pattern; do grep -q "^coppice: $image: .*$pattern" "$work/err" || fault "no '$pattern': $(head -n 1 "$work/err")"; done
}

# --- blocks ----------------------------------------------------------------------------------------------

# blocks NAME SIZE [OLDER-IMAGE...]: every block of $image, of this node size; older versions of a block
# are looked for in the older images.
blocks() {
    name=$1 size=$2
    shift 2
    what=$name
    dump
    mv "$work/out" "$work/right"
    : > "$work/faults"
    [ $status = 0 ] && [ ! -s "$work/err" ] || fault "cannot be dumped: $(head -n 1 "$work/err")"
    block_list "$image" > "$work/blocks"
    set_of=$(wc -l < "$work/blocks")
    count=0 damages=0 old=0
    previous=
    while read -r block first second; do
        get "$image" "$first" "$size" > "$work/good"
        get "$image" "$second" "$size" | cmp -s - "$work/good" || fault "$block: the copies differ"
        count=$((count + 1))
        rm -f "$work"/bad-*
        head -c "$size" /dev/zero > "$work/bad-zeros"
        head -c "$size" /dev/urandom > "$work/bad-noise"
        flip "$work/good" $((count * 7919 % (size - 32) + 32)) $((count % 8)) > "$work/bad-flip"
        flip "$work/good" $((count % 4)) $((count % 8)) > "$work/bad-sum"
        { head -c $((size / 2)) "$work/good"; head -c $((size / 2)) /dev/zero; } > "$work/bad-half"
        [ -z "$previous" ] || get "$image" "$previous" "$size" > "$work/bad-other"
        previous=$first
        for older; do
            awk -v block="$block" '$1 == block { found = 1 } END { exit !found }' "$older.blocks" || continue
            get "$older" "$first" "$size" > "$work/bad-older"
            if cmp -s "$work/bad-older" "$work/good"; then rm "$work/bad-older"; continue; fi
            old=$((old + 1))
            break
        done
        for bad in "$work"/bad-*; do
            ! cmp -s "$bad" "$work/good" || continue
            damages=$((damages + 1))
            what="$block, ${bad#"$work"/bad-}"
            put "$bad" "$first"
            dump
            expect_fallback
            put "$work/bad-zeros" "$second"
            dump
            expect_failure "copy 1 at $first: [a-z]* $block[: ].*; copy 2 at $second: [a-z]* $block[: ]"
            put "$work/good" "$first"
            dump
            expect_nothing
            put "$work/good" "$second"
        done
    done < "$work/blocks"
    [ "$count" -gt 0 ] || fault "no block with two copies"
    check "damaged copies of $name: $count blocks, $damages damages, $old of them an older block" "$work/faults"

    # All first copies at once; then the first of every other block, and the second of the others.
    : > "$work/faults"
    cp --sparse=always "$image" "$work/saved"
    what="all first copies"
    while read -r block first second; do put "$work/bad-zeros" "$first"; done < "$work/blocks"
    dump
    same_dump
    [ "$(grep -c ': warning: copy 1 at ' "$work/err")" -ge $((set_of < 16 ? set_of : 16)) ] ||
        fault "$(grep -c ': warning: copy 1 at ' "$work/err") warnings"
    grep -q 'warning: and [0-9]* more' "$work/err" || [ "$set_of" -lt 16 ] || fault "no word of the other warnings"
    what="every other copy"
    cp --sparse=always "$work/saved" "$image"
    turn=0
    while read -r block first second; do
        turn=$((1 - turn))
        if [ $turn = 1 ]; then put "$work/bad-zeros" "$first"; else put "$work/bad-zeros" "$second"; fi
    done < "$work/blocks"
    dump
    same_dump
    mv "$work/saved" "$image"
    check "many damaged copies of $name" "$work/faults"
}

# --- superblock ----------------------------------------------------------------------------------------------

# superblock NAME LAST [OLDER-IMAGE]: all mirrors, of which LAST is the last, 1 or 2.
superblock() {
    name=$1 last=$2 older=${3-}
    what=$name
    dump
    mv "$work/out" "$work/right"
    : > "$work/faults"
    primary=65536 mirror=67108864 third=274877906944
    get "$image" $primary 4096 > "$work/good"
    get "$image" $mirror 4096 > "$work/good-mirror"
    rm -f "$work"/bad-*
    head -c 4096 /dev/zero > "$work/bad-zeros"
    head -c 4096 /dev/urandom > "$work/bad-noise"
    cp "$work/good-mirror" "$work/bad-mirror"
    for at in 0 3 32 48 64 72 80 136 299 900 4095; do
        flip "$work/good" $at $((at % 8)) > "$work/bad-flip-$at"
    done
    { head -c 512 "$work/good"; head -c 3584 /dev/zero; } > "$work/bad-torn"
    [ -z "$older" ] || { head -c 512 "$work/good"; get "$older" $primary 4096 | tail -c 3584; } > "$work/bad-torn-older"
    damages=0
    for bad in "$work"/bad-*; do
        damages=$((damages + 1))
        what="primary, ${bad#"$work"/bad-}"
        put "$bad" $primary
        dump
        same_dump
        grep -q "^coppice: $image: warning: superblock at 65536: .*; mirror 1 at 67108864 is used, of generation [0-9]*$" "$work/err" &&
            [ "$(grep -c . "$work/err")" = 1 ] || fault "the warning: $(cat "$work/err")"
        put "$work/bad-zeros" $mirror
        dump
        if [ "$last" = 2 ]; then
            same_dump
            grep -q "superblock at 65536: .*; mirror 2 at $third is used" "$work/err" || fault "the warning: $(cat "$work/err")"
            get "$image" $third 4096 > "$work/good-third"
            put "$work/bad-zeros" $third
            dump
            put "$work/good-third" $third
        fi
        expect_failure 'superblock at 65536: '
        put "$work/good" $primary
        dump
        expect_nothing
        put "$work/good-mirror" $mirror
    done
    check "damaged superblocks of $name: $damages damages" "$work/faults"
}

# A good but older primary counts, as it does for the kernel. It must not give a wrong dump: the one of
# its time, or where its blocks have been written over an error that says so. An older mirror likewise,
# where the primary is bad.
old_superblock() {
    older=$1
    : > "$work/faults"
    get "$image" 65536 4096 > "$work/good"
    get "$image" 67108864 4096 > "$work/good-mirror"
    "$coppice" dump "$older" > "$work/right"
    get "$older" 65536 4096 > "$work/old"
    what="older primary"
    put "$work/old" 65536
    dump
    if [ $status = 0 ]; then expect_nothing; else expect_failure '[a-z]* [0-9]*: '; fi
    outcome=$status
    what="older mirror"
    head -c 4096 /dev/zero > "$work/zeros"
    put "$work/zeros" 65536
    get "$older" 67108864 4096 > "$work/old"
    put "$work/old" 67108864
    dump
    if [ $status = 0 ]; then same_dump; else [ $status = 1 ] || fault "exit status $status"; fi
    grep -q 'warning: superblock at 65536: .*; mirror 1 at 67108864 is used' "$work/err" || fault "no warning"
    put "$work/good" 65536
    put "$work/good-mirror" 67108864
    check "an older superblock: as primary exit status $outcome, as mirror $status" "$work/faults"
}

# --- the images ------------------------------------------------------------------------------------------------

if ! command -v mkfs.btrfs > /dev/null; then
    echo "ok - damaged copies # SKIP btrfs-progs is not installed"
    exit 0
fi
xz -dc "$root/tests/images/first.img.xz" > "$image"
blocks first.img 4096
superblock first.img 1

rm "$image"
truncate -s 257G "$image"
mkfs.btrfs -q -m dup "$image" > /dev/null
superblock "an image of 257 GiB" 2

rm "$image"
truncate -s 48M "$image"
mkfs.btrfs -q -M -m single -d single "$image" > /dev/null
head -c 4096 /dev/zero > "$work/zeros"
: > "$work/faults"
what="no mirror"
put "$work/zeros" 65536
dump
expect_failure 'superblock at 65536: '
check "a damaged superblock where there is no mirror" "$work/faults"

reason=$(why_no_kernel)
if [ -n "$reason" ]; then
    echo "ok - older blocks, other checksums # SKIP $reason"
    exit $failed
fi

# Rounds of changes, with a copy of the image after each: they hold older versions of its blocks.
rm "$image"
truncate -s 128M "$image"
mkfs.btrfs -q -n 4096 --csum xxhash -m dup "$image" > /dev/null
mkdir "$work/mnt"
olders=
for round in 1 2 3 4 5 6 7 8; do
    mount -o loop "$image" "$work/mnt"
    for i in 1 2 3 4 5 6 7 8 9; do echo "$round" > "$work/mnt/file$((i * round % 11))"; done
    for i in 1 2 3 4 5 6; do
        echo "$round" > "$work/mnt/file$i"
        sync -f "$work/mnt"
    done
    umount "$work/mnt"
    [ $round = 8 ] && break
    cp --sparse=always "$image" "$work/round$round"
    block_list "$work/round$round" > "$work/round$round.blocks"
    olders="$work/round$round $olders"
done
blocks "an image with xxhash and older blocks" 4096 $olders
superblock "that image" 1 "$work/round7"
old_superblock "$work/round7"
old_superblock "$work/round2"

"$oracle/make-images.sh" "$work/images" n32k_blake2 && mv "$work/images/n32k_blake2.img" "$image" &&
    blocks n32k_blake2 32768 || failed=1
exit $failed
