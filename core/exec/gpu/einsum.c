/* Einsum: a thread for each element of the result goes through all values of the indices that are summed, and
 * multiplies what the operands have there. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-einsum.h"

#include <string.h>

/* From one value of @label to the next: an index that stands twice walks a diagonal. */
static gint64
label_stride (const IrEinsumTerm *term, const GpuShape *shape, guint label)
{
  gint64 own[IR_MAX_RANK], sum = 0;

  gpu_contiguous_strides (shape, own);
  for (guint i = 0; i < shape->rank; i++)
    if (term->labels[i] == label && shape->dims[i] != 1)
      sum += own[i];
  return sum;
}

static gboolean
is_in (const IrEinsumTerm *term, guint label)
{
  return memchr (term->labels, (int) label, (gsize) term->rank) != NULL;
}

/* The operands over the indices of the output, in their order, or over those that it has not. */
static gboolean
read_space (GpuLoop *loop,
            const IrEinsum *einsum,
            const GpuShape *shapes,
            const GpuShape *out,
            gboolean summed)
{
  guint labels[IR_MAX_RANK];
  GpuShape space = { .n = 1 };

  for (guint i = 0; i < out->rank && !summed; i++)
    {
      labels[space.rank] = einsum->output.labels[i];
      space.dims[space.rank++] = out->dims[i];
    }
  for (guint label = 0; label < IR_EINSUM_N_LABELS && summed; label++)
    if (einsum->used[label] && !is_in (&einsum->output, label))
      {
        if (space.rank == IR_MAX_RANK || !ir_dim_is_known (einsum->sizes[label]))
          return FALSE;
        labels[space.rank] = label;
        space.dims[space.rank++] = einsum->sizes[label];
      }
  for (guint i = 0; i < space.rank; i++)
    space.n *= (guint64) space.dims[i];
  gpu_loop_init (loop, &space);
  for (guint t = 0; t < einsum->n_terms; t++)
    {
      gint64 strides[IR_MAX_RANK];
      for (guint i = 0; i < space.rank; i++)
        strides[i] = label_stride (&einsum->terms[t], &shapes[t], labels[i]);
      gpu_loop_add (loop, strides, 0);
    }
  gpu_loop_join (loop);
  return TRUE;
}

/* Inputs as x0, x1 .., and $product of what they have at b0 + o0, b1 + o1 .. */
static const GpuElement *
put_terms (GpuWriter *w, const IrEinsum *einsum, GpuShape *shapes)
{
  static const char *const names[] = { "x_a", "x_b", "x_c", "x_d", "x_e", "x_f", "x_g", "x_h" };
  const GpuElement *e = gpu_element (w->call->outputs[0].type->dtype);
  GString *product = g_string_new ("1"), *starts = g_string_new (NULL);

  for (guint t = 0; t < einsum->n_terms && t < G_N_ELEMENTS (names); t++)
    {
      if (gpu_put_input (w, names[t], t) != e)
        gpu_refuse (w, "its inputs are of different types");
      gpu_shape_of_input (w, t, &shapes[t]);
      g_string_append_printf (product, " * ($compute) ($load (K_LOAD (%s, b%u + o%u)))", names[t],
                              t, t);
      g_string_append_printf (starts, "  $index b%u = o%u;\n", t, t);
    }
  if (einsum->n_terms > G_N_ELEMENTS (names))
    gpu_refuse (w, "it has more inputs than a kernel has parameters");
  if (e == NULL || e->dtype == IR_DTYPE_BOOL)
    gpu_refuse (w, gpu_no_element);
  gpu_put_text (w, "product", g_string_free (product, FALSE));
  gpu_put_text (w, "starts", g_string_free (starts, FALSE));
  return w->why == NULL ? e : NULL;
}

static const char *
emit_einsum (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (IrEinsum) einsum = { 0 };
  g_auto (GpuWriter) w;
  GpuShape shapes[8], out;
  GpuLoop kept, summed;

  gpu_writer_init (&w, program, call, "einsum");
  if (!gpu_shape_of_output (&w, 0, &out) || !ir_einsum_init (&einsum, call, NULL))
    return gpu_refuse (&w, gpu_unknown_shape);
  for (guint t = 0; t < einsum.n_terms; t++)
    if (einsum.terms[t].rank == IR_RANK_UNKNOWN)
      return gpu_refuse (&w, gpu_unknown_shape);
  const GpuElement *e = put_terms (&w, &einsum, shapes);
  if (e == NULL || !read_space (&kept, &einsum, shapes, &out, FALSE) ||
      !read_space (&summed, &einsum, shapes, &out, TRUE))
    return gpu_refuse (&w, gpu_unknown_shape);
  gpu_put_output (&w, "y", 0);
  gpu_put (&w, "load", "%s", e->load);
  /* Whole numbers wrap around, which those without a sign do. */
  gpu_put (&w, "compute", "%s", gpu_is_real (e->compute) ? e->compute : "k_u64");
  gpu_put_loop (&w, "offsets", &kept, "i");
  gpu_put_loop (&w, "places", &summed, "j");
  gpu_put (&w, "count", "%" G_GUINT64_FORMAT, summed.n);
  gpu_put (&w, "result", "%s (s)", gpu_is_real (e->compute) ? e->store : "($type_y)");
  return gpu_write_each (&w, "einsum", out.n);
}

const IrGpuKernel gpu_einsum = { "einsum", emit_einsum };
