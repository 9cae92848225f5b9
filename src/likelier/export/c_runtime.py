"""What exported C consists of: functions of C99, and which of the others each needs."""

from typing import NamedTuple


class Function(NamedTuple):
    """The source of a function, and the functions that it calls."""

    source: str
    needs: tuple[str, ...] = ()


_ENCODING = {
    "finite": Function("""\
static double finite(double value) {
    return isfinite(value) ? value : NAN;
}
"""),
    "scaled": Function("""\
/* (x - shift) / scale, fill where x is missing */
static double scaled(double v, double shift, double scale, double fill) {
    double found = (v - shift) / scale;
    return isnan(found) ? fill : found;
}
"""),
    "limited": Function("""\
/* missing outside of the limits */
static double limited(double v, double low, double high, int whole) {
    if (isnan(v) || isinf(v)) return v;
    return v < low || v > high || (whole && v != floor(v)) ? NAN : v;
}
"""),
    "in_units": Function("""\
/* a number over 2^power, at most 1e300 */
static double in_units(double v, int power) {
    double found;
    if (isnan(v) || isinf(v)) return v;
    found = ldexp(v, -power);
    return isinf(found) ? copysign(1e300, v) : found;
}
"""),
    "is_missing": Function("""\
static double is_missing(double v) { return isnan(v) ? 1.0 : 0.0; }
"""),
    "is_missing_level": Function("""\
static double is_missing_level(double place, int count, int unseen) {
    return isnan(place) || (unseen && place == count) ? 1.0 : 0.0;
}
"""),
    "indicator": Function("""\
/* 1 where a category is one of these levels */
static double indicator(double place, int count, const int *levels, int n, int missing, int unseen) {
    int i;
    if (isnan(place)) return missing;
    if (place == count) return unseen;
    for (i = 0; i < n; ++i)
        if (place == levels[i]) return 1.0;
    return 0.0;
}
"""),
    "coded": Function("""\
/* the code of a category */
static double coded(double place, const double *codes, int count, double unseen, double missing) {
    if (isnan(place)) return missing;
    return place == count ? unseen : codes[(int)place];
}
"""),
    "binned": Function("""\
/* how many cuts are below a number */
static double binned(double v, const double *cuts, int n) {
    int i, found = 0;
    if (isnan(v)) return v;
    for (i = 0; i < n; ++i) found += cuts[i] < v;
    return found;
}
"""),
    "date_part": Function("""\
/* a part of a date, in days since 1970 (Hinnant's civil_from_days) */
static double date_part(double days, const char *part) {
    double whole, second;
    long z, era, doe, yoe, doy, mp, d, m, y, jan, yday, weekday;
    if (isnan(days)) return NAN;
    days = round(days * 86400e6) / 86400e6;
    whole = floor(days);
    second = round((days - whole) * 86400e6) / 1e6;
    if (second >= 86400) { whole += 1; second -= 86400; }
    z = (long)whole + 719468;
    era = (z >= 0 ? z : z - 146096) / 146097;
    doe = z - era * 146097;
    yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    mp = (5 * doy + 2) / 153;
    d = doy - (153 * mp + 2) / 5 + 1;
    m = mp < 10 ? mp + 3 : mp - 9;
    y = yoe + era * 400 + (m <= 2);
    jan = (y - 1) * 365 + (y - 1) / 4 - (y - 1) / 100 + (y - 1) / 400 - 719162;
    yday = (long)whole - jan + 1;
    weekday = (((long)whole + 3) % 7 + 7) % 7;
    if (!strcmp(part, "year")) return y;
    if (!strcmp(part, "quarter")) return (m + 2) / 3;
    if (!strcmp(part, "month")) return m;
    if (!strcmp(part, "day")) return d;
    if (!strcmp(part, "weekday")) return weekday;
    if (!strcmp(part, "yearday")) return yday;
    if (!strcmp(part, "hour")) return floor(second / 3600);
    if (!strcmp(part, "minute")) return fmod(floor(second / 60), 60);
    /* the week of the Thursday that this week has */
    {
        double thursday = whole - weekday + 3;
        return floor((date_part(thursday, "yearday") - 1) / 7) + 1;
    }
}
"""),
}

_TERMS = {
    "linear": Function("""\
/* sum_j c_kj + W_kj (x_j - shift_j); skip: a missing cell adds nothing, else the row has no score */
static void linear(double *z, const double *x, int K, const int *columns, int q, const double *W,
                   const double *shift, const double *constant, int skip) {
    int i, k;
    for (i = 0; i < q; ++i) {
        double v = x[columns[i]];
        if (isnan(v) && skip) continue;
        for (k = 0; k < K; ++k) z[k] += constant[k * q + i] + W[k * q + i] * (v - shift[i]);
    }
}
"""),
    "steps": Function("""\
/* the same of 1[x_j > above] */
static void steps(double *z, const double *x, int K, const int *columns, int q, const double *W,
                  const double *shift, const double *constant, double above) {
    int i, k;
    for (i = 0; i < q; ++i) {
        double v = x[columns[i]];
        if (isnan(v)) continue;
        for (k = 0; k < K; ++k)
            z[k] += constant[k * q + i] + W[k * q + i] * ((v > above ? 1.0 : 0.0) - shift[i]);
    }
}
"""),
    "squares": Function("""\
/* sum_j c_kj - ((x_j - m_kj) s_kj)^2 / 2; a missing cell adds nothing */
static void squares(double *z, const double *x, int K, const int *columns, int q, const double *mean,
                    const double *scale, const double *constant) {
    int i, k;
    for (i = 0; i < q; ++i) {
        double v = x[columns[i]];
        if (isnan(v)) continue;
        for (k = 0; k < K; ++k) {
            double d = (v - mean[k * q + i]) * scale[k * q + i];
            z[k] += constant[k * q + i] - 0.5 * d * d;
        }
    }
}
"""),
    "quadratic": Function("""\
/* -|U_k (x - shift_k) - at_k|^2 / 2; shifts and matrices of all classes, or one for all */
static void quadratic(double *z, const double *x, int K, const int *columns, int q, const double *shift,
                      int shifts, const double *U, int matrices, const double *at, int r) {
    int i, j, k;
    for (k = 0; k < K; ++k) {
        const double *M = U + (size_t)(k % matrices) * r * q, *about = shift + (size_t)(k % shifts) * q;
        double total = 0;
        for (j = 0; j < r; ++j) {
            double u = -at[k * r + j];
            for (i = 0; i < q; ++i) u += M[j * q + i] * (x[columns[i]] - about[i]);
            total += u * u;
        }
        z[k] -= 0.5 * total;
    }
}
"""),
    "any_missing": Function("""\
static int any_missing(const double *x, const int *columns, int q) {
    int i;
    for (i = 0; i < q; ++i)
        if (isnan(x[columns[i]])) return 1;
    return 0;
}
"""),
    "eigen": Function("""\
/* eigenvalues (on the diagonal of A) and eigenvectors (rows of V), by Jacobi's rotations */
static void eigen(double *A, double *V, int n) {
    int i, j, p, q, sweep;
    for (i = 0; i < n; ++i)
        for (j = 0; j < n; ++j) V[i * n + j] = i == j;
    for (sweep = 0; sweep < 60; ++sweep) {
        double off = 0;
        for (i = 0; i < n; ++i)
            for (j = 0; j < i; ++j) off += A[i * n + j] * A[i * n + j];
        if (off <= 1e-34 * n) return;
        for (p = 0; p < n; ++p)
            for (q = p + 1; q < n; ++q) {
                double theta, t, c, s;
                if (fabs(A[p * n + q]) <= 1e-300) continue;
                theta = (A[q * n + q] - A[p * n + p]) / (2 * A[p * n + q]);
                t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1));
                c = 1 / sqrt(t * t + 1);
                s = t * c;
                for (i = 0; i < n; ++i) {
                    double a = A[p * n + i], b = A[q * n + i], v = V[p * n + i], w = V[q * n + i];
                    A[p * n + i] = c * a - s * b;
                    A[q * n + i] = s * a + c * b;
                    V[p * n + i] = c * v - s * w;
                    V[q * n + i] = s * v + c * w;
                }
                for (i = 0; i < n; ++i) {
                    double a = A[i * n + p], b = A[i * n + q];
                    A[i * n + p] = c * a - s * b;
                    A[i * n + q] = s * a + c * b;
                }
            }
    }
}
"""),
    "marginal": Function(
        """\
/* w ln N(what is there; m_k, S_k), over the directions whose deviation is above tol */
static void marginal(double *z, const double *x, int K, const int *columns, int q, const double *mean,
                     const double *cov, int matrices, double tol, double weight, double *room) {
    int a, b, k, n = 0, *here = (int *)(room + 2 * (size_t)q * q + 2 * (size_t)q);
    double *A = room, *V = A + (size_t)q * q, *sd = V + (size_t)q * q, *d = sd + q;
    for (a = 0; a < q; ++a)
        if (!isnan(x[columns[a]])) here[n++] = a;
    for (k = 0; k < K; ++k) {
        const double *S = cov + (size_t)(k % matrices) * q * q;
        double total = 0;
        for (a = 0; a < n; ++a) {
            double v = S[here[a] * q + here[a]];
            sd[a] = v > 0 ? sqrt(v) : 1.0;
            d[a] = (x[columns[here[a]]] - mean[k * q + here[a]]) / sd[a];
            total += 2 * log(sd[a]);
        }
        for (a = 0; a < n; ++a)
            for (b = 0; b < n; ++b) A[a * n + b] = S[here[a] * q + here[b]] / sd[a] / sd[b];
        eigen(A, V, n);
        for (a = 0; a < n; ++a) {
            double u = 0, value = A[a * n + a];
            if (!(value > tol * tol)) continue;
            for (b = 0; b < n; ++b) u += V[a * n + b] * d[b];
            total += u * u / value + log(value) + 1.8378770664093453;
        }
        z[k] -= 0.5 * weight * total;
    }
}
""",
        ("eigen",),
    ),
    "lookup": Function("""\
/* a row of a table by the code of a cell */
static void lookup(double *z, const double *x, int K, int column, const double *table, int rows,
                   const double *unseen, const double *missing) {
    double v = x[column];
    const double *row = isnan(v) ? missing : v < rows ? table + (size_t)v * K : unseen;
    int k;
    for (k = 0; k < K; ++k) z[k] += row[k];
}
"""),
    "bins": Function("""\
/* a row of a table by the bin of a number: how many cuts are at most it */
static void bins(double *z, const double *x, int K, int column, const double *cuts, int n,
                 const double *table) {
    double v = x[column];
    int i, at = 0, k;
    if (isnan(v)) return;
    for (i = 0; i < n; ++i) at += cuts[i] <= v;
    for (k = 0; k < K; ++k) z[k] += table[at * K + k];
}
"""),
    "ratios": Function("""\
/* sum_j c_kj + A_kj d + B_kj e, d = u/o - 1, e = d - ln(u/o), u = x or 1 - x */
static void ratios(double *z, const double *x, int K, const int *columns, int q, const double *origin,
                   const double *A, const double *B, const double *constant, int complement) {
    int i, k;
    for (i = 0; i < q; ++i) {
        double v = x[columns[i]], o = origin[i], u, d, e;
        if (isnan(v)) continue;
        u = complement ? 1 - v : v;
        d = (u - o) / o;
        e = fabs(d) < 0.1 ? d - log1p(d) : d - (log(u) - log(o));
        d = fmax(-1e290, fmin(1e290, d));
        e = fmax(-1e290, fmin(1e290, e));
        for (k = 0; k < K; ++k) z[k] += constant[k * q + i] + A[k * q + i] * d + B[k * q + i] * e;
    }
}
"""),
    "draws": Function("""\
/* sum_j x_j ln(theta_kj / sum_i theta_ki) over the cells that are there, i among them */
static void draws(double *z, const double *x, int K, const int *columns, int q, const double *log_theta,
                  double weight) {
    int i, k;
    for (k = 0; k < K; ++k) {
        double n = 0, total = 0, share = 0;
        int there = 0;
        for (i = 0; i < q; ++i) {
            double v = x[columns[i]];
            if (isnan(v)) continue;
            ++there;
            n += v;
            total += v * log_theta[k * q + i];
            share += exp(log_theta[k * q + i]);
        }
        if (there < q) total -= n * log(fmax(share, 2.2250738585072014e-308));
        z[k] += weight * total;
    }
}
"""),
    "dirichlet": Function("""\
/* ln of Dirichlet densities of the shares that are there, and of what is left, as one more */
static void dirichlet(double *z, const double *x, int K, const int *columns, int q, const double *alpha,
                      const double *rest, double whole, double weight) {
    int i, k, there = 0, complete;
    double total = 0, left;
    for (i = 0; i < q; ++i)
        if (x[columns[i]] > 0) { ++there; total += x[columns[i]]; }
    complete = there == q;
    for (k = 0; k < K; ++k) complete = complete && rest[k] == 0;
    if (there == 0 || (complete ? fabs(total / whole - 1) > 1e-6 : total / whole >= 1)) return;
    left = fmax(1 - total / whole, 2.2250738585072014e-308);
    for (k = 0; k < K; ++k) {
        double sum = 0, held = 0, found = 0;
        for (i = 0; i < q; ++i) {
            double a = alpha[k * q + i], v = x[columns[i]];
            sum += a;
            if (!(v > 0)) continue;
            held += a;
            found += a * log(v / (complete ? total : whole)) - lgamma(a);
        }
        if (complete) {
            found += lgamma(held);
        } else {
            double other = rest[k] + sum - held;
            found += lgamma(held + other) - lgamma(other) + other * log(left);
        }
        z[k] += weight * found;
    }
}
"""),
    "log_sum_exp": Function("""\
/* w ln sum_m e^{y_m} over the components m of each class */
static void log_sum_exp(double *z, int K, const double *y, int M, const int *owner, double weight) {
    int k, m;
    for (k = 0; k < K; ++k) {
        double top = -INFINITY, total = 0;
        for (m = 0; m < M; ++m)
            if (owner[m] == k && (y[m] > top || isnan(y[m]))) top = y[m];
        if (top == -INFINITY) { z[k] = top; continue; }
        for (m = 0; m < M; ++m)
            if (owner[m] == k) total += exp(y[m] - top);
        z[k] += weight * (top + log(total));
    }
}
"""),
}

_ANSWERS = {
    "softmax": Function("""\
/* e^z over their sum, in place */
static void softmax(double *z, int K) {
    double top = z[0], total = 0;
    int k;
    for (k = 1; k < K; ++k)
        if (z[k] > top) top = z[k];
    for (k = 0; k < K; ++k) total += z[k] = exp(z[k] - top);
    for (k = 0; k < K; ++k) z[k] /= total;
}
"""),
    "sigmoids": Function(
        """\
/* the logistic function of each z, over their sum */
static void sigmoids(double *z, int K) {
    int k;
    for (k = 0; k < K; ++k) z[k] = (z[k] < 0 ? z[k] : 0) - log1p(exp(-fabs(z[k])));
    softmax(z, K);
}
""",
        ("softmax",),
    ),
    "clipped": Function("""\
/* z cut at -1 and 1, (z + 1) / 2 over their sum; of two classes by the difference */
static void clipped(double *z, int K) {
    double total = 0;
    int k;
    if (K == 2) {
        double m = z[1] - z[0];
        z[1] = ((m > 1 ? 1 : m < -1 ? -1 : m) + 1) / 2;
        z[0] = 1 - z[1];
        return;
    }
    for (k = 0; k < K; ++k) total += z[k] = ((z[k] > 1 ? 1 : z[k] < -1 ? -1 : z[k]) + 1) / 2;
    for (k = 0; k < K; ++k) z[k] = total == 0 ? 1.0 / K : z[k] / total;
}
"""),
}

RUNTIME: dict[str, Function] = {**_ENCODING, **_TERMS, **_ANSWERS}
