#include "io/token_reader.hpp"
