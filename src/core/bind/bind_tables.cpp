// Tables of numbers and categories as the columns of a design.
#include "bind/bind.hpp"
#include "kernels/design.hpp"

using namespace likelier;

namespace {

using Where = std::optional<std::pair<int64_t, int64_t>>;

// The arrays of a plan; they are kept alive by the call.
DesignPlan plan_of(const Vector<int32_t>& to, const Vector<int32_t>& missing, const Vector<double>& shift,
                   const Vector<double>& scale, const Vector<double>& fill, const Vector<int64_t>& at,
                   const Vector<int32_t>& table, int64_t P) {
    return {to.data(), missing.data(), shift.data(), scale.data(), fill.data(), at.data(), table.data(), P};
}

// f of the columns, as they lie: what other kernels take for a dense array is taken apart again.
template <class F>
Where on_columns(const Held& X, F&& f) {
    nb::gil_scoped_release free;
    const Cell bad = std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.starts; }) {
                throw std::invalid_argument("a design is of columns");
            } else if constexpr (requires { m.data; }) {
                Columns columns{{}, m.n, m.p};
                for (int64_t j = 0; j < m.p; ++j)
                    columns.column.push_back(Column{m.data + j * m.column, m.row});
                return f(columns);
            } else {
                return f(m);
            }
        },
        X.view);
    if (!bad.found()) return std::nullopt;
    return std::pair{bad.row, bad.column};
}

template <class I>
Where py_design_cells(const Held& X, Vector<int32_t> to, Vector<int32_t> missing, Vector<double> shift,
                      Vector<double> scale, Vector<double> fill, Vector<int64_t> at, Vector<int32_t> table,
                      int64_t P, Vector<I> starts, Out values, Array<I> columns) {
    const DesignPlan plan = plan_of(to, missing, shift, scale, fill, at, table, P);
    return on_columns(X, [&](const Columns& m) {
        return design_cells(m, plan, starts.data(), values.data(), columns.data());
    });
}

}  // namespace

void likelier::bind_tables(nb::module_& m) {
    m.def(
        "design_rows",
        [](const Held& X, Vector<int32_t> to, Vector<int32_t> missing, Vector<double> shift,
           Vector<double> scale, Vector<double> fill, Vector<int64_t> at, Vector<int32_t> table, int64_t P,
           Out out) {
            const DesignPlan plan = plan_of(to, missing, shift, scale, fill, at, table, P);
            return on_columns(X, [&](const Columns& m) { return design_rows(m, plan, out.data()); });
        },
        nb::arg("X"), nb::arg("to"), nb::arg("missing"), nb::arg("shift"), nb::arg("scale"),
        nb::arg("fill"), nb::arg("at"), nb::arg("table"), nb::arg("P"), nb::arg("out").noconvert());
    m.def(
        "design_counts",
        [](const Held& X, Vector<int32_t> to, Vector<int32_t> missing, Vector<double> shift,
           Vector<double> scale, Vector<double> fill, Vector<int64_t> at, Vector<int32_t> table, int64_t P,
           Array<int64_t> counts) {
            const DesignPlan plan = plan_of(to, missing, shift, scale, fill, at, table, P);
            return on_columns(X, [&](const Columns& m) { return design_counts(m, plan, counts.data()); });
        },
        nb::arg("X"), nb::arg("to"), nb::arg("missing"), nb::arg("shift"), nb::arg("scale"),
        nb::arg("fill"), nb::arg("at"), nb::arg("table"), nb::arg("P"), nb::arg("counts").noconvert());
    m.def("design_cells", &py_design_cells<int32_t>, nb::arg("X"), nb::arg("to"), nb::arg("missing"),
          nb::arg("shift"), nb::arg("scale"), nb::arg("fill"), nb::arg("at"), nb::arg("table"),
          nb::arg("P"), nb::arg("starts"), nb::arg("values").noconvert(), nb::arg("columns").noconvert());
    m.def("design_cells", &py_design_cells<int64_t>, nb::arg("X"), nb::arg("to"), nb::arg("missing"),
          nb::arg("shift"), nb::arg("scale"), nb::arg("fill"), nb::arg("at"), nb::arg("table"),
          nb::arg("P"), nb::arg("starts"), nb::arg("values").noconvert(), nb::arg("columns").noconvert());
}
