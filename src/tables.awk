# Reads the names of source files, one a line, and prints the C tables made from them:
#   cmd_NAME.c      holds   const struct command cmd_NAME               -> commands[]
#   options_NAME.c  holds   const struct argp_option options_NAME[]     -> global_options[]
#   test_NAME.c     holds   Suite *suite_NAME(void)                     -> suites[]
function base(path) { sub(/.*\//, "", path); sub(/\.c$/, "", path); return path }
{ name = base($0) }
name ~ /^cmd_/ { declared = declared "extern const struct command " name ";\n"; commands = commands "    &" name ",\n" }
name ~ /^options_/ { declared = declared "extern const struct argp_option " name "[];\n"; options = options "    " name ",\n" }
name ~ /^test_/ { sub(/^test_/, "suite_", name); suites = suites "    " name ",\n"; made = made "Suite *" name "(void);\n" }
END {
    print "/* Made by src/tables.awk from the names of the files. */"
    if (suites != "") {
        printf "#include \"runner.h\"\n%s\nSuite *(*const suites[])(void) = {\n%s    NULL,\n};\n", made, suites
        exit
    }
    printf "#include \"command.h\"\n%s\n", declared
    printf "const struct command *const commands[] = {\n%s    NULL,\n};\n", commands
    printf "const struct argp_option *const global_options[] = {\n%s    NULL,\n};\n", options
}
