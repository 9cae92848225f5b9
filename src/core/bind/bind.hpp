// What the files that know Python's types share: the types of arguments, and who binds what.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/matrix.hpp"
#include "losses/losses.hpp"

namespace nb = nanobind;

namespace likelier {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using In = Array<const double>;
using Out = Array<double>;

// A Matrix that keeps the arrays it looks into alive.
struct Held {
    Matrix view;
    nb::object owner;
};

// One caller at a time. Whoever has to wait lets go of Python meanwhile, so that none who holds the one
// waits for the other.
class Turn {
  public:
    explicit Turn(std::recursive_mutex& mutex) : mutex(mutex) {
        if (mutex.try_lock()) return;
        nb::gil_scoped_release free;
        mutex.lock();
    }
    ~Turn() { mutex.unlock(); }
    Turn(const Turn&) = delete;

  private:
    std::recursive_mutex& mutex;
};

inline Loss loss_of(int number) {
    if (number < 0 || number > static_cast<int>(Loss::smooth_hinge))
        throw std::invalid_argument("losses are numbered from 0 to 7");
    return static_cast<Loss>(number);
}

void bind_rows(nb::module_& m);       // solvers that step at every row
void bind_newton(nb::module_& m);     // truncated Newton
void bind_streams(nb::module_& m);    // rows that come one by one, hashed
void bind_cells(nb::module_& m);      // what makes them: dicts, tables, text
void bind_text(nb::module_& m);       // the last of these
void bind_documents(nb::module_& m);  // documents as rows of counts
void bind_tables(nb::module_& m);     // tables as the columns of a design
void bind_requests(nb::module_& m);   // bodies of requests

}  // namespace likelier
