// Affine scores of rows as they lie in memory: one reading of X, whatever else it is for.
//
// Lanes run over columns, and their sums are added up in halves. That a cell is no number is seen by the
// scores of its row, which then are none either: only such rows are looked at again. The scores of a row
// depend neither on its neighbours nor on how X lies in memory: a row alone gets the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/matrix.hpp"
#include "kernels/tile.hpp"

namespace likelier {

// `count` numbers, fewer than a vector, and zeros after them.
LIKELIER_INLINE vd load_some(const double* from, int64_t count) {
    vd v = splat(0.0);
    with_count<kLanes - 1>(count, [&](auto some) {
        LIKELIER_UNROLL
        for (int i = 0; i < decltype(some)::value; ++i) v[i] = from[i];
    });
    return v;
}

// The columns of a row in whole vectors. The last one overlaps the one before, and what comes twice has a
// weight of 0; of a row that is shorter than a vector it is filled up with zeros.
struct Split {
    explicit Split(int64_t p) : p(p), last(std::max<int64_t>(p - kLanes, 0)), whole(p / kLanes * kLanes) {}

    LIKELIER_INLINE vd end(const double* x) const { return p < kLanes ? load_some(x, p) : load(x + last); }

    // Weights for the last vector.
    LIKELIER_INLINE vd end_once(const double* w) const {
        vd v = end(w);
        for (int64_t j = last; j < whole; ++j) v[j - last] = 0;
        return v;
    }

    const int64_t p, last, whole;
};

// Cells about a shift, (p).
struct Shifted {
    LIKELIER_INLINE vd cells(vd x, int64_t j) const { return x - load(shift + j); }
    LIKELIER_INLINE vd end(vd x, const Split& split) const { return x - split.end(shift); }
    LIKELIER_INLINE double checked() const { return 0; }  // their scores say it
    const double* shift;
};

// Cells as they are.
struct Plain {
    LIKELIER_INLINE vd cells(vd x, int64_t) const { return x; }
    LIKELIER_INLINE vd end(vd x, const Split&) const { return x; }
    LIKELIER_INLINE double checked() const { return 0; }
};

// sum[k][r] = Σ_j w_kj x_rj over the lanes, of Rows rows and Count lines.
template <int Rows, int Count, class As>
LIKELIER_INLINE void dots(const As& as, const Split& split, const double* x, int64_t stride,
                          const double* W, vd (&sum)[Count][Rows]) {
    const auto add = [&](const vd(&w)[Count], auto&& at) {
        LIKELIER_UNROLL
        for (int r = 0; r < Rows; ++r) {
            const vd cells = at(x + r * stride);
            LIKELIER_UNROLL
            for (int k = 0; k < Count; ++k) sum[k][r] += w[k] * cells;
        }
    };
    vd w[Count];
    for (int64_t j = 0; j < split.whole; j += kLanes) {
        LIKELIER_UNROLL
        for (int k = 0; k < Count; ++k) w[k] = load(W + k * split.p + j);
        add(w, [&](const double* row) { return as.cells(load(row + j), j); });
    }
    if (split.whole == split.p) return;
    LIKELIER_UNROLL
    for (int k = 0; k < Count; ++k) w[k] = split.end_once(W + k * split.p);
    add(w, [&](const double* row) { return as.end(split.end(row), split); });
}

constexpr int kDotLines = 3;          // at once
constexpr int kDotRows = 2 * kLanes;  // of a single line; of several, a vector of rows

// Lane by lane for rows 0 to Rows: the sums over their lanes.
template <int Rows>
LIKELIER_INLINE void add_lanes(vd (&sum)[Rows], double b, double* z) {
    if constexpr (Rows == 1) {
        z[0] = total(sum[0]) + b;
    } else {
        LIKELIER_UNROLL
        for (int r = 0; r < Rows; r += kLanes) {
            vd group[kLanes];
            LIKELIER_UNROLL
            for (int i = 0; i < kLanes; ++i) group[i] = sum[r + i];
            store(z + r, totals(group) + splat(b));
        }
    }
}

// Where scores go: z_k of K classes, of which the first K - q have no line, and score b_k alone.
struct RowsOut {
    double* Z;  // (n, K)
    int64_t K;
    bool add;
};

// b_k + Σ_j W_kj x_j of rows, W (q, p), b (K).
template <class As, class Seldom>
class RowScores {
  public:
    // seldom(row, x, z, step): asked about rows of which some, or a neighbour, have cells or scores that
    // are no numbers, z_k being z[k * step]; says which cell it refuses, if any.
    RowScores(const As& as, const double* W, const double* b, int64_t p, int64_t q, const RowsOut& out,
              Seldom& seldom)
        : as(as),
          split(p),
          W(W),
          b(b),
          q(q),
          out(out),
          seldom(seldom),
          z(std::max<int64_t>(q, 1) * kDotRows) {}

    // Rows from number `first` on.
    Cell write(int64_t first, int64_t count, const Rows& run) {
        int64_t r = 0;
        Cell bad;
        const auto pass = [&](auto height) {
            constexpr int most = decltype(height)::value;
            for (; r + most <= count && !bad.found(); r += most)
                bad = block<most>(first + r, run.x + r * run.stride, run.stride);
        };
        if (q == 1)
            pass(std::integral_constant<int, kDotRows>{});
        else
            pass(std::integral_constant<int, kLanes>{});
        pass(std::integral_constant<int, 1>{});
        return bad;
    }

  private:
    template <int Rows>
    LIKELIER_INLINE Cell block(int64_t first, const double* x, int64_t stride) {
        const double* c = b + (out.K - q);
        for (int64_t k = 0; k < q; k += kDotLines)
            with_count<kDotLines>(std::min<int64_t>(kDotLines, q - k), [&](auto some) {
                constexpr int count = decltype(some)::value;
                vd sum[count][Rows] = {};
                dots<Rows, count>(as, split, x, stride, W + k * split.p, sum);
                LIKELIER_UNROLL
                for (int i = 0; i < count; ++i) add_lanes<Rows>(sum[i], c[k + i], &z[(k + i) * Rows]);
            });
        double check = as.checked();
        for (int64_t i = 0; i < q * Rows; ++i) check += z[i] * 0;
        if (check != 0) {
            const Cell bad = look<Rows>(first, x, stride);
            if (bad.found()) return bad;
        }
        for (int r = 0; r < Rows; ++r) put<Rows>(out.Z + (first + r) * out.K, r);
        return {};
    }

    template <int Rows>
    Cell look(int64_t first, const double* x, int64_t stride) {
        for (int r = 0; r < Rows; ++r) {
            const Cell bad = seldom(first + r, x + r * stride, &z[r], Rows);
            if (bad.found()) return bad;
        }
        return {};
    }

    template <int Rows>
    LIKELIER_INLINE void put(double* to, int r) const {
        const int64_t lead = out.K - q;
        for (int64_t k = 0; k < lead; ++k) to[k] = out.add ? to[k] + b[k] : b[k];
        for (int64_t k = 0; k < q; ++k) {
            double& score = to[lead + k];
            score = out.add ? score + z[k * Rows + r] : z[k * Rows + r];
        }
    }

    const As& as;
    const Split split;
    const double *W, *b;
    const int64_t q;
    const RowsOut out;
    Seldom& seldom;
    Buffer z;  // (q, rows of a block)
};

// Rows of X as doubles: where they lie, or run by run.
template <class As, class Seldom>
Cell row_scores(const Matrix& X, const As& as, const double* W, const double* b, int64_t q,
                const RowsOut& out, Seldom&& seldom) {
    RowScores<As, Seldom> scores(as, W, b, column_count(X), q, out, seldom);
    return std::visit(
        [&](const auto& m) -> Cell {
            if constexpr (requires { m.row; })
                if (std::is_same_v<decltype(m), const Dense<double>&> && (m.column == 1 || m.p == 1))
                    return scores.write(0, m.n, rows(m, 0, m.n, nullptr));
            const int64_t most = std::min<int64_t>(std::max<int64_t>(m.n, 1), tile_rows(m.p));
            Buffer scratch(most * padded(m.p));
            for (int64_t first = 0; first < m.n; first += most) {
                const int64_t count = std::min(most, m.n - first);
                const Cell bad = scores.write(first, count, rows(m, first, count, scratch.data()));
                if (bad.found()) return bad;
            }
            return {};
        },
        X);
}

// Σ_j W_kj (x_j - shift_j) + b_k, W (q, p), b (K).
inline Cell affine(const Matrix& X, const double* W, const double* b, const double* shift, int64_t q,
                   const RowsOut& out) {
    const int64_t p = column_count(X);
    const auto refused = [&](int64_t row, const double* x, const double*, int) -> Cell {
        const auto bad = std::find_if_not(x, x + p, [](double cell) { return std::isfinite(cell); });
        return bad == x + p ? Cell{} : Cell{row, bad - x};
    };
    if (std::any_of(shift, shift + p, [](double s) { return s != 0; }))
        return row_scores(X, Shifted{shift}, W, b, q, out, refused);
    return row_scores(X, Plain{}, W, b, q, out, refused);
}

}  // namespace likelier
