# Files that become part of a program. Included by CMakeLists.txt, where it gives starling_embed; and run by it as a script
# (cmake -DFROM=... -DTO=... -DSYMBOL=... -P Embed.cmake), which writes TO: the bytes of FROM as SYMBOL, and SYMBOL_SIZE.
if(CMAKE_SCRIPT_MODE_FILE)
    file(READ "${FROM}" hex HEX)
    string(REGEX REPLACE "(................................................................)" "\\1\n" lines "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")
    file(WRITE "${TO}" "#include <stddef.h>\n\nextern const unsigned char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_SIZE;\n"
        "const unsigned char ${SYMBOL}[] = {\n${bytes}\n};\nconst size_t ${SYMBOL}_SIZE = sizeof ${SYMBOL};\n")
    return()
endif()

# starling_embed(FILE SYMBOL OUT): OUT becomes the generated source.
function(starling_embed file symbol out)
    set(from "${CMAKE_SOURCE_DIR}/${file}")
    set(to "${CMAKE_BINARY_DIR}/generated/${symbol}.c")
    add_custom_command(
        OUTPUT "${to}"
        COMMAND "${CMAKE_COMMAND}" "-DFROM=${from}" "-DTO=${to}" "-DSYMBOL=${symbol}" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        DEPENDS "${from}" "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        COMMENT "Embedding ${file}"
        VERBATIM)
    set(${out} "${to}" PARENT_SCOPE)
endfunction()
