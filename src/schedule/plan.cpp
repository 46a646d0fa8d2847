#include "src/schedule/plan.hpp"
