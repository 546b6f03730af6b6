/* The test runner: every suite of the chapter, reported as TAP. */
#ifndef RUNNER_H
#define RUNNER_H

#include <check.h>
#include <stddef.h>

extern Suite *(*const suites[])(void);

#endif
