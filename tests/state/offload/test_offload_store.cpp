// SPDX-License-Identifier: Apache-2.0
#include "src/state/offload/offload_store.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <thread>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

// Two datasets; unit p has elements [1024 p, 1024 (p + 1)) of each, the last unit fewer.
class OffloadStoreTest : public testing::Test {
 protected:
  static constexpr std::int64_t part = 1024;
  static constexpr std::int64_t count = 2 * part + 10;

  std::unique_ptr<OffloadStore> make(int buffers = 2, WaitWatch* watch = nullptr) const {
    std::vector<OffloadUnit> units;
    for (std::int64_t first = 0; first < count; first += part) {
      const std::int64_t here = std::min(part, count - first);
      units.push_back({{{0, first, here}, {1, first, here}}, 0});
    }
    return std::make_unique<OffloadStore>(
        OffloadLocation{.path = dir_.path("state.h5"), .ranks = {MPI_COMM_SELF, watch}},
        std::vector<OffloadDataset>{{"/a", DType::f32, count}, {"/b", DType::f32, count}},
        std::move(units), std::vector<int>{buffers});
  }
  static void fill(const OffloadStore& store, int unit, float value) {
    for (const std::size_t run : {0U, 1U}) {
      const Tensor memory = store.at(unit, run);
      std::fill_n(memory.as<float>(), memory.elements(), value + static_cast<float>(run));
    }
  }
  // True if every element of the unit's first range is `value`, and of its second one more.
  static bool holds(const OffloadStore& store, int unit, float value) {
    const auto all_are = [&](const Tensor& memory, float number) {
      return std::all_of(memory.as<float>(), memory.as<float>() + memory.elements(),
                         [&](float found) { return found == number; });
    };
    return all_are(store.at(unit, 0), value) && all_are(store.at(unit, 1), value + 1.0F);
  }

  const TempDirectory dir_;
  const Stream stream_;
};

// Buffers hold two ranges of a page; datasets have three pages (4096 bytes each).
TEST_F(OffloadStoreTest, TakesWholePages) {
  EXPECT_EQ(make(2)->bytes(), (OffloadBytes{2 * 2 * 4096, 2 * 3 * 4096}));
  EXPECT_GE(make(2)->file_bytes(), 2 * 3 * 4096);
  const std::vector<OffloadDataset> datasets = {{"/a", DType::bf16, 5000}};
  EXPECT_EQ(offload_bytes(datasets, {{{{0, 0, 4096}}, 0}, {{{0, 4096, 904}}, 1}}, {3, 1}),
            (OffloadBytes{3 * 8192 + 4096, 3 * 4096}));
  EXPECT_EQ(offload_bytes({}, {}, {4}), OffloadBytes{});
}

TEST_F(OffloadStoreTest, StartsAsZeros) {
  const auto store = make();
  for (int unit = 0; unit < 3; ++unit)
    store->visit(stream_, unit, Access::read, [&] {
      for (const std::size_t run : {0U, 1U}) {
        const Tensor memory = store->at(unit, run);
        EXPECT_EQ(memory.elements(), unit < 2 ? part : 10);
        EXPECT_EQ(std::count(memory.as<float>(), memory.as<float>() + memory.elements(), 0.0F),
                  memory.elements());
      }
    });
}

TEST_F(OffloadStoreTest, UnitsComeAndGoSideBySide) {
  const auto store = make(2);
  store->start_read(0);
  store->start_read(2);
  store->wait_read(0);
  store->wait_read(2);
  fill(*store, 0, 7.0F);
  fill(*store, 2, 9.0F);
  store->start_write(0);
  store->start_write(2);
  store->wait_write(0);
  store->start_read(1);  // in the buffer that unit 0 had
  store->wait_read(1);
  fill(*store, 1, 8.0F);
  store->release(1);  // unchanged in the file
  store->wait_write(2);
  for (const auto& [unit, value] : {std::pair{0, 7.0F}, {2, 9.0F}})
    store->visit(stream_, unit, Access::read,
                 [&, unit = unit, value = value] { EXPECT_TRUE(holds(*store, unit, value)); });
  store->visit(stream_, 1, Access::read, [&] { EXPECT_FALSE(holds(*store, 1, 8.0F)); });
}

// A slow disk delays a rank, and the others must wait longer for it.
TEST_F(OffloadStoreTest, WaitsForTheDiskAreFileWork) {
  struct Watch final : WaitWatch {
    void begins() override {}
    void ends() override {}
    void file_work_begins() override { ++begun; }
    void file_work_ends() override { ++ended; }
    int begun = 0, ended = 0;
  } watch;
  const auto store = make(1, &watch);
  const int made = watch.begun;
  store->start_read(0);
  EXPECT_EQ(watch.begun, made) << "a read that goes on by itself";
  store->wait_read(0);
  EXPECT_EQ(watch.begun, made + 1);
  store->start_write(0);
  store->wait_write(0);
  EXPECT_EQ(watch.begun, made + 2);
  EXPECT_EQ(watch.ended, watch.begun);
}

TEST_F(OffloadStoreTest, VisitsReadUpdateAndReplace) {
  const auto store = make(1);
  store->visit(stream_, 0, Access::replace, [&] { fill(*store, 0, 3.0F); });
  store->visit(stream_, 0, Access::update, [&] {
    EXPECT_TRUE(holds(*store, 0, 3.0F));
    fill(*store, 0, 4.0F);
  });
  store->visit(stream_, 0, Access::read, [&] {
    EXPECT_TRUE(holds(*store, 0, 4.0F));
    fill(*store, 0, 5.0F);  // lost: the access is read
  });
  store->visit(stream_, 0, Access::read, [&] { EXPECT_TRUE(holds(*store, 0, 4.0F)); });
  store->visit(stream_, 0, Access::replace, [&] {
    EXPECT_EQ(store->at(0, 0).as<float>()[0], 0.0F);  // not the old content of the buffer
  });
}

// With one buffer: it is free again, and the file is unchanged.
TEST_F(OffloadStoreTest, AVisitorThatFailsLeavesTheStoreUsable) {
  const auto store = make(1);
  store->visit(stream_, 1, Access::replace, [&] { fill(*store, 1, 3.0F); });
  for (const Access access : {Access::read, Access::update, Access::replace}) {
    const auto fails = [&] {
      store->visit(stream_, 1, access, [&] {
        fill(*store, 1, 5.0F);
        throw std::bad_alloc();
      });
    };
    EXPECT_THROW(fails(), std::bad_alloc);
    EXPECT_THAT(error_of([&] { (void)store->at(1, 0); }), HasSubstr("not in memory"));
    store->visit(stream_, 1, Access::read, [&] { EXPECT_TRUE(holds(*store, 1, 3.0F)); });
  }
}

TEST_F(OffloadStoreTest, AVisitThatCannotReadLeavesTheStoreUsable) {
  const auto store = make(1);
  store->visit(stream_, 0, Access::replace, [&] { fill(*store, 0, 3.0F); });
  const std::string path = dir_.path("state.h5");
  const std::uintmax_t whole = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, 0);
  for (int time = 0; time < 2; ++time)
    EXPECT_THAT(error_of([&] {
                  store->visit(stream_, 0, Access::read, [] { ADD_FAILURE() << "nothing read"; });
                }),
                HasSubstr("the file ends there"));
  std::filesystem::resize_file(path, whole);
  store->visit(stream_, 0, Access::replace, [&] { fill(*store, 0, 4.0F); });
  store->visit(stream_, 0, Access::read, [&] { EXPECT_TRUE(holds(*store, 0, 4.0F)); });
}

TEST_F(OffloadStoreTest, MoreUnitsThanBuffersAreAnInternalError) {
  const auto store = make(1);
  store->start_read(0);
  EXPECT_THAT(error_of([&] { store->start_read(1); }), HasSubstr("no free buffer"));
  EXPECT_THAT(error_of([&] { (void)store->at(2, 0); }), HasSubstr("not in memory"));
}

TEST_F(OffloadStoreTest, FailuresAreErrors) {
  const auto store = make();
  std::filesystem::resize_file(dir_.path("state.h5"), 0);
  store->start_read(0);
  EXPECT_THAT(error_of([&] { store->wait_read(0); }), HasSubstr("the file ends there"));
  EXPECT_THAT(error_of([&] {
                OffloadStore(OffloadLocation{.path = dir_.path("absent/state.h5")},
                             {{"/a", DType::f32, 1}}, {{{{0, 0, 1}}, 0}}, {1});
              }),
              HasSubstr("absent/state.h5"));
}

TEST_F(OffloadStoreTest, WhoLooksWhetherAReadIsDoneMeetsItsFailure) {
  const auto store = make();
  store->visit(stream_, 0, Access::replace, [&] { fill(*store, 0, 3.0F); });
  const auto look = [&] {
    while (!store->test_read(0)) std::this_thread::yield();
  };
  store->start_read(0);
  look();
  EXPECT_TRUE(holds(*store, 0, 3.0F));
  store->release(0);
  std::filesystem::resize_file(dir_.path("state.h5"), 0);
  store->start_read(0);
  EXPECT_THAT(error_of(look), HasSubstr("the file ends there"));
}

TEST_F(OffloadStoreTest, NothingToStoreTakesNoFile) {
  const OffloadStore store(OffloadLocation{.path = dir_.path("none.h5")}, {}, {}, {1});
  EXPECT_FALSE(std::filesystem::exists(dir_.path("none.h5")));
  EXPECT_EQ(store.file_bytes() + store.bytes().buffers, 0);
}

}  // namespace
}  // namespace triax::test
