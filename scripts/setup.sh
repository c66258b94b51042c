# Sourced by scripts/run, scripts/test and .ci/run: installs missing packages, configures and builds.
# Nothing is written to stdout; output of the tools goes to stderr, and only when they fail.

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
set_up_failed=4  # like paradl's exit code for a problem of the environment

packages=(g++ cmake ninja-build ccache python3 libcli11-dev libyaml-cpp-dev libeigen3-dev libfmt-dev
          nlohmann-json3-dev libmd-dev libmimalloc-dev doctest-dev libbenchmark-dev valgrind
          libdnnl-dev ocl-icd-opencl-dev libopenmpi-dev openmpi-bin)

# quietly LOG COMMAND...: runs COMMAND, and shows its output only if it fails.
quietly() {
  local log=$1
  shift
  "$@" </dev/null >"$log" 2>&1 && return
  cat "$log" >&2
  return 1
}

missing_packages() {
  local installed package
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
  for package in "${packages[@]}"; do
    [[ $'\n'$installed$'\n' == *$'\n'"$package installed"$'\n'* ]] || echo "$package"
  done
}

install_packages() {
  command -v apt-get >/dev/null || return 0  # not Debian: CMake names what is missing
  local missing as_root=() log
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -gt 0 ]] || return 0

  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "error: missing packages, and neither root nor sudo to install them" >&2
      echo "help: as root, run: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "installing ${missing[*]}" >&2
  log=$(mktemp)
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  # An unrelated package source may be unreachable; only the installation itself must succeed.
  "${apt[@]}" update </dev/null >"$log" 2>&1 || cat "$log" >&2
  quietly "$log" "${apt[@]}" install -y --no-install-recommends "${missing[@]}" || return 1
  rm -f "$log"
}

# configure FOLDER [CMAKE_OPTION...]: only if necessary; Ninja detects later changes of CMakeLists.txt.
configure() {
  local folder=$1 fresh=()
  shift
  if [[ ! -f $folder/build.ninja ]] || ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    fresh=(--fresh)  # new, incomplete, or made for a tree that was moved or copied
    echo "building in ${folder#"$root"/}: this takes some minutes, once" >&2
  elif [[ $# -eq 0 ]]; then
    return 0
  fi
  quietly "$folder/configure.log" cmake "${fresh[@]}" -S "$root" -B "$folder" -G Ninja "$@"
}

# build FOLDER TARGETS [CMAKE_OPTION...]: a lock lets two runs at once share one build folder.
build() {
  local folder=$1 targets=$2
  shift 2
  install_packages || exit $set_up_failed
  mkdir -p "$folder"
  (
    flock 9
    configure "$folder" "$@" || exit $set_up_failed
    # shellcheck disable=SC2086  # TARGETS is a list of words
    quietly "$folder/build.log" ninja -C "$folder" $targets || exit $set_up_failed
  ) 9>"$folder/.lock" || exit $set_up_failed
}
