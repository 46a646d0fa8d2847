#include "io/safetensors.hpp"
