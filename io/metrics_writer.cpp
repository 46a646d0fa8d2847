#include "io/metrics_writer.hpp"
