/* The data set that inputs were taken from, and how the outputs of the last run compare with it. */
#include "config.h"

#include "views/session/data-set.h"

#include "core/exec/eval/data-set.h"
#include "core/exec/eval/given.h"
#include "core/exec/run/capture.h"
#include "views/session/inputs-private.h"
#include "views/session/runs.h"
#include "views/session/timeline-private.h"

typedef struct
{
  char *dir;      /* (nullable) */
  IrDataSet *set; /* (nullable) */
} DataSet;

static void
clear (gpointer state)
{
  DataSet *data = state;

  g_clear_pointer (&data->dir, g_free);
  g_clear_pointer (&data->set, ir_data_set_free);
}

IR_SESSION_NOUN (DataSet, NULL, clear)

void
ir_session_forget_data_set (IrSession *self)
{
  clear (own (self));
}

const char *
ir_session_get_data_set (IrSession *self)
{
  return own (self)->dir;
}

/**
 * ir_session_set_data_set:
 * @dir: (nullable): a folder with input_N.pb and output_N.pb
 * @error: return location for an error
 *
 * Gives the inputs what lies in @dir, from the next run on. Without @dir the inputs that the set
 * gave are random again.
 *
 * Returns: %FALSE if it cannot be read: all is as before
 */
gboolean
ir_session_set_data_set (IrSession *self, const char *dir, GError **error)
{
  IrDataSet *set = dir != NULL ? ir_data_set_load (ir_session_get_original (self), dir, error)
                               : NULL;
  g_autoptr (IrDataSet) before = NULL;
  GHashTableIter iter;
  gpointer id, path;

  if (dir != NULL && set == NULL)
    return FALSE;
  before = g_steal_pointer (&own (self)->set);
  clear (own (self));
  *own (self) = (DataSet){ g_strdup (dir), set };
  if (before != NULL)
    {
      g_hash_table_iter_init (&iter, before->inputs);
      while (g_hash_table_iter_next (&iter, &id, NULL))
        ir_session_set_input (self, GPOINTER_TO_UINT (id), NULL);
    }
  if (set != NULL)
    {
      g_hash_table_iter_init (&iter, set->files);
      while (g_hash_table_iter_next (&iter, &id, &path))
        ir_session_give_input (self, GPOINTER_TO_UINT (id), ir_given_name (IR_GIVEN_FILE), path,
                               NULL);
    }
  ir_session_changed (self, IR_CHANGED_INPUTS);
  return TRUE;
}

/* Whether @run had the inputs of @set. */
static gboolean
is_of_set (const IrDataSet *set, const IrRun *run)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, set->inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrTensor *given = g_hash_table_lookup (ir_run_inputs (run), id);

      if (given == NULL || !ir_tensor_equal (given, tensor))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_session_data_set_text:
 * @differs: (out): whether an output differs
 *
 * Returns: (transfer full) (nullable): how the outputs of the last run compare with the data set;
 *   %NULL: there is none, or it has not been run
 */
char *
ir_session_data_set_text (IrSession *self, gboolean *differs)
{
  const IrDataSet *set = own (self)->set;
  const IrRun *run = ir_session_get_run (self, IR_SIDE_AFTER);
  g_autofree char *name = own (self)->dir != NULL ? g_path_get_basename (own (self)->dir) : NULL;
  guint n = 0;

  *differs = FALSE;
  if (set == NULL || run == NULL || !is_of_set (set, run))
    return NULL;
  for (guint i = 0; i < ir_graph_n_outputs (run->model->main); i++)
    {
      const IrValue *output = ir_graph_output (run->model->main, i);
      g_autofree char *text = ir_data_set_difference (set, output, ir_run_value (run, output->id));

      *differs = text != NULL;
      if (text != NULL)
        return g_strdup_printf ("%s differs from %s: %s", output->name, name, text);
      n += g_hash_table_contains (set->wanted, output->name);
    }
  return n == 1 ? g_strdup_printf ("The output is as in %s", name)
                : g_strdup_printf ("%u outputs are as in %s", n, name);
}
