"""What exported Python consists of: plain functions of numbers and lists, whose source is copied.

They need nothing but the standard library. Each says in plain Python what `evaluate.py` says in NumPy; the
tests hold them to the same answers.
"""

import math
from datetime import date, datetime, timezone

NAN = float("nan")
INF = float("inf")


def number(value):
    """A cell as a number; NaN where it is missing."""
    return NAN if value is None else float(value)


def level(value, levels):
    """The place of a category among the levels, their count if it is none of them, -1 if it is missing."""
    if value is None or value != value:
        return -1
    return levels.get(value, len(levels))


def moment(value, zone=None):
    """A date as a point in time, by the clock of the zone; None where it is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, (int, float)):  # days since 1970
        seconds = round(value * 86400e6) / 1e6
        value = datetime.fromtimestamp(0, timezone.utc).replace(tzinfo=None) + _seconds(seconds)
    elif isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    elif not isinstance(value, datetime) and isinstance(value, date):
        value = datetime(value.year, value.month, value.day)
    if zone is None:
        return value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)
    from zoneinfo import ZoneInfo

    value = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    return value.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def _seconds(count):
    from datetime import timedelta

    return timedelta(seconds=count)


def days(value):
    """Days since 1970 of a date; NaN where it is missing."""
    at = moment(value)
    if at is None:
        return NAN
    since = at - datetime(1970, 1, 1)
    return since.days + (since.seconds * 1000000 + since.microseconds) / 86400e6


def date_part(value, part, zone=None):
    """A part of a date, such as the month; NaN where it is missing."""
    at = moment(value, zone)
    if at is None:
        return NAN
    parts = {
        "quarter": (at.month + 2) // 3,
        "week": at.isocalendar()[1],
        "weekday": at.weekday(),
        "yearday": at.timetuple().tm_yday,
    }
    return float(parts[part] if part in parts else getattr(at, part))


# Columns.


def scaled(value, shift, scale, fill):
    """(x - shift) / scale, `fill` where x is missing."""
    found = (value - shift) / scale
    return fill if found != found else found


def finite(compute):
    """A number; NaN where it has no finite value."""
    try:
        value = compute()
    except (ArithmeticError, ValueError):
        return NAN
    return value if not isinstance(value, complex) and -INF < value < INF else NAN


def limited(value, low, high, whole):
    """NaN outside of the limits."""
    if value != value or value in (INF, -INF):
        return value
    outside = value < low or value > high or (whole and value != math.floor(value))
    return NAN if outside else value


def in_units(value, power):
    """A number over 2^power, at most 1e300."""
    if value != value or value in (INF, -INF):
        return value
    try:
        found = math.ldexp(value, -power)
    except OverflowError:
        found = math.copysign(INF, value)
    return math.copysign(1e300, value) if found in (INF, -INF) else found


def is_missing(value):
    """1 where a number is missing."""
    return 1.0 if value != value else 0.0


def is_missing_level(place, count, unseen):
    """1 where a category is missing; unseen: or none of the levels."""
    return 1.0 if place < 0 or (unseen and place == count) else 0.0


def indicator(place, count, levels, missing, unseen):
    """1 where a category is one of these levels."""
    if place < 0:
        return float(missing)
    return float(unseen) if place == count else float(place in levels)


def coded(place, codes, unseen, missing):
    """The code of a category."""
    if place < 0:
        return missing
    return unseen if place == len(codes) else codes[place]


def binned(value, cuts):
    """How many cuts are below a number."""
    return NAN if value != value else float(sum(1 for cut in cuts if cut < value))


# Terms: each adds to the scores z of a row x.


def linear(z, x, columns, W, shift, constant, skip):
    """Σ_j (c_kj + W_kj (x_j - shift_j)); skip: a missing cell adds nothing, else the row has no score."""
    for i, j in enumerate(columns):
        v = x[j]
        if v != v and skip:
            continue
        for k in range(len(z)):
            z[k] += constant[k][i] + W[k][i] * (v - shift[i])


def steps(z, x, columns, W, shift, constant, above):
    """The same of 1[x_j > above]."""
    linear(
        z,
        {j: (x[j] if x[j] != x[j] else float(x[j] > above)) for j in columns},
        columns,
        W,
        shift,
        constant,
        True,
    )


def squares(z, x, columns, mean, scale, constant):
    """Σ_j (c_kj - ((x_j - m_kj) s_kj)² / 2); a missing cell adds nothing."""
    for i, j in enumerate(columns):
        v = x[j]
        if v != v:
            continue
        for k in range(len(z)):
            d = (v - mean[k][i]) * scale[k][i]
            z[k] += constant[k][i] - 0.5 * d * d


def quadratic(z, x, columns, shift, U, at):
    """-½ |U_k (x - shift_k) - at_k|²; a row in which a cell is missing has no score."""
    for k in range(len(z)):
        rows, about = U[k % len(U)], shift[k % len(shift)]
        total = 0.0
        for r in range(len(rows)):
            u = -at[k][r]
            for i, j in enumerate(columns):
                u += rows[r][i] * (x[j] - about[i])
            total += u * u
        z[k] -= 0.5 * total


def any_missing(x, columns):
    """Whether a cell of these columns is missing."""
    return any(x[j] != x[j] for j in columns)


def add(z, y):
    """Other scores."""
    for k in range(len(z)):
        z[k] += y[k]


def marginal(z, x, columns, mean, cov, tol, weight):
    """w ln N(what is there; m_k, Σ_k), over the directions whose deviation is above tol."""
    here = [i for i, j in enumerate(columns) if x[j] == x[j]]
    for k in range(len(z)):
        S = cov[k % len(cov)]
        sd = [math.sqrt(S[i][i]) if S[i][i] > 0 else 1.0 for i in here]
        C = [[S[i][j] / sd[a] / sd[b] for b, j in enumerate(here)] for a, i in enumerate(here)]
        d = [(x[columns[i]] - mean[k][i]) / sd[a] for a, i in enumerate(here)]
        values, axes = eigen(C)
        total = 2 * sum(math.log(s) for s in sd)
        for value, axis in zip(values, axes):
            if value > tol * tol:
                u = sum(a * b for a, b in zip(axis, d))
                total += u * u / value + math.log(value) + math.log(2 * math.pi)
        z[k] -= 0.5 * weight * total


def eigen(C):
    """Eigenvalues and eigenvectors of a symmetric matrix, by Jacobi's rotations."""
    n = len(C)
    A = [list(row) for row in C]
    V = [[float(i == j) for j in range(n)] for i in range(n)]  # a row for each vector
    for _ in range(60):
        off = sum(A[i][j] ** 2 for i in range(n) for j in range(i))
        if off <= 1e-34 * n:
            break
        for p in range(n):
            for q in range(p + 1, n):
                if abs(A[p][q]) > 1e-300:
                    rotate(A, V, p, q)
    return [A[i][i] for i in range(n)], V


def rotate(A, V, p, q):
    """One of Jacobi's rotations."""
    theta = (A[q][q] - A[p][p]) / (2 * A[p][q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1))
    c = 1 / math.sqrt(t * t + 1)
    s = t * c
    for M in (A, V):
        for i in range(len(A)):
            M[p][i], M[q][i] = c * M[p][i] - s * M[q][i], s * M[p][i] + c * M[q][i]
    for i in range(len(A)):
        A[i][p], A[i][q] = c * A[i][p] - s * A[i][q], s * A[i][p] + c * A[i][q]


def lookup(z, x, column, table, unseen, missing):
    """A row of a table by the code of a cell."""
    v = x[column]
    row = missing if v != v else table[int(v)] if v < len(table) else unseen
    add(z, row)


def bins(z, x, column, cuts, table):
    """A row of a table by the bin of a number: how many cuts are at most it."""
    v = x[column]
    if v == v:
        add(z, table[sum(1 for cut in cuts if cut <= v)])


def ratios(z, x, columns, origin, A, B, constant, complement):
    """Σ_j (c_kj + A_kj d + B_kj e), d = u/o - 1, e = d - ln(u/o), u = x or 1 - x."""
    for i, j in enumerate(columns):
        v = x[j]
        if v != v:
            continue
        o = origin[i]
        u = 1 - v if complement else v
        d = (u - o) / o
        if abs(d) < 0.1:
            e = d - math.log1p(d)
        else:
            e = d - (math.log(u) - math.log(o))
        d, e = (max(-1e290, min(1e290, value)) for value in (d, e))
        for k in range(len(z)):
            z[k] += constant[k][i] + A[k][i] * d + B[k][i] * e


def draws(z, x, columns, log_theta, weight):
    """Σ_j x_j ln(θ_kj / Σ_i θ_ki) over the cells that are there, i among them."""
    there = [(i, x[j]) for i, j in enumerate(columns) if x[j] == x[j]]
    n = sum(v for _, v in there)
    for k in range(len(z)):
        total = sum(v * log_theta[k][i] for i, v in there)
        if len(there) < len(columns):
            share = sum(math.exp(log_theta[k][i]) for i, _ in there)
            total -= n * math.log(max(share, 2.2250738585072014e-308))
        z[k] += weight * total


def dirichlet(z, x, columns, alpha, rest, whole, weight):
    """ln of Dirichlet densities of the shares that are there, and of what is left, as one more."""
    there = [(i, x[j]) for i, j in enumerate(columns) if x[j] > 0]
    total = sum(v for _, v in there)
    complete = len(there) == len(columns) and not any(rest)
    off = abs(total / whole - 1) > 1e-6 if complete else total / whole >= 1
    if not there or off:
        return
    u = [v / (total if complete else whole) for _, v in there]
    if not complete:
        u.append(max(1 - sum(u), 2.2250738585072014e-308))
    for k in range(len(z)):
        a = [alpha[k][i] for i, _ in there]
        if not complete:
            a.append(rest[k] + sum(alpha[k]) - sum(a))
        density = math.lgamma(sum(a)) - sum(math.lgamma(b) for b in a)
        z[k] += weight * (density + sum(b * math.log(v) for b, v in zip(a, u)))


def log_sum_exp(z, y, owner, weight):
    """w ln Σ_m e^{y_m} over the components m of each class."""
    for k in range(len(z)):
        own = [value for value, of in zip(y, owner) if of == k]
        top = max(own)
        if top == -INF:
            z[k] = -INF
        else:
            z[k] += weight * (top + math.log(sum(math.exp(value - top) for value in own)))


# Answers.


def softmax(z):
    """e^z over their sum."""
    if any(value != value for value in z):
        return [NAN] * len(z)
    top = max(z)
    odds = [math.exp(value - top) if value > -INF else 0.0 for value in z]
    total = sum(odds)
    return [value / total for value in odds]


def sigmoids(z):
    """σ(z) over their sum."""
    return softmax([min(value, 0.0) - math.log1p(math.exp(-abs(value))) for value in z])


def clipped(z):
    """z cut at ±1, (z + 1) / 2 over their sum; of two classes by the difference."""
    if any(value != value for value in z):
        return [NAN] * len(z)
    margins = [z[1] - z[0]] if len(z) == 2 else z
    parts = [(max(-1.0, min(1.0, value)) + 1) / 2 for value in margins]
    if len(z) == 2:
        return [1 - parts[0], parts[0]]
    total = sum(parts)
    return [value / total if total else 1 / len(z) for value in parts]
