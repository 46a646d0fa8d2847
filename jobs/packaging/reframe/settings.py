# An example of a site's ReFrame configuration: ranks on this machine by mpiexec, and on a cluster by Slurm.
site_configuration = {
    'systems': [
        {
            'name': 'example',
            'descr': 'the machine that ReFrame runs on, and its cluster',
            'hostnames': ['.*'],
            'modules_system': 'nomod',  # 'lmod' where triax is a module: -S modules=triax
            'partitions': [
                {
                    'name': 'local',
                    'scheduler': 'local',
                    'launcher': 'mpiexec',
                    'max_jobs': 1,
                    'env_vars': [['OMP_WAIT_POLICY', 'passive']],  # a machine that has other work, too
                    'environs': ['default'],
                },
                {
                    'name': 'cluster',
                    'scheduler': 'squeue',  # 'slurm' where there is accounting
                    'launcher': 'srun',
                    'access': [],  # --partition=..., --account=...
                    'env_vars': [['SLURM_MPI_TYPE', 'pmi2']],  # the site's MPI; what srun --mpi=list has
                    'environs': ['default'],
                },
            ],
        },
    ],
    'environments': [{'name': 'default'}],
    'logging': [
        {
            'handlers': [
                {'type': 'stream', 'name': 'stdout', 'level': 'info', 'format': '%(message)s'},
            ],
            'handlers_perflog': [
                {
                    'type': 'filelog',
                    'prefix': '%(check_system)s/%(check_partition)s',
                    'level': 'info',
                    'format': '%(check_job_completion_time)s,%(check_info)s,%(check_perfvalues)s',
                    'format_perfvars': '%(check_perf_value)s,%(check_perf_unit)s,%(check_perf_ref)s,',
                },
            ],
        },
    ],
}
