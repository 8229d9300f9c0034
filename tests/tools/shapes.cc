// SPDX-License-Identifier: Apache-2.0
// Names of many kinds, for symbolize.t and top.t: built by them in several ways, with and without debug information.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

char *volatile seen;  // so that no block is optimized away

namespace geo {
namespace {
struct Secret {
    std::string text;
    explicit Secret(int n) : text(n, 'x') {}
};
NOINLINE int *hidden(int n) { return new int[n]; }
INLINE char *tiny(int n) { return seen = new char[n]; }
INLINE char *wrapped(int n) { return tiny(n + 1); }
}  // namespace

template <class T> struct Box {
    T *p;
    NOINLINE Box() : p(new T()) {}
    ~Box() { delete p; }
    template <class U> NOINLINE std::unique_ptr<U> make(U value) { return std::make_unique<U>(value); }
};

struct Shape {
    virtual ~Shape() {}
    virtual void grow(int n) = 0;
};

struct Circle : Shape {
    std::vector<double> points;
    void grow(int n) override {
        for (int i = 0; i < n; i++)
            points.push_back(i);
    }
};

struct Vec {
    int x;
    Vec operator+(const Vec &other) const;
    bool operator<(const Vec &other) const;
    std::vector<int> operator()(int n) const;
};

std::vector<int *> kept;
NOINLINE Vec Vec::operator+(const Vec &other) const {
    kept.push_back(new int(other.x));
    return Vec{x + other.x};
}
NOINLINE bool Vec::operator<(const Vec &other) const {
    kept.push_back(new int(other.x));
    return x < other.x;
}
NOINLINE std::vector<int> Vec::operator()(int n) const { return std::vector<int>(n, x); }

NOINLINE std::function<int()> closure(int n) {
    std::string big(n, 'c');
    return [big, n] {
        std::string copy = big + "y";
        return (int)copy.size() + n;
    };
}
}  // namespace geo

extern "C" NOINLINE char *plain_c(int n) { return new char[n]; }

int main() {
    using namespace geo;
    std::map<std::string, std::vector<int>> map;
    for (int i = 0; i < 200; i++)
        map["key number " + std::to_string(i) + " that is long enough"].resize(i);
    Secret secret(1000);
    int *h = hidden(10);
    char *t = wrapped(20), *c = plain_c(30);
    Box<std::string> box;
    auto made = box.make<long>(5);
    std::unique_ptr<Shape> circle(new Circle);
    circle->grow(1000);
    Vec a{1};
    a = a + a;
    bool less = a < Vec{3};
    auto many = a(100);
    auto function = closure(100);
    int result = function();
    std::vector<std::string> names;
    for (auto &entry : map)
        names.emplace_back(entry.first);
    printf("%d %d %d %zu %zu\n", result, a.x, less, names.size(), many.size());
    for (int *k : kept)
        delete k;
    delete[] h;
    delete[] t;
    delete[] c;
    return 0;
}
