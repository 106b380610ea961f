#include "model/weights.h"

tl_status tl_onnx_read(tl_weights *file, tl_error *err)
{
    return tl_fail(err, TL_ERR_UNSUPPORTED, "%s: ONNX is not read by this build", file->path);
}
