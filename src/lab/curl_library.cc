// SPDX-License-Identifier: Apache-2.0
#include "lab/curl_library.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

namespace pawl::lab {
namespace {

constexpr const char* kName = "libcurl.so.4";

// True when the library has the function.
template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load(CurlLibrary& curl) {
  void* const library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  decltype(&::curl_global_init) global_init = nullptr;
  return library != nullptr && find(library, "curl_global_init", global_init) &&
         find(library, "curl_easy_init", curl.easy_init) &&
         find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         find(library, "curl_easy_setopt", curl.easy_setopt) &&
         find(library, "curl_easy_strerror", curl.easy_strerror) &&
         find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
         find(library, "curl_slist_append", curl.slist_append) &&
         find(library, "curl_slist_free_all", curl.slist_free_all) &&
         find(library, "curl_multi_init", curl.multi_init) &&
         find(library, "curl_multi_cleanup", curl.multi_cleanup) &&
         find(library, "curl_multi_add_handle", curl.multi_add_handle) &&
         find(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
         find(library, "curl_multi_perform", curl.multi_perform) &&
         find(library, "curl_multi_info_read", curl.multi_info_read) &&
         find(library, "curl_multi_poll", curl.multi_poll) &&
         find(library, "curl_multi_setopt", curl.multi_setopt) &&
         find(library, "curl_multi_socket_action", curl.multi_socket_action) &&
         global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

}  // namespace

base::Result<const CurlLibrary*> curl_library() {
  static CurlLibrary curl;
  static bool is_loaded = false;
  static std::once_flag once;
  std::call_once(once, [] { is_loaded = load(curl); });
  if (is_loaded) return &curl;
  return base::Error{base::ErrorCode::kUnsupported,
                     std::string(kName) + " could not be loaded, which fetching a URL needs", ""};
}

}  // namespace pawl::lab
