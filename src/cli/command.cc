// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <cstdlib>

#include "cli/model_store.h"

namespace pawl::cli {

void add_common_options(CommandLine& line, CommonOptions& options, std::string_view seed_default) {
  const char* from_environment = std::getenv("PAWL_MODEL");
  options.model =
      from_environment != nullptr && *from_environment != '\0' ? from_environment : kDefaultModel;
  line.group("Common");
  line.text({"-m,--model", "MODEL", "a .gguf file, or a name from: pawl model list"},
            options.model);
  line.integer({"-t,--threads", "N", "threads that compute", "the CPUs this process may use"},
               options.threads, 1, 1024);
  line.text({"--pre", "NAME", "cuts text into words as this pre-tokenizer does, not the file's"},
            options.pretokenizer);
  line.unsigned_integer({"--seed", "N", "makes random choices repeatable", seed_default},
                        options.seed);
  line.flag({"--json", "", "prints one JSON document on standard output, nothing else"},
            options.is_json);
  line.flag({"--quiet", "", "no notes and no progress on standard error"}, options.is_quiet);
  line.flag({"--offline", "", "never fetches a model"}, options.is_offline);
}

}  // namespace pawl::cli
