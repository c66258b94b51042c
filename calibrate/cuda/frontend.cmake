# The header-only cudnn-frontend: what is installed, or the package on PyPI, fetched once, checked against its hash and
# kept in the user's cache. Headers are the same in all its wheels, so that one serves every Python and processor.
set(frontend_version 1.22.1)
set(frontend_hash 9e91a5d3264a53dff379801cf7fd79a97bedca2712295fe099b778ce36d64a54)

function(find_cudnn_frontend include_variable problem_variable)
  set(${include_variable} "" PARENT_SCOPE)
  set(${problem_variable} "" PARENT_SCOPE)
  find_path(PARADL_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${PARADL_cudnn_INCLUDE})
  mark_as_advanced(PARADL_CUDNN_FRONTEND_INCLUDE)
  if(PARADL_CUDNN_FRONTEND_INCLUDE)
    set(${include_variable} ${PARADL_CUDNN_FRONTEND_INCLUDE} PARENT_SCOPE)
    return()
  endif()

  if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache $ENV{XDG_CACHE_HOME}/paradl)
  elseif(DEFINED ENV{HOME})
    set(cache $ENV{HOME}/.cache/paradl)
  else()
    set(cache ${PROJECT_BINARY_DIR})
  endif()
  set(folder ${cache}/cudnn-frontend-${frontend_version})
  if(EXISTS ${folder}/include/cudnn_frontend.h)
    set(${include_variable} ${folder}/include PARENT_SCOPE)
    return()
  endif()

  set(command download --no-deps --only-binary :all: --platform manylinux_2_28_x86_64 --implementation cp
              --python-version 311 --abi cp311)
  list(JOIN command " " command_text)
  set(command_text "pip ${command_text} nvidia-cudnn-frontend==${frontend_version}")
  find_program(PARADL_PIP NAMES pip3 pip)
  mark_as_advanced(PARADL_PIP)
  if(NOT PARADL_PIP)
    set(${problem_variable} "no pip to fetch them with (unpack what `${command_text}` fetches, and set \
PARADL_CUDNN_FRONTEND_INCLUDE to its folder `include`)" PARENT_SCOPE)
    return()
  endif()
  # A folder of our own that takes its place at once: another configuration may be at the same point.
  string(RANDOM LENGTH 8 mark)
  set(scratch ${folder}.${mark})
  file(WRITE ${scratch}/requirements.txt
       "nvidia-cudnn-frontend==${frontend_version} --hash=sha256:${frontend_hash}\n")
  message(STATUS "CUDA back end: fetching cudnn-frontend ${frontend_version} (once)")
  execute_process(
    COMMAND ${PARADL_PIP} ${command} --quiet --timeout 15 --retries 1 --disable-pip-version-check --no-input
            --require-hashes --requirement requirements.txt
    WORKING_DIRECTORY ${scratch} TIMEOUT 90 RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  file(GLOB wheel ${scratch}/*.whl)
  if(NOT failed AND wheel)
    file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${scratch} PATTERNS "include/*")
    file(REMOVE ${wheel})
    file(RENAME ${scratch} ${folder} RESULT ignored)  # a folder in its place is as good
  endif()
  file(REMOVE_RECURSE ${scratch})
  if(EXISTS ${folder}/include/cudnn_frontend.h)
    set(${include_variable} ${folder}/include PARENT_SCOPE)
  else()
    set(${problem_variable} "`${command_text}` failed" PARENT_SCOPE)
  endif()
endfunction()
