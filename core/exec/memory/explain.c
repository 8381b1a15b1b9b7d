/* What a memory plan can say about one value: where it lies, what it shares bytes with, why it
 * does not share more, and what lives at the same time. */
#include "config.h"

#include "core/exec/memory/planner.h"
#include "core/ir/printable.h"

static const char *const refusals[] = {
  [IR_REFUSAL_NONE] = "",
  [IR_REFUSAL_EXTERNAL] = "lies outside the arena",
  [IR_REFUSAL_SIZE] = "has another size or type",
  [IR_REFUSAL_LAYOUT] = "is kept in another layout, or is not one range of it",
  [IR_REFUSAL_READ_LATER] = "is still read later, itself or through a view",
  [IR_REFUSAL_CONCURRENT] = "another worker may read while its node runs",
  [IR_REFUSAL_READ_TWICE] = "is read by another input of the same node, too",
  [IR_REFUSAL_ALIGN] = "would not begin at a multiple of the alignment",
  [IR_REFUSAL_PART] = "lies in another value already",
  [IR_REFUSAL_PEAK] = "would make more live at once",
};
G_STATIC_ASSERT (G_N_ELEMENTS (refusals) == IR_N_REFUSALS);

/* A name is part of a line: one with a line break must not end it. */
static const char *
shown (const IrModel *model, const IrValue *value)
{
  g_autofree char *text = NULL;

  if (ir_is_printable (value->name, FALSE))
    return value->name;
  text = ir_printable (value->name, FALSE);
  return ir_context_intern (model->context, text);
}

static const char *
name_of (const IrModel *model, IrValueId id)
{
  return shown (model, ir_model_value (model, id));
}

static void
explain_in_place (GString *text, const IrMemPlan *plan, const IrModel *model, const IrMemItem *item)
{
  const struct _IrMemDetails *details = plan->details;
  const IrNode *node = ir_model_value (model, item->value)->producer;
  const IrScheduleItem *step = ir_mem_step (details->schedule, details->step_of, node);
  gboolean some = FALSE;

  for (guint slot = 0; slot < node->n_inputs; slot++)
    some = some || ir_schedule_item_overwrites (step, node, slot);
  for (guint i = 0; i < details->refusals->len; i++)
    {
      const IrMemRefusal *row = &g_array_index (details->refusals, IrMemRefusal, i);
      if (row->slot >= 0 && row->value == item->value)
        g_string_append_printf (text, "It cannot be written over %s, which %s.\n",
                                name_of (model, row->of), refusals[row->refusal]);
    }
  if (!some)
    g_string_append (text, "The kernel of its node cannot work in place.\n");
  else if (ir_node_output (node, 0)->id != item->value)
    g_string_append (text, "Only the first output of its node can be written over an input.\n");
}

static void
explain_parts (GString *text, const IrMemPlan *plan, const IrModel *model, const IrMemItem *item)
{
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *part = &g_array_index (plan->items, IrMemItem, i);
      if (part->part_of == item->value)
        g_string_append_printf (text, "%s lies in it, from byte %" G_GUINT64_FORMAT " on.\n",
                                name_of (model, part->value), part->offset - item->offset);
    }
  for (guint i = 0; i < plan->details->refusals->len; i++)
    {
      const IrMemRefusal *row = &g_array_index (plan->details->refusals, IrMemRefusal, i);
      if (row->slot < 0 && (row->of == item->value || row->value == item->value))
        g_string_append_printf (text, "%s does not lie in %s: it %s.\n",
                                name_of (model, row->value), name_of (model, row->of),
                                refusals[row->refusal]);
    }
}

static void
explain_sharing (GString *text, const IrMemPlan *plan, const IrModel *model, const IrMemItem *item)
{
  if (item->view_of != 0)
    g_string_append_printf (text, "It is what %s holds from byte %" G_GUINT64_FORMAT " on.\n",
                            name_of (model, item->view_of),
                            ir_mem_plan_distance (plan, item->view_of, item->value));
  else if (item->over != 0)
    g_string_append_printf (text, "It is written over %s.\n", name_of (model, item->over));
  else
    explain_in_place (text, plan, model, item);
  if (item->part_of != 0)
    g_string_append_printf (
        text, "It is written into its place in %s, from byte %" G_GUINT64_FORMAT " on.\n",
        name_of (model, item->part_of), ir_mem_plan_distance (plan, item->part_of, item->value));
  explain_parts (text, plan, model, item);
  if (item->alias_of != 0)
    g_string_append_printf (text, "It shares the bytes of %s.\n", name_of (model, item->alias_of));
}

/* Steps that have no order among themselves, in which its bytes are therefore taken throughout. */
static void
explain_spans (GString *text, const IrMemPlan *plan, const IrMemItem *item)
{
  const IrScheduleSpan *spans[] = { ir_mem_span (plan->details->schedule, item->first),
                                    ir_mem_span (plan->details->schedule, item->last) };

  for (guint i = 0; i < G_N_ELEMENTS (spans); i++)
    if (spans[i] != NULL && (i == 0 || spans[i] != spans[0]))
      g_string_append_printf (text,
                              "Steps %u to %u run concurrently, so what one of them needs is "
                              "kept for all of them.\n",
                              spans[i]->first, spans[i]->last);
}

/* The lives of blocks as they would be if steps ran one at a time. */
static IrMemBlock *
lives_in_order (const IrMemPlan *plan)
{
  const GArray *blocks = plan->details->blocks;
  IrMemBlock *lives = g_new0 (IrMemBlock, blocks->len + 1);

  for (guint i = 0; i < blocks->len; i++)
    lives[i].first = G_MAXUINT;
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      guint block = g_array_index (plan->details->block_of, guint, i);
      if (block == IR_SHARING_NONE)
        continue;
      lives[block].first = MIN (lives[block].first, item->first);
      lives[block].last = MAX (lives[block].last, item->last);
    }
  return lives;
}

/* What lives at some step of the block's life, and would have to go for it to lie at 0. */
static void
explain_conflicts (GString *text, const IrMemPlan *plan, const IrModel *model, guint block)
{
  const GArray *blocks = plan->details->blocks;
  const IrMemBlock *mine = &g_array_index (blocks, IrMemBlock, block);
  g_autofree IrMemBlock *lives = lives_in_order (plan);
  guint n_others = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      const IrMemBlock *other = &g_array_index (blocks, IrMemBlock, i);
      if (i == block || other->last < mine->first || other->first > mine->last)
        continue;
      n_others++;
      gboolean concurrent = lives[i].last < lives[block].first ||
                            lives[i].first > lives[block].last;
      g_string_append_printf (
          text, "  %s %s: steps %u to %u, bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT "%s\n",
          other->offset < mine->offset ? "below" : "above",
          name_of (model, ir_mem_plan_block_value (plan, i)), other->first, other->last,
          other->offset, other->offset + other->size,
          concurrent ? ", for its steps run concurrently with those of this value" : "");
    }
  g_string_append_printf (text, "%u other block%s at the same time%s\n", n_others,
                          n_others == 1 ? " lives" : "s live", n_others > 0 ? " (above)." : ".");
}

/* -- outside the arena -- */

/* In the order of what is true of a value first: a constant may be an output, too. */
static const char *
reason_outside (const IrValue *value, const IrMemItem *item)
{
  if (item->alias_of != 0)
    return "it shares the bytes of what lies there";
  if (ir_value_constant (value) == NULL && ir_value_is_graph_input (value) &&
      value->initializer != NULL)
    return "it is an input of the graph with contents in the model: the bytes are the model's, or "
           "the caller's where the caller gives it";
  if (ir_value_is_graph_input (value))
    return "it is an input of the graph: the bytes are the caller's, and only read";
  if (ir_value_constant (value) != NULL ||
      (value->producer != NULL && ir_node_is_constant (value->producer)))
    return "it is a constant: the bytes are the model's, and stay";
  if (ir_value_is_graph_output (value))
    return "it is an output of the graph: it is handed out, and the next run uses the arena again";
  if (value->type != NULL && !ir_type_is_tensor (value->type))
    return "it is no tensor, so it has no one range of bytes";
  if (value->type != NULL && item->size == 0 && ir_type_n_bytes (value->type, &(gsize){ 0 }))
    return "it is empty";
  if (item->size > IR_MEM_MAX_BYTES)
    return "no memory has room for it";
  return "its size is known only when the run comes to it, which then makes the bytes";
}

static void
explain_readers (GString *text, const IrMemPlan *plan, const IrModel *model, IrValueId value)
{
  g_autoptr (GArray) steps = ir_mem_plan_readers (plan, model, value);
  const guint *step = (const guint *) (const void *) steps->data;

  if (steps->len == 0)
    g_string_append (text, "No step reads it.\n");
  else if (steps->len == 1)
    g_string_append_printf (text, "Step %u reads it.\n", step[0]);
  else
    g_string_append_printf (text, "%u steps read it, the first %u and the last %u.\n", steps->len,
                            step[0], step[steps->len - 1]);
}

static void
explain_outside (GString *text, const IrMemPlan *plan, const IrModel *model, guint index)
{
  const IrMemItem *item = &g_array_index (plan->items, IrMemItem, index);
  const IrValue *value = ir_model_value (model, item->value);
  gboolean output = ir_value_is_graph_output (value);

  g_string_append_printf (text, "%s lies outside the arena: %s.\n", shown (model, value),
                          reason_outside (value, item));
  if (item->view_of != 0)
    g_string_append_printf (text, "It is what %s holds from byte %" G_GUINT64_FORMAT " on.\n",
                            name_of (model, item->view_of),
                            ir_mem_plan_distance (plan, item->view_of, item->value));
  if (item->alias_of != 0 && item->alias_of != item->view_of)
    g_string_append_printf (text, "It shares the bytes of %s.\n", name_of (model, item->alias_of));
  if (item->size > 0)
    g_string_append_printf (text, "It has %" G_GUINT64_FORMAT " bytes.\n", item->size);
  if (value->producer != NULL && ir_value_constant (value) == NULL &&
      !ir_node_is_constant (value->producer))
    g_string_append_printf (text, "Step %u makes it%s.\n", item->first,
                            output ? ", and it stays when the run has ended" : "");
  else if (output)
    g_string_append (text, "It is an output of the graph as well, handed out as it is.\n");
  explain_readers (text, plan, model, item->value);
}

/**
 * ir_mem_plan_explain:
 * @plan: a plan
 * @model: the model that it is of
 * @value: one of its values
 *
 * Says where @value lies and for how long, what it shares bytes with or why it does not, and which
 * blocks live at the same time, so that it cannot have their bytes; of what lies outside the arena,
 * whose bytes it has, and which steps make and read it.
 *
 * Returns: (transfer full): lines of text
 */
char *
ir_mem_plan_explain (const IrMemPlan *plan, const IrModel *model, IrValueId value)
{
  GString *text = g_string_new (NULL);
  guint index = 0;

  while (index < plan->items->len && g_array_index (plan->items, IrMemItem, index).value != value)
    index++;
  if (index == plan->items->len)
    {
      g_string_append (
          text, "This value is not in the plan, which is of the main graph; what bodies of loops "
                "and branches need is had when they run.\n");
      return g_string_free (text, FALSE);
    }
  const IrMemItem *item = &g_array_index (plan->items, IrMemItem, index);
  guint block = g_array_index (plan->details->block_of, guint, index);
  const char *name = name_of (model, value);
  if (block == IR_SHARING_NONE)
    explain_outside (text, plan, model, index);
  else
    {
      g_string_append_printf (
          text, "%s: bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ", steps %u to %u.\n", name,
          item->offset, item->offset + item->size, item->first, item->last);
      explain_spans (text, plan, item);
      explain_sharing (text, plan, model, item);
      explain_conflicts (text, plan, model, block);
      g_string_append_printf (text,
                              "Without reuse the arena would have %" G_GUINT64_FORMAT
                              " bytes; it has %" G_GUINT64_FORMAT ".\n",
                              plan->naive_bytes, plan->peak_bytes);
    }
  return g_string_free (text, FALSE);
}
