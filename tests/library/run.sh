#!/usr/bin/env bash
# run.sh BUILD [CMAKE_OPTION...]: installs the library of a build folder, builds the project beside this script against
# it, both outside the tree, and runs its program. ParaDL itself is not compiled.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
source=$(dirname "$(dirname "$here")")
build=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Move everything: the package must not contain the paths where it was installed, built or written.
for component in library data; do
  cmake --install "$build" --component "$component" --prefix "$folder/first" >"$folder/log"
done
mv "$folder/first" "$folder/installed"
if grep -rnE "$folder/first|$source|$(readlink -f "$build")" "$folder/installed/lib/cmake"; then
  echo "error: the CMake package contains paths of this machine" >&2
  exit 1
fi

mkdir "$folder/project"
cp "$here"/CMakeLists.txt "$source"/examples/library/plan.cpp "$folder/project"
cd "$folder/project"
if ! { cmake -S . -B out -DCMAKE_PREFIX_PATH="$folder/installed" "$@" && cmake --build out; } >"$folder/log" 2>&1; then
  cat "$folder/log" >&2
  exit 1
fi
env -u PARADL_PATH out/plan | tee "$folder/out"
# The iteration and the memory, then one line for each charge; sums of gradients are among them.
head -1 "$folder/out" | grep -qxE '[0-9.]+ s, [0-9.]+ GiB'
grep -qE '^gradient sum \(reduce-scatter\): 1 x .* exposed$' "$folder/out"
[[ $(wc -l <"$folder/out") -gt 20 ]]
