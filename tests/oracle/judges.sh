# Owns what the judges of a file system say: sourced behind oracle.sh by the scripts that let one be
# written. $image is looked at, $mnt is where it is mounted, faults gather in $work/faults. LONG=1 in the
# environment asks for the long form of a script.
mnt=$work/mnt
mkdir -p "$mnt"
judgements=0

fault() { echo "$what: $*" >> "$work/faults"; }
# Runs a command that must succeed; its last lines are the fault.
must() {
    "$@" > "$work/must" 2>&1 || {
        fault "$*: exit status $?: $(tail -n 3 "$work/must" | tr '\n' ' ')"
        return 1
    }
}
fsid() { blkid -p -s UUID -o value "$image"; }

# fsck [OPTION...]: btrfs check, which must find nothing; some faults it tells with exit status 0.
fsck() {
    judgements=$((judgements + 1))
    btrfs check "$@" "$image" > "$work/fsck" 2>&1 || fault "btrfs check $*: exit status $?"
    grep -v 'no error found\|^UUID: \|^WARNING: low-memory mode\|space cache will be invalidated' "$work/fsck" |
        grep -iE 'error|mismatch|incorrect|corrupt|warning|bad|wrong|missing|invalid|extent item|leaf|failed' |
        sed "s|^|$what: btrfs check $*: |" | head -n 5 >> "$work/faults"
}

# Every mirror that has room, no more, and all of one generation.
mirrors() {
    size=$(stat -c %s "$image")
    expected=$((1 + (size >= 67112960) + (size >= 274877911040)))
    btrfs inspect-internal dump-super -a "$image" > "$work/supers" 2>&1
    [ "$(grep -c '^csum.*\[match\]' "$work/supers")" = $expected ] || fault "not $expected good superblocks"
    [ "$(grep '^generation' "$work/supers" | sort -u | grep -c .)" = 1 ] || fault "superblocks differ in generation"
}

# --- the kernel ----------------------------------------------------------------------------------------

# What the kernel says from here on is looked at; `up` tells of which device.
listen() { { echo "oracle $$ listens at $(date +%s.%N)" | tee "$work/mark" > /dev/kmsg; } 2> /dev/null; }
heard() {
    dmesg 2> /dev/null | awk -v mark="$(cat "$work/mark")" -v device="(device ${loop:-none}" '
        index($0, mark) { on = 1; next }
        on && /BTRFS/ && /warning|error|critical|alert|emergency/ && index($0, device) && !/is being deprecated/ { print }
        on && /WARNING: .*btrfs|kernel BUG|BTRFS: Transaction aborted/ { print }' |
        sed "s|^|$what: kernel: |" | head -n 5 >> "$work/faults"
}
# up [OPTIONS]: mounted; else a fault, and status 1.
up() {
    listen
    must mount -t btrfs -o "loop${1:+,$1}" "$image" "$mnt" || { loop=.*; heard; return 1; }
    loop=$(basename "$(findmnt -n -o SOURCE "$mnt" | sed 's/\[.*//')")
}
down() {
    must umount "$mnt" || umount -l "$mnt"
    heard
}

# Deletes subvolumes and waits until they are gone. `filesystem sync` wakes the one who does it, who
# else looks every half minute.
delete_subvolumes() {
    must btrfs subvolume delete "$@"
    must btrfs filesystem sync "$mnt"
    must btrfs subvolume sync -s 1 "$mnt"
}

# The contents of a folder as the kernel reads them: data, sizes, links, modes, xattrs.
contents() {
    (
        cd "$1" || exit 1
        find . -xdev -printf '%p %y %m %n %s %l\n' | sort
        find . -xdev -type f -print0 | sort -z | xargs -0 -r md5sum
        getfattr -R -d -m - --absolute-names . 2> /dev/null
    )
}
