#!/usr/bin/env bash
# no_driver.sh PROGRAM MODEL: checks that paradl-calibrate reports a missing driver and exits with 4. Exit code 77
# (skipped) if there is a driver.
set -uo pipefail
if [[ -e /dev/nvidiactl ]]; then
  echo "skipped: there is a driver here"
  exit 77
fi
output=$("$1" rehearse "$2" --all -b 2 --backend cuda 2>&1)
code=$?
echo "$output"
[[ $code -eq 4 && $output == "error: no CUDA driver is loaded"$'\n'"help: "* && $(wc -l <<<"$output") -eq 2 ]]
