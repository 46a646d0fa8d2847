// SPDX-License-Identifier: Apache-2.0
#include "src/commands/view/watch_command.hpp"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "src/comm/launch/launcher.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/report/terminal.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string directory;
  bool once = false;
};

using Clock = std::chrono::steady_clock;

Screen screen_now() {
  Screen screen;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    screen.columns = size.ws_col, screen.rows = size.ws_row;
  std::setlocale(LC_CTYPE, "");
  screen.braille = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
  std::setlocale(LC_CTYPE, "C");
  return screen;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// From the upper left corner; each line and the rest of the screen are cleared.
std::string over_the_last(const std::string& text, int rows) {
  std::string out = "\033[H";
  int row = 0;
  for (std::size_t begin = 0; begin < text.size() && row + 1 < rows; ++row) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += text.substr(begin, end - begin) + "\033[K\n";
    begin = end + 1;
  }
  return out + "\033[J";
}

void watch(const Arguments& arguments) {
  const bool shown = ::isatty(STDOUT_FILENO) != 0 && !arguments.once;
  if (shown) print_out("\033[2J");
  while (true) {
    const Clock::time_point begin = Clock::now();
    const RunData run = read_run(arguments.directory);
    const Screen screen = screen_now();
    const std::string text = watch_text(run, screen, seconds_now());
    print_out(shown ? over_the_last(text, screen.rows) : text);
    if (!shown || run.ended) return;
    // A long file is read a tenth of the time.
    const auto pause =
        std::max<Clock::duration>(std::chrono::seconds(1), 10 * (Clock::now() - begin));
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

void add_watch(CLI::App& app, CommandContext&) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "watch", "Show a run in the terminal while it goes on: loss, tokens/s, time left.");
  command->footer(
      "  triax watch runs/demo\n"
      "Only the files of the directory are read, on any machine that sees it; the run notices "
      "nothing.\nEnds with the run, or with Ctrl-C. Without a terminal it prints once.");
  command->add_option("RUN_DIR", arguments->directory, "run.directory of the run")
      ->type_name("")
      ->required();
  command->add_flag("--once", arguments->once, "Print once, also on a terminal");
  command->callback([arguments] {
    if (launched_process().number == 0) watch(*arguments);
  });
}

}  // namespace triax
