// SPDX-License-Identifier: Apache-2.0
#include "src/launch/run_requests.hpp"

#include <gtest/gtest.h>

namespace triax::test {
namespace {

using std::chrono::seconds;

TEST(RunRequests, SignalsWaitUntilTheyAreAskedFor) {
  RunRequests requests;
  EXPECT_EQ(requests.take(0), RunRequest::none);
  raise(SIGUSR2);
  EXPECT_EQ(requests.take(0), RunRequest::save);
  EXPECT_EQ(requests.take(0), RunRequest::none) << "each is told once";
}

TEST(RunRequests, WhatWasLookedAtIsStillToBeTaken) {
  RunRequests requests;
  raise(SIGUSR2);
  EXPECT_EQ(requests.look(0), RunRequest::save);
  raise(SIGUSR1);
  EXPECT_EQ(requests.look(0), RunRequest::stop_user);
  requests.leave_at(RunRequests::Clock::now() + seconds(100));
  EXPECT_EQ(requests.look(150.0), RunRequest::stop_time_up);
  EXPECT_EQ(requests.take(0), RunRequest::stop_user) << "the clock is looked at anew";
  EXPECT_EQ(requests.look(0), RunRequest::none);
}

TEST(RunRequests, TheWeightiestOfSeveralIsTold) {
  RunRequests requests;
  raise(SIGUSR1);
  raise(SIGUSR2);
  EXPECT_EQ(requests.take(0), RunRequest::stop_user);
  raise(SIGTERM);
  raise(SIGUSR1);
  EXPECT_EQ(requests.take(0), RunRequest::stop_ended);
}

// SIGHUP (a terminal closes) stops a run unless it is ignored, as under nohup.
TEST(RunRequests, AHangupStopsUnlessItIsIgnored) {
  struct sigaction before {};  // perhaps UCX's
  sigaction(SIGHUP, nullptr, &before);
  for (const bool ignored : {false, true}) {
    (void)::signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
    RunRequests requests;
    raise(SIGHUP);
    EXPECT_EQ(requests.take(0), ignored ? RunRequest::none : RunRequest::stop_hangup);
  }
  sigaction(SIGHUP, &before, nullptr);
}

TEST(RunRequests, SavingIsNoReasonToStop) {
  EXPECT_FALSE(stops(RunRequest::none));
  EXPECT_FALSE(stops(RunRequest::save));
  EXPECT_TRUE(stops(RunRequest::stop_user));
  EXPECT_TRUE(stops(RunRequest::stop_ended));
  EXPECT_TRUE(stops(RunRequest::stop_time_up));
}

TEST(RunRequests, AStepThatWouldEndTooLateIsNotBegun) {
  RunRequests requests;
  requests.leave_at(RunRequests::Clock::now() + seconds(100));
  EXPECT_EQ(requests.take(50.0), RunRequest::none);
  EXPECT_EQ(requests.take(150.0), RunRequest::stop_time_up);
  requests.leave_at(std::nullopt);
  EXPECT_EQ(requests.take(150.0), RunRequest::none);
}

TEST(RunRequests, SignalsThatCameTooLateDoNotEndTheProcess) {
  {
    const RunRequests requests;
    raise(SIGTERM);
  }
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0) << "as it was before";
}

}  // namespace
}  // namespace triax::test
