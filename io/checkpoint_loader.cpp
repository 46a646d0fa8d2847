#include "io/checkpoint_loader.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "io/checkpoint_block_reader.hpp"
#include "io/load_round.hpp"
#include "io/node_memory.hpp"
#include "io/round_messages.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::size_t width = 128;  // blocks that a rank offers at once, for several rounds

template <class From, class To>
void convert(const std::byte* from, To* to, std::int64_t count) {
  From value;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    to[i] = static_cast<To>(value);
  }
}

// Consecutive elements.
void copy(const std::byte* from, DType type, const Tensor& to) {
  const std::int64_t count = to.elements();
  if (type == to.dtype()) {
    std::memcpy(to.data(), from, static_cast<std::size_t>(to.bytes()));
    return;
  }
  check(to.dtype() == DType::f32, "{} read as {}", name_of(type), name_of(to.dtype()));
  auto* const floats = to.as<float>();
  switch (type) {
    case DType::f64:
      return convert<double>(from, floats, count);
    case DType::bf16:
      return convert<Bf16>(from, floats, count);
    case DType::f16:
      return convert<F16>(from, floats, count);
    default:
      check(false, "{} read as f32", name_of(type));
  }
}

}  // namespace

struct CheckpointLoader::Impl {
  Impl(const CheckpointReader& file, const Ranks& all, const LoaderOptions& wanted)
      : reader(file), ranks(all), options(wanted), blocks(file, all), disk(blocks, file) {}

  /// A round under way; its number says which parts of the memory are its.
  struct Round {
    LoadRound plan;
    std::vector<std::pair<std::int64_t, std::byte*>> mine;  // blocks, where their data begin
    std::vector<BlockReading> readings;                     // those that land in own memory
    std::vector<std::byte*> landings;                       // of plan.duties
    int number = 0;
    std::byte* shared = nullptr;  // its part of what the node's ranks share
  };

  void want(std::int64_t block);
  const std::byte* data_of(std::int64_t block);
  void begin();
  void advance();
  std::vector<std::int64_t> offer() const;
  std::byte* place_of(const Round& round, const LoadPlace& place) const;
  Round start_round();
  void start_readings(Round& round);
  void complete(Round& round);
  void check_block(BlockReading reading, std::byte* place);

  const CheckpointReader& reader;
  Ranks ranks;
  LoaderOptions options;
  CheckpointBlocks blocks;
  CheckpointBlockReader disk;
  std::vector<std::int64_t> sequence;  // the blocks that this rank needs, none twice in a row
  std::size_t next = 0;                // in the sequence: the first that no round has
  std::unique_ptr<NodeMemory> memory;  // from begin on
  std::optional<LoadPlanner> planner;  // likewise
  Round now;                           // what is handed out
  std::size_t at = 0;                  // of its blocks: the last one that was read
  std::deque<Round> ahead;             // what is on its way
  int rounds = 0;                      // so far
  std::string failure;                 // of this rank, not yet told
  bool broken = false;                 // all ranks have heard of one
  std::int64_t bytes_read = 0;
};

void CheckpointLoader::Impl::want(std::int64_t block) {
  check(!memory, "a checkpoint's loader was told of block {} when it had begun", block);
  if (sequence.empty() || sequence.back() != block) sequence.push_back(block);
}

void CheckpointLoader::Impl::begin() {
  NodeMemory::Need need;
  need.window = options.window_bytes;
  for (const std::int64_t block : std::set(sequence.begin(), sequence.end())) {
    const std::int64_t bytes = blocks.footprint(block);
    need.all += bytes;
    need.largest = std::max(need.largest, bytes);
  }
  memory = std::make_unique<NodeMemory>(ranks, need, options.node);
  planner.emplace(memory->nodes(), ranks.rank,
                  [this](std::int64_t block) { return blocks.footprint(block); });
  while (ahead.size() < NodeMemory::parts - 2) ahead.push_back(start_round());
}

std::vector<std::int64_t> CheckpointLoader::Impl::offer() const {
  std::vector<std::int64_t> out(width, -1);
  for (std::size_t i = 0; i < width && next + i < sequence.size(); ++i) out[i] = sequence[next + i];
  return out;
}

// Where a block of the round is handed out.
std::byte* CheckpointLoader::Impl::place_of(const Round& round, const LoadPlace& place) const {
  switch (place.kind) {
    case LoadPlace::Kind::own:
      return round.landings[static_cast<std::size_t>(place.at)];
    case LoadPlace::Kind::shared:
      return round.shared + place.at;
    case LoadPlace::Kind::kept:
      return memory->kept();
  }
  return nullptr;
}

CheckpointLoader::Impl::Round CheckpointLoader::Impl::start_round() {
  Round round;
  round.number = rounds++;
  round.shared = memory->shared(round.number % NodeMemory::shared_parts);
  const bool before = std::exchange(broken, true);  // all ranks plan the same
  if (planner->wants_offers()) planner->offer(gather_over_ranks(ranks, offer()), width);
  round.plan = planner->next();
  broken = before;
  start_readings(round);
  for (const LoadPlace& place : round.plan.places) {
    const std::int64_t block = sequence[next++];
    round.mine.emplace_back(block, place_of(round, place) + blocks.data_offset(block));
  }
  return round;
}

// What comes from the disk to own memory, and where other blocks land.
void CheckpointLoader::Impl::start_readings(Round& round) {
  std::byte* own = memory->own(round.number % NodeMemory::parts);
  std::vector<std::int64_t> from_disk;
  for (const LoadDuty& duty : round.plan.duties)
    if (duty.from < 0) from_disk.push_back(duty.block);
  if (failure.empty()) try {  // else the disk is left alone: all will hear of it
      round.readings = disk.start(from_disk, own);
      for (const std::int64_t block : from_disk) own += blocks.footprint(block);
    } catch (const std::exception& error) {
      failure = error.what();
    }
  std::size_t reading = 0;
  for (const LoadDuty& duty : round.plan.duties) {
    if (!duty.lands_own)
      round.landings.push_back(place_of(round, duty.place));
    else if (duty.from < 0 && !round.readings.empty())
      round.landings.push_back(round.readings[reading++].memory);
    else
      round.landings.push_back(std::exchange(own, own + blocks.footprint(duty.block)));
  }
}

// Brings it to `place` too.
void CheckpointLoader::Impl::check_block(BlockReading reading, std::byte* place) {
  try {
    const Tensor data = disk.finish(reading);
    bytes_read += data.bytes();
    if (blocks.matches(reading.block, data, place + blocks.data_offset(reading.block))) return;
    throw Error(
        fmt::format("{} is damaged", reader.path()),
        fmt::format("its data do not match their checksum in {}", blocks.text(reading.block)),
        "Use another checkpoint");
  } catch (const std::exception& error) {
    if (failure.empty()) failure = error.what();
  }
}

// What could not be read is sent on too: those who wait for it hear of the failure right after.
void CheckpointLoader::Impl::complete(Round& round) {
  RoundMessages messages(ranks);
  const std::vector<LoadDuty>& duties = round.plan.duties;
  const auto bytes_of = [&](std::size_t i) {
    return std::span(round.landings[i],
                     static_cast<std::size_t>(blocks.footprint(duties[i].block)));
  };
  for (std::size_t i = 0; i < duties.size(); ++i)
    if (duties[i].from >= 0) messages.receive(duties[i], bytes_of(i));
  std::size_t reading = 0;
  for (std::size_t i = 0; i < duties.size(); ++i) {
    if (duties[i].from >= 0) continue;
    if (!round.readings.empty())
      check_block(round.readings[reading++], place_of(round, duties[i].place));
    messages.send(duties[i], bytes_of(i));
  }
  messages.finish();
}

void CheckpointLoader::Impl::advance() {
  check(!broken, "a checkpoint's loader is asked for more after it has failed");
  broken = true;  // where it throws, it does on all ranks
  if (!memory) begin();
  broken = false;
  for (BlockReading& reading : ahead.front().readings) disk.wait(reading);
  ahead.push_back(start_round());
  complete(ahead.front());
  // Blocks for several ranks are there when all have been here; and when all have been here again,
  // with the next round, those blocks' memory is free.
  const LoadRound& plan = ahead.front().plan;
  if (plan.shared || now.plan.shared || plan.empty || ranks.size == 1) {
    broken = true;
    agree(ranks, failure);
    broken = false;
  }
  now = std::move(ahead.front());
  ahead.pop_front();
  if (const auto& keep = now.plan.keep)
    std::memcpy(memory->kept(), place_of(now, keep->place),
                static_cast<std::size_t>(blocks.footprint(keep->block)));
}

// The block that was read last, or the next one of the sequence.
const std::byte* CheckpointLoader::Impl::data_of(std::int64_t block) {
  const auto here = [&] { return at < now.mine.size() && now.mine[at].first == block; };
  if (!here() && ++at >= now.mine.size()) {
    advance();
    at = 0;
  }
  check(here(), "{} was not wanted when it was read", blocks.text(block));
  return now.mine[at].second;
}

CheckpointLoader::CheckpointLoader(const CheckpointReader& reader, const Ranks& ranks,
                                   const LoaderOptions& options)
    : impl_(std::make_unique<Impl>(reader, ranks, options)) {}

CheckpointLoader::~CheckpointLoader() = default;

bool CheckpointLoader::has_checksums() const {
  return impl_->blocks.has_checksums();
}

std::string CheckpointLoader::unshared() const {
  return impl_->memory ? impl_->memory->refusal() : std::string();
}

std::int64_t CheckpointLoader::bytes_read() const {
  return impl_->bytes_read;
}

void CheckpointLoader::want(const std::string& name, const std::vector<hdf5::Box>& boxes) {
  const CheckpointBlocks& blocks = impl_->blocks;
  const std::size_t tensor = blocks.find(name);
  const std::int64_t first = blocks.first_of(tensor);
  for (const auto& [begin, count] : hdf5::runs_of(blocks.tensors()[tensor].shape, boxes))
    for (std::int64_t block = begin / blocks.elements();
         count > 0 && block <= (begin + count - 1) / blocks.elements(); ++block)
      impl_->want(first + block);
}

void CheckpointLoader::read(const std::string& name, const std::vector<hdf5::Box>& boxes,
                            const Tensor& data) {
  check(hdf5::elements(boxes) == data.elements(), "{} elements of {} in boxes of {}",
        data.elements(), name, hdf5::elements(boxes));
  const CheckpointBlocks& blocks = impl_->blocks;
  const std::size_t number = blocks.find(name);
  const CheckpointTensor& tensor = blocks.tensors()[number];
  const std::size_t width_of = size_of(tensor.dtype);
  const Tensor all = data.flat();
  std::int64_t done = 0;
  for (const auto& [begin, count] : hdf5::runs_of(tensor.shape, boxes))
    for (std::int64_t at = begin; at < begin + count;) {
      const std::int64_t block = at / blocks.elements();
      const std::int64_t end = std::min(begin + count, (block + 1) * blocks.elements());
      const std::byte* const from = impl_->data_of(blocks.first_of(number) + block);
      copy(from + static_cast<std::size_t>(at - block * blocks.elements()) * width_of, tensor.dtype,
           all.slice(0, done, end - at));
      done += end - at;
      at = end;
    }
}

void CheckpointLoader::fail(const std::string& why) {
  if (impl_->failure.empty()) impl_->failure = why;
}

bool CheckpointLoader::failed() const {
  return impl_->broken;
}

void CheckpointLoader::finish() {
  do {
    impl_->advance();
  } while (!impl_->now.plan.empty || !impl_->ahead.front().plan.empty);
}

}  // namespace triax
