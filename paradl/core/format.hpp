#pragma once
#include <string>

#include "paradl/core/quantity.hpp"

namespace paradl {

/// Three significant digits as people read them: "0.094", "83.1", "15 400"; "1.00e+20" for very large
/// numbers.
std::string three_digits(double number);

/// A count with a prefix: "25.6 M", "1.28 M", "512".
std::string count(double number);

/// 0.883 -> "88 %".
std::string percent(double share);

std::string text(Seconds time);         // "10.1 ms"; "5.70 d" from 100 000 s on
std::string text(Bytes size);           // "5.40 GiB": powers of two, as devices are sold
std::string enough(Bytes size);         // the same, rounded up: that much memory holds `size`
std::string decimal(Bytes size);        // "102 MB": powers of ten, as messages are counted
std::string text(Bandwidth rate);       // "12.5 GB/s"
std::string text(FlopRate rate);        // "15.7 Tflop/s"
std::string joules(double energy);      // "94.8 kJ"
std::string watt_hours(double joules);  // "28.4 kWh"
std::string text(SecondsPerByte beta);  // "80.0 ps/B"

}  // namespace paradl
