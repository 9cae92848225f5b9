// The covariance of columns that lack few cells, given all other columns: families/few_missing.py says what
// of, and why its steps need nothing of the size of the table.
//
// With c missing cells in m columns a step costs c³/3 for the system of the cells and m³ for the inverse of
// the covariance. Both are small as a rule, so that it is the loop around them that has to be here. Where
// the covariance has few numbers for the cells, steps are Newton's: their derivatives use the same factor.
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

    void forget() { residuals.clear(), images.clear(); }

    Buffer next(const Buffer& point, const Buffer& image) {
        if (images.size() > kMost) residuals.pop_front(), images.pop_front();
        residuals.push_back(difference(image, point));
        images.push_back(image);
        Buffer found = image, rest = residuals.back();
        std::vector<Buffer> axes, moves;
        for (size_t k = images.size() - 1; k > 0; --k) {
            Buffer axis = difference(residuals[k], residuals[k - 1]);
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
    std::deque<Buffer> residuals, images;

    static Buffer difference(const Buffer& a, const Buffer& b) {
        Buffer found(a.size());
        for (size_t i = 0; i < a.size(); ++i) found[i] = a[i] - b[i];
        return found;
    }
    static double dot(const Buffer& a, const Buffer& b) {
        return inner_product(a.data(), b.data(), static_cast<int64_t>(a.size()));
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
        : cov(system.m * system.m),
          cells(system.c),
          s(system),
          numbers(system.m * (system.m + 1) / 2),
          psi(system.m),
          H(system.c) {
        for (int64_t j = 0; j < s.m; ++j) cov[j * s.m + j] = 1;
    }

    // Successors are never less likely; mixed points may be, and then the way goes on from the last
    // successor. tol: the largest change that ends the way.
    CellEnd run(int64_t most, double tol) {
        AndersonMixing mixing;
        Buffer at = cov, next(cov.size()), ahead(cov.size());
        bool mixed = false;
        double best = -std::numeric_limits<double>::infinity(), least = -best;
        int stalled = 0;
        int64_t patience = 1, wait = kFirst;  // steps before Newton's are tried, again
        while (steps < most) {
            ++steps;
            double likelihood = 0;
            const Found found = step(at, next, likelihood);
            if (found == Found::ill || (found == Found::none && !mixed)) return CellEnd::singular;
            if (found == Found::none || likelihood < best - 1e-9 * std::abs(best)) {
                mixing.forget();
                at = cov;
                mixed = false;
                patience *= 2;
                wait = patience;
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
            const bool leap = kCells * numbers <= s.c && --wait < 0 && newton(at, next, ahead);
            at = leap ? ahead : mixing.next(at, next);
            mixed = psi.factor(at.data(), s.m);
            if (!mixed) at = next;
        }
        return finish(CellEnd::most_steps);
    }

  private:
    enum class Found { all, none, ill };  // none: no covariance; ill: too near to none to be trusted
    static constexpr int64_t kFirst = 2;  // steps before Newton's first
    static constexpr int64_t kCells = 3;  // to a number of the covariance: fewer are not worth derivatives

    const CellSystem& s;
    const int64_t numbers;  // of a covariance
    Cholesky psi, H;
    std::vector<Buffer> spreads;  // of each pattern, the covariance of what it lacks
    Buffer inverse;               // (m, m) of the covariance
    double log_det = 0;

    CellEnd finish(CellEnd how) {
        return invert(cov) == Found::all && complete(true) ? how : CellEnd::singular;
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

    // The most likely cells for the inverse; false: they cannot be told. How well they can is a matter of
    // Q, as long as the inverse is to be trusted: it is asked at the first step and at the end.
    bool complete(bool checked) {
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
        if (checked && s.ridge == 0 && 1 / (size * H.inverse_norm()) < s.well) return false;
        for (int64_t a = 0; a < c; ++a) {
            const double *pull = s.pull + s.row[a] * m, *by = &inverse[s.column[a] * m];
            cells[a] = inner_product(pull, by, m);
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
        spreads.resize(s.start.size() - 1);
        for (size_t g = 0; g + 1 < s.start.size(); ++g) {
            const int32_t* at = s.missing + s.start[g];
            const int64_t k = s.start[g + 1] - s.start[g];
            if (k == 1) {
                const double precision = inverse[*at * s.m + *at];
                logs += s.weight[g] * std::log(precision);
                S[*at * s.m + *at] += s.weight[g] / precision;
                spreads[g].assign(1, 1 / precision);
                continue;
            }
            part.resize(k * k);
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j) part[i * k + j] = inverse[at[i] * s.m + at[j]];
            psi.factor(part.data(), k);
            logs += s.weight[g] * psi.log_determinant();
            spreads[g] = psi.inverse();
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j)
                    S[at[i] * s.m + at[j]] += s.weight[g] * spreads[g][i * k + j];
        }
        return logs;
    }

    // What Q and what `among` make of the cells, column by column: (c, m) each, the pull less it.
    void left(Buffer& by_q, Buffer& by_among) const {
        const int64_t c = s.c, m = s.m;
        for (int64_t a = 0; a < c; ++a) {
            double *q = &by_q[a * m], *h = &by_among[a * m];
            std::copy_n(s.pull + s.row[a] * m, m, q);
            std::copy_n(s.pull + s.row[a] * m, m, h);
            for (int64_t b = 0; b < c; ++b) {
                q[s.column[b]] -= s.Q[s.row[a] * s.rows + s.row[b]] * cells[b];
                h[s.column[b]] -= s.among[a * c + b] * cells[b];
            }
        }
    }

    // dΛ = -Λ dΨ Λ for dΨ with a 1 at (i, j) and (j, i).
    Buffer bent(int64_t i, int64_t j) const {
        const int64_t m = s.m;
        Buffer found(m * m);
        for (int64_t a = 0; a < m; ++a)
            for (int64_t b = 0; b < m; ++b) {
                found[a * m + b] = -inverse[a * m + i] * inverse[j * m + b];
                if (i != j) found[a * m + b] -= inverse[a * m + j] * inverse[i * m + b];
            }
        return found;
    }

    // Less of what spread adds, when Λ moves by `bend`.
    void narrow(const Buffer& bend, Buffer& S) const {
        for (size_t g = 0; g + 1 < s.start.size(); ++g) {
            const int32_t* at = s.missing + s.start[g];
            const int64_t k = s.start[g + 1] - s.start[g];
            const Buffer& spread = spreads[g];
            Buffer half(k * k, 0.0);
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j)
                    for (int64_t l = 0; l < k; ++l)
                        half[i * k + j] += spread[i * k + l] * bend[at[l] * s.m + at[j]];
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j)
                    for (int64_t l = 0; l < k; ++l)
                        S[at[i] * s.m + at[j]] -= s.weight[g] * half[i * k + l] * spread[l * k + j];
        }
    }

    // Newton's step to where the map of `step` has its fixed point, from a point and its image; false: its
    // derivative is singular.
    bool newton(const Buffer& at, const Buffer& image, Buffer& ahead) const {
        const int64_t c = s.c, m = s.m, width = padded(numbers);
        Buffer by_q(c * m), by_among(c * m), moves(c * width, 0.0), A(numbers * numbers, 0.0), b(numbers);
        std::vector<Buffer> bends;
        left(by_q, by_among);
        for (int64_t i = 0, k = 0; i < m; ++i)
            for (int64_t j = 0; j <= i; ++j, ++k) {
                bends.push_back(bent(i, j));
                for (int64_t a = 0; a < c; ++a)
                    moves[a * width + k] = inner_product(&by_among[a * m], &bends[k][s.column[a] * m], m);
                b[k] = image[i * m + j] - at[i * m + j];
            }
        H.solve(moves.data(), width);
        Buffer S(m * m);
        for (int64_t k = 0; k < numbers; ++k) {
            std::fill(S.begin(), S.end(), 0.0);
            for (int64_t a = 0; a < c; ++a)
                for (int64_t j = 0; j < m; ++j) {
                    const double by = moves[a * width + k] * by_q[a * m + j];
                    S[s.column[a] * m + j] -= by;
                    S[j * m + s.column[a]] -= by;
                }
            narrow(bends[k], S);
            for (int64_t i = 0, r = 0; i < m; ++i)
                for (int64_t j = 0; j <= i; ++j, ++r)
                    A[r * numbers + k] = (r == k) - (S[i * m + j] + S[j * m + i]) / (2 * s.n);
        }
        if (!eliminate(A, b)) return false;
        for (int64_t i = 0, k = 0; i < m; ++i)
            for (int64_t j = 0; j <= i; ++j, ++k)
                ahead[i * m + j] = ahead[j * m + i] = at[i * m + j] + b[k];
        return true;
    }

    // The log-likelihood of a covariance, but for a constant, and its successor.
    Found step(const Buffer& at, Buffer& next, double& likelihood) {
        if (const Found found = invert(at); found != Found::all) return found;
        if (!complete(steps == 1)) return Found::ill;
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
