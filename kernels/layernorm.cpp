#include "kernels/layernorm.hpp"
