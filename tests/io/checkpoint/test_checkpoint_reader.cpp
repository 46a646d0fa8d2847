// SPDX-License-Identifier: Apache-2.0
// Errors about files that do not open as checkpoints.
#include <sys/resource.h>
#include <unistd.h>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/hdf5_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<CheckpointTensor> tensors = {{"/model/a.weight", DType::f32, {2, 3}},
                                               {"/optimizer/exp_avg/a.weight", DType::f32, {2, 3}}};
const std::vector<std::vector<float>> values = {{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}};

TEST(CheckpointReader, SaysWhichLimitIsTooLow) {
  const TempDirectory dir;
  const std::string path = dir.path("good.h5");
  write_example(path, tensors, values);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(0);
  ASSERT_GE(next, 0);
  ::close(next);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(next);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::string error = error_of([&] { CheckpointReader{path}; });
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(error, AllOf(HasSubstr(path), HasSubstr("Too many open files"),
                           HasSubstr("ulimit -n"), testing::Not(HasSubstr("damaged"))));
}

// Changes the list of tensors as someone would who knows the format.
TEST(CheckpointReader, NamesTheTensorThatIsOddInTheList) {
  const TempDirectory dir;
  const std::string path = dir.path("list.h5");
  const auto error_after = [&](const auto& change) {
    write_example(path, tensors, values);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    change(file);
    H5Fclose(file);
    return error_of([&] {
      const CheckpointReader reader(path);
      reader.check_tensors();
    });
  };
  const auto move = [](hid_t file, const char* from, const char* to) {
    EXPECT_GE(H5Lmove(file, from, file, to, H5P_DEFAULT, H5P_DEFAULT), 0);
  };
  EXPECT_EQ(error_after([](hid_t) {}), "");
  EXPECT_THAT(error_after([&](hid_t file) { move(file, "/model/a.weight", "/model/b.weight"); }),
              AllOf(HasSubstr("names, types and shapes"), HasSubstr("/model/b.weight was not")));
  EXPECT_THAT(
      error_after([&](hid_t file) { H5Ldelete(file, "/optimizer/exp_avg/a.weight", H5P_DEFAULT); }),
      HasSubstr("/optimizer/exp_avg/a.weight is missing"));
  EXPECT_THAT(error_after([&](hid_t file) {
                H5Ldelete(file, "/integrity/model/a.weight", H5P_DEFAULT);
                move(file, "/integrity/optimizer/exp_avg/a.weight", "/integrity/model/a.weight");
                move(file, "/optimizer/exp_avg/a.weight", "/optimizer/exp_avg/c");
              }),
              HasSubstr("was not written"));
}

// As someone who rewrites a file with HDF5's tools may leave them.
TEST(CheckpointReader, SaysThatTheChecksumsThemselvesAreMissing) {
  const TempDirectory dir;
  const std::string path = dir.path("sums.h5"), sums = "/integrity/model/a.weight";
  const auto error_with = [&](const auto& set_layout) {
    write_example(path, tensors, values);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    EXPECT_GE(H5Ldelete(file, sums.c_str(), H5P_DEFAULT), 0);
    const hsize_t one = 1;
    const hid_t space = H5Screate_simple(1, &one, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    set_layout(creation, space);
    H5Dclose(
        H5Dcreate2(file, sums.c_str(), H5T_STD_U64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    return error_of([&] {
      const CheckpointReader reader(path);
      (void)reader.checksums(reader.tensor("/model/a.weight"), reader.checksum_block());
    });
  };
  EXPECT_THAT(error_with([](hid_t, hid_t) {}),
              AllOf(HasSubstr("1 of the 1 checksums of its dataset " + sums + " are not stored"),
                    testing::Not(HasSubstr("no reason given"))));
  const hsize_t one = 1;
  EXPECT_THAT(error_with([&](hid_t creation, hid_t) { H5Pset_chunk(creation, 1, &one); }),
              HasSubstr("1 of the 1 checksums of its dataset " + sums + " are not stored"));
  EXPECT_THAT(error_with([&](hid_t creation, hid_t space) {
                H5Pset_virtual(creation, space, ".", "/integrity/optimizer/exp_avg/a.weight",
                               space);
              }),
              AllOf(HasSubstr("the checksums themselves are missing"), HasSubstr(sums),
                    HasSubstr("virtual")));
}

TEST(CheckpointReader, NamesTheTensorThatDoesNotOpen) {
  const TempDirectory dir;
  const std::string path = dir.path("object.h5");
  write_example(path, tensors, values);
  H5O_info_t info;
  {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    ASSERT_GE(H5Oget_info_by_name(file, "/optimizer/exp_avg/a.weight", &info, H5P_DEFAULT), 0);
    H5Fclose(file);
  }
  flip_bit(path, static_cast<std::int64_t>(info.addr), 1);
  const CheckpointReader reader(path);
  EXPECT_THAT(error_of([&] { (void)reader.tensors(); }),
              AllOf(HasSubstr("list the datasets of /"),
                    HasSubstr("optimizer/exp_avg/a.weight does not open")));
}

// Changes how a tensor is stored, and returns the error.
template <class Change>
std::string error_after(const std::string& path, Change&& change) {
  write_example(path, tensors, values);
  {
    const Handle file(made(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), H5Fclose);
    made(H5Lmove(file.id(), "/model/a.weight", file.id(), "/old", H5P_DEFAULT, H5P_DEFAULT));
    change(file);
    made(H5Ldelete(file.id(), "/old", H5P_DEFAULT));
  }
  return error_of([&] {
    const CheckpointReader reader(path);
    std::vector<float> out(6);
    reader.read(reader.tensor("/model/a.weight").name, {{{}, {2, 3}}}, Tensor(out.data(), {2, 3}));
    EXPECT_EQ(out, values[0]);
  });
}

Handle float_set(const Handle& file, const std::string& name, const Handle& creation) {
  return new_set(file, name, simple_space({2, 3}), creation, H5T_IEEE_F32LE);
}

void write_floats(const Handle& set) {
  made(H5Dwrite(set.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[0].data()));
}

TEST(CheckpointReader, RefusesTensorsOfWhichElementsAreInNoFile) {
  const TempDirectory dir;
  const std::string path = dir.path("assembled.h5");
  const auto expected = [&](const std::string& why) {
    return AllOf(HasSubstr(path + " is not whole"),
                 HasSubstr("6 of the 6 elements of its dataset /model/a.weight"), HasSubstr(why));
  };
  EXPECT_THAT(error_after(path,
                          [&](const Handle& file) {
                            (void)float_set(file, "/model/a.weight", plist(H5P_DATASET_CREATE));
                          }),
              expected("none was ever written"));
  EXPECT_THAT(error_after(path,
                          [&](const Handle& file) {
                            const Handle creation = plist(H5P_DATASET_CREATE);
                            const std::vector<hsize_t> chunk = {2, 2};
                            made(H5Pset_chunk(creation.id(), 2, chunk.data()));
                            (void)float_set(file, "/model/a.weight", creation);
                          }),
              expected("2 of its 2 chunks"));
  const auto assemble = [&](const Handle& file) {
    const Handle creation = plist(H5P_DATASET_CREATE);
    const Handle space = simple_space({2, 3});
    made(H5Pset_virtual(creation.id(), space.id(), "source.h5", "/w", space.id()));
    (void)float_set(file, "/model/a.weight", creation);
  };
  EXPECT_THAT(error_after(path, assemble), expected("dataset /w of " + dir.path("source.h5")));
  write_floats(float_set(new_file(dir.path("source.h5")), "/w", plist(H5P_DATASET_CREATE)));
  EXPECT_EQ(error_after(path, assemble), "");
}

// HDF5 makes such a tensor shorter.
TEST(CheckpointReader, RefusesTensorsOfWhichTheLastRowIsInNoFile) {
  const TempDirectory dir;
  const auto row = [&](int number) { return dir.path(fmt::format("row-{}.h5", number)); };
  for (int i = 0; i < 2; ++i) {
    const Handle set = new_set(new_file(row(i)), "/w", simple_space({1, 3}),
                               plist(H5P_DATASET_CREATE), H5T_IEEE_F32LE);
    made(H5Dwrite(set.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                  values[0].data() + static_cast<std::ptrdiff_t>(3 * i)));
  }
  const auto assemble = [&](const Handle& file) {
    const Handle creation = plist(H5P_DATASET_CREATE);
    const Handle all = simple_space({2, 3}, {H5S_UNLIMITED, 3});
    const Handle rows = simple_space({2, 3}, {H5S_UNLIMITED, 3});
    const std::vector<hsize_t> start = {0, 0}, apart = {1, 3}, count = {H5S_UNLIMITED, 1},
                               row_extent = {1, 3};
    made(H5Sselect_hyperslab(rows.id(), H5S_SELECT_SET, start.data(), apart.data(), count.data(),
                             row_extent.data()));
    made(H5Pset_virtual(creation.id(), rows.id(), "row-%b.h5", "/w", simple_space({1, 3}).id()));
    (void)new_set(file, "/model/a.weight", all, creation, H5T_IEEE_F32LE);
  };
  const std::string path = dir.path("assembled.h5");
  EXPECT_EQ(error_after(path, assemble), "");
  std::filesystem::remove(row(1));
  EXPECT_THAT(error_after(path, assemble),
              AllOf(HasSubstr(path + " is not whole"), HasSubstr("dataset /model/a.weight"),
                    HasSubstr("size 2 and has size 1 now"), HasSubstr("dataset /w of " + row(1))));
}

TEST(CheckpointReader, FollowsLinksToTensors) {
  const TempDirectory dir;
  const std::string path = dir.path("linked.h5");
  const auto link = [&](const Handle& file) {
    made(H5Lcreate_external("source.h5", "/w", file.id(), "/model/a.weight", H5P_DEFAULT,
                            H5P_DEFAULT));
  };
  EXPECT_THAT(error_after(path, link),
              AllOf(HasSubstr("/model/a.weight in " + path), HasSubstr("link to /w of source.h5")));
  {
    const Handle file = new_file(dir.path("source.h5"));
    put(file, "/other", {1, 2, 3});
    write_floats(float_set(file, "/w", plist(H5P_DATASET_CREATE)));
  }
  EXPECT_EQ(error_after(path, link), "");
  // Only HDF5 can read it: the data are in another file.
  EXPECT_FALSE(CheckpointReader(path).file().plain_data("/model/a.weight"));
  EXPECT_THAT(verify_checkpoint(path, MPI_COMM_NULL).damaged, testing::IsEmpty());
}

TEST(CheckpointReader, TakesAUserBlockOfAnotherProgram) {
  const TempDirectory dir;
  const std::string path = dir.path("good.h5");
  write_example(path, tensors, values);
  const std::string with_block = dir.file("block.h5", std::string(2048, '#') + contents(path));
  EXPECT_THAT(verify_checkpoint(with_block, MPI_COMM_NULL).damaged, testing::IsEmpty());
  std::vector<float> out(6);
  CheckpointReader(with_block).read("/model/a.weight", {{{}, {2, 3}}}, Tensor(out.data(), {2, 3}));
  EXPECT_EQ(out, values[0]);
}

TEST(CheckpointReader, SaysWhatIsWrongWithAFile) {
  const TempDirectory dir;
  const auto error = [](const std::string& path) {
    return error_of([&] { CheckpointReader{path}; });
  };
  write_example(dir.path("good.h5"), tensors, values);
  const std::string whole = contents(dir.path("good.h5"));
  EXPECT_THAT(error(dir.path("none.h5")), HasSubstr("No such file"));
  EXPECT_THAT(error(dir.file("text.h5", "words")), HasSubstr("text.h5 as HDF5"));
  EXPECT_THAT(error(dir.file("torn.h5", whole.substr(0, whole.size() - 8))),
              HasSubstr("truncated"));
  {
    hdf5::File other(dir.path("other.h5"), hdf5::File::Mode::create);
    other.create_dataset("/model/x", DType::f32, {1});
    hdf5::File newer(dir.path("newer.h5"), hdf5::File::Mode::create);
    newer.create_dataset("/model/x", DType::f32, {1});
    newer.write_attribute("/", "format_version", std::int64_t{3});
  }
  EXPECT_THAT(error(dir.path("other.h5")), HasSubstr("not a triax checkpoint"));
  put_file_left_open(dir.path("left.h5"), "/model/x", {1});
  EXPECT_THAT(error(dir.path("left.h5")), AllOf(HasSubstr("h5clear -s " + dir.path("left.h5")),
                                                testing::Not(HasSubstr("damaged"))));
  EXPECT_THAT(error(dir.path("newer.h5")),
              AllOf(HasSubstr("format version 3"), HasSubstr("newer triax")));
}

}  // namespace
}  // namespace triax
