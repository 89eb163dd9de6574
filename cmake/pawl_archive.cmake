# SPDX-License-Identifier: Apache-2.0
# One archive out of several, for whoever links the library without this build.

# Appends to `found` the static libraries that `target` is made of: itself, those of ours that it links, and
# archives that these name by file (what cargo made).
function(pawl_collect_archives target found)
  if(NOT TARGET ${target} OR target IN_LIST ${found})
    return()
  endif()
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    list(APPEND ${found} ${target})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    foreach(library ${libraries})
      if(library MATCHES "^pawl_")
        pawl_collect_archives(${library} ${found})
      elseif(library MATCHES "\\.a$" AND NOT library IN_LIST ${found})
        list(APPEND ${found} ${library})
      endif()
    endforeach()
  endif()
  set(${found} ${${found}} PARENT_SCOPE)
endfunction()

# pawl_merged_archive(name module file): the target `name`, built with all, makes `file`. Sets name_OTHERS to
# the archives that must stand beside it: ar cannot merge what cargo made, whose members hold bitcode too.
function(pawl_merged_archive name module file)
  set(archives "")
  pawl_collect_archives(pawl_${module} archives)
  set(script "CREATE ${file}\n")
  set(files "")
  set(others "")
  foreach(archive ${archives})
    if(NOT TARGET ${archive})
      list(APPEND others ${archive})
      continue()
    endif()
    string(APPEND script "ADDLIB $<TARGET_FILE:${archive}>\n")
    list(APPEND files $<TARGET_FILE:${archive}>)
  endforeach()
  string(APPEND script "SAVE\nEND\n")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.mri CONTENT "${script}")
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${file}
    COMMAND ${CMAKE_AR} -M < ${CMAKE_CURRENT_BINARY_DIR}/${name}.mri
    DEPENDS ${files} ${CMAKE_CURRENT_BINARY_DIR}/${name}.mri
    COMMENT "Merging ${file}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${file})
  set(${name}_OTHERS ${others} PARENT_SCOPE)
endfunction()
