// What Python can call to read the bodies of requests, and to answer those for predictions.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "bind/bind.hpp"
#include "online/learner.hpp"
#include "text/request.hpp"

using namespace likelier;

namespace {

std::string_view view_of(const nb::bytes& bytes) {
    return {bytes.c_str(), bytes.size()};
}

nb::object part(std::string_view body, bool there, size_t start, size_t size) {
    return there ? nb::object(nb::bytes(body.data() + start, size)) : nb::none();
}

// A float64 in the fewest digits that give it back, and never as a whole number.
void write_number(double value, std::string& out) {
    char text[32];
    const auto stop = std::to_chars(text, text + sizeof text, value).ptr;
    const std::string_view written(text, stop - text);
    out += written;
    if (written.find_first_of(".e") == written.npos) out += ".0";
}

// Reads bodies for one model. It belongs to whoever holds the lock of Python; `prepare` may be called
// without, by one thread at a time, as it has a parser of its own.
class RequestReader {
  public:
    RequestReader(std::vector<std::vector<std::string>> interactions,
                  const std::optional<std::vector<std::string>>& columns,
                  const std::vector<std::string>& numbers, const std::vector<std::string>& words) {
        for (const auto& names : interactions) {
            template_.crosses.emplace_back();
            for (const auto& name : names) template_.crosses.back().push_back(name_key(name));
        }
        known.closed = columns.has_value();
        if (columns)
            for (const auto& name : *columns) known.kinds[name_key(name)] = CellKind::any;
        for (const auto& name : numbers) known.kinds[name_key(name)] = CellKind::number;
        for (const auto& name : words) known.kinds[name_key(name)] = CellKind::word;
    }

    // (many, [id], [x], [y]) of a body with labels; None: it is not a plain one.
    nb::object labelled(const nb::bytes& given) const {
        const std::string_view body = view_of(given);
        RequestParser parser;
        parser.columns = &known;
        HashedRows rows = template_;
        if (!parser.body(body, true, rows)) return nb::none();
        nb::list ids, x, y;
        for (const RequestRow& row : parser.marks) {
            ids.append(row.has_id ? nb::object(nb::str(row.id.data(), row.id.size())) : nb::none());
            x.append(part(body, row.has_x, row.x, row.x_size));
            y.append(part(body, row.has_y, row.y, row.y_size));
        }
        return nb::make_tuple(parser.many, ids, x, y);
    }

    // The features of rows, with the codes of their labels; None: not all of them are plain.
    nb::object rows(const nb::list& given, const Vector<int32_t>& codes) const {
        std::vector<std::string_view> texts;
        for (nb::handle one : given) texts.push_back(view_of(nb::borrow<nb::bytes>(one)));
        if (codes.shape(0) != texts.size()) throw std::invalid_argument("codes are one for each row");
        HashedRows found = template_;
        bool plain = true;
        {
            nb::gil_scoped_release free;
            RequestParser parser;
            parser.columns = &known;
            for (size_t i = 0; plain && i < texts.size(); ++i) plain = parser.features(texts[i], found);
            if (plain) std::copy_n(codes.data(), texts.size(), found.codes.begin());
        }
        return plain ? nb::cast(std::move(found)) : nb::none();
    }

    // (answer, number of rows) of a body whose rows have no ids; None: it is not a plain one. labels: in
    // JSON, as values and as names of members.
    nb::object predict(const Learner& learner, const nb::bytes& given,
                       const std::vector<std::string>& labels, const std::vector<std::string>& names,
                       int64_t version, int64_t most) const {
        const Turn turn(learner.turn);
        const int64_t K = std::min<int64_t>(learner.K(), static_cast<int64_t>(labels.size()));
        if (K < 2) return nb::none();
        const std::string_view body = view_of(given);
        std::string out;
        int64_t n;
        if (body.size() > kLarge) {
            nb::gil_scoped_release free;
            n = answer(learner, body, K, labels, names, version, most, out);
        } else {
            n = answer(learner, body, K, labels, names, version, most, out);
        }
        if (n == 0) return nb::none();
        return nb::make_tuple(nb::bytes(out.data(), out.size()), n);
    }

  private:
    static constexpr size_t kLarge = 1 << 15;  // bytes: others may run meanwhile

    HashedRows template_;
    RequestColumns known;

    int64_t answer(const Learner& learner, std::string_view body, int64_t K,
                   const std::vector<std::string>& labels, const std::vector<std::string>& names,
                   int64_t version, int64_t most, std::string& out) const {
        RequestParser parser;
        parser.columns = &known;
        HashedRows rows = template_;
        if (!parser.body(body, false, rows) || rows.size() > most) return 0;
        for (const RequestRow& row : parser.marks)
            if (row.has_id) return 0;
        const int64_t width = std::max<int64_t>(learner.K(), 2);
        std::vector<double> P(rows.size() * width);
        learner.predict(rows, P.data(), width);
        if (parser.many) out += "{\"rows\":[";
        for (int64_t i = 0; i < rows.size(); ++i) {
            if (i > 0) out += ',';
            write(P.data() + i * width, K, labels, names, version, out);
        }
        if (parser.many) out += "]}";
        return rows.size();
    }

    static void write(const double* P, int64_t K, const std::vector<std::string>& labels,
                      const std::vector<std::string>& names, int64_t version, std::string& out) {
        out += "{\"id\":null,\"label\":";
        out += labels[std::max_element(P, P + K) - P];
        for (int64_t k = 0; k < K; ++k) {
            out += k ? "," : ",\"proba\":{";
            out += names[k];
            out += ':';
            write_number(P[k], out);
        }
        out += "},\"version\":";
        out += std::to_string(version);
        out += '}';
    }
};

}  // namespace

void likelier::bind_requests(nb::module_& m) {
    nb::class_<RequestReader>(m, "RequestReader")
        .def(nb::init<std::vector<std::vector<std::string>>, const std::optional<std::vector<std::string>>&,
                      const std::vector<std::string>&, const std::vector<std::string>&>(),
             nb::arg("interactions"), nb::arg("columns").none(), nb::arg("numbers"), nb::arg("words"))
        .def("labelled", &RequestReader::labelled)
        .def("rows", &RequestReader::rows)
        .def("predict", &RequestReader::predict);
}
