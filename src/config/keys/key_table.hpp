// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of keys: every key of a job file, in reading order.
#include <string>
#include <unordered_map>
#include <vector>

#include "src/config/keys/key.hpp"

namespace triax {

// Rows of the table, one file per section.
std::vector<Key> model_keys();      // model.*, with Hugging Face's names
std::vector<Key> job_keys();        // data, parallel, run, checkpoint
std::vector<Key> lora_keys();       // lora, with PEFT's names
std::vector<Key> training_keys();   // batch, optimizer, scheduler, clipping, precision, printing
std::vector<Key> optimizer_keys();  // of training_keys, in src/state/optimizer/rules
std::vector<Key>
scheduler_keys();                // of training_keys; the schedules have them, in src/config/rates
std::vector<Key> memory_keys();  // zero_optimization, activation_checkpointing, aio
std::vector<Key> deepspeed_keys();  // the rest of ds_config.json
std::vector<Key> serve_keys();      // serve
std::vector<Key> technique_keys();  // ds_config.json on curricula, compression, quantization

/// Keys of a config.json that only readers of an export use.
inline constexpr const char* token_id_keys[] = {"bos_token_id", "eos_token_id", "pad_token_id"};

class KeyTable {
 public:
  KeyTable();
  KeyTable(const KeyTable&) = delete;  // rows_ points into keys_
  KeyTable& operator=(const KeyTable&) = delete;
  const std::vector<Key>& keys() const { return keys_; }
  /// The row of `path` that is valid for `type` (see Key::scope); null: no row, or rows of other
  /// types only.
  const Key* find(const std::string& path, const std::string& type) const;
  /// The first row of `path`, whatever its scope; null: unknown key. The row "amp.*" stands for all
  /// keys below amp.
  const Key* find(const std::string& path) const;
  /// All rows of `path`, one per type; the rows of "amp.*" for a key below amp.
  std::vector<const Key*> rows(const std::string& path) const;
  /// Whether `path` is a section: keys exist below it.
  bool is_section(const std::string& path) const;
  /// The key or section spelled most like `path`, refused keys excepted; `type` as in find.
  std::string nearest(const std::string& path, const std::string& type) const;

 private:
  std::vector<Key> keys_;
  std::unordered_map<std::string, std::vector<const Key*>> rows_;
};

/// The key whose value selects the rows of a section: "model.architecture" for "model.n_layer",
/// "optimizer.type", "scheduler.type"; empty for keys of any other section.
std::string discriminator(const std::string& path);

}  // namespace triax
