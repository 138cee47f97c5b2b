# The choices of the person who builds, and the compiler flags that follow from it.

set(SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread; empty for none")
option(WARNINGS_AS_ERRORS "Refuse code with warnings" ON)
option(STARLING_TESTS "Build the unit tests" ON)
option(PACKAGING "Prepare Debian packages (cmake/Packages.cmake)" OFF)
option(FUZZERS "Build the fuzz targets with libFuzzer; needs clang" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
# Debug symbols in releases too: a core file or a profile of a running daemon has to be readable.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
# -O1: the property tests run ten thousand histories, which takes too long unoptimised.
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")

add_library(starling_flags INTERFACE)
target_include_directories(starling_flags INTERFACE
    "${CMAKE_SOURCE_DIR}/lib" "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
# _GNU_SOURCE is defined as empty, the same as a `#define _GNU_SOURCE` in a file, so that both together are no error.
target_compile_definitions(starling_flags INTERFACE _GNU_SOURCE= "STARLING_VERSION=\"${PROJECT_VERSION}\"")
target_compile_options(starling_flags INTERFACE
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wformat=2
    -Wvla -Wcast-qual -Wwrite-strings -Wundef -Wimplicit-fallthrough
    -Wno-unused-parameter # callbacks of libuv, libwebsockets and librdkafka dictate their parameters
    -fno-omit-frame-pointer -fstack-protector-strong)
if(WARNINGS_AS_ERRORS)
    target_compile_options(starling_flags INTERFACE -Werror)
endif()

if(PACKAGING)
    # The same bytes in whatever folder and at whatever time (of the two maps the later one wins, and the build's folder may lie in the
    # sources'); and all that Debian hardens programs by.
    target_compile_options(starling_flags INTERFACE "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=starling"
        "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build" -Werror=date-time -fstack-clash-protection)
    target_link_options(starling_flags INTERFACE -Wl,-z,relro,-z,now)
    set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # cpack packs what was built, and does not build tests and benches
endif()
if(FUZZERS)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "FUZZERS needs clang: -DCMAKE_C_COMPILER=clang")
    endif()
    target_compile_options(starling_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SANITIZE)
    target_compile_options(starling_flags INTERFACE "-fsanitize=${SANITIZE}" -fno-sanitize-recover=all)
    target_link_options(starling_flags INTERFACE "-fsanitize=${SANITIZE}")
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(starling_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
