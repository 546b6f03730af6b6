# Owns the model of a C file that excerpts.awk and coverage.awk share (awk -f definitions.awk -f ...).
#
# A file is cut into units: runs of lines without a blank line between them at the top level. A unit
# holds one definition with the comment above it, or several that stand together (a run of #defines,
# a struct with its _Static_asserts); every name defined in it selects the whole unit. A comment that
# stands alone goes with the unit after it; the one that begins the file is named top-comment. An enum
# without a name goes by its first enumerator. Never shown: #include lines, the include guard (its
# macro ends in _H), and marker lines, `/* excerpt NAME */` and `/* end NAME */`, which name what
# stands between them. A prototype has a name only where the file does not define the function.
#
# load(file) fills, for its lines and units:
#   text[file, line]  lines[file]  hidden[file, line]     the lines, how many, those never shown
#   counts[file, line]                                    lines that coverage counts
#   from[file, unit]  to[file, unit]  units[file]         first and last line of each unit
#   spans[file, name]                                     "from to" for each definition of the name
#   functions[file, i] = name  function_count[file]       the non-static functions defined here
# span(file, name) returns "from to", or "" with the reason in `fault`.

# The line without its comments, strings and character constants; in_comment crosses lines.
function code_of(line,    out, rest) {
    out = ""
    while (line != "") {
        if (in_comment) {
            if (!(rest = index(line, "*/"))) return out
            line = substr(line, rest + 2); in_comment = 0
        } else if (!match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/)) {
            return out line
        } else {
            out = out substr(line, 1, RSTART - 1)
            rest = substr(line, RSTART, 2)
            if (rest == "//") return out
            in_comment = (rest == "/*")
            if (!in_comment) out = out "\"\""
            line = substr(line, RSTART + (in_comment ? 2 : RLENGTH))
        }
    }
    return out
}

# The last identifier of s, or "".
function last_identifier(s) {
    return match(s, /[A-Za-z_][A-Za-z0-9_]*[^A-Za-z0-9_]*$/) && match(s = substr(s, RSTART), /^[A-Za-z0-9_]+/) \
        ? substr(s, 1, RLENGTH) : ""
}

# One statement of the top level is complete, its braces emptied: "static int f(int x) {}", "enum {};".
function define(file, s, first_inside,    name, is_static, is_function, declares) {
    gsub(/[ \t]+/, " ", s); sub(/^ /, "", s)
    gsub(/__attribute__ ?\(\([^()]*(\([^()]*\))?[^()]*\)\) ?/, "", s)
    if (s ~ /^_Static_assert|^;?$|^(struct|union|enum) [A-Za-z0-9_]+;$/) return
    is_static = (s ~ /^static /)
    is_function = (s ~ /\) ?\{\}$/)
    declares = (s ~ /^extern .*;$/)
    if (s ~ /^typedef /) {
        if (match(s, /\(\*[A-Za-z0-9_]+/)) name = substr(s, RSTART + 2, RLENGTH - 2)
        else { sub(/(\[[^]]*\])*;$/, "", s); name = last_identifier(s) }
    } else if (s ~ /^(struct|union|enum) [A-Za-z0-9_]+ ?\{/) {
        split(s, name_part, /[ {]/); name = name_part[2]
    } else if (s ~ /^enum ?\{\} ?;/) {
        name = first_inside
    } else {
        sub(/^((static|const|extern) )*(struct|union|enum) ?[A-Za-z0-9_]* ?\{\} ?/, "", s)
        declares = declares || (s ~ /\(/ && s !~ /[={]|\(\*/)
        sub(/ ?=.*/, "", s)
        match(s, /[\[(;{]|$/)
        if (substr(s, RSTART) ~ /^\( ?\*/) { s = substr(s, RSTART + 2); sub(/^ ?(const )?/, "", s); sub(/[^A-Za-z0-9_].*/, "", s) }
        else s = substr(s, (substr(s, 1, RSTART - 1) ~ /(START_TEST|END_TEST) ?$/) ? RSTART : 1, RSTART)
        name = last_identifier(s)
        if (is_function && s ~ /START_TEST/) name = ""
    }
    if (name == "") return
    if (declares) declared[file, name] = declared[file, name] ((file, name) in declared ? "\n" : "") units[file]
    else add_name(file, name, units[file])
    if (is_function && !is_static) functions[file, ++function_count[file]] = name
}
function add_name(file, name, unit) {
    named[file, name] = named[file, name] ((file, name) in named ? "\n" : "") unit
}
