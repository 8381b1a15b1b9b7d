/* Derivatives of Fourier transforms. They are linear: the derivative is the conjugate transform of what
 * comes, cut to the elements that were read. Real numbers have a last axis of 1, complex ones of 2; both
 * parts are real variables (Griewank and Walther; no Wirtinger derivatives). */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"

typedef struct
{
  gint64 axis, length; /* of the transform */
  gint64 size, n_in;   /* elements of the input along it, and how many of these count */
  gint64 parts;        /* 1: the input is real */
  gboolean inverse, half;
} Transform;

/* An input of one integer */
static gboolean
read_integer (const IrNode *node, guint slot, gint64 *value)
{
  const IrTensor *tensor = ir_node_input (node, slot) != NULL
                               ? ir_value_constant (node->inputs[slot])
                               : NULL;

  if (tensor == NULL || ir_tensor_n_elements (tensor) != 1)
    return ir_node_input (node, slot) == NULL;
  *value = ir_tensor_get_int64 (tensor, 0);
  return TRUE;
}

static gboolean
axis_is_input (const IrNode *node)
{
  return ir_node_opset (node) == 0 || ir_node_opset (node) >= 20;
}

static gboolean
read_transform (const IrVjp *vjp, Transform *t, GError **error)
{
  const IrNode *node = vjp->node;
  const IrValue *x = node->inputs[0];
  const int rank = ir_value_rank (x);

  t->axis = axis_is_input (node) ? -2 : ir_node_attr_int (node, "axis", 1);
  t->inverse = ir_node_attr_int (node, "inverse", 0) != 0;
  t->half = ir_node_attr_int (node, "onesided", 0) != 0;
  if (rank < 2 || !read_integer (node, 2, &t->axis))
    return ir_emit_fail (vjp, error, "its axis or the rank of its input is not known");
  t->axis += t->axis < 0 ? rank : 0;
  t->size = ir_emit_dim (x, (int) t->axis);
  t->parts = ir_emit_dim (x, -1);
  t->length = t->inverse && t->half ? 2 * (t->size - 1) : t->size;
  if (t->size < 0 || t->parts < 0 || !read_integer (node, 1, &t->length) || t->length < 1)
    return ir_emit_fail (vjp, error, "its length is not known; give sizes (--dim)");
  t->n_in = MIN (t->size, t->inverse && t->half ? t->length / 2 + 1 : t->length);
  return TRUE;
}

static IrValue *
dft (const IrVjp *vjp, const Transform *t, IrValue *x, gboolean inverse, gboolean onesided)
{
  const gboolean input = axis_is_input (vjp->node);
  IrValue *inputs[] = { x, ir_emit_ints (vjp, &t->length, -1),
                        input ? ir_emit_ints (vjp, &t->axis, -1) : NULL };
  IrNode *node = ir_emit_node (vjp, "DFT", input ? 3 : 2, inputs, 1);

  if (!input)
    ir_emit_attr_int (vjp, node, "axis", t->axis);
  ir_emit_attr_int (vjp, node, "inverse", inverse);
  ir_emit_attr_int (vjp, node, "onesided", onesided);
  return ir_emit_end (vjp, node);
}

/* An inverse from half a spectrum: what has a mirror image counts twice. */
static IrValue *
mirrored (const IrVjp *vjp, const Transform *t, IrValue *dx)
{
  const int rank = ir_value_rank (vjp->node->inputs[0]);
  const gint64 n = t->length / 2 + 1;
  g_autofree double *factors = g_new (double, n);
  gint64 dims[IR_MAX_RANK];

  for (gint64 k = 0; k < n; k++)
    factors[k] = (k == 0 || 2 * k == t->length ? 1 : 2) / (double) t->length;
  for (int i = 0; i < rank; i++)
    dims[i] = i == t->axis ? n : 1;
  return ir_emit2 (vjp, "Mul", dx, ir_emit_doubles (vjp, (guint) rank, dims, factors));
}

/* To the elements that were read, and zeros where none were; to the real part of a real input */
static IrValue *
fitted (const IrVjp *vjp, const Transform *t, IrValue *dx)
{
  static const gint64 zero = 0, one = 1, parts = -1;
  const int rank = ir_value_rank (vjp->node->inputs[0]);
  gint64 pads[2 * IR_MAX_RANK] = { 0 };

  if (t->parts == 1)
    dx = ir_emit_slice (vjp, dx, &zero, &one, &parts, 1);
  if (ir_emit_dim (dx, (int) t->axis) != t->n_in)
    dx = ir_emit_slice (vjp, dx, &zero, &t->n_in, &t->axis, 1);
  if (t->n_in == t->size)
    return dx;
  pads[rank + t->axis] = t->size - t->n_in;
  return ir_emit2 (vjp, "Pad", dx, ir_emit_ints (vjp, pads, 2 * rank));
}

gboolean
ir_vjp_dft (IrVjp *vjp, GError **error)
{
  Transform t;
  IrValue *dx;

  if (!read_transform (vjp, &t, error))
    return FALSE;
  if (t.inverse && t.half)
    dx = mirrored (vjp, &t, dft (vjp, &t, vjp->dy[0], FALSE, TRUE));
  else
    {
      const double n = (double) t.length;
      dx = ir_emit2 (vjp, "Mul", dft (vjp, &t, vjp->dy[0], !t.inverse, FALSE),
                     ir_emit_number (vjp, t.inverse ? 1 / n : n));
    }
  vjp->dx[0] = fitted (vjp, &t, dx);
  return TRUE;
}

/* -- STFT: frames, each times the window and transformed -- */

gboolean
ir_expand_stft (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 last = 2, column[] = { -1, 1 };
  const IrNode *node = emit->node;
  IrValue *signal = node->inputs[0], *window = ir_node_input (node, 2);
  gint64 size = ir_emit_dim (signal, 1), step = 0;
  gint64 length = window != NULL ? ir_emit_dim (window, 0) : size;

  if (size < 0 || !read_integer (node, 1, &step) || step < 1 || !read_integer (node, 3, &length) ||
      length < 1 || length > size)
    return ir_emit_fail (emit, error,
                         "its frames are not known; their step and length must be constant and the "
                         "length of the signal given (--dim)");
  gint64 dims[] = { 1 + (size - length) / step, length };
  g_autofree gint64 *places = g_new (gint64, dims[0] * length);
  for (gint64 i = 0; i < dims[0] * length; i++)
    places[i] = i / length * step + i % length;
  if (ir_value_rank (signal) == 2)
    signal = ir_emit_unsqueeze (emit, signal, &last, 1);
  IrValue *inputs[] = { signal, ir_emit_reshape (
                                    emit, ir_emit_ints (emit, places, dims[0] * length), dims, 2) };
  IrNode *frames = ir_emit_node (emit, "Gather", 2, inputs, 1);
  ir_emit_attr_int (emit, frames, "axis", 1);
  IrValue *x = ir_emit_end (emit, frames);
  if (window != NULL)
    x = ir_emit2 (emit, "Mul", x, ir_emit_reshape (emit, window, column, 2));
  const Transform t = { .axis = 2, .length = length };
  outputs[0] = dft (emit, &t, x, FALSE, ir_node_attr_int (node, "onesided", 1) != 0);
  return TRUE;
}
