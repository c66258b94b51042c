#pragma once
#include <concepts>
#include <memory>
#include <type_traits>

namespace paradl {

template <class Signature>
class FunctionRef;

/// Calls a function object that somebody else owns: unlike std::function, it never allocates. For parameters
/// only, since it must not outlive the object.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <std::invocable<Arguments...> Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, FunctionRef>) FunctionRef(Function&& function)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Function>*>(object))(arguments...);
        }) {}
  Result operator()(Arguments... arguments) const { return call_(object_, arguments...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace paradl
