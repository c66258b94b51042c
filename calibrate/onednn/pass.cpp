#include "calibrate/onednn/pass.hpp"

#include <cassert>

namespace paradl::calibrate {

void Pass::reads(int argument, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted) {
  add(argument, given, wanted, true);
}
void Pass::writes(int argument, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted) {
  add(argument, given, wanted, false);
}

void Pass::add(int argument, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted, bool read) {
  Tensor t{.given = {given, engine_->engine, nullptr}, .wanted = {}, .read = read};
  if (given == wanted) {
    t.wanted = t.given;
  } else {
    t.wanted = {wanted, engine_->engine, nullptr};
    t.reorder = read ? dnnl::reorder(t.given, t.wanted) : dnnl::reorder(t.wanted, t.given);
    constexpr std::size_t line = Engine::line;
    t.place = scratch_items_;
    scratch_items_ += (wanted.get_size() / sizeof(float) + line - 1) / line * line;
    engine_->reserve(scratch_items_);
  }
  arguments_.insert_or_assign(argument, t.wanted);
  tensors_.push_back(std::move(t));
}

void Pass::run(std::initializer_list<const float*> pointers) {
  assert(pointers.size() == tensors_.size());
  const dnnl::stream& stream = engine_->stream;
  const auto reorder = [&](Tensor& t) {
    auto& from = t.read ? t.given : t.wanted;
    auto& to = t.read ? t.wanted : t.given;
    t.reorder.execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  };
  auto pointer = pointers.begin();
  for (Tensor& t : tensors_) {
    t.given.set_data_handle(const_cast<float*>(*pointer++));  // oneDNN has one type for both directions
    if (!t.reorder) continue;
    t.wanted.set_data_handle(engine_->scratch_at(t.place));
    if (t.read) reorder(t);
  }
  primitive_.execute(stream, arguments_);
  for (Tensor& t : tensors_)
    if (t.reorder && !t.read) reorder(t);
  engine_->stream.wait();
}

}  // namespace paradl::calibrate
