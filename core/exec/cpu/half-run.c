/* Calls whose operands are in float16 or bfloat16, by kernels that compute in float32: what they read
 * is widened before, constants once for all runs, and what they give is rounded once. */
#include "config.h"

#include "core/exec/cpu/half.h"
#include "core/exec/kernel/half.h"
#include "core/exec/kernel/prepack.h"
#include "core/ir/pages.h"

#include <string.h>

#define FEW 8

static gboolean
is_half (const IrTensor *tensor)
{
  return tensor != NULL && !ir_tensor_is_container (tensor) &&
         cpu_is_half (ir_tensor_dtype (tensor));
}

/* Whether @kernel is to see operands of @call in float32 that are not. */
gboolean
cpu_half_is_widened (const IrCpuKernel *kernel, const IrCall *call)
{
  gboolean some = FALSE;

  for (guint i = 0; i < call->n_inputs && !some; i++)
    some = is_half (call->inputs[i].tensor);
  return some && kernel->refuses != NULL && kernel->refuses (call->node) == cpu_half;
}

/* Shared by the threads of @call: @half into @wide, or, without it, @wide rounded into @to. */
static void
convert (const IrCall *call, IrDtype dtype, const IrHalf *half, float *wide, guint16 *to, gint64 n)
{
  int n_threads = cpu_n_threads (call, (guint64) n);
  IrHalfLoops loops = ir_half_loops (dtype, FALSE);

#pragma omp parallel for num_threads(n_threads) schedule(static) if (n_threads > 1)
  for (int part = 0; part < n_threads; part++)
    {
      gint64 first = n * part / n_threads, end = n * (part + 1) / n_threads;

      if (half != NULL)
        loops.widen (half + first, wide + first, end - first);
      else
        loops.narrow (wide + first, to + first, end - first);
    }
}

/* What is made of a call for the time that it runs. */
typedef struct
{
  IrCall *call; /* as it came */
  IrCall wide;  /* what the kernel sees */
  IrCallInput *inputs;
  IrCallOutput *outputs;
  float *memory; /* (nullable) of the scratch memory: operands one behind the other */
  gsize used, bytes;
  guint n_owned;
} Wide;

/* -- memory -- */

static gsize
room_for (guint64 n_elements)
{
  return (n_elements * sizeof (float) + IR_ALIGN_BYTES - 1) / IR_ALIGN_BYTES * IR_ALIGN_BYTES;
}

static const IrType *
half_type (const IrCallOutput *output)
{
  return output->type != NULL && ir_type_is_tensor (output->type) &&
                 cpu_is_half (output->type->dtype)
             ? output->type
             : NULL;
}

/* Whether it is widened once for all runs. */
static gboolean
is_kept (const IrCall *call, guint slot)
{
  const IrValue *value = ir_node_input (call->node, slot);

  return call->packed != NULL && ir_packed_keeps (call->packed) && value != NULL &&
         ir_value_constant (value) == call->inputs[slot].tensor;
}

/* As much as all operands need whose sizes are known. */
static void
find_memory (Wide *w)
{
  gsize bytes;

  for (guint i = 0; i < w->call->n_inputs; i++)
    if (is_half (w->call->inputs[i].tensor) && !is_kept (w->call, i))
      w->bytes += room_for (ir_tensor_n_elements (w->call->inputs[i].tensor));
  for (guint i = 0; i < w->call->n_outputs; i++)
    if (half_type (&w->outputs[i]) != NULL && ir_type_n_bytes (w->outputs[i].type, &bytes))
      w->bytes += room_for (bytes / 2);
  if (w->call->scratch != NULL)
    w->memory = ir_scratch_get (w->call->scratch, IR_SCRATCH_WIDE, w->bytes);
}

static IrTensor *
new_wide (Wide *w, guint rank, const gint64 *dims, guint64 n_elements, GError **error)
{
  gsize bytes = room_for (n_elements);
  float *data = w->memory != NULL ? w->memory + w->used / sizeof (float) : NULL;

  if (data == NULL || bytes > w->bytes - w->used)
    return ir_tensor_new_alloc (IR_DTYPE_FLOAT, rank, dims, error);
  w->used += bytes;
  return ir_tensor_new_static (IR_DTYPE_FLOAT, rank, dims, data, n_elements * sizeof (float));
}

/* -- inputs -- */

static void
fill (const IrCall *call, const IrTensor *half, IrTensor *wide)
{
  convert (call, ir_tensor_dtype (half), ir_tensor_raw (half), ir_tensor_data_writable (wide), NULL,
           (gint64) ir_tensor_n_elements (half));
}

/* Of a constant, kept with what else is made of it */
static IrTensor *
widen_constant (const IrTensor *half, gpointer data)
{
  IrTensor *wide = ir_tensor_new_alloc (IR_DTYPE_FLOAT, ir_tensor_rank (half),
                                        ir_tensor_dims (half), NULL);

  if (wide != NULL)
    fill (data, half, wide);
  return wide;
}

/* (transfer full) */
static IrTensor *
widened (Wide *w, guint slot, GError **error)
{
  const IrCall *call = w->call;
  const IrTensor *half = call->inputs[slot].tensor;
  IrTensor *wide = NULL;

  if (is_kept (call, slot))
    wide = ir_packed_tensor (call->packed, half, widen_constant, &w->wide);
  if (wide != NULL)
    return wide;
  wide = new_wide (w, ir_tensor_rank (half), ir_tensor_dims (half), ir_tensor_n_elements (half),
                   error);
  if (wide != NULL)
    fill (call, half, wide);
  return wide;
}

static gboolean
widen_inputs (Wide *w, GError **error)
{
  for (guint i = 0; i < w->call->n_inputs; i++)
    {
      IrTensor *wide;
      if (!is_half (w->inputs[i].tensor))
        continue;
      wide = widened (w, i, error);
      if (wide == NULL)
        return FALSE;
      ir_call_set_input_tensor (&w->wide, i, wide);
    }
  return TRUE;
}

/* -- outputs -- */

/* For the kernel: what is no half has its place, what is one gets it when it is rounded. */
static IrTensor *
new_output (IrCall *wide, guint slot, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  Wide *w = wide->alloc_data;
  guint64 n = 1;

  if (half_type (&w->call->outputs[slot]) == NULL)
    {
      IrTensor *made = ir_call_new_output (w->call, slot, dtype, rank, dims, error);
      w->call->outputs[slot].tensor = NULL;
      return made;
    }
  for (guint i = 0; i < rank; i++)
    n *= (guint64) dims[i];
  return new_wide (w, rank, dims, n, error);
}

static void
widen_outputs (Wide *w)
{
  for (guint i = 0; i < w->call->n_outputs; i++)
    {
      const IrType *type = half_type (&w->outputs[i]);
      w->outputs[i].memory = NULL;
      if (type != NULL)
        w->outputs[i].type = ir_type_tensor (w->call->context, IR_DTYPE_FLOAT, type->rank,
                                             type->dims);
    }
}

/* Rounds output @slot into its place; the operands have all been read. */
static gboolean
narrow_output (Wide *w, guint slot, GError **error)
{
  IrTensor *wide = w->outputs[slot].tensor, *half;
  const IrType *type = half_type (&w->call->outputs[slot]);

  if (wide == NULL || type == NULL || ir_tensor_dtype (wide) != IR_DTYPE_FLOAT)
    {
      w->call->outputs[slot].tensor = g_steal_pointer (&w->outputs[slot].tensor);
      return TRUE;
    }
  half = ir_call_new_output (w->call, slot, type->dtype, ir_tensor_rank (wide),
                             ir_tensor_dims (wide), error);
  if (half == NULL)
    return FALSE;
  convert (w->call, type->dtype, NULL, (float *) ir_tensor_data (wide),
           ir_tensor_data_writable (half), (gint64) ir_tensor_n_elements (wide));
  return TRUE;
}

/* -- the call -- */

static void
wide_init (Wide *w, IrCall *call, IrCallInput *inputs, IrCallOutput *outputs)
{
  *w = (Wide){ .call = call, .wide = *call, .inputs = inputs, .outputs = outputs };
  memcpy (inputs, call->inputs, call->n_inputs * sizeof *inputs);
  memcpy (outputs, call->outputs, call->n_outputs * sizeof *outputs);
  w->wide.inputs = inputs;
  w->wide.outputs = outputs;
  w->n_owned = ir_call_n_owned (call);
  w->wide.max_output_bytes = 2 * call->max_output_bytes;
  w->wide.alloc = new_output;
  w->wide.alloc_data = w;
  find_memory (w);
}

static void
wide_clear (Wide *w)
{
  for (guint i = 0; i < w->call->n_outputs; i++)
    g_clear_pointer (&w->outputs[i].tensor, ir_tensor_unref);
  ir_call_disown (&w->wide, w->n_owned);
  w->call->owned = w->wide.owned;
  w->call->by_ref = w->wide.by_ref;
}

/* Runs @kernel, for which @call is as it is to be but for the types of its operands. */
gboolean
cpu_half_run (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  IrCallInput few_inputs[FEW], *inputs = few_inputs;
  IrCallOutput few_outputs[FEW], *outputs = few_outputs;
  gboolean done;
  Wide w;

  if (call->n_inputs > FEW)
    inputs = g_new (IrCallInput, call->n_inputs);
  if (call->n_outputs > FEW)
    outputs = g_new (IrCallOutput, call->n_outputs);
  wide_init (&w, call, inputs, outputs);
  done = widen_inputs (&w, error);
  widen_outputs (&w);
  done = done && kernel->run (&w.wide, error);
  for (guint i = 0; done && i < call->n_outputs; i++)
    done = narrow_output (&w, i, error);
  wide_clear (&w);
  if (inputs != few_inputs)
    g_free (inputs);
  if (outputs != few_outputs)
    g_free (outputs);
  return done;
}
