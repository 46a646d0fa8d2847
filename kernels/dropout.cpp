#include "kernels/dropout.hpp"
