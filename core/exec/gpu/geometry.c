/* Shapes, loops over them, and the text of their indices. Sizes are written into the text, so that
 * divisions are by constants. */
#include "config.h"

#include "core/exec/gpu/emit.h"

#include <string.h>

gboolean
gpu_shape (const IrType *type, GpuShape *shape)
{
  if (type == NULL || !ir_type_is_tensor (type) || !ir_type_is_static (type))
    return FALSE;
  shape->rank = (guint) type->rank;
  shape->n = 1;
  for (guint i = 0; i < shape->rank; i++)
    {
      shape->dims[i] = type->dims[i];
      if (__builtin_mul_overflow (shape->n, (guint64) shape->dims[i], &shape->n))
        return FALSE;
    }
  return TRUE;
}

void
gpu_contiguous_strides (const GpuShape *shape, gint64 *strides)
{
  gint64 stride = 1;

  for (guint i = shape->rank; i > 0; i--)
    {
      strides[i - 1] = stride;
      stride *= shape->dims[i - 1];
    }
}

void
gpu_loop_init (GpuLoop *loop, const GpuShape *shape)
{
  loop->rank = shape->rank;
  loop->n_operands = 0;
  loop->n = shape->n;
  memcpy (loop->dims, shape->dims, shape->rank * sizeof shape->dims[0]);
}

void
gpu_loop_add (GpuLoop *loop, const gint64 *strides, gint64 base)
{
  g_return_if_fail (loop->n_operands < GPU_MAX_OPERANDS);
  loop->bases[loop->n_operands] = base;
  memcpy (loop->strides[loop->n_operands++], strides, loop->rank * sizeof strides[0]);
}

void
gpu_loop_add_broadcast (GpuLoop *loop, const GpuShape *operand)
{
  gint64 own[IR_MAX_RANK], strides[IR_MAX_RANK] = { 0 };
  guint first = loop->rank - operand->rank;

  gpu_contiguous_strides (operand, own);
  for (guint i = 0; i < operand->rank; i++)
    strides[first + i] = operand->dims[i] == 1 ? 0 : own[i];
  gpu_loop_add (loop, strides, 0);
}

/* Whether a step along axis @i is, for all, as many steps along the next one as that has places. */
static gboolean
joins_next (const GpuLoop *loop, guint i, guint next)
{
  for (guint k = 0; k < loop->n_operands; k++)
    if (loop->strides[k][i] != loop->strides[k][next] * loop->dims[next])
      return FALSE;
  return TRUE;
}

static void
drop_axis (GpuLoop *loop, guint axis)
{
  gsize rest = loop->rank - axis - 1;

  memmove (&loop->dims[axis], &loop->dims[axis + 1], rest * sizeof loop->dims[0]);
  for (guint k = 0; k < loop->n_operands; k++)
    memmove (&loop->strides[k][axis], &loop->strides[k][axis + 1], rest * sizeof (gint64));
  loop->rank--;
}

void
gpu_loop_join (GpuLoop *loop)
{
  for (guint i = loop->rank; i > 0; i--)
    if (loop->dims[i - 1] == 1)
      drop_axis (loop, i - 1);
  for (guint i = loop->rank; i > 1; i--)
    if (joins_next (loop, i - 2, i - 1))
      {
        loop->dims[i - 1] *= loop->dims[i - 2];
        drop_axis (loop, i - 2);
      }
}

gboolean
gpu_loop_is_whole (const GpuLoop *loop, guint operand)
{
  return loop->rank == 0 || (loop->rank == 1 && loop->strides[operand][0] == 1);
}

gboolean
gpu_loop_is_single (const GpuLoop *loop, guint operand)
{
  for (guint i = 0; i < loop->rank; i++)
    if (loop->strides[operand][i] != 0)
      return FALSE;
  return TRUE;
}

const char *
gpu_index_type (const GpuLoop *loop)
{
  guint64 most = loop->n;

  for (guint k = 0; k < loop->n_operands; k++)
    {
      guint64 end = (guint64) loop->bases[k] + 1;
      for (guint i = 0; i < loop->rank; i++)
        end += (guint64) ABS (loop->strides[k][i]) * (guint64) loop->dims[i];
      most = MAX (most, end);
    }
  return most <= G_MAXINT32 ? "unsigned int" : "unsigned long long";
}

static void
print_offset (const GpuLoop *loop, guint operand, GString *text)
{
  const char *type = gpu_index_type (loop), *suffix = type[9] == 'l' ? "ull" : "u";

  g_string_append_printf (text, "  %s o%u = %" G_GINT64_FORMAT "%s", type, operand,
                          loop->bases[operand], suffix);
  for (guint i = 0; i < loop->rank; i++)
    {
      gint64 stride = loop->strides[operand][i];
      if (stride != 0)
        g_string_append_printf (text, " %c d%u * %" G_GINT64_FORMAT "%s", stride < 0 ? '-' : '+', i,
                                ABS (stride), suffix);
    }
  g_string_append (text, ";\n");
}

void
gpu_loop_print (const GpuLoop *loop, const char *index, GString *text)
{
  const char *type = gpu_index_type (loop), *suffix = type[9] == 'l' ? "ull" : "u";

  if (loop->rank > 0)
    g_string_append_printf (text, "  %s r = %s;\n", type, index);
  for (guint i = loop->rank; i > 0; i--)
    if (i > 1)
      g_string_append_printf (
          text, "  %s d%u = r %% %" G_GINT64_FORMAT "%s;\n  r /= %" G_GINT64_FORMAT "%s;\n", type,
          i - 1, loop->dims[i - 1], suffix, loop->dims[i - 1], suffix);
    else
      g_string_append_printf (text, "  %s d0 = r;\n", type);
  for (guint k = 0; k < loop->n_operands; k++)
    print_offset (loop, k, text);
}
