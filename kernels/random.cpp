#include "kernels/random.hpp"
