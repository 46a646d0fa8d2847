// SPDX-License-Identifier: Apache-2.0
// Mutated checkpoints: opening, verifying and reading any file succeeds or throws an Error, and
// data that verify are the data written. TRIAX_FUZZ_FILES sets the number of files (300; 10,000
// with jobs/test.sh --long).
#include <algorithm>
#include <cstdlib>
#include <random>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/tools/checkpoint_diff.hpp"
#include "io/checkpoint/tools/checkpoint_inspect.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;

std::uint64_t files_to_try() {
  const char* const text = std::getenv("TRIAX_FUZZ_FILES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 300;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}
  std::string mutated(std::string bytes) {
    switch (below(6)) {
      case 0:  // truncated
        bytes.resize(below(bytes.size()));
        break;
      case 1:  // a range of zeros, like a page that never reached the disk
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - 512)),
                    below(512), '\0');
        break;
      case 2:  // a range copied from elsewhere in the file
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - 64)), 64,
                    bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - 64)));
        break;
      case 3:  // bytes appended
        bytes.append(below(5000), 'x');
        break;
      default:  // a few random bytes
        for (std::size_t n = 1 + below(8); n > 0; --n)
          bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::mt19937_64 random_;
};

// All operations of a user on a file. Returns whether one noticed the mutation: by an Error, or by
// damage found.
bool use(const std::string& path, const std::string& whole) {
  bool noticed = false;
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_STRNE(error.what(), "");
      noticed = true;
    }
  };
  bool verified = false;
  attempt([&] {
    const Verification found = verify_checkpoint(path, MPI_COMM_NULL);
    verified = found.has_checksums && found.damaged.empty();
    noticed |= !verified;
  });
  attempt([&] { inspect_checkpoint(path, false); });
  attempt([&] {
    const bool differs = diff_checkpoints(path, whole, false).tensors;
    EXPECT_FALSE(verified && differs) << "wrong data verify";
    noticed |= differs;
  });
  return noticed;
}

const std::vector<CheckpointTensor> tensors = {
    {"/model/transformer.wte.weight", DType::f32, {8, 3}},
    {"/model/b", DType::f32, {7}},
    {"/optimizer/exp_avg/b", DType::f32, {7}}};

class CheckpointFuzz : public testing::Test {
 protected:
  void write(int files) const {
    std::vector<std::vector<float>> ones;
    for (const CheckpointTensor& tensor : tensors)
      ones.emplace_back(static_cast<std::size_t>(tensor.shape.elements()), 1.0F);
    write_example(whole_, tensors, std::move(ones), example_header(), files);
  }
  TempDirectory dir_;
  std::string whole_ = checkpoint_path(dir_.path(), 1);
  std::string file_ = checkpoint_path(dir_.path(), 2);
};

TEST_F(CheckpointFuzz, AMutatedFileIsReadOrRefused) {
  write(1);
  const std::string bytes = contents(whole_);
  Mutator mutator(11);
  std::uint64_t noticed = 0;
  for (std::uint64_t i = 0; i < files_to_try(); ++i) {
    dir_.file("step-000002.h5", mutator.mutated(bytes));
    SCOPED_TRACE(i);
    if (use(file_, whole_)) ++noticed;
  }
  EXPECT_GT(noticed, files_to_try() / 5);
}

TEST_F(CheckpointFuzz, AMutatedMasterOrPartIsReadOrRefused) {
  write(2);
  const std::string master = contents(whole_);
  const std::string part = contents(whole_ + ".parts/part-000.h5");
  Mutator mutator(12);
  std::uint64_t noticed = 0;
  for (std::uint64_t i = 0; i < files_to_try(); ++i) {
    SCOPED_TRACE(i);
    if (i % 2 == 0) {
      dir_.file("step-000002.h5", mutator.mutated(master));
      if (use(file_, whole_)) ++noticed;
    } else {
      dir_.file("step-000001.h5.parts/part-000.h5", mutator.mutated(part));
      if (use(whole_, whole_)) ++noticed;
      dir_.file("step-000001.h5.parts/part-000.h5", part);
    }
  }
  EXPECT_GT(noticed, files_to_try() / 5);
}

}  // namespace
}  // namespace triax
