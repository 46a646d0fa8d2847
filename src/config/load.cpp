#include "src/config/load.hpp"
