#include "kernels/norm.hpp"
