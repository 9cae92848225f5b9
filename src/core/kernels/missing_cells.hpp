// The covariance of columns that lack few cells, given all other columns: families/few_missing.py says what
// of, and why its steps need nothing of the size of the table.
//
// With c missing cells in m columns a step costs c³/3 for the system of the cells and m³ for the inverse of
// the covariance. Both are small as a rule, so that it is the loop around them that has to be here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/cholesky.hpp"
#include "kernels/simd.hpp"

namespace likelier {

// What is left of the problem. Matrices are row-major.
struct CellSystem {
    int64_t c, m, rows;
    double n, ridge;              // weight of all rows; what is added to every variance
    double well;                  // reciprocal condition from which on an inverse is to be trusted
    const int32_t *row, *column;  // (c,), where each missing cell is
    const double* Q;              // (rows, rows)
    const double* among;          // (c, c), Q for each pair of cells
    const double* pull;           // (rows, m), G - QX
    const double* R;              // (m, m), the scatter with 0 in each missing cell
    std::vector<int64_t> start;   // (patterns + 1,)
    const int32_t* missing;       // columns of each pattern, one after another
    const double* weight;         // (patterns,)
};

// Combinations of the last few points that came nearest to being mapped to themselves (Anderson 1965;
// Walker & Ni 2011): differences of residuals by Gram and Schmidt, the latest first, without those that
// follow from later ones.
class AndersonMixing {
  public:
    static constexpr size_t kMost = 6;

    void forget() { points.clear(), images.clear(); }

    Buffer next(const Buffer& point, const Buffer& image) {
        if (points.size() > kMost) points.pop_front(), images.pop_front();
        points.push_back(point);
        images.push_back(image);
        Buffer found = image, rest = difference(image, point);
        std::vector<Buffer> axes, moves;
        for (size_t k = points.size() - 1; k > 0; --k) {
            Buffer axis =
                difference(difference(images[k], points[k]), difference(images[k - 1], points[k - 1]));
            Buffer move = difference(images[k], images[k - 1]);
            const double size = norm(axis);
            for (int again = 0; again < 2; ++again)
                for (size_t a = 0; a < axes.size(); ++a) {
                    const double by = dot(axes[a], axis);
                    subtract(by, axes[a], axis);
                    subtract(by, moves[a], move);
                }
            const double left = norm(axis);
            if (!(left > 1e-10 * size)) continue;
            for (double& x : axis) x /= left;
            for (double& x : move) x /= left;
            const double by = dot(axis, rest);
            subtract(by, axis, rest);
            subtract(by, move, found);
            axes.push_back(std::move(axis));
            moves.push_back(std::move(move));
        }
        return found;
    }

  private:
    std::deque<Buffer> points, images;

    static Buffer difference(const Buffer& a, const Buffer& b) {
        Buffer found(a.size());
        for (size_t i = 0; i < a.size(); ++i) found[i] = a[i] - b[i];
        return found;
    }
    static double dot(const Buffer& a, const Buffer& b) {
        double sum = 0;
        for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        return sum;
    }
    static double norm(const Buffer& a) { return std::sqrt(dot(a, a)); }
    static void subtract(double by, const Buffer& a, Buffer& from) {
        for (size_t i = 0; i < a.size(); ++i) from[i] -= by * a[i];
    }
};

enum class CellEnd { converged, most_steps, singular };

class CellClimb {
  public:
    int64_t steps = 0;
    Buffer cov;    // (m, m)
    Buffer cells;  // (c,), the most likely ones for it

    explicit CellClimb(const CellSystem& system)
        : cov(system.m * system.m), cells(system.c), s(system), psi(system.m), H(system.c) {
        for (int64_t j = 0; j < s.m; ++j) cov[j * s.m + j] = 1;
    }

    // Successors are never less likely; mixed points may be, and then the way goes on from the last
    // successor. tol: the largest change that ends the way.
    CellEnd run(int64_t most, double tol) {
        AndersonMixing mixing;
        Buffer at = cov, next(cov.size());
        bool mixed = false;
        double best = -std::numeric_limits<double>::infinity(), least = -best;
        int stalled = 0;
        while (steps < most) {
            ++steps;
            double likelihood = 0;
            const Found found = step(at, next, likelihood);
            if (found == Found::ill || (found == Found::none && !mixed)) return CellEnd::singular;
            if (found == Found::none || likelihood < best - 1e-9 * std::abs(best)) {
                mixing.forget();
                at = cov;
                mixed = false;
                best = -std::numeric_limits<double>::infinity();
                continue;
            }
            best = likelihood;
            cov = next;
            double moved = 0;
            for (size_t i = 0; i < at.size(); ++i) moved = std::max(moved, std::abs(next[i] - at[i]));
            stalled = moved < least / 2 ? 0 : stalled + 1;
            least = std::min(least, moved);
            // Rounding has the last word: near the end a step may not come nearer any more.
            if (moved < tol || (moved < 1e4 * tol && stalled >= 5)) return finish(CellEnd::converged);
            at = mixing.next(at, next);
            mixed = psi.factor(at.data(), s.m);
            if (!mixed) at = next;
        }
        return finish(CellEnd::most_steps);
    }

  private:
    enum class Found { all, none, ill };  // none: no covariance; ill: too near to none to be trusted

    const CellSystem& s;
    Cholesky psi, H;
    Buffer inverse;  // (m, m) of the covariance
    double log_det = 0;

    CellEnd finish(CellEnd how) {
        return invert(cov) == Found::all && complete() ? how : CellEnd::singular;
    }

    Found invert(const Buffer& at) {
        const int64_t m = s.m;
        Buffer sd(m, 1.0), C = at;
        if (s.ridge == 0) {  // of standardised columns
            for (int64_t j = 0; j < m; ++j) {
                if (at[j * m + j] < s.well) return at[j * m + j] > 0 ? Found::ill : Found::none;
                sd[j] = std::sqrt(at[j * m + j]);
            }
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < m; ++j) C[i * m + j] /= sd[i] * sd[j];
        }
        if (!psi.factor(C.data(), m)) return Found::none;
        log_det = psi.log_determinant();
        inverse = psi.inverse();
        if (s.ridge == 0) {
            if (1 / (column_sum(C, m) * column_sum(inverse, m)) < s.well) return Found::ill;
            for (int64_t i = 0; i < m; ++i) {
                log_det += 2 * std::log(sd[i]);
                for (int64_t j = 0; j < m; ++j) inverse[i * m + j] /= sd[i] * sd[j];
            }
        }
        return Found::all;
    }

    static double column_sum(const Buffer& A, int64_t m) {
        double most = 0;
        for (int64_t i = 0; i < m; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < m; ++j) sum += std::abs(A[i * m + j]);
            most = std::max(most, sum);
        }
        return most;
    }

    // The most likely cells for the inverse; false: they cannot be told.
    bool complete() {
        const int64_t c = s.c, m = s.m;
        Buffer system(c * c);
        double size = 0;
        for (int64_t a = 0; a < c; ++a) {
            const double *q = s.among + a * c, *from = &inverse[s.column[a] * m];
            double sum = 0;
            for (int64_t b = 0; b < c; ++b) {
                system[a * c + b] = q[b] * from[s.column[b]];
                sum += std::abs(system[a * c + b]);
            }
            size = std::max(size, sum);
        }
        if (!H.factor(system.data(), c)) return false;
        if (s.ridge == 0 && 1 / (size * H.inverse_norm()) < s.well) return false;
        for (int64_t a = 0; a < c; ++a) {
            const double *pull = s.pull + s.row[a] * m, *by = &inverse[s.column[a] * m];
            double sum = 0;
            for (int64_t j = 0; j < m; ++j) sum += pull[j] * by[j];
            cells[a] = sum;
        }
        H.solve(cells.data());
        return true;
    }

    // The scatter of the completed rows about their regression.
    void scatter(Buffer& S) const {
        const int64_t c = s.c, m = s.m;
        std::copy(s.R, s.R + m * m, S.begin());
        for (int64_t a = 0; a < c; ++a) {
            const double *q = s.Q + s.row[a] * s.rows, *pull = s.pull + s.row[a] * m, v = cells[a];
            double* to = &S[s.column[a] * m];
            for (int64_t j = 0; j < m; ++j) {
                to[j] -= v * pull[j];
                S[j * m + s.column[a]] -= v * pull[j];
            }
            for (int64_t b = 0; b < c; ++b) to[s.column[b]] += v * cells[b] * q[s.row[b]];
        }
    }

    // Adds the covariance of what each pattern lacks; returns Σ w ln|(Ψ⁻¹)_GG|.
    double spread(Buffer& S) {
        double logs = 0;
        Buffer part;
        for (size_t g = 0; g + 1 < s.start.size(); ++g) {
            const int32_t* at = s.missing + s.start[g];
            const int64_t k = s.start[g + 1] - s.start[g];
            part.resize(k * k);
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j) part[i * k + j] = inverse[at[i] * s.m + at[j]];
            psi.factor(part.data(), k);
            logs += s.weight[g] * psi.log_determinant();
            const Buffer found = psi.inverse();
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j) S[at[i] * s.m + at[j]] += s.weight[g] * found[i * k + j];
        }
        return logs;
    }

    // The log-likelihood of a covariance, but for a constant, and its successor.
    Found step(const Buffer& at, Buffer& next, double& likelihood) {
        if (const Found found = invert(at); found != Found::all) return found;
        if (!complete()) return Found::ill;
        const int64_t m = s.m;
        scatter(next);
        for (int64_t j = 0; j < m; ++j) next[j * m + j] += s.n * s.ridge;
        double fit = s.n * log_det;
        for (int64_t i = 0; i < m * m; ++i) fit += inverse[i] * next[i];
        likelihood = -0.5 * (fit + spread(next));
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j <= i; ++j)
                next[i * m + j] = next[j * m + i] = (next[i * m + j] + next[j * m + i]) / (2 * s.n);
        return Found::all;
    }
};

}  // namespace likelier
