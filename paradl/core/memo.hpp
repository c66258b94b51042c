#pragma once
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

namespace paradl {

/// Hash of a key that is plain bytes without padding.
struct BytesHash {
  template <class Key>
  std::size_t operator()(const Key& key) const {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&key), sizeof key});
  }
};

/// Caches the results of a slow pure function by key. Threads may share it: since the function is pure,
/// results do not depend on the order of calls. References stay valid as long as the memo.
template <class Key, class Value, class Hash = BytesHash>
class Memo {
 public:
  template <class Make>
  const Value& get(const Key& key, Make make) const {
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = values_.find(key); known != values_.end()) return known->second;
    }
    Value made = make();  // unlocked: it may take long, and may use the memo itself
    const std::unique_lock lock(mutex_);
    return values_.emplace(key, std::move(made)).first->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<Key, Value, Hash> values_;
};

}  // namespace paradl
