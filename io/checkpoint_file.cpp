#include "io/checkpoint_file.hpp"
