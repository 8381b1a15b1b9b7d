/* Element types as kernels see them, and the columns GPU and SCALAR of the op table. */
#include "config.h"

#include "core/exec/gpu/emit.h"

typedef struct
{
  IrOpId op;
  const IrGpuKernel *kernel; /* (nullable) */
  GpuScalar scalars[GPU_MAX_SCALARS + 1];
} Row;

/* Each row closes the one before it, so that rows without the columns have none. */
/* clang-format off */
static const Row rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define GPU(name) , .kernel = &name
#define SCALAR(...) , .scalars = { __VA_ARGS__ }
#include "core/op/ops.def"
} };

static const GpuElement elements[] = {
  { IR_DTYPE_FLOAT,    "float",              "",                  "",                  "float" },
  { IR_DTYPE_DOUBLE,   "double",             "",                  "",                  "double" },
  { IR_DTYPE_FLOAT16,  "unsigned short",     "k_half_to_float",   "k_float_to_half",   "float" },
  { IR_DTYPE_BFLOAT16, "unsigned short",     "k_bfloat_to_float", "k_float_to_bfloat", "float" },
  { IR_DTYPE_INT8,     "signed char",        "(k_i64)",           "(signed char)",     "k_i64" },
  { IR_DTYPE_INT16,    "short",              "(k_i64)",           "(short)",           "k_i64" },
  { IR_DTYPE_INT32,    "int",                "(k_i64)",           "(int)",             "k_i64" },
  { IR_DTYPE_INT64,    "long long",          "(k_i64)",           "(k_i64)",           "k_i64" },
  { IR_DTYPE_UINT8,    "unsigned char",      "(k_u64)",           "(unsigned char)",   "k_u64" },
  { IR_DTYPE_UINT16,   "unsigned short",     "(k_u64)",           "(unsigned short)",  "k_u64" },
  { IR_DTYPE_UINT32,   "unsigned int",       "(k_u64)",           "(unsigned int)",    "k_u64" },
  { IR_DTYPE_UINT64,   "unsigned long long", "(k_u64)",           "(k_u64)",           "k_u64" },
  { IR_DTYPE_BOOL,     "unsigned char",      "(k_u64) 0 != ",     "(unsigned char) 0 != ", "k_u64" },
};
/* clang-format on */

const GpuScalar *
gpu_scalars (const IrOp *op)
{
  const GpuScalar *scalars = rows[op->id].scalars;

  return scalars[0].real != NULL || scalars[0].uint != NULL ? scalars : NULL;
}

const IrGpuKernel *
gpu_kernel (const IrOp *op)
{
  return rows[op->id].kernel;
}

const GpuElement *
gpu_element (IrDtype dtype)
{
  for (guint i = 0; i < G_N_ELEMENTS (elements); i++)
    if (elements[i].dtype == dtype)
      return &elements[i];
  return NULL;
}

const char *
gpu_word (IrDtype dtype)
{
  if (gpu_element (dtype) == NULL)
    return NULL;
  switch (ir_dtype_bits (dtype))
    {
    case 8:
      return "unsigned char";
    case 16:
      return "unsigned short";
    case 32:
      return "unsigned int";
    default:
      return "unsigned long long";
    }
}
