// Rows in which cells are missing (NaN).
//
// Independent columns: a missing cell adds nothing, to a sum or to a score.
//
// Gaussians with a covariance: let Λ = Σ⁻¹, and let a row have the columns o and lack the columns m. Given
// d_o = x_o - m_o, the missing part has the mean G d_o, G = -Λ_mm⁻¹ Λ_mo, and the covariance Λ_mm⁻¹; and
// with d completed by that mean, the density of what is there is
//   ln p(x_o) = -½ (ln|Σ| + ln|Λ_mm| + |o| ln 2π + dᵀΛd).
// So a pattern of missing columns costs a factor of Λ_mm, as small as the pattern, not one of Σ_oo.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/matrix.hpp"
#include "kernels/moments.hpp"
#include "kernels/scores.hpp"
#include "kernels/tile.hpp"

namespace likelier {

constexpr double kLog2Pi = 1.8378770664093453;

// ---- independent columns -------------------------------------------------------------------------
// Moments by class and column of what is there: `n` counts the rows of a class, `seen` (K, p) its cells.
// As in TileMeans, means are offsets from one value of their class and column.
class ColumnSums {
  public:
    ColumnSums(int64_t K, int64_t p)
        : p(p), weight(K * p), offset(K * p), base(K * p, 0.0), begun(K * p, false), open(K, p) {}

    // Weights and mean offsets of these rows; false if a sum is not finite.
    bool measure(const Rows& rows, int64_t first, int64_t count, const Labels& labels, double* n) {
        std::fill(weight.begin(), weight.end(), 0.0);
        std::fill(offset.begin(), offset.end(), 0.0);
        for (int64_t r = 0; r < count; ++r) {
            const double* x = rows.x + r * rows.stride;
            labels.each(first + r, [&](int64_t k, double w) {
                n[k] += w;
                if (open[k] > 0 && w > 0) begin(k, x);
                const double* b = &base[k * p];
                double *m = &weight[k * p], *s = &offset[k * p];
                for (int64_t j = 0; j < p; ++j) {
                    const bool here = x[j] == x[j];
                    m[j] += here ? w : 0.0;
                    s[j] += here ? w * (x[j] - b[j]) : 0.0;
                }
            });
        }
        double check = 0;
        for (size_t i = 0; i < offset.size(); ++i) {
            check += offset[i] * 0;
            if (weight[i] > 0) offset[i] /= weight[i];
        }
        return check == 0;
    }

    // The scatter of these rows about their means, and of the means about those so far, into S.
    void join(const Rows& rows, int64_t first, int64_t count, const Labels& labels, double* seen,
              double* mean, double* S) const {
        for (int64_t r = 0; r < count; ++r) {
            const double* x = rows.x + r * rows.stride;
            labels.each(first + r, [&](int64_t k, double w) {
                const double *b = &base[k * p], *m = &offset[k * p];
                double* s = S + k * p;
                for (int64_t j = 0; j < p; ++j) {
                    const double d = (x[j] - b[j]) - m[j];
                    s[j] += x[j] == x[j] ? w * d * d : 0.0;
                }
            });
        }
        for (size_t i = 0; i < offset.size(); ++i) {
            if (!(weight[i] > 0)) continue;
            const double share = weight[i] / (seen[i] + weight[i]), d = offset[i] - mean[i];
            S[i] += seen[i] * share * d * d;
            mean[i] += share * d;
            seen[i] += weight[i];
        }
    }

    void finish(double* mean) const {
        for (size_t i = 0; i < base.size(); ++i) mean[i] += base[i];
    }

  private:
    void begin(int64_t k, const double* x) {
        for (int64_t j = 0; j < p; ++j)
            if (!begun[k * p + j] && x[j] == x[j]) {
                begun[k * p + j] = true;
                base[k * p + j] = x[j];
                --open[k];
            }
    }

    const int64_t p;
    std::vector<double> weight, offset, base;
    std::vector<bool> begun;
    std::vector<int64_t> open;  // columns of each class in which nothing has been seen yet
};

inline Cell column_moments(const Matrix& X, const Labels& labels, double* n, double* seen, double* mean,
                           double* S) {
    const int64_t total = row_count(X), p = column_count(X), height = tile_rows(p);
    ColumnSums sums(labels.K, p);
    Buffer scratch(height * padded(p));
    for (int64_t first = 0; first < total; first += height) {
        const int64_t count = std::min(height, total - first);
        const Rows block =
            std::visit([&](const auto& m) { return rows(m, first, count, scratch.data()); }, X);
        if (!sums.measure(block, first, count, labels, n)) {
            const Cell bad = find_infinite(X, first, count);
            if (bad.found()) return bad;
        }
        sums.join(block, first, count, labels, seen, mean, S);
    }
    sums.finish(mean);
    return {};
}

// b_k + Σ_j (c_kj - ½ ((x_j - m_kj) s_kj)²) over the columns that are there.
inline Cell diagonal_gaps(const Matrix& X, const double* mean, const double* scale, const double* constant,
                          const double* b, int64_t K, double* Z, bool add) {
    const int64_t p = column_count(X);
    return each_tile<Cells::some>(X, K, Z, add, [&](const TurnedTile& tile, double* z, int64_t, int64_t) {
        for (int64_t k = 0; k < K; ++k)
            for (int64_t r = 0; r < kHeight; r += kSpan * kLanes) {
                vd sum[kSpan];
                LIKELIER_UNROLL
                for (int v = 0; v < kSpan; ++v) sum[v] = splat(b[k]);
                for (int64_t j = 0; j < p; ++j) {
                    const vd m = splat(mean[k * p + j]), s = splat(scale[k * p + j]);
                    const vd c = splat(constant[k * p + j]);
                    LIKELIER_UNROLL
                    for (int v = 0; v < kSpan; ++v) {
                        const vd x = load(&tile.x[j * kHeight + r + v * kLanes]);
                        const vd d = (x - m) * s;
                        sum[v] += x == x ? c - splat(0.5) * d * d : splat(0.0);
                    }
                }
                LIKELIER_UNROLL
                for (int v = 0; v < kSpan; ++v) store(z + k * kHeight + r + v * kLanes, sum[v]);
            }
    });
}

// ---- Gaussians with a covariance -----------------------------------------------------------------
// What one pattern of missing columns asks of one precision Λ.
struct Gap {
    std::vector<int32_t> missing;
    Buffer gain;            // (m, p), -Λ_mm⁻¹ Λ_mo; 0 where the column is missing
    std::vector<double> L;  // (m, m), lower: Λ_mm = LLᵀ
    double log_det = 0;     // ln|Λ_mm|

    int64_t m() const { return static_cast<int64_t>(missing.size()); }

    void factor(const double* precision, int64_t p) {
        const int64_t m = this->m();
        L.assign(m * m, 0.0);
        gain.assign(m * p, 0.0);
        log_det = 0;
        for (int64_t a = 0; a < m; ++a)
            for (int64_t b = 0; b <= a; ++b) {
                double s = precision[missing[a] * p + missing[b]];
                for (int64_t c = 0; c < b; ++c) s -= L[a * m + c] * L[b * m + c];
                L[a * m + b] = a == b ? std::sqrt(s) : s / L[b * m + b];
                if (a == b) log_det += 2 * std::log(L[a * m + a]);
            }
        for (int64_t a = 0; a < m; ++a) {  // L⁻¹ Λ_mo
            double* g = &gain[a * p];
            const double* row = precision + missing[a] * p;
            for (int64_t j = 0; j < p; ++j) g[j] = -row[j];
            for (int64_t c = 0; c < a; ++c) subtract(L[a * m + c], &gain[c * p], g, p);
            divide(L[a * m + a], g, p);
        }
        for (int64_t a = m - 1; a >= 0; --a) {  // L⁻ᵀ of it
            double* g = &gain[a * p];
            for (int64_t c = a + 1; c < m; ++c) subtract(L[c * m + a], &gain[c * p], g, p);
            divide(L[a * m + a], g, p);
        }
        for (int64_t a = 0; a < m; ++a)
            for (const int32_t j : missing) gain[a * p + j] = 0;
    }

    // What row a of the gain makes of d, in which missing cells are 0.
    double expected(int64_t a, const double* d, int64_t p) const {
        const double* g = &gain[a * p];
        vd sums = splat(0.0);
        int64_t j = 0;
        for (; j + kLanes <= p; j += kLanes) sums += load(g + j) * load(d + j);
        double s = total(sums);
        for (; j < p; ++j) s += g[j] * d[j];
        return s;
    }

  private:
    static void subtract(double f, const double* from, double* to, int64_t p) {
        for (int64_t j = 0; j < p; ++j) to[j] -= f * from[j];
    }
    static void divide(double f, double* to, int64_t p) {
        for (int64_t j = 0; j < p; ++j) to[j] /= f;
    }
};

// The columns that a row lacks.
inline void find_missing(const double* x, int64_t p, std::vector<int32_t>& missing) {
    missing.clear();
    for (int64_t j = 0; j < p; ++j)
        if (x[j] != x[j]) missing.push_back(static_cast<int32_t>(j));
}

// K Gaussians and what each pattern met so far asks of them. A pattern is factored once, whoever meets it
// first; past kMostBytes the rarer ones are factored anew each time.
class GappyGaussians {
  public:
    static constexpr int64_t kMostBytes = 64 << 20;

    struct Pattern {
        std::vector<Gap> gaps;   // one for each precision: K of them, or one that all classes share
        std::vector<double> at;  // (K, m), what class k expects where the row is at the shift: 0 elsewhere
    };

    // All about one shift: mean (K, p) less it. U (Q, p, p), upper, Λ = UᵀU; Q is K or 1.
    GappyGaussians(std::vector<double> mean, std::vector<double> shift, std::vector<double> U,
                   std::vector<double> precision, int64_t K, int64_t Q)
        : K(K),
          Q(Q),
          p(static_cast<int64_t>(shift.size())),
          mean(std::move(mean)),
          shift(std::move(shift)),
          U(std::move(U)),
          precision(std::move(precision)),
          whitened(K * p) {
        for (int64_t k = 0; k < K; ++k) {
            const double* Uk = &this->U[which(k) * p * p];
            for (int64_t i = 0; i < p; ++i)
                for (int64_t j = i; j < p; ++j)
                    whitened[k * p + i] += Uk[i * p + j] * this->mean[k * p + j];
        }
    }

    // b_k + ln p(x_o | C_k) - ln p(x | C_k)'s own constant: b (K) holds that, -½ (ln|Σ| + p ln 2π).
    Cell scores(const Matrix& X, const double* b, double* Z, bool add) {
        Buffer d(p * kHeight), row(kHeight * p);
        std::vector<const Pattern*> patterns(kHeight);
        std::vector<Pattern> spare(kHeight);
        return each_tile<Cells::some>(
            X, K, Z, add, [&](const TurnedTile& tile, double* z, int64_t, int64_t count) {
                tile.centred(shift.data(), d.data());
                for (int64_t r = 0; r < kHeight; ++r)
                    patterns[r] = r < count ? centred_row(&d[r], &row[r * p], spare[r]) : nullptr;
                for (int64_t k = 0; k < K; ++k) {
                    for (int64_t r = 0; r < count; ++r)
                        if (patterns[r])
                            fill_in(*patterns[r], k, &row[r * p],
                                    [&](int32_t j, double x) { d[j * kHeight + r] = x; });
                    double* norm = z + k * kHeight;
                    quadratic_tile(d.data(), &U[which(k) * p * p], &whitened[k * p], p, norm);
                    for (int64_t r = 0; r < count; ++r)
                        norm[r] = b[k] - 0.5 * (norm[r] + less(patterns[r], k));
                }
            });
    }

    // X with each missing cell replaced by Σ_k P_k E[x_j | x_o, C_k]; P (n, K).
    Cell fill(const Matrix& X, const double* P, double* out) {
        const int64_t n = row_count(X);
        if (const Cell bad = find_infinite(X, 0, n); bad.found()) return bad;
        Buffer x(padded(p)), row(p);
        Pattern spare;
        for (int64_t r = 0; r < n; ++r) {
            const Rows one = std::visit([&](const auto& m) { return rows(m, r, 1, x.data()); }, X);
            double* to = out + r * p;
            for (int64_t j = 0; j < p; ++j) to[j] = one.x[j] - shift[j];
            const Pattern* pattern = centred_row<1>(to, row.data(), spare);
            if (pattern)
                for (const int32_t j : pattern->gaps[0].missing) to[j] = 0;
            for (int64_t k = 0; pattern && k < K; ++k)
                fill_in(*pattern, k, row.data(), [&](int32_t j, double x) { to[j] += P[r * K + k] * x; });
            for (int64_t j = 0; j < p; ++j) to[j] = one.x[j] == one.x[j] ? one.x[j] : to[j] + shift[j];
        }
        return {};
    }

    const int64_t K, Q, p;

  private:
    int64_t which(int64_t k) const { return Q == 1 ? 0 : k; }

    // ln|Λ_mm| - m ln 2π: what the density of a row is spared where columns are missing.
    double less(const Pattern* pattern, int64_t k) const {
        if (!pattern) return 0;
        const Gap& gap = pattern->gaps[which(k)];
        return gap.log_det - static_cast<double>(gap.m()) * kLog2Pi;
    }

    // A centred row, its cells Step apart, copied to `row` with 0 for what is missing; and its pattern.
    template <int64_t Step = kHeight>
    const Pattern* centred_row(double* from, double* row, Pattern& spare) {
        bool whole = true;
        for (int64_t j = 0; j < p; ++j) {
            row[j] = from[j * Step];
            whole = whole && row[j] == row[j];
        }
        if (whole) return nullptr;
        std::vector<int32_t> missing;
        find_missing(row, p, missing);
        for (const int32_t j : missing) row[j] = from[j * Step] = 0;
        return look_up(std::move(missing), spare);
    }

    template <class Put>
    void fill_in(const Pattern& pattern, int64_t k, const double* row, Put&& put) const {
        const Gap& gap = pattern.gaps[which(k)];
        const int64_t m = gap.m();
        for (int64_t a = 0; a < m; ++a)
            put(gap.missing[a], gap.expected(a, row, p) + pattern.at[k * m + a]);
    }

    const Pattern* look_up(std::vector<int32_t> missing, Pattern& spare) {
        const std::string key(reinterpret_cast<const char*>(missing.data()),
                              missing.size() * sizeof(int32_t));
        {
            const std::shared_lock reading(lock);
            if (const auto found = known.find(key); found != known.end()) return found->second.get();
        }
        auto made = std::make_unique<Pattern>(factored(std::move(missing)));
        const std::unique_lock writing(lock);
        const auto size = static_cast<int64_t>(8 * (made->at.size() + Q * made->gaps[0].m() * (p + 1)));
        if (bytes + size > kMostBytes) {
            spare = std::move(*made);
            return &spare;
        }
        const auto [at, added] = known.try_emplace(key, std::move(made));
        if (added) bytes += size;
        return at->second.get();
    }

    Pattern factored(std::vector<int32_t> missing) const {
        Pattern pattern{std::vector<Gap>(Q), std::vector<double>(K * missing.size())};
        const int64_t m = static_cast<int64_t>(missing.size());
        for (int64_t q = 0; q < Q; ++q) {
            pattern.gaps[q].missing = missing;
            pattern.gaps[q].factor(&precision[q * p * p], p);
        }
        for (int64_t k = 0; k < K; ++k) {
            const double* mk = &mean[k * p];
            for (int64_t a = 0; a < m; ++a)
                pattern.at[k * m + a] = mk[missing[a]] - pattern.gaps[which(k)].expected(a, mk, p);
        }
        return pattern;
    }

    const std::vector<double> mean, shift, U, precision;
    std::vector<double> whitened;  // (K, p), U_k (m_k - shift)
    std::shared_mutex lock;
    std::unordered_map<std::string, std::unique_ptr<Pattern>> known;
    int64_t bytes = 0;
};

// ---- expectation ---------------------------------------------------------------------------------
// Rows (r, p) in groups of one class and one pattern each. A row may stand for many: its weight is theirs,
// it is their mean, and `spread` is the group's place among `scatters`, (., p, p), 0 where columns are
// missing; -1: none.
struct Groups {
    const double* X;
    const double* weights;
    const int64_t* start;  // (g + 1)
    const int32_t* code;   // (g)
    const int64_t* spread;
    const double* scatters;
    int64_t count, p;
};

// total Λ_mm⁻¹, the variance of what `total` rows lack.
inline void add_variance(const Gap& gap, double total, int64_t p, std::vector<double>& inverse,
                         double* second) {
    const int64_t m = gap.m();
    inverse.assign(m * m, 0.0);  // L⁻¹
    for (int64_t b = 0; b < m; ++b)
        for (int64_t a = b; a < m; ++a) {
            double s = a == b ? 1.0 : 0.0;
            for (int64_t c = b; c < a; ++c) s -= gap.L[a * m + c] * inverse[c * m + b];
            inverse[a * m + b] = s / gap.L[a * m + a];
        }
    for (int64_t a = 0; a < m; ++a)
        for (int64_t b = 0; b < m; ++b) {
            double s = 0;
            for (int64_t c = std::max(a, b); c < m; ++c) s += inverse[c * m + a] * inverse[c * m + b];
            second[gap.missing[a] * p + gap.missing[b]] += total * s;
        }
}

// A scatter of the columns that are there, completed: S, GS, GSGᵀ.
inline void add_scatter(const Gap& gap, const double* S, int64_t p, std::vector<double>& GS,
                        double* second) {
    const int64_t m = gap.m();
    for (int64_t i = 0; i < p * p; ++i) second[i] += S[i];
    GS.assign(m * p, 0.0);
    for (int64_t a = 0; a < m; ++a)
        for (int64_t i = 0; i < p; ++i) {
            const double g = gap.gain[a * p + i];
            for (int64_t j = 0; j < p; ++j) GS[a * p + j] += g * S[i * p + j];
        }
    for (int64_t a = 0; a < m; ++a) {
        const int64_t at = gap.missing[a];
        for (int64_t j = 0; j < p; ++j) {
            second[at * p + j] += GS[a * p + j];
            second[j * p + at] += GS[a * p + j];
        }
        for (int64_t b = 0; b < m; ++b) second[at * p + gap.missing[b]] += gap.expected(b, &GS[a * p], p);
    }
}

// What is expected of the rows, about the means (K, p) of their classes and under one precision: first
// (K, p) += Σ w d, second (p, p) += Σ w ddᵀ with the variance of what is missing. Returns Σ w ln|Λ_mm| and
// Σ w m, for the likelihood.
inline std::pair<double, double> expect(const Groups& groups, const double* mean, const double* precision,
                                        double* first, double* second) {
    const int64_t p = groups.p;
    Packed packed(panel_rows(p), p);
    Buffer S(packed.P * packed.P, 0.0), d(p);
    std::vector<double> scatter(p * p), scratch;
    double logs = 0, lacking = 0;
    Gap gap;
    for (int64_t g = 0; g < groups.count; ++g) {
        const int64_t from = groups.start[g], to = groups.start[g + 1];
        const double* m = mean + groups.code[g] * p;
        double *sum = first + groups.code[g] * p, total = 0;
        find_missing(groups.X + from * p, p, gap.missing);
        gap.factor(precision, p);
        for (int64_t r = from; r < to; ++r) {
            const double *x = groups.X + r * p, w = groups.weights[r];
            for (int64_t j = 0; j < p; ++j) d[j] = x[j] == x[j] ? x[j] - m[j] : 0.0;
            // Gains are 0 where a column is missing, so what is already filled in does not count.
            for (int64_t a = 0; a < gap.m(); ++a) d[gap.missing[a]] = gap.expected(a, d.data(), p);
            for (int64_t j = 0; j < p; ++j) sum[j] += w * d[j];
            if (packed.full()) packed.flush(S.data());
            packed.add(d.data(), w);
            total += w;
        }
        logs += total * gap.log_det;
        lacking += total * static_cast<double>(gap.m());
        add_variance(gap, total, p, scratch, second);
        if (groups.spread[g] >= 0)
            add_scatter(gap, groups.scatters + groups.spread[g] * p * p, p, scratch, second);
    }
    packed.flush(S.data());
    mirror(S.data(), p, packed.P, scatter.data());
    for (int64_t i = 0; i < p * p; ++i) second[i] += scatter[i];
    return {logs, lacking};
}

}  // namespace likelier
