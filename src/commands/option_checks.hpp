#pragma once
// What the numbers on the command line may be.
#include <functional>
#include <string>

namespace triax {

/// Of CLI11: empty where the text is sound, else what is wrong with it.
using Check = std::function<std::string(const std::string&)>;

Check number(double least, double most);
Check whole_number(double least, double most);

/// Of CLI11's transform(): a number of bytes from 1 on, as 5000000000, 5GB or 5GiB, which becomes
/// digits alone.
std::function<std::string(std::string&)> size();

}  // namespace triax
