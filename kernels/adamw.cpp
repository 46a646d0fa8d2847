#include "kernels/adamw.hpp"
