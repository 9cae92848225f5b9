// What Python can call to make hashed rows of text.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind/bind.hpp"
#include "online/hashed.hpp"
#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/row_ends.hpp"
#include "text/sparse_text.hpp"
#include "text/svmlight.hpp"
#include "text/text.hpp"
#include "text/vw.hpp"

using namespace likelier;

namespace {

// Text as bytes and back. Bytes that are no UTF-8 pass through as Python's surrogates.
std::string encoded(nb::handle text) {
    const auto bytes =
        nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) throw nb::python_error();
    return {bytes.c_str(), bytes.size()};
}

nb::object decoded(const std::string& bytes, const char* errors = "surrogateescape") {
    auto text =
        nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors));
    if (!text.is_valid()) throw nb::python_error();
    return text;
}

std::vector<std::string> all_encoded(const nb::iterable& texts) {
    std::vector<std::string> found;
    for (nb::handle text : texts) found.push_back(encoded(text));
    return found;
}

nb::list all_decoded(const std::vector<std::string>& texts) {
    nb::list found;
    for (const auto& text : texts) found.append(decoded(text));
    return found;
}

Names names_of(const nb::iterable& texts) {
    const auto all = all_encoded(texts);
    return {all.begin(), all.end()};
}

std::optional<std::string> optional_text(const nb::object& text) {
    if (text.is_none()) return std::nullopt;
    return encoded(text);
}

template <class T>
nb::object copied(const T* from, size_t n) {
    T* to = new T[n];
    std::copy(from, from + n, to);
    nb::capsule owner(to, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(to, {n}, owner));
}

std::unique_ptr<TextParser> make_parser(const std::string& format, Wanted wanted, Dialect dialect) {
    if (format == "csv") return std::make_unique<CSVParser>(std::move(wanted), std::move(dialect));
    if (format == "json") return std::make_unique<JSONParser>(std::move(wanted));
    if (format == "svmlight") return std::make_unique<SvmlightParser>(std::move(wanted));
    if (format == "vw") return std::make_unique<VWParser>(std::move(wanted));
    throw std::invalid_argument("no format '" + format + "': csv, json, svmlight and vw are known.");
}

template <class Vector>
nb::object handed(Vector&& from) {
    using T = typename std::decay_t<Vector>::value_type;
    auto* held = new std::decay_t<Vector>(std::move(from));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::decay_t<Vector>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

template <class Parser>
nb::tuple sparse_rows(Parser parser, const nb::bytes& block) {
    const std::string_view text(block.c_str(), block.size());
    {
        nb::gil_scoped_release release;
        HashedRows scratch;
        parser.parse(text, scratch, true);
    }
    nb::object bad = nb::none();
    if (!parser.first_bad.empty()) {
        const auto& first = parser.first_bad.front();
        bad = nb::make_tuple(first.line, decoded(first.what, "replace"), decoded(first.text, "replace"));
    }
    auto& out = parser.out;
    return nb::make_tuple(handed(std::move(out.labels)), handed(std::move(out.weights)),
                          handed(std::move(out.starts)), handed(std::move(out.columns)),
                          handed(std::move(out.values)), bad);
}

const CSVParser* delimited(const TextParser& parser) {
    return dynamic_cast<const CSVParser*>(&parser);
}

nb::list columns_of(const TextParser& parser, bool numbers) {
    const auto* csv = delimited(parser);
    return csv && csv->settled ? all_decoded(csv->schema.names_of(numbers ? Role::number : Role::word))
                               : nb::list();
}

// Columns that are words for the sake of a few cells among numbers: name, line and text of the first such
// cell, and how many cells of the first rows are numbers and how many are not.
nb::list doubtful(const TextParser& parser) {
    nb::list found;
    const auto* csv = delimited(parser);
    for (size_t c = 0; csv && csv->settled && c < csv->schema.columns.size(); ++c) {
        const Surveyed& seen = csv->schema.surveyed[c];
        if (seen.others == 0 || seen.numbers < 10 * seen.others) continue;
        found.append(nb::make_tuple(decoded(csv->schema.names[c]), seen.line, decoded(seen.cell, "replace"),
                                    seen.numbers, seen.others));
    }
    return found;
}

}  // namespace

void likelier::bind_text(nb::module_& m) {
    nb::class_<TextParser>(m, "TextParser")
        .def(nb::new_([](const std::string& format, const nb::object& target, const nb::object& weight,
                         const nb::object& features, const nb::iterable& ignored,
                         const nb::iterable& crosses, const nb::iterable& labels, bool finite,
                         char delimiter, bool quotes, std::optional<bool> header,
                         const nb::iterable& numbers, const nb::iterable& words,
                         const nb::iterable& missing, bool weightless) {
                 Wanted wanted{optional_text(target),
                               optional_text(weight),
                               std::nullopt,
                               names_of(ignored),
                               {},
                               finite,
                               weightless};
                 if (!features.is_none()) wanted.features = names_of(nb::cast<nb::iterable>(features));
                 for (nb::handle cross : crosses)
                     wanted.crosses.push_back(all_encoded(nb::cast<nb::iterable>(cross)));
                 auto parser = make_parser(format, std::move(wanted),
                                           Dialect{delimiter, quotes, header, names_of(numbers),
                                                   names_of(words), names_of(missing)});
                 for (const auto& label : all_encoded(labels)) parser->labels.code(label);
                 return parser;
             }),
             nb::arg("format"), nb::kw_only(), nb::arg("target") = nb::none(),
             nb::arg("weight") = nb::none(), nb::arg("features") = nb::none(),
             nb::arg("ignored") = nb::tuple(), nb::arg("crosses") = nb::tuple(),
             nb::arg("labels") = nb::tuple(), nb::arg("finite") = false, nb::arg("delimiter") = ',',
             nb::arg("quotes") = true, nb::arg("header") = nb::none(), nb::arg("numbers") = nb::tuple(),
             nb::arg("words") = nb::tuple(), nb::arg("missing") = nb::tuple(), nb::arg("weightless") = true)
        .def(
            "parse",
            [](TextParser& parser, const nb::bytes& block, HashedRows& rows, bool last) {
                const std::string_view text(block.c_str(), block.size());
                nb::gil_scoped_release release;
                parser.parse(text, rows, last);
            },
            nb::arg("block"), nb::arg("rows"), nb::arg("last") = false)
        .def_prop_ro("labels", [](const TextParser& parser) { return all_decoded(parser.labels.known); })
        .def_ro("lines", &TextParser::lines)
        .def_ro("bad", &TextParser::bad)
        .def_ro("changed", &TextParser::changed)
        .def_prop_ro("first_bad",
                     [](const TextParser& parser) {
                         nb::list found;
                         for (const auto& bad : parser.first_bad)
                             found.append(nb::make_tuple(bad.line, decoded(bad.what, "replace"),
                                                         decoded(bad.text, "replace")));
                         return found;
                     })
        .def_prop_ro("names",
                     [](const TextParser& parser) {
                         const auto* csv = delimited(parser);
                         return csv ? all_decoded(csv->schema.names) : nb::list();
                     })
        .def_prop_ro("header",
                     [](const TextParser& parser) {
                         const auto* csv = delimited(parser);
                         return csv && csv->schema.header;
                     })
        .def_prop_ro("numbers", [](const TextParser& parser) { return columns_of(parser, true); })
        .def_prop_ro("words", [](const TextParser& parser) { return columns_of(parser, false); })
        .def_prop_ro("doubtful", &doubtful);

    m.def("svmlight_rows", [](const nb::bytes& block, int32_t shift, bool cells) {
        return sparse_rows(SparseSvmlight(shift, cells), block);
    });
    m.def("vw_rows", [](const nb::bytes& block, int bits) { return sparse_rows(SparseVW(bits), block); });
    m.def("survey_lines", [](const nb::bytes& block, bool indices) {
        LineSurvey survey;
        {
            nb::gil_scoped_release release;
            std::vector<char> padded(block.size() + 64);
            std::memcpy(padded.data(), block.c_str(), block.size());
            survey.look({padded.data(), block.size()}, indices);
        }
        return nb::make_tuple(survey.rows, survey.lowest, survey.highest);
    });

    m.def("row_ends", [](Vector<uint8_t> text, char delimiter, uint8_t before, int quotes) {
        if (quotes < 0 || quotes > 2) throw std::invalid_argument("quotes: 0, 1 or 2");
        RowEnds ends(delimiter, static_cast<char>(before), static_cast<Quotes>(quotes));
        {
            nb::gil_scoped_release release;
            ends.scan(reinterpret_cast<const char*>(text.data()), static_cast<int64_t>(text.size()));
        }
        return nb::make_tuple(ends.rows, ends.first, static_cast<int>(ends.quotes));
    });

    m.def("cells_of", [](const HashedRows& rows) {
        std::vector<uint64_t> keys;
        std::vector<double> values;
        for (const HashedCell& cell : rows.cells) {
            keys.push_back(cell.key);
            values.push_back(cell.value);
        }
        return nb::make_tuple(copied(keys.data(), keys.size()), copied(values.data(), values.size()),
                              copied(rows.starts.data(), rows.starts.size()),
                              copied(rows.codes.data(), rows.codes.size()),
                              copied(rows.weights.data(), rows.weights.size()));
    });
}
