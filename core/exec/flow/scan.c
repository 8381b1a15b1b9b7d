/* Scan: a body that runs over the slices of its inputs along an axis, carrying states along. Its
 * inputs are the states and one slice of each scanned input; its outputs the next states and the
 * slices of the scan outputs.
 *
 * The form of opset 8 has a batch axis in front of everything and runs the whole once for each
 * entry of the batch, over as many slices as its optional first input says. */
#include "config.h"

#include "core/exec/kernel/slabs.h"
#include "core/exec/flow/subgraph-private.h"

struct Scanned
{
  const IrTensor *whole;
  guint axis;
  gboolean backward;
  IrTensor *slices[2]; /* (nullable) (owned) of the rounds before */
};

typedef struct
{
  const IrNode *node;
  IrBody body;
  gboolean batched; /* the form of opset 8 */
  guint first;      /* slot of the first state */
  guint n_states, n_scanned, n_scans;
  struct Scanned *scanned; /* n_scanned of them */
} Scan;

static gint64
list_entry (const Scan *scan, const char *attr, guint index)
{
  guint n = 0;
  const gint64 *values = ir_node_attr_ints (scan->node, attr, &n);

  return values != NULL && index < n ? values[index] : 0;
}

static gboolean
fail (const Scan *scan, GError **error, const char *message)
{
  return ir_subgraph_fail (scan->node, error, IR_EXEC_ERROR_KERNEL, message);
}

static gboolean
scan_init (Scan *scan, IrRunState *state, const IrNode *node, GError **error)
{
  gint64 n_scanned = ir_node_attr_int (node, "num_scan_inputs", 0);
  gint64 opset = ir_node_opset (node);

  scan->node = node;
  scan->batched = opset > 0 && opset < 9;
  scan->first = scan->batched ? 1 : 0;
  if (n_scanned < 1 || n_scanned + scan->first > node->n_inputs)
    return fail (scan, error, "num_scan_inputs must be from 1 to the number of inputs");
  scan->n_scanned = (guint) n_scanned;
  scan->n_states = node->n_inputs - scan->first - scan->n_scanned;
  scan->scanned = g_new0 (struct Scanned, scan->n_scanned);
  if (!ir_body_init (&scan->body, node, scan->n_states + scan->n_scanned,
                     MAX (scan->n_states, node->n_outputs), error))
    return FALSE;
  scan->n_scans = ir_graph_n_outputs (scan->body.graph) - scan->n_states;
  for (guint i = scan->first; i < node->n_inputs; i++)
    {
      const IrTensor *tensor = ir_subgraph_input (state, node, i);
      if (tensor == NULL ||
          (i >= scan->first + scan->n_states && ir_tensor_kind (tensor) != IR_TYPE_TENSOR))
        return fail (scan, error, "no input may be left out, and what is scanned must be a tensor");
    }
  return TRUE;
}

/* The axis that input @index is cut along, in the tensor that one run gets. */
static gboolean
scan_axis (const Scan *scan, const IrTensor *tensor, guint index, guint *axis, GError **error)
{
  gint64 rank = ir_tensor_rank (tensor);
  gint64 given = scan->batched ? 0 : list_entry (scan, "scan_input_axes", index);

  if (given < -rank || given >= rank)
    return fail (scan, error, "an axis of scan_input_axes is out of range");
  *axis = (guint) (given < 0 ? given + rank : given);
  return TRUE;
}

/* How many slices all scanned inputs have. */
static gboolean
count_slices (const Scan *scan, IrTensor *const *scanned, gint64 *n, GError **error)
{
  for (guint i = 0; i < scan->n_scanned; i++)
    {
      guint axis = 0;
      if (!scan_axis (scan, scanned[i], i, &axis, error))
        return FALSE;
      gint64 length = ir_tensor_dims (scanned[i])[axis];
      if (i > 0 && length != *n)
        return fail (scan, error, "the scanned inputs have different numbers of slices");
      *n = length;
    }
  return TRUE;
}

static void
forget_slices (Scan *scan)
{
  for (guint i = 0; scan->scanned != NULL && i < scan->n_scanned; i++)
    for (guint k = 0; k < G_N_ELEMENTS (scan->scanned[i].slices); k++)
      g_clear_pointer (&scan->scanned[i].slices[k], ir_tensor_unref);
}

/* What is cut from now on */
static gboolean
begin_slices (Scan *scan, IrTensor *const *scanned, GError **error)
{
  const char *attr = scan->batched ? "directions" : "scan_input_directions";

  forget_slices (scan);
  for (guint i = 0; i < scan->n_scanned; i++)
    {
      struct Scanned *input = &scan->scanned[i];
      input->whole = scanned[i];
      input->backward = list_entry (scan, attr, i) == 1;
      if (!scan_axis (scan, scanned[i], i, &input->axis, error))
        return FALSE;
    }
  return TRUE;
}

/* (transfer full) (nullable) A slice, in place of one that nobody has any more */
static IrTensor *
cut_slice (struct Scanned *input, gint64 place, GError **error)
{
  IrTensor **slot = &input->slices[place & 1];

  if (*slot != NULL && ir_tensor_dtype (input->whole) != IR_DTYPE_STRING &&
      ir_tensor_reclaim (*slot))
    {
      ir_slab_refill (*slot, input->whole, input->axis, place, 1);
      return ir_tensor_ref (*slot);
    }
  g_clear_pointer (slot, ir_tensor_unref);
  *slot = ir_slab_cut (input->whole, input->axis, place, 1, FALSE, 0, error);
  return *slot != NULL ? ir_tensor_ref (*slot) : NULL;
}

/* One slice of each scanned input, behind the states that @inputs holds already. */
static gboolean
add_slices (Scan *scan, gint64 round, gint64 n_rounds, GPtrArray *inputs, GError **error)
{
  for (guint i = 0; i < scan->n_scanned; i++)
    {
      struct Scanned *input = &scan->scanned[i];
      IrTensor *slice = cut_slice (input, input->backward ? n_rounds - 1 - round : round, error);
      if (slice == NULL)
        return FALSE;
      g_ptr_array_add (inputs, slice);
    }
  return TRUE;
}

/* Runs the body over @n_rounds slices. @states: (inout) of IrTensor. */
static gboolean
run_rounds (Scan *scan,
            IrRunState *state,
            GPtrArray *states,
            IrTensor *const *scanned,
            gint64 n_rounds,
            IrRounds *scans,
            GError **error)
{
  const gint64 first = scan->batched ? 0 : ir_body_first (&scan->body, state, states);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);

  if (!begin_slices (scan, scanned, error))
    return FALSE;
  for (gint64 round = first; round < n_rounds; round++)
    {
      g_ptr_array_set_size (inputs, 0);
      for (guint i = 0; i < scan->n_states; i++)
        g_ptr_array_add (inputs, ir_tensor_ref (g_ptr_array_index (states, i)));
      if (!ir_run_check (state, scan->node, error) ||
          !add_slices (scan, round, n_rounds, inputs, error) ||
          !ir_body_run (&scan->body, state, (IrTensor *const *) inputs->pdata, error))
        return FALSE;
      const GPtrArray *results = scan->body.results;
      for (guint i = 0; i < scan->n_states; i++)
        if (!ir_body_check_carried (&scan->body, i, states->pdata[i], results->pdata[i], error))
          return FALSE;
      g_ptr_array_set_size (states, 0);
      for (guint i = 0; i < scan->n_states; i++)
        g_ptr_array_add (states, ir_tensor_ref (g_ptr_array_index (results, i)));
      for (guint i = 0; i < scan->n_scans; i++)
        if (!ir_rounds_add (scans, i, g_ptr_array_index (results, scan->n_states + i), state,
                            scan->node, error))
          return FALSE;
    }
  return TRUE;
}

static const IrValue *
scan_result (const Scan *scan, guint index)
{
  return ir_graph_output (scan->body.graph, scan->n_states + index);
}

/* @tensor: (transfer full) (nullable) */
static gboolean
publish (const Scan *scan, IrRunState *state, guint output, IrTensor *tensor, GError **error)
{
  g_autoptr (IrTensor) result = tensor;

  return result != NULL && ir_run_state_publish (state, scan->node->outputs[output], result, error);
}

/* -- opset 9 and later -- */

static gboolean
run_plain (Scan *scan, IrRunState *state, GError **error)
{
  const IrNode *node = scan->node;
  g_autoptr (GPtrArray) states = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  g_autoptr (GPtrArray) scanned = g_ptr_array_new ();
  g_auto (IrRounds) scans = { 0 };
  gint64 n_rounds = 0;

  ir_rounds_init (&scans, scan->n_scans, TRUE);
  for (guint i = 0; i < scan->n_states; i++)
    g_ptr_array_add (states, ir_tensor_ref (ir_subgraph_input (state, node, i)));
  for (guint i = 0; i < scan->n_scanned; i++)
    g_ptr_array_add (scanned, ir_subgraph_input (state, node, scan->n_states + i));
  IrTensor *const *tensors = (IrTensor *const *) scanned->pdata;
  if (!count_slices (scan, tensors, &n_rounds, error) ||
      !run_rounds (scan, state, states, tensors, n_rounds, &scans, error))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      guint index = i - scan->n_states;
      if (node->outputs[i] == NULL)
        continue;
      if (!publish (scan, state, i,
                    i < scan->n_states
                        ? ir_tensor_ref (g_ptr_array_index (states, i))
                        : ir_rounds_stack (&scans, index,
                                           list_entry (scan, "scan_output_axes", index),
                                           list_entry (scan, "scan_output_directions", index) == 1,
                                           scan_result (scan, index), state, error),
                    error))
        return FALSE;
    }
  return TRUE;
}

/* -- opset 8 -- */

typedef struct
{
  gint64 n_entries, n_rounds; /* sizes of the batch axis and of the scanned one */
  IrRounds states;            /* of all entries */
  IrRounds scans;             /* of all entries; each padded to n_rounds */
} Batch;

static gboolean
batch_sizes (const Scan *scan, IrRunState *state, Batch *batch, GError **error)
{
  for (guint i = scan->first; i < scan->node->n_inputs; i++)
    {
      const IrTensor *tensor = ir_subgraph_input (state, scan->node, i);
      gboolean is_scanned = i >= scan->first + scan->n_states;
      const gint64 *dims = ir_tensor_dims (tensor);
      if (ir_tensor_rank (tensor) < (is_scanned ? 2u : 1u) ||
          (i > scan->first && dims[0] != batch->n_entries) ||
          (is_scanned && i > scan->first + scan->n_states && dims[1] != batch->n_rounds))
        return fail (scan, error, "the inputs differ in the batch axis 0 or the scanned axis 1");
      batch->n_entries = dims[0];
      batch->n_rounds = is_scanned ? dims[1] : 0;
    }
  return TRUE;
}

/* Slices of an entry; all, if the lengths are left out. */
static gboolean
entry_length (const Scan *scan,
              IrRunState *state,
              const Batch *batch,
              gint64 entry,
              gint64 *n,
              GError **error)
{
  const IrTensor *lengths = ir_subgraph_input (state, scan->node, 0);

  *n = batch->n_rounds;
  if (ir_node_input (scan->node, 0) == NULL)
    return TRUE;
  if (lengths == NULL || ir_tensor_data (lengths) == NULL ||
      ir_tensor_n_elements (lengths) != (guint64) batch->n_entries)
    return fail (scan, error, "sequence_lens must have one entry for each entry of the batch");
  *n = ir_tensor_get_int64 (lengths, (guint64) entry);
  return (*n >= 0 && *n <= batch->n_rounds) ||
         fail (scan, error, "an entry of sequence_lens is out of range");
}

/* Zeros behind the slices of an entry that is shorter than the others. */
static gboolean
pad_rounds (const Scan *scan, IrRunState *state, gint64 n, IrRounds *scans, GError **error)
{
  for (guint i = 0; i < scan->n_scans; i++)
    {
      gint64 dims[IR_MAX_RANK] = { 0 };
      const IrType *type = ir_value_shown_type (scan_result (scan, i));
      gboolean is_tensor = ir_type_is_tensor (type);
      const IrTensor *like = ir_rounds_first (scans, i);
      IrDtype dtype = like != NULL ? ir_tensor_dtype (like)
                      : is_tensor  ? type->dtype
                                   : IR_DTYPE_UNDEFINED;
      guint rank = like != NULL ? ir_tensor_rank (like)
                   : is_tensor  ? (guint) MAX (type->rank, 0)
                                : 0;
      for (guint k = 0; k < rank; k++)
        dims[k] = like != NULL ? ir_tensor_dims (like)[k] : MAX (type->dims[k], 0);
      if (ir_rounds_length (scans, i) >= n)
        continue;
      g_autoptr (IrTensor) zeros = ir_tensor_new_alloc (
          dtype != IR_DTYPE_UNDEFINED ? dtype : IR_DTYPE_FLOAT, rank, dims, error);
      if (zeros == NULL)
        return FALSE;
      while (ir_rounds_length (scans, i) < n)
        if (!ir_rounds_add (scans, i, zeros, state, scan->node, error))
          return FALSE;
    }
  return TRUE;
}

static gboolean
run_entry (Scan *scan, IrRunState *state, Batch *batch, gint64 entry, GError **error)
{
  g_autoptr (GPtrArray) states = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  g_autoptr (GPtrArray) scanned = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  g_auto (IrRounds) scans = { 0 };
  gint64 n_rounds = 0;

  ir_rounds_init (&scans, scan->n_scans, TRUE);
  for (guint i = scan->first; i < scan->node->n_inputs; i++)
    {
      IrTensor *part = ir_slab_cut (ir_subgraph_input (state, scan->node, i), 0, entry, 1, FALSE, 0,
                                    error);
      if (part == NULL)
        return FALSE;
      g_ptr_array_add (i < scan->first + scan->n_states ? states : scanned, part);
    }
  if (!entry_length (scan, state, batch, entry, &n_rounds, error) ||
      !run_rounds (scan, state, states, (IrTensor *const *) scanned->pdata, n_rounds, &scans,
                   error) ||
      !pad_rounds (scan, state, batch->n_rounds, &scans, error))
    return FALSE;
  for (guint i = 0; i < scan->n_states; i++)
    if (!ir_rounds_add (&batch->states, i, g_ptr_array_index (states, i), state, scan->node, error))
      return FALSE;
  for (guint i = 0; i < scan->n_scans; i++)
    {
      g_autoptr (IrTensor)
          whole = ir_rounds_stack (&scans, i, 0, FALSE, scan_result (scan, i), state, error);
      if (whole == NULL || !ir_rounds_add (&batch->scans, i, whole, state, scan->node, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
publish_batch (const Scan *scan, IrRunState *state, Batch *batch, GError **error)
{
  for (guint i = 0; i < scan->node->n_outputs; i++)
    {
      gboolean is_state = i < scan->n_states;
      if (scan->node->outputs[i] != NULL &&
          !publish (scan, state, i,
                    ir_rounds_stack (is_state ? &batch->states : &batch->scans,
                                     is_state ? i : i - scan->n_states, 0, FALSE,
                                     ir_graph_output (scan->body.graph, i), state, error),
                    error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
run_batched (Scan *scan, IrRunState *state, GError **error)
{
  Batch batch = { 0 };

  ir_rounds_init (&batch.states, scan->n_states, TRUE);
  ir_rounds_init (&batch.scans, scan->n_scans, TRUE);
  gboolean done = batch_sizes (scan, state, &batch, error);
  for (gint64 entry = 0; done && entry < batch.n_entries; entry++)
    done = run_entry (scan, state, &batch, entry, error);
  done = done && publish_batch (scan, state, &batch, error);
  ir_rounds_clear (&batch.states);
  ir_rounds_clear (&batch.scans);
  return done;
}

/* In the form of opset 8, what lies behind the length of an entry is zero; the standard leaves
 * it open. Source: ONNX Scan 25 and Scan 8. */
gboolean
ir_scan_run (IrRunState *state, const IrNode *node, GError **error)
{
  Scan scan = { 0 };
  gboolean done = scan_init (&scan, state, node, error) &&
                  (scan.batched ? run_batched (&scan, state, error)
                                : run_plain (&scan, state, error));

  ir_body_clear (&scan.body, state);
  forget_slices (&scan);
  g_free (scan.scanned);
  return done;
}
