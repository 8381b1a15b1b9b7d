/* What the CPU kernels share. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/cpu/vector-math.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define WORK_PER_THREAD 16384 /* elements: below, waking a thread costs more than it brings */

int
cpu_n_threads (const IrCall *call, guint64 work)
{
  guint n = ir_threads_n (call->threads);

  return (int) MAX (1, MIN (n, work / WORK_PER_THREAD));
}

int
cpu_n_parts (const IrCall *call, guint64 work)
{
  return (int) MAX (1, MIN (ir_threads_n_parts (call->threads), work / WORK_PER_THREAD));
}

void
cpu_library_threads (const IrCall *call, int n_threads)
{
  omp_set_num_threads (call->threads.deterministic ? 1 : n_threads);
}

#define LEAST_PART 64 /* elements that take as long as finding out where a part is, or more */

/* Polls come at the last of so many parts, so that small loops have none. */
CpuWatch
cpu_watch (const IrCall *call, gint64 part_elements)
{
  gint64 n = CPU_POLL / MAX (part_elements, LEAST_PART), mask = 0;

  while (mask + 1 < n)
    mask = 2 * mask + 1;
  return (CpuWatch){ .call = call, .mask = mask };
}

gint64
cpu_share (gint64 n, int after)
{
  gint64 n_threads = omp_get_num_threads (), thread = omp_get_thread_num () + after;

  return n / n_threads * thread + n % n_threads * thread / n_threads;
}

const float *
cpu_floats (const IrCall *call, guint slot)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  return tensor != NULL && ir_tensor_dtype (tensor) == IR_DTYPE_FLOAT ? ir_tensor_data (tensor)
                                                                      : NULL;
}

const CpuUnalignedFloat *
cpu_unaligned_floats (const IrCall *call, guint slot)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  return tensor != NULL && ir_tensor_dtype (tensor) == IR_DTYPE_FLOAT ? ir_tensor_raw (tensor)
                                                                      : NULL;
}

float *
cpu_new_floats (IrCall *call, guint slot, const IrTensor *like, GError **error)
{
  return cpu_new_floats_shaped (call, slot, ir_tensor_rank (like), ir_tensor_dims (like), error);
}

float *
cpu_new_floats_shaped (IrCall *call, guint slot, guint rank, const gint64 *dims, GError **error)
{
  IrTensor *tensor = ir_call_new_output (call, slot, IR_DTYPE_FLOAT, rank, dims, error);
  return tensor != NULL ? ir_tensor_data_writable (tensor) : NULL;
}

const char cpu_half[] = "float16 and bfloat16 are computed with in float32, and rounded once";

gboolean
cpu_is_half (IrDtype dtype)
{
  return dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16;
}

const char *
cpu_takes_float (IrDtype dtype, const char *why)
{
  return dtype == IR_DTYPE_FLOAT ? NULL : cpu_is_half (dtype) ? cpu_half : why;
}

const char *
cpu_first_reason (const char *why, const char *other)
{
  return why == NULL || (why == cpu_half && other != NULL) ? other : why;
}

const char *
cpu_needs_float (const IrNode *node)
{
  return cpu_needs_floats (node, G_MAXUINT64);
}

const char *
cpu_needs_float_but (const IrNode *node, guint slot)
{
  return cpu_needs_floats (node, ~(G_GUINT64_CONSTANT (1) << slot));
}

const char *
cpu_needs_floats (const IrNode *node, guint64 slots)
{
  IrDtype first = IR_DTYPE_UNDEFINED;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      IrDtype dtype = cpu_dtype (node, i);
      if (node->inputs[i] == NULL || (i < 64 && !(slots >> i & 1)))
        continue;
      if (dtype != IR_DTYPE_FLOAT && !cpu_is_half (dtype))
        return "CPU kernels of this operator compute in float32, and an input is of another or unknown type";
      if (first != IR_DTYPE_UNDEFINED && first != dtype)
        return "CPU kernels of this operator take inputs of one type";
      first = dtype;
    }
  return cpu_is_half (first) ? cpu_half : NULL;
}

const char *
cpu_needs_first_float (const IrNode *node)
{
  return cpu_takes_float (cpu_dtype (node, 0),
                          "the CPU kernel of this operator takes float32, and the "
                          "input is of another or unknown type");
}

IrDtype
cpu_dtype (const IrNode *node, guint slot)
{
  const IrValue *value = slot < node->n_inputs ? node->inputs[slot] : NULL;
  return value != NULL ? ir_value_dtype (value) : IR_DTYPE_UNDEFINED;
}

const char *
cpu_needs_whole_bytes (const IrNode *node, guint slot)
{
  guint bits = ir_dtype_bits (cpu_dtype (node, slot));

  return bits == 8 || bits == 16 || bits == 32 || bits == 64
             ? NULL
             : "elements of this type have no whole 1, 2, 4 or 8 bytes, or the type is unknown";
}

gpointer
cpu_new_output (IrCall *call, guint slot, GError **error)
{
  const IrType *type = call->outputs[slot].type;
  IrTensor *tensor;

  if (type == NULL || !ir_type_is_static (type))
    {
      ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the shape of output %u is not known", slot);
      return NULL;
    }
  tensor = ir_call_new_output (call, slot, type->dtype, (guint) type->rank, type->dims, error);
  return tensor != NULL ? ir_tensor_data_writable (tensor) : NULL;
}

CpuSplit
cpu_split_axes (const IrTensor *tensor, gint64 first, gint64 end)
{
  const gint64 *dims = ir_tensor_dims (tensor);
  CpuSplit split = { 1, 1, 1 };

  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    *((gint64) i < first ? &split.outer
      : (gint64) i < end ? &split.middle
                         : &split.inner) *= dims[i];
  return split;
}

/* -- epilogues -- */

CPU_VECTORIZED static void
add (float *y, const float *z, guint64 n)
{
  for (guint64 i = 0; i < n; i++)
    y[i] += z[i];
}

/* clang-format off */
#define IR_ACTIVATION(ID, ...) \
  CPU_VECTORIZED static void activate_##ID (const CpuEpilogue *p, float *y, guint64 n)
#define ACT_CPU(expression) \
  { \
    for (guint64 i = 0; i < n; i++) \
      { \
        float x = y[i]; \
        y[i] = expression; \
      } \
  }
#include "core/op/activations.def"

static void
activate (const CpuEpilogue *epilogue, float *y, guint64 n)
{
  switch (epilogue->activation)
    {
    case IR_ACTIVATION_NONE:
      break;
#define IR_ACTIVATION(ID, ...) \
    case IR_ACTIVATION_##ID: \
      activate_##ID (epilogue, y, n); \
      break;
#include "core/op/activations.def"
    }
}
/* clang-format on */

gboolean
cpu_is_tail (const IrTensor *vector, const IrTensor *in, gint64 axis)
{
  gint64 rank = ir_tensor_rank (vector), in_rank = ir_tensor_rank (in), n = in_rank - axis;
  gboolean fits = rank >= n && rank <= in_rank;

  for (gint64 k = 0; fits && k < rank; k++)
    fits = ir_tensor_dims (vector)[rank - 1 - k] ==
           (k < n ? ir_tensor_dims (in)[in_rank - 1 - k] : 1);
  return fits;
}

gboolean
cpu_epilogue_of (const IrCall *call, CpuEpilogue *epilogue)
{
  const float *limits[2] = { NULL };

  *epilogue = (CpuEpilogue){ .activation = call->op->activation,
                             .alpha = ir_call_float (call, "activation_alpha", 0.01f) };
  if (epilogue->activation != IR_ACTIVATION_CLIP)
    return TRUE;
  for (guint i = 0; i < 2; i++)
    {
      guint slot = (guint) call->op->in.max - 2 + i;
      limits[i] = cpu_floats (call, slot);
      if (limits[i] == NULL || ir_tensor_n_elements (ir_call_input (call, slot)) != 1)
        return FALSE;
    }
  epilogue->low = *limits[0];
  epilogue->high = *limits[1];
  return TRUE;
}

void
cpu_epilogue (const CpuEpilogue *epilogue, float *y, guint64 n, guint64 offset)
{
  if (epilogue->add != NULL)
    add (y, epilogue->add + offset, n);
  activate (epilogue, y, n);
}

static void
epilogue_pieces (
    const IrCall *call, const CpuEpilogue *epilogue, float *y, guint64 n, guint64 offset)
{
  for (guint64 at = 0; at < n && (at == 0 || !ir_call_stopped (call)); at += CPU_POLL)
    cpu_epilogue (epilogue, y + at, MIN (n - at, CPU_POLL), offset + at);
}

void
cpu_epilogue_all (const IrCall *call, const CpuEpilogue *epilogue, float *y, guint64 n)
{
  int n_threads = cpu_n_threads (call, n), n_parts = cpu_n_parts (call, n);

  if (epilogue->add == NULL && epilogue->activation == IR_ACTIVATION_NONE)
    return;
  if (n_parts == 1)
    {
      epilogue_pieces (call, epilogue, y, n, 0);
      return;
    }
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int part = 0; part < n_parts; part++)
    {
      guint64 first = n * part / n_parts, end = n * (part + 1) / n_parts;
      epilogue_pieces (call, epilogue, y + first, end - first, first);
    }
}
