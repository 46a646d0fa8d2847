// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>

#include "io/hdf5/hdf5.hpp"
#include "tests/io/hdf5_fixtures.hpp"
#include "tests/io/token_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

void add(hdf5::File& file, const std::string& name, DType dtype, const Shape& shape,
         std::vector<std::int32_t> values) {
  file.create_dataset(name, dtype, shape);
  if (!values.empty()) file.write(name, {{{}, shape}}, Tensor(values.data(), shape));
}

TEST(Hdf5Tokens, OfTheNamedDataset) {
  const TempDirectory dir;
  {
    hdf5::File file(dir.path("a.h5"), hdf5::File::Mode::create);
    add(file, "/other", DType::i32, {2}, {8, 9});
    add(file, "/tokens", DType::u16, {5}, {1, 2, 3, 4, 65535});
  }
  const auto file = open_tokens(dir.path("a.h5"));
  EXPECT_EQ(file->format(), "hdf5");
  expect_every_range(*file, {1, 2, 3, 4, 65535});
}

TEST(Hdf5Tokens, OfTheOnlyIntegerDataset) {
  const TempDirectory dir;
  {
    hdf5::File file(dir.path("a.h5"), hdf5::File::Mode::create);
    add(file, "/group/ids", DType::i64, {3}, {1, 2, 3});
    add(file, "/count", DType::i32, {}, {3});
    add(file, "/weights", DType::f32, {1}, {5});
  }
  expect_every_range(*open_tokens(dir.path("a.h5")), {1, 2, 3});
}

TEST(Hdf5Tokens, HaveLabelsBesideThem) {
  const TempDirectory dir;
  for (const DType type : {DType::i32, DType::i64}) {
    {
      hdf5::File file(dir.path("a.h5"), hdf5::File::Mode::create);
      add(file, "/tokens", DType::u16, {4}, {1, 2, 3, 4});
      add(file, "/labels", type, {4}, {-100, 2, -100, 4});
    }
    const auto file = open_tokens(dir.path("a.h5"));
    ASSERT_TRUE(file->has_labels());
    expect_every_range(*file, {1, 2, 3, 4});
    std::vector<std::int32_t> labels(3);
    file->read_labels(1, labels);
    EXPECT_THAT(labels, testing::ElementsAre(2, -100, 4));
    std::filesystem::remove(dir.path("a.h5"));
  }
}

TEST(Hdf5Tokens, RefusesLabelsThatDoNotBelongToThem) {
  const TempDirectory dir;
  {
    hdf5::File file(dir.path("short.h5"), hdf5::File::Mode::create);
    add(file, "/tokens", DType::u16, {4}, {1, 2, 3, 4});
    add(file, "/labels", DType::i32, {3}, {1, 2, 3});
  }
  {
    hdf5::File file(dir.path("real.h5"), hdf5::File::Mode::create);
    add(file, "/tokens", DType::u16, {2}, {1, 2});
    add(file, "/labels", DType::f32, {2}, {1, 2});
  }
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("short.h5")); }),
              AllOf(HasSubstr("short.h5 has labels that do not belong"),
                    HasSubstr("/labels has shape"), HasSubstr("-100")));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("real.h5")); }),
              HasSubstr("/labels does not hold integers"));
}

// As padded corpora have them: rows of tokens, and their lengths.
TEST(Hdf5Tokens, AreNotGuessedBesideRowsOfIntegers) {
  const TempDirectory dir;
  {
    hdf5::File file(dir.path("a.h5"), hdf5::File::Mode::create);
    add(file, "/input_ids", DType::i32, {2, 2}, {1, 2, 3, 4});
    add(file, "/lengths", DType::i32, {2}, {2, 1});
  }
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("a.h5")); }),
              AllOf(HasSubstr("several datasets of integers"), HasSubstr("/input_ids, /lengths"),
                    HasSubstr("SoftLink")));
}

// Opening the dataset for each sample would lose its chunk cache.
TEST(Hdf5Tokens, TheDatasetStaysOpenUntilTheFileGoes) {
  const TempDirectory dir;
  {
    hdf5::File file(dir.path("a.h5"), hdf5::File::Mode::create);
    add(file, "/tokens", DType::u16, {5}, {1, 2, 3, 4, 5});
  }
  const auto open_sets = [] { return H5Fget_obj_count(hid_t{H5F_OBJ_ALL}, H5F_OBJ_DATASET); };
  const auto before = open_sets();
  {
    const auto file = open_tokens(dir.path("a.h5"));
    std::array<std::int32_t, 2> tokens{};
    file->read(0, tokens);
    EXPECT_EQ(open_sets(), before + 1);
    file->read(2, tokens);
    EXPECT_EQ(open_sets(), before + 1);
  }
  EXPECT_EQ(open_sets(), before);
}

TEST(Hdf5Tokens, AmbiguousOrEmptyAreRefused) {
  const TempDirectory dir;
  {
    hdf5::File file(dir.path("two.h5"), hdf5::File::Mode::create);
    add(file, "/a", DType::i32, {1}, {1});
    add(file, "/b", DType::i32, {1}, {1});
    hdf5::File none(dir.path("none.h5"), hdf5::File::Mode::create);
    hdf5::File floats(dir.path("floats.h5"), hdf5::File::Mode::create);
    add(floats, "/tokens", DType::f32, {1}, {1});
    add(floats, "/others", DType::i32, {1}, {1});
    hdf5::File empty(dir.path("empty.h5"), hdf5::File::Mode::create);
    add(empty, "/tokens", DType::i32, {0}, {});
  }
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("two.h5")); }), HasSubstr("2 one-dimensional"));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("none.h5")); }), HasSubstr("0 one-dimensional"));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("floats.h5")); }),
              HasSubstr("/tokens does not hold integers"));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("empty.h5")); }), HasSubstr("no tokens"));
}

TEST(Hdf5Tokens, ATableIsRefusedWithAWayToFlattenIt) {
  const TempDirectory dir;
  for (const std::string name : {"/tokens", "/ids"}) {
    {
      hdf5::File table(dir.path("table.h5"), hdf5::File::Mode::create);
      add(table, name, DType::i32, {2, 2}, {1, 2, 3, 4});
    }
    EXPECT_THAT(
        error_of([&] { open_tokens(dir.path("table.h5")); }),
        AllOf(HasSubstr("its dataset " + name + " has 2 dimensions"),
              HasSubstr("python3 -c \"import h5py, sys; h5py.File('flat.h5', 'w')['tokens'] "
                        "= h5py.File(sys.argv[1])[sys.argv[2]][:].ravel()\" " +
                        dir.path("table.h5") + " " + name)));
  }
}

TEST(Hdf5Tokens, ASingleNumberIsNotFlat) {
  const TempDirectory dir;
  for (const std::string name : {"/tokens", "/ids"}) {
    {
      hdf5::File file(dir.path("a.h5"), hdf5::File::Mode::create);
      add(file, name, DType::i32, {}, {42});
    }
    EXPECT_THAT(error_of([&] { open_tokens(dir.path("a.h5")); }),
                AllOf(HasSubstr("its dataset " + name +
                                " is not flat: it has no dimension, as a single number"),
                      HasSubstr("in a dataset of one dimension")));
  }
}

TEST(Hdf5Tokens, BehindAUserBlock) {
  const TempDirectory dir;
  for (const hsize_t block : {512, 2048, 65536}) {
    put(new_file(dir.path("a.h5"), block), "/tokens", {1, 2, 3});
    const auto file = open_tokens(dir.path("a.h5"));
    EXPECT_EQ(file->format(), "hdf5");
    expect_every_range(*file, {1, 2, 3});
  }
}

TEST(Hdf5Tokens, BehindLinks) {
  const TempDirectory dir;
  put_file(dir.path("other.h5"), "/deep/ids", {1, 2, 3});
  const auto with = [&](const auto& link) {
    const Handle file = new_file(dir.path("a.h5"));
    put(file, "/b", {9});
    put(file, "/c", {9});
    link(file.id());
  };
  const auto links = H5P_DEFAULT;
  const auto expect = [&](const std::vector<std::int32_t>& tokens) {
    expect_every_range(*open_tokens(dir.path("a.h5")), tokens);
  };
  with([&](hid_t file) { made(H5Lcreate_soft("/c", file, "/tokens", links, links)); });
  expect({9});
  with([&](hid_t file) {
    made(H5Lcreate_external("other.h5", "/deep/ids", file, "/tokens", links, links));
  });
  expect({1, 2, 3});
  // Without "/tokens": the only 1-D integer dataset, even with several names.
  with([&](hid_t file) {
    made(H5Ldelete(file, "/b", links));
    made(H5Lcreate_soft("/c", file, "/latest", links, links));
  });
  expect({9});
  with([&](hid_t file) {
    made(H5Ldelete(file, "/b", links));
    made(H5Ldelete(file, "/c", links));
    made(H5Lcreate_external("other.h5", "/deep", file, "/group", links, links));
  });
  expect({1, 2, 3});
}

TEST(Hdf5Tokens, LinksThatLeadNowhereAreNamed) {
  const TempDirectory dir;
  for (const char* name : {"/tokens", "/ids"}) {
    made(H5Lcreate_external("gone.h5", "/x", new_file(dir.path("a.h5")).id(), name, H5P_DEFAULT,
                            H5P_DEFAULT));
    EXPECT_THAT(error_of([&] { open_tokens(dir.path("a.h5")); }),
                AllOf(HasSubstr(name), HasSubstr("a link to /x of gone.h5"),
                      HasSubstr("unable to open external file")));
  }
  made(H5Lcreate_soft("/x", new_file(dir.path("a.h5")).id(), "/tokens", H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("a.h5")); }), HasSubstr("a link to /x"));
}

TEST(Hdf5Tokens, OfANamedType) {
  const TempDirectory dir;
  {
    const Handle file = new_file(dir.path("a.h5"));
    const Handle type(made(H5Tcopy(H5T_STD_U16BE)), H5Tclose);
    made(H5Tcommit2(file.id(), "/token_id", type.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put(file, "/tokens", {1, 2, 65535}, type.id());
  }
  expect_every_range(*open_tokens(dir.path("a.h5")), {1, 2, 65535});
}

TEST(Hdf5Tokens, OfSeveralFilesAreWholeOrRefused) {
  const TempDirectory dir;
  put_file(dir.path("a.h5"), "/x", {1, 2, 3});
  put_file(dir.path("b.h5"), "/x", {4, 5});
  put_virtual(
      new_file(dir.path("all.h5")), "/tokens", 5,
      {{range_of(5, 0, 3), "a.h5", "/x", all_of(3)}, {range_of(5, 3, 5), "b.h5", "/x", all_of(2)}});
  expect_every_range(*open_tokens(dir.path("all.h5")), {1, 2, 3, 4, 5});
  std::filesystem::remove(dir.path("b.h5"));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("all.h5")); }),
              AllOf(HasSubstr("2 of the 5 tokens of its dataset /tokens"),
                    HasSubstr("dataset /x of " + dir.path("b.h5")), HasSubstr("No such file")));
}

TEST(Hdf5Tokens, NeverWrittenAreRefused) {
  const TempDirectory dir;
  put_chunked(new_file(dir.path("a.h5")), "/tokens", 100, 10, 0, 70);
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("a.h5")); }),
              AllOf(HasSubstr("a.h5 is not whole"), HasSubstr("30 of the 100 tokens")));
}

TEST(Hdf5Tokens, OfAKilledWriterAreNotCalledDamaged) {
  const TempDirectory dir;
  put_file_left_open(dir.path("a.h5"), "/tokens", {1, 2, 3});
  EXPECT_THAT(
      error_of([&] { open_tokens(dir.path("a.h5")); }),
      AllOf(HasSubstr("h5clear -s " + dir.path("a.h5")), testing::Not(HasSubstr("damaged"))));
}

TEST(Hdf5Tokens, ATruncatedFileIsRefused) {
  const TempDirectory dir;
  {
    hdf5::File file(dir.path("a.h5"), hdf5::File::Mode::create);
    add(file, "/tokens", DType::i32, {3}, {1, 2, 3});
  }
  const std::string whole = contents(dir.path("a.h5"));
  const std::string torn = dir.file("torn.h5", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error_of([&] { open_tokens(torn); }),
              AllOf(HasSubstr("torn.h5"), HasSubstr("truncated")));
}

}  // namespace
}  // namespace triax
