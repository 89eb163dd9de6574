# SPDX-License-Identifier: Apache-2.0
# Flags that hold for every file. Numerics: no fused multiply-add but where it is written, so that every
# kernel variant and every compiler computes the same bits.
add_library(pawl_flags INTERFACE)
target_compile_options(pawl_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
# Only with the compilers that the code was cleared with: a newer one may warn of what nobody has seen.
if(PAWL_WERROR AND ((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
                    OR (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)))
  target_compile_options(pawl_flags INTERFACE -Werror)
endif()
if(PAWL_SANITIZE)
  target_compile_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE})
endif()
