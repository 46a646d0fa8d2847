#include "kernels/swiglu.hpp"
