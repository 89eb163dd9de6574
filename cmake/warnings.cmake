# SPDX-License-Identifier: Apache-2.0
# Flags that hold for every file. Numerics: no fused multiply-add but where it is written, so that every
# kernel variant and every compiler computes the same bits.
add_library(pawl_flags INTERFACE)
target_compile_options(pawl_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
if(PAWL_WERROR)
  target_compile_options(pawl_flags INTERFACE -Werror)
endif()
if(PAWL_SANITIZE)
  target_compile_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE})
endif()
