// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolve/paths.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "src/config/resolve/resolved_paths.hpp"
#include "src/config/source/pattern.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

class Paths : public testing_support::JobFiles {
 protected:
  std::vector<std::string> train(const std::string& value) {
    const auto file = write("job.json",
                            "{\"model\": {\"architecture\": \"gpt2\"}, \"train_batch_size\": 1, "
                            "\"data\": {\"train\": " +
                                value + "}}");
    return load_job(file, {}, 1).config.data.train;
  }
};

TEST_F(Paths, ExpandsPatternsSorted) {
  for (const auto* name : {"c/3.txt", "c/1.txt", "c/2.txt", "c/x.bin", "c/dir.txt/inner"})
    write(name, "x");
  EXPECT_THAT(train("[\"c/*.txt\", \"" + path("c/x.bin") + "\"]"),
              ElementsAre(path("c/1.txt"), path("c/2.txt"), path("c/3.txt"), path("c/x.bin")));
  EXPECT_THAT(train("\"c/[12].txt\""), ElementsAre(path("c/1.txt"), path("c/2.txt")));
}

TEST_F(Paths, LooksInTheWorkingDirectoryFirst) {
  const auto here = std::filesystem::current_path();
  write("cwd/data.txt", "x");
  write("cwd/other/unused.txt", "x");
  write("data.txt", "x");
  std::filesystem::current_path(path("cwd"));
  EXPECT_THAT(train("\"data.txt\""), ElementsAre("data.txt"));
  EXPECT_THAT(train("\"text.txt\""), ElementsAre(path("text.txt")))
      << "not here, but beside the job file";
  std::filesystem::current_path(here);
}

TEST_F(Paths, AFileBesideTheFileThatNamesIt) {
  write("bases/base.json", R"({"model": {"architecture": "gpt2"}, "data": {"train": "near.txt"},
    "train_batch_size": 1})");
  write("bases/near.txt", "x");
  EXPECT_THAT(
      load_job(write("job.json", "{\"extends\": \"bases/base.json\"}"), {}, 1).config.data.train,
      ElementsAre(path("bases/near.txt")));
}

TEST_F(Paths, AMegatronPrefixStandsForItsPair) {
  write("c/corpus.v1_text.idx", "x");
  EXPECT_THAT(train("\"c/corpus.v1_text\""), ElementsAre(path("c/corpus.v1_text.bin")));
  EXPECT_THAT(error("", 1, {"data.train=c/corpus"}),
              HasSubstr("no such file: c/corpus, nor c/corpus.idx"));
}

TEST_F(Paths, APatternThatMatchesAPairHasItOnce) {
  for (const auto* name : {"c/a.bin", "c/a.idx", "c/alone.idx", "c/b.bin"}) write(name, "x");
  EXPECT_THAT(train("\"c/*\""), ElementsAre(path("c/a.bin"), path("c/alone.idx"), path("c/b.bin")));
  EXPECT_THAT(train("\"c/a*\""), ElementsAre(path("c/a.bin"), path("c/alone.idx")));
  EXPECT_THAT(train("\"c/*.idx\""), ElementsAre(path("c/a.idx"), path("c/alone.idx")));
}

// As "> d/*.bin" in a shell leaves one.
TEST_F(Paths, AFileOfThePatternsNameHidesNoOther) {
  for (const auto* name : {"d/a.bin", "d/*.bin", "d/c[1].txt", "d/c1.txt", "e/only[1].txt"})
    write(name, "x");
  EXPECT_THAT(train("\"d/*.bin\""), ElementsAre(path("d/*.bin"), path("d/a.bin")));
  EXPECT_THAT(train("\"d/c[1].txt\""), ElementsAre(path("d/c1.txt")));
  EXPECT_THAT(train("\"e/only[1].txt\""), ElementsAre(path("e/only[1].txt")));
}

TEST_F(Paths, FilesThatAreThereTwiceAreWarnedOf) {
  for (const auto* name : {"c/a.bin", "c/a.idx", "c/b.bin"}) write(name, "x");
  std::filesystem::create_symlink(path("c/b.bin"), path("link.bin"));
  const auto warnings = [&](const std::vector<std::string>& set) {
    return load_job(job(), set, 1).warnings;
  };
  const std::string train = "data.train=", c = path("c");
  EXPECT_THAT(warnings({train + c + "/*", "data.valid=" + path("text.txt")}), testing::IsEmpty());
  EXPECT_THAT(
      warnings({train + "[\"" + c + "/*\", \"" + c + "/a.idx\", \"" + path("link.bin") + "\"]"}),
      ElementsAre("--set: data.train: 2 of 4 files are listed before, " + c +
                  "/a.idx first: an epoch reads their tokens more than once"));
  EXPECT_THAT(warnings({train + c + "/*", "data.valid=[\"" + path("link.bin") + "\"]"}),
              ElementsAre(HasSubstr("data.valid: 1 of 1 files are in data.train too, " +
                                    path("link.bin") + " first")));
}

// run[1] as a pattern would match run1; so would the other pairs.
TEST_F(Paths, TheDirectoryOfAJobFileIsNoPattern) {
  for (const auto& [directory, other] :
       {std::pair{"run[1]", "run1"}, std::pair{"what?", "what1"},
        std::pair{"back\\slash", "backslash"}, std::pair{"all*", "all1"}}) {
    const std::string in = std::string(directory) + "/";
    const std::string base = write(in + "bases/base.json", R"({"model": {"architecture": "gpt2"},
        "train_batch_size": 1, "data": {"train": ["data/*.bin"], "valid": ["../x?.bin"]}})");
    const std::string job = write(in + "job.json", R"({"extends": "bases/base.json"})");
    for (const char* file : {"data/a.bin", "data/b.bin"}) {
      write(in + "bases/" + file, "x");
      write(std::string(other) + "/bases/" + file, "x");
    }
    write(in + "x1.bin", "x");
    write(std::string(other) + "/x2.bin", "x");
    const DataConfig data = load_job(job, {}, 1).config.data;
    EXPECT_THAT(data.train,
                ElementsAre(path(in + "bases/data/a.bin"), path(in + "bases/data/b.bin")));
    EXPECT_THAT(data.valid, ElementsAre(path(in + "bases/../x1.bin")));
  }
}

// After the file is gone, its name in job.json matches no other file.
TEST_F(Paths, NamesInAResolvedJobAreNoPatterns) {
  const std::string name = path("run[1]/what?.bin");
  write("run[1]/what?.bin", "x");
  write("run1/what1.bin", "x");
  const LoadedJob first = load_job(job(), {"data.train=" + pattern_of(name)}, 1);
  EXPECT_THAT(first.config.data.train, ElementsAre(name));
  for (const std::string& text : {first.resolved, with_absolute_paths(first.resolved)}) {
    const std::string again = write("run[1]/job.json", text);
    EXPECT_THAT(load_job(again, {}, 1).config.data.train, ElementsAre(name));
    std::filesystem::rename(name, path("elsewhere"));
    EXPECT_THAT(error_of(again), HasSubstr("no such file: "));
    std::filesystem::rename(path("elsewhere"), name);
  }
}

TEST_F(Paths, HiddenFilesAreNotMatched) {
  for (const auto* name : {"c/.a.bin", "c/b.bin", "c/.git/d.bin"}) write(name, "x");
  EXPECT_THAT(train("\"c/*\""), ElementsAre(path("c/b.bin")));
  EXPECT_THAT(error("", 1, {"data.train=" + path("c/*/*.bin")}), HasSubstr("no file matches"));
}

TEST_F(Paths, DataAreRegularFilesWithNamesOfTheirOwn) {
  std::filesystem::create_directories(path("c"));
  ASSERT_EQ(::mkfifo(path("c/pipe.bin").c_str(), 0600), 0);
  const auto refused = [&](const std::string& file) {
    return error("", 1, {"data.train=" + file});
  };
  for (const std::string& file : {path("c/pipe.bin"), path("c/*.bin")})
    EXPECT_THAT(refused(file), testing::AllOf(HasSubstr("data.train: c/pipe.bin is a pipe (data"),
                                              HasSubstr("must be a regular file"),
                                              HasSubstr("Write the data to a file")));
  EXPECT_THAT(refused("/dev/null"), HasSubstr("/dev/null is a device (data must be"));
  for (const char* file : {"/dev/fd/0", "/proc/self/fd/0", "/dev/stdin"})
    if (std::filesystem::exists(file)) {
      EXPECT_THAT(refused(file), HasSubstr("(data must be a regular file")) << file;
    }
}

TEST_F(Paths, OneStarForEachLevel) {
  write("c/d/e.bin", "x");
  EXPECT_THAT(error("", 1, {"data.train=" + path("c") + "/**/*.bin"}),
              HasSubstr("data.train: c/**/*.bin: ** is not known here"));
  EXPECT_THAT(train("\"c/*/*.bin\""), ElementsAre(path("c/d/e.bin")));
}

TEST_F(Paths, NamesForAShellAreRefused) {
  const auto refused = [&](const std::string& set) { return error("", 1, {set + "/x"}); };
  for (const char* key :
       {"run.directory=", "checkpoint.directory=", "checkpoint.resume=", "data.train=",
        "data.valid=", "model.config=", "zero_optimization.offload_optimizer.nvme_path="}) {
    EXPECT_THAT(refused(std::string(key) + "~"), HasSubstr("\"~/x\": paths are taken literally"));
    EXPECT_THAT(refused(std::string(key) + "$SCRATCH"), HasSubstr("$SCRATCH is not expanded"))
        << key;
  }
}

TEST_F(Paths, PathsHaveNames) {
  for (const std::string key : {"run.directory", "checkpoint.directory", "checkpoint.resume",
                                "data.train", "data.valid", "model.from", "model.config"}) {
    EXPECT_EQ(error("", 1, {key + "=\"\""}),
              "--set: " + key +
                  ": an empty path. Name a file or a directory (\".\" is the working directory)");
    EXPECT_EQ(
        error("", 1, {key + "=\"a\\u0000b\""}),
        "--set: " + key + ": \"a\\u0000b\": a path cannot contain a NUL character. Leave it out");
  }
}

TEST_F(Paths, MissingFilesAreNamed) {
  EXPECT_EQ(error(", \"run\": {}", 1, {"data.train=nothing.txt"}),
            "--set: data.train: no such file: nothing.txt");
  EXPECT_THAT(error("", 1, {"data.train=no*.txt"}),
              HasSubstr("data.train: no file matches no*.txt"));
  EXPECT_THAT(error("", 1, {"data.valid=no.txt"}), HasSubstr("data.valid: no such file: no.txt"));
  EXPECT_THAT(error("", 1, {"data.train=/tmp"}), HasSubstr("/tmp is a directory. Name its files"));
  EXPECT_THAT(error_of(write("job.json", "// a job\n{\"model\": {\"architecture\": \"gpt2\"}}")),
              HasSubstr("job.json:2: data.train: missing."));
  EXPECT_THAT(
      error_of(write("job.json", "{\"model\": {\"architecture\": \"gpt2\"},\n\"data\": {}}")),
      HasSubstr("job.json:2: data.train: missing."));
}

// A link to itself fails as a directory without search permission does, but for root too.
TEST_F(Paths, WhatCannotBeLookedAtIsAnErrorWithTheSystemsReason) {
  std::filesystem::create_symlink("loopy", path("loopy"));
  const std::string loop = path("loopy"), why = "loopy: cannot read (Too many levels of symbolic";
  for (const std::string set :
       {"data.train=", "data.valid=", "model.from=", "model.config=", "checkpoint.resume="})
    EXPECT_THAT(error("", 1, {set + loop}),
                HasSubstr("--set: " + set.substr(0, set.size() - 1) + ": " + why))
        << set;
  EXPECT_THAT(error("", 1,
                    {R"(zero_optimization.offload_optimizer={"device":"nvme","nvme_path":")" +
                     loop + "\"}"}),
              HasSubstr("offload_optimizer.nvme_path: " + why));
  EXPECT_THAT(error("", 1, {"checkpoint.resume=" + std::string(300, 'n'), "run.stepz=1"}),
              testing::AllOf(HasSubstr("--set: checkpoint.resume: nnn"),
                             HasSubstr("n: cannot read (File name too long)"),
                             HasSubstr("run.stepz: unknown key")));
  EXPECT_THAT(error("", 1, {"run.directory=$" + std::string(300, 'n')}),
              HasSubstr("paths are taken literally"));
}

// An effective user without root's rights, who cannot look everywhere.
class Unprivileged {
 public:
  Unprivileged() {
    if (was_ == 0 && ::seteuid(65534) != 0) std::abort();
  }
  ~Unprivileged() {
    if (::seteuid(was_) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  uid_t was_ = ::geteuid();
};

TEST_F(Paths, ALinkToNothingIsNamedWithItsTarget) {
  write("c/a.txt", "x");
  std::filesystem::create_symlink("gone/b.txt", path("c/b.txt"));
  for (const char* train : {"c/b.txt", "c/*.txt"})
    EXPECT_EQ(error_of(job(), 1, {"data.train=" + path(train)}),
              "--set: data.train: c/b.txt is a link to nothing (gone/b.txt)");
  EXPECT_THAT(load_job_to_plan(job(), {"data.train=" + path("c/b.txt")}, 1).missing,
              testing::SizeIs(1));
}

TEST_F(Paths, AFileThatMayNotBeReadIsNamed) {
  const auto file = job();
  write("c/a.txt", "x");
  std::filesystem::permissions(path("c/a.txt"), std::filesystem::perms::none);
  for (const char* train : {"c/a.txt", "c/*.txt"}) {
    const Unprivileged user;
    EXPECT_THAT(error_of(file, 1, {"data.train=" + path(train)}),
                HasSubstr("c/a.txt: cannot read (Permission denied)"));
  }
}

TEST_F(Paths, WhatAPatternCannotSeeIsNotPassedOver) {
  namespace fs = std::filesystem;
  const auto file = job();
  for (const char* name : {"c/a/1.txt", "c/b/2.txt", "c/shut/3.txt"}) write(name, "x");
  const auto of = [&](const std::string& pattern) {
    const Unprivileged user;
    return error_of(file, 1, {"data.train=" + path(pattern)});
  };
  fs::permissions(path("c/shut"), fs::perms::none);
  EXPECT_EQ(of("c/shut/*.txt"), "--set: data.train: c/shut: cannot list (Permission denied)");
  EXPECT_EQ(of("c/shut/3.txt"), "--set: data.train: c/shut/3.txt: cannot read (Permission denied)");
  // The directory can be listed, but its files cannot be looked at.
  fs::permissions(path("c/shut"),
                  fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  EXPECT_EQ(of("c/*/*.txt"), "--set: data.train: c/shut/3.txt: cannot read (Permission denied)");
  fs::permissions(path("c/shut"), fs::perms::none);
  {
    const Unprivileged user;
    const auto loaded = load_job(file, {"data.train=" + path("c/*/*.txt")}, 1);
    EXPECT_THAT(loaded.config.data.train, ElementsAre(path("c/a/1.txt"), path("c/b/2.txt")));
    EXPECT_THAT(loaded.warnings, ElementsAre("--set: data.train: " + path("c/shut") +
                                             ": cannot list (Permission denied): files that " +
                                             path("c/*/*.txt") + " matches there are left out"));
  }
  fs::permissions(path("c/shut"), fs::perms::owner_all);  // so that it can be removed
}

}  // namespace
}  // namespace triax
