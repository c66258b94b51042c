#!/usr/bin/env python3
"""Prints questions for the program `paradl`, one command line (a JSON list of arguments) per line.

The list is the same on every machine: it is made with a fixed seed and does not look at the files of the tree. `@NAME`
stands for the file NAME in the folder `files` beside this script. Questions in `slow.txt` are left out.
"""
import hashlib
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))

CNNS = ["alexnet", "cosmoflow-128", "cosmoflow-256", "cosmoflow-512", "cosmoflow-mlperf-128", "densenet121",
        "inception-v3", "mobilenet-v2", "resnet101", "resnet152", "resnet18", "resnet50", "tiny-cnn", "unet", "vgg16",
        "vgg16-226", "vgg19", "resnet-bottleneck:depth3=4", "vgg:late=2"]
CUBES = [m for m in CNNS if m.startswith("cosmoflow")]
IMAGES = [m for m in CNNS if not m.startswith("cosmoflow")]

# Blocks, heads, and the number of A100 of 80 GB that easily hold a copy of the network.
TRANSFORMERS = {
    "vit-b-16": (12, 12, 1), "vit-l-16": (24, 16, 1), "vit-h-14": (32, 16, 1),
    "bert-base": (12, 12, 1), "bert-large": (24, 16, 1),
    "t5-small": (12, 8, 1), "t5-base": (24, 12, 1), "t5-large": (48, 16, 1), "t5-3b": (48, 32, 2),
    "t5-11b": (48, 128, 8),
    "gpt2": (12, 12, 1), "gpt2-medium": (24, 16, 1), "gpt2-large": (36, 20, 1), "gpt2-xl": (48, 25, 1),
    "gpt3-125m": (12, 12, 1), "gpt3-350m": (24, 16, 1), "gpt3-760m": (24, 16, 1), "gpt3-1.3b": (24, 16, 1),
    "gpt3-2.7b": (32, 32, 1), "gpt3-6.7b": (32, 32, 2), "gpt3-13b": (40, 40, 8), "gpt3-175b": (96, 96, 64),
    "llama2-7b": (32, 32, 4), "llama2-13b": (40, 40, 8), "llama2-70b": (80, 64, 32), "llama3-8b": (32, 32, 4),
    "llama3-70b": (80, 64, 32), "llama3-405b": (126, 128, 128), "mixtral-8x7b": (32, 32, 16),
    "megatron-1.7b": (24, 24, 1), "megatron-2.5b": (54, 20, 1), "megatron-3.6b": (30, 32, 2),
    "megatron-7.5b": (36, 32, 4), "megatron-18.4b": (40, 48, 8), "megatron-39.1b": (48, 64, 16),
    "megatron-76.1b": (60, 80, 32), "megatron-145.6b": (80, 96, 64), "megatron-310.1b": (96, 128, 128),
    "megatron-529.6b": (105, 128, 280), "megatron-1008b": (128, 160, 512), "turing-nlg-530b": (105, 128, 280),
    "gpt:layers=24,hidden=2304,heads=24,seq=2048,vocab=51200": (24, 24, 1),
    "gpt:layers=16,hidden=1024,heads=16,seq=1024,experts=8,top-k=2": (16, 16, 1),
    "llama:layers=16,hidden=2048,heads=16,kv-heads=4,seq=8192": (16, 16, 2),
    "bert:layers=6,hidden=512,heads=8": (6, 8, 1), "t5:layers=4": (8, 12, 1),
}
EXPERTS = ["mixtral-8x7b", "gpt:layers=16,hidden=1024,heads=16,seq=1024,experts=8,top-k=2"]
GPTS = [m for m in TRANSFORMERS if not m.startswith(("vit", "bert", "t5"))]
SMALL = [m for m, (_, _, gpus) in TRANSFORMERS.items() if gpus == 1]

SYSTEMS = ["abci", "abci-a", "abci-paper", "dgx-a100", "dgx-h100", "dgx1-v100", "perlmutter", "selene", "summit",
           "tsubame3", "vtrain-a100"]
LARGE = ["selene", "dgx-a100", "dgx-h100", "vtrain-a100", "abci-a", "perlmutter"]  # devices with bf16
MODELLED = ["abci", "abci-paper", "dgx-a100", "selene", "summit", "tsubame3", "vtrain-a100", "dgx1-v100"]
PROFILES = {"alexnet": "v100-alexnet", "cosmoflow-256": "v100-cosmoflow-256", "cosmoflow-512": "v100-cosmoflow-512",
            "resnet152": "v100-resnet152", "resnet50": "v100-resnet50", "vgg16": "v100-vgg16",
            "vgg16-226": "v100-vgg16-226"}
FRAMEWORKS = ["ideal", "ddp", "megatron", "chainermn"]


class Dice:
  """Only `random()` gives the same numbers in every version of Python."""

  def __init__(self, seed):
    self.random = random.Random(seed).random

  def one(self, items):
    return items[int(self.random() * len(items))]

  def some(self, items, count):
    left = list(items)
    return [left.pop(int(self.random() * len(left))) for _ in range(min(count, len(left)))]

  def chance(self, share):
    return self.random() < share


def divisors(n, most):
  return [d for d in range(1, min(n, most) + 1) if n % d == 0]


def precision(dice, system):
  if system == "abci-paper":
    return "fp32"
  if system in LARGE:
    return dice.one(["fp32", "tf32", "fp16", "bf16", "bf16"] + (["fp8"] if system == "dgx-h100" else []))
  return dice.one(["fp32", "fp16"])


SETS = ["levels.node.bandwidth=x2", "levels.node.latency=1us", "device.memory=x2", "device.memory=32GiB",
        "device.memory-bandwidth=x0.5", "device.peak.fp32=x2", "host.bandwidth=x4", "device.watts.idle=60",
        "framework.overlap=on", "framework.overlap=off", "framework.rings=flat", "framework.rings=levels",
        "framework.costs.host=50us", "framework.costs.tensor=20us", "framework.costs.packing=10GB/s",
        "framework.optimizer-kernels=separate", "framework.kernels=fused", "framework.reduction=reduce-scatter"]
CNN_SETS = SETS + ["framework.hybrid-gradients=leader", "framework.hybrid-gradients=rings", "framework.halos=host",
                   "framework.split=convolutions", "framework.split=all", "framework.spatial-cut=first",
                   "framework.costs.split-layer=1ms", "framework.convolutions=no-winograd",
                   "framework.backward-of-allgather=reduce-scatter"]
GPT_SETS = SETS + ["framework.stages=equal", "framework.stages=balanced", "framework.stage-transfers=scattered",
                   "framework.vocabulary-padding=always", "framework.vocabulary-padding=never",
                   "framework.vocabulary-multiple=64", "framework.weight-gathers=by-tensor",
                   "framework.hidden-sums=0.5", "framework.costs.sync=100us", "framework.costs.accumulation=6B",
                   "framework.costs.accumulation=0B"]


def common(dice, system, sets):
  """Options that any network takes."""
  options = []
  if dice.chance(0.25):
    options += ["--layer-times", dice.one(["ideal", "modelled"] if system in MODELLED else ["ideal"])]
  if dice.chance(0.25):
    options += ["--links", "ideal"]
  if dice.chance(0.25):
    options += ["--optimizer", dice.one(["sgd", "momentum", "adam", "lamb"])]
  if dice.chance(0.15):
    options += ["--overlap", dice.one(["off", "off", "on"])]
  if dice.chance(0.1):
    options += ["--transport", dice.one(["host", "gpu"])]
  if dice.chance(0.1):
    options += ["--reserve", dice.one(["1GiB", "500MB"])]
  if dice.chance(0.1):
    options += ["--fragmentation", dice.one(["0.05", "0.1"])]
  if dice.chance(0.1):
    options += ["--iterations", dice.one(["ceil", "exact"])]
  if dice.chance(0.08):
    options += ["--samples", dice.one(["100000", "1000000"])]
  if dice.chance(0.2):
    for value in dice.some(sets, dice.one([1, 1, 2])):
      options += ["--set", value]
  return options


def cnn_strategy(dice, model, gpus):
  """A strategy with its grid for a number of GPUs."""
  inner = dice.one([p for p in (2, 4, 8) if p <= gpus and gpus % p == 0] or [1])
  if inner == 1:
    return dice.one(["data", "serial"]), ["-p", "1"]
  axes = dice.one([["data"], ["data"], ["spatial"], ["filter"], ["channel"], ["tensor"], ["layer"],
                   ["data", "spatial"], ["data", "spatial"], ["data", "filter"], ["data", "filter"], ["data", "channel"],
                   ["data", "tensor"], ["data", "layer"], ["spatial", "filter"], ["filter", "spatial"],
                   ["data", "filter", "spatial"], ["data", "layer", "spatial"], ["data", "layer", "tensor"],
                   ["layer", "filter"], ["spatial", "channel"], ["layer", "spatial"]])
  if len(axes) == 1:
    return axes[0], ["-p", str(gpus if axes[0] == "data" else min(gpus, inner))]
  sizes = [2] * len(axes)
  sizes[-1] = min(inner, 4 if "spatial" in axes or len(axes) > 2 else 8)
  sizes[0] = max(2, gpus // (sizes[-1] * 2 ** (len(axes) - 2)))
  if axes[0] != "data":
    sizes[0] = min(sizes[0], 4)
  words = [f"{axis}={size}" for axis, size in zip(axes, sizes)]
  if "spatial" in axes and dice.chance(0.3):
    at = axes.index("spatial")
    if sizes[at] == 4:
      words[at] = "spatial=2x2"
    elif sizes[at] == 8 and model in CUBES:
      words[at] = "spatial=2x2x2"
  return "+".join(axes), ["--grid", ",".join(words)]


def cnn_options(dice, model, system, strategy):
  options = common(dice, system, CNN_SETS)
  if dice.chance(0.35):
    options += ["--framework", dice.one(["ddp", "chainermn", "chainermn", "ideal"])]
  if dice.chance(0.25) and model in PROFILES and system in ("abci", "summit", "dgx1-v100") and "--layer-times" not in options:
    options += dice.one([["--profile", PROFILES[model]], ["--layer-times", "profile"]])
  elif dice.chance(0.2):
    options += ["--precision", precision(dice, system)]
  if dice.chance(0.15) and any(axis in strategy for axis in ("filter", "channel", "tensor")):
    options += ["--reduction", dice.one(["reduce-scatter", "allreduce"])]
  if dice.chance(0.15) and model.startswith(("resnet", "densenet", "inception", "mobilenet")):
    options += ["--batch-norm", dice.one(["sync", "local"])]
  if dice.chance(0.1) and system in MODELLED and "profile" not in options and "ideal" not in options:
    options += ["--convolutions", dice.one(["no-winograd", "1GB", "best"])]
  if "data" in strategy and dice.chance(0.12):
    options += ["--zero", dice.one("123")]
  if "layer" in strategy:
    options += ["--micro-batches", dice.one(["2", "4", "8"]), "--schedule", dice.one(["gpipe", "1f1b"])]
  elif dice.chance(0.08):
    options += ["--micro-batches", "2"]
  return options


def batch_of(dice, model):
  if model in CUBES:
    return dice.one(["1/gpu", "1/node", "2/gpu", "4/node"]) if model != "cosmoflow-512" else dice.one(["1/node", "1/gpu"])
  if model == "unet":
    return dice.one(["1/gpu", "2/gpu", "4/gpu"])
  return dice.one(["8/gpu", "16/gpu", "32/gpu", "64/gpu", "64/node", "1024"])


def cnn_questions(dice, command, count):
  for _ in range(count):
    model = dice.one(CNNS)
    system = dice.one(SYSTEMS)
    gpus = dice.one([1, 4, 8, 8, 16, 32, 64, 128, 256])
    strategy, grid = cnn_strategy(dice, model, gpus)
    options = cnn_options(dice, model, system, strategy)
    batch = [] if dice.chance(0.1) and "layer" not in strategy else ["-b", batch_of(dice, model)]
    if "layer" in strategy or "--micro-batches" in options:
      batch = ["-b", dice.one(["64/gpu", "32/gpu"]) if model not in CUBES and model != "unet" else "8/gpu"]
    if command == "explain":
      extra = dice.one([[], [], ["--bottlenecks"], ["--layers"] if model in ("alexnet", "resnet18", "tiny-cnn", "vgg16", "unet") + tuple(CUBES) else []])
      yield ["explain", strategy, model, "--on", system, *grid, *batch, *options, *extra, "--json"]
    else:
      yield ["project", model, "--on", system, "-s", strategy, *grid, *batch, *options, "--json"]


def gpt_plan(dice, model, system):
  """A strategy, its grid and batch, with micro-batches and schedule where it has stages."""
  blocks, heads, gpus = TRANSFORMERS[model]
  if system not in LARGE:
    gpus *= 4
  node = 4 if system in ("abci", "abci-paper", "perlmutter", "tsubame3") else 6 if system == "summit" else 8
  tensor = layer = 1
  if gpus == 1:
    tensor = dice.one([1, 1] + [t for t in divisors(heads, node) if t <= 8])
    layer = dice.one([1, 1] + [s for s in divisors(blocks, 8) if s > 1])
  else:
    tensor = max(t for t in divisors(heads, node) if t <= gpus)
    layer = next((s for s in divisors(blocks, blocks) if s * tensor >= gpus), blocks)
  data = dice.one([1, 2, 4, 8, 16])
  context = expert = 1
  if dice.chance(0.12) and model in GPTS:
    context = dice.one([2, 4])
  if model in EXPERTS and dice.chance(0.6):
    expert = dice.one([2, 4, 8])
  limit = 512 if system == "vtrain-a100" else 960
  while data > 1 and data * layer * context * expert * tensor > limit:
    data //= 2
  sizes = [("data", data), ("expert", expert), ("layer", layer), ("context", context), ("tensor", tensor)]
  axes = [(axis, size) for axis, size in sizes if size > 1] or [("data", 2)]
  strategy = "+".join(axis for axis, _ in axes)
  grid = ["--grid", ",".join(f"{axis}={size}" for axis, size in axes)]
  data = dict(axes).get("data", 1)
  micro, schedule = 1, []
  if layer > 1:
    micro = layer * dice.one([1, 2, 4])
    schedule = ["--schedule", dice.one(["gpipe", "1f1b", "1f1b"])]
    pieces = [v for v in (2, 3, 4) if blocks % (layer * v) == 0]
    if pieces and dice.chance(0.35):
      schedule = ["--schedule", f"interleaved:{dice.one(pieces)}"]
  elif dice.chance(0.3):
    micro = dice.one([2, 4])
  if micro > 1:
    schedule = ["--micro-batches", str(micro)] + schedule
  batch = data * expert * micro * dice.one([1, 1, 2, 4] if gpus == 1 else [1, 1, 2])
  return strategy, grid, ["-b", str(batch), *schedule]


def gpt_options(dice, model, system, strategy):
  options = [o for o in common(dice, system, GPT_SETS)]
  frameworks = ["megatron", "megatron", "ddp", "ideal"] if system != "abci-paper" else ["ideal", "ddp"]
  if dice.chance(0.55):
    options += ["--framework", dice.one(frameworks)]
  if dice.chance(0.6):
    options += ["--precision", precision(dice, system)]
    if options[-1] in ("fp16", "bf16") and dice.chance(0.2):
      options += ["--gradients", dice.one(["fp16", "fp32"])]
  flash = model.startswith(("llama", "mixtral"))
  if dice.chance(0.15):
    flash = dice.chance(0.5)
    options += ["--flash", "on" if flash else "off"]
  if dice.chance(0.45):
    kinds = ["full", "full:2", "none", "full"] + ([] if flash else ["selective", "selective", "selective:3"])
    options += ["--recompute", dice.one(kinds)]
  if "tensor" in strategy and dice.chance(0.4) and not model.startswith(("vit", "t5")):
    options += ["--sequence-parallel", "on"]
  if "data" in strategy and dice.chance(0.4):
    options += ["--zero", dice.one("1123")]
  if "tensor" in strategy and dice.chance(0.1):
    options += ["--reduction", "reduce-scatter"]
  return options


def gpt_questions(dice, command, count):
  models = list(TRANSFORMERS)
  for _ in range(count):
    model = dice.one(models)
    _, _, gpus = TRANSFORMERS[model]
    system = dice.one(SYSTEMS if gpus == 1 else LARGE[:4] if gpus > 64 else LARGE)
    strategy, grid, batch = gpt_plan(dice, model, system)
    options = gpt_options(dice, model, system, strategy)
    if command == "explain":
      extra = dice.one([[], [], [], ["--bottlenecks"], ["--layers"] if TRANSFORMERS[model][0] <= 12 else []])
      yield ["explain", strategy, model, "--on", system, *grid, *batch, *options, *extra, "--json"]
    else:
      yield ["project", model, "--on", system, "-s", strategy, *grid, *batch, *options, "--json"]


def tables(dice):
  """Every model on several systems, with the strategies that the program chooses."""
  for i, model in enumerate(CNNS + list(TRANSFORMERS)):
    _, _, large = TRANSFORMERS.get(model, (0, 0, 1))
    systems = LARGE[:4] if large > 4 else SYSTEMS
    for k in range(3):
      system = systems[(i + 4 * k) % len(systems)]
      batch = [] if k == 0 else ["-b", batch_of(dice, model)] if model in CNNS else ["-b", dice.one(["1/gpu", "2/gpu", "4/gpu"])]
      options = [] if k < 2 else common(dice, system, SETS)
      gpus = dice.one(["8", "16", "32", "64"] if large == 1 else ["128", "256"] if large < 64 else ["512"])
      yield ["advise", model, "--on", system, "-p", gpus, *batch, *options, "--json"]
    for k in range(2):
      system = systems[(i + 3 * k + 1) % len(systems)]
      gpus = dice.one(["4..16", "8,64", "16..32", "16x4"] if large == 1 else ["64..128", "32,256"] if large < 64 else ["512"])
      grids = ["--grids", "all"] if dice.chance(0.15) and large == 1 else []
      options = common(dice, system, SETS)
      if model in CNNS:
        strategies = dice.one(["data,data+spatial,data+filter", "data,spatial,layer", "filter,channel,tensor,data",
                               "data,data+channel,data+tensor", "data,data+layer+tensor"])
      else:
        strategies = dice.one(["data,data+tensor,data+layer", "data,tensor,layer", "data,data+layer+tensor",
                               "data,data+context,data+tensor"])
      yield ["project", model, "--on", system, "-p", gpus, "-s", strategies, *grids, *options, "--json"]
  for model in ("resnet50", "vgg16", "alexnet", "gpt2", "bert-base", "cosmoflow-256", "tiny-cnn"):
    for system in ("abci", "dgx-a100", "dgx-h100", "summit"):
      yield ["project", model, "--on", system, "-p", "1..256", "--json"]
      for framework in FRAMEWORKS:
        yield ["advise", model, "--on", system, "-p", "32", "--framework", framework, "--json"]
  for model in ("resnet50", "alexnet", "tiny-cnn", "gpt2", "mobilenet-v2", "bert-base"):
    yield ["advise", model, "--on", "laptop", "-p", "1", "-b", "4", "--json"]
    yield ["explain", "serial", model, "--on", "laptop", "-p", "1", "-b", "2", "--json"]
  for model in SMALL:
    yield ["advise", model, "--on", dice.one(LARGE), "-p", dice.one(["8", "16"]), "-b", dice.one(["2/gpu", "8/gpu"]), "--framework",
           dice.one(FRAMEWORKS[1:3]), "--precision", "bf16", "--optimizer", "adam", *dice.one([[], ["--zero", "1"], ["--recompute", "full"], ["--flash", "on"]]), "--json"]


def sequences_and_experts(dice):
  for model in ("gpt2", "gpt3-1.3b", "llama2-7b", "llama3-8b", "bert-large", "llama:layers=16,hidden=2048,heads=16,kv-heads=4,seq=8192"):
    for strategy, grid in (("context", "context=4"), ("data+context", "data=4,context=4"), ("context+tensor", "context=4,tensor=4"),
                           ("data+layer+context", "data=2,layer=2,context=4")):
      options = gpt_options(dice, model, "dgx-a100", strategy)
      micro = ["--micro-batches", "4", "--schedule", "1f1b"] if "layer" in strategy else []
      yield ["explain", strategy, model, "--on", dice.one(["dgx-a100", "selene"]), "--grid", grid, "-b", "16", *micro, *options, "--json"]
  for model in EXPERTS:
    for strategy, grid in (("expert", "expert=8"), ("data+expert", "data=8,expert=8"), ("data+expert", "data=16,expert=4"),
                           ("expert+tensor", "expert=8,tensor=4"), ("data+expert+tensor", "data=4,expert=4,tensor=4"),
                           ("data+layer+expert", "data=4,layer=4,expert=8"), ("expert+layer+tensor", "expert=8,layer=4,tensor=4"),
                           ("data+expert+context", "data=4,expert=4,context=2"), ("data+tensor", "data=16,tensor=8")):
      for framework in ("ideal", "megatron"):
        micro = ["--micro-batches", "4", "--schedule", "1f1b"] if "layer" in strategy else []
        options = ["--precision", "bf16", "--optimizer", "adam"] + dice.one([[], ["--zero", "1"], ["--recompute", "full"], ["--zero", "3"], ["--links", "ideal"]])
        yield ["explain", strategy, model, "--on", dice.one(["dgx-h100", "dgx-a100"]), "--grid", grid, "-b", "128", *micro, "--framework", framework, *options, "--json"]


def paper(dice):
  strategies = ["serial", "data", "spatial", "layer", "filter", "channel", "data+filter", "data+channel", "data+spatial"]
  for model in CNNS:
    system = dice.one(["abci-paper", "abci", "dgx-a100", "summit"])
    for _ in range(3):
      options = dice.one([[], [], ["--iterations", "ceil"], ["--gamma", "0.5"], ["--layer-times", "ideal"], ["--links", "ideal"]])
      yield ["project", model, "--on", system, "-p", dice.one(["4", "4..64", "16,64", "128"]), "-b", batch_of(dice, model), "--fidelity", "paper", *options, "--json"]
    for strategy in dice.some(strategies[1:], 3):
      p = "4" if "+" not in strategy else dice.one(["16", "64"])
      yield ["explain", strategy, model, "--on", system, "-p", p, "-b", "4/gpu" if model in CUBES else "16/gpu", "--fidelity", "paper", "--json"]
  for model in ("gpt2", "bert-large", "vit-b-16"):
    yield ["project", model, "--on", "dgx-a100", "-p", "8", "-b", "8", "-s", "data,layer", "--fidelity", "paper", "--json"]
  for gamma in ("0.25", "1"):
    for model in ("resnet50", "vgg16", "alexnet"):
      yield ["project", model, "--on", "abci-paper", "-p", "16", "--gamma", gamma, "--json"]


def out_of_core(dice):
  for model, batches in (("resnet50", [277, 370, 512, 740]), ("resnet152", [135, 180, 270]), ("vgg16", [268, 358]), ("unet", [18, 24]),
                         ("bert-large", [10, 14, 28]), ("gpt2-medium", [3, 4, 8]), ("gpt2-xl", [2, 4]), ("densenet121", [256]),
                         ("resnet101", [180]), ("vgg19", [300]), ("gpt3-1.3b", [4]), ("inception-v3", [256]), ("cosmoflow-256", [4]), ("alexnet", [4096])):
    for batch in batches:
      yield ["explain", "serial/ooc", model, "--on", "abci", "-p", "1", "-b", str(batch), "--json"]
      yield ["explain", "data/ooc", model, "--on", dice.one(["abci", "summit", "tsubame3"]), "-p", dice.one(["4", "8"]), "-b", f"{batch}/gpu",
             *common(dice, "abci", SETS[:7]), "--json"]
    yield ["project", model, "--on", "abci", "-p", "4,8", "-b", f"{batches[-1]}/gpu", "-s", "data,data/ooc,data+spatial/ooc" if model in CNNS else "data,data/ooc,data+tensor/ooc", "--json"]
    yield ["advise", model, "--on", "abci", "-p", "4", "-b", f"{batches[-1]}/gpu", "--json"]
    yield ["explain", "data+filter/ooc", model, "--on", "abci", "-p", "8", "-b", f"{batches[0]}/gpu", "--json"]
  for model in ("gpt3-13b", "llama2-7b", "gpt3-6.7b", "megatron-18.4b"):
    for options in ([], ["--optimizer", "adam", "--precision", "bf16"], ["--framework", "megatron"], ["--set", "host.bandwidth=x2"]):
      yield ["explain", "data/ooc", model, "--on", "dgx-a100", "-p", "8", "-b", "8", *options, "--json"]
      yield ["explain", "data+layer/ooc", model, "--on", "dgx-h100", "--grid", "data=2,layer=4", "-b", "16", "--micro-batches", "8", "--schedule", dice.one(["1f1b", "gpipe"]), *options, "--json"]
  for options in ([], ["--set", "host.bandwidth=120MB/s"], ["--set", "device.memory=x2"], ["--set", "host.memory=1MB"]):
    for batch in ("4", "8", "16"):
      yield ["explain", "data/ooc", "@chain.yaml", "--on", "@one.yaml", "-p", "1", "-b", batch, *options, "--json"]
    yield ["explain", "layer/ooc", "@chain.yaml", "--on", "@one.yaml", "-p", "2", "-b", "32", "--micro-batches", "4", *options, "--json"]
    yield ["advise", "@chain.yaml", "--on", "@one.yaml", "-p", "4", "-b", "8/gpu", *options, "--json"]


def input_questions(dice):
  for model in ("resnet50", "vgg16", "cosmoflow-512", "cosmoflow-256", "cosmoflow-128", "gpt2", "densenet121", "bert-base"):
    batch = "1/node" if model == "cosmoflow-512" else "1/gpu" if model in CUBES else "8/gpu"
    strategies = ["data", "data+spatial", "data+filter", "filter"] if model in CNNS else ["data", "data+tensor", "layer", "data+context"]
    for _ in range(14):
      system = dice.one(["abci", "summit", "abci-a", "perlmutter", "selene", "dgx-a100", "vtrain-a100"])
      source = "shared" if system in ("perlmutter", "selene") else dice.one(["node", "node", "shared"])
      options = ["--input", source]
      if source == "node":
        options += dice.one([[], ["--shuffle", "local"], ["--shuffle", "partial:0.1"], ["--shuffle", "partial:0.5"], ["--shuffle", "global"]])
      if dice.chance(0.4):
        options += ["--staging", dice.one(["each", "leader"])]
      if dice.chance(0.4):
        options += ["--prefetch", dice.one(["off", "on"])]
      if dice.chance(0.4):
        options += ["--framework", dice.one(["chainermn", "ddp"] if model in CNNS else ["megatron", "ddp"])]
      if dice.chance(0.2) and system in ("abci", "summit"):
        options += ["--set", dice.one(["storage.node.read=x2", "storage.node.capacity=100TB"])]
      strategy = dice.one(strategies)
      p = "4" if strategy in ("filter", "layer") else dice.one(["16", "64"])
      kind = dice.one(["explain", "explain", "project", "advise"])
      if kind == "explain":
        yield ["explain", strategy, model, "--on", system, "-p", p, "-b", batch, *options, *dice.one([[], ["--bottlenecks"]]), "--json"]
      elif kind == "project":
        yield ["project", model, "--on", system, "-p", p, "-b", batch, "-s", ",".join(strategies[:3]), *options, "--json"]
      else:
        yield ["advise", model, "--on", system, "-p", p, "-b", batch, *options, "--json"]


ALGORITHMS = ["ring", "ring-bidirectional", "ring-2d", "hd", "hd-far", "doubling", "tree", "tree-pipelined", "double-tree",
              "leader", "ring+ring", "ring+hd", "ring+doubling", "ps", "ps-sharded", "shd", "auto", "sparse-ring:0.0078",
              "sparse-pairwise:0.01", "sparse-ring+ring:0.05"]


def gradient_sums(dice):
  for algorithm in ALGORITHMS:
    for model in dice.some(["resnet50", "vgg16", "alexnet", "bert-large", "gpt2", "resnet152"], 3):
      system = dice.one(["abci", "dgx-a100", "tsubame3", "dgx-h100", "abci-a", "perlmutter"])
      p = dice.one(["8", "16", "32", "64"])
      options = dice.one([[], ["--overlap", "off"], ["--links", "ideal"], ["--framework", "ddp"]])
      yield ["project", model, "--on", system, "-p", p, "-s", "data", "--allreduce", algorithm, *options, "--json"]
      yield ["explain", dice.one(["data", "data", "data+filter", "data+tensor"]), model, "--on", system, "-p", p, "--allreduce", algorithm, *options, "--json"]
  for algorithm in ["multitree", "ring", "ring-2d", "auto", "hd", "shd"]:
    for model in ("alexnet", "vgg16", "resnet50", "vit-b-16", "gpt2"):
      yield ["project", model, "--on", "@torus.yaml", "-p", "64", "-b", "16/gpu", "-s", "data", "--overlap", dice.one(["off", "on"]), "--allreduce", algorithm, "--json"]
  for model in ("alexnet", "vgg16", "resnet50"):
    for strategy in ("data", "data+spatial", "data+filter", "layer"):
      yield ["explain", strategy, model, "--on", "@shared.yaml", "-p", "4", "-b", "16", "--json"]
    yield ["advise", model, "--on", "@shared.yaml", "-p", "4", "--json"]
    yield ["compare", "data", "data+spatial", model, "--on", "@shared.yaml", "-p", "4", "--json"]
  for batch, micro, schedule in ((24, 4, "gpipe"), (24, 8, "1f1b"), (24, 12, "1f1b"), (32, 4, "interleaved:2"), (48, 8, "interleaved:2"), (64, 64, "1f1b"), (64, 32, "gpipe")):
    for p in ("2", "4"):
      for strategy in ("layer", "layer+filter"):
        grid = ["-p", p] if strategy == "layer" else ["--grid", f"layer={p},filter=2"]
        yield ["explain", strategy, "@line-net.yaml", "--on", "@line.yaml", *grid, "-b", str(batch), "--micro-batches", str(micro), "--schedule", schedule, "--json"]


def costs(dice):
  for model in ("resnet50", "vgg16", "gpt2-xl", "cosmoflow-256", "bert-large"):
    for system in ("abci", "dgx-a100", "dgx-h100", "abci-paper"):
      p = dice.one(["16", "64"])
      options = dice.one([["--epochs", "90"], ["--epochs", "10", "--price", "2.5USD/h"], ["--price", "1 EUR/h"], ["--epochs", "3", "--set", "price=1.5 EUR/h", "--set", "device.watts.idle=60"]])
      yield ["advise", model, "--on", system, "-p", p, *options, "--json"]
      yield ["project", model, "--on", system, "-p", "8..64", "-s", "data", *options, "--json"]
      yield ["explain", "data", model, "--on", system, "-p", p, *options, "--json"]
      yield ["compare", "data", "data+layer", model, "--on", system, "-p", p, *options, "--json"]


def comparisons(dice):
  for model in dice.some(CNNS, 14):
    system = dice.one(SYSTEMS)
    for pair in dice.some([["data", "data+spatial"], ["data", "filter", "channel"], ["data+filter", "data+channel", "data+tensor"], ["data", "data/ooc"]], 2):
      p = "8" if "filter" in pair else dice.one(["16", "64"])
      yield ["compare", *pair, model, "--on", system, "-p", p, *common(dice, system, CNN_SETS), "--json"]
  for model in dice.some(SMALL, 14):
    system = dice.one(LARGE)
    for pair in dice.some([["data", "data+tensor"], ["data", "data+layer", "data+layer+tensor"], ["data", "data+context"], ["data", "data/ooc"]], 2):
      yield ["compare", *pair, model, "--on", system, "-p", "16", "-b", "2/gpu", *common(dice, system, GPT_SETS), "--json"]
  for _ in range(50):
    model = dice.one(CNNS + SMALL)
    systems = dice.some(SYSTEMS, dice.one([2, 2, 3]))
    options = dice.one([[], ["--links", "ideal"], ["--layer-times", "ideal"], ["--framework", "ddp"], ["--input", "node"]])
    yield ["compare", *systems, "--model", model, "-p", dice.one(["8", "32", "64"]), *options, "--json"]


def advice_for(dice):
  for _ in range(70):
    whom = dice.one(["system", "framework"])
    model = dice.one(["resnet50", "vgg16", "alexnet", "gpt2", "bert-large", "cosmoflow-256", "mobilenet-v2", "gpt2-xl", "resnet18", "vit-b-16"])
    system = dice.one(["abci", "dgx-a100", "summit", "selene", "dgx-h100", "abci-a"])
    frameworks = ["chainermn", "ddp"] if model in CNNS else ["megatron", "ddp"]
    options = ["--framework", dice.one(frameworks)] if whom == "framework" or dice.chance(0.4) else []
    options += dice.one([[], [], ["-s", "data"], ["-s", "data,data+filter"], ["--links", "ideal"]])
    yield ["advise", model, "--on", system, "-p", dice.one(["16", "32", "64"]), "--for", whom, *options, "--json"]
  for model in ("gpt3-13b", "llama2-7b", "megatron-7.5b", "gpt3-175b"):
    for whom in ("system", "framework"):
      p = "512" if "175" in model else "64"
      yield ["advise", model, "--on", "selene", "-p", p, "-b", p, "--framework", "megatron", "--for", whom, "--json"]
  yield ["advise", "@chain.yaml", "--on", "@one.yaml", "-p", "4", "-b", "8/gpu", "--for", "system", "--json"]


TOPOLOGIES = ["crossbar:16", "crossbar:64", "fattree:2;24,3;1,8;1,1", "fattree:2;16,4;1,16;1,1", "torus:8,8", "torus:4,4", "mesh:4,4,4",
              "dragonfly:4,1;2,1;4,1;2", "bigraph:4,8", "dln:4,2", "dln2d:2,2,2", "dln-random:64,4,2,1", "tsubame3-authors:16", "graph:@graph.txt",
              "torus:4,4/nvlink:4,2", "crossbar:8/nvswitch:8,8", "crossbar:8/pcie:4,2", "optical:1MB,100GB/s,8,4,20us+fattree:2;8,8;1,4;1,1"]
OPERATIONS = ["reduce-scatter", "allgather", "broadcast", "reduce", "scatter", "all-to-all", "halo", "point-to-point"]


def collectives(dice):
  for i, topology in enumerate(TOPOLOGIES):
    for fidelity in ("closed-form", "link-load", "flows"):
      yield ["collectives", "allreduce", "--topology", topology, "--size", dice.one(["64KiB,1MiB", "100MB", "16MiB"]), "--algorithm", "ring,tree,auto", "--fidelity", fidelity, "--json"]
      yield ["collectives", dice.one(OPERATIONS), "--topology", topology, "--size", dice.one(["64KiB", "1MB,10MB", "16MiB"]), "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", topology, "--size", "1MiB", "--algorithm", "all", "--json"]
    yield ["collectives", "allreduce", "--topology", topology, "--size", "1KB..1GB:x100", "--best", "--json"]
    options = dice.one([["--latency", "1us"], ["--bandwidth", "25GB/s"], ["--duplex", "half"], ["--watts", "8:10"], ["--placement", "random:3"]])
    if not topology.startswith(("tsubame3", "graph")):
      yield ["collectives", "allreduce", "--topology", topology, "--size", "1MB", "--fidelity", dice.one(["link-load", "flows", "closed-form"]), *options, "--json"]
      yield ["topology", "show", topology, *([] if "--placement" in options else options), "--json"]
    yield ["topology", "show", topology, "--json"]
  for algorithm in ALGORITHMS:
    for system in dice.some(SYSTEMS, 3):
      yield ["collectives", "allreduce", "--on", system, "-p", dice.one(["8", "16", "32,64"]), "--size", dice.one(["1KB", "1MiB", "100MB,1GB"]), "--algorithm", algorithm,
             "--fidelity", dice.one(["closed-form", "closed-form", "link-load", "flows"]), *dice.one([[], [], ["--links", "ideal"]]), "--json"]
  for system in SYSTEMS:
    yield ["collectives", "allreduce", "--on", system, "-p", "4..256:x4", "--size", "100MB", "--json"]
    yield ["collectives", "allreduce", "--on", system, "-p", "16", "--size", "1MB,64MiB", "--best", "--json"]
    for operation in OPERATIONS:
      yield ["collectives", operation, "--on", system, "-p", dice.one(["4", "8", "16", "8,64"]), "--size", dice.one(["64KiB", "1MB", "64MiB"]), *dice.one([[], ["--links", "ideal"], ["--fidelity", "link-load"]]), "--json"]
    yield ["topology", "show", system, "--json"]
    yield ["collectives", "allreduce", "--on", system, "-p", "8", "--size", "1MB", "--set", "levels.node.bandwidth=x2", "--json"]
  for topology in ("torus:8,8", "torus:4,4", "mesh:4,4,4"):
    for fidelity in ("closed-form", "link-load", "flows"):
      yield ["collectives", "allreduce", "--topology", topology, "--algorithm", "ring,ring-2d,multitree,hd", "--size", "1MiB,64MiB", "--fidelity", fidelity, "--json"]
  for fidelity in ("closed-form", "link-load", "flows"):
    yield ["collectives", "allreduce", "--on", "@shared.yaml", "-p", "4", "--size", "4MB", "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", "dln:4,2", "--algorithm", "ring,hd,shd", "--size", "64KiB,1MiB,100MiB", "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", "crossbar:32/nvlink:4,2", "-p", "64", "--inside-bandwidth", "50GB/s", "--algorithm", "ring,ring+ring,ring+hd,leader", "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", "crossbar:8", "--algorithm", "sparse-ring,sparse-pairwise", "--density", "0.1", "--top-k", "900GB/s", "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", "crossbar:16", "--algorithm", "tree-pipelined,double-tree", "--segments", "8", "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", "crossbar:16", "--algorithm", "ring+ring,leader", "--per-node", "4", "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", "torus:4,4/nvlink:4,2", "--placement", "round-robin", "--fidelity", fidelity, "--json"]
    yield ["collectives", "allreduce", "--topology", "dragonfly:4,1;2,1;4,1;2", "--routing", "simgrid", "--fidelity", fidelity, "--json"]
  for topology in ("torus:2,2", "crossbar:4", "graph:@graph.txt", "mesh:2,2"):
    for fidelity in ("link-load", "flows"):
      yield ["collectives", "run", "@schedule.txt", "--topology", topology, "--fidelity", fidelity, "--json"]
  yield ["collectives", "run", "@schedule.txt", "--on", "abci", "--json"]


def validations():
  for file in ("examples/validate/abci.csv", "examples/validate/abci-parts.csv", "@runs.csv"):
    for options in ([], ["--fidelity", "paper"], ["--layer-times", "modelled"], ["--layer-times", "ideal"], ["--links", "ideal"], ["--framework", "ddp"],
                    ["--iterations", "ceil"], ["--set", "levels.node.bandwidth=x2"], ["--overlap", "on"], ["--set", "framework.costs.tensor=0s"], ["--require", "85"],
                    ["--fidelity", "paper", "--layer-times", "modelled"], ["--framework", "ideal", "--layer-times", "modelled"], ["--input", "node"]):
      yield ["validate", file, *options, "--json"]


def catalogue():
  for model in CNNS + list(TRANSFORMERS):
    yield ["models", "show", model, "--json"]
  for system in SYSTEMS + ["laptop"]:
    yield ["systems", "show", system, "--json"]
  for framework in FRAMEWORKS:
    yield ["frameworks", "show", framework, "--json"]
  for profile in list(PROFILES.values()) + ["v100-megatron-2.5b"]:
    yield ["profiles", "show", profile, "--json"]
  for strategy in ("serial", "data", "spatial", "layer", "filter", "channel", "tensor", "context", "expert", "data+filter", "data+channel", "data+spatial",
                   "data+layer+tensor", "data/ooc", "data+layer/ooc", "data+expert+tensor"):
    yield ["strategies", "show", strategy, "--json"]
  for kind in ("strategies", "profiles", "frameworks"):
    yield [kind, "--json"]
  yield ["check", "resnet50", "abci", "ddp", "v100-resnet50", "--json"]


def formats(dice):
  """Text and tables; their numbers are compared too."""
  questions = [
      ["advise", "resnet50", "--on", "abci", "-p", "64", "--batch", "32/gpu"], ["project", "vgg16", "--on", "dgx-a100", "-p", "16..64"],
      ["advise", "cosmoflow-512", "--on", "abci", "-p", "128", "-b", "1/node"], ["advise", "gpt2-xl", "--on", "dgx-a100", "-p", "32", "-b", "8/gpu", "--precision", "bf16", "--optimizer", "adam"],
      ["explain", "data+filter", "vgg16", "--on", "abci", "--grid", "data=16,filter=4"], ["explain", "data+filter", "tiny-cnn", "--on", "abci", "--grid", "data=4,filter=4", "--layers"],
      ["explain", "layer", "gpt2", "--on", "dgx-a100", "-p", "4", "-b", "16", "--micro-batches", "8", "--schedule", "1f1b"], ["explain", "data/ooc", "resnet50", "--on", "abci", "-p", "4", "-b", "512/gpu"],
      ["explain", "filter", "resnet50", "--on", "abci-paper", "-p", "4", "-b", "64", "--fidelity", "paper"], ["compare", "data", "data+spatial", "resnet50", "--on", "abci", "-p", "64"],
      ["compare", "abci", "dgx-a100", "--model", "resnet50", "-p", "64"], ["validate", "examples/validate/abci.csv"], ["collectives", "allreduce", "--on", "abci", "-p", "4..1024:x4", "--size", "100MB"],
      ["collectives", "allreduce", "--topology", "torus:8,8", "--algorithm", "ring,ring-2d,multitree", "--fidelity", "flows"], ["topology", "show", "torus:8,8"], ["topology", "show", "abci"],
      ["project", "gpt3-175b", "--on", "selene", "-p", "512", "-b", "512", "--framework", "megatron"], ["explain", "data+spatial", "cosmoflow-512", "--on", "abci", "--grid", "data=4,spatial=4", "-b", "1/node", "--input", "shared", "--framework", "chainermn"],
      ["project", "bert-large", "--on", "summit", "-p", "6,12", "-s", "data,tensor,layer"], ["advise", "resnet50", "--on", "abci", "-p", "64", "--epochs", "90", "--price", "2.5USD/h"]]
  for question in questions:
    for format in ("text", "csv", "markdown", "latex", "jsonl"):
      yield [*question, "-f", format]
  for question in ([*questions[1]], [*questions[16]], [*questions[18]], ["project", "resnet50", "--on", "abci", "-p", "4..64", "--input", "node", "--epochs", "3"]):
    yield [*question, "--columns", "all", "-f", "csv"]
    yield [*question, "--sort", "memory", "-f", "csv"]
  yield ["advise", "vgg16", "--on", "abci", "-p", "64", "--framework", "chainermn", "--for", "framework"]
  yield ["advise", "vgg16", "--on", "abci", "-p", "64", "--for", "system"]
  yield ["explain", "data+filter", "resnet50", "--on", "abci", "--grid", "data=16,filter=4", "--framework", "chainermn", "--bottlenecks"]
  for kind, name in (("models", "resnet50"), ("models", "gpt2"), ("systems", "abci"), ("systems", "dgx-h100"), ("strategies", "data+filter"), ("frameworks", "chainermn")):
    yield [kind, "show", name]
    yield [kind, "show", name, "-f", "csv"]


def wrong():
  """Mistakes and impossible requests."""
  ask = ["resnet50", "--on", "abci", "-p", "8"]
  for options in (["--zero", "7"], ["--recompute", "half"], ["--recompute", "selective"], ["--sequence-parallel", "on"], ["--schedule", "zigzag"], ["--precision", "fp15"], ["--optimizer", "adamm"], ["--layer-times", "best"],
                  ["--links", "fast"], ["--framework", "dpd"], ["--profile", "v100-resnet5"], ["--fidelity", "exact"], ["--price", "2.5"], ["--epochs", "0"], ["--set", "levels.rack.bandwith=1GB/s"], ["--set", "framework.halos=wire"],
                  ["--set", "device.memory=many"], ["--allreduce", "rign"], ["--allreduce", "multitree"], ["--input", "disk"], ["--shuffle", "local"], ["--input", "node", "--shuffle", "partial:1.5"], ["--staging", "nobody"],
                  ["--columns", "epohc"], ["--batch-norm", "global"], ["--reduction", "sum"], ["--for", "nobody"], ["-s", "dtaa"], ["-b", "0"], ["-b", "64/gpus"], ["--samples", "-1"], ["--gamma", "x"], ["--precision", "bf16"], ["--bogus"]):
    yield ["advise", *ask, *options, "--json"]
  for words in (["advise", "resnet-50", "--on", "abci", "-p", "8"], ["advise", "resnet50", "--on", "abcj", "-p", "8"], ["advise", "resnet50", "--on", "abci", "-p", "99999"], ["advise", "resnet50", "--on", "abci", "-p", "64..16"],
                ["advize", "resnet50"], ["explain", "resnet50", "--on", "abci", "-p", "64"], ["explain", "data+filter", "resnet50", "--on", "abci", "--grid", "3x"], ["explain", "serial", "resnet50", "--on", "abci", "-p", "4"],
                ["explain", "data+data", "resnet50", "--on", "abci", "-p", "4"], ["explain", "filter", "resnet50", "--on", "abci", "-p", "128", "-b", "64"], ["explain", "spatial", "resnet50", "--on", "abci", "-p", "64", "-b", "64"],
                ["explain", "layer", "resnet50", "--on", "abci", "-p", "512", "-b", "64"], ["explain", "data", "resnet50", "--on", "abci", "-p", "64", "-b", "32"], ["explain", "tensor", "gpt2", "--on", "dgx-a100", "-p", "5"],
                ["explain", "data", "gpt2", "--on", "dgx-a100", "-p", "4", "-b", "40", "--micro-batches", "3"], ["explain", "expert", "mixtral-8x7b", "--on", "dgx-a100", "-p", "6", "-b", "6"], ["explain", "context", "llama3-8b", "--on", "dgx-a100", "-p", "3"],
                ["explain", "context", "resnet50", "--on", "dgx-a100", "-p", "4"], ["explain", "data", "gpt2", "--on", "dgx-a100", "-p", "4", "--recompute", "full:13"], ["explain", "data/oc", "resnet50", "--on", "abci", "-p", "4"],
                ["explain", "data", "llama2-13b", "--on", "dgx-a100", "-p", "8", "-b", "8", "--framework", "megatron"], ["explain", "layer", "gpt2", "--on", "dgx-a100", "-p", "4", "-b", "24", "--micro-batches", "6", "--schedule", "interleaved:2"],
                ["explain", "data", "gpt3-175b", "--on", "selene", "-p", "64", "-b", "64"], ["explain", "data/ooc", "gpt2", "--on", "vtrain-a100", "-p", "8"], ["explain", "data/ooc", "gpt2", "--on", "abci", "-p", "8", "--fidelity", "paper"],
                ["project", "resnet50", "--on", "abci", "-p", "8", "-s", "tensor", "--fidelity", "paper"], ["advise", "gpt3-175b", "--on", "abci", "-p", "8", "-b", "8"], ["compare", "data", "resnet50", "--on", "abci", "-p", "4"],
                ["collectives", "allredcue", "--topology", "torus:8,8"], ["collectives", "allreduce"], ["collectives", "allreduce", "--topology", "torsu:8,8"], ["collectives", "allreduce", "--topology", "torus:8,8", "-p", "100"],
                ["collectives", "allreduce", "--on", "abci", "-p", "8", "--bandwidth", "25GB/s"], ["collectives", "allreduce", "--topology", "torus:8,8", "--size", "3XB"], ["topology", "show", "dln:2000000000,1"], ["topology", "foo"],
                ["validate", "nowhere.csv"], ["models", "show", "resnet51"], ["systems", "show", "abcj"], ["strategies", "show", "dtaa"], ["explain", "data", "gpt:gated=2", "--on", "dgx-a100", "-p", "4"], ["advise", "resnet50", "-p", "4"]):
    yield [*words, "--json"]


def every():
  yield from tables(Dice(1))
  yield from cnn_questions(Dice(2), "explain", 420)
  yield from cnn_questions(Dice(3), "project", 180)
  yield from gpt_questions(Dice(4), "explain", 480)
  yield from gpt_questions(Dice(5), "project", 260)
  yield from sequences_and_experts(Dice(15))
  yield from paper(Dice(6))
  yield from out_of_core(Dice(7))
  yield from input_questions(Dice(8))
  yield from gradient_sums(Dice(9))
  yield from costs(Dice(10))
  yield from comparisons(Dice(11))
  yield from advice_for(Dice(12))
  yield from collectives(Dice(13))
  yield from validations()
  yield from catalogue()
  yield from formats(Dice(14))
  yield from wrong()


def identity(question):
  """Eight letters that do not change when other questions are added."""
  return hashlib.sha256(json.dumps(question).encode()).hexdigest()[:8]


def slow():
  with open(os.path.join(HERE, "slow.txt")) as lines:
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def questions(with_slow=False):
  """All questions, each once, in order, as (identity, arguments)."""
  seen = set() if with_slow else slow()
  for question in every():
    name = identity(question)
    if name not in seen:
      seen.add(name)
      yield name, question


if __name__ == "__main__":
  for _, question in questions():
    print(json.dumps(question))
