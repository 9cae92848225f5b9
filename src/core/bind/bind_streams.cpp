// What Python can call of online learning on hashed rows.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <string>

#include "bind/bind.hpp"
#include "online/figures.hpp"
#include "online/hashed.hpp"
#include "online/learner.hpp"

using namespace likelier;

namespace {

template <class T>
T named(const std::string& name, const char* what, std::initializer_list<const char*> names) {
    int number = 0;
    for (const char* known : names) {
        if (name == known) return static_cast<T>(number);
        ++number;
    }
    throw std::invalid_argument("there is no " + std::string(what) + " '" + name + "'");
}

void check(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Rates that do well on streams of many kinds, each with the other settings as they are.
double usual_rate(Optimizer optimizer) {
    return optimizer == Optimizer::sgd ? 3 : optimizer == Optimizer::adagrad ? 0.8 : 0.3;
}

Rule rule_of(int bits, const std::string& optimizer, const std::string& loss, std::optional<double> rate,
             double power, double beta, double l1, double l2, double half_life, bool normalised,
             bool invariant) {
    Rule rule;
    rule.optimizer = named<Optimizer>(optimizer, "optimizer", {"sgd", "adagrad", "ftrl"});
    rule.loss = named<OnlineLoss>(loss, "loss",
                                  {"log_loss", "hinge", "squared_hinge", "perceptron", "modified_huber"});
    rule.bits = bits;
    rule.rate = rate.value_or(usual_rate(rule.optimizer));
    rule.power = power;
    rule.beta = beta;
    rule.l1 = l1;
    rule.l2 = l2;
    rule.half_life = half_life;
    rule.normalised = normalised;
    rule.invariant = invariant;
    check(bits >= 1 && bits <= 30, "bits must be from 1 to 30");
    check(rule.rate > 0 && rule.rate <= 1e9, "rate must be above 0, and at most 1e9");
    check(power >= 0 && power <= 1, "power must be from 0 to 1");
    check(beta >= 0 && beta <= 1e9, "beta must be from 0 to 1e9");
    check(l1 >= 0 && l1 <= 1e9 && l2 >= 0 && l2 <= 1e9, "l1 and l2 must be from 0 to 1e9");
    check(l1 == 0 || rule.proximal(), "l1 is for optimizer='ftrl' alone: other steps never end at 0");
    check(half_life == 0 || (half_life >= 1 && std::isfinite(half_life)),
          "half_life is a number of rows, at least 1; 0: nothing is forgotten");
    return rule;
}

template <class T>
using Owned = nb::ndarray<nb::numpy, T, nb::c_contig>;

// A new array of (n, width) zeros, which Python owns. Those that nothing is written to take no memory.
template <class T>
Owned<T> zeros(int64_t n, int64_t width) {
    void* values = std::calloc(std::max<int64_t>(n * width, 1), sizeof(T));
    if (!values) throw std::bad_alloc();
    nb::capsule owner(values, [](void* p) noexcept { std::free(p); });
    return Owned<T>(static_cast<T*>(values), {static_cast<size_t>(n), static_cast<size_t>(width)}, owner);
}

Owned<double> learn(Learner& self, const HashedRows& rows) {
    const Turn turn(self.turn);
    const auto n = rows.size();
    const int64_t most = n ? *std::max_element(rows.codes.begin(), rows.codes.end()) : -1;
    const int64_t width = std::max<int64_t>({self.K(), most + 1, 2});
    auto P = zeros<double>(n, width);
    nb::gil_scoped_release free;
    self.learn(rows, P.data(), width);
    return P;
}

Owned<double> predict(const Learner& self, const HashedRows& rows) {
    const Turn turn(self.turn);
    const int64_t n = rows.size(), width = std::max<int64_t>(self.K(), 2);
    auto P = zeros<double>(n, width);
    nb::gil_scoped_release free;
    self.predict(rows, P.data(), width);
    return P;
}

nb::dict counters(const Learner& self) {
    const Turn turn(self.turn);
    const Counters& counted = self.inside().counters;
    nb::dict found;
    found["steps"] = counted.steps;
    found["cells"] = counted.cells;
    found["collisions"] = counted.collisions;
    found["used"] = counted.used;
    found["clipped"] = counted.clipped;
    return found;
}

nb::dict state(const Learner& self) {
    const Turn turn(self.turn);
    auto table = zeros<float>(self.inside().rows(), self.inside().width());
    auto tags = zeros<uint32_t>(self.inside().rows(), 1);
    self.inside().save(table.data(), tags.data());
    nb::dict kept = counters(self);
    kept["K"] = self.K();
    kept["total"] = self.inside().sums.total;
    kept["norms"] = self.inside().sums.norms;
    kept["inflation"] = self.inside().sums.inflation;
    kept["table"] = table;
    kept["tags"] = tags;
    return kept;
}

void restore(Learner& self, const nb::dict& kept) {
    const Turn turn(self.turn);
    const auto count = [&](const char* name) { return nb::cast<int64_t>(kept[name]); };
    const auto sum = [&](const char* name) { return nb::cast<double>(kept[name]); };
    const auto table = nb::cast<nb::ndarray<const float, nb::ndim<2>, nb::c_contig>>(kept["table"]);
    const auto tags = nb::cast<nb::ndarray<const uint32_t, nb::ndim<2>, nb::c_contig>>(kept["tags"]);
    const int64_t K = count("K"), q = K > 2 ? K : 1;
    const auto shaped = [&](const auto& array, int64_t width) {
        return static_cast<int64_t>(array.shape(0)) == self.inside().rows() &&
               static_cast<int64_t>(array.shape(1)) == width;
    };
    if (K < 0 || !shaped(table, 4 + 2 * q) || !shaped(tags, 1))
        throw std::invalid_argument("the table of weights is not that of a learner with these settings");
    self.restore(table.data(), tags.data(), K, {sum("total"), sum("norms"), sum("inflation")},
                 {count("steps"), count("cells"), count("collisions"), count("used"), count("clipped")});
}

// Rows whose keys are known: cells of row i from starts[i] to starts[i + 1].
void extend(HashedRows& self, Vector<uint64_t> keys, Vector<double> values, Vector<int64_t> starts,
            Vector<int32_t> codes, Vector<double> weights) {
    const auto n = static_cast<int64_t>(codes.shape(0)), m = static_cast<int64_t>(keys.shape(0));
    bool fits = values.shape(0) == keys.shape(0) && starts.shape(0) == codes.shape(0) + 1 &&
                weights.shape(0) == codes.shape(0) && starts(0) == 0 && starts(n) == m;
    for (int64_t i = 0; fits && i < n; ++i) fits = starts(i) <= starts(i + 1);
    if (!fits) throw std::invalid_argument("keys, values, starts, codes and weights do not fit together");
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t c = starts(i); c < starts(i + 1); ++c) self.number(keys(c), keys(c), values(c));
        self.end(codes(i), weights(i));
    }
}

// A copy: the rows may be cleared and filled again.
template <class T>
nb::object copied(const std::vector<T>& from) {
    T* to = new T[from.size()];
    std::copy(from.begin(), from.end(), to);
    nb::capsule owner(to, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(to, {from.size()}, owner));
}

// -1, or the first row that cannot be judged: nothing is added then.
int64_t figures(In P, Vector<int32_t> codes, std::optional<Vector<double>> weights, Out totals, Out classes,
                Out bins) {
    const bool shaped = P.ndim() == 2 && classes.ndim() == 2 && totals.size() == 6 &&
                        bins.size() == 3 * static_cast<size_t>(kBins);
    if (!shaped || P.shape(1) < 2 || classes.shape(0) < P.shape(1) || classes.shape(1) != 3)
        throw std::invalid_argument("totals, classes and bins are not those of these rows");
    if (codes.shape(0) != P.shape(0) || (weights && weights->shape(0) != P.shape(0)))
        throw std::invalid_argument("P, codes and weights are not of the same rows");
    const Judged rows{P.data(), static_cast<int64_t>(P.shape(0)), static_cast<int64_t>(P.shape(1)),
                      codes.data(), weights ? weights->data() : nullptr};
    nb::gil_scoped_release free;
    const auto K = static_cast<int64_t>(classes.shape(0));
    for (int64_t i = 0; i < rows.n; ++i)
        if (rows.codes[i] >= K) throw std::invalid_argument("a code is larger than classes has rows");
    const int64_t bad = unjudgeable(rows);
    if (bad < 0)
        (rows.q == 2 ? judge<2> : judge<0>)(rows, K > 2, {totals.data(), classes.data(), bins.data()});
    return bad;
}

// Some rows of these batches, counted from the first row of the first batch on, in this order. Cells that
// were skipped stay with the batches.
HashedRows dealt(const nb::list& batches, Vector<int64_t> order) {
    std::vector<const HashedRows*> from;
    std::vector<int64_t> firsts{0};
    for (nb::handle batch : batches) {
        from.push_back(&nb::cast<const HashedRows&>(batch));
        firsts.push_back(firsts.back() + from.back()->size());
    }
    const auto n = static_cast<int64_t>(order.shape(0));
    for (int64_t i = 0; i < n; ++i)
        if (order(i) < 0 || order(i) >= firsts.back())
            throw std::invalid_argument("a row is none of those in the batches");
    nb::gil_scoped_release free;
    HashedRows rows;
    for (int64_t i = 0; i < n; ++i) {
        const auto batch = std::upper_bound(firsts.begin(), firsts.end(), order(i)) - firsts.begin() - 1;
        rows.take(*from[batch], order(i) - firsts[batch]);
    }
    return rows;
}

}  // namespace

void likelier::bind_streams(nb::module_& m) {
    nb::class_<HashedRows>(m, "HashedRows")
        .def(nb::init<>())
        .def("__len__", &HashedRows::size)
        .def_prop_ro("cells", [](const HashedRows& rows) { return rows.cells.size(); })
        .def_ro("skipped", &HashedRows::skipped)
        .def_prop_ro("codes", [](const HashedRows& rows) { return copied(rows.codes); })
        .def_prop_ro("weights", [](const HashedRows& rows) { return copied(rows.weights); })
        .def("extend", &extend)
        .def("clear", &HashedRows::clear);

    nb::class_<Learner>(m, "Learner")
        .def(
            "__init__",
            [](Learner* self, int bits, const std::string& optimizer, const std::string& loss,
               std::optional<double> rate, double power, double beta, double l1, double l2,
               double half_life, bool normalised, bool invariant) {
                new (self) Learner(rule_of(bits, optimizer, loss, rate, power, beta, l1, l2, half_life,
                                           normalised, invariant));
            },
            nb::kw_only(), nb::arg("bits") = 18, nb::arg("optimizer") = "adagrad",
            nb::arg("loss") = "log_loss", nb::arg("rate") = nb::none(), nb::arg("power") = 0.5,
            nb::arg("beta") = 1.0, nb::arg("l1") = 0.0, nb::arg("l2") = 0.0, nb::arg("half_life") = 0.0,
            nb::arg("normalised") = true, nb::arg("invariant") = true)
        .def_prop_ro("K",
                     [](const Learner& self) {
                         const Turn turn(self.turn);
                         return self.K();
                     })
        .def_prop_ro("counters", &counters)
        .def("grow",
             [](Learner& self, int64_t K) {
                 const Turn turn(self.turn);
                 self.grow(K);
             })
        .def("learn", &learn)
        .def("predict", &predict)
        .def("state", &state)
        .def("restore", &restore);

    m.def("dealt", &dealt, nb::arg("batches"), nb::arg("order"));
    m.attr("figure_bins") = kBins;
    m.def("figures", &figures, nb::arg("P"), nb::arg("codes"), nb::arg("weights").none(),
          nb::arg("totals").noconvert(), nb::arg("classes").noconvert(), nb::arg("bins").noconvert());
}
