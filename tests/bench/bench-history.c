/* How long a jump in a long history takes: a graph of 50,000 nodes, 100,000 steps of about 8
 * records each, 1,000 jumps between random steps. Prints quantiles in milliseconds and the memory
 * of the log. Not a test: no time is asserted. */
#include "config.h"

#include "core/ir/history.h"

#include <stdlib.h>
#include <time.h>

static guint
argument (int argc, char **argv, int index, guint fallback)
{
  return argc > index ? (guint) g_ascii_strtoull (argv[index], NULL, 10) : fallback;
}

/* Layers of eight nodes, each reading two of the layer before. */
static void
build_graph (IrModel *model, guint n_nodes)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  const IrDim dims[] = { 1, 64, 56, 56 };
  const IrType *type = ir_type_tensor (model->context, IR_DTYPE_FLOAT, 4, dims);
  IrValue *layer[8], *next[8];

  for (guint i = 0; i < 8; i++)
    layer[i] = ir_edit_add_value (edit, model->main, NULL, type);
  ir_edit_set_graph_inputs (edit, model->main, layer, 8);
  for (guint i = 0; i < n_nodes; i++)
    {
      IrValue *inputs[2] = { layer[i % 8], layer[(i * 3 + 1) % 8] };
      IrNode *node = ir_edit_add_node (edit, model->main, "Add", NULL, NULL, 2, inputs, 1);

      ir_edit_set_type (edit, node->outputs[0], type);
      next[i % 8] = node->outputs[0];
      if (i % 8 == 7)
        for (guint k = 0; k < 8; k++)
          layer[k] = next[k];
    }
  ir_edit_set_graph_outputs (edit, model->main, layer, 8);
}

static IrNode *
random_node (GRand *random, IrModel *model)
{
  IrNode *node = NULL;

  while (node == NULL)
    node = ir_model_live_node (model,
                               (guint) g_rand_int_range (random, 1, (gint) model->nodes->len));
  return node;
}

/* Replaces a node by a new one, as a fusion does. */
static void
replace_node (IrEdit *edit, IrModel *model, IrNode *old, GRand *random)
{
  IrNode *node = ir_edit_add_node (edit, model->main, "Mul", NULL, NULL, old->n_inputs, old->inputs,
                                   1);
  gint64 number = g_rand_int (random);

  ir_edit_set_type (edit, node->outputs[0], old->outputs[0]->type);
  ir_edit_set_attr (edit, node, ir_attr_int (model->context, "axis", number));
  ir_edit_set_attr (edit, node, ir_attr_int (model->context, "group", 1));
  ir_edit_set_device (edit, node, "cpu");
  ir_edit_replace_uses (edit, old->outputs[0], node->outputs[0]);
  ir_edit_remove_node (edit, old);
}

/* Rewires and annotates one in place. */
static void
change_node (IrEdit *edit, IrModel *model, IrNode *node, GRand *random)
{
  g_autofree char *name = g_strdup_printf ("n%u", g_rand_int (random));

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->n_inputs == 2)
      ir_edit_set_input (edit, node, i, node->inputs[1 - i]);
  ir_edit_rename_node (edit, node, name);
  ir_edit_set_scope (edit, node, name);
  ir_edit_set_device (edit, node, name);
  ir_edit_rename_value (edit, node->outputs[0], name);
  ir_edit_set_attr (edit, node, ir_attr_int (model->context, "axis", g_rand_int (random)));
  ir_edit_set_rank (edit, node, g_rand_int (random));
  ir_edit_set_type (edit, node->outputs[0], NULL);
  ir_edit_set_flags (edit, node->outputs[0], node->outputs[0]->flags ^ IR_VALUE_DECLARED);
}

static void
record_steps (IrModel *model, guint n_steps, GRand *random)
{
  g_autoptr (IrEdit) edit = ir_edit_new (model);

  ir_edit_begin_pass (edit, "bench");
  for (guint i = 0; i < n_steps; i++)
    {
      IrNode *node = random_node (random, model);

      ir_edit_begin_step (edit, "rule", IR_CLASS_EXACT, node->id);
      if (i % 2 == 0)
        replace_node (edit, model, node, random);
      else
        change_node (edit, model, node, random);
      ir_edit_end_step (edit);
    }
  ir_edit_end_pass (edit);
}

static int
compare (const void *a, const void *b)
{
  double da = *(const double *) a, db = *(const double *) b;
  return (da > db) - (da < db);
}

static void
print_quantiles (const char *label, double *ms, guint n)
{
  qsort (ms, n, sizeof (double), compare);
  g_print ("%s median %.2f p90 %.2f p99 %.2f max %.2f\n", label, ms[n / 2], ms[n * 9 / 10],
           ms[n * 99 / 100], ms[n - 1]);
}

static double
cpu_ms (void)
{
  struct timespec now;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* Time on the clock, and of the processor: on a busy machine only the second one says much. */
static void
jump (IrModel *model, guint n_jumps, GRand *random)
{
  g_autofree double *ms = g_new (double, n_jumps);
  g_autofree double *cpu = g_new (double, n_jumps);
  guint n_steps = ir_history_n_steps (model);

  for (guint i = 0; i < n_jumps; i++)
    {
      guint step = (guint) g_rand_int_range (random, 0, (gint) n_steps + 1);
      gint64 start = g_get_monotonic_time ();
      double cpu_start = cpu_ms ();

      ir_history_goto (model, step);
      cpu[i] = cpu_ms () - cpu_start;
      ms[i] = (double) (g_get_monotonic_time () - start) / 1000;
    }
  print_quantiles ("jump_ms", ms, n_jumps);
  print_quantiles ("jump_cpu_ms", cpu, n_jumps);
}

int
main (int argc, char **argv)
{
  guint n_nodes = argument (argc, argv, 1, 50000), n_steps = argument (argc, argv, 2, 100000);
  guint n_jumps = argument (argc, argv, 3, 1000);
  g_autoptr (IrModel) model = ir_model_new ();
  GRand *random = g_rand_new_with_seed (1);
  gint64 start = g_get_monotonic_time ();
  gsize n_records;
  const IrStep *last;

  build_graph (model, n_nodes);
  g_print ("build_ms %.1f\n", (double) (g_get_monotonic_time () - start) / 1000);
  start = g_get_monotonic_time ();
  record_steps (model, n_steps, random);
  last = ir_history_step (model, n_steps);
  n_records = last->first_record + last->n_records;
  g_print ("record_ms %.1f steps %u records %" G_GSIZE_FORMAT " per_step %.2f\n",
           (double) (g_get_monotonic_time () - start) / 1000, n_steps, n_records,
           (double) n_records / n_steps);
  jump (model, n_jumps, random);
  jump (model, n_jumps, random);
  jump (model, n_jumps, random);
  g_print ("history_bytes %" G_GSIZE_FORMAT " (%.1f MB)\n", ir_history_bytes (model),
           (double) ir_history_bytes (model) / (1 << 20));
  g_rand_free (random);
  return 0;
}
