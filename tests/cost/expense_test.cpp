// The price and energy of epochs, by hand.
#include "paradl/cost/expense.hpp"

#include <doctest/doctest.h>

#include "paradl/core/money.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

namespace paradl::test {
namespace {

Machine priced() {
  Machine machine = two_level_machine();
  machine.price = Price{2.5, "USD"};
  machine.device.watts = Draw{50, 300};
  machine.host = HostSpec{.memory = {}, .bandwidth = {}, .staged = {}, .watts = Draw{100, 500}};
  return machine;
}

}  // namespace

TEST_CASE("GPU-hours and price of epochs are products") {
  Bench bench(chain(2), priced(), without_overlap());
  const Projection p = bench.engine("data", "8", 32);
  const Expense one = expense_of(p, bench.machine, 1), ninety = expense_of(p, bench.machine, 90);
  CHECK(one.gpu_hours == approx(8 * p.epoch().base() / 3600));
  CHECK(*one.price == approx(2.5 * one.gpu_hours));
  CHECK(ninety.gpu_hours == approx(90 * one.gpu_hours));
  CHECK(*ninety.price == approx(90 * *one.price));
  CHECK(*ninety.joules() == approx(90 * *one.joules()));
}

TEST_CASE("energy is between idle and peak, by the share of time that GPUs compute") {
  Bench bench(chain(2), priced(), without_overlap());
  const Projection p = bench.engine("data", "6", 30);
  const double u = p.cost->compute() / p.iteration(), T = p.epoch().base();
  REQUIRE(u < 1);
  const Expense e = expense_of(p, bench.machine, 1);
  CHECK(*e.gpu_joules == approx(6 * (50 + 250 * u) * T));
  CHECK(*e.host_joules == approx(2 * (100 + 400 * u) * T));  // six GPUs are on two nodes
  CHECK_FALSE(e.network_joules);
  CHECK(*e.joules() == approx(*e.gpu_joules + *e.host_joules));
  CHECK_FALSE(e.at_most);
  // Waiting draws less than computing: without it an epoch is shorter, but draws more watts.
  CHECK(*e.gpu_joules / T > 6 * 50);
  CHECK(*e.gpu_joules / T < 6 * 300);
}

TEST_CASE("without idle power, energy is an upper bound") {
  Machine machine = priced();
  machine.device.watts->idle.reset();
  Bench bench(chain(2), machine, without_overlap());
  const Projection p = bench.engine("data", "8", 32);
  const Expense e = expense_of(p, bench.machine, 1);
  CHECK(e.at_most);
  CHECK(*e.gpu_joules == approx(8 * 300 * p.epoch().base()));
}

TEST_CASE("cables add their power if the levels state it") {
  Machine machine = priced();
  machine.levels[1].watts = Watts{8, 10};
  Bench bench(chain(2), machine, without_overlap());
  const Projection p = bench.engine("data", "8", 32);
  const Expense e = expense_of(p, bench.machine, 3);
  CHECK(*e.network_joules == approx(3 * p.iterations * *network_joules(p, machine)));
  CHECK(*e.joules() == approx(*e.gpu_joules + *e.host_joules + *e.network_joules));
}

TEST_CASE("values that a system file lacks stay unknown") {
  Bench bench(chain(2), two_level_machine(), without_overlap());
  const Expense e = expense_of(bench.engine("data", "8", 32), bench.machine, 1);
  CHECK(e.gpu_hours > 0);
  CHECK_FALSE(e.price);
  CHECK_FALSE(e.joules());
}

TEST_CASE("a price is a number, a currency and an hour") {
  const auto price = parse_price("2.5 USD/h");
  REQUIRE(price);
  CHECK(price->per_hour == 2.5);
  CHECK(price->currency == "USD");
  CHECK(parse_price("220JPY/h")->currency == "JPY");
  CHECK(parse_price("0 EUR/h")->per_hour == 0);
  for (const char* bad : {"", "2.5", "USD/h", "2.5 USD", "2.5 /h", "2.5 USD/s", "-1 USD/h", "nan USD/h",
                          "1e300 USD/h", "2.5 US D/h", "2.5  USD/h", "2.5 $/h", "2.5 USD/h "}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_price(bad));
  }
}

}  // namespace paradl::test
