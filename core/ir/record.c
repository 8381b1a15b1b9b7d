/* The kinds of records of the edit log: how to read and how to write each field that may change.
 * Doing a record writes its after, undoing it writes its before; nothing else knows the kinds. */
#include "config.h"

#include "core/ir/log-private.h"
#include "core/ir/model-private.h"
#include "core/op/op.h"

#include <string.h>

typedef IrSlotValue (*GetFunc) (const IrModel *model, guint32 subject, guint32 slot);
typedef void (*SetFunc) (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value);

static IrNode *
node_at (const IrModel *model, guint32 id)
{
  return model->nodes->pdata[id];
}

static IrValue *
value_at (const IrModel *model, guint32 id)
{
  return model->values->pdata[id];
}

static IrGraph *
graph_at (const IrModel *model, guint32 id)
{
  return model->graphs->pdata[id];
}

static IrSlotValue
number (guint64 n)
{
  return (IrSlotValue){ .number = n };
}

static IrSlotValue
pointer (gconstpointer p)
{
  return (IrSlotValue){ .pointer = p };
}

/* Plain fields: read and write, no links to keep. */
#define POINTER_FIELD(name, at, field, Type)                                                       \
  static IrSlotValue get_##name (const IrModel *model, guint32 subject, guint32 slot)              \
  {                                                                                                \
    return pointer (at (model, subject)->field);                                                   \
  }                                                                                                \
  static void set_##name (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)        \
  {                                                                                                \
    at (model, subject)->field = (Type) value.pointer;                                             \
  }

#define NUMBER_FIELD(name, at, field, Type)                                                        \
  static IrSlotValue get_##name (const IrModel *model, guint32 subject, guint32 slot)              \
  {                                                                                                \
    return number (at (model, subject)->field);                                                    \
  }                                                                                                \
  static void set_##name (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)        \
  {                                                                                                \
    at (model, subject)->field = (Type) value.number;                                              \
  }

POINTER_FIELD (node_name, node_at, name, const char *)
POINTER_FIELD (node_scope, node_at, scope, const char *)
POINTER_FIELD (node_device, node_at, device, const char *)
POINTER_FIELD (node_controls, node_at, controls, const IrIdList *)
POINTER_FIELD (node_extra, node_at, extra, const IrExtra *)
NUMBER_FIELD (node_rank, node_at, rank, guint64)
POINTER_FIELD (value_name, value_at, name, const char *)
POINTER_FIELD (value_extra, value_at, extra, const IrExtra *)
POINTER_FIELD (value_claim, value_at, claim, const IrType *)
NUMBER_FIELD (value_flags, value_at, flags, IrValueFlags)
NUMBER_FIELD (graph_owner, graph_at, owner, IrNodeId)
NUMBER_FIELD (graph_state, graph_at, state, IrState)
NUMBER_FIELD (value_state, value_at, state, IrState)
POINTER_FIELD (graph_name, graph_at, name, const char *)
POINTER_FIELD (graph_extra, graph_at, extra, const IrExtra *)

/* What a body gives says what its owner gives. */
static void
uncheck_owner (const IrModel *model, const IrGraph *graph)
{
  IrNode *owner = ir_model_node (model, graph->owner);

  if (owner != NULL)
    owner->checked = 0;
}

/* What is known of the nodes that read @value has to be found anew. Where uses are made anew later
 * that is said of all nodes then: ir_model_rebuild_uses(). */
static void
uncheck_users (const IrModel *model, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses && !model->cache->uses_suspended; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node != NULL)
        use.node->checked = 0;
      else
        uncheck_owner (model, use.graph);
    }
}

/* -- fields that the checks of nodes depend on: core/op/check.h -- */

static IrSlotValue
get_value_type (const IrModel *model, guint32 subject, guint32 slot)
{
  return pointer (value_at (model, subject)->type);
}

static void
set_value_type (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrValue *changed = value_at (model, subject);
  const IrType *old = changed->type, *type = value.pointer;

  if (old == type)
    return;
  changed->type = type;
  uncheck_users (model, changed);
  /* Of what a node gives only the kind is checked, and most are tensors before and after. */
  if ((ir_type_is_container (old) || ir_type_is_container (type)) && changed->producer != NULL)
    changed->producer->checked = 0;
}

static IrSlotValue
get_value_initializer (const IrModel *model, guint32 subject, guint32 slot)
{
  return pointer (value_at (model, subject)->initializer);
}

static void
set_value_initializer (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  value_at (model, subject)->initializer = (IrTensor *) value.pointer;
  uncheck_users (model, value_at (model, subject));
}

static IrSlotValue
get_graph_inputs (const IrModel *model, guint32 subject, guint32 slot)
{
  return pointer (graph_at (model, subject)->inputs);
}

static void
set_graph_inputs (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  graph_at (model, subject)->inputs = value.pointer;
  model->checks++;
}

static IrSlotValue
get_graph_function (const IrModel *model, guint32 subject, guint32 slot)
{
  return pointer (graph_at (model, subject)->function);
}

static void
set_graph_function (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  graph_at (model, subject)->function = value.pointer;
  model->checks++; /* it may import other opsets */
}

static IrSlotValue
get_node_graph (const IrModel *model, guint32 subject, guint32 slot)
{
  return number (node_at (model, subject)->graph->id);
}

static void
set_node_graph (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  node_at (model, subject)->graph = graph_at (model, value.number);
  ir_id_span_add (model, model->cache->spans.nodes, value.number, subject);
  node_at (model, subject)->checked = 0;
}

static IrSlotValue
get_value_graph (const IrModel *model, guint32 subject, guint32 slot)
{
  return number (value_at (model, subject)->graph->id);
}

static void
set_value_graph (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  value_at (model, subject)->graph = graph_at (model, value.number);
  ir_id_span_add (model, model->cache->spans.values, value.number, subject);
}

static IrSlotValue
get_model_opsets (const IrModel *model, guint32 subject, guint32 slot)
{
  return pointer (model->opsets);
}

static void
set_model_opsets (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  model->opsets = value.pointer;
  model->checks++;
}

static IrSlotValue
get_model_info (const IrModel *model, guint32 subject, guint32 slot)
{
  return pointer (model->info);
}

static void
set_model_info (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  model->info = value.pointer;
  model->checks++; /* it may say otherwise which inputs are constants */
}

/* -- node state: uses are attached exactly while the node is live -- */

static IrSlotValue
get_node_state (const IrModel *model, guint32 subject, guint32 slot)
{
  return number (node_at (model, subject)->state);
}

static void
set_node_state (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrNode *node = node_at (model, subject);
  IrState state = value.number;

  if ((node->state == IR_STATE_LIVE) != (state == IR_STATE_LIVE) && !model->cache->uses_suspended)
    for (guint i = 0; i < node->n_inputs; i++)
      {
        if (node->inputs[i] == NULL)
          continue;
        if (state == IR_STATE_LIVE)
          ir_value_add_use (model, node->inputs[i], ir_use_key (node->id, i));
        else
          ir_value_remove_use (node->inputs[i], ir_use_key (node->id, i));
      }
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      node->outputs[i]->state = state;
  node->state = state;
}

/* -- links -- */

static IrSlotValue
get_node_input (const IrModel *model, guint32 subject, guint32 slot)
{
  const IrValue *value = node_at (model, subject)->inputs[slot];
  return number (value != NULL ? value->id : 0);
}

static void
set_node_input (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrNode *node = node_at (model, subject);
  IrValue *new_value = value.number != 0 ? value_at (model, value.number) : NULL;

  if (node->state == IR_STATE_LIVE && !model->cache->uses_suspended)
    {
      if (node->inputs[slot] != NULL)
        ir_value_remove_use (node->inputs[slot], ir_use_key (node->id, slot));
      if (new_value != NULL)
        ir_value_add_use (model, new_value, ir_use_key (node->id, slot));
    }
  node->inputs[slot] = new_value;
  node->checked = 0;
}

static IrSlotValue
get_node_n_inputs (const IrModel *model, guint32 subject, guint32 slot)
{
  return number (node_at (model, subject)->n_inputs);
}

static void
set_node_n_inputs (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrNode *node = node_at (model, subject);

  node->inputs = ir_model_resize_array (model, node->inputs, node->n_inputs, value.number,
                                        sizeof (IrValue *));
  node->n_inputs = value.number;
  node->checked = 0;
}

static IrSlotValue
get_node_output (const IrModel *model, guint32 subject, guint32 slot)
{
  const IrValue *value = node_at (model, subject)->outputs[slot];
  return number (value != NULL ? value->id : 0);
}

static void
set_node_output (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrNode *node = node_at (model, subject);
  IrValue *new_value = value.number != 0 ? value_at (model, value.number) : NULL;

  if (node->outputs[slot] != NULL)
    {
      node->outputs[slot]->producer = NULL;
      node->outputs[slot]->output_slot = 0;
      uncheck_users (model, node->outputs[slot]);
    }
  if (new_value != NULL)
    {
      new_value->producer = node;
      new_value->output_slot = slot;
      uncheck_users (model, new_value);
    }
  node->outputs[slot] = new_value;
  node->checked = 0;
}

static IrSlotValue
get_node_n_outputs (const IrModel *model, guint32 subject, guint32 slot)
{
  return number (node_at (model, subject)->n_outputs);
}

static void
set_node_n_outputs (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrNode *node = node_at (model, subject);

  node->outputs = ir_model_resize_array (model, node->outputs, node->n_outputs, value.number,
                                         sizeof (IrValue *));
  node->n_outputs = value.number;
  node->checked = 0;
}

static IrSlotValue
get_graph_outputs (const IrModel *model, guint32 subject, guint32 slot)
{
  return pointer (graph_at (model, subject)->outputs);
}

static void
set_graph_outputs (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrGraph *graph = graph_at (model, subject);
  const IrIdList *list = value.pointer;

  for (guint i = 0; i < graph->outputs->n && !model->cache->uses_suspended; i++)
    ir_value_remove_use (value_at (model, graph->outputs->ids[i]), ir_use_key_output (subject, i));
  for (guint i = 0; i < list->n && !model->cache->uses_suspended; i++)
    ir_value_add_use (model, value_at (model, list->ids[i]), ir_use_key_output (subject, i));
  graph->outputs = list;
  uncheck_owner (model, graph);
}

/* -- attributes: slot is the place in the sorted array where the name stands or would stand -- */

static IrSlotValue
get_node_attr (const IrModel *model, guint32 subject, guint32 slot)
{
  const IrNode *node = node_at (model, subject);
  return pointer (slot < node->n_attrs ? node->attrs[slot] : NULL);
}

/* The name is taken from the attribute; a removal names it through what stands at @slot. */
static void
set_node_attr (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrNode *node = node_at (model, subject);
  const IrAttr *attr = value.pointer;

  node->checked = 0;
  for (guint i = 0; node->n_inputs == 0 && i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      uncheck_users (model, node->outputs[i]); /* which read a constant, perhaps */
  if (attr == NULL)
    {
      memmove (node->attrs + slot, node->attrs + slot + 1,
               (node->n_attrs - slot - 1) * sizeof (IrAttr *));
      node->n_attrs--;
      return;
    }
  if (slot >= node->n_attrs || node->attrs[slot]->name != attr->name) /* interned */
    {
      node->attrs = ir_model_resize_array (model, node->attrs, node->n_attrs, node->n_attrs + 1,
                                           sizeof (IrAttr *));
      memmove (node->attrs + slot + 1, node->attrs + slot,
               (node->n_attrs - slot) * sizeof (IrAttr *));
      node->n_attrs++;
    }
  node->attrs[slot] = attr;
}

static IrSlotValue
get_node_op (const IrModel *model, guint32 subject, guint32 slot)
{
  const IrNode *node = node_at (model, subject);
  IrOpName *name = ir_context_alloc (model->context, sizeof (IrOpName));

  *name = (IrOpName){ node->op_type, node->domain, node->overload };
  return pointer (name);
}

static void
set_node_op (IrModel *model, guint32 subject, guint32 slot, IrSlotValue value)
{
  IrNode *node = node_at (model, subject);
  const IrOpName *name = value.pointer;

  node->op_type = name->op_type;
  node->domain = name->domain;
  node->overload = name->overload;
  node->op = ir_op_find (name->domain, name->op_type);
  node->checked = 0;
  model->cache->n_searched = 0;
}

/* -- the table -- */

#define ROW(ID, name) [IR_RECORD_##ID] = { get_##name, set_##name }

static const struct
{
  GetFunc get;
  SetFunc set;
} accessors[IR_N_RECORD_KINDS] = {
  ROW (NODE_STATE, node_state),
  ROW (NODE_INPUT, node_input),
  ROW (NODE_N_INPUTS, node_n_inputs),
  ROW (NODE_OUTPUT, node_output),
  ROW (NODE_N_OUTPUTS, node_n_outputs),
  ROW (NODE_ATTR, node_attr),
  ROW (NODE_OP, node_op),
  ROW (NODE_NAME, node_name),
  ROW (NODE_SCOPE, node_scope),
  ROW (NODE_DEVICE, node_device),
  ROW (NODE_RANK, node_rank),
  ROW (NODE_CONTROLS, node_controls),
  ROW (NODE_EXTRA, node_extra),
  ROW (NODE_GRAPH, node_graph),
  ROW (VALUE_STATE, value_state),
  ROW (VALUE_TYPE, value_type),
  ROW (VALUE_CLAIM, value_claim),
  ROW (VALUE_FLAGS, value_flags),
  ROW (VALUE_INITIALIZER, value_initializer),
  ROW (VALUE_NAME, value_name),
  ROW (VALUE_EXTRA, value_extra),
  ROW (VALUE_GRAPH, value_graph),
  ROW (GRAPH_STATE, graph_state),
  ROW (GRAPH_OWNER, graph_owner),
  ROW (GRAPH_NAME, graph_name),
  ROW (GRAPH_INPUTS, graph_inputs),
  ROW (GRAPH_OUTPUTS, graph_outputs),
  ROW (GRAPH_EXTRA, graph_extra),
  ROW (GRAPH_FUNCTION, graph_function),
  ROW (MODEL_OPSETS, model_opsets),
  ROW (MODEL_INFO, model_info),
};

static const struct
{
  const char *name;
  IrSubject subject;
  IrPayload payload;
} kinds[IR_N_RECORD_KINDS] = {
#define R(ID, NAME, SUBJECT, PAYLOAD)                                                              \
  [IR_RECORD_##ID] = { NAME, IR_SUBJECT_##SUBJECT, IR_PAYLOAD_##PAYLOAD },
  IR_RECORDS (R)
#undef R
};

IrSlotValue
ir_record_get (const IrModel *model, IrRecordKind kind, guint32 subject, guint32 slot)
{
  return accessors[kind].get (model, subject, slot);
}

void
ir_record_set (IrModel *model, IrRecordKind kind, guint32 subject, guint32 slot, IrSlotValue value)
{
  accessors[kind].set (model, subject, slot, value);
}

void
ir_record_apply (IrModel *model, const IrRecord *record, gboolean forward)
{
  IrSlotValue value = { .number = forward ? record->after.number : record->before.number };
  accessors[record->kind].set (model, record->subject, record->slot, value);
}

/* Memory that applying a record will touch. Three stages, each of which relies on what the one
 * before has brought in: the table's entry, the struct, the arrays that it points to. */
static void
prefetch_entry (const IrModel *model, const IrRecord *record)
{
  if (kinds[record->kind].subject == IR_SUBJECT_NODE)
    __builtin_prefetch (&model->nodes->pdata[record->subject]);
  else if (kinds[record->kind].subject == IR_SUBJECT_VALUE)
    __builtin_prefetch (&model->values->pdata[record->subject]);
}

static void
prefetch_struct (const IrModel *model, const IrRecord *record)
{
  const char *node = NULL;

  if (kinds[record->kind].subject == IR_SUBJECT_VALUE)
    {
      const char *value = model->values->pdata[record->subject];
      __builtin_prefetch (value, 1);
      __builtin_prefetch (value + 64, 1);
      return;
    }
  if (kinds[record->kind].subject != IR_SUBJECT_NODE)
    return;
  node = model->nodes->pdata[record->subject];
  __builtin_prefetch (node, 1);
  __builtin_prefetch (node + 64, 1);
  __builtin_prefetch (node + 128, 1);
}

static void
prefetch_arrays (const IrModel *model, const IrRecord *record)
{
  const IrNode *node;

  if (kinds[record->kind].subject != IR_SUBJECT_NODE)
    return;
  node = model->nodes->pdata[record->subject];
  switch ((guint) record->kind)
    {
    case IR_RECORD_NODE_STATE:
      __builtin_prefetch (node->inputs);
      __builtin_prefetch (node->outputs);
      break;
    case IR_RECORD_NODE_INPUT:
      __builtin_prefetch (node->inputs, 1);
      __builtin_prefetch (&model->values->pdata[record->before.number]);
      __builtin_prefetch (&model->values->pdata[record->after.number]);
      break;
    case IR_RECORD_NODE_ATTR:
      __builtin_prefetch (node->attrs, 1);
      __builtin_prefetch (record->before.pointer);
      __builtin_prefetch (record->after.pointer);
      break;
    default:
      break;
    }
}

static void
prefetch_outputs (const IrModel *model, const IrRecord *record)
{
  const IrNode *node;

  if (record->kind != IR_RECORD_NODE_STATE)
    return;
  node = model->nodes->pdata[record->subject];
  if (node->n_outputs > 0 && node->outputs[0] != NULL)
    __builtin_prefetch (node->outputs[0], 1);
  for (guint i = 0; i < node->n_inputs && !model->cache->uses_suspended; i++)
    if (node->inputs[i] != NULL)
      __builtin_prefetch ((const char *) node->inputs[i] + 64, 1);
}

/* Records of a long jump are scattered over all of the model, so its time is that of memory: what
 * the records to come will need is asked for ahead, at these distances. */
#define AHEAD_ENTRY   32
#define AHEAD_STRUCT  20
#define AHEAD_ARRAYS  10
#define AHEAD_OUTPUTS 5

void
ir_record_apply_range (IrModel *model, const IrRecord *records, gsize n, gboolean forward)
{
  for (gsize i = 0; i < n; i++)
    {
      gsize left = n - 1 - i;
      const IrRecord *record = forward ? &records[i] : &records[left];

#define AHEAD(distance) (forward ? record + (distance) : record - (distance))
      if (left >= AHEAD_ENTRY)
        prefetch_entry (model, AHEAD (AHEAD_ENTRY));
      if (left >= AHEAD_STRUCT)
        prefetch_struct (model, AHEAD (AHEAD_STRUCT));
      if (left >= AHEAD_ARRAYS)
        prefetch_arrays (model, AHEAD (AHEAD_ARRAYS));
      if (left >= AHEAD_OUTPUTS)
        prefetch_outputs (model, AHEAD (AHEAD_OUTPUTS));
#undef AHEAD
      ir_record_apply (model, record, forward);
    }
}

IrSubject
ir_record_subject (IrRecordKind kind)
{
  return kinds[kind].subject;
}

/**
 * ir_record_changes_computation:
 * @record: a record
 *
 * Returns: %TRUE if it changes what a node computes, of what, or where: not its name, rank or device
 */
gboolean
ir_record_changes_computation (const IrRecord *record)
{
  switch ((guint) record->kind)
    {
    case IR_RECORD_NODE_STATE:
    case IR_RECORD_NODE_INPUT:
    case IR_RECORD_NODE_N_INPUTS:
    case IR_RECORD_NODE_OUTPUT:
    case IR_RECORD_NODE_N_OUTPUTS:
    case IR_RECORD_NODE_ATTR:
    case IR_RECORD_NODE_OP:
    case IR_RECORD_NODE_GRAPH:
      return TRUE;
    default:
      return FALSE;
    }
}

/* -- text -- */

static char *
ids_to_string (const IrModel *model, const IrIdList *list, IrSubject subject)
{
  GString *text = g_string_new ("[");

  for (guint i = 0; list != NULL && i < list->n; i++)
    {
      const IrValue *value = subject == IR_SUBJECT_GRAPH ? ir_model_value (model, list->ids[i])
                                                         : NULL;
      g_string_append (text, i > 0 ? ", " : "");
      if (value != NULL)
        g_string_append (text, value->name);
      else
        g_string_append_printf (text, "#%u", list->ids[i]);
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

static char *
opsets_to_string (const IrOpsets *opsets)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    g_string_append_printf (text, "%s%s %" G_GINT64_FORMAT, i > 0 ? ", " : "",
                            opsets->opsets[i].domain[0] != '\0' ? opsets->opsets[i].domain
                                                                : "ai.onnx",
                            opsets->opsets[i].version);
  return g_string_free (text, FALSE);
}

static char *
tensor_to_short_string (const IrModel *model, const IrTensor *tensor)
{
  g_autofree char *type = tensor != NULL
                              ? ir_type_to_string (model->context,
                                                   ir_tensor_type (tensor, model->context))
                              : NULL;
  g_autofree char *contents = tensor != NULL ? ir_tensor_to_string (tensor, 4) : NULL;

  return tensor != NULL ? g_strdup_printf ("%s %s", type, contents) : g_strdup ("none");
}

static char *
flags_to_string (guint64 flags)
{
  static const struct
  {
    IrValueFlags flag;
    const char *name;
  } names[] = { { IR_VALUE_DECLARED, "declared type" },
                { IR_VALUE_NAMED_BY_USER, "name of the file" },
                { IR_VALUE_MUTABLE, "mutable" } };
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (flags & names[i].flag)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", names[i].name);
  if (text->len == 0)
    g_string_append (text, "none");
  return g_string_free (text, FALSE);
}

static char *
payload_to_string (const IrModel *model, IrRecordKind kind, IrSlotValue value)
{
  static const char *const states[] = { "not yet", "live", "removed" };
  const IrValue *linked;

  switch (kinds[kind].payload)
    {
    case IR_PAYLOAD_NUMBER:
      return kind == IR_RECORD_VALUE_FLAGS ? flags_to_string (value.number)
                                           : g_strdup_printf ("%" G_GUINT64_FORMAT, value.number);
    case IR_PAYLOAD_STATE:
      return g_strdup (states[value.number]);
    case IR_PAYLOAD_VALUE:
      linked = ir_model_value (model, value.number);
      return g_strdup (linked != NULL ? linked->name : "none");
    case IR_PAYLOAD_GRAPH:
      return g_strdup_printf ("graph %" G_GUINT64_FORMAT, value.number);
    case IR_PAYLOAD_STRING:
      return g_strdup_printf ("\"%s\"", (const char *) value.pointer);
    case IR_PAYLOAD_ATTR:
      return value.pointer != NULL ? ir_attr_to_string (model->context, value.pointer, 8)
                                   : g_strdup ("none");
    case IR_PAYLOAD_TYPE:
      return value.pointer != NULL ? ir_type_to_string (model->context, value.pointer)
                                   : g_strdup ("unknown");
    case IR_PAYLOAD_TENSOR:
      return tensor_to_short_string (model, value.pointer);
    case IR_PAYLOAD_IDS:
      return ids_to_string (model, value.pointer, kinds[kind].subject);
    case IR_PAYLOAD_OP:
      return g_strdup (((const IrOpName *) value.pointer)->op_type);
    case IR_PAYLOAD_OPSETS:
      return opsets_to_string (value.pointer);
    case IR_PAYLOAD_EXTRA:
    case IR_PAYLOAD_INFO:
    case IR_PAYLOAD_FUNCTION:
      return g_strdup (value.pointer != NULL ? "set" : "none");
    }
  return g_strdup ("");
}

static char *
subject_to_string (const IrModel *model, const IrRecord *record)
{
  switch (kinds[record->kind].subject)
    {
    case IR_SUBJECT_NODE:
      return ir_node_label (ir_model_node (model, record->subject));
    case IR_SUBJECT_VALUE:
      return g_strdup (ir_model_value (model, record->subject)->name);
    case IR_SUBJECT_GRAPH:
      return g_strdup_printf ("graph %u", record->subject);
    case IR_SUBJECT_MODEL:
      break;
    }
  return g_strdup ("model");
}

/**
 * ir_record_to_string:
 * @model: the model of the record, at any step
 * @record: a record
 *
 * Returns: (transfer full): one line for people: "add Conv_12 (ConvRelu)", "conv1 (Conv): input 1:
 * w -> w_folded"
 */
char *
ir_record_to_string (const IrModel *model, const IrRecord *record)
{
  g_autofree char *subject = subject_to_string (model, record);
  IrSlotValue before = { .number = record->before.number },
              after = { .number = record->after.number };
  g_autofree char *from = NULL, *to = NULL;

  if (kinds[record->kind].payload == IR_PAYLOAD_STATE)
    return g_strdup_printf ("%s %s %s", after.number == IR_STATE_LIVE ? "add" : "remove",
                            kinds[record->kind].name, subject);
  from = payload_to_string (model, record->kind, before);
  to = payload_to_string (model, record->kind, after);
  if (kinds[record->kind].payload == IR_PAYLOAD_VALUE && strcmp (from, to) == 0)
    {
      /* A name that was handed over: ids tell the two values apart. */
      g_autofree char *name = g_steal_pointer (&to);

      g_free (g_steal_pointer (&from));
      from = g_strdup_printf ("%s (#%" G_GUINT64_FORMAT ")", name, before.number);
      to = g_strdup_printf ("%s (#%" G_GUINT64_FORMAT ")", name, after.number);
    }
  if (record->kind == IR_RECORD_NODE_ATTR)
    {
      const IrAttr *attr = after.pointer != NULL ? after.pointer : before.pointer;
      return g_strdup_printf ("%s: attribute %s: %s -> %s", subject, attr->name, from, to);
    }
  if (record->kind == IR_RECORD_NODE_INPUT || record->kind == IR_RECORD_NODE_OUTPUT)
    return g_strdup_printf ("%s: %s %u: %s -> %s", subject, kinds[record->kind].name, record->slot,
                            from, to);
  return g_strdup_printf ("%s: %s: %s -> %s", subject, kinds[record->kind].name, from, to);
}
