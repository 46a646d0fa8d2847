// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/encode_job.hpp"

#include <fmt/format.h>

#include "src/data/tokenize/text_hash.hpp"
#include "src/version/version.hpp"

namespace triax {

std::string job_fingerprint(const TokenizeOptions& options, const std::vector<InputFile>& files) {
  std::string text = fmt::format(
      "triax {}\ntokenizer {}\nspecial {}\nend {}\nformat {}\nshard {}\nmin {}\nmax {}\n"
      "deduplicate {}\nshuffle {}\nvalidation {}\nbad {}\ninvalid {}\njoin {}:{}\n",
      version, options.tokenizer->fingerprint(), options.special_tokens_in_text,
      options.end_token.value_or(-1), name_of(options.format), options.shard_tokens,
      options.min_length, options.max_documents, options.deduplicate,
      options.shuffle_seed ? fmt::to_string(*options.shuffle_seed) : "no",
      options.validation_fraction, options.skip_bad > 0,
      static_cast<int>(options.documents.invalid), options.documents.join.size(),
      options.documents.join);
  for (const std::string& key : options.documents.keys)
    text += fmt::format("key {}:{}\n", key.size(), key);
  text += files_text(files);
  const TextHash hash = text_hash(text);
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

}  // namespace triax
