#include "paradl/cost/formula.hpp"

#include "paradl/network/collective.hpp"

namespace paradl {

std::string_view text(Formula formula) {
  switch (formula) {
    case Formula::forward:
      return "I Σ FW_l B/n_l";
    case Formula::forward_of_stage:
      return "I Σ_gr FW_l B/n_l, r: busiest stage";
    case Formula::backward:
      return "I Σ BW_l B/n_l";
    case Formula::backward_of_stage:
      return "I Σ_gr BW_l B/n_l";
    case Formula::update:
      return "I Σ WU_l/n_w";
    case Formula::update_of_stage:
      return "I max_i Σ_gi WU_l/n_w";
    case Formula::recompute:
      return "I Σ FW_l B/n_l, l: recomputed layers";
    case Formula::recompute_of_stage:
      return "I S Σ_gi FW_l B/S/n_l, l: recomputed layers";
    case Formula::bubble:
      return "I [schedule executed: r waits for others]";
    case Formula::gradient_exchange:
      return "I [allreduce of W - overlap with backward]";
    case Formula::activation_exchange:
      return "I Σ [changes of placement]";
    case Formula::halo_exchange:
      return "I Σ_{K>1} [α + B h δ φ β] per neighbour";
    case Formula::stage_transfer:
      return "I [schedule executed: messages of α + B/S|y| δ φ β]";
    case Formula::input:
      return "I [read + stage + shuffle - overlap]";
    case Formula::swap:
      return "I [plan executed: passes wait for copies and memory]";
    case Formula::ring:
      return formula_of(Collective::allgather);
    case Formula::rings:
      return formula_of(Collective::allreduce);
    case Formula::trees:
      return "2(p-1)(α + m/p φ β) in a node, 2⌈log2 p⌉(α + m φ β) between nodes";
    case Formula::all_to_all:
      return formula_of(Collective::all_to_all);
    case Formula::message:
      return formula_of(Collective::point_to_point);
    case Formula::leaders:
      return "w s + W(2β_node + s) + 2(n-1)(α + W/n β)";
    case Formula::none:
    case Formula::requested:
      break;
  }
  return {};
}

Formula formula_of(Term term, bool pipeline) {
  switch (term) {
    case Term::forward:
      return pipeline ? Formula::forward_of_stage : Formula::forward;
    case Term::backward:
      return pipeline ? Formula::backward_of_stage : Formula::backward;
    case Term::update:
      return pipeline ? Formula::update_of_stage : Formula::update;
    case Term::recompute:
      return pipeline ? Formula::recompute_of_stage : Formula::recompute;
    case Term::bubble:
      return Formula::bubble;
    case Term::gradient_exchange:
      return Formula::gradient_exchange;
    case Term::activation_exchange:
      return Formula::activation_exchange;
    case Term::halo_exchange:
      return Formula::halo_exchange;
    case Term::stage_transfer:
      return Formula::stage_transfer;
    case Term::swap:
      return Formula::swap;
    case Term::io:
      return Formula::input;
  }
  return Formula::none;
}

Formula ring_formula(Collective operation) {
  switch (operation) {
    case Collective::allgather:
    case Collective::reduce_scatter:
      return Formula::ring;
    case Collective::allreduce:
      return Formula::rings;
    case Collective::all_to_all:
      return Formula::all_to_all;
    case Collective::point_to_point:
      return Formula::message;
  }
  return Formula::none;
}

}  // namespace paradl
