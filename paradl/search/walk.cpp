#include "paradl/search/walk.hpp"

#include <array>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>

namespace paradl {
namespace {

/// Memory for the tables of one level of the walk: enough for most networks, more from the heap.
class Arena {
 public:
  std::pmr::memory_resource* get() { return &resource_; }
  void release() { resource_.release(); }

 private:
  static constexpr std::size_t size = 96 * 1024;
  std::unique_ptr<std::byte[]> bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
  std::pmr::monotonic_buffer_resource resource_{bytes_.get(), size};
};

/// What depends on mesh and layout.
struct Placed {
  /// `plan`: without axes of one GPU.
  Placed(const Evaluator& evaluator, const Plan& plan, std::span<const int> zero,
         std::pmr::memory_resource* memory)
      : layout(evaluator.layout(plan)), mesh(evaluator.setting(), evaluator.links(), layout, plan.mesh) {
    for (const int stage : zero)
      gradients.at(std::size_t(stage))
          .emplace(evaluator.links(), layout, mesh, stage, plan.allreduce, memory);
  }

  const Layout& layout;
  MeshTable mesh;
  std::array<std::optional<GradientTable>, most_zero + 1> gradients;  // by stage of ZeRO
};

/// What depends on the cut into stages.
struct Staged {
  Staged(const StagePlan& cut, const Placed& placed, const PassTable& passes, const Plan& plan,
         PipelineScratch& scratch, std::pmr::memory_resource* memory)
      : stages(cut),
        sums(placed.layout, cut, placed.mesh, passes, memory),
        schedule(cut, sums, placed.mesh, plan, scratch, memory) {}

  const StagePlan& stages;
  StageTable sums;
  ScheduleTable schedule;
};

/// The tables of the current plan, level by level.
class Walk {
 public:
  Walk(const Evaluator& evaluator, const Space& space, FunctionRef<void(const Plan&, const Cost&)> visit)
      : evaluator_(evaluator), space_(space), visit_(visit) {
    plan_.allreduce = space.allreduce;
  }

  void run() {
    for (const Mesh& mesh : space_.meshes) {
      plan_.mesh = mesh;
      for (const bool sequence_parallel : space_.sequence_parallel) {
        plan_.sequence_parallel = sequence_parallel;
        for (const auto& [kind, blocks] : space_.recomputations) {
          plan_.recompute = kind, plan_.recomputed_blocks = blocks;
          each_batch();
        }
      }
    }
  }

 private:
  void each_batch() {
    placed_.reset();
    placed_memory_.release();
    for (const double batch : space_.batches) {
      plan_.batch = batch;
      Limits limits;
      evaluator_.add_axis_limits(plan_, limits);
      if (!limits.hold()) continue;
      if (!placed_) {
        evaluator_.add_layout_limits(plan_, limits);
        if (!limits.hold()) return;  // whatever the mini-batch
        place();
      }
      each_micro_batch();
    }
  }

  /// Plans that differ only in ZeRO share all tables but that of gradients; if statistics of batch-norms are
  /// summed like gradients, not even these.
  void each_micro_batch() {
    const std::span<const int> zero = space_.zero;
    const bool apart = evaluator_.setting().training.synchronised_batch_norm;
    const std::size_t together = apart ? 1 : zero.size();
    for (const int micro_batches : space_.micro_batches) {
      plan_.micro_batches = micro_batches, plan_.chunks = 1;
      if (!keeps_pipeline_limits()) continue;  // whatever the schedule
      for (std::size_t z = 0; z < zero.size(); z += together) {
        passes_.reset();
        passes_memory_.release();
        for (const PipelineOrder& order : space_.schedules) price_all(order, zero.subspan(z, together));
      }
    }
  }

  void price_all(const PipelineOrder& order, std::span<const int> zero) {
    plan_.schedule = order.schedule, plan_.chunks = order.chunks;
    if (order.chunks > 1 && !keeps_pipeline_limits()) return;
    staged_.reset();
    for (const int stage : zero) {
      plan_.zero = stage;
      const GradientTable& gradients = *placed_->gradients[std::size_t(stage)];
      const PassTable& passes = pass(gradients);
      const Staged& staged = cut(gradients, passes);
      visit_(plan_, price({evaluator_.links(), placed_->layout, staged.stages, placed_->mesh, gradients,
                           passes, staged.sums, staged.schedule},
                          plan_, scratch_));
    }
  }

  bool keeps_pipeline_limits() const {
    Limits limits;
    evaluator_.add_pipeline_limits(plan_, limits);
    return limits.hold();
  }

  void place() { placed_.emplace(evaluator_, without_ones(plan_), space_.zero, placed_memory_.get()); }

  const PassTable& pass(const GradientTable& gradients) {
    if (!passes_)
      passes_.emplace(evaluator_.links(), evaluator_.times(), placed_->layout, placed_->mesh, gradients,
                      plan_, passes_memory_.get());
    return *passes_;
  }

  const Staged& cut(const GradientTable& gradients, const PassTable& passes) {
    if (staged_ && !evaluator_.balances_stages(staged_->stages.stages * staged_->stages.chunks))
      return *staged_;
    const StagePlan& stages = evaluator_.stages(placed_->layout, placed_->mesh, gradients, passes, plan_);
    if (staged_ && &staged_->stages == &stages) return *staged_;
    staged_.reset();
    staged_memory_.release();
    return staged_.emplace(stages, *placed_, passes, plan_, pipeline_, staged_memory_.get());
  }

  const Evaluator& evaluator_;
  const Space& space_;
  FunctionRef<void(const Plan&, const Cost&)> visit_;
  Plan plan_;
  Arena placed_memory_, passes_memory_, staged_memory_;
  PipelineScratch pipeline_;
  Scratch scratch_;
  std::optional<Placed> placed_;
  std::optional<PassTable> passes_;
  std::optional<Staged> staged_;
};

}  // namespace

double Space::size() const {
  double plans = 1;
  for (const std::size_t n : {meshes.size(), batches.size(), micro_batches.size(), schedules.size(),
                              recomputations.size(), zero.size(), sequence_parallel.size()})
    plans *= double(n);
  return plans;
}

void walk(const Evaluator& evaluator, const Space& space, FunctionRef<void(const Plan&, const Cost&)> visit) {
  Walk(evaluator, space, visit).run();
}

}  // namespace paradl
