#include "paradl/core/format.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "paradl/core/units.hpp"
#include "tests/support/approx.hpp"

namespace paradl {
namespace {

TEST_CASE("three digits are kept, and thousands are separated") {
  CHECK(three_digits(0) == "0");
  CHECK(three_digits(1) == "1.00");
  CHECK(three_digits(83.14) == "83.1");
  CHECK(three_digits(15.7) == "15.7");
  CHECK(three_digits(0.094) == "0.094");
  CHECK(three_digits(0.12345) == "0.123");
  CHECK(three_digits(123.4) == "123");
  CHECK(three_digits(15'432) == "15 400");
  CHECK(three_digits(1'234'567) == "1 230 000");
  CHECK(three_digits(-83.14) == "-83.1");
  CHECK(three_digits(-123'456) == "-123 000");
}

TEST_CASE("rounding may carry a number over a power of ten") {
  CHECK(three_digits(9.996) == "10.0");
  CHECK(three_digits(99.96) == "100");
  CHECK(three_digits(999.4) == "999");
  CHECK(three_digits(999.6) == "1 000");
  CHECK(three_digits(0.9996) == "1.00");
  CHECK(three_digits(0.9994) == "0.999");
  CHECK(three_digits(-999.6) == "-1 000");
}

TEST_CASE("a time is printed in the largest unit of which it is at least 1") {
  CHECK(text(Seconds{83.14}) == "83.1 s");
  CHECK(text(Seconds{0.0101}) == "10.1 ms");
  CHECK(text(Seconds{5e-6}) == "5.00 us");
  CHECK(text(Seconds{5e-7}) == "500 ns");
  CHECK(text(Seconds{1e-9}) == "1.00 ns");
  CHECK(text(Seconds{1e-10}) == "0.1 ns");
  CHECK(text(Seconds{86'400}) == "86 400 s");
  CHECK(text(Seconds{}) == "0 s");
}

TEST_CASE("a long time is printed in days") {
  CHECK(text(Seconds{99'900}) == "99 900 s");
  CHECK(text(Seconds{99'960}) == "1.16 d");  // three digits make it 100 000 s
  CHECK(text(Seconds{493'000}) == "5.71 d");
  CHECK(text(Seconds{19.6e9}) == "227 000 d");  // 19.6e9 / 86400 = 226 852
  CHECK(text(Seconds{-493'000}) == "-5.71 d");
}

TEST_CASE("very large and very small numbers stay short") {
  CHECK(three_digits(999e12) == "999 000 000 000 000");
  CHECK(three_digits(1.234e15) == "1.23e+15");
  CHECK(text(Seconds{8.64e294}) == "1.00e+290 d");
  CHECK(text(Bandwidth{1e-291}) == "1e-291 B/s");
  CHECK(text(SecondsPerByte{1e291}) == "1.00e+297 us/B");
  CHECK(count(1e300) == "1.00e+288 T");
}

TEST_CASE("rounding may carry a quantity into the next unit") {
  CHECK(text(Seconds{0.9994}) == "999 ms");
  CHECK(text(Seconds{0.9996}) == "1.00 s");
  CHECK(text(Seconds{999.6e-6}) == "1.00 ms");
  CHECK(text(Seconds{0.9995}) == "1.00 s");  // exactly half way rounds up, in both digits and unit
  CHECK(text(Bandwidth{999.6e9}) == "1.00 TB/s");
  CHECK(decimal(Bytes{999.6e3}) == "1.00 MB");
  // 1023.6 MiB = 0.99961 GiB
  CHECK(text(Bytes{1023.6 * 1'048'576}) == "1.00 GiB");
  CHECK(text(Bytes{1010.0 * 1'048'576}) == "1 010 MiB");
}

TEST_CASE("memory is counted in powers of two, messages in powers of ten") {
  CHECK(text(Bytes{16.0 * 1'073'741'824}) == "16.0 GiB");
  CHECK(text(Bytes{5.4 * 1'073'741'824}) == "5.40 GiB");
  CHECK(text(Bytes{512.0 * 1024}) == "512 KiB");
  CHECK(text(Bytes{8}) == "8.00 B");
  CHECK(text(Bytes{}) == "0 B");
  // Required memory is never rounded down.
  CHECK(enough(Bytes{700.4 * 0x1p30}) == "701 GiB");
  CHECK(enough(Bytes{700.0 * 0x1p30}) == "700 GiB");
  CHECK(enough(Bytes{700.0 * 0x1p30 + 1}) == "701 GiB");
  CHECK(enough(Bytes{12.0 * 0x1p20}) == "12.0 MiB");
  CHECK(enough(Bytes{1660.0 * 0x1p30 + 1}) == "1 670 GiB");
  CHECK(enough(Bytes{1023.6 * 0x1p20}) == "1.00 GiB");
  CHECK(enough(Bytes{}) == "0 B");
  CHECK(decimal(Bytes{}) == "0 B");
  CHECK(decimal(Bytes{102'228'128}) == "102 MB");  // ResNet-50's weights in fp32
  CHECK(decimal(Bytes{4e12}) == "4.00 TB");
}

TEST_CASE("rates have the prefixes of data sheets") {
  CHECK(text(Bandwidth{12.5e9}) == "12.5 GB/s");
  CHECK(text(Bandwidth{900e9}) == "900 GB/s");
  CHECK(text(Bandwidth{3.35e12}) == "3.35 TB/s");
  CHECK(text(Bandwidth{250e3}) == "250 kB/s");
  CHECK(text(FlopRate{15.7e12}) == "15.7 Tflop/s");
  CHECK(text(FlopRate{1.979e15}) == "1.98 Pflop/s");
  CHECK(text(FlopRate{500e9}) == "500 Gflop/s");
  // 1 / 12.5 GB/s = 80 ps a byte
  CHECK(text(SecondsPerByte{80e-12}) == "80.0 ps/B");
  CHECK(text(SecondsPerByte{2e-9}) == "2.00 ns/B");
}

TEST_CASE("counts are printed whole up to a limit") {
  CHECK(count(0) == "0");
  CHECK(count(512) == "512");
  CHECK(count(4352) == "4 352");
  CHECK(count(999'999) == "999 999");
  CHECK(count(1'281'167) == "1.28 M");
  CHECK(count(25'557'032) == "25.6 M");
  CHECK(count(4'089'184'256) == "4.09 G");
  CHECK(count(367'402'130'866'176) == "367 T");
  CHECK(count(999'999.6) == "1.00 M");
  CHECK(count(-512) == "-512");
}

TEST_CASE("shares are printed in whole percent") {
  CHECK(percent(0.883) == "88 %");
  CHECK(percent(0) == "0 %");
  CHECK(percent(1) == "100 %");
  CHECK(percent(1.256) == "126 %");
}

TEST_CASE("values that are not finite are printed as such") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(text(Seconds{infinity}) == "inf s");
  CHECK(three_digits(-infinity) == "-inf");
  CHECK(three_digits(std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("printed values can be read back") {
  for (const double seconds : {3e-9, 4.56e-6, 0.0789, 12.3}) {
    CAPTURE(seconds);
    CHECK(parse<Seconds>(text(Seconds{seconds}))->base() == paradl::test::approx(seconds).epsilon(1e-12));
  }
  CHECK(parse<Bytes>(text(Bytes{40.0 * 1'073'741'824})) == Bytes{40.0 * 1'073'741'824});
  CHECK(parse<Bandwidth>(text(Bandwidth{2.04e12}))->base() == paradl::test::approx(2.04e12));
  CHECK(parse<FlopRate>(text(FlopRate{312e12}))->base() == paradl::test::approx(312e12));
}

}  // namespace
}  // namespace paradl
