#include "kernels/rope.hpp"
