// SPDX-License-Identifier: Apache-2.0
// libcurl, loaded when something is fetched and not before: it brings some thirty libraries along,
// which would cost every start of the program 15 ms and 4 MB.
#pragma once

#include <curl/curl.h>

#include "base/result.h"

namespace pawl::lab {

// The functions in use, under their own names without "curl_".
struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_perform) multi_perform;
  decltype(&::curl_multi_info_read) multi_info_read;
  decltype(&::curl_multi_poll) multi_poll;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_socket_action) multi_socket_action;
};

// Loads it once; it stays. Error kUnsupported when it is not installed. Threads: any.
base::Result<const CurlLibrary*> curl_library();

}  // namespace pawl::lab
