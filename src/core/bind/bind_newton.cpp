// What Python can call of truncated Newton on rows in memory.
#include "bind/bind.hpp"
#include "losses/newton_cg.hpp"

using namespace likelier;

namespace {

// A solver, and the arrays beside X that it looks into.
template <class RowCopy>
struct NewtonHeld {
    Vector<int32_t> codes;
    std::optional<Vector<double>> weights;
    std::optional<In> offset;
    NewtonCg<RowCopy> solver;
};

template <class RowCopy>
void bind_copies(nb::module_& m, const char* name) {
    using Solver = NewtonHeld<RowCopy>;
    nb::class_<Solver>(m, name)
        .def(
            "__init__",
            [](Solver* self, const Held& X, Vector<double> shift, Vector<int32_t> codes,
               std::optional<Vector<double>> weights, std::optional<In> offset, int positive, int loss,
               int64_t q, Vector<double> l2, double n, bool intercept, int64_t threads) {
                const Targets targets{codes.data(), weights ? weights->data() : nullptr,
                                      offset ? offset->data() : nullptr, positive, q};
                new (self) Solver{codes, weights, offset,
                                  NewtonCg<RowCopy>(X.view, shift.data(), targets, loss_of(loss), l2.data(),
                                                    n, intercept, threads)};
            },
            nb::arg("X"), nb::arg("shift"), nb::arg("codes"), nb::arg("weights").none(),
            nb::arg("offset").none(), nb::arg("positive"), nb::arg("loss"), nb::arg("q"), nb::arg("l2"),
            nb::arg("n"), nb::arg("intercept"), nb::arg("threads"))
        .def_prop_ro("fits", [](const Solver& self) { return self.solver.fits(); })
        .def_prop_ro("paired", [](const Solver& self) { return self.solver.paired(); })
        .def_prop_ro("reach", [](const Solver& self) { return self.solver.reach; })
        .def_prop_ro("products", [](const Solver& self) { return self.solver.products; })
        .def_prop_ro("rounding", [](const Solver& self) { return self.solver.rounding(); })
        .def_prop_ro("size", [](const Solver& self) { return self.solver.size_of_gradient(); })
        .def(
            "place", [](Solver& self, In theta) { self.solver.place(theta.data()); }, nb::arg("theta"))
        .def(
            "theta", [](const Solver& self, Out out) { self.solver.shown(out.data()); },
            nb::arg("out").noconvert())
        .def("expand",
             [](Solver& self) {
                 nb::gil_scoped_release free;
                 return self.solver.expand();
             })
        .def(
            "correct", [](Solver& self, In g) { return self.solver.correct(g.data()); }, nb::arg("g"))
        .def(
            "direction",
            [](Solver& self, double share, double radius, int64_t most) {
                nb::gil_scoped_release free;
                return self.solver.direction(share, radius, most);
            },
            nb::arg("share"), nb::arg("radius"), nb::arg("most"))
        .def(
            "search",
            [](Solver& self, bool full) {
                nb::gil_scoped_release free;
                return self.solver.search(full);
            },
            nb::arg("full"));
}

}  // namespace

void likelier::bind_newton(nb::module_& m) {
    bind_copies<DenseFloats>(m, "DenseNewton");
    bind_copies<SparseFloats>(m, "SparseNewton");
}
