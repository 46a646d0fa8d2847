#include "src/schedule/passes.hpp"
