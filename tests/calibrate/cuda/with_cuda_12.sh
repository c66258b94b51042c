#!/usr/bin/env bash
# with_cuda_12.sh SOURCE FOLDER: builds the CUDA back end in FOLDER with the wheels of CUDA 12, and runs the tests that
# need no GPU. The kernels are compiled for sm_70. Exit code 77 (skipped) if the wheels cannot be fetched.
set -euo pipefail
source=$1 folder=$2
mkdir -p "$folder"

wheels=(nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cublas-cu12==12.9.1.4
        nvidia-cudnn-cu12==9.10.2.21 nvidia-nccl-cu12==2.27.3)
if [[ ! -e $folder/wheels/complete ]]; then
  pip install --quiet --no-deps --no-compile --upgrade --target "$folder/wheels" --timeout 60 "${wheels[@]}" ||
    { echo "skipped: the wheels of CUDA 12 cannot be fetched: ${wheels[*]}"; exit 77; }
  touch "$folder/wheels/complete"
fi

nvidia=$folder/wheels/nvidia
cmake -S "$source" -B "$folder/build" -G Ninja -DPARADL_CUDA=ON -DPARADL_CUDA_WHEELS="$nvidia"
ninja -C "$folder/build" cuda_tests cuda_gpu_tests
libraries=$(printf '%s:' "$nvidia"/*/lib)
export LD_LIBRARY_PATH=${libraries%:}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
linked=$(ldd "$folder/build/cuda_tests")  # grep -q would end before ldd has written all, which then fails
[[ $linked == *libcudart.so.12* ]] || { echo "not linked with CUDA 12"; exit 1; }
"$folder/build/cuda_tests"
