/* Derivatives of what works on whole rows: of Softmax, and of normalizations. */
#include "config.h"

#include "core/exec/gpu/rows.h"
#include "core/op/infer-util.h"

#define I64 "%" G_GINT64_FORMAT
#define U64 "%" G_GUINT64_FORMAT

/* -- Softmax -- */

static const char *
emit_softmax_grad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  int rank = ir_call_input_rank (call, 1);
  gint64 axis = 0;
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "softmax_grad");
  if (rank > 0 && !ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, NULL))
    return gpu_refuse (&w, "its axis does not fit");
  const GpuElement *e = gpu_put_input (&w, "y", 1);
  if (e == NULL || !gpu_is_real (e->compute) || gpu_put_input (&w, "dy", 0) != e)
    return gpu_refuse (&w, gpu_no_element);
  if (!gpu_rows_of_input (&w, 1, &rows, axis, axis + 1) || rows.shape.n == 0)
    return w.why;
  gpu_put_element (&w, e);
  gpu_put_output (&w, "dx", 0);
  gpu_put_int (&w, "inner", (gint64) rows.inner);
  return gpu_write_rows (&w, "softmax-grad", rows.n_rows, rows.n);
}

/* -- normalization -- */

/* dY, X and scale of rows along the axes [@axis, @end) of X, and dX. @centred: what they sum to is taken out */
static const char *
begin_norm (GpuWriter *w, gboolean centred, GpuRows *rows, gint64 axis, gint64 end)
{
  const IrCall *call = w->call;
  const GpuElement *e = call->outputs[0].present ? gpu_put_output (w, "dx", 0) : NULL;

  if (!call->outputs[0].present)
    return gpu_refuse (w, "its first output, in which it works, is not wanted");
  if (e == NULL || !gpu_is_real (e->compute) || !g_str_equal (e->compute, e->storage))
    return gpu_refuse (w, "no GPU kernel has derivatives in 16 bits");
  for (guint slot = 0; slot < 2; slot++)
    {
      const GpuElement *input = gpu_put_input (w, slot == 0 ? "dy" : "x", slot);
      if (input == NULL || !gpu_is_real (input->compute))
        return gpu_refuse (w, gpu_no_element);
    }
  if (!gpu_rows_of_input (w, 1, rows, axis, end))
    return w->why;
  gpu_put_element (w, e);
  gpu_put_text (w, "mean", g_strdup (centred ? "k_block_add$f (mean, parts, $warps) / $n" : "0"));
  gpu_put_text (w, "g_mean",
                g_strdup (centred ? "k_block_add$f (g_sum, parts, $warps) / $n" : "0"));
  gpu_put_number (w, "epsilon", ir_call_float (call, "epsilon", 1e-5f), e->compute);
  return NULL;
}

/* dX of each row; of X's element k in the block's row, $place finds it as o, $scale_place that of scale as o0. */
static const char *
write_norm (GpuWriter *w, const char *sums, guint64 n_rows, guint64 n)
{
  gpu_put (w, "sums", "%s", sums);
  return gpu_write_rows (w, "norm-grad", n_rows, n);
}

/* A block has the sums of its channel. */
static const char of_block[] = "  if (K_THREAD == 0)\n    ";

/* Stores the derivatives by scale and bias that are wanted at @place, behind @before. (transfer full) */
static char *
store_sums (GpuWriter *w, const char *before, const char *place)
{
  static const char *const names[] = { NULL, "dscale", "db" }, *const values[] = { NULL, "along",
                                                                                   "sum" };
  GString *sums = g_string_new (NULL);

  for (guint i = 1; i < MIN (w->call->n_outputs, G_N_ELEMENTS (names)); i++)
    if (w->call->outputs[i].present && gpu_put_output (w, names[i], i) != NULL)
      g_string_append_printf (sums, "%sK_STORE (%s, %s, $store_%s (%s));\n", before, names[i],
                              place, names[i], values[i]);
  return g_string_free (sums, FALSE);
}

/* A block for each channel. */
static const char *
emit_batch_norm_grad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "batch_norm_grad");
  const char *why = begin_norm (&w, TRUE, &rows, 1, 2);
  if (why != NULL || rows.shape.n == 0)
    return why;
  const GpuElement *scale = gpu_put_input (&w, "w", 2);
  if (scale == NULL || !gpu_is_real (scale->compute))
    return gpu_refuse (&w, gpu_no_element);
  g_autofree char *sums = store_sums (&w, of_block, "K_BLOCK");
  guint64 channels = rows.n, plane = rows.inner;
  gpu_put (&w, "place",
           "  $index o = (k / " U64 " * " U64 " + K_BLOCK) * " U64 " + k %% " U64 ";\n", plane,
           channels, plane, plane);
  gpu_put (&w, "scale_place", "  $index o0 = K_BLOCK;\n");
  return write_norm (&w, sums, channels, rows.shape.n / channels);
}

/* Over all rows, of each of their elements; dX holds what they were normalized to, for now. */
static const char *
add_columns (IrCall *call, IrGpuProgram *program, gint64 axis, gint64 rank)
{
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "norm_columns");
  gpu_put_input (&w, "dy", 0);
  gpu_put_element (&w, gpu_put_output (&w, "dx", 0));
  gpu_put_text (&w, "sums", store_sums (&w, "      ", "column"));
  if (!gpu_rows_of_input (&w, 1, &rows, axis, rank))
    return w.why;
  gpu_put (&w, "n", U64, rows.n);
  gpu_put (&w, "rows", U64, rows.n_rows);
  return gpu_write (&w, "norm-columns", gpu_blocks (rows.n, 32), GPU_THREADS);
}

/* What the elements of each of @n_rows rows, behind each other, were normalized to, into dX. */
static const char *
add_units (IrCall *call, IrGpuProgram *program, gboolean centred, guint64 n_rows)
{
  g_auto (GpuWriter) w;
  GpuRows all;

  gpu_writer_init (&w, program, call, "norm_units");
  const char *why = begin_norm (&w, centred, &all, 0, ir_call_input_rank (call, 1));
  return why != NULL ? why : gpu_write_rows (&w, "norm-units", n_rows, all.n / n_rows);
}

static gboolean
wants_parameters (const IrCall *call)
{
  gboolean some = FALSE;

  for (guint i = 1; i < call->n_outputs; i++)
    some |= call->outputs[i].present;
  return some;
}

static const char *
emit_layers_grad (IrCall *call, IrGpuProgram *program, gboolean centred)
{
  int rank = ir_call_input_rank (call, 1);
  gint64 axis;
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "layer_norm_grad");
  if (rank == IR_RANK_UNKNOWN ||
      !ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, NULL))
    return gpu_refuse (&w, gpu_unknown_shape);
  const char *why = begin_norm (&w, centred, &rows, axis, rank);
  if (why != NULL || rows.shape.n == 0)
    return why;
  if (wants_parameters (call) && (why = add_units (call, program, centred, rows.n_rows)) == NULL)
    why = add_columns (call, program, axis, rank);
  gpu_put_vector (&w, "w", "scale_place", 2, &rows.shape, axis);
  gpu_put (&w, "place", "  $index o = ($index) K_BLOCK * $n + k;\n");
  return why != NULL ? why : write_norm (&w, "", rows.n_rows, rows.n);
}

static const char *
emit_layer_norm_grad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_layers_grad (call, program, TRUE);
}

static const char *
emit_rms_norm_grad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_layers_grad (call, program, FALSE);
}

/* Over samples and places, of each channel; dX holds what they were normalized to, for now. */
static const char *
add_channels (IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "norm_channels");
  gpu_put_input (&w, "dy", 0);
  gpu_put_element (&w, gpu_put_output (&w, "dx", 0));
  gpu_put_text (&w, "sums", store_sums (&w, of_block, "K_BLOCK"));
  if (!gpu_rows_of_input (&w, 1, &rows, 1, 2))
    return w.why;
  gpu_put (&w, "channels", U64, rows.n);
  gpu_put (&w, "plane", U64, rows.inner);
  return gpu_write_rows (&w, "norm-channels", rows.n, rows.shape.n / rows.n);
}

/* A block for each group of a sample's channels, which lie behind each other. */
static const char *
emit_group_norm_grad (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "group_norm_grad");
  const char *why = begin_norm (&w, TRUE, &rows, 1, 2);
  if (why != NULL || rows.shape.n == 0)
    return why;
  const GpuElement *scale = gpu_put_input (&w, "w", 2);
  if (scale == NULL || !gpu_is_real (scale->compute))
    return gpu_refuse (&w, gpu_no_element);
  const guint64 given = (guint64) ir_call_int (call, "num_groups", 0), channels = rows.n,
                groups = given > 0 ? given : channels, plane = rows.inner,
                n_rows = rows.shape.n / (channels * plane) * groups;
  if (wants_parameters (call) && (why = add_units (call, program, TRUE, n_rows)) == NULL)
    why = add_channels (call, program);
  gpu_put (&w, "place", "  $index o = ($index) K_BLOCK * $n + k;\n");
  gpu_put (&w, "scale_place", "  $index o0 = K_BLOCK %% " U64 " * " U64 " + k / " U64 ";\n", groups,
           channels / groups, plane);
  return why != NULL ? why : write_norm (&w, "", n_rows, rows.shape.n / n_rows);
}

const IrGpuKernel gpu_softmax_grad = { "softmax-grad", emit_softmax_grad };
const IrGpuKernel gpu_batch_norm_grad = { "batch-norm-grad", emit_batch_norm_grad };
const IrGpuKernel gpu_layer_norm_grad = { "layer-norm-grad", emit_layer_norm_grad };
const IrGpuKernel gpu_rms_norm_grad = { "rms-norm-grad", emit_rms_norm_grad };
const IrGpuKernel gpu_group_norm_grad = { "group-norm-grad", emit_group_norm_grad };
