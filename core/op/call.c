/* IrCall: lays out one application of an operator, runs the adapters of its row, and answers what
 * inference, cost functions and kernels ask. Scratch that adapters make (tensors, contents) lives
 * in call->owned until ir_call_clear(). */
#include "config.h"

#include "core/op/call.h"

#include "core/op/infer-util.h"
#include "core/op/op.h"
#include <string.h>

/**
 * ir_op_error_quark:
 *
 * Returns: the domain of IR_OP_ERROR
 */
GQuark
ir_op_error_quark (void)
{
  return g_quark_from_static_string ("ir-op-error-quark");
}

/* More elements than this are weights, not shapes. */
#define MAX_NUMBERS (1u << 20)

typedef struct
{
  gpointer object;
  GDestroyNotify destroy;
} Owned;

static void
owned_free (gpointer data)
{
  Owned *owned = data;
  owned->destroy (owned->object);
  g_free (owned);
}

static void
call_own (const IrCall *call, gpointer object, GDestroyNotify destroy)
{
  GPtrArray **list = &((IrCall *) call)->owned;
  Owned *owned = g_new (Owned, 1);

  owned->object = object;
  owned->destroy = destroy;
  if (*list == NULL)
    *list = g_ptr_array_new_with_free_func (owned_free);
  g_ptr_array_add (*list, owned);
}

/* -- life -- */

/* Sparse initializers are dense where they are used. */
static const IrType *
used_type (const IrCall *call, const IrValue *value)
{
  const IrType *type = value->type;

  if (type == NULL || type->kind != IR_TYPE_SPARSE_TENSOR || value->initializer == NULL)
    return type;
  return ir_type_tensor (call->context, type->dtype, type->rank, type->dims);
}

static void
layout_inputs (IrCall *call, const IrNode *node)
{
  call->n_inputs = node->n_inputs;
  call->inputs = g_new0 (IrCallInput, MAX (node->n_inputs, 1));
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      if (value == NULL)
        continue;
      call->inputs[i].present = TRUE;
      call->inputs[i].type = used_type (call, value);
      call->inputs[i].tensor = ir_value_constant (value);
      if (call->inputs[i].type == NULL && call->inputs[i].tensor != NULL)
        call->inputs[i].type = ir_tensor_type (call->inputs[i].tensor, call->context);
    }
}

/**
 * ir_call_layout:
 * @call: (out caller-allocates): the call
 * @node: the node to apply
 *
 * Fills @call with the node's attributes, the types of its inputs, the contents of constant
 * inputs and the types of its outputs, as the file wrote them: the adapters of the row have not
 * been run. For callers that supply types or attributes themselves (function bodies).
 */
void
ir_call_layout (IrCall *call, const IrNode *node)
{
  memset (call, 0, sizeof *call);
  call->node = node;
  call->op = node->op;
  call->context = node->graph->model->context;
  call->opset = ir_node_opset (node);
  layout_inputs (call, node);
  call->n_outputs = node->n_outputs;
  call->outputs = g_new0 (IrCallOutput, MAX (node->n_outputs, 1));
  for (guint i = 0; i < node->n_outputs; i++)
    {
      call->outputs[i].present = node->outputs[i] != NULL;
      call->outputs[i].type = node->outputs[i] != NULL ? node->outputs[i]->type : NULL;
    }
  call->n_attrs = node->n_attrs;
  call->attrs = g_new (const IrAttr *, node->n_attrs);
  for (guint i = 0; i < node->n_attrs; i++)
    call->attrs[i] = node->attrs[i];
}

/**
 * ir_call_adapt:
 * @call: a call that was laid out
 *
 * Turns the form of the node's opset version into the canonical one: runs the adapters of the row
 * whose version bound lies above the node's, in order. A version of 0 (the model imports none)
 * counts as the newest.
 */
void
ir_call_adapt (IrCall *call)
{
  if (call->op == NULL || call->opset <= 0)
    return;
  for (const IrAdapt *adapt = call->op->adapt; adapt->below != 0; adapt++)
    if (call->opset < adapt->below)
      adapt->adapt (call);
}

/**
 * ir_call_init:
 * @call: (out caller-allocates): the call; clear with ir_call_clear()
 * @node: the node to apply
 *
 * Lays out a call and adapts it to canonical form. Contents of inputs that are not constants are
 * given afterwards with ir_call_set_input().
 */
void
ir_call_init (IrCall *call, const IrNode *node)
{
  ir_call_layout (call, node);
  ir_call_adapt (call);
}

/**
 * ir_call_n_owned:
 * @call: a call
 *
 * Returns: how many things the call owns: scratch of adapters and of what was asked of it
 */
guint
ir_call_n_owned (const IrCall *call)
{
  return call->owned != NULL ? call->owned->len : 0;
}

/**
 * ir_call_disown:
 * @call: a call
 * @n: what ir_call_n_owned() has said before
 *
 * Frees what the call has come to own since.
 */
void
ir_call_disown (IrCall *call, guint n)
{
  if (ir_call_n_owned (call) > n)
    g_ptr_array_set_size (call->owned, (gint) n);
}

/**
 * ir_call_clear:
 * @call: a call
 *
 * Frees what the call owns, outputs' tensors that nobody took included.
 */
void
ir_call_clear (IrCall *call)
{
  for (guint i = 0; i < call->n_outputs; i++)
    g_clear_pointer (&call->outputs[i].tensor, ir_tensor_unref);
  g_clear_pointer (&call->inputs, g_free);
  g_clear_pointer (&call->outputs, g_free);
  g_clear_pointer (&call->attrs, g_free);
  g_clear_pointer (&call->owned, g_ptr_array_unref);
  call->n_inputs = call->n_outputs = call->n_attrs = 0;
}

/* -- attributes -- */

static int
find_attr (const IrCall *call, const char *name)
{
  for (guint i = 0; i < call->n_attrs; i++)
    if (strcmp (call->attrs[i]->name, name) == 0)
      return (int) i;
  return -1;
}

/**
 * ir_call_attr:
 * @call: a call
 * @name: name of an attribute of the newest opset
 *
 * Returns: (transfer none) (nullable): the attribute; %NULL if absent, or if it only refers to an
 *   attribute of the function that it stands in
 */
const IrAttr *
ir_call_attr (const IrCall *call, const char *name)
{
  int index = find_attr (call, name);
  return index >= 0 && call->attrs[index]->ref_name == NULL ? call->attrs[index] : NULL;
}

static const IrAttr *
attr_of_kind (const IrCall *call, const char *name, IrAttrKind kind)
{
  const IrAttr *attr = ir_call_attr (call, name);
  return attr != NULL && attr->kind == kind ? attr : NULL;
}

/**
 * ir_call_int:
 * @call: a call
 * @name: name of an attribute
 * @fallback: its default
 *
 * Returns: the value, or @fallback if the attribute is absent or of another kind
 */
gint64
ir_call_int (const IrCall *call, const char *name, gint64 fallback)
{
  const IrAttr *attr = attr_of_kind (call, name, IR_ATTR_INT);
  return attr != NULL && attr->n > 0 ? attr->ints[0] : fallback;
}

/**
 * ir_call_float:
 * @call: a call
 * @name: name of an attribute
 * @fallback: its default
 *
 * Returns: the value, or @fallback if the attribute is absent or of another kind
 */
double
ir_call_float (const IrCall *call, const char *name, double fallback)
{
  const IrAttr *attr = attr_of_kind (call, name, IR_ATTR_FLOAT);
  return attr != NULL && attr->n > 0 ? (double) attr->floats[0] : fallback;
}

/**
 * ir_call_string:
 * @call: a call
 * @name: name of an attribute
 * @fallback: (nullable): its default
 *
 * Returns: (transfer none) (nullable): the value, or @fallback if the attribute is absent or of
 *   another kind
 */
const char *
ir_call_string (const IrCall *call, const char *name, const char *fallback)
{
  const IrAttr *attr = attr_of_kind (call, name, IR_ATTR_STRING);
  return attr != NULL && attr->n > 0 ? attr->strings[0].data : fallback;
}

/**
 * ir_call_ints:
 * @call: a call
 * @name: name of an attribute
 * @n: (out): number of elements
 *
 * Returns: (transfer none) (nullable) (array length=n): the values; %NULL if the attribute is
 *   absent or of another kind. An empty list is not %NULL.
 */
const gint64 *
ir_call_ints (const IrCall *call, const char *name, guint *n)
{
  static const gint64 none[1] = { 0 };
  const IrAttr *attr = attr_of_kind (call, name, IR_ATTR_INTS);
  *n = attr != NULL ? attr->n : 0;
  if (attr == NULL)
    return NULL;
  return attr->ints != NULL ? attr->ints : none;
}

/* -- inputs -- */

/**
 * ir_call_value_type:
 * @call: a call
 * @value: a value near the call's node, e.g. an output of a subgraph that it owns
 *
 * Returns: (transfer none) (nullable): its type; inside function bodies, where values are shared
 *   by all applications, the type that holds in this application
 */
const IrType *
ir_call_value_type (const IrCall *call, const IrValue *value)
{
  return call->type_of != NULL ? call->type_of (call->type_of_data, value) : value->type;
}

/* How many dims of 1 follow the dims of an input of rank @rank that is lined up from the left. */
static int
trailing_ones (const IrCall *call, guint slot, int rank)
{
  int axis = call->inputs[slot].align_axis - 1;
  int outer = IR_RANK_UNKNOWN;
  if (call->inputs[0].tensor != NULL)
    outer = (int) ir_tensor_rank (call->inputs[0].tensor);
  else if (call->inputs[0].type != NULL && ir_type_has_rank (call->inputs[0].type))
    outer = call->inputs[0].type->rank;
  if (outer == IR_RANK_UNKNOWN || rank == IR_RANK_UNKNOWN)
    return -1;
  return CLAMP (outer - axis - rank, 0, IR_MAX_RANK - rank);
}

/* Opset < 7: B[c] with axis = 1 meets A[n, c, h, w] as B[c, 1, 1]. Done once, when first asked. */
static void
align_input (const IrCall *call, guint slot)
{
  IrCallInput *input = &call->inputs[slot];
  if (input->align_axis == 0)
    return;
  if (input->tensor != NULL)
    {
      guint rank = ir_tensor_rank (input->tensor);
      int ones = trailing_ones (call, slot, (int) rank);
      if (ones < 0)
        return;
      gint64 dims[IR_MAX_RANK];
      memcpy (dims, ir_tensor_dims (input->tensor), rank * sizeof *dims);
      for (int i = 0; i < ones; i++)
        dims[rank++] = 1;
      IrTensor *view = ir_tensor_reshape ((IrTensor *) input->tensor, rank, dims);
      call_own (call, view, (GDestroyNotify) ir_tensor_unref);
      input->tensor = view;
      input->type = ir_tensor_type (view, call->context);
    }
  else if (input->type != NULL && ir_type_has_rank (input->type))
    {
      int rank = input->type->rank;
      int ones = trailing_ones (call, slot, rank);
      if (ones < 0)
        return;
      IrDim dims[IR_MAX_RANK];
      memcpy (dims, input->type->dims, (gsize) rank * sizeof *dims);
      for (int i = 0; i < ones; i++)
        dims[rank++] = 1;
      input->type = ir_type_tensor (call->context, input->type->dtype, rank, dims);
    }
  else
    return;
  input->align_axis = 0;
}

/**
 * ir_call_set_input:
 * @call: a call
 * @slot: input slot
 * @tensor: (transfer none): contents; must live as long as the call
 *
 * Gives an input its contents and the type of these contents.
 */
void
ir_call_set_input (IrCall *call, guint slot, const IrTensor *tensor)
{
  g_return_if_fail (slot < call->n_inputs);
  call->inputs[slot].present = TRUE;
  call->inputs[slot].tensor = tensor;
  call->inputs[slot].type = ir_tensor_type (tensor, call->context);
}

/**
 * ir_call_stopped:
 * @call: a call under way
 *
 * Tells a kernel whether it is to stop. To be asked, from any thread, in the loop that hands out
 * work; what has not been computed by then may be left out, as nobody reads it.
 *
 * Returns: whether the run was cancelled or has used up its time
 */
gboolean
ir_call_stopped (const IrCall *call)
{
  IrWatch *watch = call->watch;
  gboolean stopped;

  stopped = g_cancellable_is_cancelled (call->cancellable) ||
            (watch != NULL &&
             (g_atomic_int_get (&watch->left) != 0 ||
              (watch->deadline_us > 0 && g_get_monotonic_time () >= watch->deadline_us)));
  if (stopped && watch != NULL)
    g_atomic_int_set (&watch->stopped, 1);
  return stopped;
}

/**
 * ir_call_take_strings:
 * @call: a call under way
 * @slot: output slot
 * @rank: number of dims
 * @dims: (array length=rank): all >= 0
 * @strings: (transfer none): as many as the shape has elements
 * @error: return location for an error
 *
 * Makes them the output. Fails with %IR_OP_ERROR_LIMIT where there are too many.
 *
 * Returns: whether there is an output
 */
gboolean
ir_call_take_strings (
    IrCall *call, guint slot, guint rank, const gint64 *dims, GBytes **strings, GError **error)
{
  IrTensor *tensor = ir_tensor_new_strings (rank, dims, strings);

  if (tensor == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "too many strings");
  ir_call_take_output (call, slot, tensor);
  return TRUE;
}

/**
 * ir_call_fail_if_cut:
 * @call: a call whose kernel has returned
 * @error: return location for an error
 *
 * Fails as ir_call_fail_if_stopped() if a kernel of this run was told to stop, so that what it gave
 * may be incomplete. Reads no clock.
 *
 * Returns: %TRUE with an error if so
 */
gboolean
ir_call_fail_if_cut (const IrCall *call, GError **error)
{
  return call->watch != NULL && g_atomic_int_get (&call->watch->stopped) != 0 &&
         ir_call_fail_if_stopped (call, error);
}

/**
 * ir_call_fail_if_stopped:
 * @call: a call under way
 * @error: return location for an error
 *
 * Fails with %G_IO_ERROR_CANCELLED if the run was cancelled, and with %G_IO_ERROR_TIMED_OUT if it
 * has used up its time.
 *
 * Returns: %TRUE with an error if ir_call_stopped()
 */
gboolean
ir_call_fail_if_stopped (const IrCall *call, GError **error)
{
  if (!ir_call_stopped (call))
    return FALSE;
  if (!g_cancellable_set_error_if_cancelled (call->cancellable, error))
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                         "the run has used up its time; raise the limit or use smaller inputs");
  return TRUE;
}

/**
 * ir_call_has_input:
 * @call: a call
 * @slot: any slot
 *
 * Returns: whether the input is given
 */
gboolean
ir_call_has_input (const IrCall *call, guint slot)
{
  return slot < call->n_inputs && call->inputs[slot].present;
}

/**
 * ir_call_input_type:
 * @call: a call
 * @slot: any slot
 *
 * Returns: (transfer none) (nullable): type of the input; %NULL if absent or not known
 */
const IrType *
ir_call_input_type (const IrCall *call, guint slot)
{
  if (slot >= call->n_inputs)
    return NULL;
  align_input (call, slot);
  return call->inputs[slot].type;
}

/**
 * ir_call_input:
 * @call: a call
 * @slot: any slot
 *
 * Returns: (transfer none) (nullable): contents of the input; %NULL if absent or not known
 */
const IrTensor *
ir_call_input (const IrCall *call, guint slot)
{
  if (slot >= call->n_inputs)
    return NULL;
  align_input (call, slot);
  return call->inputs[slot].tensor;
}

/**
 * ir_call_has_output:
 * @call: a call
 * @slot: any slot
 *
 * Returns: whether somebody wants the output
 */
gboolean
ir_call_has_output (const IrCall *call, guint slot)
{
  return slot < call->n_outputs && call->outputs[slot].present;
}

static gboolean
tensor_numbers (const IrTensor *tensor, IrNumber **numbers, guint *n)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  guint64 count = ir_tensor_n_elements (tensor);
  if ((!ir_dtype_is_integer (dtype) && dtype != IR_DTYPE_BOOL) || count > MAX_NUMBERS ||
      (count > 0 && ir_tensor_data (tensor) == NULL))
    return FALSE;
  *n = (guint) count;
  *numbers = g_new (IrNumber, MAX (count, 1));
  for (guint i = 0; i < *n; i++)
    (*numbers)[i] = ir_number_known (ir_tensor_get_int64 (tensor, i));
  return TRUE;
}

/**
 * ir_call_input_numbers:
 * @call: a call
 * @slot: any slot
 * @numbers: (out) (transfer container) (array length=n): elements; free with g_free()
 * @n: (out): number of elements
 *
 * Gives the integer contents of an input as far as they are known element by element: from its
 * tensor, or propagated from shapes, symbols included.
 *
 * Returns: %FALSE if nothing is known or the contents are not integers
 */
gboolean
ir_call_input_numbers (const IrCall *call, guint slot, IrNumber **numbers, guint *n)
{
  *numbers = NULL;
  *n = 0;
  if (slot >= call->n_inputs || !call->inputs[slot].present)
    return FALSE;
  const IrCallInput *input = &call->inputs[slot];
  if (input->tensor != NULL)
    return tensor_numbers (input->tensor, numbers, n);
  if (input->data == NULL)
    return FALSE;
  *n = input->data->n;
  *numbers = g_new (IrNumber, MAX (*n, 1));
  if (*n > 0)
    memcpy (*numbers, input->data->numbers, *n * sizeof **numbers);
  return TRUE;
}

/**
 * ir_call_input_ints:
 * @call: a call
 * @slot: any slot
 * @values: (out) (transfer container) (array length=n): elements; free with g_free()
 * @n: (out): number of elements, 0 where some are not known
 *
 * As ir_call_input_numbers(), when every element is a known integer.
 *
 * Returns: %FALSE if some element is not known
 */
gboolean
ir_call_input_ints (const IrCall *call, guint slot, gint64 **values, guint *n)
{
  g_autofree IrNumber *numbers = NULL;
  *values = NULL;
  if (!ir_call_input_numbers (call, slot, &numbers, n))
    return FALSE;
  g_autofree gint64 *known = g_new (gint64, MAX (*n, 1));
  for (guint i = 0; i < *n; i++)
    {
      if (!numbers[i].known)
        {
          *n = 0; /* who asks how many there are must not read them */
          return FALSE;
        }
      known[i] = numbers[i].value;
    }
  *values = g_steal_pointer (&known);
  return TRUE;
}

/* -- outputs -- */

/**
 * ir_call_set_output_type:
 * @call: a call
 * @slot: output slot; what the node does not have is ignored
 * @type: (nullable): inferred type
 */
void
ir_call_set_output_type (IrCall *call, guint slot, const IrType *type)
{
  if (slot < call->n_outputs)
    call->outputs[slot].type = type;
}

/**
 * ir_call_set_output_tensor_type:
 * @call: a call
 * @slot: output slot; what the node does not have is ignored
 * @dtype: element type
 * @rank: number of dims, or %IR_RANK_UNKNOWN
 * @dims: (array length=rank) (nullable): the dims
 */
void
ir_call_set_output_tensor_type (
    IrCall *call, guint slot, IrDtype dtype, int rank, const IrDim *dims)
{
  if (slot < call->n_outputs)
    call->outputs[slot].type = ir_type_tensor (call->context, dtype, rank, dims);
}

/**
 * ir_call_set_output_data:
 * @call: a call
 * @slot: output slot; what the node does not have is ignored
 * @numbers: (array length=n): contents of the output
 * @n: number of elements; more than %IR_SHAPE_DATA_MAX are not kept
 * @scalar: whether the output has rank 0 (then @n is 1) and not rank 1
 */
void
ir_call_set_output_data (
    IrCall *call, guint slot, const IrNumber *numbers, guint n, gboolean scalar)
{
  if (slot >= call->n_outputs || n > IR_SHAPE_DATA_MAX)
    return;
  IrShapeData *data = g_malloc (sizeof *data + n * sizeof data->numbers[0]);
  data->n = n;
  data->scalar = scalar;
  if (n > 0)
    memcpy (data->numbers, numbers, n * sizeof *numbers);
  call_own (call, data, g_free);
  call->outputs[slot].data = data;
}

/* Product of @dims times the element size, refusing what does not fit. */
static gboolean
output_bytes (const IrCall *call,
              guint slot,
              IrDtype dtype,
              guint rank,
              const gint64 *dims,
              gsize *bytes,
              GError **error)
{
  guint64 n = 1;
  if (rank > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "output %u would have %u dims, at most %d are supported", slot, rank,
                         IR_MAX_RANK);
  for (guint i = 0; i < rank; i++)
    if (dims[i] < 0)
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                           "dim %u of output %u would be %" G_GINT64_FORMAT, i, slot, dims[i]);
  for (guint i = 0; i < rank; i++)
    if (dims[i] == 0)
      n = 0;
  for (guint i = 0; n != 0 && i < rank; i++)
    if (!g_uint64_checked_mul (&n, n, (guint64) dims[i]))
      return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                           "output %u would have more than 2^64 elements", slot);
  *bytes = 0;
  if (dtype != IR_DTYPE_STRING && !ir_dtype_storage_bytes (dtype, n, bytes))
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "output %u would not fit in the address space", slot);
  if (dtype == IR_DTYPE_STRING && !g_size_checked_mul (bytes, n, sizeof (gpointer)))
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "output %u would not fit in the address space", slot);
  if (call->max_output_bytes != 0 && *bytes > call->max_output_bytes)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "output %u would need %" G_GSIZE_FORMAT
                         " bytes, the limit is %" G_GSIZE_FORMAT,
                         slot, *bytes, call->max_output_bytes);
  return TRUE;
}

/**
 * ir_call_new_output:
 * @call: a call
 * @slot: output slot
 * @dtype: element type; not strings
 * @rank: number of dims
 * @dims: (array length=rank): the dims
 * @error: return location for an error
 *
 * Memory for an output: where the memory plan wants it if it fits there, else from the call's
 * allocator, else from the heap.
 *
 * Fails with %IR_OP_ERROR_SHAPE on a negative dim, and with %IR_OP_ERROR_LIMIT if the size
 * overflows or exceeds the call's limit.
 *
 * Returns: (transfer none) (nullable): the tensor; its data may be written by the kernel
 */
IrTensor *
ir_call_new_output (
    IrCall *call, guint slot, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  gsize bytes = 0;
  g_return_val_if_fail (slot < call->n_outputs, NULL);
  if (!output_bytes (call, slot, dtype, rank, dims, &bytes, error))
    return NULL;

  IrCallOutput *output = &call->outputs[slot];
  g_clear_pointer (&output->tensor, ir_tensor_unref);
  if (call->alloc != NULL)
    output->tensor = call->alloc (call, slot, dtype, rank, dims, error);
  else if (output->memory != NULL && bytes <= output->memory_bytes)
    output->tensor = ir_tensor_new_static (dtype, rank, dims, output->memory, bytes);
  else
    output->tensor = ir_tensor_new_alloc (dtype, rank, dims, error);
  if (output->tensor != NULL && bytes > 0 && ir_dtype_bits (dtype) < 8)
    ((guint8 *) ir_tensor_data_writable (output->tensor))[bytes - 1] = 0; /* behind the last one */
  return output->tensor;
}

/**
 * ir_call_take_output:
 * @call: a call
 * @slot: output slot
 * @tensor: (transfer full): the output, e.g. a view of an input
 */
void
ir_call_take_output (IrCall *call, guint slot, IrTensor *tensor)
{
  if (slot >= call->n_outputs)
    {
      ir_tensor_unref (tensor);
      return;
    }
  g_clear_pointer (&call->outputs[slot].tensor, ir_tensor_unref);
  call->outputs[slot].tensor = tensor;
}

/**
 * ir_call_fail:
 * @call: a call
 * @error: return location for an error
 * @code: kind of error
 * @format: message: what was found against what was needed
 * @...: its arguments
 *
 * Sets an error of %IR_OP_ERROR whose message starts with the node's label.
 *
 * Returns: always %FALSE
 */
gboolean
ir_call_fail (const IrCall *call, GError **error, IrOpErrorCode code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *label = call->node != NULL ? ir_node_label (call->node) : g_strdup ("call");
  g_set_error (error, IR_OP_ERROR, (int) code, "%s: %s", label, message);
  return FALSE;
}

static gboolean
check_arity (const IrCall *call, const char *what, guint n, IrArity arity, GError **error)
{
  if ((gint64) n >= arity.min && (arity.max < 0 || (gint64) n <= arity.max))
    return TRUE;
  if (arity.max < 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "%u %s, at least %d are needed", n, what,
                         arity.min);
  if (arity.min == arity.max)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "%u %s, %d are needed", n, what,
                         arity.min);
  return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "%u %s, %d to %d are needed", n, what,
                       arity.min, arity.max);
}

/* Attributes that the row requires are there, and those that it names are of its kind; a reference
 * that no call has resolved has none. */
static gboolean
check_attrs (const IrCall *call, GError **error)
{
  for (const IrAttrSpec *spec = call->op->attrs; spec != NULL && spec->name != NULL; spec++)
    {
      const IrAttr *attr = ir_call_attr (call, spec->name);

      if (attr == NULL && spec->required)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "attribute %s is missing",
                             spec->name);
      if (attr != NULL && attr->kind != spec->kind && attr->kind != IR_ATTR_UNDEFINED &&
          attr->ref_name == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "attribute %s is of the kind %s, needed is %s", spec->name,
                             ir_attr_kind_name (attr->kind), ir_attr_kind_name (spec->kind));
    }
  return TRUE;
}

/**
 * ir_call_check:
 * @call: a call in canonical form whose operator is known
 * @error: return location for an error
 *
 * Compares the call with its row: number of inputs and outputs, required inputs, required
 * attributes. After it, inference and kernels may rely on them.
 *
 * Returns: %FALSE with %IR_OP_ERROR_ARITY or %IR_OP_ERROR_ATTRIBUTE
 */
gboolean
ir_call_check (const IrCall *call, GError **error)
{
  const IrOp *op = call->op;
  guint n_inputs = call->n_inputs, n_outputs = call->n_outputs;
  while (op->in.max >= 0 && n_inputs > 0 && !call->inputs[n_inputs - 1].present)
    n_inputs--;
  while (n_outputs > 0 && !call->outputs[n_outputs - 1].present)
    n_outputs--;
  const IrArity in = { (gint8) ir_op_least_inputs (op), op->in.max };
  if (!check_arity (call, "inputs", n_inputs, in, error) ||
      !check_arity (call, "outputs", n_outputs, (IrArity){ MIN (op->out.min, 1), op->out.max },
                    error))
    return FALSE;
  for (guint i = 0; i < n_inputs; i++)
    if (!call->inputs[i].present && !ir_op_input_is_optional (op, i))
      {
        g_autofree char *name = ir_op_input_name (op, i);
        return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "input %u (%s) is missing", i, name);
      }
  for (guint i = 0; i < n_inputs && (op->flags & IR_OP_CONTAINERS) == 0; i++)
    if (call->inputs[i].tensor != NULL && ir_tensor_is_container (call->inputs[i].tensor))
      return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                           "input %u is a sequence, optional or map; a tensor is needed", i);
  return check_attrs (call, error);
}

/* -- for adapters -- */

/**
 * ir_call_set_attr:
 * @call: a call
 * @attr: (transfer none): attribute; replaces one of the same name
 */
void
ir_call_set_attr (IrCall *call, const IrAttr *attr)
{
  int index = find_attr (call, attr->name);
  if (index < 0)
    {
      call->attrs = g_renew (const IrAttr *, call->attrs, call->n_attrs + 1);
      index = (int) call->n_attrs++;
    }
  call->attrs[index] = attr;
}

/**
 * ir_call_drop_attr:
 * @call: a call
 * @name: attribute to remove; nothing happens if there is none
 */
void
ir_call_drop_attr (IrCall *call, const char *name)
{
  int index = find_attr (call, name);
  if (index < 0)
    return;
  call->n_attrs--;
  for (guint i = (guint) index; i < call->n_attrs; i++)
    call->attrs[i] = call->attrs[i + 1];
}

static void
ensure_input (IrCall *call, guint slot)
{
  if (slot < call->n_inputs)
    return;
  call->inputs = g_renew (IrCallInput, call->inputs, slot + 1);
  memset (call->inputs + call->n_inputs, 0, (slot + 1 - call->n_inputs) * sizeof *call->inputs);
  call->n_inputs = slot + 1;
}

/**
 * ir_call_set_input_tensor:
 * @call: a call
 * @slot: input slot, beyond the node's own ones too
 * @tensor: (transfer full): contents
 */
void
ir_call_set_input_tensor (IrCall *call, guint slot, IrTensor *tensor)
{
  ensure_input (call, slot);
  call_own (call, tensor, (GDestroyNotify) ir_tensor_unref);
  ir_call_set_input (call, slot, tensor);
  call->inputs[slot].block = 0; /* what was there before may have been in NCHWc */
}

/**
 * ir_call_set_input_ints:
 * @call: a call
 * @slot: input slot, beyond the node's own ones too
 * @values: contents
 * @n: number of elements; < 0: a scalar
 */
void
ir_call_set_input_ints (IrCall *call, guint slot, const gint64 *values, gssize n)
{
  ir_call_set_input_tensor (call, slot, ir_tensor_new_int64s (values, n));
}

/**
 * ir_call_attr_to_input:
 * @call: a call
 * @attr: name of an attribute of kind INT or INTS; nothing happens if it is absent
 * @slot: input slot that it moved to in a later opset
 */
void
ir_call_attr_to_input (IrCall *call, const char *attr, guint slot)
{
  const IrAttr *found = ir_call_attr (call, attr);
  if (found == NULL)
    return;
  if (found->kind == IR_ATTR_INT)
    ir_call_set_input_ints (call, slot, found->ints, -1);
  else if (found->kind == IR_ATTR_INTS)
    ir_call_set_input_ints (call, slot, found->ints, (gssize) found->n);
  ir_call_drop_attr (call, attr);
}
