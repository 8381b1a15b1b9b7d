/* Sequences and optionals. They are never changed: an operator makes a new list of the same
 * tensors, which are shared. */
#include "config.h"

#include "core/exec/kernel/slabs.h"
#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"

/* Checks the call and infers, as ir_ref_prepare() does; sequences have no static type. */
static gboolean
prepare (IrCall *call, GError **error)
{
  if (!ir_call_check (call, error))
    return FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].present && ir_call_input (call, i) == NULL)
      return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "input %u has no contents", i);
  call->outputs[0].type = NULL;
  return call->op->infer (call, error);
}

static gboolean
need_sequence (const IrCall *call, GError **error)
{
  return ir_tensor_kind (ir_call_input (call, 0)) == IR_TYPE_SEQUENCE ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input 0 must be a sequence");
}

/* @items: as many as @n; output 0 is a sequence of @element. */
static gboolean
take_sequence (IrCall *call, const IrType *element, IrTensor *const *items, guint n, GError **error)
{
  IrTensor *sequence = ir_tensor_new_sequence (element, items, n);

  if (sequence == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                         "the tensors of a sequence must be dense and of one element type");
  ir_call_take_output (call, 0, sequence);
  return TRUE;
}

/* The items of input 0, borrowed. */
static GPtrArray *
borrow_items (const IrCall *call)
{
  const IrTensor *sequence = ir_call_input (call, 0);
  GPtrArray *items = g_ptr_array_new ();

  for (guint i = 0; i < ir_tensor_n_items (sequence); i++)
    g_ptr_array_add (items, ir_tensor_item (sequence, i));
  return items;
}

/* The position that input @slot gives, at most @last; without the input @last itself. */
static gboolean
read_position (
    const IrCall *call, guint slot, guint n, gint64 last, gint64 *position, GError **error)
{
  const IrTensor *tensor = ir_call_has_input (call, slot) ? ir_call_input (call, slot) : NULL;
  gint64 given = last;

  if (tensor != NULL)
    {
      if (ir_tensor_data (tensor) == NULL || ir_tensor_n_elements (tensor) != 1)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the position must be one integer");
      given = ir_tensor_get_int64 (tensor, 0);
    }
  *position = given < 0 && tensor != NULL ? given + n : given;
  if (*position >= 0 && *position <= last)
    return TRUE;
  return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                       "position %" G_GINT64_FORMAT " is out of range for a sequence of %u tensors",
                       given, n);
}

static const IrType *
item_type (const IrCall *call)
{
  return ir_tensor_item_type (ir_call_input (call, 0), call->context);
}

gboolean
ir_ref_sequence_empty (IrCall *call, GError **error)
{
  return prepare (call, error) &&
         take_sequence (call, call->outputs[0].type->element, NULL, 0, error);
}

gboolean
ir_ref_sequence_construct (IrCall *call, GError **error)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new ();

  if (!prepare (call, error))
    return FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    if (ir_call_has_input (call, i))
      g_ptr_array_add (items, (IrTensor *) ir_call_input (call, i));
  return take_sequence (call, NULL, (IrTensor *const *) items->pdata, items->len, error);
}

gboolean
ir_ref_sequence_at (IrCall *call, GError **error)
{
  const IrTensor *sequence;
  gint64 position;

  if (!prepare (call, error) || !need_sequence (call, error))
    return FALSE;
  sequence = ir_call_input (call, 0);
  guint n = ir_tensor_n_items (sequence);
  if (!read_position (call, 1, n, (gint64) n - 1, &position, error))
    return FALSE;
  ir_call_take_output (call, 0, ir_tensor_ref (ir_tensor_item (sequence, (guint) position)));
  return TRUE;
}

gboolean
ir_ref_sequence_insert (IrCall *call, GError **error)
{
  gint64 position;

  if (!prepare (call, error) || !need_sequence (call, error))
    return FALSE;
  guint n = ir_tensor_n_items (ir_call_input (call, 0));
  if (!read_position (call, 2, n, n, &position, error))
    return FALSE;
  IrTensor *longer = position == n ? ir_tensor_append (ir_call_input (call, 0),
                                                       (IrTensor *) ir_call_input (call, 1))
                                   : NULL;
  if (longer != NULL)
    {
      ir_call_take_output (call, 0, longer);
      return TRUE;
    }
  g_autoptr (GPtrArray) items = borrow_items (call);
  g_ptr_array_insert (items, (gint) position, (IrTensor *) ir_call_input (call, 1));
  return take_sequence (call, item_type (call), (IrTensor *const *) items->pdata, items->len,
                        error);
}

gboolean
ir_ref_sequence_erase (IrCall *call, GError **error)
{
  gint64 position;

  if (!prepare (call, error) || !need_sequence (call, error))
    return FALSE;
  g_autoptr (GPtrArray) items = borrow_items (call);
  if (!read_position (call, 1, items->len, (gint64) items->len - 1, &position, error))
    return FALSE;
  g_ptr_array_remove_index (items, (guint) position);
  return take_sequence (call, item_type (call), (IrTensor *const *) items->pdata, items->len,
                        error);
}

gboolean
ir_ref_sequence_length (IrCall *call, GError **error)
{
  gint64 n;

  if (!prepare (call, error) || !need_sequence (call, error))
    return FALSE;
  n = ir_tensor_n_items (ir_call_input (call, 0));
  ir_call_take_output (call, 0, ir_tensor_new_int64s (&n, -1));
  return TRUE;
}

/* -- between tensors and sequences -- */

/* Sizes of the pieces along an axis of @whole places. (transfer full) (nullable) */
static GArray *
piece_sizes (const IrCall *call, gint64 whole, GError **error)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
  const IrTensor *split = ir_call_has_input (call, 1) ? ir_call_input (call, 1) : NULL;
  gboolean is_list = split != NULL && ir_tensor_rank (split) > 0;
  gint64 each = 1, left = whole;

  if (split != NULL && !is_list)
    each = ir_tensor_get_int64 (split, 0);
  if (each <= 0 || whole / each >= G_MAXINT32)
    {
      ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                    "pieces of size %" G_GINT64_FORMAT " cannot be cut", each);
      return NULL;
    }
  for (guint64 i = 0; is_list && i < ir_tensor_n_elements (split); i++)
    {
      gint64 size = ir_tensor_get_int64 (split, i);
      if (size < 0 || size > left)
        {
          left = -1;
          break;
        }
      g_array_append_val (sizes, size);
      left -= size;
    }
  for (; !is_list && left > 0; left -= each)
    {
      gint64 size = MIN (each, left);
      g_array_append_val (sizes, size);
    }
  if (!is_list || left == 0)
    return g_steal_pointer (&sizes);
  ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                "the sizes in split do not add up to the %" G_GINT64_FORMAT " places of the axis",
                whole);
  return NULL;
}

gboolean
ir_ref_split_to_sequence (IrCall *call, GError **error)
{
  g_autoptr (GPtrArray) pieces = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  gint64 axis, start = 0;

  if (!prepare (call, error))
    return FALSE;
  const IrTensor *whole = ir_call_input (call, 0);
  if (ir_tensor_kind (whole) != IR_TYPE_TENSOR)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "the input must be a dense tensor");
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (whole), &axis,
                     error))
    return FALSE;
  g_autoptr (GArray) sizes = piece_sizes (call, ir_tensor_dims (whole)[axis], error);
  gboolean keep = ir_call_has_input (call, 1) || ir_call_int (call, "keepdims", 1) != 0;
  if (sizes == NULL)
    return FALSE;
  for (guint i = 0; i < sizes->len; i++)
    {
      if (i % 1024 == 1023 && ir_block_cancelled (call, error))
        return FALSE;
      gint64 size = g_array_index (sizes, gint64, i);
      IrTensor *piece = ir_slab_cut (whole, (guint) axis, start, size, keep, call->max_output_bytes,
                                     error);
      if (piece == NULL)
        return FALSE;
      g_ptr_array_add (pieces, piece);
      start += size;
    }
  const IrType *element = ir_type_tensor (call->context, ir_tensor_dtype (whole), IR_RANK_UNKNOWN,
                                          NULL);
  return take_sequence (call, element, (IrTensor *const *) pieces->pdata, pieces->len, error);
}

/* Puts the items of input 0 together. */
static gboolean
join_items (IrCall *call, const IrSlabJoin *how, GError **error)
{
  g_autoptr (GPtrArray) items = borrow_items (call);
  IrTensor *joined = ir_slabs_join ((IrTensor *const *) items->pdata, items->len, how, error);

  if (joined == NULL)
    return FALSE;
  ir_call_take_output (call, 0, joined);
  return TRUE;
}

gboolean
ir_ref_concat_from_sequence (IrCall *call, GError **error)
{
  if (!prepare (call, error) || !need_sequence (call, error))
    return FALSE;
  if (ir_tensor_n_items (ir_call_input (call, 0)) == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "an empty sequence has no shape to put together");
  const IrSlabJoin how = { .axis = ir_call_int (call, "axis", 0),
                           .new_axis = ir_call_int (call, "new_axis", 0) != 0,
                           .max_bytes = call->max_output_bytes };
  return join_items (call, &how, error);
}

/* Stack, of an empty sequence: what is declared of the output says the sizes but the one of @axis. */
static gboolean
stack_nothing (IrCall *call, gint64 axis, GError **error)
{
  const IrValue *output = call->node != NULL ? ir_node_output (call->node, 0) : NULL;
  const IrType *type = output != NULL ? ir_value_shown_type (output) : NULL;
  gboolean is_known = ir_type_is_tensor (type) && type->rank > 0;
  gint64 dims[IR_MAX_RANK] = { 0 }, place;
  const guint rank = is_known ? (guint) type->rank : 1;

  if (!ir_call_axis (call, axis, (int) rank, &place, error))
    return FALSE;
  for (guint i = 0; i < rank; i++)
    dims[i] = is_known && i != place ? MAX (type->dims[i], 0) : 0;
  IrTensor *none = ir_slab_none (item_type (call)->dtype, rank, dims, error);
  if (none != NULL)
    ir_call_take_output (call, 0, none);
  return none != NULL;
}

gboolean
ir_ref_stack (IrCall *call, GError **error)
{
  const IrSlabJoin how = { .axis = ir_call_int (call, "axis", 0),
                           .new_axis = TRUE,
                           .backward = ir_call_int (call, "direction", 0) == 1,
                           .max_bytes = call->max_output_bytes };

  if (!prepare (call, error) || !need_sequence (call, error))
    return FALSE;
  return ir_tensor_n_items (ir_call_input (call, 0)) > 0 ? join_items (call, &how, error)
                                                         : stack_nothing (call, how.axis, error);
}

/* -- optionals -- */

gboolean
ir_ref_optional (IrCall *call, GError **error)
{
  IrTensor *item, *optional;

  if (!prepare (call, error))
    return FALSE;
  item = ir_call_has_input (call, 0) ? (IrTensor *) ir_call_input (call, 0) : NULL;
  optional = ir_tensor_new_optional (item != NULL ? NULL : call->outputs[0].type->element, item);
  if (optional == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "optionals are nested too deeply");
  ir_call_take_output (call, 0, optional);
  return TRUE;
}

gboolean
ir_ref_optional_has_element (IrCall *call, GError **error)
{
  if (!prepare (call, error))
    return FALSE;
  const IrTensor *input = ir_call_has_input (call, 0) ? ir_call_input (call, 0) : NULL;
  gboolean has = input != NULL &&
                 (ir_tensor_kind (input) != IR_TYPE_OPTIONAL || ir_tensor_n_items (input) > 0);
  ir_call_take_output (call, 0, ir_tensor_new_scalar (IR_DTYPE_BOOL, has));
  return TRUE;
}

gboolean
ir_ref_optional_get_element (IrCall *call, GError **error)
{
  if (!prepare (call, error))
    return FALSE;
  IrTensor *input = (IrTensor *) ir_call_input (call, 0);
  if (ir_tensor_kind (input) != IR_TYPE_OPTIONAL)
    {
      ir_call_take_output (call, 0, ir_tensor_ref (input));
      return TRUE;
    }
  if (ir_tensor_n_items (input) == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "the optional is empty; OptionalHasElement tells that before");
  ir_call_take_output (call, 0, ir_tensor_ref (ir_tensor_item (input, 0)));
  return TRUE;
}
