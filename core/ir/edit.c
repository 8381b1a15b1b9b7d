/* The only writer. Every verb comes down to write_slot(): read the field's old content through the
 * record's kind, append a record, write the new content. Undo, redo, diff and lineage follow from
 * the records alone (history.c, record.c). */
#include "config.h"

#include "core/ir/edit-private.h"
#include "core/op/op.h"

#include <string.h>

struct _IrEdit
{
  IrModel *model;
  gboolean recording;
  GArray *passing;   /* (nullable) of IrRecord: what is taken back at the end */
  gboolean interned; /* strings that are given are the context's already */
  gboolean record_refusals;
  const char *pipeline; /* interned, nullable */
  gint pass_run;        /* index of the open one, or -1 */
  gint64 pass_started_ns;
  IrStep *step; /* (nullable) the open one */
  gint64 step_started_ns;
  GHashTable *name_counters; /* base name -> last number tried */
  GHashTable *names; /* (nullable) set of those that the model has, where nothing is recorded */
};

static gint64
now_ns (void)
{
  return g_get_monotonic_time () * 1000;
}

static void write_slot (
    IrEdit *edit, IrRecordKind kind, guint32 subject, guint32 slot, IrSlotValue after);

static IrEdit *
edit_new (IrModel *model, gboolean recording)
{
  IrEdit *edit = g_new0 (IrEdit, 1);

  edit->model = ir_model_ref (model);
  edit->recording = recording;
  edit->pass_run = -1;
  edit->name_counters = g_hash_table_new (NULL, NULL);
  model->log->editing = TRUE;
  return edit;
}

/**
 * ir_edit_new:
 * @model: a model that is not frozen and has no other edit open
 *
 * Opens @model for recorded changes. Steps behind the cursor of the history are forgotten.
 *
 * Returns: (transfer full): the edit
 */
IrEdit *
ir_edit_new (IrModel *model)
{
  g_return_val_if_fail (!model->frozen && !model->log->editing, NULL);

  ir_log_cut (model->log, model->log->cursor);
  if (model->log->n_imported_nodes == 0)
    {
      model->log->n_imported_graphs = model->graphs->len;
      model->log->n_imported_nodes = model->nodes->len;
      model->log->n_imported_values = model->values->len;
    }
  return edit_new (model, TRUE);
}

/**
 * ir_edit_new_import:
 * @model: a model that is being built; its history must be empty
 *
 * Opens @model for changes that are not recorded: what a reader builds is step 0.
 *
 * Returns: (transfer full): the edit
 */
IrEdit *
ir_edit_new_import (IrModel *model)
{
  g_return_val_if_fail (!model->frozen && !model->log->editing, NULL);
  g_return_val_if_fail (model->log->steps->len == 0, NULL);

  model->log->n_imported_graphs = 0;
  model->log->n_imported_nodes = model->log->n_imported_values = 0;
  return edit_new (model, FALSE);
}

/**
 * ir_edit_new_passing:
 * @model: a model that is not frozen and has no other edit open
 *
 * Opens @model for changes of what is there that hold until the edit is freed: its history is
 * neither written nor cut. For what is asked of a model that differs in little, without a copy.
 * Nothing may be added or removed, and the history must not travel meanwhile.
 *
 * Returns: (transfer full): the edit
 */
IrEdit *
ir_edit_new_passing (IrModel *model)
{
  IrEdit *edit;

  g_return_val_if_fail (!model->frozen && !model->log->editing, NULL);

  edit = edit_new (model, FALSE);
  edit->passing = g_array_new (FALSE, FALSE, sizeof (IrRecord));
  return edit;
}

static void
take_back (IrEdit *edit)
{
  g_autoptr (GArray) records = g_steal_pointer (&edit->passing);

  for (guint i = records->len; i-- > 0;)
    {
      const IrRecord *record = &g_array_index (records, IrRecord, i);

      write_slot (edit, (IrRecordKind) record->kind, record->subject, record->slot,
                  (IrSlotValue){ .number = record->before.number });
    }
}

/**
 * ir_edit_free:
 * @edit: (transfer full): an edit; open spans are ended
 */
void
ir_edit_free (IrEdit *edit)
{
  if (edit->step != NULL)
    ir_edit_end_step (edit);
  if (edit->pass_run >= 0)
    ir_edit_end_pass (edit);
  if (edit->passing != NULL)
    take_back (edit);
  edit->model->log->editing = FALSE;
  g_hash_table_unref (edit->name_counters);
  g_clear_pointer (&edit->names, g_hash_table_unref);
  ir_model_unref (edit->model);
  g_free (edit);
}

/**
 * ir_edit_model:
 * @edit: an edit
 *
 * Returns: (transfer none): what it writes
 */
IrModel *
ir_edit_model (IrEdit *edit)
{
  return edit->model;
}

/**
 * ir_edit_take_interned:
 * @edit: an edit
 *
 * For readers: every string that @edit is given from now on is one of the model's context, so that
 * none is looked up again.
 */
void
ir_edit_take_interned (IrEdit *edit)
{
  edit->interned = TRUE;
}

static const char *
intern (IrEdit *edit, const char *string)
{
  if (edit->interned && string != NULL)
    return string;
  return ir_context_intern (edit->model->context, string != NULL ? string : "");
}

/* -- writing one slot -- */

static IrSlotValue
as_number (guint64 n)
{
  return (IrSlotValue){ .number = n };
}

static IrSlotValue
as_pointer (gconstpointer p)
{
  return (IrSlotValue){ .pointer = p };
}

static void
write_change (IrEdit *edit,
              IrRecordKind kind,
              guint32 subject,
              guint32 slot,
              IrSlotValue before,
              IrSlotValue after)
{
  IrModel *model = edit->model;
  GArray *records = edit->recording ? model->log->records : edit->passing;

  g_return_if_fail (!edit->recording || edit->step != NULL);
  if (records != NULL)
    {
      IrRecord record = { .kind = kind, .subject = subject, .slot = slot };

      record.before.number = before.number;
      record.after.number = after.number;
      g_array_append_val (records, record);
    }
  if (edit->recording)
    edit->step->n_records++;
  ir_record_set (model, kind, subject, slot, after);
  model->stamp++;
  model->cache->n_retyped += kind == IR_RECORD_VALUE_TYPE || kind == IR_RECORD_VALUE_CLAIM ||
                             kind == IR_RECORD_VALUE_FLAGS;
}

static void
write_slot (IrEdit *edit, IrRecordKind kind, guint32 subject, guint32 slot, IrSlotValue after)
{
  IrSlotValue before = ir_record_get (edit->model, kind, subject, slot);

  if (before.number != after.number)
    write_change (edit, kind, subject, slot, before, after);
}

void
ir_edit_write (IrEdit *edit, IrRecordKind kind, guint32 subject, guint64 after)
{
  write_slot (edit, kind, subject, 0, as_number (after));
}

void
ir_edit_write_pointer (IrEdit *edit, IrRecordKind kind, guint32 subject, gconstpointer after)
{
  write_slot (edit, kind, subject, 0, as_pointer (after));
}

/* -- spans -- */

/**
 * ir_edit_begin_pipeline:
 * @edit: an edit
 * @name: name of the pipeline that the next pass runs belong to
 */
void
ir_edit_begin_pipeline (IrEdit *edit, const char *name)
{
  edit->pipeline = intern (edit, name);
}

/**
 * ir_edit_end_pipeline:
 * @edit: an edit
 */
void
ir_edit_end_pipeline (IrEdit *edit)
{
  edit->pipeline = NULL;
}

static guint
count_pass_runs (const IrLog *log, const char *pass, const char *pipeline)
{
  guint n = 0;

  for (guint i = 0; i < log->pass_runs->len; i++)
    {
      const IrPassRun *run = &g_array_index (log->pass_runs, IrPassRun, i);
      n += run->pass == pass && run->pipeline == pipeline;
    }
  return n;
}

/**
 * ir_edit_begin_pass:
 * @edit: an edit without an open pass
 * @pass: name of the pass, "edit" for changes by hand
 */
void
ir_edit_begin_pass (IrEdit *edit, const char *pass)
{
  IrLog *log = edit->model->log;
  IrPassRun run = { .pass = intern (edit, pass), .pipeline = edit->pipeline };

  g_return_if_fail (edit->pass_run < 0 && edit->step == NULL);
  run.iteration = count_pass_runs (log, run.pass, run.pipeline);
  run.first_step = log->steps->len + 1;
  g_array_append_val (log->pass_runs, run);
  edit->pass_run = log->pass_runs->len - 1;
  edit->pass_started_ns = now_ns ();
}

/**
 * ir_edit_note_settings:
 * @edit: an edit with an open pass, no step of which was begun
 * @settings: (nullable): the options of the pass that were set, "of=loss,wrt=params"
 */
void
ir_edit_note_settings (IrEdit *edit, const char *settings)
{
  g_return_if_fail (edit->pass_run >= 0 && edit->step == NULL);
  if (settings != NULL)
    g_array_index (edit->model->log->pass_runs, IrPassRun, edit->pass_run).settings = intern (
        edit, settings);
}

/**
 * ir_edit_end_pass:
 * @edit: an edit with an open pass
 */
void
ir_edit_end_pass (IrEdit *edit)
{
  IrPassRun *run;

  g_return_if_fail (edit->pass_run >= 0 && edit->step == NULL);
  run = &g_array_index (edit->model->log->pass_runs, IrPassRun, edit->pass_run);
  run->duration_ns = now_ns () - edit->pass_started_ns;
  edit->pass_run = -1;
}

/**
 * ir_edit_begin_step:
 * @edit: a recording edit without an open step; a pass "edit" is opened if none is
 * @rule: name of the rule that is applied
 * @step_class: how far it may change results
 * @anchor: node where it is applied, 0 for none
 */
void
ir_edit_begin_step (IrEdit *edit, const char *rule, IrClass step_class, IrNodeId anchor)
{
  IrLog *log = edit->model->log;
  IrStep *step;

  g_return_if_fail (edit->recording && edit->step == NULL);
  if (edit->pass_run < 0)
    ir_edit_begin_pass (edit, "edit");
  step = g_new0 (IrStep, 1);
  step->index = log->steps->len + 1;
  step->pass_run = edit->pass_run;
  step->rule = intern (edit, rule);
  step->step_class = step_class;
  step->anchor = anchor;
  step->first_record = log->records->len;
  edit->step = step;
  edit->step_started_ns = now_ns ();
}

/* How often this rule was applied at this anchor before: part of the step's stable key. */
static guint
next_occurrence (IrLog *log, const IrStep *step)
{
  g_autofree char *key = g_strdup_printf ("%s@%u", step->rule, step->anchor);
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (log->occurrences, key));

  g_hash_table_replace (log->occurrences, g_steal_pointer (&key), GUINT_TO_POINTER (n + 1));
  return n;
}

static void
map_pair (GArray **pairs, guint32 before, guint32 after)
{
  IrIdPair pair = { before, after };

  if (*pairs == NULL)
    *pairs = g_array_new (FALSE, FALSE, sizeof (IrIdPair));
  for (guint i = 0; i < (*pairs)->len; i++)
    if (memcmp (&g_array_index (*pairs, IrIdPair, i), &pair, sizeof pair) == 0)
      return;
  g_array_append_val (*pairs, pair);
}

static gboolean
pairs_have_old (const GArray *pairs, guint32 old)
{
  for (guint i = 0; pairs != NULL && i < pairs->len; i++)
    if (g_array_index (pairs, IrIdPair, i).before == old)
      return TRUE;
  return FALSE;
}

/* Lineage that the rule did not state: what it removed went into what it made. */
static void
complete_lineage (IrEdit *edit, IrStep *step)
{
  const IrRecord *records = (const IrRecord *) edit->model->log->records->data + step->first_record;
  g_autoptr (GArray) added = g_array_new (FALSE, FALSE, sizeof (guint32));
  gboolean stated = step->nodes != NULL;

  for (guint i = 0; i < step->n_records; i++)
    if (records[i].kind == IR_RECORD_NODE_STATE && records[i].after.number == IR_STATE_LIVE)
      g_array_append_val (added, records[i].subject);
  for (guint i = 0; i < step->n_records; i++)
    {
      guint32 old = records[i].subject;

      if (records[i].kind != IR_RECORD_NODE_STATE || records[i].after.number != IR_STATE_REMOVED ||
          (stated && pairs_have_old (step->nodes, old)))
        continue;
      for (guint k = 0; k < added->len && !stated; k++)
        map_pair (&step->nodes, old, g_array_index (added, guint32, k));
      if (added->len == 0 || stated)
        map_pair (&step->nodes, old, 0);
    }
}

/**
 * ir_edit_end_step:
 * @edit: an edit with an open step
 *
 * Ends the step; one without records leaves no trace.
 */
void
ir_edit_end_step (IrEdit *edit)
{
  IrLog *log = edit->model->log;
  IrStep *step = g_steal_pointer (&edit->step);
  gint64 now = now_ns ();

  g_return_if_fail (step != NULL);
  if (step->n_records == 0)
    {
      ir_step_free (step);
      return;
    }
  step->started_ns = edit->step_started_ns - edit->pass_started_ns;
  step->duration_ns = now - edit->step_started_ns;
  step->occurrence = next_occurrence (log, step);
  complete_lineage (edit, step);
  g_ptr_array_add (log->steps, step);
  g_array_index (log->pass_runs, IrPassRun, edit->pass_run).n_steps++;
  log->cursor = log->steps->len;
}

/**
 * ir_edit_abort_step:
 * @edit: an edit with an open step
 *
 * Takes the step back, as if it had never begun; ids that it used are not used again.
 */
void
ir_edit_abort_step (IrEdit *edit)
{
  IrLog *log = edit->model->log;
  IrStep *step = g_steal_pointer (&edit->step);

  g_return_if_fail (step != NULL);
  for (gsize i = log->records->len; i > step->first_record; i--)
    ir_record_apply (edit->model, &g_array_index (log->records, IrRecord, i - 1), FALSE);
  g_array_set_size (log->records, step->first_record);
  edit->model->stamp++;
  ir_step_free (step);
}

/**
 * ir_edit_step_reason:
 * @edit: an edit with an open step
 * @format: printf() format: bindings and conditions in words
 * @...: arguments
 */
void
ir_edit_step_reason (IrEdit *edit, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  g_return_if_fail (edit->step != NULL);
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  edit->step->reason = intern (edit, text);
}

/**
 * ir_edit_step_map_node:
 * @edit: an edit with an open step
 * @old_node: a node that was there before
 * @new_node: a node that does (part of) its work now; 0: its work is gone
 */
void
ir_edit_step_map_node (IrEdit *edit, IrNodeId old_node, IrNodeId new_node)
{
  if (edit->step != NULL)
    map_pair (&edit->step->nodes, old_node, new_node);
}

/**
 * ir_edit_note_inlined:
 * @edit: an edit; with a step open, lineage says it
 * @call: a node
 * @first: the id that the first of the nodes got that do its work now; all since then do
 */
void
ir_edit_note_inlined (IrEdit *edit, const IrNode *call, IrNodeId first)
{
  IrModel *model = edit->model;
  const IrInlined range = { first, model->nodes->len, call->id };

  if (edit->step != NULL || range.end == first)
    return;
  if (model->cache->inlined == NULL)
    model->cache->inlined = g_array_new (FALSE, FALSE, sizeof (IrInlined));
  g_array_append_val (model->cache->inlined, range);
}

/**
 * ir_edit_step_map_value:
 * @edit: an edit with an open step
 * @old_value: a value that was there before
 * @new_value: a value that stands for it now
 */
void
ir_edit_step_map_value (IrEdit *edit, IrValueId old_value, IrValueId new_value)
{
  if (edit->step != NULL)
    map_pair (&edit->step->values, old_value, new_value);
}

/**
 * ir_edit_step_note_part:
 * @edit: an edit with an open step
 * @value: a value
 * @part: the derivative by it of what is derived, or a part of that
 */
void
ir_edit_step_note_part (IrEdit *edit, IrValueId value, IrValueId part)
{
  if (edit->step != NULL)
    map_pair (&edit->step->parts, value, part);
}

/**
 * ir_edit_record_refusals:
 * @edit: an edit
 * @on: whether ir_edit_refuse() keeps what it is told
 */
void
ir_edit_record_refusals (IrEdit *edit, gboolean on)
{
  edit->record_refusals = on;
}

/**
 * ir_edit_refuse:
 * @edit: an edit
 * @rule: a rule that matched in part
 * @anchor: where
 * @reason: the first condition that failed, with what was found and what was needed
 */
void
ir_edit_refuse (IrEdit *edit, const char *rule, IrNodeId anchor, const char *reason)
{
  IrRefusal refusal = { .anchor = anchor, .pass_run = MAX (edit->pass_run, 0) };

  if (!edit->record_refusals)
    return;
  refusal.rule = intern (edit, rule);
  refusal.reason = intern (edit, reason);
  g_array_append_val (edit->model->log->refusals, refusal);
}

/* -- names -- */

/* @name, which something of the model gets. */
static const char *
give_name (IrEdit *edit, const char *name)
{
  const char *interned = intern (edit, name);

  if (edit->names != NULL)
    g_hash_table_add (edit->names, (gpointer) interned);
  return interned;
}

static GHashTable *
collect_names (const IrModel *model)
{
  GHashTable *names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 1; i < model->nodes->len; i++)
    g_hash_table_add (names, (gpointer) ((const IrNode *) model->nodes->pdata[i])->name);
  for (guint i = 1; i < model->values->len; i++)
    g_hash_table_add (names, (gpointer) ((const IrValue *) model->values->pdata[i])->name);
  return names;
}

/**
 * ir_edit_name_is_free:
 * @edit: an edit
 * @name: any
 *
 * A history may bring names back, so what is recorded takes none that any model of the context has
 * seen. Otherwise the answer depends on the model alone, not on what was made of its other copies.
 *
 * Returns: whether nothing in the model has ever had @name
 */
gboolean
ir_edit_name_is_free (IrEdit *edit, const char *name)
{
  if (edit->recording)
    return !ir_context_has_string (edit->model->context, name);
  if (edit->names == NULL)
    edit->names = collect_names (edit->model);
  return !g_hash_table_contains (edit->names, name);
}

/**
 * ir_edit_unique_name:
 * @edit: an edit
 * @base: what the name should begin with
 *
 * Returns: (transfer none): an interned name that ir_edit_name_is_free()
 */
const char *
ir_edit_unique_name (IrEdit *edit, const char *base)
{
  const char *key = intern (edit, base);
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (edit->name_counters, key));
  g_autofree char *name = NULL;

  do
    {
      g_free (name);
      name = g_strdup_printf ("%s_%u", base, ++n);
    }
  while (!ir_edit_name_is_free (edit, name));
  g_hash_table_insert (edit->name_counters, (gpointer) key, GUINT_TO_POINTER (n));
  return ir_context_intern (edit->model->context, name);
}

/* -- nodes -- */

static IrNode *
make_node (IrEdit *edit,
           IrGraph *graph,
           const char *op_type,
           const char *domain,
           const char *name,
           guint n_inputs,
           IrValue *const *inputs,
           guint n_outputs)
{
  IrModel *model = edit->model;
  IrNode *node = ir_model_new_node (model);
  const IrNode *anchor = edit->step != NULL ? ir_model_node (model, edit->step->anchor) : NULL;

  if (domain != NULL && strcmp (domain, "ai.onnx") == 0)
    domain = NULL;
  node->graph = graph;
  node->op_type = intern (edit, op_type);
  node->domain = intern (edit, domain);
  node->name = give_name (edit, name);
  node->op = ir_op_find (node->domain, node->op_type);
  node->rank = anchor != NULL ? anchor->rank : node->id;
  node->scope = anchor != NULL ? anchor->scope : node->scope;
  node->inputs = ir_model_resize_array (model, NULL, 0, n_inputs, sizeof (IrValue *));
  node->outputs = ir_model_resize_array (model, NULL, 0, n_outputs, sizeof (IrValue *));
  node->n_inputs = n_inputs;
  node->n_outputs = n_outputs;
  if (n_inputs > 0)
    memcpy (node->inputs, inputs, n_inputs * sizeof (IrValue *));
  return node;
}

static void
give_birth_to_node (IrEdit *edit, IrNode *node)
{
  write_change (edit, IR_RECORD_NODE_STATE, node->id, 0, as_number (IR_STATE_UNBORN),
                as_number (IR_STATE_LIVE));
}

/**
 * ir_edit_add_node:
 * @edit: an edit
 * @graph: where
 * @op_type: operator
 * @domain: (nullable): its domain; %NULL, "" and "ai.onnx" are the same
 * @name: (nullable): name of the node
 * @n_inputs: number of inputs
 * @inputs: (array length=n_inputs): values, entries nullable
 * @n_outputs: number of outputs; that many new values are made, with made-up names
 *
 * Scope and rank are those of the step's anchor, so the node stands where its origin stood.
 *
 * Returns: (transfer none): the node, without attributes and its outputs without types
 */
IrNode *
ir_edit_add_node (IrEdit *edit,
                  IrGraph *graph,
                  const char *op_type,
                  const char *domain,
                  const char *name,
                  guint n_inputs,
                  IrValue *const *inputs,
                  guint n_outputs)
{
  IrNode *node = make_node (edit, graph, op_type, domain, name, n_inputs, inputs, n_outputs);

  for (guint i = 0; i < n_outputs; i++)
    {
      IrValue *value = ir_model_new_value (edit->model);

      value->graph = graph;
      value->name = give_name (
          edit, ir_edit_unique_name (edit, node->name[0] != '\0' ? node->name : node->op_type));
      value->producer = node;
      value->output_slot = i;
      node->outputs[i] = value;
    }
  give_birth_to_node (edit, node);
  return node;
}

/**
 * ir_edit_add_node_with_outputs:
 * @edit: an edit
 * @graph: where
 * @op_type: operator
 * @domain: (nullable): its domain
 * @name: (nullable): name of the node
 * @n_inputs: number of inputs
 * @inputs: (array length=n_inputs): values, entries nullable
 * @n_outputs: number of outputs
 * @outputs: (array length=n_outputs): live values, entries nullable; taken over from producers
 *
 * For readers, which know the values by name before they meet the producer.
 *
 * Returns: (transfer none): the node
 */
IrNode *
ir_edit_add_node_with_outputs (IrEdit *edit,
                               IrGraph *graph,
                               const char *op_type,
                               const char *domain,
                               const char *name,
                               guint n_inputs,
                               IrValue *const *inputs,
                               guint n_outputs,
                               IrValue *const *outputs)
{
  IrNode *node = make_node (edit, graph, op_type, domain, name, n_inputs, inputs, n_outputs);

  give_birth_to_node (edit, node);
  for (guint i = 0; i < n_outputs; i++)
    if (outputs[i] != NULL)
      ir_edit_set_output (edit, node, i, outputs[i]);
  return node;
}

static void
remove_subgraphs (IrEdit *edit, IrNode *node)
{
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);

  for (guint i = 0; i < subgraphs->len; i++)
    {
      IrGraph *graph = subgraphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && graph->owner == node->id)
        ir_edit_remove_graph (edit, graph);
    }
}

/**
 * ir_edit_remove_node:
 * @edit: an edit
 * @node: a live node whose outputs nobody uses
 *
 * Removes the node, its outputs and the subgraphs that it owns.
 */
void
ir_edit_remove_node (IrEdit *edit, IrNode *node)
{
  g_return_if_fail (node->state == IR_STATE_LIVE);
  for (guint i = 0; i < node->n_outputs; i++)
    g_return_if_fail (node->outputs[i] == NULL || node->outputs[i]->n_uses == 0);

  remove_subgraphs (edit, node);
  write_slot (edit, IR_RECORD_NODE_STATE, node->id, 0, as_number (IR_STATE_REMOVED));
}

/**
 * ir_edit_set_input:
 * @edit: an edit
 * @node: a live node
 * @slot: which input, below its n_inputs
 * @value: (nullable): what it reads now
 */
void
ir_edit_set_input (IrEdit *edit, IrNode *node, guint slot, IrValue *value)
{
  g_return_if_fail (slot < node->n_inputs);
  write_slot (edit, IR_RECORD_NODE_INPUT, node->id, slot,
              as_number (value != NULL ? value->id : 0));
}

/**
 * ir_edit_set_n_inputs:
 * @edit: an edit
 * @node: a live node
 * @n_inputs: how many it has now; new ones are absent
 */
void
ir_edit_set_n_inputs (IrEdit *edit, IrNode *node, guint n_inputs)
{
  for (guint i = n_inputs; i < node->n_inputs; i++)
    ir_edit_set_input (edit, node, i, NULL);
  write_slot (edit, IR_RECORD_NODE_N_INPUTS, node->id, 0, as_number (n_inputs));
}

/* Takes @slot's value from @node; one that nobody uses and nothing else makes goes with it. */
static void
clear_output (IrEdit *edit, IrNode *node, guint slot)
{
  IrValue *value = node->outputs[slot];

  if (value == NULL)
    return;
  write_slot (edit, IR_RECORD_NODE_OUTPUT, node->id, slot, as_number (0));
  if (value->n_uses == 0)
    write_slot (edit, IR_RECORD_VALUE_STATE, value->id, 0, as_number (IR_STATE_REMOVED));
}

/**
 * ir_edit_set_output:
 * @edit: an edit
 * @node: a live node
 * @slot: which output, below its n_outputs
 * @value: (nullable): the value that it makes now; its producer so far, if any, loses it
 *
 * What stood in the slot is left without a producer, or removed if nobody uses it.
 */
void
ir_edit_set_output (IrEdit *edit, IrNode *node, guint slot, IrValue *value)
{
  g_return_if_fail (slot < node->n_outputs);
  if (node->outputs[slot] == value)
    return;
  clear_output (edit, node, slot);
  if (value == NULL)
    return;
  if (value->producer != NULL)
    write_slot (edit, IR_RECORD_NODE_OUTPUT, value->producer->id, value->output_slot,
                as_number (0));
  if (value->state != IR_STATE_LIVE)
    write_slot (edit, IR_RECORD_VALUE_STATE, value->id, 0, as_number (IR_STATE_LIVE));
  write_slot (edit, IR_RECORD_NODE_OUTPUT, node->id, slot, as_number (value->id));
}

/**
 * ir_edit_set_n_outputs:
 * @edit: an edit
 * @node: a live node
 * @n_outputs: how many it has now; new ones are absent
 */
void
ir_edit_set_n_outputs (IrEdit *edit, IrNode *node, guint n_outputs)
{
  for (guint i = n_outputs; i < node->n_outputs; i++)
    clear_output (edit, node, i);
  write_slot (edit, IR_RECORD_NODE_N_OUTPUTS, node->id, 0, as_number (n_outputs));
}

static guint
attr_place (const IrNode *node, const char *name, gboolean *found)
{
  guint i = 0;
  int order = 1;

  while (i < node->n_attrs && (order = strcmp (node->attrs[i]->name, name)) < 0)
    i++;
  *found = i < node->n_attrs && order == 0;
  return i;
}

static void
adopt_graphs (IrEdit *edit, IrNode *node, const IrAttr *attr)
{
  if (attr->kind != IR_ATTR_GRAPH && attr->kind != IR_ATTR_GRAPHS)
    return;
  for (guint i = 0; i < attr->n; i++)
    {
      IrGraph *graph = ir_model_graph (edit->model, attr->graphs[i]);
      if (graph != NULL && graph->owner == 0 && graph->kind == IR_GRAPH_SUBGRAPH)
        ir_edit_set_graph_owner (edit, graph, node);
    }
}

/**
 * ir_edit_set_attr:
 * @edit: an edit
 * @node: a live node
 * @attr: (transfer none): the attribute, of the model's context; replaces one of the same name.
 *   Subgraphs in it that belong to nobody become the node's
 */
void
ir_edit_set_attr (IrEdit *edit, IrNode *node, const IrAttr *attr)
{
  gboolean found;
  guint slot = attr_place (node, attr->name, &found);

  if (found && ir_attr_equal (node->attrs[slot], attr))
    return;
  write_change (edit, IR_RECORD_NODE_ATTR, node->id, slot,
                as_pointer (found ? node->attrs[slot] : NULL), as_pointer (attr));
  adopt_graphs (edit, node, attr);
}

/**
 * ir_edit_unset_attr:
 * @edit: an edit
 * @node: a live node
 * @name: an attribute; none of that name is no change
 */
void
ir_edit_unset_attr (IrEdit *edit, IrNode *node, const char *name)
{
  gboolean found;
  guint slot = attr_place (node, name, &found);

  if (found)
    write_slot (edit, IR_RECORD_NODE_ATTR, node->id, slot, as_pointer (NULL));
}

/**
 * ir_edit_set_op:
 * @edit: an edit
 * @node: a live node
 * @op_type: operator
 * @domain: (nullable): its domain
 * @overload: (nullable): overload of a function call
 */
void
ir_edit_set_op (
    IrEdit *edit, IrNode *node, const char *op_type, const char *domain, const char *overload)
{
  IrOpName name = { intern (edit, op_type), intern (edit, domain), intern (edit, overload) };

  if (strcmp (name.domain, "ai.onnx") == 0)
    name.domain = intern (edit, "");
  if (node->op_type == name.op_type && node->domain == name.domain &&
      node->overload == name.overload)
    return;
  write_slot (edit, IR_RECORD_NODE_OP, node->id, 0,
              as_pointer (ir_context_dup (edit->model->context, &name, sizeof name)));
}

/**
 * ir_edit_rename_node:
 * @edit: an edit
 * @node: a live node
 * @name: (nullable): its name
 */
void
ir_edit_rename_node (IrEdit *edit, IrNode *node, const char *name)
{
  write_slot (edit, IR_RECORD_NODE_NAME, node->id, 0, as_pointer (give_name (edit, name)));
}

/**
 * ir_edit_set_scope:
 * @edit: an edit
 * @node: a live node
 * @scope: (nullable): path with slashes
 */
void
ir_edit_set_scope (IrEdit *edit, IrNode *node, const char *scope)
{
  write_slot (edit, IR_RECORD_NODE_SCOPE, node->id, 0, as_pointer (intern (edit, scope)));
}

/**
 * ir_edit_set_device:
 * @edit: an edit
 * @node: a live node
 * @device: (nullable): name of a device
 */
void
ir_edit_set_device (IrEdit *edit, IrNode *node, const char *device)
{
  write_slot (edit, IR_RECORD_NODE_DEVICE, node->id, 0, as_pointer (intern (edit, device)));
}

/**
 * ir_edit_set_rank:
 * @edit: an edit
 * @node: a live node
 * @rank: place among nodes that do not wait for each other
 */
void
ir_edit_set_rank (IrEdit *edit, IrNode *node, guint64 rank)
{
  write_slot (edit, IR_RECORD_NODE_RANK, node->id, 0, as_number (rank));
}

static int
compare_ids (gconstpointer a, gconstpointer b)
{
  guint32 ia = *(const guint32 *) a, ib = *(const guint32 *) b;
  return ia < ib ? -1 : ia > ib;
}

static void
write_controls (IrEdit *edit, IrNode *node, GArray *ids)
{
  const IrIdList *list = NULL;

  g_array_sort (ids, compare_ids);
  if (ids->len > 0)
    list = ir_context_id_list (edit->model->context, (const guint32 *) ids->data, ids->len);
  write_slot (edit, IR_RECORD_NODE_CONTROLS, node->id, 0, as_pointer (list));
}

/* The node's control sources without @except. */
static GArray *
copy_controls (const IrNode *node, IrNodeId except)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    if (node->controls->ids[i] != except)
      g_array_append_val (ids, node->controls->ids[i]);
  return ids;
}

/**
 * ir_edit_add_control:
 * @edit: an edit
 * @node: a live node
 * @before: a node that must run before it
 */
void
ir_edit_add_control (IrEdit *edit, IrNode *node, IrNode *before)
{
  g_autoptr (GArray) ids = copy_controls (node, before->id);

  g_array_append_val (ids, before->id);
  write_controls (edit, node, ids);
}

/**
 * ir_edit_remove_control:
 * @edit: an edit
 * @node: a live node
 * @before: a node that need not run before it any more
 */
void
ir_edit_remove_control (IrEdit *edit, IrNode *node, IrNode *before)
{
  g_autoptr (GArray) ids = copy_controls (node, before->id);

  write_controls (edit, node, ids);
}

/**
 * ir_edit_set_node_extra:
 * @edit: an edit
 * @node: a live node
 * @extra: (nullable): of the model's context
 */
void
ir_edit_set_node_extra (IrEdit *edit, IrNode *node, const IrExtra *extra)
{
  write_slot (edit, IR_RECORD_NODE_EXTRA, node->id, 0, as_pointer (extra));
}

/**
 * ir_edit_move_node:
 * @edit: an edit
 * @node: a live node
 * @graph: where it and its outputs go
 */
void
ir_edit_move_node (IrEdit *edit, IrNode *node, IrGraph *graph)
{
  write_slot (edit, IR_RECORD_NODE_GRAPH, node->id, 0, as_number (graph->id));
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      ir_edit_move_value (edit, node->outputs[i], graph);
}

/* -- values -- */

/**
 * ir_edit_add_value:
 * @edit: an edit
 * @graph: where
 * @name: (nullable): its name; %NULL: one is made up
 * @type: (nullable): its type
 *
 * Returns: (transfer none): a value without producer
 */
IrValue *
ir_edit_add_value (IrEdit *edit, IrGraph *graph, const char *name, const IrType *type)
{
  IrValue *value = ir_model_new_value (edit->model);

  value->graph = graph;
  value->name = give_name (edit, name != NULL ? name : ir_edit_unique_name (edit, "value"));
  value->type = type;
  write_change (edit, IR_RECORD_VALUE_STATE, value->id, 0, as_number (IR_STATE_UNBORN),
                as_number (IR_STATE_LIVE));
  return value;
}

static void
own_tensor (IrEdit *edit, IrTensor *tensor)
{
  ir_context_own (edit->model->context, ir_tensor_ref (tensor), (GDestroyNotify) ir_tensor_unref);
}

/**
 * ir_edit_add_initializer:
 * @edit: an edit
 * @graph: where
 * @name: (nullable): its name; %NULL: one is made up
 * @tensor: contents; a reference is taken
 *
 * Returns: (transfer none): the value, with the tensor's type
 */
IrValue *
ir_edit_add_initializer (IrEdit *edit, IrGraph *graph, const char *name, IrTensor *tensor)
{
  IrValue *value = ir_model_new_value (edit->model);

  own_tensor (edit, tensor);
  value->graph = graph;
  value->name = give_name (edit, name != NULL ? name : ir_edit_unique_name (edit, "constant"));
  value->initializer = tensor;
  value->type = ir_tensor_type (tensor, edit->model->context);
  write_change (edit, IR_RECORD_VALUE_STATE, value->id, 0, as_number (IR_STATE_UNBORN),
                as_number (IR_STATE_LIVE));
  return value;
}

/**
 * ir_edit_remove_value:
 * @edit: an edit
 * @value: a live value without producer and uses, and no graph input
 */
void
ir_edit_remove_value (IrEdit *edit, IrValue *value)
{
  g_return_if_fail (value->state == IR_STATE_LIVE && value->n_uses == 0 && value->producer == NULL);
  write_slot (edit, IR_RECORD_VALUE_STATE, value->id, 0, as_number (IR_STATE_REMOVED));
}

/**
 * ir_edit_set_type:
 * @edit: an edit
 * @value: a live value
 * @type: (nullable): of the model's context
 *
 * Says what is known of the type, not what is only declared: ir_edit_set_claim().
 */
void
ir_edit_set_type (IrEdit *edit, IrValue *value, const IrType *type)
{
  write_slot (edit, IR_RECORD_VALUE_TYPE, value->id, 0, as_pointer (type));
}

/**
 * ir_edit_set_claim:
 * @edit: an edit
 * @value: a live value
 * @claim: (nullable): of the model's context: its type with what is only declared
 */
void
ir_edit_set_claim (IrEdit *edit, IrValue *value, const IrType *claim)
{
  write_slot (edit, IR_RECORD_VALUE_CLAIM, value->id, 0, as_pointer (claim));
}

/**
 * ir_edit_set_flags:
 * @edit: an edit
 * @value: a live value
 * @flags: all of its flags
 */
void
ir_edit_set_flags (IrEdit *edit, IrValue *value, IrValueFlags flags)
{
  write_slot (edit, IR_RECORD_VALUE_FLAGS, value->id, 0, as_number (flags));
}

/**
 * ir_edit_set_initializer:
 * @edit: an edit
 * @value: a live value without producer
 * @tensor: (nullable): contents; a reference is taken
 */
void
ir_edit_set_initializer (IrEdit *edit, IrValue *value, IrTensor *tensor)
{
  if (tensor != NULL && tensor != value->initializer)
    own_tensor (edit, tensor);
  write_slot (edit, IR_RECORD_VALUE_INITIALIZER, value->id, 0, as_pointer (tensor));
}

/**
 * ir_edit_rename_value:
 * @edit: an edit
 * @value: a live value
 * @name: its name
 */
void
ir_edit_rename_value (IrEdit *edit, IrValue *value, const char *name)
{
  write_slot (edit, IR_RECORD_VALUE_NAME, value->id, 0, as_pointer (give_name (edit, name)));
}

/**
 * ir_edit_set_value_extra:
 * @edit: an edit
 * @value: a live value
 * @extra: (nullable): of the model's context
 */
void
ir_edit_set_value_extra (IrEdit *edit, IrValue *value, const IrExtra *extra)
{
  write_slot (edit, IR_RECORD_VALUE_EXTRA, value->id, 0, as_pointer (extra));
}

/**
 * ir_edit_move_value:
 * @edit: an edit
 * @value: a live value
 * @graph: where it goes
 */
void
ir_edit_move_value (IrEdit *edit, IrValue *value, IrGraph *graph)
{
  write_slot (edit, IR_RECORD_VALUE_GRAPH, value->id, 0, as_number (graph->id));
}

/* -- replacing uses -- */

/* What is claimed of a value is claimed of what stands for it, where that does not say otherwise. */
static void
hand_claim_over (IrEdit *edit, const IrValue *old, IrValue *with)
{
  const IrType *claim = with->producer != NULL && old->claim != NULL
                            ? ir_type_merge (edit->model->context, ir_value_shown_type (with),
                                             old->claim)
                            : NULL;

  if (claim != NULL && !ir_type_at_least (with->type, claim))
    ir_edit_set_claim (edit, with, claim);
}

static gboolean
can_take_name (const IrValue *old, const IrValue *with)
{
  return with->producer != NULL && with->graph == old->graph && !ir_value_is_graph_output (with);
}

/* The name that an output of the graph has must stay: @with gets it, @old another. */
static void
hand_name_over (IrEdit *edit, IrValue *old, IrValue *with)
{
  const char *name = old->name;

  ir_edit_rename_value (edit, old, ir_edit_unique_name (edit, name));
  ir_edit_rename_value (edit, with, name);
  ir_edit_set_flags (edit, with, with->flags | old->flags);
}

static IrValue *
output_carrier (IrEdit *edit, IrValue *old, IrValue *with)
{
  IrNode *identity;

  if (can_take_name (old, with))
    {
      hand_name_over (edit, old, with);
      return with;
    }
  identity = ir_edit_add_node (edit, old->graph, "Identity", "", NULL, 1, &with, 1);
  ir_edit_set_type (edit, identity->outputs[0], with->type);
  hand_claim_over (edit, old, identity->outputs[0]);
  hand_name_over (edit, old, identity->outputs[0]);
  return identity->outputs[0];
}

static void
replace_in_outputs (IrEdit *edit, IrGraph *graph, const IrValue *old, const IrValue *with)
{
  g_autofree guint32 *ids = g_memdup2 (graph->outputs->ids, graph->outputs->n * sizeof (guint32));

  for (guint i = 0; i < graph->outputs->n; i++)
    if (ids[i] == old->id)
      ids[i] = with->id;
  write_slot (edit, IR_RECORD_GRAPH_OUTPUTS, graph->id, 0,
              as_pointer (ir_context_id_list (edit->model->context, ids, graph->outputs->n)));
}

/**
 * ir_edit_replace_uses:
 * @edit: an edit
 * @old: a live value
 * @with: a live value of the same graph, or of one around it, with a type at least as specific
 *
 * Every use of @old, graph outputs too, becomes a use of @with. An output of a graph keeps its
 * name: @with takes it over, or an Identity carries it if @with is an input, an initializer, an
 * output already or of another graph. Records that @with stands for @old.
 */
void
ir_edit_replace_uses (IrEdit *edit, IrValue *old, IrValue *with)
{
  g_return_if_fail (old != with);

  hand_claim_over (edit, old, with);
  if (ir_value_is_graph_output (old))
    {
      IrValue *carrier = output_carrier (edit, old, with);

      while (ir_value_is_graph_output (old))
        replace_in_outputs (edit, ir_value_use (old, old->n_uses - 1).graph, old, carrier);
    }
  while (old->n_uses > 0)
    {
      IrUse use = ir_value_use (old, 0);
      ir_edit_set_input (edit, use.node, use.slot, with);
    }
  ir_edit_step_map_value (edit, old->id, with->id);
}
