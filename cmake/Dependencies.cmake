# Third-party libraries. Each is linked to the one library that includes its header (see tools/check/include-law).

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv>=1.40)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(AVRO REQUIRED IMPORTED_TARGET avro-c>=1.11)
pkg_check_modules(RDKAFKA REQUIRED IMPORTED_TARGET rdkafka>=2.0)
pkg_check_modules(WEBSOCKETS REQUIRED IMPORTED_TARGET libwebsockets>=4.1)
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET openssl>=3.0)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.87)
pkg_check_modules(JWT REQUIRED IMPORTED_TARGET libjwt>=1.10)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.40)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc>=2.5)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)

# Debian's snappy has no .pc file.
find_library(SNAPPY_LIBRARY snappy REQUIRED)
find_path(SNAPPY_INCLUDE_DIR snappy-c.h REQUIRED)
add_library(Snappy::Snappy UNKNOWN IMPORTED)
set_target_properties(Snappy::Snappy PROPERTIES
    IMPORTED_LOCATION "${SNAPPY_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SNAPPY_INCLUDE_DIR}")

# rocksdb.pc describes the C++ library for static linking; all we need is the shared one and its C header.
find_library(ROCKSDB_LIBRARY rocksdb REQUIRED)
find_path(ROCKSDB_INCLUDE_DIR rocksdb/c.h REQUIRED)
add_library(RocksDB::RocksDB UNKNOWN IMPORTED)
set_target_properties(RocksDB::RocksDB PROPERTIES
    IMPORTED_LOCATION "${ROCKSDB_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${ROCKSDB_INCLUDE_DIR}")

if(NOT FUZZERS)
    pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd) # of benches alone
endif()
if(STARLING_TESTS)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka>=1.1)
endif()
