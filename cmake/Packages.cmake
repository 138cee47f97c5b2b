# Installs files and makes Debian packages of them: `starling` with the daemons, `starling-cli` with the commands. Included last by
# CMakeLists.txt where PACKAGING is on; makes the target `pages` and lets cpack work. ./dev package calls both.
set(packaging "${CMAKE_SOURCE_DIR}/packaging")
set(made "${CMAKE_BINARY_DIR}/packaging")

# Times inside packages: that of SOURCE_DATE_EPOCH, which is the last commit's time.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
    message(FATAL_ERROR "PACKAGING needs SOURCE_DATE_EPOCH in the environment")
endif()
string(TIMESTAMP date "%Y-%m-%d" UTC)

# ---- manual pages and completion ----

set(kinds ingest router fanout feed comments places history-sink moderation)
set(scripts starling-plan starling-comments-convert)
set(pages "${made}/man/starling.1" "${made}/man/starling-load.1" "${made}/man/starling.properties.5")
foreach(script IN LISTS scripts)
    list(APPEND pages "${made}/man/${script}.1")
    list(APPEND script_files "${CMAKE_SOURCE_DIR}/tools/${script}")
endforeach()
foreach(kind IN LISTS kinds)
    list(APPEND pages "${made}/man/starling-${kind}.8")
endforeach()
add_custom_command(
    OUTPUT ${pages}
    COMMAND Python3::Interpreter "${packaging}/pages.py" "$<TARGET_FILE:document>" "$<TARGET_FILE:starling>" "$<TARGET_FILE:starling-load>" "${made}"
        "${date}"
    DEPENDS "${packaging}/pages.py" ${script_files} document starling starling-load
    COMMENT "Writing manual pages and completion"
    VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages})

# ---- units ----

set(DESCRIPTION_ingest "HTTP gateway")
set(DESCRIPTION_router "friendships and nearby friends")
set(DESCRIPTION_fanout "WebSocket edge")
set(DESCRIPTION_feed "posts, follows and home timelines")
set(DESCRIPTION_comments "comments and likes")
set(DESCRIPTION_places "arrivals and departures")
set(DESCRIPTION_history-sink "history of positions")
set(DESCRIPTION_moderation "search index of comments")
set(SBINDIR /usr/sbin)
foreach(KIND IN LISTS kinds)
    set(PROGRAM starling-${KIND})
    set(DESCRIPTION "${DESCRIPTION_${KIND}}")
    set(INSTANCE_TEXT "")
    set(INSTANCE_CONFIG "")
    configure_file("${packaging}/systemd/daemon.service.in" "${made}/systemd/${PROGRAM}.service" @ONLY)
    set(INSTANCE_TEXT " (%i)")
    set(INSTANCE_CONFIG " --config /etc/starling/${KIND}@%i.properties")
    configure_file("${packaging}/systemd/daemon.service.in" "${made}/systemd/${PROGRAM}@.service" @ONLY)
endforeach()

# ---- what goes where ----

install(CODE "
    execute_process(COMMAND gzip -9nc \"${CMAKE_SOURCE_DIR}/CHANGELOG.md\" OUTPUT_FILE \"${made}/changelog.gz\" COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB pages \"${made}/man/*.[0-9]\")
    foreach(page IN LISTS pages)
        execute_process(COMMAND gzip -9nc \"\${page}\" OUTPUT_FILE \"\${page}.gz\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()" ALL_COMPONENTS)

install(TARGETS starling starling-load RUNTIME DESTINATION bin COMPONENT cli)
install(PROGRAMS ${script_files} DESTINATION bin COMPONENT cli)
foreach(program IN ITEMS starling starling-load ${scripts})
    install(FILES "${made}/man/${program}.1.gz" DESTINATION share/man/man1 COMPONENT cli)
    install(FILES "${made}/completion/${program}" DESTINATION share/bash-completion/completions COMPONENT cli)
endforeach()
foreach(kind IN LISTS kinds)
    set(program starling-${kind})
    install(TARGETS ${program} RUNTIME DESTINATION sbin COMPONENT daemons)
    install(FILES "${made}/man/${program}.8.gz" DESTINATION share/man/man8 COMPONENT daemons)
    install(FILES "${made}/completion/${program}" DESTINATION share/bash-completion/completions COMPONENT daemons)
    install(FILES "${packaging}/etc/${kind}.properties" DESTINATION /etc/starling COMPONENT daemons)
    install(FILES "${made}/systemd/${program}.service" "${made}/systemd/${program}@.service" DESTINATION lib/systemd/system COMPONENT daemons)
endforeach()
install(FILES "${packaging}/etc/starling.properties" DESTINATION /etc/starling COMPONENT daemons)
install(FILES "${made}/man/starling.properties.5.gz" DESTINATION share/man/man5 COMPONENT daemons)
install(FILES "${packaging}/systemd/starling.sysusers" DESTINATION lib/sysusers.d RENAME starling.conf COMPONENT daemons)
install(FILES "${packaging}/systemd/starling.tmpfiles" DESTINATION lib/tmpfiles.d RENAME starling.conf COMPONENT daemons)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/web/dist/" DESTINATION share/starling/web COMPONENT daemons)
foreach(component_package IN ITEMS daemons:starling cli:starling-cli)
    string(REPLACE ":" ";" pair "${component_package}")
    list(GET pair 0 component)
    list(GET pair 1 package)
    install(FILES "${packaging}/debian/copyright" "${made}/changelog.gz" DESTINATION share/doc/${package} COMPONENT ${component})
endforeach()

# ---- cpack ----

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME starling)
set(CPACK_PACKAGE_VENDOR "starling")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DIRECTORY "${made}/debs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL daemons cli)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The starling authors <maintainers@starling.invalid>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STRIP_FILES OFF)
# Libraries differ between releases of Debian, so packages do too: 1.0.0~deb12.
file(STRINGS /etc/os-release release REGEX "^VERSION_ID=")
string(REGEX MATCH "[0-9]+" release "${release}")
set(CPACK_DEBIAN_PACKAGE_VERSION "${PROJECT_VERSION}~deb${release}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

set(CPACK_DEBIAN_DAEMONS_PACKAGE_NAME starling)
set(CPACK_DEBIAN_DAEMONS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_DAEMONS_DEBUGINFO_PACKAGE ON)
set(CPACK_COMPONENT_DAEMONS_DESCRIPTION "nearby friends, feeds and comments on Kafka: the daemons
Seven daemons around Apache Kafka that tell phones which friends are near,
what those whom a user follows have posted, and what is said about it. This
package has the daemons, their systemd units and the web page. It starts none.")
set(CPACK_DEBIAN_DAEMONS_PACKAGE_DEPENDS
    "libwebsockets-evlib-uv, systemd | systemd-standalone-sysusers | systemd-sysusers, systemd | systemd-standalone-tmpfiles | systemd-tmpfiles")
set(CPACK_DEBIAN_DAEMONS_PACKAGE_RECOMMENDS "starling-cli")
set(CPACK_DEBIAN_DAEMONS_PACKAGE_CONTROL_EXTRA
    "${packaging}/debian/postinst;${packaging}/debian/prerm;${packaging}/debian/postrm;${made}/conffiles")
list(TRANSFORM kinds REPLACE "(.+)" "/etc/starling/\\1.properties" OUTPUT_VARIABLE conffiles)
list(APPEND conffiles /etc/starling/starling.properties)
list(JOIN conffiles "\n" conffiles)
file(WRITE "${made}/conffiles" "${conffiles}\n")

set(CPACK_DEBIAN_CLI_PACKAGE_NAME starling-cli)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_CLI_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "libwebsockets-evlib-uv, python3")
set(CPACK_COMPONENT_CLI_DESCRIPTION "nearby friends, feeds and comments on Kafka: the command
The starling command makes and watches the topics of starling, moves data
in and out, and shows what users see. starling-load simulates thousands of
them. starling-plan counts the processes and machines that a load needs.
starling-comments-convert makes comments of other sites ready to be imported.")
include(CPack)
