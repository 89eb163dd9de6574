# SPDX-License-Identifier: Apache-2.0
# Finds a cargo that is new enough. Ubuntu's newer packages call theirs cargo-1.NN, with a rustc-1.NN beside it.

# pawl_find_cargo(minimum)  sets PAWL_CARGO_COMMAND, the words to run it with. The cache variable PAWL_CARGO,
# a path, says which one to take.
function(pawl_find_cargo minimum)
  file(GLOB versioned RELATIVE /usr/bin /usr/bin/cargo-1.*)
  list(FILTER versioned INCLUDE REGEX "^cargo-1\\.[0-9]+$")
  list(SORT versioned COMPARE NATURAL ORDER DESCENDING)
  set(seen "")
  foreach(name ${PAWL_CARGO} cargo ${versioned})
    find_program(candidate ${name} NO_CACHE)
    if(NOT candidate)
      continue()
    endif()
    set(command ${candidate})
    if(name MATCHES "^cargo-1")
      string(REPLACE cargo- rustc- compiler ${candidate})
      set(command ${CMAKE_COMMAND} -E env RUSTC=${compiler} ${candidate})
    endif()
    execute_process(COMMAND ${command} --version OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${text}")
    if(version AND NOT version VERSION_LESS minimum)
      message(STATUS "Found cargo: ${candidate} (${version})")
      set(PAWL_CARGO_COMMAND ${command} PARENT_SCOPE)
      return()
    endif()
    string(APPEND seen " ${candidate} is ${version}.")
    unset(candidate)
  endforeach()
  message(FATAL_ERROR "cargo ${minimum} or newer is needed.${seen} ./scripts/quickstart and ./scripts/test install it;"
                      " by hand: Debian 12 has it as rustc-web and cargo-web, Ubuntu 24.04 as rustc-1.NN and cargo-1.NN;"
                      " -DPAWL_CARGO=PATH names one")
endfunction()
