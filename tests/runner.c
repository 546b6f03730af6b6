#include "runner.h"

#include <stdlib.h>

/* Runs all suites; a line of TAP for each test on standard output. CK_RUN_SUITE chooses one. */
int main(void)
{
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; suites[i]; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
