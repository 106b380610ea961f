#include <math.h>
#include <string.h>

#include "model/weights.h"

static const char *const names[] = {
#define X(id, name, width) [id] = name,
    TL_DTYPE_LIST(X)
#undef X
};

static const size_t widths[] = {
#define X(id, name, width) [id] = width,
    TL_DTYPE_LIST(X)
#undef X
};

const char *tl_dtype_name(tl_dtype dtype)
{
    return names[dtype];
}

size_t tl_dtype_width(tl_dtype dtype)
{
    return widths[dtype];
}

bool tl_dtype_readable(tl_dtype dtype)
{
    return dtype == TL_DTYPE_F64 || dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F16 ||
           dtype == TL_DTYPE_BF16;
}

uint64_t tl_word(const unsigned char *bytes, size_t width)
{
    uint64_t word = 0;

    for (size_t i = width; i-- > 0;) word = word << 8 | bytes[i];
    return word;
}

/* Sign, exponent and fraction of a 16-bit IEEE number; exact in double. */
static double half_value(uint64_t word)
{
    int exponent = (int)(word >> 10 & 31);
    double fraction = (double)(word & 1023), size;

    if (exponent == 31)
        size = fraction > 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, -24);
    else
        size = ldexp(fraction + 1024, exponent - 25);
    return word >> 15 ? -size : size;
}

static double single_value(uint64_t word)
{
    uint32_t bits = (uint32_t)word;
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

double tl_dtype_value(tl_dtype dtype, bool big_endian, const unsigned char *bytes)
{
    const size_t width = widths[dtype];
    uint64_t word = 0;
    double value;

    if (big_endian)
        for (size_t i = 0; i < width; i++) word = word << 8 | bytes[i];
    else
        word = tl_word(bytes, width);
    switch (dtype) {
    case TL_DTYPE_F16:
        return half_value(word);
    case TL_DTYPE_BF16:
        return single_value(word << 16);
    case TL_DTYPE_F32:
        return single_value(word);
    default:
        memcpy(&value, &word, sizeof value);
        return value;
    }
}

bool tl_tensor_extend(tl_tensor *t, uint64_t extent, uint64_t *bytes)
{
    if (extent > SIZE_MAX || (extent > 0 && *bytes > UINT64_MAX / extent)) return false;
    if (t->rank < TL_WEIGHTS_RANK_MAX) t->shape[t->rank] = (size_t)extent;
    t->rank++;
    if (extent > 0) *bytes *= extent;
    return true;
}
