/* What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput: build/fuzz-NAME looks for inputs on which
 * it fails (clang's libFuzzer, `./dev fuzz`), build/replay-NAME runs the files it is given (any compiler; ctest runs
 * tests/fuzz/corpus/NAME, where every input that ever failed is kept). */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise that is broken ends the process, in releases too. */
#define fuzz_require(condition) ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_failed(const char *condition, const char *file, int line);
