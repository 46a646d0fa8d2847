# Acceptance checks of an installed triax, for ReFrame 4 (jobs/packaging/README.md). triax itself needs no Python.
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (performance_function, require_deps, run_after, run_before, sanity_function,
                                   variable)


class TriaxCheck(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    num_tasks = 4
    # -S triax=/apps/triax/bin/triax, or -S modules=triax
    triax = variable(str, value='triax')
    # -S job_file=FILE: a job of the site's own. References below are those of acceptance.json.
    job_file = variable(str, value='acceptance.json')

    @run_before('run')
    def set_program(self):
        self.executable = self.triax
        self.prerun_cmds += ['for i in $(seq 2000); do echo "line $i of a text to train on"; done >text']
        self.postrun_cmds = ['echo "exit status $?"']  # not every scheduler tells it

    def succeeded(self):
        return sn.evaluate(sn.assert_found(r'^exit status 0$', self.stdout))

    def metrics(self):
        '''The lines of the run, one per step.'''
        with open(os.path.join(self.stagedir, 'run', 'metrics.jsonl')) as lines:
            return [step for step in map(json.loads, lines) if 'loss' in step]


class TriaxTraining(TriaxCheck):
    def train(self, *overrides):
        self.executable_opts = ['train', self.job_file, '--set', 'run.directory=run']
        for override in overrides:
            self.executable_opts += ['--set', override]


@rfm.simple_test
class triax_train(TriaxTraining):
    '''A small job: the loss falls, to a value that any grid has to rounding. Its speed is recorded.'''

    # -S triax_train.final_loss=0: only that the loss falls, for a job of the site's own
    final_loss = variable(float, value=2.11)
    # -S triax_train.expected=52000: tokens/s on this system; 20% less is a failure. 0: recorded, not compared.
    expected = variable(float, value=0.0)

    @run_before('run')
    def set_arguments(self):
        self.train()

    @sanity_function
    def loss_falls(self):
        self.succeeded()
        first, last = self.metrics()[0]['loss'], self.metrics()[-1]['loss']
        checks = [sn.assert_lt(last, first)]
        if self.final_loss:
            checks.append(sn.assert_reference(last, self.final_loss, -0.05, 0.05))
        return sn.all(checks)

    @run_before('performance')
    def set_reference(self):
        if self.expected:
            self.reference = {'*': {'tokens_per_second': (self.expected, -0.2, None, 'tokens/s')}}

    @performance_function('tokens/s')
    def tokens_per_second(self):
        '''Over the second half of the steps: the first ones measure messages.'''
        steps = self.metrics()
        steps = steps[len(steps) // 2:]
        return sum(step['tokens_per_second'] * step['step_seconds'] for step in steps) / \
            sum(step['step_seconds'] for step in steps)


class AfterTraining(TriaxTraining):
    '''What works on the checkpoints that triax_train wrote.'''

    @run_after('init')
    def come_after_training(self):
        self.depends_on('triax_train')

    @require_deps
    def find_training(self, triax_train):
        self.training = triax_train()

    def checkpoint(self, step):
        return os.path.join(self.training.stagedir, 'run', 'checkpoints', f'step-{step:06d}.h5')


@rfm.simple_test
class triax_resume(AfterTraining):
    '''The run goes on from its step 30 on another grid, and ends with the loss of the uninterrupted one.'''

    @run_before('run')
    def set_arguments(self):
        self.prerun_cmds += ['mkdir -p run/checkpoints', f'cp {self.checkpoint(30)} run/checkpoints/']
        self.train('checkpoint.resume=must', 'parallel.tensor=1', 'parallel.pipeline=2')

    @sanity_function
    def goes_on(self):
        self.succeeded()
        steps, uninterrupted = self.metrics(), self.training.metrics()
        return sn.all([
            sn.assert_eq(steps[0]['step'], 30),
            sn.assert_eq(steps[-1]['step'], uninterrupted[-1]['step']),
            sn.assert_reference(steps[-1]['loss'], uninterrupted[-1]['loss'], -1e-3, 1e-3),
        ])


@rfm.simple_test
class triax_verify(AfterTraining):
    '''All ranks read the last checkpoint and hold it against its checksums.'''

    @run_before('run')
    def set_arguments(self):
        self.executable_opts = ['checkpoint', 'verify', self.checkpoint(60)]

    @sanity_function
    def is_whole(self):
        return self.succeeded()
