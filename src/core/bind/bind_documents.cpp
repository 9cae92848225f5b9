// What Python can call to turn documents into rows of counts.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "bind/bind.hpp"
#include "text/hashed_documents.hpp"
#include "text/utf8.hpp"

using namespace likelier;

namespace {

// Texts that stay where they are as long as this lives.
struct Batch {
    std::vector<Document> texts;
    std::vector<nb::object> owners;
};

// Strings are read as Python holds them; strict: a lone surrogate is refused, as its codec refuses it.
void add_text(Batch& batch, nb::handle text, bool strict) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("documents must be strings");
#ifndef Py_LIMITED_API
    const auto length = static_cast<size_t>(PyUnicode_GET_LENGTH(text.ptr()));
    const void* const data = PyUnicode_DATA(text.ptr());
    const int size = PyUnicode_IS_ASCII(text.ptr()) ? 0 : static_cast<int>(PyUnicode_KIND(text.ptr()));
    const auto lone = [&](const auto* codes) {
        return std::any_of(codes, codes + length, [](auto code) { return (code & ~0x7FFu) == 0xD800; });
    };
    const bool bad = strict && (size == 2   ? lone(static_cast<const uint16_t*>(data))
                                : size == 4 ? lone(static_cast<const uint32_t*>(data))
                                            : false);
    if (!bad) {
        batch.texts.push_back({data, length, size});
        return;
    }
#endif
    auto bytes = nb::steal<nb::bytes>(
        PyUnicode_AsEncodedString(text.ptr(), "utf-8", strict ? "strict" : "surrogatepass"));
    if (!bytes.is_valid()) throw nb::python_error();
    batch.texts.push_back({bytes.c_str(), bytes.size(), 0});
    batch.owners.push_back(std::move(bytes));
}

Batch batch_of(const nb::list& documents, bool strict = false) {
    Batch batch;
    batch.texts.reserve(documents.size());
    for (nb::handle document : documents) add_text(batch, document, strict);
    return batch;
}

// Texts that lie one after the other, from ends[i] to ends[i + 1]; checked: they must be UTF-8.
std::vector<Document> texts_in(const Vector<uint8_t>& bytes, const Vector<int64_t>& ends,
                               bool checked = true) {
    if (ends.size() == 0) throw std::invalid_argument("ends: one more than there are texts");
    std::vector<Document> texts;
    texts.reserve(ends.size() - 1);
    for (size_t i = 0; i + 1 < ends.size(); ++i) {
        const int64_t start = ends.data()[i], end = ends.data()[i + 1];
        if (start < 0 || end < start || end > static_cast<int64_t>(bytes.size()))
            throw std::invalid_argument("ends must rise, within bytes");
        const char* const text = reinterpret_cast<const char*>(bytes.data()) + start;
        if (checked && !is_utf8(text, text + (end - start)))
            throw nb::value_error(("text " + std::to_string(i) + " is no UTF-8").c_str());
        texts.push_back({text, static_cast<size_t>(end - start), 0});
    }
    return texts;
}

void add_term(Terms& terms, std::string_view text) {
    std::string padded(text);
    padded.append(kPadding, ' ');
    terms.find_or_add(padded.data(), key_of(padded.data(), text.size()));
}

void add_all(Terms& terms, const nb::list& texts) {
    const Batch batch = batch_of(texts);
    TextBuffer buffer;
    for (const Document& text : batch.texts) add_term(terms, utf8_of(text, buffer));
}

nb::object string_of(std::string_view text) {
    auto found =
        nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
    if (!found.is_valid()) throw nb::python_error();
    return found;
}

template <class Vector>
nb::object handed(Vector&& from) {
    using T = typename std::decay_t<Vector>::value_type;
    auto* held = new std::decay_t<Vector>(std::move(from));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::decay_t<Vector>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

// How documents are cut into terms; keeps the tables it refers to alive.
struct HeldAnalysis {
    Analysis analysis;
    nb::object characters;
};

HeldAnalysis analysis_of(int unit, int64_t least, int64_t most, int64_t shortest,
                         const nb::object& characters, const nb::list& ignored) {
    if (unit < 0 || unit > 2) throw std::invalid_argument("unit: 0, 1 or 2");
    if (least < 1 || shortest < 1) throw std::invalid_argument("terms have at least one unit");
    HeldAnalysis held{
        {static_cast<Unit>(unit), least, most, shortest, nb::cast<Characters&>(characters), {}},
        characters};
    add_all(held.analysis.ignored, ignored);
    return held;
}

template <class Each>
void each_kept(const DocumentCounts& counts, Vector<uint8_t> keep, Each&& each) {
    const auto& found = counts.found();
    if (keep.size() != found.size()) throw std::invalid_argument("keep: one for each term");
    for (size_t i = 0; i < found.size(); ++i)
        if (keep.data()[i]) each(found[i].text);
}

nb::list texts_of(const DocumentCounts& counts, Vector<uint8_t> keep) {
    nb::list texts;
    each_kept(counts, keep, [&](std::string_view text) { texts.append(string_of(text)); });
    return texts;
}

// All terms one after the other, and where they end.
struct Strung {
    std::vector<uint8_t> bytes;
    std::vector<int64_t> ends{0};

    void add(std::string_view text) {
        bytes.insert(bytes.end(), text.begin(), text.end());
        ends.push_back(static_cast<int64_t>(bytes.size()));
    }
};

std::vector<std::string_view> strung(const Vector<uint8_t>& bytes, const Vector<int64_t>& ends) {
    std::vector<std::string_view> texts;
    for (const Document& text : texts_in(bytes, ends, false))
        texts.emplace_back(static_cast<const char*>(text.data), text.length);
    return texts;
}

// Two sorted lists of terms as one, and where in it each of them is.
nb::tuple joined_terms(Vector<uint8_t> bytes, Vector<int64_t> ends, Vector<uint8_t> other_bytes,
                       Vector<int64_t> other_ends) {
    const auto ours = strung(bytes, ends), theirs = strung(other_bytes, other_ends);
    Strung all;
    std::vector<int64_t> places, other_places;
    size_t i = 0, j = 0;
    while (i < ours.size() || j < theirs.size()) {
        const auto place = static_cast<int64_t>(all.ends.size()) - 1;
        const bool from_ours = j == theirs.size() || (i < ours.size() && ours[i] <= theirs[j]);
        const std::string_view next = from_ours ? ours[i] : theirs[j];
        if (j < theirs.size() && theirs[j] == next) other_places.push_back(place), ++j;
        if (from_ours) places.push_back(place), ++i;
        all.add(next);
    }
    return nb::make_tuple(handed(std::move(all.bytes)), handed(std::move(all.ends)),
                          handed(std::move(places)), handed(std::move(other_places)));
}

// Arrays that `write(starts, indices, values)` fills.
template <class T, class Write>
nb::tuple csr(std::vector<int64_t> starts, Write&& write) {
    const auto cells = static_cast<size_t>(starts.back());
    const auto filled = [&](auto small) {
        using Index = decltype(small);
        std::vector<Index> begins(starts.begin(), starts.end());
        std::unique_ptr<Index[]> indices(new Index[cells]);
        std::unique_ptr<T[]> values(new T[cells]);
        {
            nb::gil_scoped_release release;
            write(begins.data(), indices.get(), values.get());
        }
        const auto array = [&](auto* data) {
            using Cell = std::remove_pointer_t<decltype(data)>;
            nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<Cell*>(p); });
            return nb::cast(nb::ndarray<nb::numpy, Cell, nb::ndim<1>>(data, {cells}, owner));
        };
        nb::object held_indices = array(indices.release()), held_values = array(values.release());
        return nb::make_tuple(held_values, held_indices, handed(std::move(begins)));
    };
    return cells > static_cast<size_t>(INT32_MAX) ? filled(int64_t{}) : filled(int32_t{});
}

template <class T>
nb::tuple rows_of(DocumentCounts& counts, const int64_t* columns, bool binary, int threads) {
    std::vector<int64_t> starts(static_cast<size_t>(counts.rows) + 1);
    {
        nb::gil_scoped_release release;
        counts.choose(columns, starts.data() + 1, threads);
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
    }
    return csr<T>(std::move(starts), [&](const auto* begins, auto* indices, T* values) {
        counts.fill(begins, indices, values, binary, threads);
    });
}

template <class T>
nb::tuple hashed_rows(HashedDocuments& documents, const Finish& finish, int threads) {
    return csr<T>(documents.starts(), [&](const auto* begins, auto* indices, T* values) {
        documents.fill(begins, indices, values, finish, threads);
    });
}

Norm norm_of(const std::string& name) {
    if (name == "l1") return Norm::l1;
    if (name == "l2") return Norm::l2;
    if (!name.empty()) throw std::invalid_argument("norm: l1, l2 or nothing");
    return Norm::none;
}

}  // namespace

void likelier::bind_documents(nb::module_& m) {
    nb::class_<Characters>(m, "Characters")
        .def(nb::new_([](Vector<uint8_t> flags, Vector<uint32_t> changed, Vector<int64_t> ends,
                         Vector<uint32_t> texts, bool lower) {
            if (flags.size() != kCodePoints || changed.size() != ends.size())
                throw std::invalid_argument("a flag for each code point, an end for each that changes");
            for (size_t i = 0; i < changed.size(); ++i) {
                const int64_t before = i == 0 ? 0 : ends.data()[i - 1];
                if (changed.data()[i] >= kCodePoints || ends.data()[i] < before ||
                    ends.data()[i] > static_cast<int64_t>(texts.size()))
                    throw std::invalid_argument("ends must rise, within texts");
            }
            return std::make_unique<Characters>(
                std::vector<uint8_t>(flags.data(), flags.data() + flags.size()), changed.data(),
                ends.data(), static_cast<int64_t>(changed.size()),
                std::vector<uint32_t>(texts.data(), texts.data() + texts.size()), lower);
        }));

    nb::class_<HeldAnalysis>(m, "Analysis").def(nb::new_(&analysis_of));

    nb::class_<Terms>(m, "Terms")
        .def(nb::new_([](const nb::list& texts) {
            auto terms = std::make_unique<Terms>();
            add_all(*terms, texts);
            return terms;
        }))
        .def(nb::new_([](Vector<uint8_t> bytes, Vector<int64_t> ends) {
            auto terms = std::make_unique<Terms>();
            for (const std::string_view text : strung(bytes, ends)) add_term(*terms, text);
            return terms;
        }))
        .def("__len__", &Terms::size);
    m.def("joined_terms", &joined_terms);
    m.def("columns_by_term", [](Vector<uint8_t> bytes, Vector<int64_t> ends) {
        nb::dict columns;
        int64_t column = 0;
        for (const std::string_view text : strung(bytes, ends)) columns[string_of(text)] = column++;
        return columns;
    });
    m.def("weigh_terms", [](nb::ndarray<nb::c_contig, nb::ndim<1>, nb::device::cpu> values,
                            nb::ndarray<nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu> indices,
                            nb::ndarray<nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu> starts,
                            nb::ndarray<nb::ro, nb::c_contig, nb::ndim<1>, nb::device::cpu> factors,
                            const std::string& norm, int threads) {
        if (indices.dtype() != starts.dtype() || values.dtype() != factors.dtype())
            throw nb::type_error("indices and starts, values and factors must be of one type");
        const auto with = [&](auto cell, auto index) {
            using T = decltype(cell);
            using Index = decltype(index);
            const WeighedRows<T, Index> rows{
                static_cast<T*>(values.data()),
                static_cast<const Index*>(indices.data()),
                static_cast<const Index*>(starts.data()),
                static_cast<int64_t>(starts.size()) - 1,
                factors.size() > 0 ? static_cast<const T*>(factors.data()) : nullptr,
                static_cast<int64_t>(factors.size())};
            if (starts.size() == 0 ||
                !rows.sound(static_cast<int64_t>(std::min(values.size(), indices.size()))))
                throw std::invalid_argument("starts or indices point outside");
            const Finish finish{false, norm_of(norm)};
            nb::gil_scoped_release release;
            rows.weigh(finish, threads);
        };
        const auto of = [&](auto cell) {
            if (indices.dtype() == nb::dtype<int32_t>()) return with(cell, int32_t{});
            if (indices.dtype() == nb::dtype<int64_t>()) return with(cell, int64_t{});
            throw nb::type_error("indices must be int32 or int64");
        };
        if (values.dtype() == nb::dtype<double>()) return of(double{});
        if (values.dtype() == nb::dtype<float>()) return of(float{});
        throw nb::type_error("values must be float64 or float32");
    });

    nb::class_<DocumentCounts>(m, "DocumentCounts")
        .def(nb::new_([](const HeldAnalysis& analysis, const Terms* vocabulary, bool rows_kept) {
                 return std::make_unique<DocumentCounts>(analysis.analysis, vocabulary, rows_kept);
             }),
             nb::arg("analysis"), nb::arg("vocabulary").none(), nb::arg("rows_kept") = true,
             nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>())
        .def("add",
             [](DocumentCounts& counts, const nb::list& documents, int threads) {
                 const Batch batch = batch_of(documents);
                 nb::gil_scoped_release release;
                 counts.add(batch.texts, threads);
             })
        .def("add_utf8",
             [](DocumentCounts& counts, Vector<uint8_t> bytes, Vector<int64_t> ends, int threads) {
                 nb::gil_scoped_release release;
                 counts.add(texts_in(bytes, ends), threads);
             })
        .def("finish", &DocumentCounts::finish, nb::call_guard<nb::gil_scoped_release>())
        .def_ro("rows", &DocumentCounts::rows)
        .def("totals",
             [](const DocumentCounts& counts) {
                 std::vector<int64_t> documents, times;
                 for (const auto& one : counts.found()) {
                     documents.push_back(one.documents);
                     times.push_back(one.times);
                 }
                 return nb::make_tuple(handed(std::move(documents)), handed(std::move(times)));
             })
        .def("texts", &texts_of)
        .def("terms",
             [](const DocumentCounts& counts, Vector<uint8_t> keep) {
                 Strung all;
                 each_kept(counts, keep, [&](std::string_view text) { all.add(text); });
                 return nb::make_tuple(handed(std::move(all.bytes)), handed(std::move(all.ends)));
             })
        .def("matrix", [](DocumentCounts& counts, Vector<int64_t> columns, const std::string& type,
                          bool binary, int threads) {
            if (static_cast<int64_t>(columns.size()) != counts.terms())
                throw std::invalid_argument("columns: one for each term");
            if (type == "float64") return rows_of<double>(counts, columns.data(), binary, threads);
            if (type == "float32") return rows_of<float>(counts, columns.data(), binary, threads);
            return rows_of<int64_t>(counts, columns.data(), binary, threads);
        });

    nb::class_<HashedDocuments>(m, "HashedDocuments")
        .def(nb::new_([](const HeldAnalysis& analysis, int64_t columns, bool alternate) {
                 if (columns < 1 || columns > INT32_MAX)
                     throw std::invalid_argument("columns: 1 to 2147483647");
                 return std::make_unique<HashedDocuments>(analysis.analysis, columns, alternate);
             }),
             nb::arg("analysis"), nb::arg("columns"), nb::arg("alternate"), nb::keep_alive<0, 1>())
        .def("add",
             [](HashedDocuments& hashed, const nb::list& documents, bool strict, int threads) {
                 const Batch batch = batch_of(documents, strict);
                 nb::gil_scoped_release release;
                 hashed.add(batch.texts, threads);
             })
        .def("add_utf8",
             [](HashedDocuments& hashed, Vector<uint8_t> bytes, Vector<int64_t> ends, int threads) {
                 nb::gil_scoped_release release;
                 hashed.add(texts_in(bytes, ends), threads);
             })
        .def("matrix", [](HashedDocuments& hashed, const std::string& type, bool binary,
                          const std::string& norm, int threads) {
            const Finish finish{binary, norm_of(norm)};
            if (type == "float64") return hashed_rows<double>(hashed, finish, threads);
            if (type == "float32") return hashed_rows<float>(hashed, finish, threads);
            if (finish.norm != Norm::none) throw std::invalid_argument("norms are of floats");
            return hashed_rows<int64_t>(hashed, finish, threads);
        });
}
