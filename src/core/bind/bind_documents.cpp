// What Python can call to turn documents into rows of counts.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <numeric>

#include "bind/bind.hpp"
#include "text/documents.hpp"

using namespace likelier;

namespace {

// Texts that stay where they are as long as this lives.
struct Batch {
    std::vector<std::string_view> texts;
    std::vector<nb::object> owners;
};

bool is_ascii(nb::handle text) {
#ifdef Py_LIMITED_API
    return false;
#else
    return PyUnicode_IS_ASCII(text.ptr());
#endif
}

// ASCII is read where it is; other strings are encoded for the time being, since Python would keep for good
// what it encodes for us.
Batch batch_of(const nb::list& documents, const char* errors = "surrogatepass") {
    Batch batch;
    batch.texts.reserve(documents.size());
    for (nb::handle document : documents) {
        if (!PyUnicode_Check(document.ptr())) throw nb::type_error("documents must be strings");
        if (is_ascii(document)) {
            Py_ssize_t length;
            const char* text = PyUnicode_AsUTF8AndSize(document.ptr(), &length);
            if (text == nullptr) throw nb::python_error();
            batch.texts.emplace_back(text, static_cast<size_t>(length));
            continue;
        }
        auto bytes = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(document.ptr(), "utf-8", errors));
        if (!bytes.is_valid()) throw nb::python_error();
        batch.texts.emplace_back(bytes.c_str(), bytes.size());
        batch.owners.push_back(std::move(bytes));
    }
    return batch;
}

void add_all(Terms& terms, const nb::list& texts) {
    const Batch batch = batch_of(texts);
    std::string padded;
    for (const std::string_view text : batch.texts) {
        padded.assign(text).append(kPadding, ' ');
        terms.find_or_add(padded.data(), text.size());
    }
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

nb::list texts_of(const DocumentCounts& counts, Vector<uint8_t> keep) {
    const auto& found = counts.found();
    if (keep.size() != found.size()) throw std::invalid_argument("keep: one for each term");
    nb::list texts;
    for (size_t i = 0; i < found.size(); ++i) {
        if (!keep.data()[i]) continue;
        auto text = nb::steal(PyUnicode_DecodeUTF8(
            found[i].text.data(), static_cast<Py_ssize_t>(found[i].text.size()), "surrogatepass"));
        if (!text.is_valid()) throw nb::python_error();
        texts.append(text);
    }
    return texts;
}

template <class T>
nb::tuple rows_of(const DocumentCounts& counts, const int64_t* columns, bool binary, int threads) {
    std::vector<int64_t> starts(static_cast<size_t>(counts.rows) + 1);
    {
        nb::gil_scoped_release release;
        counts.row_sizes(columns, starts.data() + 1, threads);
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
    }
    const auto cells = static_cast<size_t>(starts.back());
    const auto filled = [&](auto small) {
        using Index = decltype(small);
        std::vector<Index> begins(starts.begin(), starts.end());
        std::unique_ptr<Index[]> indices(new Index[cells]);
        std::unique_ptr<T[]> values(new T[cells]);
        {
            nb::gil_scoped_release release;
            counts.fill(columns, begins.data(), indices.get(), values.get(), binary, threads);
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
        .def("__len__", &Terms::size);

    nb::class_<DocumentCounts>(m, "DocumentCounts")
        .def(nb::new_([](const HeldAnalysis& analysis, const Terms* vocabulary) {
                 return std::make_unique<DocumentCounts>(analysis.analysis, vocabulary);
             }),
             nb::arg("analysis"), nb::arg("vocabulary").none(), nb::keep_alive<0, 1>(),
             nb::keep_alive<0, 2>())
        .def("add",
             [](DocumentCounts& counts, const nb::list& documents, int threads) {
                 const Batch batch = batch_of(documents);
                 nb::gil_scoped_release release;
                 counts.add(batch.texts, threads);
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
        .def("matrix", [](const DocumentCounts& counts, Vector<int64_t> columns, const std::string& type,
                          bool binary, int threads) {
            if (static_cast<int64_t>(columns.size()) != counts.terms())
                throw std::invalid_argument("columns: one for each term");
            if (type == "float64") return rows_of<double>(counts, columns.data(), binary, threads);
            if (type == "float32") return rows_of<float>(counts, columns.data(), binary, threads);
            return rows_of<int64_t>(counts, columns.data(), binary, threads);
        });

    m.def("hash_documents", [](const HeldAnalysis& analysis, const nb::list& documents, int64_t columns,
                               bool alternate, int threads) {
        if (columns < 1 || columns > INT32_MAX) throw std::invalid_argument("columns: 1 to 2147483647");
        // Words have no lone surrogates; runs of characters that have some are no UTF-8 to be hashed.
        const Batch batch =
            batch_of(documents, analysis.analysis.unit == Unit::word ? "surrogatepass" : "strict");
        std::vector<int64_t> ends;
        std::vector<int32_t> indices, values;
        {
            nb::gil_scoped_release release;
            hash_documents(analysis.analysis, batch.texts, columns, alternate, threads, ends, indices,
                           values);
        }
        return nb::make_tuple(handed(std::move(values)), handed(std::move(indices)),
                              handed(std::move(ends)));
    });
}
