#pragma once
// The one table of keys: every key of a job file, in the order in which a reader meets them.
#include <string>
#include <unordered_map>
#include <vector>

#include "src/config/keys/key.hpp"

namespace triax {

// The sections, a file each.
std::vector<Key> model_keys();      // model.*, with Hugging Face's names
std::vector<Key> job_keys();        // data, parallel, run, checkpoint, lora
std::vector<Key> training_keys();   // batch, optimizer, scheduler, clipping, precision, printing
std::vector<Key> memory_keys();     // zero_optimization, activation_checkpointing, aio
std::vector<Key> deepspeed_keys();  // the rest of ds_config.json
std::vector<Key> technique_keys();  // its sections on curricula, compression and quantization

/// Keys of a config.json that only readers of an export use.
inline constexpr const char* token_id_keys[] = {"bos_token_id", "eos_token_id", "pad_token_id"};

class KeyTable {
 public:
  KeyTable();
  KeyTable(const KeyTable&) = delete;  // rows_ points into keys_
  KeyTable& operator=(const KeyTable&) = delete;
  const std::vector<Key>& keys() const { return keys_; }
  /// The row of `path` for the section's type (see Key::scope). null: none, or of other types only.
  const Key* find(const std::string& path, const std::string& type) const;
  /// The first row of `path`, whatever its scope; null: no such key. A row "amp.*" stands for all
  /// keys below amp.
  const Key* find(const std::string& path) const;
  /// The rows of `path`, one a type; those of "amp.*" for a key below amp.
  std::vector<const Key*> rows(const std::string& path) const;
  /// Whether keys lie below `path`.
  bool is_section(const std::string& path) const;
  /// The key that is not refused, or section, that is spelled most like `path`; `type` as in find.
  std::string nearest(const std::string& path, const std::string& type) const;

 private:
  std::vector<Key> keys_;
  std::unordered_map<std::string, std::vector<const Key*>> rows_;
};

/// The key that says which rows of a section hold: "model.architecture" for "model.n_layer",
/// "optimizer.type", "scheduler.type"; empty for keys of no such section.
std::string discriminator(const std::string& path);

}  // namespace triax
