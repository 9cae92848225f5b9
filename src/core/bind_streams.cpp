// What Python can call of online learning on hashed rows.
#include "bind.hpp"
#include "hashed.hpp"
#include "learner.hpp"

using namespace likelier;

void likelier::bind_streams(nb::module_& m) {
    nb::class_<HashedRows>(m, "HashedRows")
        .def(nb::init<>())
        .def("__len__", &HashedRows::size)
        .def_prop_ro("cells", [](const HashedRows& rows) { return rows.cells.size(); })
        .def_ro("skipped", &HashedRows::skipped)
        .def("clear", &HashedRows::clear);
}
