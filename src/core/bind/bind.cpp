// What Python can call of the passes over rows. Only the files named bind know Python's types.
//
// Arguments are checked by their declared types alone (nanobind refuses others, and would copy an output
// that does not fit: hence `noconvert`); shapes, codes and the indices of CSR are the
// caller's promise, kept by the thin wrappers in likelier.states and likelier.scores. The GIL is
// released around every kernel.
#include "bind/bind.hpp"

#include <cfloat>

#include "kernels/additive.hpp"
#include "kernels/gaps.hpp"
#include "kernels/kernels.hpp"
#include "kernels/labels.hpp"
#include "kernels/links.hpp"
#include "kernels/missing_cells.hpp"
#include "kernels/mixture.hpp"
#include "kernels/moments.hpp"
#include "kernels/qr.hpp"
#include "kernels/ridge.hpp"
#include "kernels/row_scores.hpp"
#include "kernels/sample.hpp"
#include "kernels/scores.hpp"
#include "kernels/sums.hpp"
#include "kernels/tables.hpp"
#include "losses/expansion.hpp"
#include "rowwise/descent.hpp"

using namespace likelier;

namespace {

template <class T>
Held dense(nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> X) {
    const Dense<T> view{X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)),
                        X.stride(0), X.stride(1)};
    return {view, nb::cast(X)};
}

template <class T, class I>
Held csr(Vector<T> values, Vector<I> columns, Vector<I> starts, int64_t p) {
    const Csr<T, I> view{values.data(), columns.data(), starts.data(),
                         static_cast<int64_t>(starts.shape(0)) - 1, p};
    return {view, nb::make_tuple(values, columns, starts)};
}

// One column, read as one of these types; a truth value is read as the byte it is.
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

template <class... T>
Column typed(const AnyVector& x) {
    Column found{static_cast<const double*>(nullptr), x.stride(0)};
    const bool known =
        ((x.dtype() == nb::dtype<T>() && (found.data = static_cast<const T*>(x.data()), true)) || ...);
    if (known) return found;
    if (x.dtype() == nb::dtype<bool>()) return {static_cast<const uint8_t*>(x.data()), x.stride(0)};
    throw nb::type_error("a column is of numbers: float32, float64, integers or bool");
}

// Columns that lie as those of an array in C order, which the kernels read without a copy.
template <class T>
std::optional<Dense<T>> adjacent(const Columns& X) {
    const auto at = [&](int64_t j) {
        const auto* data = std::get_if<const T*>(&X.column[j].data);
        return data ? *data : nullptr;
    };
    if (X.p == 0) return std::nullopt;
    for (int64_t j = 0; j < X.p; ++j)
        if (!at(j) || at(j) != at(0) + j || X.column[j].stride != X.column[0].stride) return std::nullopt;
    return Dense<T>{at(0), X.n, X.p, X.column[0].stride, 1};
}

Held columns_of(const nb::tuple& arrays) {
    Columns X{{}, 0, static_cast<int64_t>(arrays.size())};
    for (nb::handle array : arrays) {
        const auto x = nb::cast<AnyVector>(array);
        X.n = static_cast<int64_t>(x.shape(0));
        X.column.push_back(
            typed<double, float, int64_t, int32_t, int16_t, int8_t, uint64_t, uint32_t, uint16_t, uint8_t>(
                x));
    }
    if (const auto view = adjacent<double>(X)) return {*view, arrays};
    if (const auto view = adjacent<float>(X)) return {*view, arrays};
    return {std::move(X), arrays};
}

Labels labels(const std::optional<Vector<int32_t>>& codes, const std::optional<In>& R,
              const std::optional<Vector<double>>& weights, int64_t K) {
    if (codes.has_value() == R.has_value()) throw std::invalid_argument("either codes or R");
    return {codes ? codes->data() : nullptr, R ? R->data() : nullptr, weights ? weights->data() : nullptr,
            K};
}

using Where = std::optional<std::pair<int64_t, int64_t>>;

Where where(const Cell& cell) {
    if (!cell.found()) return std::nullopt;
    return std::pair{cell.row, cell.column};
}

Where py_moments(const Held& X, std::optional<Vector<int32_t>> codes, std::optional<In> R,
                 std::optional<Vector<double>> weights, bool tied, Out n, Out mean, Out S) {
    const Labels who = labels(codes, R, weights, static_cast<int64_t>(n.shape(0)));
    const Shape shape = tied ? Shape::tied : S.ndim() == 2 ? Shape::diagonal : Shape::full;
    const Moments total{n.data(), mean.data(), S.data()};
    nb::gil_scoped_release free;
    return where(std::visit(
        [&](const auto& m) -> Cell {
            if (shape == Shape::diagonal) {
                if constexpr (requires { m.starts; }) return sparse_moments(m, who, total);
                if constexpr (requires { m.column; })
                    if (by_columns(m) && !who.R) return strip_moments(m, who, total);
            }
            return moments(X.view, who, shape, total);
        },
        X.view));
}

Where py_centred_sums(const Held& X, In R, std::optional<Vector<double>> weights, In centres, bool tied,
                      Out n, Out first, Out second) {
    const auto K = static_cast<int64_t>(n.shape(0));
    nb::gil_scoped_release free;
    return where(centred_sums(X.view, R.data(), weights ? weights->data() : nullptr, centres.data(), K,
                              tied, n.data(), first.data(), second.data()));
}

void py_higher_moments(const Held& X, std::optional<Vector<int32_t>> codes, std::optional<In> R,
                       std::optional<Vector<double>> weights, In mean, Out T, Out Q) {
    const Labels who = labels(codes, R, weights, static_cast<int64_t>(mean.shape(0)));
    nb::gil_scoped_release free;
    higher_moments(X.view, who, mean.data(), T.data(), Q.data());
}

Where py_affine(const Held& X, In W, In b, In shift, Out Z, bool add) {
    const auto K = static_cast<int64_t>(b.shape(0)), q = static_cast<int64_t>(W.shape(0));
    const RowsOut out{Z.data(), K, add};
    nb::gil_scoped_release free;
    return where(std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.starts; })
                return sparse_affine(m, W.data(), b.data(), shift.data(), q, out);
            else
                return affine(X.view, W.data(), b.data(), shift.data(), q, out);
        },
        X.view));
}

// Without b and constant a missing cell is refused.
Where py_sparse_affine(const Held& X, In turned, In zero, std::optional<In> b, std::optional<In> constant,
                       double threshold, Out Z, bool add) {
    const Lines lines{zero.data(), b ? b->data() : nullptr, b && constant ? constant->data() : nullptr,
                      threshold, static_cast<int64_t>(zero.shape(0))};
    nb::gil_scoped_release free;
    return where(std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.starts; })
                return SparseAffine(m, Adjoining{turned.data(), padded(lines.K)}, lines)
                    .write(Z.data(), add);
            else
                throw std::invalid_argument("sparse_affine is for CSR");
        },
        X.view));
}

void py_sparse_spread(const Held& X, Vector<double> w, bool centred, Out mean, Out squares) {
    nb::gil_scoped_release free;
    std::visit(
        [&](const auto& m) {
            if constexpr (requires { m.starts; })
                sparse_spread(m, w.data(), centred, mean.data(), squares.data());
            else
                throw std::invalid_argument("sparse_spread is for CSR");
        },
        X.view);
}

void py_sparse_gram(const Held& X, Vector<double> w, Out G) {
    nb::gil_scoped_release free;
    std::visit(
        [&](const auto& m) {
            if constexpr (requires { m.starts; })
                sparse_gram(m, w.data(), G.data());
            else
                throw std::invalid_argument("sparse_gram is for CSR");
        },
        X.view);
}

int64_t py_ridge_steps(const Held& X, Vector<double> root, Vector<double> mean, Vector<double> squares,
                       double alpha, bool by_rows, int64_t most, Vector<double> gains, Out b, Out r, Out d,
                       Out now, int64_t threads) {
    const RidgeSteps at{b.data(), r.data(), d.data(), now.data()};
    const Gains enough{gains(0), gains(1), gains(2)};
    nb::gil_scoped_release free;
    return std::visit(
        [&](const auto& m) -> int64_t {
            if constexpr (requires { m.starts; }) {
                CentredRows A(m, root.data(), mean.data(), squares.data(), threads);
                return RidgeSolver(A, squares.data(), alpha, by_rows).run(at, most, enough);
            } else {
                throw std::invalid_argument("ridge_steps is for CSR");
            }
        },
        X.view);
}

Where py_additive(const Held& X, In W, In constant, In b, double threshold, Out Z, bool add) {
    const auto K = static_cast<int64_t>(b.shape(0));
    nb::gil_scoped_release free;
    return where(additive(X.view, W.data(), constant.data(), b.data(), threshold, K, Z.data(), add));
}

Where py_sums(const Held& X, std::optional<Vector<int32_t>> codes, std::optional<In> R,
              std::optional<Vector<double>> weights, std::pair<double, double> ends, bool whole,
              double threshold, Out n, Out total, std::optional<Out> gone) {
    const Labels who = labels(codes, R, weights, static_cast<int64_t>(n.shape(0)));
    const Summand what{std::max(ends.first, -DBL_MAX), std::min(ends.second, DBL_MAX), whole, threshold};
    const Sums sums{n.data(), total.data(), gone ? gone->data() : nullptr};
    nb::gil_scoped_release free;
    return where(std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.starts; })
                return sum_sparse_rows(m, who, what, sums);
            else
                return sum_rows(X.view, who, what, sums);
        },
        X.view));
}

bool py_any_outside(const Held& X, std::pair<double, double> ends, bool whole) {
    nb::gil_scoped_release free;
    return any_outside(X.view, {ends.first, ends.second, whole, kNoThreshold});
}

Where py_diagonal(const Held& X, In mean, In scale, In b, Out Z, bool add) {
    const auto K = static_cast<int64_t>(b.shape(0));
    nb::gil_scoped_release free;
    return where(std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.starts; })
                return sparse_diagonal(m, mean.data(), scale.data(), b.data(), K, Z.data(), add);
            else
                return diagonal(X.view, mean.data(), scale.data(), b.data(), K, Z.data(), add);
        },
        X.view));
}

Where py_quadratic(const Held& X, In shift, In U, In at, In b, Out Z, bool add) {
    const auto K = static_cast<int64_t>(b.shape(0));
    nb::gil_scoped_release free;
    return where(quadratic(X.view, shift.data(), U.data(), at.data(), b.data(), K, Z.data(), add));
}

Where py_column_moments(const Held& X, std::optional<Vector<int32_t>> codes, std::optional<In> R,
                        std::optional<Vector<double>> weights, Out n, Out seen, Out mean, Out S) {
    const Labels who = labels(codes, R, weights, static_cast<int64_t>(n.shape(0)));
    nb::gil_scoped_release free;
    return where(column_moments(X.view, who, n.data(), seen.data(), mean.data(), S.data()));
}

Where py_infinite(const Held& X) {
    nb::gil_scoped_release free;
    return where(find_infinite(X.view, 0, row_count(X.view)));
}

Where py_diagonal_gaps(const Held& X, In mean, In scale, In constant, In b, Out Z, bool add) {
    const auto K = static_cast<int64_t>(b.shape(0));
    nb::gil_scoped_release free;
    return where(
        diagonal_gaps(X.view, mean.data(), scale.data(), constant.data(), b.data(), K, Z.data(), add));
}

std::vector<double> copied(const In& a) {
    return {a.data(), a.data() + a.size()};
}

std::pair<double, double> py_expect(In X, In weights, Vector<int64_t> start, Vector<int32_t> code,
                                    Vector<int64_t> spread, In scatters, In mean, In precision, Out first,
                                    Out second) {
    const Groups groups{X.data(),
                        weights.data(),
                        start.data(),
                        code.data(),
                        spread.data(),
                        scatters.data(),
                        static_cast<int64_t>(code.shape(0)),
                        static_cast<int64_t>(mean.shape(1))};
    nb::gil_scoped_release free;
    return expect(groups, mean.data(), precision.data(), first.data(), second.data());
}

// The end (0: converged, 1: too many steps, 2: singular) and the number of steps.
std::pair<int, int64_t> py_climb_cells(double n, double ridge, double well, Vector<int32_t> row,
                                       Vector<int32_t> column, In Q, In among, In pull, In R,
                                       Vector<int64_t> start, Vector<int32_t> missing, In weight,
                                       int64_t most, double tol, Out cov, Out cells) {
    const CellSystem system{static_cast<int64_t>(row.shape(0)),
                            static_cast<int64_t>(R.shape(0)),
                            static_cast<int64_t>(Q.shape(0)),
                            n,
                            ridge,
                            well,
                            row.data(),
                            column.data(),
                            Q.data(),
                            among.data(),
                            pull.data(),
                            R.data(),
                            {start.data(), start.data() + start.shape(0)},
                            missing.data(),
                            weight.data()};
    nb::gil_scoped_release free;
    CellClimb climb(system);
    const CellEnd end = climb.run(most, tol);
    std::copy(climb.cov.begin(), climb.cov.end(), cov.data());
    std::copy(climb.cells.begin(), climb.cells.end(), cells.data());
    return {static_cast<int>(end), climb.steps};
}

Where py_fold(const Held& X, const Held& Y, std::optional<Vector<double>> weights, In shift, Out R) {
    nb::gil_scoped_release free;
    return where(fold_rows(X.view, Y.view, weights ? weights->data() : nullptr, shift.data(), R.data()));
}

void py_fold_factor(const Held& Z, Out R) {
    nb::gil_scoped_release free;
    fold_factor(Z.view, R.data());
}

bool py_descend(In H, In l1, int64_t most, double tol, Out u, Out v) {
    nb::gil_scoped_release free;
    return descend(H.data(), l1.data(), static_cast<int64_t>(u.size()), most, tol, u.data(), v.data());
}

Slots slots(const In& first, const In& size, const In& other, const In& low, int64_t rows) {
    return {first.data(), size.data(), other.data(), low.data(), rows};
}

Where py_count_cells(const Held& X, std::optional<Vector<int32_t>> codes, std::optional<In> R,
                     std::optional<Vector<double>> weights, In first, In size, In other, In low, Out n,
                     Out counts) {
    const Labels who = labels(codes, R, weights, static_cast<int64_t>(n.shape(0)));
    const Slots where_to = slots(first, size, other, low, static_cast<int64_t>(counts.shape(0)));
    nb::gil_scoped_release free;
    return where(count_cells(X.view, who, where_to, n.data(), counts.data()));
}

void py_largest(const Held& X, std::optional<Vector<int32_t>> codes, std::optional<In> R,
                std::optional<Vector<double>> weights, int64_t K, Out top) {
    const Labels who = labels(codes, R, weights, K);
    nb::gil_scoped_release free;
    largest(X.view, who, top.data());
}

Where py_no_code(const Held& X, In low) {
    nb::gil_scoped_release free;
    return where(first_no_code(X.view, low.data()));
}

Where py_look_up(const Held& X, In first, In size, In other, In low, In table, In b, Out Z, bool add) {
    const auto K = static_cast<int64_t>(b.shape(0));
    const Slots where_from = slots(first, size, other, low, static_cast<int64_t>(table.shape(0)) - 1);
    nb::gil_scoped_release free;
    return where(look_up(X.view, where_from, table.data(), b.data(), K, Z.data(), add));
}

Where py_find_bins(const Held& X, In cuts, Vector<int64_t> start, Array<int32_t> out) {
    nb::gil_scoped_release free;
    return where(find_bins(X.view, cuts.data(), start.data(), out.data()));
}

// (codes, rows in which each label first stands), codes by first appearance.
template <class F>
nb::object coded(int64_t n, F&& code) {
    auto* codes = new int32_t[n > 0 ? n : 1];
    nb::capsule owner(codes, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
    Coding coding;
    {
        nb::gil_scoped_release free;
        coding = code(codes);
    }
    const size_t K = coding.first.size();
    auto* first = new int64_t[K > 0 ? K : 1];
    std::copy(coding.first.begin(), coding.first.end(), first);
    nb::capsule first_owner(first, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
    return nb::make_tuple(nb::ndarray<nb::numpy, int32_t>(codes, {static_cast<size_t>(n)}, owner),
                          nb::ndarray<nb::numpy, int64_t>(first, {K}, first_owner));
}

template <class T>
nb::object py_code(Vector<T> y) {
    const auto n = static_cast<int64_t>(y.shape(0));
    return coded(n, [&](int32_t* codes) { return code_integers(y.data(), n, codes); });
}

nb::object py_code_bytes(nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> y) {
    const auto n = static_cast<int64_t>(y.shape(0)), width = static_cast<int64_t>(y.shape(1));
    return coded(n, [&](int32_t* codes) {
        return code_bytes(reinterpret_cast<const char*>(y.data()), n, width, codes);
    });
}

// codes[r] = table[codes[r]].
void recode(nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> codes, Vector<int32_t> table) {
    nb::gil_scoped_release free;
    for (size_t r = 0; r < codes.shape(0); ++r) codes.data()[r] = table.data()[codes.data()[r]];
}

Where py_kernels(const Held& X, In cells, In log_w, In log_v, Vector<int64_t> start, In scale, In constant,
                 std::optional<Vector<int64_t>> own, std::optional<Vector<double>> less, In b, Out Z,
                 bool add, int threads) {
    const auto K = static_cast<int64_t>(scale.shape(0)), p = static_cast<int64_t>(scale.shape(1));
    const Points points{
        cells.data(), log_w.data(), log_v.data(), start.data(), scale.data(), constant.data(), K, p};
    const LeftOut out{own ? own->data() : nullptr, less ? less->data() : nullptr};
    nb::gil_scoped_release free;
    return where(kernels(X.view, points, out, b.data(), Z.data(), add, threads));
}

// ---- losses ----------------------------------------------------------------------------------------
using Codes = Vector<int32_t>;
using Given = std::optional<In>;

Targets targets(const Codes& codes, const Given& weights, const Given& offset, int positive, size_t q) {
    return {codes.data(), weights ? weights->data() : nullptr, offset ? offset->data() : nullptr, positive,
            static_cast<int64_t>(q)};
}

Where py_expand(const Held& X, Codes codes, Given weights, Given offset, int loss, int positive, In W, In b,
                In shift, Out f, Out g, std::optional<Out> H) {
    const Targets rows = targets(codes, weights, offset, positive, b.shape(0));
    const Point at{W.data(), b.data(), shift.data()};
    nb::gil_scoped_release free;
    return where(expand(X.view, rows, loss_of(loss), at, f.data(), g.data(), H ? H->data() : nullptr));
}

Where py_loss_values(const Held& X, Codes codes, Given weights, Given offset, int loss, int positive, In W,
                     In b, In shift, Out f) {
    const Targets rows = targets(codes, weights, offset, positive, b.shape(1));
    const Point at{W.data(), b.data(), shift.data()};
    const auto T = static_cast<int64_t>(b.shape(0));
    nb::gil_scoped_release free;
    return where(loss_values(X.view, rows, loss_of(loss), at, T, f.data()));
}

Where py_curvature_product(const Held& X, Codes codes, Given weights, Given offset, int loss, int positive,
                           In W, In b, In shift, In V, In v, Out out) {
    const Targets rows = targets(codes, weights, offset, positive, b.shape(0));
    const Point at{W.data(), b.data(), shift.data()};
    nb::gil_scoped_release free;
    return where(curvature_product(X.view, rows, loss_of(loss), at, V.data(), v.data(), out.data()));
}

template <void link(double*, int64_t, int64_t)>
void py_link(Array<double> Z) {
    const auto n = static_cast<int64_t>(Z.shape(0)), K = static_cast<int64_t>(Z.shape(1));
    nb::gil_scoped_release free;
    link(Z.data(), n, K);
}

}  // namespace

NB_MODULE(LIKELIER_MODULE, m) {
    // Objects that a thread still holds when the program is interrupted are no defect to report to users.
    nb::set_leak_warnings(false);
    m.attr("lanes") = kLanes;

    nb::class_<Held>(m, "Matrix")
        .def_static("dense", &dense<double>)
        .def_static("dense", &dense<float>)
        .def_static("csr", &csr<double, int32_t>)
        .def_static("csr", &csr<float, int32_t>)
        .def_static("csr", &csr<double, int64_t>)
        .def_static("csr", &csr<float, int64_t>)
        .def_static("columns", &columns_of);

    m.def("moments", &py_moments, nb::arg("X"), nb::arg("codes").none(), nb::arg("R").none(),
          nb::arg("weights").none(), nb::arg("tied"), nb::arg("n").noconvert(), nb::arg("mean").noconvert(),
          nb::arg("S").noconvert());
    m.def("higher_moments", &py_higher_moments, nb::arg("X"), nb::arg("codes").none(), nb::arg("R").none(),
          nb::arg("weights").none(), nb::arg("mean"), nb::arg("T").noconvert(), nb::arg("Q").noconvert());

    m.def("centred_sums", &py_centred_sums, nb::arg("X"), nb::arg("R"), nb::arg("weights").none(),
          nb::arg("centres"), nb::arg("tied"), nb::arg("n").noconvert(), nb::arg("first").noconvert(),
          nb::arg("second").noconvert());
    m.def(
        "responsibilities",
        [](Out Z, Out out) {
            const auto n = static_cast<int64_t>(Z.shape(0)), K = static_cast<int64_t>(Z.shape(1));
            nb::gil_scoped_release free;
            responsibilities(Z.data(), n, K, out.data());
        },
        nb::arg("Z").noconvert(), nb::arg("out").noconvert());

    m.def("fold", &py_fold, nb::arg("X"), nb::arg("Y"), nb::arg("weights").none(), nb::arg("shift"),
          nb::arg("R").noconvert());
    m.def("descend", &py_descend, nb::arg("H"), nb::arg("l1"), nb::arg("most"), nb::arg("tol"),
          nb::arg("u").noconvert(), nb::arg("v").noconvert());
    m.def("fold_factor", &py_fold_factor, nb::arg("Z"), nb::arg("R").noconvert());

    m.def("affine", &py_affine, nb::arg("X"), nb::arg("W"), nb::arg("b"), nb::arg("shift"),
          nb::arg("Z").noconvert(), nb::arg("add"));
    m.def("sparse_affine", &py_sparse_affine, nb::arg("X"), nb::arg("turned"), nb::arg("zero"),
          nb::arg("b").none(), nb::arg("constant").none(), nb::arg("threshold"), nb::arg("Z").noconvert(),
          nb::arg("add"));
    m.def("sparse_spread", &py_sparse_spread, nb::arg("X"), nb::arg("w"), nb::arg("centred"),
          nb::arg("mean").noconvert(), nb::arg("squares").noconvert());
    m.def("ridge_steps", &py_ridge_steps, nb::arg("X"), nb::arg("root"), nb::arg("mean"),
          nb::arg("squares"), nb::arg("alpha"), nb::arg("by_rows"), nb::arg("most"), nb::arg("gains"),
          nb::arg("b").noconvert(), nb::arg("r").noconvert(), nb::arg("d").noconvert(),
          nb::arg("now").noconvert(), nb::arg("threads") = 1);
    m.def("sparse_gram", &py_sparse_gram, nb::arg("X"), nb::arg("w"), nb::arg("G").noconvert());
    m.def("additive", &py_additive, nb::arg("X"), nb::arg("W"), nb::arg("constant"), nb::arg("b"),
          nb::arg("threshold"), nb::arg("Z").noconvert(), nb::arg("add"));
    m.def("sums", &py_sums, nb::arg("X"), nb::arg("codes").none(), nb::arg("R").none(),
          nb::arg("weights").none(), nb::arg("ends"), nb::arg("whole"), nb::arg("threshold"),
          nb::arg("n").noconvert(), nb::arg("total").noconvert(), nb::arg("gone").noconvert().none());
    m.def("any_outside", &py_any_outside, nb::arg("X"), nb::arg("ends"), nb::arg("whole"));
    m.def("diagonal", &py_diagonal, nb::arg("X"), nb::arg("mean"), nb::arg("scale"), nb::arg("b"),
          nb::arg("Z").noconvert(), nb::arg("add"));
    m.def("quadratic", &py_quadratic, nb::arg("X"), nb::arg("shift"), nb::arg("U"), nb::arg("at"),
          nb::arg("b"), nb::arg("Z").noconvert(), nb::arg("add"));

    m.def("column_moments", &py_column_moments, nb::arg("X"), nb::arg("codes").none(), nb::arg("R").none(),
          nb::arg("weights").none(), nb::arg("n").noconvert(), nb::arg("seen").noconvert(),
          nb::arg("mean").noconvert(), nb::arg("S").noconvert());
    m.def("infinite", &py_infinite, nb::arg("X"));
    m.def("diagonal_gaps", &py_diagonal_gaps, nb::arg("X"), nb::arg("mean"), nb::arg("scale"),
          nb::arg("constant"), nb::arg("b"), nb::arg("Z").noconvert(), nb::arg("add"));
    nb::class_<GappyGaussians>(m, "GappyGaussians")
        .def("__init__",
             [](GappyGaussians* self, In mean, In shift, In U, In precision) {
                 const auto K = static_cast<int64_t>(mean.shape(0)), Q = static_cast<int64_t>(U.shape(0));
                 new (self) GappyGaussians(copied(mean), copied(shift), copied(U), copied(precision), K, Q);
             })
        .def(
            "scores",
            [](GappyGaussians& self, const Held& X, In b, Out Z, bool add) {
                nb::gil_scoped_release free;
                return where(self.scores(X.view, b.data(), Z.data(), add));
            },
            nb::arg("X"), nb::arg("b"), nb::arg("Z").noconvert(), nb::arg("add"))
        .def(
            "fill",
            [](GappyGaussians& self, const Held& X, In P, Out out) {
                nb::gil_scoped_release free;
                return where(self.fill(X.view, P.data(), out.data()));
            },
            nb::arg("X"), nb::arg("P"), nb::arg("out").noconvert());
    m.def("expect", &py_expect, nb::arg("X"), nb::arg("weights"), nb::arg("start"), nb::arg("code"),
          nb::arg("spread"), nb::arg("scatters"), nb::arg("mean"), nb::arg("precision"),
          nb::arg("first").noconvert(), nb::arg("second").noconvert());
    m.def("climb_cells", &py_climb_cells, nb::arg("n"), nb::arg("ridge"), nb::arg("well"), nb::arg("row"),
          nb::arg("column"), nb::arg("Q"), nb::arg("among"), nb::arg("pull"), nb::arg("R"),
          nb::arg("start"), nb::arg("missing"), nb::arg("weight"), nb::arg("most"), nb::arg("tol"),
          nb::arg("cov").noconvert(), nb::arg("cells").noconvert());

    m.def("count_cells", &py_count_cells, nb::arg("X"), nb::arg("codes").none(), nb::arg("R").none(),
          nb::arg("weights").none(), nb::arg("first"), nb::arg("size"), nb::arg("other"), nb::arg("low"),
          nb::arg("n").noconvert(), nb::arg("counts").noconvert());
    m.def("largest", &py_largest, nb::arg("X"), nb::arg("codes").none(), nb::arg("R").none(),
          nb::arg("weights").none(), nb::arg("K"), nb::arg("top").noconvert());
    m.def("no_code", &py_no_code, nb::arg("X"), nb::arg("low"));
    m.def("look_up", &py_look_up, nb::arg("X"), nb::arg("first"), nb::arg("size"), nb::arg("other"),
          nb::arg("low"), nb::arg("table"), nb::arg("b"), nb::arg("Z").noconvert(), nb::arg("add"));
    m.def("find_bins", &py_find_bins, nb::arg("X"), nb::arg("cuts"), nb::arg("start"),
          nb::arg("out").noconvert());
    m.def("kernels", &py_kernels, nb::arg("X"), nb::arg("cells"), nb::arg("log_w"), nb::arg("log_v"),
          nb::arg("start"), nb::arg("scale"), nb::arg("constant"), nb::arg("own").none(),
          nb::arg("less").none(), nb::arg("b"), nb::arg("Z").noconvert(), nb::arg("add"),
          nb::arg("threads"));

    m.def("expand", &py_expand, nb::arg("X"), nb::arg("codes"), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("loss"), nb::arg("positive"), nb::arg("W"), nb::arg("b"),
          nb::arg("shift"), nb::arg("f").noconvert(), nb::arg("g").noconvert(),
          nb::arg("H").noconvert().none());
    m.def("loss_values", &py_loss_values, nb::arg("X"), nb::arg("codes"), nb::arg("weights").none(),
          nb::arg("offset").none(), nb::arg("loss"), nb::arg("positive"), nb::arg("W"), nb::arg("b"),
          nb::arg("shift"), nb::arg("f").noconvert());
    m.def("curvature_product", &py_curvature_product, nb::arg("X"), nb::arg("codes"),
          nb::arg("weights").none(), nb::arg("offset").none(), nb::arg("loss"), nb::arg("positive"),
          nb::arg("W"), nb::arg("b"), nb::arg("shift"), nb::arg("V"), nb::arg("v"),
          nb::arg("out").noconvert());

    m.def("softmax", &py_link<softmax>, nb::arg("Z").noconvert());
    m.def("log_softmax", &py_link<log_softmax>, nb::arg("Z").noconvert());
    m.def(
        "log_sum_exp",
        [](In Z, Out out) {
            const auto n = static_cast<int64_t>(Z.shape(0)), K = static_cast<int64_t>(Z.shape(1));
            nb::gil_scoped_release free;
            log_sum_exp(Z.data(), n, K, out.data());
        },
        nb::arg("Z"), nb::arg("out").noconvert());
    m.def(
        "argmax",
        [](In Z, Array<int64_t> out) {
            const auto n = static_cast<int64_t>(Z.shape(0)), K = static_cast<int64_t>(Z.shape(1));
            nb::gil_scoped_release free;
            argmax(Z.data(), n, K, out.data());
        },
        nb::arg("Z"), nb::arg("out").noconvert());

    m.def("code", &py_code<int64_t>);
    m.def("code", &py_code<int32_t>);
    m.def("code", &py_code<int16_t>);
    m.def("code", &py_code<int8_t>);
    m.def("code", &py_code<uint64_t>);
    m.def("code", &py_code<uint32_t>);
    m.def("code", &py_code<uint16_t>);
    m.def("code", &py_code<uint8_t>);
    m.def("code_bytes", &py_code_bytes);
    m.def(
        "drawn",
        [](uint64_t first, uint64_t seed, uint64_t top, Array<int64_t> places) {
            nb::gil_scoped_release free;
            return drawn(first, static_cast<int64_t>(places.shape(0)), seed, top, places.data());
        },
        nb::arg("first"), nb::arg("seed"), nb::arg("top"), nb::arg("places").noconvert());
    m.def("recode", &recode, nb::arg("codes").noconvert(), nb::arg("table"));
    bind_rows(m);
    bind_newton(m);
    bind_streams(m);
    bind_cells(m);
    bind_text(m);
    bind_documents(m);
    bind_tables(m);
    bind_requests(m);
}
