#!/usr/bin/env bash
# run_example.sh FOLDER [TOLERANCE]: runs FOLDER/command there and compares what it prints with FOLDER/expected, and its
# exit code with FOLDER/exit (0 when there is none). With a TOLERANCE numbers may differ by it (see same_within.py).
# PARADL_UPDATE_GOLDEN=1 rewrites FOLDER/expected instead.
# `paradl` must be on PATH. Commands that write files may put them in $TMPDIR. Systems, frameworks and profiles come
# from FOLDER/../input, if that exists, before those that are shipped: their numbers stay when these are fitted anew.
set -euo pipefail

compare=(diff -u)
if [[ -n ${2:-} ]] && command -v python3 >/dev/null; then
  compare=("$(dirname "$(readlink -f "$0")")/same_within.py" "$2")
fi
cd "$1"
update=${PARADL_UPDATE_GOLDEN:-}
wanted=0
[[ -f exit ]] && wanted=$(<"exit")

# The answer must not depend on the user's settings.
unset "${!PARADL_@}" COLUMNS NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR
if [[ -d ../input ]]; then
  PARADL_PATH=$(dirname "$PWD")/input
  export PARADL_PATH
fi
export LC_ALL=C.UTF-8
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# -e: a line that fails ends the run, so that no failure hides behind a later line.
code=0
bash -e ./command </dev/null >"$TMPDIR/stdout" || code=$?

if [[ $code -ne $wanted ]]; then
  cat "$TMPDIR/stdout"
  echo "$1: exit code $code, expected $wanted" >&2
  exit 1
fi
if [[ $update == 1 ]]; then
  cp "$TMPDIR/stdout" expected
else
  "${compare[@]}" expected "$TMPDIR/stdout"
fi
