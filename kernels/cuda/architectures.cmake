# SPDX-License-Identifier: Apache-2.0
# GPU architectures built when the user names none: A100 (80), H100 (90a), and B200 where this version of the toolkit
# knows it (CUDA 12.8). The last one also carries PTX, from which the driver compiles code for later GPUs (PTX of 90a
# runs on H100 alone).
# CUDA 12.0 is the oldest usable toolkit: the code needs cuBLASLt's fp8 types and epilogues and C++20 in nvcc, but no
# clusters and no TMA. Tried with 13.0. CUDA 13 needs driver R580 or later, CUDA 12 needs R525 (R570 for sm_100).
function(triax_cuda_architectures toolkit result)
  if(toolkit VERSION_LESS 12.8)
    set(${result} "80-real;90a-real;90-virtual" PARENT_SCOPE)
  else()
    set(${result} "80-real;90a-real;100" PARENT_SCOPE)
  endif()
endfunction()
