# SPDX-License-Identifier: Apache-2.0
# The two words a module's CMakeLists.txt is made of.

# pawl_module(name DEPS modules… LIBS libraries… SOURCES files…)
# One folder = one namespace = one static library. DEPS is the truth about what it may include:
# tools/check_layers.py holds it against the #includes and against ARCHITECTURE.md.
function(pawl_module name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;SOURCES" ${ARGN})
  add_library(pawl_${name} STATIC ${ARG_SOURCES})
  target_include_directories(pawl_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPS PREPEND pawl_ OUTPUT_VARIABLE deps)
  target_link_libraries(pawl_${name} PUBLIC pawl_flags ${deps} PRIVATE ${ARG_LIBS})
endfunction()

# pawl_test(module SOURCES files… [LIBS libraries…] [LABELS labels…])
# Links the module and, through it, its DEPS only: an include across the map fails to link.
function(pawl_test module)
  if(NOT PAWL_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${module}_test ${ARG_SOURCES})
  target_include_directories(${module}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${module}_test PRIVATE pawl_${module} GTest::gtest_main ${ARG_LIBS})
  target_compile_definitions(${module}_test PRIVATE PAWL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(${module}_test DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 900 LABELS "${ARG_LABELS}")
endfunction()
