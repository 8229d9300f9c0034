// SPDX-License-Identifier: Apache-2.0
// A plugin in C++ that throws exceptions through frames of its own and of its host's.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Noisy {
    std::string name;
    ~Noisy() {
        printf("unwound %s\n", name.c_str());
    }
};

__attribute__((noipa)) int deeper(int depth, void (*through)(void (*)(void *), void *)) {
    Noisy noisy{"frame " + std::to_string(depth)};
    std::vector<int> some(depth + 1, depth);
    if (depth == 0)
        throw std::runtime_error("the bottom");
    if (depth == 2) {
        // Through a C frame of the host.
        through([](void *arg) { deeper(1, *static_cast<void (**)(void (*)(void *), void *)>(arg)); }, &through);
        return 0;
    }
    return deeper(depth - 1, through) + some[0];
}
} // namespace

extern "C" int plugin(void (*through)(void (*)(void *), void *)) {
    try {
        return deeper(5, through);
    } catch (const std::runtime_error &error) {
        printf("caught %s\n", error.what());
    }
    try {
        try {
            throw 7;
        } catch (int) {
            throw; // again, by another function of the unwinder's
        }
    } catch (int number) {
        printf("caught %d\n", number);
    }
    return 0;
}
