/* What works on whole rows, a block of threads for each: Softmax and LogSoftmax, and normalization of layers,
 * channels and groups. */
#include "config.h"

#include "core/exec/gpu/rows.h"
#include "core/op/infer-util.h"

#define I64 "%" G_GINT64_FORMAT

gboolean
gpu_rows_of_input (GpuWriter *w, guint slot, GpuRows *rows, gint64 axis, gint64 end)
{
  if (!gpu_shape_of_input (w, slot, &rows->shape))
    return FALSE;
  rows->n = rows->inner = rows->n_rows = 1;
  for (guint i = 0; i < rows->shape.rank; i++)
    *(i < axis  ? &rows->n_rows
      : i < end ? &rows->n
                : &rows->inner) *= (guint64) rows->shape.dims[i];
  rows->n_rows *= rows->inner;
  return TRUE;
}

/* Reads input 0 as x, whose rows go along the axes [@axis, @end). */
static gboolean
put_rows (GpuWriter *w, GpuRows *rows, gint64 axis, gint64 end)
{
  rows->element = gpu_put_input (w, "x", 0);
  if (rows->element == NULL || !gpu_is_real (rows->element->compute))
    {
      gpu_refuse (w, gpu_no_element);
      return FALSE;
    }
  if (!gpu_rows_of_input (w, 0, rows, axis, end))
    return FALSE;
  gpu_put_element (w, rows->element);
  return TRUE;
}

/* -- Softmax -- */

/* The axes [@axis, @end) of a row: before version 13 all from one on, as the reference has them. */
static const char *
softmax_axes (const IrCall *call, int rank, gint64 *axis, gint64 *end)
{
  gboolean flatten = ir_call_int (call, "flatten", 0) != 0;

  *axis = 0;
  if (rank > 0 && !ir_call_axis (call, ir_call_int (call, "axis", -1), rank + flatten, axis, NULL))
    return "its axis does not fit";
  if (flatten && ir_call_int (call, "axis", 1) < 0)
    *axis = MAX (*axis - 1, 0);
  *end = flatten ? rank : *axis + 1;
  return NULL;
}

static const char *
emit_softmax_like (IrCall *call, IrGpuProgram *program, gboolean is_log)
{
  int rank = ir_call_input_rank (call, 0);
  gint64 axis, end;
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, is_log ? "log_softmax" : "softmax");
  if (rank == IR_RANK_UNKNOWN)
    return gpu_refuse (&w, gpu_unknown_shape);
  const char *why = softmax_axes (call, rank, &axis, &end);
  if (why != NULL || !put_rows (&w, &rows, axis, end) || rows.shape.n == 0)
    return why != NULL ? why : w.why;
  gpu_put_output (&w, "y", 0);
  gpu_put_int (&w, "inner", (gint64) rows.inner);
  gpu_put (&w, "round", "%s", is_log ? "v" : "$load ($store (v))");
  gpu_put (&w, "result", "%s", is_log ? "v - log$f (sum)" : "r_$name (exp$f (r_$name (v))) / sum");
  return gpu_write_rows (&w, "softmax", rows.n_rows, rows.n);
}

static const char *
emit_softmax (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_softmax_like (call, program, FALSE);
}

static const char *
emit_log_softmax (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_softmax_like (call, program, TRUE);
}

/* -- normalization -- */

void
gpu_put_vector (GpuWriter *w,
                const char *name,
                const char *word,
                guint slot,
                const GpuShape *shape,
                gint64 axis)
{
  const GpuElement *element = gpu_put_input (w, name, slot);
  GpuShape row = { .n = 1 }, operand;
  GpuLoop loop;

  if (element == NULL || !gpu_is_real (element->compute))
    gpu_refuse (w, "no GPU kernel takes the element type of scale or bias");
  if (!gpu_shape_of_input (w, slot, &operand))
    return;
  for (guint i = (guint) axis; i < shape->rank; i++)
    {
      row.dims[row.rank++] = shape->dims[i];
      row.n *= (guint64) shape->dims[i];
    }
  /* Leading axes of one place say nothing. */
  while (operand.rank > row.rank && operand.dims[0] == 1)
    {
      operand.rank--;
      for (guint i = 0; i < operand.rank; i++)
        operand.dims[i] = operand.dims[i + 1];
    }
  if (operand.rank > row.rank)
    {
      gpu_refuse (w, "scale or bias do not fit the axes that are normalized");
      return;
    }
  gpu_loop_init (&loop, &row);
  gpu_loop_add_broadcast (&loop, &operand);
  gpu_loop_join (&loop);
  gpu_put_loop (w, word, &loop, "k");
}

/* The outputs beside the first: mean and factor of each row. */
static void
put_statistics (GpuWriter *w)
{
  static const char *const names[] = { "", "mean", "scale" }, *const outputs[] = { "", "y_mean",
                                                                                   "y_scale" };
  GString *text = g_string_new (NULL);

  for (guint i = 1; i < MIN (w->call->n_outputs, G_N_ELEMENTS (names)); i++)
    if (w->call->outputs[i].present && gpu_put_output (w, outputs[i], i) != NULL)
      g_string_append_printf (text,
                              "  if (K_THREAD == 0)\n    K_STORE (%s, K_BLOCK, $store_%s (%s));\n",
                              outputs[i], outputs[i], names[i]);
  gpu_put_text (w, "outputs", g_string_free (text, FALSE));
}

/* Launches the template for @n_rows rows of @n elements; $scale_place, and with a bias $bias_place, are
 * there, and $element, element k of a row. */
static const char *
write_norm (GpuWriter *w, gboolean centre, gboolean has_bias, guint64 n_rows, guint64 n)
{
  gpu_put_number (w, "epsilon", ir_call_float (w->call, "epsilon", 1e-5f),
                  gpu_element (w->call->outputs[0].type->dtype)->compute);
  gpu_put (w, "mean", "%s",
           centre ? "  for ($index k = K_THREAD; k < $n; k += $threads)\n    mean += $element;\n"
                    "  mean = k_block_add$f (mean, parts, $warps) / $n;\n"
                  : "");
  gpu_put (w, "bias", "%s", has_bias ? " + $load_b (K_LOAD (b, b_$name (k)))" : "");
  if (!has_bias)
    gpu_put (w, "bias_place", "  unsigned int o0 = 0;\n");
  gpu_put (w, "n", "%" G_GUINT64_FORMAT, n);
  return gpu_write_rows (w, "layer-norm", n_rows, n);
}

static const char *
emit_layers (IrCall *call, IrGpuProgram *program, gboolean centre)
{
  gboolean has_bias = centre && ir_call_has_input (call, 2);
  int rank = ir_call_input_rank (call, 0);
  gint64 axis;
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "layer_norm");
  if (rank == IR_RANK_UNKNOWN ||
      !ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, NULL))
    return gpu_refuse (&w, gpu_unknown_shape);
  if (!put_rows (&w, &rows, axis, rank))
    return w.why;
  if (rows.shape.n == 0)
    return rows.n_rows == 0 ? NULL : gpu_refuse (&w, "its rows are empty");
  gpu_put_vector (&w, "w", "scale_place", 1, &rows.shape, axis);
  if (has_bias)
    gpu_put_vector (&w, "b", "bias_place", 2, &rows.shape, axis);
  gpu_put_output (&w, "y", 0);
  /* SimplifiedLayerNormalization has the factor as its second output. */
  if (!centre && call->n_outputs > 1 && call->outputs[1].present)
    return gpu_refuse (&w, "no GPU kernel gives its statistics");
  put_statistics (&w);
  gpu_put (&w, "element", "$load (K_LOAD (x, base + k))");
  gpu_put (&w, "begin", "%s", "");
  return write_norm (&w, centre, has_bias, rows.n_rows, rows.n);
}

static const char *
emit_layer_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_layers (call, program, TRUE);
}

static const char *
emit_rms_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_layers (call, program, FALSE);
}

/* Of the sum of two inputs, which is another output where that is wanted. */
static const char *
emit_skip_layer_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape skip;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "skip_layer_norm");
  gint64 axis = ir_call_input_rank (call, 0) - 1;
  if (axis < 0 || !put_rows (&w, &rows, axis, axis + 1) || !gpu_shape_of_input (&w, 1, &skip))
    return gpu_refuse (&w, gpu_unknown_shape);
  if (gpu_put_input (&w, "skip", 1) != rows.element || skip.n != rows.shape.n)
    return gpu_refuse (&w, "what is added is of another type or shape");
  if (rows.shape.n == 0)
    return rows.n_rows == 0 ? NULL : gpu_refuse (&w, "its rows are empty");
  gpu_put_vector (&w, "w", "scale_place", 2, &rows.shape, axis);
  gpu_put_vector (&w, "b", "bias_place", 3, &rows.shape, axis);
  gpu_put_output (&w, "y", 0);
  gpu_put (&w, "element",
           "r_$name ($load (K_LOAD (x, base + k)) + $load (K_LOAD (skip, base + k)))");
  gpu_put (&w, "begin", "%s", "");
  gpu_put (&w, "outputs", "%s", "");
  if (call->n_outputs > 1 && call->outputs[1].present)
    {
      gpu_put_output (&w, "sum", 1);
      gpu_put (&w, "outputs",
               "  for ($index k = K_THREAD; k < $n; k += $threads)\n"
               "    K_STORE (sum, base + k, $store ($element));\n");
    }
  return write_norm (&w, TRUE, TRUE, rows.n_rows, rows.n);
}

/* Of the sum of a row of each of three tables. */
static const char *
emit_embed_layer_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const char *const tables[] = { "words", "types", "positions" }, *const ids[] = {
    "word_ids", "type_ids", "position_ids"
  };
  g_auto (GpuWriter) w;
  GpuShape out, rows, table, shape;
  GpuLoop loop;

  gpu_writer_init (&w, program, call, "embed_layer_norm");
  if (!gpu_shape_of_output (&w, 0, &out) || out.rank == 0)
    return gpu_refuse (&w, gpu_unknown_shape);
  const GpuElement *e = gpu_element (call->outputs[0].type->dtype);
  if (e == NULL || !gpu_is_real (e->compute))
    return gpu_refuse (&w, gpu_no_element);
  gpu_put_element (&w, e);
  rows = out;
  rows.rank--;
  gint64 n = out.dims[rows.rank];
  if (out.n == 0)
    return n > 0 ? NULL : gpu_refuse (&w, "its rows are empty");
  rows.n = out.n / (guint64) n;
  gpu_loop_init (&loop, &rows);
  GString *begin = g_string_new ("  $index row = K_BLOCK;\n$rows");
  for (guint i = 0; i < 3; i++)
    {
      if (gpu_put_input (&w, tables[i], 2 * i) != e || !gpu_shape_of_input (&w, 2 * i, &table) ||
          gpu_put_input (&w, ids[i], 2 * i + 1) == NULL ||
          !gpu_shape_of_input (&w, 2 * i + 1, &shape) || shape.rank > rows.rank)
        {
          g_string_free (begin, TRUE);
          return gpu_refuse (&w, "its tables or ids do not fit");
        }
      gpu_loop_add_broadcast (&loop, &shape);
      g_string_append_printf (begin,
                              "  k_i64 r%u = (k_i64) K_LOAD (%s, o%u);\n"
                              "  r%u += r%u < 0 ? " I64 " : 0;\n"
                              "  if (r%u < 0 || r%u >= " I64 ")\n"
                              "    {\n      K_FAULT (fault, 2u);\n      return;\n    }\n",
                              i, ids[i], i, i, i, table.dims[0], i, i, table.dims[0]);
    }
  gpu_put_vector (&w, "w", "scale_place", 6, &out, (gint64) rows.rank);
  gpu_put_vector (&w, "b", "bias_place", 7, &out, (gint64) rows.rank);
  gpu_put_output (&w, "y", 0);
  gpu_put_fault (&w);
  gpu_loop_join (&loop);
  gpu_put_loop (&w, "rows", &loop, "row");
  gpu_put_text (&w, "begin", g_string_free (begin, FALSE));
  gpu_put (&w, "outputs", "%s", "");
  gpu_put_int (&w, "n", n);
  gpu_put (&w, "element",
           "r_$name (r_$name ($load (K_LOAD (words, r0 * $n + k)) + $load (K_LOAD (types, r1 * $n "
           "+ k))) + $load (K_LOAD (positions, r2 * $n + k)))");
  return write_norm (&w, TRUE, TRUE, rows.n, (guint64) n);
}

/* -- normalization of channels, and of groups of them -- */

static const char *
emit_channels (IrCall *call, IrGpuProgram *program, gint64 groups)
{
  g_auto (GpuWriter) w;
  GpuShape scale, bias;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "layer_norm");
  if (!put_rows (&w, &rows, 2, IR_MAX_RANK) || rows.shape.n == 0)
    return w.why;
  const GpuElement *a = gpu_put_input (&w, "w", 1), *b = gpu_put_input (&w, "b", 2);
  if (a == NULL || b == NULL || !gpu_is_real (a->compute) || !gpu_is_real (b->compute) ||
      !gpu_shape_of_input (&w, 1, &scale) || !gpu_shape_of_input (&w, 2, &bias))
    return gpu_refuse (&w, "no GPU kernel takes the element type of scale or bias");
  gint64 channels = rows.shape.dims[1], together = groups > 0 ? channels / groups : 1;
  if (channels % MAX (groups, 1) != 0 || scale.n != (guint64) channels ||
      bias.n != (guint64) channels)
    return gpu_refuse (&w, "scale and bias are not of each channel");
  gpu_put_output (&w, "y", 0);
  for (guint i = 0; i < 2; i++)
    gpu_put (&w, i == 0 ? "scale_place" : "bias_place",
             "  $index o0 = K_BLOCK %% " I64 " * " I64 " + k / %" G_GUINT64_FORMAT ";\n",
             channels / together, together, rows.n);
  gpu_put (&w, "element", "$load (K_LOAD (x, base + k))");
  gpu_put (&w, "begin", "%s", "");
  gpu_put (&w, "outputs", "%s", "");
  return write_norm (&w, TRUE, TRUE, rows.n_rows / (guint64) together, rows.n * (guint64) together);
}

static const char *
emit_instance_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_channels (call, program, 0);
}

static const char *
emit_group_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 groups = ir_call_int (call, "num_groups", 0);

  return groups > 0 ? emit_channels (call, program, groups) : "it has no groups";
}

/* -- neighbouring channels -- */

static const char *
emit_lrn (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gint64 size = ir_call_int (call, "size", 1);
  g_auto (GpuWriter) w;
  GpuRows rows;

  gpu_writer_init (&w, program, call, "lrn");
  if (!put_rows (&w, &rows, 1, 2) || rows.shape.rank < 2)
    return gpu_refuse (&w, gpu_unknown_shape);
  gpu_put_output (&w, "y", 0);
  gpu_put_int (&w, "plane", (gint64) MAX (rows.inner, 1));
  gpu_put_int (&w, "channels", MAX (rows.shape.dims[1], 1));
  gpu_put_int (&w, "before", (size - 1) / 2);
  gpu_put_int (&w, "behind", size / 2);
  gpu_put_number (&w, "alpha", ir_call_float (call, "alpha", 0.0001) / (double) size,
                  rows.element->compute);
  gpu_put_number (&w, "beta", ir_call_float (call, "beta", 0.75f), rows.element->compute);
  gpu_put_number (&w, "bias", ir_call_float (call, "bias", 1), rows.element->compute);
  return gpu_write_each (&w, "lrn", rows.shape.n);
}

const IrGpuKernel gpu_lrn = { "lrn", emit_lrn };
const IrGpuKernel gpu_instance_norm = { "instance-norm", emit_instance_norm };
const IrGpuKernel gpu_group_norm = { "group-norm", emit_group_norm };
const IrGpuKernel gpu_softmax = { "softmax", emit_softmax };
const IrGpuKernel gpu_log_softmax = { "log-softmax", emit_log_softmax };
const IrGpuKernel gpu_layer_norm = { "layer-norm", emit_layer_norm };
const IrGpuKernel gpu_rms_norm = { "rms-norm", emit_rms_norm };
const IrGpuKernel gpu_skip_layer_norm = { "skip-layer-norm", emit_skip_layer_norm };
const IrGpuKernel gpu_embed_layer_norm = { "embed-layer-norm", emit_embed_layer_norm };
