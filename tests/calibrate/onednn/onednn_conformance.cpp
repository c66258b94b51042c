#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "calibrate/onednn/onednn.hpp"
#include "tests/support/conformance.hpp"

// Compares the back end `cpu` with the plain device.

namespace {

using namespace paradl;
using namespace paradl::test;

// Sums of a few thousand products in another order differ by a few thousand rounding errors of 6e-8 at worst.
constexpr double tolerance = 1e-4;

/// A device whose layers do not write the last item of their output.
class Forgetful : public calibrate::PlainDevice {
 public:
  enum class Part { y, dx, dw };
  explicit Forgetful(Part part) : part_(part) {}
  std::unique_ptr<calibrate::LayerWork> prepare(const LocalLayer& layer) override {
    return std::make_unique<Work>(PlainDevice::prepare(layer), layer, part_);
  }

 private:
  class Work : public calibrate::LayerWork {
   public:
    Work(std::unique_ptr<LayerWork> right, const LocalLayer& layer, Part part)
        : right_(std::move(right)), layer_(layer), part_(part) {}
    void forward(const calibrate::LayerData& data) override {
      right_->forward(data);
      if (part_ == Part::y) data.y[layer_.y_items() - 1] = 0;
    }
    void backward_data(const calibrate::LayerData& data) override {
      right_->backward_data(data);
      if (part_ == Part::dx) data.dx[0][layer_.x_items() - 1] = 0;
    }
    void backward_weights(const calibrate::LayerData& data) override {
      right_->backward_weights(data);
      if (part_ == Part::dw) data.dw[0][weight_items(layer_)[0] - 1] = 0;
    }

   private:
    std::unique_ptr<LayerWork> right_;
    LocalLayer layer_;
    Part part_;
  };
  Part part_;
};

}  // namespace

TEST_CASE("cpu: every layer gives the results of the plain loops") {
  const auto device = calibrate::make_cpu_device();
  std::vector<bool> seen(std::size_t(Op::loss) + 1);
  for (const auto& [name, layer] : conformance_layers()) {
    CAPTURE(name);
    CHECK(compare_with_plain(*device, layer, tolerance) == "");
    seen[std::size_t(layer.op)] = true;
  }
  for (std::size_t op = 0; op < seen.size(); ++op) {
    CAPTURE(traits(Op(op)).name);
    CHECK(seen[op]);
  }
}

TEST_CASE("cpu: layers prepared before larger ones still run") {
  // They share one scratch buffer, which has grown and moved since.
  const auto device = calibrate::make_cpu_device();
  const LocalLayer small = conv(1, 16, {8, 8}, 16, {.kernel = 3, .padding = 1});
  const LocalLayer large = conv(4, 32, {28, 28}, 32, {.kernel = 3, .padding = 1});
  const LayerInput in = some_input(small);
  LayerRun first(*device, small, in);
  LayerRun second(*device, large, some_input(large));
  second.forward();
  first.forward();
  first.backward();
  const auto plain = calibrate::make_plain_device();
  const LayerOutput wanted = run_layer(*plain, small, in), got = first.output();
  CHECK(difference("y", got.y, wanted.y, tolerance) == "");
  CHECK(difference("dx", got.dx[0], wanted.dx[0], tolerance) == "");
  CHECK(difference("dw", got.dw[0], wanted.dw[0], tolerance) == "");
}

TEST_CASE("cpu: a bias that another rank adds is zero here") {
  const auto device = calibrate::make_cpu_device();
  const auto plain = calibrate::make_plain_device();
  for (const LocalLayer& layer : {fc(2, 8, 9), conv(1, 16, {8, 8}, 16, {.kernel = 3, .padding = 1})}) {
    std::vector<LayerOutput> outputs;
    for (calibrate::Device* one : {device.get(), plain.get()}) {
      LayerRun run(*one, layer, some_input(layer));
      float* rest = std::exchange(run.data().dw[1], nullptr);
      run.data().w[1] = nullptr;
      run.forward();
      run.backward();
      run.data().dw[1] = rest;
      outputs.push_back(run.output());
    }
    CHECK(difference("y", outputs[0].y, outputs[1].y, tolerance) == "");
    CHECK(difference("dw", outputs[0].dw[0], outputs[1].dw[0], tolerance) == "");
  }
}

TEST_CASE("cpu: the device measures time and describes itself") {
  const auto device = calibrate::make_cpu_device();
  CHECK(check_timing(*device, conv(2, 64, {56, 56}, 64, {.kernel = 3, .padding = 1})) == "");
  CHECK(check_timing(*device, fc(256, 1024, 1024)) == "");
  CHECK(device->facts().libraries.starts_with("oneDNN "));
  CHECK(device->facts().libraries.find(" thread") != std::string::npos);
}

TEST_CASE("conformance: a broken device is reported") {
  using Part = Forgetful::Part;
  const LocalLayer layer = fc(3, 7, 5);
  for (const auto& [part, name] : {std::pair{Part::y, "y"}, {Part::dx, "dx"}, {Part::dw, "dw[0]"}}) {
    Forgetful device(part);
    CHECK(compare_with_plain(device, layer, tolerance).starts_with(std::string(name) + " is off by "));
  }
  CHECK(difference("y", {1, NAN}, {1, 2}, tolerance).starts_with("y is off"));
}

TEST_CASE("conformance: a device with a wrong clock is reported") {
  struct : calibrate::PlainDevice {
    Seconds time(const std::function<void()>& work) override {
      work();
      return Seconds{1e-3};
    }
  } device;
  CHECK(check_timing(device, same(Op::relu, 8, 64)).starts_with("twice the samples take 1.0"));
}
