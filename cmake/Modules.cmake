# How folders become targets. A folder without sources becomes an interface library, so that whoever uses it need not
# know.

# starling_codecs(MODULE SCHEMAS): record codecs generated from SCHEMAS into BUILD/generated/MODULE. Sets
# MODULE_CODECS to the generated sources and makes the target MODULE_codecs, for what may include MODULE/records.h.
function(starling_codecs module schemas)
    set(generator "${CMAKE_SOURCE_DIR}/lib/event/generate.py")
    set(out "${CMAKE_BINARY_DIR}/generated/${module}")
    file(GLOB inputs CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${schemas}/*.avsc" "${CMAKE_SOURCE_DIR}/${schemas}/*.txt")
    add_custom_command(
        OUTPUT "${out}/records.c" "${out}/records.h"
        COMMAND Python3::Interpreter "${generator}" --out-dir "${out}" "${CMAKE_SOURCE_DIR}/${schemas}"
        DEPENDS "${generator}" "${CMAKE_SOURCE_DIR}/lib/event/schemas.py" ${inputs}
        COMMENT "Generating the record codecs of ${schemas}"
        VERBATIM)
    add_custom_target(${module}_codecs DEPENDS "${out}/records.c" "${out}/records.h")
    set(${module}_CODECS "${out}/records.c" "${out}/records.h" PARENT_SCOPE)
endfunction()

# starling_library(NAME [USES ours...] [EXTERNAL theirs...] [GENERATED files...] [FOLDER dir] [WITHOUT file-regex]
# [SUBFOLDERS]): the sources of a folder; with SUBFOLDERS also those of the folders in it.
function(starling_library name)
    cmake_parse_arguments(ARG "SUBFOLDERS" "FOLDER;WITHOUT" "USES;EXTERNAL;GENERATED" ${ARGN})
    if(NOT ARG_FOLDER)
        set(ARG_FOLDER "lib/${name}")
    endif()
    set(patterns "${CMAKE_SOURCE_DIR}/${ARG_FOLDER}/*.c")
    if(ARG_SUBFOLDERS)
        list(APPEND patterns "${CMAKE_SOURCE_DIR}/${ARG_FOLDER}/*/*.c")
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${patterns})
    if(ARG_WITHOUT)
        list(FILTER sources EXCLUDE REGEX "/${ARG_FOLDER}/${ARG_WITHOUT}$")
    endif()
    list(TRANSFORM ARG_USES PREPEND starling_)
    set(links ${ARG_USES} ${ARG_EXTERNAL} starling_flags)
    if(sources OR ARG_GENERATED)
        add_library(starling_${name} STATIC ${sources} ${ARG_GENERATED})
        target_link_libraries(starling_${name} PUBLIC ${links})
        add_dependencies(starling_${name} event_codecs)
    else()
        add_library(starling_${name} INTERFACE)
        target_link_libraries(starling_${name} INTERFACE ${links})
    endif()
endfunction()

# starling_program(FOLDER EXECUTABLE USES ours... [EXTERNAL theirs...]): FOLDER's library, and its main.c linked with it.
function(starling_program folder executable)
    get_filename_component(name "${folder}" NAME)
    string(REPLACE "-" "_" name "${name}")
    starling_library(${name} SUBFOLDERS FOLDER "${folder}" WITHOUT "main\\.c" ${ARGN})
    file(GLOB main CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/main.c")
    if(main)
        add_executable(${executable} ${main})
        target_link_libraries(${executable} PRIVATE starling_${name})
        add_dependencies(${executable} event_codecs)
        install(TARGETS ${executable} RUNTIME DESTINATION bin)
    endif()
endfunction()

# starling_benches(USES ours... [EXTERNAL theirs...]): bench/NAME.c is build/bench-NAME.
function(starling_benches)
    cmake_parse_arguments(ARG "" "" "USES;EXTERNAL" ${ARGN})
    list(TRANSFORM ARG_USES PREPEND starling_)
    file(GLOB benches CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*.c")
    foreach(file IN LISTS benches)
        get_filename_component(name "${file}" NAME_WE)
        add_executable(bench-${name} "${file}")
        target_link_libraries(bench-${name} PRIVATE ${ARG_USES} ${ARG_EXTERNAL})
        add_dependencies(bench-${name} event_codecs)
    endforeach()
endfunction()

# starling_test_name(FILE VARIABLE): the name of the test that is that file below tests/unit: its path without lib/ and tools/, joined by
# underscores. A file that is called as its folder has no name of its own: lib/store/test_store.c is test_store.
function(starling_test_name file variable)
    file(RELATIVE_PATH name "${CMAKE_SOURCE_DIR}/tests/unit" "${file}")
    string(REGEX REPLACE "^(lib|tools)/" "" name "${name}")
    string(REGEX REPLACE "test_([^/]*)\\.c$" "\\1" name "${name}")
    string(REGEX REPLACE "[/-]" "_" name "${name}")
    get_filename_component(module "${file}" NAME_WE)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(folder "${folder}" NAME)
    if(module STREQUAL "test_${folder}")
        string(REGEX REPLACE "_${folder}$" "" name "${name}")
    endif()
    set(${variable} "test_${name}" PARENT_SCOPE)
endfunction()

# starling_unit_tests(USES ours...): test_*.c anywhere below tests/unit are ctest's tests, the other files there are linked to each, and
# so are the kit, which has their main, and codecs of records that have older versions, which schemas/ may not have. A test that includes
# "fakes/..." is linked with tests/fakes, whose functions then stand for those of the libraries: objects come before archives.
function(starling_unit_tests)
    cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
    starling_codecs(evolution tests/schemas/evolution)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/unit/test_*.c")
    file(GLOB_RECURSE shared CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/unit/*.c")
    list(REMOVE_ITEM shared ${tests})
    list(FILTER shared EXCLUDE REGEX "/tests/unit/kit/")
    starling_library(kit FOLDER tests/unit/kit USES deliver event json base EXTERNAL PkgConfig::CMOCKA)
    target_include_directories(starling_kit PUBLIC "${CMAKE_SOURCE_DIR}/tests")
    starling_library(testing USES kit ${ARG_USES} GENERATED ${shared} ${evolution_CODECS})
    target_compile_definitions(starling_testing PUBLIC
        "STARLING_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"" "STARLING_BINARY_DIR=\"${CMAKE_BINARY_DIR}\"")
    file(GLOB fakes CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fakes/*.c")
    list(TRANSFORM ARG_USES PREPEND starling_)
    add_library(starling_fakes OBJECT ${fakes})
    target_link_libraries(starling_fakes PRIVATE ${ARG_USES})
    target_include_directories(starling_fakes PRIVATE "${CMAKE_SOURCE_DIR}/tests")
    add_dependencies(starling_fakes event_codecs)
    foreach(file IN LISTS tests)
        starling_test_name("${file}" name)
        add_executable(${name} "${file}")
        file(STRINGS "${file}" faked REGEX "^#include \"fakes/")
        if(faked)
            target_sources(${name} PRIVATE $<TARGET_OBJECTS:starling_fakes>)
        endif()
        target_link_libraries(${name} PRIVATE starling_testing)
        add_dependencies(${name} event_codecs)
        add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
        # Less freed memory is kept, and shorter stacks of allocations: the long tests need a sixth less of the processor.
        set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
            "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:quarantine_size_mb=16:malloc_context_size=12;UBSAN_OPTIONS=print_stacktrace=1;PYTHON=${Python3_EXECUTABLE}")
    endforeach()
    # These take minutes: ctest begins with them, so that the others run beside them.
    set_tests_properties(test_protocol_property test_feed_histories PROPERTIES COST 1000)
endfunction()

# starling_test_tools(USES ours...): tests/tools/NAME.c is BUILD/test-NAME, a program that tests run.
function(starling_test_tools)
    cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
    list(TRANSFORM ARG_USES PREPEND starling_)
    file(GLOB tools CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/tools/*.c")
    foreach(file IN LISTS tools)
        get_filename_component(name "${file}" NAME_WE)
        add_executable(test-${name} "${file}")
        target_link_libraries(test-${name} PRIVATE ${ARG_USES})
        add_dependencies(test-${name} event_codecs)
    endforeach()
endfunction()

# starling_test_spine(USES ours...): tests/spine/NAME.c is BUILD/test-spine-NAME, a daemon on the spine's libraries that tests run;
# each is linked with tests/spine/common.
function(starling_test_spine)
    cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
    list(TRANSFORM ARG_USES PREPEND starling_)
    file(GLOB common CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/spine/common/*.c")
    file(GLOB daemons CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/spine/*.c")
    foreach(file IN LISTS daemons)
        get_filename_component(name "${file}" NAME_WE)
        add_executable(test-spine-${name} "${file}" ${common})
        target_link_libraries(test-spine-${name} PRIVATE ${ARG_USES})
        target_include_directories(test-spine-${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests/spine/common")
    endforeach()
endfunction()

# starling_integration_tests(USES ours...): tests/integration/test_*.c are programs against a real broker, which ctest has
# not: the end-to-end tests run them. The other files there are linked to each, and so is the kit of the unit tests.
function(starling_integration_tests)
    cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
    starling_library(integration FOLDER tests/integration WITHOUT "test_[^/]*\\.c" USES kit ${ARG_USES})
    file(GLOB tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/integration/test_*.c")
    foreach(file IN LISTS tests)
        get_filename_component(name "${file}" NAME_WE)
        add_executable(${name} "${file}")
        target_link_libraries(${name} PRIVATE starling_integration)
        add_dependencies(${name} event_codecs)
    endforeach()
endfunction()

# starling_fuzzers(USES ours...): each tests/fuzz/NAME.c is linked with tests/fuzz/common. BUILD/replay-NAME runs its corpus,
# tests/fuzz/corpus/NAME, as ctest's fuzz_NAME; with FUZZERS (clang) BUILD/fuzz-NAME looks for new inputs.
function(starling_fuzzers)
    cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
    list(TRANSFORM ARG_USES PREPEND starling_)
    file(GLOB targets CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fuzz/*.c")
    foreach(file IN LISTS targets)
        get_filename_component(name "${file}" NAME_WE)
        set(programs replay-${name})
        add_executable(replay-${name} "${file}" tests/fuzz/common/fuzz.c tests/fuzz/common/replay.c)
        if(FUZZERS)
            list(APPEND programs fuzz-${name})
            add_executable(fuzz-${name} "${file}" tests/fuzz/common/fuzz.c)
            target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
        endif()
        foreach(program IN LISTS programs)
            target_link_libraries(${program} PRIVATE ${ARG_USES})
            target_include_directories(${program} PRIVATE "${CMAKE_SOURCE_DIR}/tests/fuzz/common")
            add_dependencies(${program} event_codecs)
        endforeach()
        add_test(NAME fuzz_${name} COMMAND replay-${name} tests/fuzz/corpus/${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
        set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 120 ENVIRONMENT
            "LSAN_OPTIONS=use_unaligned=1;UBSAN_OPTIONS=print_stacktrace=1")
    endforeach()
endfunction()
