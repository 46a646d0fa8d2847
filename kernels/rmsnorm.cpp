#include "kernels/rmsnorm.hpp"
