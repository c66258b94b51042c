#include "calibrate/backend/threads.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>

namespace paradl::calibrate {
namespace {

/// One message, known from the moment that one end asks for it.
struct Transfer {
  int source = 0, target = 0;  // ranks of the world
  const float* from = nullptr;
  float* to = nullptr;
  std::size_t items = 0;
  bool sent = false, received = false;  // asked for by this end
  bool copied = false, done = false;
  bool moving = false;
  double seconds_left = 0, bytes_left = 0;  // of the start-up; of the data
};

/// The ranks of one communicator, as ranks of the world.
struct Group {
  int number = 0;
  std::vector<int> members;
  std::size_t arrived = 0;
  std::uint64_t barriers = 0;
  std::vector<std::pair<int, int>> colours;      // and keys, of a split in progress
  std::map<int, std::shared_ptr<Group>> pieces;  // by colour
};

/// State shared by all threads. One lock guards all of it; data is copied outside of the lock.
class World {
 public:
  World(int ranks, std::optional<FakeNetwork> network)
      : network_(network), ranks_(std::size_t(ranks)), running_(ranks) {
    world_group_ = std::make_shared<Group>();
    for (int r = 0; r < ranks; ++r) world_group_->members.push_back(r);
  }

  const std::shared_ptr<Group>& all() const { return world_group_; }
  const std::optional<FakeNetwork>& network() const { return network_; }
  double now() {
    std::lock_guard lock(mutex_);
    return now_;
  }
  void exchange(const Group& group, int me, std::span<const Message> sends,
                std::span<const Message> receives);
  void barrier(Group& group, int me);
  std::shared_ptr<Group> split(Group& group, int me, int colour, int key);
  void leave(std::exception_ptr error);
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Rank {
    std::condition_variable woken;
    bool waits = false;
    std::deque<std::shared_ptr<Transfer>> to_copy;
    std::deque<std::shared_ptr<Transfer>> to_send;  // in the order in which both ends became known
  };

  std::shared_ptr<Transfer> ask(const Group& group, int source, int target, const Message& message,
                                bool sends);
  void start(const std::shared_ptr<Transfer>& transfer);
  void finish(Transfer& transfer);
  template <class Done>
  void wait(Lock& lock, int me, Done done);
  void copy_next(Lock& lock, Rank& rank);
  void wake(int rank);
  void fail(std::exception_ptr error);
  void advance();
  void move_heads();
  double rate(const Transfer& transfer) const;
  const Link& link(const Transfer& transfer) const;
  int node(int rank) const { return rank / network_->ranks_per_node; }
  double stretch(const Transfer& transfer);

  std::mutex mutex_;
  std::optional<FakeNetwork> network_;
  std::shared_ptr<Group> world_group_;
  std::deque<Rank> ranks_;
  int running_ = 0;  // threads that neither wait nor have ended
  int copying_ = 0;
  std::condition_variable quiet_;
  int groups_ = 1;
  double now_ = 0;
  // Messages that only one end has asked for, by group, source and target.
  std::map<std::tuple<int, int, int>, std::deque<std::shared_ptr<Transfer>>> halves_;
  std::vector<std::shared_ptr<Transfer>> moving_;
  std::map<std::pair<int, int>, std::uint64_t> counts_;  // of messages, by source and target
  std::exception_ptr error_;
};

std::shared_ptr<Transfer> World::ask(const Group& group, int source, int target, const Message& message,
                                     bool sends) {
  auto& line = halves_[{group.number, source, target}];
  const bool meets = !line.empty() && line.front()->sent != sends;
  auto transfer = meets ? line.front() : std::make_shared<Transfer>();
  if (meets)
    line.pop_front();
  else
    line.push_back(transfer);
  transfer->source = source;
  transfer->target = target;
  if (meets && transfer->items != message.items) {
    fail(std::make_exception_ptr(
        std::logic_error("the sender and the receiver of a message disagree about its length")));
    return transfer;
  }
  transfer->items = message.items;
  (sends ? transfer->sent : transfer->received) = true;
  if (sends)
    transfer->from = message.data;
  else
    transfer->to = message.data;
  if (meets) start(transfer);
  return transfer;
}

/// Both ends are known: the receiver copies, and the message joins the queue of its sender.
void World::start(const std::shared_ptr<Transfer>& transfer) {
  ranks_[std::size_t(transfer->target)].to_copy.push_back(transfer);
  wake(transfer->target);
  if (!network_) return;
  const double longer = stretch(*transfer);
  transfer->seconds_left = link(*transfer).alpha.base() * longer;
  transfer->bytes_left = 4.0 * double(transfer->items) * longer;
  ranks_[std::size_t(transfer->source)].to_send.push_back(transfer);
}

void World::finish(Transfer& transfer) {
  transfer.done = true;
  wake(transfer.source);
  wake(transfer.target);
}

void World::exchange(const Group& group, int me, std::span<const Message> sends,
                     std::span<const Message> receives) {
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Transfer>> mine;
  const auto member = [&](int rank) { return group.members[std::size_t(rank)]; };
  for (const Message& m : sends) mine.push_back(ask(group, me, member(m.peer), m, true));
  for (const Message& m : receives) mine.push_back(ask(group, member(m.peer), me, m, false));
  wait(lock, me,
       [&] { return std::all_of(mine.begin(), mine.end(), [](const auto& t) { return t->done; }); });
}

void World::barrier(Group& group, int me) {
  Lock lock(mutex_);
  const std::uint64_t mine = group.barriers;
  if (++group.arrived == group.members.size()) {
    group.arrived = 0;
    ++group.barriers;
    for (int member : group.members) wake(member);
  }
  wait(lock, me, [&] { return group.barriers > mine; });
}

std::shared_ptr<Group> World::split(Group& group, int me, int colour, int key) {
  barrier(group, me);  // other ranks may still read the previous values
  {
    Lock lock(mutex_);
    group.colours.resize(group.members.size());
    group.pieces.clear();
    const auto at = std::find(group.members.begin(), group.members.end(), me) - group.members.begin();
    group.colours[std::size_t(at)] = {colour, key};
  }
  barrier(group, me);
  Lock lock(mutex_);
  auto& piece = group.pieces[colour];
  if (piece) return piece;
  piece = std::make_shared<Group>();
  piece->number = groups_++;
  std::vector<std::pair<int, int>> chosen;  // key, rank of the world
  for (std::size_t r = 0; r < group.members.size(); ++r)
    if (group.colours[r].first == colour) chosen.emplace_back(group.colours[r].second, group.members[r]);
  std::stable_sort(chosen.begin(), chosen.end(), [](auto a, auto b) { return a.first < b.first; });
  for (const auto& [_, member] : chosen) piece->members.push_back(member);
  return piece;
}

void World::copy_next(Lock& lock, Rank& rank) {
  const auto transfer = rank.to_copy.front();
  rank.to_copy.pop_front();
  ++copying_;
  lock.unlock();
  if (transfer->items > 0) std::memmove(transfer->to, transfer->from, 4 * transfer->items);
  lock.lock();
  if (--copying_ == 0) quiet_.notify_all();
  transfer->copied = true;
  if (!network_) finish(*transfer);
}

template <class Done>
void World::wait(Lock& lock, int me, Done done) {
  Rank& rank = ranks_[std::size_t(me)];
  while (true) {
    if (error_) {
      quiet_.wait(lock, [&] { return copying_ == 0; });  // buffers end with the ranks that leave
      throw std::runtime_error("another rank has failed");
    }
    if (!rank.to_copy.empty()) {
      copy_next(lock, rank);
      continue;
    }
    if (done()) return;
    rank.waits = true;
    if (--running_ == 0) advance();
    rank.woken.wait(lock, [&] { return !rank.waits; });
  }
}

void World::wake(int rank) {
  Rank& r = ranks_[std::size_t(rank)];
  if (!r.waits) return;
  r.waits = false;
  ++running_;
  r.woken.notify_one();
}

void World::fail(std::exception_ptr error) {
  if (!error_) error_ = error;
  for (std::size_t r = 0; r < ranks_.size(); ++r) wake(int(r));
}

void World::leave(std::exception_ptr error) {
  Lock lock(mutex_);
  if (error) fail(error);
  if (--running_ == 0) advance();
}

const Link& World::link(const Transfer& transfer) const {
  if (transfer.source == transfer.target) return network_->own;
  return node(transfer.source) == node(transfer.target) ? network_->inside : network_->between;
}

/// A random factor that depends only on the ranks and the count of their messages, not on the order of
/// threads.
double World::stretch(const Transfer& transfer) {
  if (network_->noise == 0) return 1;
  std::uint64_t n = counts_[{transfer.source, transfer.target}]++;
  n = (n * 1000003 + std::uint64_t(transfer.source)) * 1000003 + std::uint64_t(transfer.target);
  n = (n ^ (network_->seed * 0x9e3779b97f4a7c15)) + 0x9e3779b97f4a7c15;  // splitmix64
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return 1 + network_->noise * double((n ^ (n >> 31)) >> 11) * 0x1p-53;
}

/// Bytes per second, beside all other messages in transit.
double World::rate(const Transfer& transfer) const {
  const auto shared = [&](const Transfer& other) {
    if (transfer.source == transfer.target)
      return other.source == other.target && node(other.source) == node(transfer.source);
    return node(other.source) == node(transfer.source) && node(other.target) == node(transfer.target);
  };
  const bool own = transfer.source == transfer.target;
  double part = own ? network_->memory.base() : network_->trunk.base();
  if (!own && node(transfer.source) == node(transfer.target)) part = 0;  // within a node, without the trunk
  if (part > 0)
    part *= double(std::count_if(moving_.begin(), moving_.end(), [&](const auto& other) {
      return other->seconds_left <= 0 && shared(*other);
    }));
  return 1 / std::max(link(transfer).beta.base(), part);  // infinite if neither takes time
}

void World::move_heads() {
  for (Rank& rank : ranks_)
    if (!rank.to_send.empty() && !rank.to_send.front()->moving) {
      rank.to_send.front()->moving = true;
      moving_.push_back(rank.to_send.front());
    }
}

/// All ranks wait: time advances until one of them has what it waits for.
void World::advance() {
  move_heads();
  while (running_ == 0 && !moving_.empty()) {
    double next = std::numeric_limits<double>::infinity();
    std::vector<double> rates;
    for (const auto& t : moving_) {
      rates.push_back(rate(*t));
      next = std::min(next, t->seconds_left > 0 ? t->seconds_left : t->bytes_left / rates.back());
    }
    now_ += next;
    for (std::size_t i = 0; i < moving_.size(); ++i) {
      Transfer& t = *moving_[i];
      // Differences of nearly equal numbers are inexact: what is almost complete is complete.
      const auto reduce = [](double& left, double by) { left = left <= by * (1 + 1e-9) ? 0 : left - by; };
      if (t.seconds_left > 0) {
        reduce(t.seconds_left, next);
      } else {
        reduce(t.bytes_left, std::isinf(rates[i]) ? t.bytes_left : next * rates[i]);
        if (t.bytes_left <= 0) {
          ranks_[std::size_t(t.source)].to_send.pop_front();
          finish(t);
        }
      }
    }
    std::erase_if(moving_, [](const auto& t) { return t->done; });
    move_heads();
  }
  const bool waiting = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.waits; });
  if (running_ == 0 && waiting)
    fail(std::make_exception_ptr(
        std::logic_error("deadlock: all ranks wait for messages that no rank sends")));
}

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<World> world, std::shared_ptr<Group> group, int me)
      : world_(std::move(world)), group_(std::move(group)), me_(me) {
    while (group_->members[std::size_t(rank_)] != me) ++rank_;
  }
  int rank() const override { return rank_; }
  int size() const override { return int(group_->members.size()); }
  std::unique_ptr<Communicator> split(int colour, int key) const override {
    return std::make_unique<ThreadCommunicator>(world_, world_->split(*group_, me_, colour, key), me_);
  }
  void exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    world_->exchange(*group_, me_, sends, receives);
  }
  void barrier() override { world_->barrier(*group_, me_); }
  Seconds now() const override { return world_->network() ? Seconds{world_->now()} : Communicator::now(); }
  std::vector<int> nodes() const override {
    if (!world_->network()) return Communicator::nodes();
    std::vector<int> names;
    for (int member : group_->members) names.push_back(member / world_->network()->ranks_per_node);
    return numbered(names);
  }

 private:
  std::shared_ptr<World> world_;
  std::shared_ptr<Group> group_;
  int me_ = 0, rank_ = 0;
};

void run(int ranks, std::optional<FakeNetwork> network, const std::function<void(Communicator&)>& work) {
  const auto world = std::make_shared<World>(ranks, network);
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        std::exception_ptr error;
        try {
          ThreadCommunicator communicator(world, world->all(), r);
          work(communicator);
        } catch (...) {
          error = std::current_exception();
        }
        world->leave(error);
      });
  }
  world->rethrow();
}

}  // namespace

void run_threads(int ranks, const std::function<void(Communicator&)>& work) { run(ranks, {}, work); }

void run_threads(const FakeNetwork& network, int ranks, const std::function<void(Communicator&)>& work) {
  run(ranks, network, work);
}

}  // namespace paradl::calibrate
