/* What works on whole rows, a block of threads for each: Softmax, LogSoftmax, LayerNormalization,
 * RMSNormalization. */
#include "config.h"

#include "core/exec/gpu/emit.h"
#include "core/op/infer-util.h"

typedef struct
{
  const GpuElement *element;
  GpuShape shape;
  guint64 n, n_rows, inner; /* elements of a row, how many rows, and how far elements are apart */
  guint threads;
  const char *index, *suffix, *f;
} Rows;

/* Reads input 0, whose rows go along the axes [@axis, @end). */
static const char *
read_rows (Rows *rows, const IrCall *call, gint64 axis, gint64 end)
{
  const IrType *type = ir_call_input_type (call, 0);

  if (!gpu_shape (type, &rows->shape) || rows->shape.rank > 32)
    return "its shape is not known before the run";
  rows->element = gpu_element (type->dtype);
  if (rows->element == NULL || !gpu_is_real (rows->element->compute))
    return "no GPU kernel takes its element type";
  rows->n = rows->inner = rows->n_rows = 1;
  for (guint i = 0; i < rows->shape.rank; i++)
    *(i < axis  ? &rows->n_rows
      : i < end ? &rows->n
                : &rows->inner) *= (guint64) rows->shape.dims[i];
  rows->n_rows *= rows->inner;
  rows->threads = (guint) CLAMP ((rows->n + 31) / 32 * 32, 32, GPU_THREADS);
  rows->index = rows->shape.n <= G_MAXINT32 ? "unsigned int" : "unsigned long long";
  rows->suffix = rows->index[9] == 'l' ? "ull" : "u";
  rows->f = g_str_equal (rows->element->compute, "double") ? "" : "f";
  return rows->n_rows > G_MAXINT32 ? "it has more rows than a launch has blocks" : NULL;
}

static char *
number (guint64 value, const char *suffix)
{
  return g_strdup_printf ("%" G_GUINT64_FORMAT "%s", value, suffix);
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
  const char *why;
  Rows rows;
  IrGpuLaunch *launch;

  if (rank == IR_RANK_UNKNOWN)
    return "its shape is not known before the run";
  why = softmax_axes (call, rank, &axis, &end);
  if (why == NULL)
    why = read_rows (&rows, call, axis, end);
  if (why != NULL || rows.shape.n == 0)
    return why;
  const GpuElement *element = rows.element;
  gboolean rounds = !is_log && *element->load != '\0';
  g_autofree char *n = number (rows.n, rows.suffix);
  g_autofree char *inner = number (rows.inner, rows.suffix);
  g_autofree char *threads = number (rows.threads, "u");
  g_autofree char *warps = number (rows.threads / 32, "u");
  g_autofree char *round = rounds ? g_strdup_printf ("%s (%s (v))", element->load, element->store)
                                  : g_strdup ("v");
  g_autofree char *result = is_log
                                ? g_strdup_printf ("v - log%s (sum)", rows.f)
                                : g_strdup_printf ("r_$name (exp%s (r_$name (v))) / sum", rows.f);

  launch = gpu_launch (program, is_log ? "log_softmax" : "softmax",
                       gpu_fill ("softmax", "compute", element->compute, "round", round, "storage",
                                 element->storage, "index", rows.index, "inner", inner, "n", n, "f",
                                 rows.f, "load", element->load, "store", element->store, "threads",
                                 threads, "warps", warps, "result", result, NULL),
                       rows.n_rows, rows.threads);
  gpu_launch_arg (launch, IR_GPU_INPUT, 0);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  return NULL;
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

/* -- normalization of layers -- */

/* Where input @slot has element k of a row, which are the axes from @axis on; NULL: it does not fit. */
static char *
place_text (const IrCall *call, guint slot, const Rows *rows, gint64 axis)
{
  GpuShape row = { .n = rows->n }, operand;
  GpuLoop loop;
  GString *text = g_string_new (NULL);

  for (guint i = (guint) axis; i < rows->shape.rank; i++)
    row.dims[row.rank++] = rows->shape.dims[i];
  if (!gpu_shape (ir_call_input_type (call, slot), &operand))
    return g_string_free (text, TRUE);
  /* Leading axes of one place say nothing. */
  while (operand.rank > row.rank && operand.dims[0] == 1)
    {
      operand.rank--;
      for (guint i = 0; i < operand.rank; i++)
        operand.dims[i] = operand.dims[i + 1];
    }
  if (operand.rank > row.rank)
    return g_string_free (text, TRUE);
  gpu_loop_init (&loop, &row);
  gpu_loop_add_broadcast (&loop, &operand);
  gpu_loop_join (&loop);
  gpu_loop_print (&loop, "k", text);
  return g_string_free (text, FALSE);
}

static const GpuElement *
element_of_input (const IrCall *call, guint slot)
{
  const GpuElement *element = gpu_element (ir_call_input_dtype (call, slot));

  return element != NULL && gpu_is_real (element->compute) ? element : NULL;
}

/* The outputs beside the first: mean and factor of each row. */
static char *
statistics_text (const IrCall *call, GString *parameters)
{
  static const char *const names[] = { "", "mean", "scale" };
  GString *text = g_string_new (NULL);

  for (guint i = 1; i < call->n_outputs; i++)
    {
      const GpuElement *element = call->outputs[i].present
                                      ? gpu_element (call->outputs[i].type->dtype)
                                      : NULL;
      if (element == NULL)
        continue;
      g_string_append_printf (parameters, ", %s *y%u", element->storage, i);
      g_string_append_printf (text, "  if (K_THREAD == 0)\n    K_STORE (y%u, K_BLOCK, %s (%s));\n",
                              i, element->store, names[i]);
    }
  return g_string_free (text, FALSE);
}

static char *
mean_text (const Rows *rows, const char *n, const char *threads, const char *warps)
{
  return g_strdup_printf (
      "  for (%s k = K_THREAD; k < %s; k += %s)\n    mean += %s (K_LOAD (x, base + k));\n"
      "  mean = k_block_add%s (mean, parts, %s) / %s;\n",
      rows->index, n, threads, rows->element->load, rows->f, warps, n);
}

/* The launch for what was read. @scale_place and @bias_place: text of where element k of a row has
 * them. */
static void
add_layers (const Rows *rows,
            const IrCall *call,
            IrGpuProgram *program,
            gboolean centre,
            const char *scale_place,
            const char *bias_place)
{
  const GpuElement *element = rows->element, *scale = element_of_input (call, 1);
  gboolean has_bias = centre && ir_call_has_input (call, 2);
  const GpuElement *bias = has_bias ? element_of_input (call, 2) : NULL;
  IrGpuLaunch *launch;

  GString *parameters = g_string_new (NULL);
  g_string_append_printf (parameters, "const %s *x, const %s *w", element->storage, scale->storage);
  if (has_bias)
    g_string_append_printf (parameters, ", const %s *b", bias->storage);
  g_string_append_printf (parameters, ", %s *y", element->storage);
  g_autofree char *outputs = statistics_text (call, parameters);
  g_autofree char *n = number (rows->n, rows->suffix);
  g_autofree char *threads = number (rows->threads, "u");
  g_autofree char *warps = number (rows->threads / 32, "u");
  g_autofree char *epsilon = gpu_number (ir_call_float (call, "epsilon", 1e-5f), *rows->f == '\0');
  g_autofree char *mean = centre ? mean_text (rows, n, threads, warps) : g_strdup ("");
  g_autofree char *plus = has_bias ? g_strdup_printf (" + %s (K_LOAD (b, b_$name (k)))", bias->load)
                                   : g_strdup ("");

  launch = gpu_launch (program, "layer_norm",
                       gpu_fill ("layer-norm", "index", rows->index, "scale_place", scale_place,
                                 "bias_place", bias_place, "parameters", parameters->str, "compute",
                                 element->compute, "mean", mean, "n", n, "threads", threads,
                                 "warps", warps, "f", rows->f, "load", element->load, "load_scale",
                                 scale->load, "store", element->store, "epsilon", epsilon,
                                 "outputs", outputs, "bias", plus, NULL),
                       rows->n_rows, rows->threads);
  g_string_free (parameters, TRUE);
  gpu_launch_arg (launch, IR_GPU_INPUT, 0);
  gpu_launch_arg (launch, IR_GPU_INPUT, 1);
  if (has_bias)
    gpu_launch_arg (launch, IR_GPU_INPUT, 2);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  for (guint i = 1; i < call->n_outputs; i++)
    if (call->outputs[i].present)
      gpu_launch_arg (launch, IR_GPU_OUTPUT, i);
}

static const char *
emit_layers (IrCall *call, IrGpuProgram *program, gboolean centre)
{
  gboolean has_bias = centre && ir_call_has_input (call, 2);
  int rank = ir_call_input_rank (call, 0);
  gint64 axis;
  Rows rows;

  if (rank == IR_RANK_UNKNOWN ||
      !ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, NULL))
    return "its shape is not known before the run";
  const char *why = read_rows (&rows, call, axis, rank);
  const GpuElement *scale = element_of_input (call, 1),
                   *bias = has_bias ? element_of_input (call, 2) : NULL;
  if (why != NULL)
    return why;
  if (scale == NULL || (has_bias && bias == NULL))
    return "no GPU kernel takes the element type of scale or bias";
  if (rows.shape.n == 0)
    return rows.n_rows == 0 ? NULL : "its rows are empty";
  g_autofree char *scale_place = place_text (call, 1, &rows, axis);
  g_autofree char *bias_place = has_bias ? place_text (call, 2, &rows, axis)
                                         : g_strdup ("  unsigned int o0 = 0;\n");
  if (scale_place == NULL || bias_place == NULL)
    return "scale or bias do not fit the axes that are normalized";
  add_layers (&rows, call, program, centre, scale_place, bias_place);
  return NULL;
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

/* -- normalization of channels, and of groups of them -- */

static const char *
emit_channels (IrCall *call, IrGpuProgram *program, gint64 groups)
{
  GpuShape scale, bias;
  Rows rows;
  const char *why = read_rows (&rows, call, 2, IR_MAX_RANK);

  if (why != NULL || rows.shape.n == 0)
    return why;
  if (element_of_input (call, 1) == NULL || element_of_input (call, 2) == NULL ||
      !gpu_shape (ir_call_input_type (call, 1), &scale) ||
      !gpu_shape (ir_call_input_type (call, 2), &bias))
    return "no GPU kernel takes the element type of scale or bias";
  gint64 channels = rows.shape.dims[1], together = groups > 0 ? channels / groups : 1;
  if (channels % MAX (groups, 1) != 0 || scale.n != (guint64) channels ||
      bias.n != (guint64) channels)
    return "scale and bias are not of each channel";
  guint64 plane = rows.n;
  rows.n = plane * (guint64) together;
  rows.n_rows /= (guint64) together;
  rows.threads = (guint) CLAMP ((rows.n + 31) / 32 * 32, 32, GPU_THREADS);
  g_autofree char *place = g_strdup_printf (
      "  %s o0 = K_BLOCK %% %" G_GINT64_FORMAT "u * %" G_GINT64_FORMAT "u + k / %" G_GUINT64_FORMAT
      "%s;\n",
      rows.index, channels / together, together, plane, rows.suffix);
  add_layers (&rows, call, program, TRUE, place, place);
  return NULL;
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

const IrGpuKernel gpu_instance_norm = { "instance-norm", emit_instance_norm };
const IrGpuKernel gpu_group_norm = { "group-norm", emit_group_norm };
const IrGpuKernel gpu_softmax = { "softmax", emit_softmax };
const IrGpuKernel gpu_log_softmax = { "log-softmax", emit_log_softmax };
const IrGpuKernel gpu_layer_norm = { "layer-norm", emit_layer_norm };
const IrGpuKernel gpu_rms_norm = { "rms-norm", emit_rms_norm };
