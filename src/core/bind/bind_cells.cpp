// What makes hashed rows: dicts, tables and text.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <string_view>

#include "bind/bind.hpp"
#include "online/columns.hpp"
#include "online/hashed.hpp"
#include "online/intake.hpp"
#include "online/learner.hpp"

using namespace likelier;

namespace {

// ---- what Python's objects are ---------------------------------------------------------------------
std::string_view text_of(PyObject* text) {
    Py_ssize_t n = 0;
    const char* at = PyUnicode_AsUTF8AndSize(text, &n);
    if (at == nullptr) {
        PyErr_Clear();
        throw nb::value_error("a name or word is no valid Unicode (it has lone surrogates)");
    }
    return {at, static_cast<size_t>(n)};
}

std::string shown(PyObject* value) {
    const nb::object said = nb::steal(PyObject_Repr(value));
    if (!said.is_valid()) {
        PyErr_Clear();
        return "?";
    }
    const std::string text(text_of(said.ptr()));
    return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

// The name of a type with its module, as in numpy.float64; the stable ABI does not show tp_name.
std::string type_name(PyObject* value) {
    std::string full;
    for (const char* part : {"__module__", "__name__"}) {
        const nb::object text =
            nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), part));
        if (!text.is_valid() || !PyUnicode_Check(text.ptr())) {
            PyErr_Clear();
            continue;
        }
        const std::string_view name = text_of(text.ptr());
        if (name != "builtins") full += (full.empty() ? "" : ".") + std::string(name);
    }
    return full.empty() ? "?" : full;
}

enum class Kind { integer, real, boolean, missing, unknown };

// What an object is that none of Python's own types is: NumPy's scalars, Decimals, and pandas' missing
// value.
Kind kind_of(PyObject* value) {
    const std::string name = type_name(value);
    const auto begins = [&name](const char* prefix) { return name.rfind(prefix, 0) == 0; };
    if (begins("numpy.int") || begins("numpy.uint") || begins("numpy.long") || begins("numpy.ulong"))
        return Kind::integer;
    if (begins("numpy.float") || begins("numpy.longdouble") || name == "decimal.Decimal") return Kind::real;
    if (begins("numpy.bool")) return Kind::boolean;
    const bool pandas = begins("pandas.") && name.size() > 7 && name.substr(name.size() - 7) == ".NAType";
    return pandas ? Kind::missing : Kind::unknown;
}

[[noreturn]] void refuse_value(std::string_view name, PyObject* value) {
    throw nb::type_error(
        ("feature '" + std::string(name) + "' is " + shown(value) + ", of type " + type_name(value) +
         ": a feature is a number, a string, True or False, None, a list of these or a dict. "
         "Make it one, for example by float() or str()")
            .c_str());
}

[[noreturn]] void refuse_number(const std::string& where, double value) {
    const char* what = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    throw nb::value_error(
        (where + " is " + what +
         ": leave it out or give None, or skip and count such cells with non_finite='skip'")
            .c_str());
}

// Dicts within dicts, as deep as Python lets functions call each other.
struct Deeper {
    Deeper() {
        if (Py_EnterRecursiveCall(" in a row of features")) throw nb::python_error();
    }
    ~Deeper() { Py_LeaveRecursiveCall(); }
};

// Dicts to cells. Nothing here runs Python's code: the rows it writes to are nobody else's meanwhile.
class DictReader {
  public:
    DictReader(HashedRows& rows, bool strict) : rows(rows), strict(strict) {}

    void row(PyObject* x) {
        if (!PyDict_Check(x))
            throw nb::type_error((std::string("a row is a dict of features by name, not ") + type_name(x) +
                                  " (" + shown(x) + "): make it one, for example by dict()")
                                     .c_str());
        features(x, {});
    }

    void cell(std::string_view name, PyObject* value) {
        if (PyFloat_Check(value)) {
            number(name, PyFloat_AsDouble(value));
        } else if (PyUnicode_Check(value)) {
            rows.word(name_key(name), text_of(value));
        } else if (PyBool_Check(value)) {
            rows.word(name_key(name), value == Py_True ? "True" : "False");
        } else if (PyLong_Check(value)) {
            number(name, converted(value, PyLong_AsDouble(value)));
        } else if (PyDict_Check(value)) {
            features(value, std::string(name) + ".");
        } else if (PyList_Check(value) || PyTuple_Check(value)) {
            elements(name, value);
        } else if (value != Py_None) {
            other(name, value);
        }
    }

  private:
    HashedRows& rows;
    bool strict;
    PyTypeObject* last_type = nullptr;  // names of types are slow to ask for
    Kind last_kind = Kind::unknown;

    void features(PyObject* x, const std::string& prefix) {
        const Deeper deeper;
        PyObject *key, *value;
        Py_ssize_t at = 0;
        char digits[24];
        while (PyDict_Next(x, &at, &key, &value)) {
            const std::string_view name = PyUnicode_Check(key) ? text_of(key) : numbered(key, digits);
            if (prefix.empty()) {
                cell(name, value);
            } else {
                cell(prefix + std::string(name), value);
            }
        }
    }

    std::string_view numbered(PyObject* key, char (&digits)[24]) {
        const bool integer = PyLong_Check(key) || kind_of(key) == Kind::integer;
        if (integer && !PyBool_Check(key)) {
            const Py_ssize_t number = PyNumber_AsSsize_t(key, PyExc_OverflowError);
            if (number != -1 || !PyErr_Occurred()) {
                const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
                return {digits, static_cast<size_t>(end - digits)};
            }
            PyErr_Clear();
        }
        throw nb::type_error(("a feature's name is a string or a whole number, not " + shown(key) +
                              ", of type " + type_name(key))
                                 .c_str());
    }

    // Strings are words of the one name; all else goes by its place, as in name.0, name.1.
    void elements(std::string_view name, PyObject* list) {
        const Deeper deeper;
        const bool tuple = PyTuple_Check(list);
        const Py_ssize_t n = tuple ? PyTuple_Size(list) : PyList_Size(list);
        for (Py_ssize_t i = 0; i < n; ++i) {
            PyObject* value = tuple ? PyTuple_GetItem(list, i) : PyList_GetItem(list, i);
            if (PyUnicode_Check(value)) {
                rows.word(name_key(name), text_of(value));
            } else {
                cell(std::string(name) + "." + std::to_string(i), value);
            }
        }
    }

    void other(std::string_view name, PyObject* value) {
        if (Py_TYPE(value) != last_type) {
            last_type = Py_TYPE(value);
            last_kind = kind_of(value);
        }
        if (last_kind == Kind::unknown) refuse_value(name, value);
        if (last_kind == Kind::missing) return;
        if (last_kind == Kind::boolean) {
            rows.word(name_key(name), PyObject_IsTrue(value) ? "True" : "False");
        } else {
            number(name, converted(value, PyFloat_AsDouble(value)));
        }
    }

    // A whole number beyond all doubles is infinite.
    double converted(PyObject* value, double number) {
        if (number != -1.0 || !PyErr_Occurred()) return number;
        PyErr_Clear();
        const int sign = PyObject_RichCompareBool(value, nb::int_(0).ptr(), Py_LT);
        if (sign < 0) {  // a Decimal that is no number
            PyErr_Clear();
            return NAN;
        }
        return sign == 1 ? -INFINITY : INFINITY;
    }

    void number(std::string_view name, double value) {
        if (strict && !std::isfinite(value)) refuse_number("feature '" + std::string(name) + "'", value);
        const uint64_t key = name_key(name);
        rows.number(key, key, value);
    }
};

// ---- columns -----------------------------------------------------------------------------------------
// Any objects: each cell is read as the value of a dict is.
class ObjectColumn final : public FeatureColumn {
  public:
    ObjectColumn(std::string name, nb::list values, bool strict)
        : FeatureColumn(static_cast<int64_t>(nb::len(values))),
          name(std::move(name)),
          values(values),
          strict(strict) {}

    void add(int64_t i, HashedRows& rows) const override {
        DictReader(rows, strict).cell(name, PyList_GetItem(values.ptr(), i));
    }

  private:
    std::string name;
    nb::list values;
    bool strict;
};

// A column that keeps the arrays it looks into alive.
struct HeldColumn {
    std::string name;
    std::unique_ptr<FeatureColumn> column;
    nb::object owner;
    bool python = false;
};

using Anything = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

template <class T>
bool made_numbers(const Anything& x, HeldColumn& held) {
    if (x.dtype() != nb::dtype<T>()) return false;
    const int64_t step = x.stride(0) * static_cast<int64_t>(sizeof(T));
    held.column = std::make_unique<NumberColumn<T>>(held.name, static_cast<const T*>(x.data()), step,
                                                    static_cast<int64_t>(x.shape(0)));
    return true;
}

HeldColumn numbers(std::string name, Anything x) {
    HeldColumn held{std::move(name), nullptr, nb::find(x), false};
    const bool made = made_numbers<double>(x, held) || made_numbers<float>(x, held) ||
                      made_numbers<int64_t>(x, held) || made_numbers<int32_t>(x, held) ||
                      made_numbers<int16_t>(x, held) || made_numbers<int8_t>(x, held) ||
                      made_numbers<uint64_t>(x, held) || made_numbers<uint32_t>(x, held) ||
                      made_numbers<uint16_t>(x, held) || made_numbers<uint8_t>(x, held);
    if (!made) throw nb::type_error("a column of numbers is of integers or of 4 or 8 byte floats");
    return held;
}

HeldColumn coded(std::string name, Vector<int32_t> codes, const nb::list& levels) {
    std::vector<std::string_view> words;
    for (const auto level : levels) {
        if (!PyUnicode_Check(level.ptr())) throw nb::type_error("the levels of a column are strings");
        words.push_back(text_of(level.ptr()));
    }
    HeldColumn held{std::move(name), nullptr, nb::find(codes), false};
    held.column =
        std::make_unique<CodedColumn>(held.name, codes.data(), static_cast<int64_t>(codes.shape(0)), words);
    return held;
}

template <class Start>
HeldColumn text(std::string name, Vector<Start> starts, Vector<uint8_t> bytes,
                std::optional<Vector<bool>> there) {
    const auto n = static_cast<int64_t>(starts.shape(0)) - 1;
    bool fits = n >= 0 && (!there || static_cast<int64_t>(there->shape(0)) == n) && starts(0) >= 0;
    for (int64_t i = 0; fits && i < n; ++i) fits = starts(i) <= starts(i + 1);
    if (!fits || static_cast<size_t>(starts(n)) > bytes.shape(0))
        throw std::invalid_argument("the starts of words do not fit their text");
    HeldColumn held{
        std::move(name), nullptr,
        nb::make_tuple(nb::find(starts), nb::find(bytes), there ? nb::find(*there) : nb::none()), false};
    held.column = std::make_unique<TextColumn<Start>>(held.name, starts.data(), n,
                                                      reinterpret_cast<const char*>(bytes.data()),
                                                      there ? there->data() : nullptr);
    return held;
}

HeldColumn objects(std::string name, nb::list values, bool strict) {
    HeldColumn held{name, nullptr, nb::none(), true};
    held.column = std::make_unique<ObjectColumn>(std::move(name), std::move(values), strict);
    return held;
}

// ---- the intake --------------------------------------------------------------------------------------
using Codes = std::optional<Vector<int32_t>>;
using RowWeights = std::optional<Vector<double>>;

Marks marks_of(const Codes& codes, const RowWeights& weights, int64_t n) {
    const bool fits = (!codes || static_cast<int64_t>(codes->shape(0)) == n) &&
                      (!weights || static_cast<int64_t>(weights->shape(0)) == n);
    if (!fits) throw std::invalid_argument("codes and weights are one for each row");
    return {codes ? codes->data() : nullptr, weights ? weights->data() : nullptr};
}

// Whatever rows come as, they come in here; and what has come is counted.
class Intake {
  public:
    Tally tally;
    bool strict;

    Intake(const std::vector<std::vector<std::string>>& interactions, bool strict, bool balanced)
        : strict(strict) {
        tally.balanced = balanced;
        for (const auto& names : interactions) {
            if (names.size() < 2) throw std::invalid_argument("an interaction is of two fields or more");
            one.crosses.emplace_back();
            for (const auto& name : names) one.crosses.back().push_back(name_key(name));
        }
    }

    HashedRows empty() const {
        HashedRows rows;
        rows.crosses = one.crosses;
        return rows;
    }

    // first: the number of the first row, for messages.
    HashedRows dicts(const nb::list& X, const Codes& codes, const RowWeights& weights,
                     int64_t first) const {
        HashedRows rows = empty();
        DictReader reader(rows, strict);
        const auto n = static_cast<int64_t>(nb::len(X));
        const Marks marks = marks_of(codes, weights, n);
        for (int64_t i = 0; i < n; ++i) {
            try {
                reader.row(PyList_GetItem(X.ptr(), i));
            } catch (const nb::builtin_exception& problem) {
                refuse_row(first + i, problem);
            }
            marks.end(i, rows);
        }
        return rows;
    }

    HashedRows columns(const nb::list& X, int64_t start, int64_t stop, const Codes& codes,
                       const RowWeights& weights) const {
        HashedRows rows = empty();
        std::vector<const FeatureColumn*> listed;
        std::vector<std::string> names;
        bool python = false;
        for (const auto item : X) {
            const auto& held = nb::cast<const HeldColumn&>(item);
            if (start < 0 || held.column->n < stop)
                throw std::invalid_argument("columns have a cell for each row");
            listed.push_back(held.column.get());
            names.push_back(held.name);
            python |= held.python;
        }
        const Marks marks = marks_of(codes, weights, stop - start);
        Stopped stopped;
        if (python) {
            try {
                stopped = read_columns(listed, start, stop, marks, strict, rows);
            } catch (const nb::builtin_exception& problem) {
                refuse_row(start + rows.size(), problem);
            }
        } else {
            nb::gil_scoped_release free;
            stopped = read_columns(listed, start, stop, marks, strict, rows);
        }
        if (stopped.row >= 0) refuse_cell(stopped, names[static_cast<size_t>(stopped.column)]);
        return rows;
    }

    // keys: of the columns, as column_keys has them; empty: they go by number.
    template <class T, class Index>
    HashedRows sparse(Vector<Index> starts, Vector<Index> places, Vector<T> data, Vector<uint64_t> keys,
                      const std::vector<std::string>& names, int64_t p, const Codes& codes,
                      const RowWeights& weights) const {
        const auto n = static_cast<int64_t>(starts.shape(0)) - 1;
        const auto named = static_cast<int64_t>(names.size()), known = static_cast<int64_t>(keys.shape(0));
        bool fits = n >= 0 && places.shape(0) == data.shape(0) && starts(0) >= 0 &&
                    static_cast<size_t>(starts(n)) <= places.shape(0) && (named == 0 || named == p) &&
                    (known == 0 || known == p);
        for (int64_t i = 0; fits && i < n; ++i) fits = starts(i) <= starts(i + 1);
        for (int64_t c = fits ? starts(0) : 0; fits && c < starts(n); ++c)
            fits = places(c) >= 0 && places(c) < p;
        if (!fits) throw std::invalid_argument("indptr, indices and data do not fit together");
        HashedRows rows = empty();
        const Marks marks = marks_of(codes, weights, n);
        Stopped stopped;
        {
            nb::gil_scoped_release free;
            const uint64_t* of_column = known ? keys.data() : nullptr;
            stopped =
                read_sparse(starts.data(), places.data(), data.data(), n, of_column, marks, strict, rows);
        }
        if (stopped.row >= 0) {
            const auto j = static_cast<size_t>(stopped.column);
            refuse_cell(stopped, names.empty() ? std::to_string(j) : names[j]);
        }
        return rows;
    }

    // Rows to learn from: their weights by class, and the count of them.
    void weigh(HashedRows& rows) {
        for (int64_t i = 0; i < rows.size(); ++i)
            rows.weights[i] = tally.weigh(rows.codes[i], rows.weights[i]);
        tally.skipped += rows.skipped;
    }

    void judge(const HashedRows& rows, nb::ndarray<const double, nb::ndim<2>, nb::c_contig> P) {
        const auto K = static_cast<int64_t>(P.shape(1));
        if (static_cast<int64_t>(P.shape(0)) != rows.size())
            throw std::invalid_argument("P has a row for each");
        for (int64_t i = 0; i < rows.size(); ++i)
            tally.judge(rows.codes[i], rows.weights[i], P.data() + i * K, K);
    }

    // ---- one row -----------------------------------------------------------------------------------
    // Whether the step was cut short.
    bool learn_one(Learner& learner, const nb::object& x, int32_t code, double weight) {
        if (!(weight >= 0) || std::isinf(weight))
            throw nb::value_error("sample_weight is a finite number, not below 0");
        const Turn turn(learner.turn);  // before the row is read: others have this room for it as well
        read(x.ptr());
        const auto K = std::max<int64_t>({learner.K(), code + 1, 2});
        if (K > learner.K()) learner.inside().check(K);  // before the row is counted
        weight = tally.weigh(code, weight);
        P.assign(K, 0.0);
        const int64_t clipped = learner.inside().counters.clipped;
        learner.learn(one.row(0), one.count(0), code, weight, P.data());
        tally.judge(code, weight, P.data(), K);
        tally.skipped += one.skipped;
        return learner.inside().counters.clipped != clipped;
    }

    int64_t predict_one(const Learner& learner, const nb::object& x) {
        const Turn turn(learner.turn);
        ask(learner, x.ptr());
        return std::max_element(P.begin(), P.end()) - P.begin();
    }

    nb::list predict_proba_one(const Learner& learner, const nb::object& x) {
        const Turn turn(learner.turn);
        ask(learner, x.ptr());
        nb::list answers;
        for (const double p : P) answers.append(p);
        return answers;
    }

  private:
    HashedRows one;         // the row at hand
    std::vector<double> P;  // of the row at hand

    void read(PyObject* x) {
        one.clear();
        DictReader(one, strict).row(x);
        one.end(kUnlabelled, 1.0);
    }

    void ask(const Learner& learner, PyObject* x) {
        read(x);
        P.assign(std::max<int64_t>(learner.K(), 2), 0.0);
        learner.predict(one.row(0), one.count(0), P.data());
    }

    [[noreturn]] static void refuse_row(int64_t i, const nb::builtin_exception& problem) {
        throw nb::builtin_exception(problem.type(),
                                    ("row " + std::to_string(i) + ": " + problem.what()).c_str());
    }

    [[noreturn]] static void refuse_cell(const Stopped& stopped, const std::string& name) {
        throw nb::value_error(
            ("row " + std::to_string(stopped.row) + ": feature '" + name +
             "' is not a finite number: leave it out or give None, or skip and count such "
             "cells with non_finite='skip'")
                .c_str());
    }
};

uint64_t key_of(const std::string& name, const std::optional<std::string>& word) {
    return word ? word_key(name_key(name), *word) : name_key(name);
}

// The keys of p columns, by their names or else by their numbers.
nb::object column_keys(const std::vector<std::string>& names, int64_t p) {
    auto* keys = new uint64_t[p];
    nb::capsule owner(keys, [](void* at) noexcept { delete[] static_cast<uint64_t*>(at); });
    for (int64_t j = 0; j < p; ++j) keys[j] = names.empty() ? numbered_key(j) : name_key(names[j]);
    return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<1>>(keys, {static_cast<size_t>(p)}, owner));
}

// Z (n, q).
void scores(const Learner& learner, const HashedRows& rows, Array<double> Z) {
    const Turn turn(learner.turn);
    const int64_t n = rows.size(), q = learner.inside().q();
    if (Z.ndim() != 2 || static_cast<int64_t>(Z.shape(0)) != n || static_cast<int64_t>(Z.shape(1)) != q)
        throw std::invalid_argument("Z has a row for each, and a column for each score");
    nb::gil_scoped_release free;
    for (int64_t i = 0; i < n; ++i) learner.inside().scores(rows.row(i), rows.count(i), Z.data() + i * q);
}

std::vector<double> weights_of(const Learner& learner, uint64_t key) {
    const Turn turn(learner.turn);
    std::vector<double> W(learner.inside().q());
    learner.inside().of_feature(key, W.data());
    return W;
}

}  // namespace

void likelier::bind_cells(nb::module_& m) {
    nb::class_<HeldColumn>(m, "Column")
        .def_static("numbers", &numbers)
        .def_static("coded", &coded)
        .def_static("text", &text<int32_t>)
        .def_static("text", &text<int64_t>)
        .def_static("objects", &objects);

    const auto codes = nb::arg("codes").none(), weights = nb::arg("weights").none();
    nb::class_<Intake>(m, "Intake")
        .def(nb::init<const std::vector<std::vector<std::string>>&, bool, bool>(), nb::arg("interactions"),
             nb::arg("strict"), nb::arg("balanced"))
        .def_prop_rw(
            "factors", [](const Intake& self) { return self.tally.factors; },
            [](Intake& self, std::vector<double> factors) { self.tally.factors = std::move(factors); })
        .def_prop_rw(
            "counts", [](const Intake& self) { return self.tally.counts; },
            [](Intake& self, std::vector<double> counts) { self.tally.counts = std::move(counts); })
        .def_prop_rw(
            "mistakes", [](const Intake& self) { return self.tally.mistakes; },
            [](Intake& self, int64_t mistakes) { self.tally.mistakes = mistakes; })
        .def_prop_rw(
            "skipped", [](const Intake& self) { return self.tally.skipped; },
            [](Intake& self, int64_t skipped) { self.tally.skipped = skipped; })
        .def("rows", &Intake::empty)
        .def("dicts", &Intake::dicts, nb::arg("X"), codes, weights, nb::arg("first") = 0)
        .def("columns", &Intake::columns, nb::arg("X"), nb::arg("start"), nb::arg("stop"), codes, weights)
        .def("sparse", &Intake::sparse<double, int32_t>)
        .def("sparse", &Intake::sparse<double, int64_t>)
        .def("sparse", &Intake::sparse<float, int32_t>)
        .def("sparse", &Intake::sparse<float, int64_t>)
        .def("weigh", &Intake::weigh)
        .def("judge", &Intake::judge)
        .def("learn_one", &Intake::learn_one)
        .def("predict_one", &Intake::predict_one)
        .def("predict_proba_one", &Intake::predict_proba_one);

    m.def("key_of", &key_of, nb::arg("name"), nb::arg("word").none());
    m.def("online_scores", &scores);
    m.def("column_keys", [](const std::vector<std::string>& names, int64_t p) {
        if (p < 0 || (!names.empty() && static_cast<int64_t>(names.size()) != p))
            throw std::invalid_argument("names are one for each of p columns, or none");
        return column_keys(names, p);
    });
    m.def("online_weights", &weights_of);
    m.def("online_nonzero", [](const Learner& learner) {
        const Turn turn(learner.turn);
        return learner.inside().nonzero();
    });
}
