# Headers, libraries, the command, runnel.pc and the CMake package. Paths are
# relative to where the files end up, so DESTDIR and moved trees work.
include(CMakePackageConfigHelpers)

set(RUNNEL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/runnel)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/runnel
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS ${RUNNEL_LIBRARIES} EXPORT runnel
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET runnel)
  install(TARGETS runnel RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# ${pcfiledir} keeps runnel.pc right when the tree is moved; an absolute
# libdir or includedir (as some distributions set) is written as it is.
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    set(RUNNEL_PC_${dir} "${CMAKE_INSTALL_${dir}}")
  else()
    set(RUNNEL_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
file(RELATIVE_PATH up
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(RUNNEL_PC_PREFIX "\${pcfiledir}/${up}")
set(RUNNEL_PC_LIBS_PRIVATE "-pthread")
if(CMAKE_DL_LIBS)
  string(APPEND RUNNEL_PC_LIBS_PRIVATE " -l${CMAKE_DL_LIBS}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/runnel.pc.in
               ${PROJECT_BINARY_DIR}/runnel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/runnel.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(EXPORT runnel NAMESPACE runnel:: FILE runnel-targets.cmake
        DESTINATION ${RUNNEL_CMAKE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/runnel-config.cmake.in
  ${PROJECT_BINARY_DIR}/runnel-config.cmake
  INSTALL_DESTINATION ${RUNNEL_CMAKE_DIR})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/runnel-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/runnel-config.cmake
              ${PROJECT_BINARY_DIR}/runnel-config-version.cmake
        DESTINATION ${RUNNEL_CMAKE_DIR})
