// What Python can call of the solvers that step at every row.
#include <vector>

#include "bind/bind.hpp"
#include "kernels/compress.hpp"
#include "rowwise/dual.hpp"
#include "rowwise/row.hpp"
#include "rowwise/semismooth.hpp"
#include "rowwise/sgd.hpp"
#include "rowwise/stochastic.hpp"
#include "rowwise/votes.hpp"

using namespace likelier;

namespace {

std::pair<double, int64_t> py_sgd_epoch(const Held& X, In shift, Vector<int32_t> codes,
                                        std::optional<Vector<double>> weights, std::optional<In> offset,
                                        Vector<int64_t> order, Vector<double> squares, int loss, int64_t K,
                                        double rate, double power, double horizon, double bound,
                                        bool intercept, Vector<double> l2, Vector<double> l1, int64_t every,
                                        int64_t taken, Out W, Out mean) {
    const SgdTask task{codes.data(),
                       weights ? weights->data() : nullptr,
                       offset ? offset->data() : nullptr,
                       order.data(),
                       static_cast<int64_t>(order.shape(0)),
                       squares.data(),
                       rate,
                       power,
                       horizon,
                       bound,
                       intercept,
                       l2.data(),
                       l1.data(),
                       every};
    nb::gil_scoped_release free;
    const SgdSums sums =
        sgd_epoch(X.view, shift.data(), task, loss_of(loss), K, W.data(), mean.data(), taken);
    return {sums.loss, sums.taken};
}

std::optional<std::pair<int64_t, int64_t>> py_votes(const Held& X, const Held& kept, Vector<double> start,
                                                    double intercept, Vector<int64_t> rows,
                                                    Vector<double> steps, Vector<double> lasting,
                                                    double decay, Out out) {
    const Voters voters{start.data(), intercept,      rows.data(),
                        steps.data(), lasting.data(), static_cast<int64_t>(rows.shape(0)),
                        decay};
    nb::gil_scoped_release free;
    const Cell bad = votes(X.view, kept.view, voters, out.data());
    if (!bad.found()) return std::nullopt;
    return std::pair{bad.row, bad.column};
}

// What the rows of a dual solver are, beside X: the same for all its calls.
struct DualRows {
    Held X;
    Vector<double> shift;
    Vector<int32_t> codes;
    std::optional<Vector<double>> weights;
    std::optional<In> offset;
    Vector<double> squares;
    Loss loss;
    int64_t K;
    double inverse, tau;

    DualTask task(const Vector<int64_t>& order, bool move) const {
        return {codes.data(),
                weights ? weights->data() : nullptr,
                offset ? offset->data() : nullptr,
                order.data(),
                static_cast<int64_t>(order.shape(0)),
                squares.data(),
                inverse,
                tau,
                move};
    }
};

// f(the rows), where they are dense.
template <class F>
void with_dense(const Held& X, F&& f) {
    std::visit(
        [&](const auto& m) {
            if constexpr (requires { m.data; })
                f(m);
            else
                throw std::invalid_argument("dense rows");
        },
        X.view);
}

// Steps, and the arrays that they look into.
struct StepsHeld {
    Held X;
    Vector<int32_t> codes;
    std::optional<Vector<double>> weights;
    std::optional<Vector<uint8_t>> held;
    Vector<double> by_class;
    Stochastic steps;

    StepsHeld(const Held& X, Vector<int32_t> codes, std::optional<Vector<double>> weights,
              std::optional<Vector<uint8_t>> held, Vector<double> by_class, int positive,
              const Course& course, double t, In theta, std::optional<In> mean, std::optional<In> squares,
              const Stepped* from)
        : X(X),
          codes(codes),
          weights(weights),
          held(held),
          by_class(by_class),
          steps(this->X.view,
                {codes.data(), positive, weights ? weights->data() : nullptr, held ? held->data() : nullptr,
                 by_class.data()},
                course, t, theta.data(), mean ? mean->data() : nullptr, squares ? squares->data() : nullptr,
                from) {}
};

template <class T>
auto array_of(const std::vector<T>& values) {
    auto* kept = new std::vector<T>(values);
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

void bind_stochastic(nb::module_& m) {
    nb::class_<Stepped>(m, "Stepped");
    nb::class_<StepsHeld>(m, "Stochastic")
        .def(
            "__init__",
            [](StepsHeld* self, const Held& X, Vector<int32_t> codes, std::optional<Vector<double>> weights,
               std::optional<Vector<uint8_t>> held, Vector<double> by_class, In theta,
               std::optional<In> mean, std::optional<In> squares, const Stepped* from, double t,
               int positive, int64_t K, int loss, double epsilon, int rate, double eta0, double power,
               double alpha, double t0, double strength, double l2, double l1, int64_t average,
               bool intercept, double decay, bool shuffle, uint32_t seed, double tol, int64_t patience,
               bool still, bool diary, bool in_order, double refusal) {
                const Course course{static_cast<StepLoss>(loss),
                                    epsilon,
                                    K,
                                    static_cast<Rate>(rate),
                                    eta0,
                                    power,
                                    alpha,
                                    t0,
                                    strength,
                                    l2,
                                    l1,
                                    average,
                                    intercept,
                                    decay,
                                    shuffle,
                                    seed,
                                    tol,
                                    patience,
                                    still,
                                    diary,
                                    in_order,
                                    refusal};
                new (self) StepsHeld(X, codes, weights, held, by_class, positive, course, t, theta, mean,
                                     squares, from);
            },
            nb::arg("X"), nb::arg("codes"), nb::arg("weights").none(), nb::arg("held").none(),
            nb::arg("by_class"), nb::arg("theta"), nb::arg("mean").none(), nb::arg("squares").none(),
            nb::arg("from_").none() = nb::none(), nb::kw_only(), nb::arg("t"), nb::arg("positive"),
            nb::arg("K"), nb::arg("loss"), nb::arg("epsilon"), nb::arg("rate"), nb::arg("eta0"),
            nb::arg("power"), nb::arg("alpha"), nb::arg("t0"), nb::arg("strength"), nb::arg("l2"),
            nb::arg("l1"), nb::arg("average"), nb::arg("intercept"), nb::arg("decay"), nb::arg("shuffle"),
            nb::arg("seed"), nb::arg("tol"), nb::arg("patience"), nb::arg("still"), nb::arg("diary"),
            nb::arg("in_order"), nb::arg("refusal"))
        .def(
            "run",
            [](StepsHeld& self, int64_t most) {
                nb::gil_scoped_release free;
                self.steps.run(most);
            },
            nb::arg("most"))
        .def("forget", [](StepsHeld& self) { self.steps.forget(); })
        .def(
            "theta", [](const StepsHeld& self, Out out) { self.steps.theta(out.data()); },
            nb::arg("out").noconvert())
        .def(
            "mean", [](const StepsHeld& self, Out out) { self.steps.mean(out.data()); },
            nb::arg("out").noconvert())
        .def(
            "squares", [](const StepsHeld& self, Out out) { self.steps.squares(out.data()); },
            nb::arg("out").noconvert())
        .def("stepped", [](const StepsHeld& self) { return self.steps.stepped(); })
        .def_prop_ro("ended", [](const StepsHeld& self) { return self.steps.ended; })
        .def_prop_ro("bad", [](const StepsHeld& self) { return self.steps.bad; })
        .def_prop_ro("clipped", [](const StepsHeld& self) { return self.steps.clipped; })
        .def_prop_ro("t", [](const StepsHeld& self) { return self.steps.t; })
        .def_prop_ro("objective", [](const StepsHeld& self) { return self.steps.objective; })
        .def_prop_ro(
            "losses", [](const StepsHeld& self) { return array_of(self.steps.losses); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "judged", [](const StepsHeld& self) { return array_of(self.steps.judged); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "mistakes", [](const StepsHeld& self) { return array_of(self.steps.mistakes); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "steps", [](const StepsHeld& self) { return array_of(self.steps.steps); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "diary_turns", [](const StepsHeld& self) { return array_of(self.steps.diary_turns); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "diary_rows", [](const StepsHeld& self) { return array_of(self.steps.diary_rows); },
            nb::rv_policy::automatic);
}

template <class Rows>
void bind_margins(nb::module_& m, const char* name, const char* of_line) {
    using Line = MarginLine<Rows>;
    nb::class_<Rows>(m, name)
        .def(
            "__init__",
            [](Rows* self, const Held& X, Vector<double> shift, std::optional<Vector<double>> scale,
               Vector<int32_t> codes, std::optional<Vector<double>> weights,
               std::optional<Vector<double>> offset, bool intercept) {
                nb::gil_scoped_release free;
                new (self)
                    Rows(X.view, shift.data(), scale ? scale->data() : nullptr, codes.data(),
                         weights ? weights->data() : nullptr, offset ? offset->data() : nullptr, intercept);
            },
            nb::arg("X"), nb::arg("shift"), nb::arg("scale").none(), nb::arg("codes"),
            nb::arg("weights").none(), nb::arg("offset").none(), nb::arg("intercept"))
        .def_prop_ro("width", [](const Rows& self) { return self.p + 1; })
        .def(
            "solve",
            [](const Rows& self, int64_t first, std::optional<Vector<double>> factors, double inverse,
               bool corner, double tol, int64_t most, Out theta) {
                MarginTrace trace;
                {
                    nb::gil_scoped_release free;
                    trace = solve_margins(self, {inverse, corner, tol}, first,
                                          static_cast<int64_t>(theta.shape(0)),
                                          factors ? factors->data() : nullptr, most, theta.data());
                }
                return nb::make_tuple(array_of(trace.rows), array_of(trace.lengths), array_of(trace.ends));
            },
            nb::arg("first"), nb::arg("factors").none(), nb::arg("inverse"), nb::arg("corner"),
            nb::arg("tol"), nb::arg("most"), nb::arg("theta").noconvert());
    nb::class_<Line>(m, of_line)
        .def(
            "__init__",
            [](Line* self, const Rows& rows, int32_t positive, double inverse, bool corner, double tol,
               Vector<double> theta) {
                nb::gil_scoped_release free;
                new (self) Line(rows, {inverse, corner, tol}, positive, 1.0, theta.data());
            },
            nb::keep_alive<1, 2>(), nb::arg("rows"), nb::arg("positive"), nb::arg("inverse"),
            nb::arg("corner"), nb::arg("tol"), nb::arg("theta"))
        .def("advance",
             [](Line& self) {
                 nb::gil_scoped_release free;
                 self.advance();
             })
        .def(
            "theta",
            [](const Line& self, Out out) {
                std::copy(self.theta(), self.theta() + out.shape(0), out.data());
            },
            nb::arg("out").noconvert())
        .def_prop_ro("value", [](const Line& self) { return self.value; })
        .def_prop_ro("norm", [](const Line& self) { return self.norm; })
        .def_prop_ro("step", [](const Line& self) { return self.step; })
        .def_prop_ro("stuck", [](const Line& self) { return self.stuck; });
}

}  // namespace

void likelier::bind_rows(nb::module_& m) {
    m.def("votes", &py_votes, nb::arg("X"), nb::arg("kept"), nb::arg("start"), nb::arg("intercept"),
          nb::arg("rows"), nb::arg("steps"), nb::arg("lasting"), nb::arg("decay"),
          nb::arg("out").noconvert());
    m.def(
        "deal",
        [](Array<int64_t> order, uint64_t seed) {
            nb::gil_scoped_release free;
            deal(order.data(), static_cast<int64_t>(order.shape(0)), seed);
        },
        nb::arg("order").noconvert(), nb::arg("seed"));
    m.def(
        "square_norms",
        [](const Held& X, In shift, Out out) {
            nb::gil_scoped_release free;
            square_norms(X.view, shift.data(), out.data());
        },
        nb::arg("X"), nb::arg("shift"), nb::arg("out").noconvert());
    m.def(
        "count_stored",
        [](const Held& X, Array<int64_t> counts) {
            nb::gil_scoped_release free;
            with_dense(X, [&](const auto& dense) { count_stored(dense, counts.data()); });
        },
        nb::arg("X"), nb::arg("counts").noconvert());
    m.def(
        "store_cells",
        [](const Held& X, Out values, Array<int32_t> columns) {
            nb::gil_scoped_release free;
            with_dense(X, [&](const auto& dense) { store_cells(dense, values.data(), columns.data()); });
        },
        nb::arg("X"), nb::arg("values").noconvert(), nb::arg("columns").noconvert());
    nb::class_<DualRows>(m, "DualRows")
        .def(
            "__init__",
            [](DualRows* self, const Held& X, Vector<double> shift, Vector<int32_t> codes,
               std::optional<Vector<double>> weights, std::optional<In> offset, Vector<double> squares,
               int loss, int64_t K, double inverse, double tau) {
                new (self)
                    DualRows{X, shift, codes, weights, offset, squares, loss_of(loss), K, inverse, tau};
            },
            nb::arg("X"), nb::arg("shift"), nb::arg("codes"), nb::arg("weights").none(),
            nb::arg("offset").none(), nb::arg("squares"), nb::arg("loss"), nb::arg("K"), nb::arg("inverse"),
            nb::arg("tau"))
        .def(
            "epoch",
            [](const DualRows& self, Vector<int64_t> order, Out W, Out a, bool move) {
                const DualTask task = self.task(order, move);
                nb::gil_scoped_release free;
                const DualSums sums =
                    dual_epoch(self.X.view, self.shift.data(), task, self.loss, self.K, W.data(), a.data());
                return std::pair{sums.loss, sums.gap};
            },
            nb::arg("order"), nb::arg("W").noconvert(), nb::arg("a").noconvert(), nb::arg("move"))
        .def(
            "round",
            [](const DualRows& self, Vector<int64_t> order, int64_t epochs, uint64_t seed, Out W, Out a,
               Out centre) {
                const DualTask task = self.task(order, true);
                nb::gil_scoped_release free;
                const DualSums sums = dual_round(self.X.view, self.shift.data(), task, self.loss, self.K,
                                                 epochs, seed, W.data(), a.data(), centre.data());
                return std::pair{sums.loss, sums.gap};
            },
            nb::arg("order"), nb::arg("epochs"), nb::arg("seed"), nb::arg("W").noconvert(),
            nb::arg("a").noconvert(), nb::arg("centre").noconvert())
        .def(
            "begin",
            [](const DualRows& self, Vector<int64_t> order, In start, Out W, Out a) {
                const DualTask task = self.task(order, true);
                nb::gil_scoped_release free;
                dual_begin(self.X.view, self.shift.data(), task, self.loss, self.K, start.data(), W.data(),
                           a.data());
            },
            nb::arg("order"), nb::arg("start"), nb::arg("W").noconvert(), nb::arg("a").noconvert());
    m.def("sgd_epoch", &py_sgd_epoch, nb::arg("X"), nb::arg("shift"), nb::arg("codes"),
          nb::arg("weights").none(), nb::arg("offset").none(), nb::arg("order"), nb::arg("squares"),
          nb::arg("loss"), nb::arg("K"), nb::arg("rate"), nb::arg("power"), nb::arg("horizon"),
          nb::arg("bound"), nb::arg("intercept"), nb::arg("l2"), nb::arg("l1"), nb::arg("every"),
          nb::arg("taken"), nb::arg("W").noconvert(), nb::arg("mean").noconvert());
    bind_stochastic(m);
    bind_margins<MarginRows>(m, "MarginRows", "MarginLine");
    bind_margins<SparseMarginRows>(m, "SparseMarginRows", "SparseMarginLine");
}
