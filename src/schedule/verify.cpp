#include "src/schedule/verify.hpp"
