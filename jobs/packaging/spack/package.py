# For a package repository of the site's own, as packages/triax/package.py (jobs/packaging/README.md).
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Triax(CMakePackage, CudaPackage):
    """Trains large language models on MPI clusters: one C++ program, MPI between ranks, Kokkos and oneDNN
    inside them, HDF5 for what is kept. No Python."""

    homepage = "https://example.org/triax"
    git = "https://example.org/triax.git"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("native", default=False, description="Build for the processor of this machine alone")
    variant("cudnn", default=False, when="+cuda", description="Attention by cuDNN where it can")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("googletest@1.12: +gmock", type="test")

    depends_on("mpi")
    depends_on("hdf5@1.10.7: +mpi")
    depends_on("kokkos@3.4:")
    depends_on("onednn@2.6: cpu_runtime=omp")
    depends_on("hwloc@2:")
    depends_on("liburing@2.2:")
    depends_on("pcre2@10.30: +jit")
    depends_on("utf8proc@2.5:")
    depends_on("boost@1.74:", type="build")
    depends_on("yaml-cpp@0.7:")
    depends_on("zlib-api")
    depends_on("zstd@1.4:")
    depends_on("fmt")
    depends_on("spdlog@1.4:")  # Spack builds these with the fmt outside of them
    depends_on("nlohmann-json@3:")
    depends_on("cli11@2:")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl@2.26:", when="+cuda")
    depends_on("cudnn@9.19:", type=("build", "link", "run"), when="+cudnn")  # opened at run time

    conflicts("%gcc@:11", msg="triax needs GCC 12 or newer")
    conflicts("%clang@:14", msg="triax needs Clang 15 or newer")

    def cmake_args(self):
        args = [
            self.define("TRIAX_TESTS", self.run_tests),
            self.define("TRIAX_BENCHMARKS", False),
            self.define_from_variant("TRIAX_NATIVE", "native"),
            self.define_from_variant("TRIAX_CUDA", "cuda"),
            self.define("TRIAX_CUDNN", "ON" if self.spec.satisfies("+cudnn") else "OFF"),
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            args.append(self.define("TRIAX_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        env.set("TRIAX_JOBS", join_path(self.prefix.share, "triax", "jobs"))

    def test_version(self):
        """The program starts, and has this version."""
        triax = which(self.prefix.bin.triax)
        out = triax("--version", output=str.split, error=str.split)
        assert f"triax {self.spec.version}" in out
