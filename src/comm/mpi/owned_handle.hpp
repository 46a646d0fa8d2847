// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI handles that are freed on destruction.
#include <mpi.h>

namespace triax {

/// A communicator not owned by an MpiCommunicator.
class OwnedComm {
 public:
  OwnedComm() = default;
  explicit OwnedComm(MPI_Comm comm) : comm_(comm) {}
  ~OwnedComm() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
  }
  OwnedComm(const OwnedComm&) = delete;
  OwnedComm& operator=(const OwnedComm&) = delete;
  MPI_Comm get() const { return comm_; }
  MPI_Comm* address() { return &comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class OwnedGroup {
 public:
  OwnedGroup() = default;
  ~OwnedGroup() {
    if (group_ != MPI_GROUP_NULL) MPI_Group_free(&group_);
  }
  OwnedGroup(const OwnedGroup&) = delete;
  OwnedGroup& operator=(const OwnedGroup&) = delete;
  MPI_Group get() const { return group_; }
  MPI_Group* address() { return &group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

class OwnedType {
 public:
  OwnedType() = default;
  ~OwnedType() {
    if (type_ != MPI_DATATYPE_NULL)
      MPI_Type_free(&type_);  // messages under way keep the type alive
  }
  OwnedType(const OwnedType&) = delete;
  OwnedType& operator=(const OwnedType&) = delete;
  MPI_Datatype get() const { return type_; }
  MPI_Datatype* address() { return &type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace triax
