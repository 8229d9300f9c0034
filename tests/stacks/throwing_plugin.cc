// SPDX-License-Identifier: Apache-2.0
// The plugin of throwing.cc: allocates at its start and end, calls back, throws.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct AtLoad {
    std::string text = std::string(200, 'l');
    ~AtLoad() {
        text.assign(500, 'u');
    }
} at_load;

__attribute__((noinline)) int thrower(int n) {
    std::vector<int> v(static_cast<size_t>(n) + 1, n);
    if (n % 3 == 0)
        throw std::invalid_argument(std::string(64, 'p'));
    return v.back();
}
} // namespace

extern "C" int plugin_run(int n, void (*back)(int)) {
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        try {
            sum += thrower(n + i);
        } catch (const std::invalid_argument &e) {
            sum += e.what()[0];
            back(i % 3);
        }
    }
    return sum + static_cast<int>(at_load.text.size());
}
