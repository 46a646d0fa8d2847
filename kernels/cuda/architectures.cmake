# The GPUs to build for where the user names none: A100, H100, and B200 where the toolkit of this version knows it. Later GPUs
# take the last of the list, which ends with code that their driver compiles (PTX; that of 90a is for H100 alone).
function(triax_cuda_architectures toolkit result)
  if(toolkit VERSION_LESS 12.8)
    set(${result} "80-real;90a-real;90-virtual" PARENT_SCOPE)
  else()
    set(${result} "80-real;90a-real;100" PARENT_SCOPE)
  endif()
endfunction()
