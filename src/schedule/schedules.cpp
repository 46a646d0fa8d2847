#include "src/schedule/schedules.hpp"
