#include "kernels/matmul.hpp"
