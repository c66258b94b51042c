#pragma once
#include <memory>
#include <string>

#include "calibrate/backend/communicator.hpp"

namespace paradl::calibrate {

/// Starts MPI with all its ranks. MPI ends with this object, which must outlive the communicators from
/// split().
std::unique_ptr<Communicator> make_mpi_communicator(int& argc, char**& argv);

/// Ends all ranks. For a rank that has failed, because the others may wait for it.
[[noreturn]] void end_all_ranks(int exit_code);

/// "Open MPI 4.1.4".
std::string mpi_version();

}  // namespace paradl::calibrate
