// What makes hashed rows: dicts, tables and text.
#include "bind.hpp"

#include "hashed.hpp"

using namespace likelier;

void likelier::bind_cells(nb::module_&) {}
