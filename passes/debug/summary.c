/* One walk over the steps: linear in them. */
#include "config.h"

#include "passes/debug/summary.h"

#include <string.h>

static void
free_group (gpointer data)
{
  g_array_unref (((IrStepGroup *) data)->steps);
  g_free (data);
}

static void
free_pass (gpointer data)
{
  IrPassSummary *pass = data;

  g_array_unref (pass->unproved);
  g_ptr_array_unref (pass->groups);
  g_free (pass);
}

/**
 * ir_step_summary_free:
 * @summary: (transfer full): a summary
 */
void
ir_step_summary_free (IrStepSummary *summary)
{
  g_ptr_array_unref (summary->passes);
  g_ptr_array_unref (summary->idle);
  g_free (summary);
}

/* -- one pass -- */

static gboolean
is_edit (const IrPassRun *run)
{
  return strcmp (run->pass, "edit") == 0;
}

static IrPassSummary *
pass_new (const IrPassRun *run, guint index)
{
  IrPassSummary *pass = g_new0 (IrPassSummary, 1);

  pass->pass = run->pass;
  pass->first_run = index;
  pass->first_step = run->first_step;
  pass->unproved = g_array_new (FALSE, FALSE, sizeof (IrUnproved));
  pass->groups = g_ptr_array_new_with_free_func (free_group);
  return pass;
}

/* Edits that follow each other stand together. */
static gboolean
goes_on (const IrPassSummary *last, const IrPassRun *run)
{
  return last != NULL && is_edit (run) && strcmp (last->pass, "edit") == 0 &&
         last->first_step + last->n_steps == run->first_step;
}

static void
add_verdict (IrPassSummary *pass, const IrStep *step)
{
  const IrProof *proof = &step->proof;
  IrUnproved unproved = { proof->verdict, proof->text, 1, step->index };

  pass->n_verdicts[proof->verdict]++;
  if (proof->verdict != IR_VERDICT_NONE && proof->verdict != IR_VERDICT_SKIPPED)
    return;
  for (guint i = 0; i < pass->unproved->len; i++)
    {
      IrUnproved *known = &g_array_index (pass->unproved, IrUnproved, i);

      if (known->verdict != proof->verdict || g_strcmp0 (known->reason, proof->text) != 0)
        continue;
      known->n++;
      return;
    }
  g_array_append_val (pass->unproved, unproved);
}

/* @index: rule and operator, both interned -> IrStepGroup */
static void
add_to_group (IrPassSummary *pass, GHashTable *index, const IrModel *history, const IrStep *step)
{
  const IrNode *anchor = step->anchor != 0 ? ir_model_node (history, step->anchor) : NULL;
  const char *op = anchor != NULL ? anchor->op_type : NULL;
  g_autofree char *key = g_strdup_printf ("%s\n%s", step->rule, op != NULL ? op : "");
  IrStepGroup *group = g_hash_table_lookup (index, key);

  if (group == NULL)
    {
      group = g_new (IrStepGroup, 1);
      *group = (IrStepGroup){ step->rule, op, g_array_new (FALSE, FALSE, sizeof (guint)) };
      g_ptr_array_add (pass->groups, group);
      g_hash_table_insert (index, g_steal_pointer (&key), group);
    }
  g_array_append_val (group->steps, step->index);
}

static void
add_cost (IrPassSummary *pass, const IrStep *step)
{
  const IrCost *a = &step->cost_before, *b = &step->cost_after;

  pass->nodes += (gint64) b->n_nodes - a->n_nodes;
  pass->flops += (gint64) (b->flops - a->flops);
  pass->bytes += (gint64) (b->bytes - a->bytes);
  pass->params += (gint64) (b->params - a->params);
}

/* -- all of them -- */

static void
add_idle (IrStepSummary *summary, const char *pass)
{
  for (guint i = 0; i < summary->idle->len; i++)
    if (strcmp (summary->idle->pdata[i], pass) == 0)
      return;
  g_ptr_array_add (summary->idle, (gpointer) pass);
}

/* A pass that did something in one round is none that did nothing. */
static void
drop_busy (IrStepSummary *summary, const IrModel *history)
{
  for (guint i = 0; i < ir_history_n_pass_runs (history); i++)
    {
      const IrPassRun *run = ir_history_pass_run (history, i);

      for (guint k = summary->idle->len; run->n_steps > 0 && k > 0; k--)
        if (strcmp (summary->idle->pdata[k - 1], run->pass) == 0)
          g_ptr_array_remove_index (summary->idle, k - 1);
    }
}

/**
 * ir_step_summary_new:
 * @history: a model with a history
 * @wanted: (nullable): which steps are counted; %NULL: all
 * @data: for @wanted
 *
 * Returns: (transfer full): what the passes did, in the order in which they ran
 */
IrStepSummary *
ir_step_summary_new (const IrModel *history, IrStepWanted wanted, gpointer data)
{
  IrStepSummary *summary = g_new0 (IrStepSummary, 1);
  g_autoptr (GHashTable) index = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  IrPassSummary *pass = NULL;

  summary->passes = g_ptr_array_new_with_free_func (free_pass);
  summary->idle = g_ptr_array_new ();
  for (guint i = 0; i < ir_history_n_pass_runs (history); i++)
    {
      const IrPassRun *run = ir_history_pass_run (history, i);

      if (run->n_steps == 0)
        {
          add_idle (summary, run->pass);
          continue;
        }
      if (!goes_on (pass, run))
        {
          pass = pass_new (run, i);
          g_ptr_array_add (summary->passes, pass);
          g_hash_table_remove_all (index);
        }
      pass->last_run = i;
      pass->n_steps += run->n_steps;
      pass->duration_ns += run->duration_ns;
      for (guint k = 0; k < run->n_steps; k++)
        {
          const IrStep *step = ir_history_step (history, run->first_step + k);

          if (wanted != NULL && !wanted (history, step->index, data))
            continue;
          pass->n_wanted++;
          add_cost (pass, step);
          add_verdict (pass, step);
          add_to_group (pass, index, history, step);
        }
    }
  drop_busy (summary, history);
  for (guint i = summary->passes->len; i > 0; i--)
    {
      const IrPassSummary *done = summary->passes->pdata[i - 1];

      summary->n_wanted += done->n_wanted;
      if (done->n_wanted == 0)
        g_ptr_array_remove_index (summary->passes, i - 1);
    }
  return summary;
}
