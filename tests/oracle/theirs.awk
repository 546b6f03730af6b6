# Owns the way from `btrfs inspect-internal dump-tree --dfs` to the normal form that judge-dump.sh
# compares; ours.awk comes to the same form from `coppice dump`. Written after what btrfs-progs 6.2
# prints (its kernel-shared/print-tree.c), not after our code. LC_ALL=C: names are bytes.
#
# The normal form, a line for each thing, in the order of the walk:
#   TREE|tree|bytenr=... level=... generation=...      a tree, with its root block
#   TREE|leaf|bytenr=... ...   TREE|node|bytenr=...    a block
#   TREE|pointer|slot=... key=(...) ...                a key pointer
#   TREE|(KEY)|item slot=... data_offset=... size=...  an item
#   TREE|(KEY)|RECORD field=value ...                  what the item holds, record by record
# TREE is the objectid of the tree, with /OFFSET for relocation and log trees. Numbers are decimal and
# unsigned, flags the names of their bits, uuids of zeros "-", times SECONDS.NANOSECONDS. In names and
# data `\` and newline are `\\` and `\n`; all other bytes stand as they are. Data ends at its first
# NUL or behind 255 bytes, since dump-tree shows no more.
#
# A line that is not known goes into the normal form as it is: nothing is left out unseen. Left out
# are what only repeats the key, the uuids in the headers of blocks, the arguments of a balance.
#
# dump-tree follows every pointer, in a tree that is being deleted those to blocks that are gone too;
# where such a block has not been written over yet, it prints it. Those are left out here: all blocks
# whose keys lie before the drop_progress of the root item.

# --- numbers ---------------------------------------------------------------------------------------

# Decimal digits of up to 64 bits are strings: awk's own numbers end at 53 bits.
function pad(s, width) {
    s = s ""
    while (length(s) < width) s = "0" s
    return s
}
# 2^64 - s.
function minus(s,    high, low) {
    s = pad(s, 20)
    high = 1844674407 - substr(s, 1, 10)
    low = 3709551616 - substr(s, 11)
    if (low < 0) { low += 10000000000; high-- }
    return high ? sprintf("%.0f%010.0f", high, low) : sprintf("%.0f", low)
}
function unsigned(s) { return s ~ /^-/ ? minus(substr(s, 2)) : s }
function decimal(hex,    i, n) {
    for (i = 1; i <= length(hex); i++) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return n + 0
}
function signed(s) { return length(s) < 19 || pad(s, 20) < "09223372036854775808" ? s : "-" minus(s) }

# "0x81(...)" to the names of bits 0 and 7; bits without a name follow as one number.
function bits(hex, table,    at, bit, digit, nibble, name, names, rest) {
    sub(/\(.*/, "", hex)
    sub(/^0x/, "", hex)
    for (at = length(hex); at > 0; at--) {
        nibble = index("0123456789abcdef", substr(hex, at, 1)) - 1
        digit = 0
        for (bit = 0; bit < 4; bit++) {
            if (int(nibble / 2 ^ bit) % 2 == 0) continue
            name = bit_name[table, (length(hex) - at) * 4 + bit]
            if (name) names = names (names ? "|" : "") name
            else digit += 2 ^ bit
        }
        rest = substr("0123456789abcdef", digit + 1, 1) rest
    }
    sub(/^0+/, "", rest)
    if (rest) names = names (names ? "|" : "") "0x" rest
    return names ? names : "0"
}
function name_bits(table, text,    i, n, part, pair) {
    n = split(text, part, " ")
    for (i = 1; i <= n; i++) {
        split(part[i], pair, ":")
        bit_name[table, pair[1]] = pair[2]
    }
}

# --- names, keys, bytes ------------------------------------------------------------------------------

function id(name) { return name in id_of ? id_of[name] : unsigned(name) }
# Three words, "(OBJECTID TYPE OFFSET)". An offset of all ones is -1 in all keys, as dump-tree has it in
# all but those of root items.
function key_text(objectid, type, offset) {
    if (objectid == "(LOG_FIXUP") objectid = "(TREE_LOG_FIXUP"
    if (offset == "18446744073709551615)") offset = "-1)"
    return objectid " " type " " offset
}
# A string that orders as the key does.
function key_order(key,    word) {
    split(substr(key, 2, length(key) - 2), word, " ")
    return pad(id(word[1]), 20) pad(word[2] in type_of ? type_of[word[2]] : 255, 3) pad(id(word[3]), 20)
}
function escape(s) {
    if (s ~ /[\\\n]/) {
        gsub(/\\/, "\\\\", s)
        gsub(/\n/, "\\n", s)
    }
    return s
}
# The rest of this line from `at` on, with as many further lines as `size` bytes reach.
function bytes(at, size,    s, more) {
    s = substr($0, at)
    while (length(s) < size && (getline more) > 0) s = s "\n" more
    return s
}
function behind(mark) { return index($0, mark) + length(mark) }
function uuid(s) { return s == "00000000-0000-0000-0000-000000000000" ? "-" : s }
function time(s,    part) {
    split(s, part, ".")
    return signed(part[1]) "." pad(part[2], 9)
}
function groups(s) { sub(/\|single$/, "", s); return s }

# --- what is printed -----------------------------------------------------------------------------------

function emit(text) { print tree "|" key "|" text }

# Items of one shape have their lines joined in `lines`; value[] is the word behind each label.
function read_values(text,    i, n, word) {
    split("", value)
    n = split(text, word, " ")
    for (i = 1; i < n; i++) if (!(word[i] in value)) value[word[i]] = word[i + 1]
}
# " name=value" for each name; what dump-tree calls otherwise stands as "ours:theirs".
function list(names,    i, n, word, pair, text) {
    n = split(names, word, " ")
    for (i = 1; i <= n; i++) {
        if (split(word[i], pair, ":") == 1) pair[2] = pair[1]
        text = text " " pair[1] "=" value[pair[2]]
    }
    return text
}
function times(names,    i, n, word, text) {
    n = split(names, word, " ")
    for (i = 1; i <= n; i++) text = text " " word[i] "=" time(value[word[i]])
    return text
}
function uuids(names,    i, n, word, text) {
    n = split(names, word, " ")
    for (i = 1; i <= n; i++) text = text " " word[i] "=" uuid(value[word[i]])
    return text
}
# The key behind a mark in `lines`.
function key_behind(mark,    word) {
    split(substr(lines, index(lines, mark) + length(mark)), word, " ")
    return key_text(word[1], word[2], word[3])
}

function inode_item() {
    sub(/block group/, "block_group", lines)
    read_values(lines)
    emit("inode" list("generation transid size nbytes block_group nlink:links uid gid") \
         " mode=0" value["mode"] list("rdev sequence") " flags=" bits(value["flags"], "inode") \
         times("atime ctime mtime otime"))
}
# The part behind generation_v2 is there when it is valid.
function root_item(    drop_key, text) {
    read_values(lines)
    drop_key = key_behind("drop_progress key ")
    if (drop_key !~ /^\(0 /) dropped[key] = key_order(drop_key)
    text = "root" list("generation root_dirid bytenr byte_limit bytes_used last_snapshot") \
           " flags=" bits(value["flags"], "root") list("refs") " drop_progress=" drop_key \
           list("drop_level level generation_v2")
    if ("uuid" in value)
        text = text uuids("uuid parent_uuid received_uuid") \
               list("ctransid otransid stransid rtransid") times("ctime otime stime rtime")
    emit(text)
}
function dev_item() {
    read_values(lines)
    emit("dev" list("devid total_bytes bytes_used io_align io_width sector_size type generation " \
                    "start_offset dev_group seek_speed bandwidth") uuids("uuid fsid"))
}
function dev_extent() {
    read_values(lines)
    emit("dev_extent" list("chunk_tree chunk_objectid chunk_offset length") uuids("chunk_tree_uuid"))
}
function chunk_item() {
    read_values(lines)
    emit("chunk" list("length owner stripe_len") " type=" groups(value["type"]) \
         list("io_align io_width sector_size num_stripes sub_stripes"))
    while (match(lines, /stripe [0-9]+ devid .*/)) {
        lines = substr(lines, RSTART)
        read_values(lines)
        emit("stripe" list("devid offset") uuids("dev_uuid"))
        lines = substr(lines, 7)
    }
}
function file_extent(    word, kind, text) {
    sub(/inline extent data size/, "data_size", lines)
    sub(/(extent|prealloc) data disk byte/, "disk_bytenr", lines)
    sub(/ nr/, " disk_num_bytes", lines)
    sub(/(extent|prealloc) data offset/, "offset", lines)
    sub(/ nr/, " num_bytes", lines)
    if (match(lines, /compression [0-9]+ \([a-zA-Z.0-9]+\)/))
        sub(/compression [0-9]+ \(/, "compression ", lines)
    sub(/\)$/, "", lines)
    read_values(lines)
    split(lines, word, " ")
    kind = substr(word[5], 2, length(word[5]) - 2)
    text = "file_extent" list("generation") " type=" kind
    if (kind == "inline") emit(text list("ram_bytes compression data_size"))
    else emit(text list("disk_bytenr disk_num_bytes offset num_bytes") \
              (kind == "regular" ? list("ram_bytes:ram compression") : ""))
}
function qgroup_status() {
    read_values(lines)
    sub(/^OFF\|?/, "", value["flags"])
    sub(/SCANNING/, "RESCAN", value["flags"])
    emit("qgroup_status" list("version generation") " flags=" (value["flags"] ? value["flags"] : "0") \
         list("rescan:scan"))
}
function qgroup_info() {
    read_values(lines)
    emit("qgroup_info" list("generation referenced referenced_compressed exclusive exclusive_compressed"))
}
function qgroup_limit(    i, n, word, text) {
    read_values(lines)
    n = split("max_referenced max_exclusive rsv_referenced rsv_exclusive", word, " ")
    for (i = 1; i <= n; i++) text = text " " word[i] "=" unsigned(value[word[i]])
    emit("qgroup_limit flags=" decimal(value["flags"]) text)
}
function dev_stats() {
    read_values(lines)
    emit("dev_stats" list("write_errs read_errs flush_errs corruption_errs generation"))
}
function free_space_header() {
    read_values(lines)
    emit("free_space_header location=" key_behind("location key ") \
         list("generation num_entries:entries num_bitmaps:bitmaps"))
}
# A name in a directory, or an xattr: it had three lines, or four.
function dir_entry() {
    if (in_entry)
        emit("dir_entry location=" location " type=" entry_type " transid=" transid " name=" escape(name) \
             (entry_type == "XATTR" ? " data_size=" data_size " data=" escape(data) : ""))
    in_entry = in_data = 0
}

# The item is over: tell what its lines held.
function end_item() {
    if (type == "INODE_ITEM") inode_item()
    else if (type == "ROOT_ITEM") root_item()
    else if (type == "DEV_ITEM") dev_item()
    else if (type == "DEV_EXTENT") dev_extent()
    else if (type == "CHUNK_ITEM") chunk_item()
    else if (type == "EXTENT_DATA") file_extent()
    else if (type == "QGROUP_STATUS") qgroup_status()
    else if (type == "QGROUP_INFO") qgroup_info()
    else if (type == "QGROUP_LIMIT") qgroup_limit()
    else if (type == "PERSISTENT_ITEM" && lines ~ /device stats/) dev_stats()
    else if (type == "UNTYPED") free_space_header()
    else dir_entry()
    type = lines = ""
}

BEGIN {
    split("ROOT_TREE 1 EXTENT_TREE 2 CHUNK_TREE 3 DEV_TREE 4 FS_TREE 5 ROOT_TREE_DIR 6 CSUM_TREE 7 " \
          "QUOTA_TREE 8 UUID_TREE 9 FREE_SPACE_TREE 10 BLOCK_GROUP_TREE 11 BALANCE -4 ORPHAN -5 " \
          "TREE_LOG -6 TREE_LOG_FIXUP -7 TREE_RELOC -8 DATA_RELOC_TREE -9 EXTENT_CSUM -10 " \
          "FREE_SPACE -11 FREE_INO -12 MULTIPLE -255", pairs, " ")
    for (i = 1; i in pairs; i += 2) id_of[pairs[i]] = unsigned(pairs[i + 1])
    split("INODE_ITEM 1 INODE_REF 12 INODE_EXTREF 13 XATTR_ITEM 24 VERITY_DESC_ITEM 36 " \
          "VERITY_MERKLE_ITEM 37 ORPHAN_ITEM 48 DIR_ITEM 84 DIR_INDEX 96 EXTENT_DATA 108", pairs, " ")
    for (i = 1; i in pairs; i += 2) type_of[pairs[i]] = pairs[i + 1]
    name_bits("inode", "0:NODATASUM 1:NODATACOW 2:READONLY 3:NOCOMPRESS 4:PREALLOC 5:SYNC 6:IMMUTABLE " \
              "7:APPEND 8:NODUMP 9:NOATIME 10:DIRSYNC 11:COMPRESS 31:ROOT_ITEM_INIT")
    name_bits("root", "0:RDONLY 48:DEAD")
    name_bits("header", "0:WRITTEN 1:RELOC")
    name_bits("free space", "0:USING_BITMAPS")
    split("TREE_BLOCK_REF SHARED_BLOCK_REF ORPHAN_ITEM FREE_SPACE_EXTENT FREE_SPACE_BITMAP", words, " ")
    for (i = 1; i in words; i++) says_nothing[words[i]] = 1
    split("INODE_ITEM ROOT_ITEM DEV_ITEM DEV_EXTENT CHUNK_ITEM EXTENT_DATA QGROUP_STATUS QGROUP_INFO " \
          "QGROUP_LIMIT PERSISTENT_ITEM UNTYPED", words, " ")
    for (i = 1; i in words; i++) is_joined[words[i]] = 1
}

# --- trees and blocks ------------------------------------------------------------------------------------

/^btrfs-progs v/ { next }
/^total bytes [0-9]+$/ { end_item(); exit }

/^(root|chunk|log root) tree$/ {
    end_item()
    tree = $1 == "root" ? 1 : $1 == "chunk" ? 3 : id("TREE_LOG")
    at_root = 1
    split("", gone)
    drop = ""
    next
}
/^[a-z ]+ tree key \(.* ROOT_ITEM .*\) $/ {
    end_item()
    match($0, /\(.*\)/)
    key = substr($0, RSTART, RLENGTH)
    split(key, words, /[() ]/)
    tree = id(words[2])
    if (words[2] == "TREE_RELOC" || words[2] == "TREE_LOG") tree = tree "/" id(words[4])
    at_root = 1
    split("", gone)
    drop = key in dropped ? dropped[key] : ""
    next
}

/^(leaf|node) [0-9]+ (level [0-9]+ )?items [0-9]+ free space/ {
    end_item()
    skipping = $2 in gone
    if (skipping) next
    is_node = $1 == "node"
    level = is_node ? $4 : 0
    nritems = is_node ? $6 : $4
    free = is_node ? "" : " free_space=" $7
    generation = $(NF - 2)
    owner = $NF == "LOG_FIXUP" ? "TREE_LOG_FIXUP" : $NF
    if (at_root) {
        key = "tree"
        emit("bytenr=" $2 " level=" level " generation=" generation)
        at_root = 0
    }
    slot = 0
    before = ""
    next
}
skipping && /^\tkey \(.*\) block [0-9]+ gen [0-9]+$/ { gone[$6] = 1 }
skipping { next }
/^(leaf|node) [0-9]+ flags 0x[0-9a-f]+\(.*\) backref revision [0-9]+$/ {
    key = $1
    emit("bytenr=" $2 " level=" level " nritems=" nritems free " generation=" generation \
         " owner=" owner " flags=" bits($4, "header") " backref_rev=" $NF)
    next
}
/^(fs|chunk) uuid [0-9a-f-]+$/ { next }
/^\tkey \(.*\) block [0-9]+ gen [0-9]+$/ {
    text = key_text($2, $3, $4)
    key = "pointer"
    emit("slot=" slot++ " key=" text " blockptr=" $6 " generation=" $8)
    # The child before this one is gone when all of its keys lie before the key the deletion reached.
    if (drop && before && key_order(text) <= drop) gone[before] = 1
    before = $6
    next
}

# --- items -------------------------------------------------------------------------------------------------

/^\titem [0-9]+ key \(.*\) itemoff [0-9]+ itemsize [0-9]+$/ {
    end_item()
    key = key_text($4, $5, $6)
    type = $5
    size = $10
    emit("item slot=" $2 " data_offset=" $8 " size=" size)
    next
}

type in is_joined { lines = lines " " $0; next }
type in says_nothing && NF <= 3 { next }

type == "INODE_REF" && /^\t\tindex [0-9]+ namelen [0-9]+ name: / {
    emit("inode_ref index=" $2 " name=" escape(bytes(behind("name: "), $4)))
    next
}
type == "INODE_EXTREF" && /^\t\tindex [0-9]+ parent [0-9]+ namelen [0-9]+ name: / {
    emit("inode_extref parent_objectid=" $4 " index=" $2 " name=" escape(bytes(behind("name: "), $6)))
    next
}
type ~ /^ROOT_(BACK)?REF$/ && /^\t\troot (back)?ref key dirid [0-9]+ sequence [0-9]+ name / {
    emit("root_ref dirid=" $5 " sequence=" $7 " name=" escape(bytes(behind(" name "), size - 18)))
    next
}
type ~ /^(DIR_ITEM|DIR_INDEX|XATTR_ITEM)$/ {
    if (/^\t\tlocation key \(.*\) type [A-Z.0-9]+$/) {
        dir_entry()
        location = key_text($3, $4, $5)
        entry_type = $7
        data = ""
        in_entry = 1
    } else if (in_data) {
        data = data "\n" $0
    } else if (/^\t\ttransid [0-9]+ data_len [0-9]+ name_len [0-9]+$/) {
        transid = $2
        data_size = $4
        name_size = $6
    } else if (/^\t\tname: /) {
        name = bytes(behind("name: "), name_size)
    } else if (/^\t\tdata /) {
        data = substr($0, 8)
        in_data = 1
    } else {
        emit("? " $0)
    }
    next
}
type ~ /^DIR_LOG_(ITEM|INDEX)$/ && /^\t\tdir log end [0-9]+$/ { emit("dir_log end=" $4); next }

# --- extents, space ------------------------------------------------------------------------------------------

type ~ /^(EXTENT|METADATA)_ITEM$/ {
    if (/^\t\trefs [0-9]+ gen [0-9]+ flags /)
        emit("extent refs=" $2 " generation=" $4 " flags=" $6)
    else if (/^\t\ttree block key \(.*\) level [0-9]+$/)
        emit("tree_block key=" key_text($4, $5, $6) " level=" $8)
    else if (/^\t\ttree block backref root /)
        emit("tree_block_ref root=" id($5))
    else if (/^\t\tshared block backref parent /)
        emit("shared_block_ref parent=" $5)
    else if (/^\t\textent data backref root /)
        emit("extent_data_ref root=" id($5) " objectid=" $7 " offset=" $9 " count=" $11)
    else if (/^\t\tshared data backref parent /)
        emit("shared_data_ref parent=" $5 " count=" $7)
    else if (!/^\t\ttree block skinny level [0-9]+$/)
        emit("? " $0)
    next
}
type == "EXTENT_DATA_REF" && /^\t\textent data backref root / {
    emit("extent_data_ref root=" id($5) " objectid=" $7 " offset=" $9 " count=" $11)
    next
}
type == "SHARED_DATA_REF" && /^\t\tshared data backref count / { emit("shared_data_ref count=" $5); next }
type == "BLOCK_GROUP_ITEM" && /^\t\tblock group used / {
    emit("block_group used=" $4 " chunk_objectid=" $6 " flags=" groups($8))
    next
}
type == "FREE_SPACE_INFO" && /^\t\tfree space info extent count / {
    emit("free_space_info extent_count=" $6 " flags=" bits(sprintf("%x", $8), "free space"))
    next
}
type == "EXTENT_CSUM" && /^\t\trange start / { emit("csums start=" $3 " end=" $5 " length=" $7); next }

# --- the rest --------------------------------------------------------------------------------------------------

type ~ /^UUID_KEY_/ && /^\t\tsubvol_id [0-9]+$/ { emit("uuid subvol_id=" $2); next }
type == "TEMPORARY_ITEM" {
    if (/^\t\tbalance status flags /) emit("balance flags=" $4)
    next
}
{ emit("? " $0) }
