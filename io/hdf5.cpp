#include "io/hdf5.hpp"
