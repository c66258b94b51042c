#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/spec/foreign/text.hpp"
#include "paradl/spec/op.hpp"

// Shared by the readers of networks (.net) and lists of split layers (.lc): names of layers, and which of
// them a strategy splits.
namespace paradl::foreign {

/// A layer of a list: its name in the file, its operation, and its name in our model file.
struct Listed {
  Field written;
  Op op = Op::relu;
  std::string name;
};

/// What a layer computes, by the first letters of its name: `CONV_2a1` is a convolution. Adds a mistake to
/// `problems` if the name is unknown.
std::optional<Op> read_op(const Field& name, Problems& problems);

/// Gives every layer a unique name: `CONV_1` becomes conv_1, the second of many `RELU` becomes relu_2.
void give_names(std::vector<Listed>& layers);

/// A list of layers, each with a flag: whether a strategy splits it.
struct Marks {
  std::vector<Listed> layers;
  std::vector<bool> cut;  // by layer
};

/// Reads an .lc file. Throws SpecError.
Marks read_marks(const SourceText& source);

/// The words of a `split` list: the op's name if all its layers are split, otherwise the names of layers.
std::vector<std::string> split_words(const std::vector<Listed>& layers, const std::vector<bool>& cut);

/// UsageError unless a model file can list what this strategy splits.
void check_strategy(const std::string& strategy);

/// The strategy that a file's name starts with, as in `filter_resnet.lc`; otherwise "".
std::string strategy_of(std::string_view file);

}  // namespace paradl::foreign
