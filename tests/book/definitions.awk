# Owns the model of a C file that excerpts.awk and coverage.awk share: awk -f definitions.awk -f ...
#
# A file is cut into units: runs of lines at the top level with no blank line between them. A unit is
# one definition with the comment above it, or several that stand together (a run of #defines, a
# struct with its _Static_asserts); each name defined in it selects the whole unit. A comment that
# stands alone goes with the unit after it; the one in the first line of the file is top-comment. An
# enum without a name goes by its first enumerator. `struct NAME` is the structure where a function
# has the same name. A prototype, and a structure that is only announced,
# has a name where the file does not define it.
# Never shown: #include lines, the include guard (its macro ends in _H), and marker lines.
# Markers, `/* excerpt NAME */` and `/* end NAME */`, name the lines between them.
#
# load(file) reads a file and fills:
#   text[file, line]  lines[file]                   its lines and how many (-1: no such file)
#   hidden[file, line]  counts[file, line]          not shown with a unit; counted by coverage
#   functions[file, i]  function_count[file]        its non-static functions
# span(file, name) gives "from to" (line numbers), or "" with the reason in `fault`.
# excerpt(comment line) gives the text that belongs below it, sets shown[file, line]; or "" and `fault`.

# The line without its comments, its strings and characters emptied. in_comment crosses lines.
function code_of(line,    out, start) {
    while (line != "") {
        if (in_comment) {
            if (!(start = index(line, "*/"))) return out
            line = substr(line, start + 2); in_comment = 0
        } else if (!match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/)) {
            return out line
        } else {
            out = out substr(line, 1, RSTART - 1)
            start = substr(line, RSTART, 2)
            if (start == "//") return out
            in_comment = (start == "/*")
            if (!in_comment) out = out "\"\""
            line = substr(line, RSTART + (in_comment ? 2 : RLENGTH))
        }
    }
    return out
}

function first_identifier(s) {
    return match(s, /[A-Za-z_][A-Za-z0-9_]*/) ? substr(s, RSTART, RLENGTH) : ""
}
function last_identifier(s) {
    return match(s, /[A-Za-z_][A-Za-z0-9_]*[^A-Za-z0-9_]*$/) ? first_identifier(substr(s, RSTART)) : ""
}

# Of two places with one name the kind decides: D definitions, then T structure tags, then P prototypes.
function add_name(kind, file, name, place) {
    if (name == "" || place == last_place[kind, file, name]) return
    last_place[kind, file, name] = place
    places[kind, file, name] = places[kind, file, name] " " place
    if (kind == "P") declares[file, place] = 1
    else defines[file, place] = 1
}

# One statement of the top level, its braces emptied: "static int f(int x) {}", "enum {};".
function define(file, s, inside,    unit, head, tail, is_pointer) {
    unit = units[file]
    gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); gsub(/ ?\{\}/, " {}", s)
    gsub(/__attribute__ ?\(\([^()]*(\([^()]*\))?[^()]*\)\) ?/, "", s)
    if (match(s, /^START_TEST ?\(/)) {
        add_name("D", file, first_identifier(substr(s, RLENGTH)), unit)
        return
    }
    if (s ~ /^_Static_assert|^;?$/) return
    if (s ~ /^(struct|union|enum) [A-Za-z0-9_]+;$/) {
        sub(/^[a-z]+ /, "", s); add_name("P", file, first_identifier(s), unit)
        return
    }
    if (s ~ /^typedef /) {
        if (match(s, /\( ?\*/)) { add_name("D", file, first_identifier(substr(s, RSTART)), unit); return }
        sub(/(\[[^]]*\])*;$/, "", s)
        add_name("D", file, last_identifier(s), unit)
        return
    }
    if (s ~ /^(struct|union|enum) [A-Za-z0-9_]+ \{\}/) {
        sub(/^(struct|union|enum) /, "", s); add_name("T", file, first_identifier(s), unit)
        return
    }
    if (s ~ /^enum \{\}/) { add_name("D", file, first_identifier(inside), unit); return }
    sub(/^((static|const|extern) )*(struct|union|enum) \{\} /, "", s)
    match(s, /[[(;=]|$/)
    head = substr(s, 1, RSTART - 1); tail = substr(s, RSTART)
    is_pointer = (tail ~ /^\( ?\*/)
    if (is_pointer) { sub(/^\( ?\* ?(const )?/, "", tail); head = first_identifier(tail) }
    else head = last_identifier(head)
    if (s ~ /^extern .*;$/ || (tail ~ /^\(/ && s ~ /\) ?;$/)) { add_name("P", file, head, unit); return }
    add_name("D", file, head, unit)
    if (s ~ /\) \{\}$/ && s !~ /^static /) functions[file, ++function_count[file]] = head
}

# A line outside of every unit: it ends one as a blank line does.
function is_outside(file, i, line) {
    if (line ~ /^#ifdef __cplusplus/) in_cplusplus = 1
    if (in_cplusplus) { if (line ~ /^#endif/) in_cplusplus = 0; return 1 }
    return line ~ /^# *include |^#pragma once|^#(ifndef|define) [A-Z0-9_]+_H$/ \
        || (line ~ /^#endif/ && i == lines[file] && file ~ /\.h$/)
}

function load(file,    n, i, k, c, line, code, status, depth, statement, inside, directive, open, has_code,
        mark) {
    if (file in lines) return
    while ((status = (getline line < file)) > 0) text[file, ++n] = line
    close(file)
    lines[file] = status < 0 ? -1 : n + 0
    in_comment = 0; units[file] = 0; function_count[file] = 0
    for (i = 1; i <= n; i++) {
        line = text[file, i]
        if (line ~ /^[ \t]*\/\* (excerpt|end) [^ ]+ \*\/$/) {
            split(line, mark, " "); hidden[file, i] = "marker"
            if (mark[2] == "end") mark_end[file, mark[3]] = i
            else if ((file, mark[3]) in mark_start) broken[file] = "marker " mark[3] " found twice"
            else mark_start[file, mark[3]] = i
            continue
        }
        if (!in_comment && depth == 0 && statement == "" && !directive) {
            if (line ~ /^[ \t]*$/) { open = 0; continue }
            if (is_outside(file, i, line)) { open = 0; hidden[file, i] = 1; continue }
        }
        if (!open) { first[file, ++units[file]] = i; open = 1 }
        last[file, units[file]] = i
        if (line !~ /^[ \t]*$/) counts[file, i] = 1
        code = code_of(line)
        if (code ~ /[^ \t]/) has_code[units[file]] = 1
        if (directive || code ~ /^[ \t]*#/) {
            if (!directive && depth == 0 && sub(/^# *define /, "", code))
                add_name("D", file, first_identifier(code), units[file])
            directive = (line ~ /\\$/)
            continue
        }
        if (code ~ /^END_TEST/) continue
        for (k = 1; k <= length(code); k++) {
            c = substr(code, k, 1)
            if (c == "{" && depth++ == 0) { statement = statement "{"; inside = "" }
            else if (c == "}" && --depth == 0) {
                statement = statement "}"
                if (statement ~ /\)[ \t]*\{\}$/ && statement !~ /=/) {
                    define(file, statement, "")
                    statement = ""
                }
            } else if (depth == 0) {
                if (c != " " || statement != "") statement = statement c
                if (c == ";") { define(file, statement, inside); statement = "" }
            } else inside = length(inside) < 200 ? inside c : inside
        }
        if (depth == 0 && statement != "") statement = statement " "
        if (depth > 0) inside = inside " "
    }
    if (depth != 0 || statement ~ /[^ ]/) broken[file] = "braces do not balance, or a definition has no end"
    # Forward declarations in a .c file count as includes do.
    for (i = 1; file ~ /\.c$/ && i <= units[file]; i++)
        for (k = first[file, i]; (file, i) in declares && !((file, i) in defines) && k <= last[file, i]; k++)
            delete counts[file, k]
    # A comment that stands alone goes with what follows; the first one is the top comment.
    for (i = 1; i <= units[file]; i++)
        if (!has_code[i]) {
            if (first[file, i] == 1) add_name("D", file, "top-comment", 1)
            else if (i < units[file]) first[file, i + 1] = first[file, i]
        }
}

function span(file, name,    kind, place, found, at) {
    load(file)
    fault = ""
    if (lines[file] < 0) fault = file ": no such file"
    else if (file in broken) fault = file ": " broken[file]
    else if ((file, name) in mark_start) {
        if (("D", file, name) in places) fault = file ": name " name " found twice"
        else if (mark_end[file, name] > mark_start[file, name])
            return (mark_start[file, name] + 1) " " (mark_end[file, name] - 1)
        else fault = file ": marker " name " has no end"
    } else {
        kind = "D"
        if (sub(/^(struct|union|enum) /, "", name)) kind = "T"
        else if (!((kind, file, name) in places)) kind = ("T", file, name) in places ? "T" : "P"
        found = split(places[kind, file, name], place, " ")
        if (found == 1) return first[file, place[1]] " " last[file, place[1]]
        fault = file ": " (found ? "name " name " found twice" : "no definition named " name)
    }
    return ""
}

# "<!-- excerpt FILE [NAME...] -->": the text below it. Without a name it is the whole file.
function excerpt(comment,    word, n, i, file, name, range, seen, out) {
    fault = ""
    n = split(comment, word, " ")
    if (n < 4 || word[n] != "-->") fault = "excerpt comment is not <!-- excerpt FILE NAME... -->"
    if (fault != "") return ""
    file = word[3]
    load(file)
    if (lines[file] < 0) fault = file ": no such file"
    if (n == 4) return show(file, "1 " lines[file], 1)
    for (i = 4; i < n && fault == ""; i++) {
        name = word[i]
        if (name ~ /^(struct|union|enum)$/) name = name " " word[++i]
        range = span(file, name)
        if (fault == "" && range in seen) fault = file ": " name " stands with " seen[range] ", which is shown already"
        seen[range] = name
        if (fault == "") out = out (out == "" ? "" : "\n\n") show(file, range, 0)
    }
    return fault == "" ? out : ""
}
# The lines of a range; with_all: #includes too.
function show(file, range, with_all,    bound, i, out) {
    split(range, bound, " ")
    for (i = bound[1] + 0; i <= bound[2] + 0; i++) {
        shown[file, i] = 1
        if (!((file, i) in hidden) || (with_all && hidden[file, i] != "marker"))
            out = out (out == "" ? "" : "\n") text[file, i]
    }
    sub(/\n[ \t\n]*$/, "", out)
    return out
}
