/* The header pulls in <iostream> for its stream operators, which are not used here. That header
 * defines a static object per file: mutable state, and a dependency on the C++ runtime. Its include
 * guard is set beforehand and the declarations come from <istream> and <ostream>, so the object
 * file links into plain C programs. */
#include <istream>
#include <ostream>
#define _GLIBCXX_IOSTREAM 1
#include <pcg_random.hpp>

#include <new>
#include <type_traits>

#include "base/pcg64.h"

static_assert(sizeof(pcg64) == TL_PCG64_BYTES, "state size as announced to C");
static_assert(std::is_trivially_copyable<pcg64>::value, "gsl_rng_memcpy copies bytes");

extern "C" void tl_pcg64_seed(void *state, uint64_t initstate, uint64_t stream)
{
    new (state) pcg64(initstate, stream);
}

extern "C" uint64_t tl_pcg64_next(void *state)
{
    return (*static_cast<pcg64 *>(state))();
}
