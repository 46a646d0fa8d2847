#include "src/comm/process_grid.hpp"
