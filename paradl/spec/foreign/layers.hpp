#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/spec/foreign/text.hpp"
#include "paradl/spec/op.hpp"

// What networks (.net) and lists of cut layers (.lc) share: names of layers, and which of them a strategy
// cuts.
namespace paradl::foreign {

/// A layer as it stands in a list: what the file calls it, what it computes, and what we call it.
struct Listed {
  Field written;
  Op op = Op::relu;
  std::string name;
};

/// What a layer computes, by the letters its name starts with: `CONV_2a1` is a convolution. Nothing if the
/// name says nothing we know, which goes to `problems`.
std::optional<Op> read_op(const Field& name, Problems& problems);

/// Gives every layer a name of its own: `CONV_1` is conv_1, the second of many `RELU` is relu_2.
void give_names(std::vector<Listed>& layers);

/// A list of layers with a flag each: 1 where a strategy cuts it.
struct Marks {
  std::vector<Listed> layers;
  std::vector<bool> cut;  // by layer
};

/// Reads an .lc file. Throws SpecError.
Marks read_marks(const SourceText& source);

/// The words of a `split` list: the op's name where all its layers are cut, the layer's name otherwise.
std::vector<std::string> split_words(const std::vector<Listed>& layers, const std::vector<bool>& cut);

/// UsageError unless a model file can say what this strategy cuts.
void check_strategy(const std::string& strategy);

/// The strategy that a file's name starts with, as in `filter_resnet.lc`; "" if it starts with none.
std::string strategy_of(std::string_view file);

}  // namespace paradl::foreign
