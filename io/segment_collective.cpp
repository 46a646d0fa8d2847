#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "io/segment_writer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

void require(int code, const char* what, const std::string& path) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw Error(fmt::format("cannot {} {}", what, path), text,
              "Check the disk's health, free space and quota");
}

// A file that ranks write together.
class TogetherFile {
 public:
  TogetherFile(std::string path, const Ranks& ranks, const hdf5::FileHints& hints)
      : path_(std::move(path)) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    const auto set = [&](const char* key, const std::string& value) {
      MPI_Info_set(info, key, value.c_str());
    };
    set("romio_cb_write", "enable");
    if (hints.striping_factor > 0) set("striping_factor", std::to_string(hints.striping_factor));
    if (hints.striping_unit > 0) set("striping_unit", std::to_string(hints.striping_unit));
    const int code = MPI_File_open(ranks.comm, path_.c_str(), MPI_MODE_WRONLY, info, &file_);
    MPI_Info_free(&info);
    require(code, "open", path_);
  }
  TogetherFile(TogetherFile&& other) noexcept
      : path_(std::move(other.path_)), file_(std::exchange(other.file_, MPI_FILE_NULL)) {}
  TogetherFile& operator=(TogetherFile&&) = delete;
  ~TogetherFile() {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }

  // Collective; ranks may have none.
  void write(std::span<const DataSegment* const> segments) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> offsets;
    std::vector<MPI_Aint> addresses;
    for (const DataSegment* const segment : segments) {
      lengths.push_back(static_cast<int>(segment->bytes));
      offsets.push_back(segment->offset);
      MPI_Get_address(segment->memory, &addresses.emplace_back());
    }
    const auto count = static_cast<int>(segments.size());
    const auto type_of = [&](const std::vector<MPI_Aint>& places) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_create_hindexed(count, lengths.data(), places.data(), MPI_BYTE, &type);
      MPI_Type_commit(&type);
      return type;
    };
    MPI_Datatype in_file = count > 0 ? type_of(offsets) : MPI_BYTE;
    MPI_Datatype in_memory = count > 0 ? type_of(addresses) : MPI_BYTE;
    int code = MPI_File_set_view(file_, 0, MPI_BYTE, in_file, "native", MPI_INFO_NULL);
    MPI_Status status;
    if (code == MPI_SUCCESS)
      code = MPI_File_write_at_all(file_, 0, MPI_BOTTOM, count > 0 ? 1 : 0, in_memory, &status);
    if (count > 0) {
      MPI_Type_free(&in_file);
      MPI_Type_free(&in_memory);
    }
    require(code, "write", path_);
  }

  void sync() { require(MPI_File_sync(file_), "sync", path_); }

 private:
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

class CollectiveWriter final : public SegmentWriter {
 public:
  CollectiveWriter(const std::vector<std::string>& paths, const Ranks& ranks,
                   const hdf5::FileHints& hints)
      : ranks_(ranks), staging_(static_cast<std::size_t>(collective_bytes)) {
    agreed_together(ranks_, [&] {
      for (const std::string& path : paths) files_.emplace_back(path, ranks_, hints);
    });
  }

  void write(std::span<const DataSegment> segments) override {
    for (DataSegment rest : segments)
      while (rest.bytes > 0) {
        if (used_ == collective_bytes) round(true);
        const std::int64_t bytes = std::min(rest.bytes, collective_bytes - used_);
        std::byte* const own = staging_.data() + used_;
        std::memcpy(own, rest.memory, static_cast<std::size_t>(bytes));
        staged_.push_back({rest.file, rest.offset, bytes, own});
        used_ += bytes;
        rest = {rest.file, rest.offset + bytes, rest.bytes - bytes, rest.memory + bytes};
      }
  }

  void finish() override {
    while (round(false)) {
    }
    const WaitScope waiting(ranks_.watch);
    for (TogetherFile& file : files_) attempt([&] { file.sync(); });
    if (!failure_.empty()) throw Error(failure_);
  }

 private:
  // Writes what all ranks have staged. `more`: this rank comes to another round; returns whether
  // any does. A failure is kept for finish(): the others go on.
  bool round(bool more) {
    std::ranges::sort(staged_, {}, &DataSegment::offset);
    std::vector<std::vector<const DataSegment*>> by_file(files_.size());
    for (const DataSegment& segment : staged_) by_file[segment.file].push_back(&segment);
    std::vector<std::uint64_t> wanted;  // of each file, how many have any; and who has more
    for (const auto& segments : by_file) wanted.push_back(segments.empty() ? 0 : 1);
    wanted.push_back(more ? 1 : 0);
    sum_over_ranks(ranks_, wanted);
    const WaitScope waiting(ranks_.watch);
    for (std::size_t file = 0; file < files_.size(); ++file)
      if (wanted[file] > 0) attempt([&] { files_[file].write(by_file[file]); });
    staged_.clear();
    used_ = 0;
    return wanted.back() > 0;
  }

  template <class Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      if (failure_.empty()) failure_ = error.what();
    }
  }

  Ranks ranks_;
  std::vector<TogetherFile> files_;
  std::vector<std::byte> staging_;
  std::int64_t used_ = 0;
  std::vector<DataSegment> staged_;
  std::string failure_;
};

}  // namespace

std::unique_ptr<SegmentWriter> collective_writer(const std::vector<std::string>& paths,
                                                 const Ranks& ranks, const hdf5::FileHints& hints) {
  return std::make_unique<CollectiveWriter>(paths, ranks, hints);
}

}  // namespace triax
