#include "paradl/console/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paradl/core/error.hpp"
#include "paradl/report/formats.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {
namespace {

/// The file that a symbolic link points to, even if it does not exist yet. The link itself is kept.
std::string behind_links(std::filesystem::path path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  constexpr int most = 40;  // the kernel's limit
  for (int links = 0; links < most && fs::is_symlink(fs::symlink_status(path, failed)); ++links)
    path = path.parent_path() / fs::read_symlink(path, failed);  // an absolute path replaces the folder
  return path.string();
}

/// One spelling of the path of a file, which need not exist. `weakly_canonical` alone leaves a relative path
/// relative if no part of it exists.
std::filesystem::path real_path(const std::string& path, std::error_code& failed) {
  namespace fs = std::filesystem;
  const fs::path absolute = fs::absolute(behind_links(path), failed);
  return failed ? absolute : fs::weakly_canonical(absolute, failed);
}

/// Writes a new file next to the old one first, so that a full disk does not destroy the old one.
class NewFile {
 public:
  NewFile(const std::string& path, const std::string& text) : path_(path) {
    namespace fs = std::filesystem;
    std::error_code failed;
    path_ = behind_links(path);
    if (fs::is_fifo(path_, failed)) demand_reader();
    if (fs::exists(path_, failed) && !fs::is_regular_file(path_, failed)) {  // devices are written directly
      fill(::open(path_.c_str(), O_WRONLY | O_CLOEXEC), text);
      return;
    }
    std::string beside = path_ + ".XXXXXX";
    const int file = ::mkostemp(beside.data(), O_CLOEXEC);
    if (file >= 0) beside_ = beside, ::fchmod(file, 0644);
    fill(file, text);
  }
  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)), beside_(std::exchange(other.beside_, {})) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile() { forget(); }

  /// Replaces the old file.
  void keep() {
    if (beside_.empty()) return;
    if (std::rename(beside_.c_str(), path_.c_str()) != 0) refuse(errno);
    beside_.clear();
  }

 private:
  /// Writes all of it and closes the file; a negative descriptor means that opening failed. If the disk fills
  /// up, a write may be partial, and only the next one fails.
  void fill(int file, std::string_view text) {
    if (file < 0) refuse(errno);
    int failed = 0;
    while (!text.empty() && failed == 0) {
      const ssize_t written = ::write(file, text.data(), text.size());
      if (written >= 0)
        text.remove_prefix(std::size_t(written));
      else if (errno != EINTR)
        failed = errno;
    }
    if (::close(file) != 0 && failed == 0) failed = errno;
    if (failed != 0) refuse(failed);
  }
  /// Opening a pipe without a reader would block forever.
  void demand_reader() const {
    const int pipe = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe >= 0) {
      ::close(pipe);
    } else if (errno == ENXIO) {
      throw UsageError(fmt::format("`{}` is a pipe without a reader", path_),
                       "name a file, or start the reader first");
    }
  }
  void forget() {
    if (!beside_.empty()) ::unlink(beside_.c_str());
    beside_.clear();
  }
  [[noreturn]] void refuse(int reason) {
    forget();
    const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
    throw EnvironmentError(
        fmt::format("cannot write `{}`: {}", path_, std::strerror(reason)),
        full ? "free some space, or write to another disk" : "check the folder and its permissions");
  }

  std::string path_, beside_;
};

}  // namespace

void write_file(const std::string& path, const std::string& text) { NewFile(path, text).keep(); }

void write_files(const std::vector<NewText>& files) {
  std::vector<NewFile> written;
  for (const auto& [path, text] : files) written.emplace_back(path, text);
  for (NewFile& file : written) file.keep();
}

void demand_writable_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    throw EnvironmentError(fmt::format("cannot write `{}`: {}", path, std::strerror(errno)),
                           "check the folder and its permissions");
}

void refuse_twice(const std::vector<std::string>& files) {
  std::vector<std::filesystem::path> seen;
  for (const std::string& path : files) {
    std::error_code failed;
    std::filesystem::path real = real_path(path, failed);
    if (failed) real = path;
    if (std::ranges::find(seen, real) != seen.end())
      throw UsageError(fmt::format("`{}` would be written twice", path),
                       "name each file once; the extension chooses the format");
    seen.push_back(std::move(real));
  }
}

void refuse_overwriting(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  namespace fs = std::filesystem;
  for (const std::string& to : written)
    for (const std::string& from : read) {
      std::error_code failed;
      const fs::path file = from == standard_input ? "/dev/stdin" : from;
      // Devices can be read and written at once.
      if (!fs::is_regular_file(to, failed) || !fs::equivalent(to, file, failed)) continue;
      throw UsageError(to == from ? fmt::format("`{}` would be overwritten, but it is read here", to)
                                  : fmt::format("`{}` would overwrite {}, which is read here", to,
                                                from == standard_input ? from : "`" + from + "`"),
                       "name another file to write");
    }
}

void demand_svg(const std::string& path) {
  const std::string_view ending = row_of(Format::svg).ending;
  if (path.empty() || path.ends_with(ending)) return;
  throw UsageError(
      fmt::format("--draw {}: drawings are SVG", path),
      fmt::format("write --draw {}", std::filesystem::path(path).replace_extension(ending).string()));
}

}  // namespace paradl
