/* Lineage: many-to-many, both ways, across several steps. */
#include "config.h"

#include "core/ir/history.h"
#include "core/ir/lineage.h"
#include "core/ir/origin.h"

static IrNode *
add (IrEdit *edit, const char *op, guint n, IrValue **inputs)
{
  return ir_edit_add_node (edit, ir_edit_model (edit)->main, op, NULL, NULL, n, inputs, 1);
}

/* Replaces the chain that ends in @last, @n nodes, by one node; the rule states no lineage. */
static IrNode *
fuse (IrEdit *edit, const char *op, IrNode **nodes, guint n)
{
  IrNode *last = nodes[n - 1], *fused;

  ir_edit_begin_step (edit, op, IR_CLASS_EXACT, last->id);
  fused = add (edit, op, nodes[0]->n_inputs, nodes[0]->inputs);
  ir_edit_replace_uses (edit, last->outputs[0], fused->outputs[0]);
  for (guint i = n; i > 0; i--)
    ir_edit_remove_node (edit, nodes[i - 1]);
  ir_edit_end_step (edit);
  return fused;
}

typedef struct
{
  IrModel *model;
  IrNode *conv, *bias, *relu;  /* imported */
  IrNode *conv_bias, *all;     /* after steps 1 and 2 */
  IrValueId out, out_1, out_2; /* output of relu, of all; out_1: of conv_bias */
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  IrValue *x;

  f->model = ir_model_new ();
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (f->model);
    x = ir_edit_add_value (edit, f->model->main, "x", NULL);
    ir_edit_set_graph_inputs (edit, f->model->main, &x, 1);
    f->conv = add (edit, "Conv", 1, &x);
    f->bias = add (edit, "Add", 1, f->conv->outputs);
    f->relu = add (edit, "Relu", 1, f->bias->outputs);
    ir_edit_set_graph_outputs (edit, f->model->main, f->relu->outputs, 1);
  }
  {
    g_autoptr (IrEdit) edit = ir_edit_new (f->model);
    IrNode *first[] = { f->conv, f->bias }, *second[] = { NULL, f->relu };
    f->conv_bias = fuse (edit, "ConvBias", first, 2);
    second[0] = f->conv_bias;
    f->all = fuse (edit, "ConvBiasRelu", second, 2);
  }
  f->out = f->relu->outputs[0]->id;
  f->out_1 = f->conv_bias->outputs[0]->id;
  f->out_2 = f->all->outputs[0]->id;
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  ir_model_unref (f->model);
}

static void
assert_ids (GArray *found, guint n, const guint32 *wanted)
{
  g_autoptr (GArray) ids = found;
  g_assert_cmpmem (ids->data, ids->len * sizeof (guint32), wanted, n * sizeof (guint32));
}

static void
test_origins (Fixture *f, gconstpointer data)
{
  const guint32 all[] = { f->conv->id, f->bias->id, f->relu->id };

  assert_ids (ir_lineage_origins (f->model, f->all->id), 3, all);
  assert_ids (ir_lineage_origins (f->model, f->conv_bias->id), 2, all);
  assert_ids (ir_lineage_origins (f->model, f->conv->id), 1, all);
  /* A node that is not born at the cursor has its lineage all the same. */
  ir_history_goto (f->model, 0);
  assert_ids (ir_lineage_origins (f->model, f->all->id), 3, all);
}

static void
test_descendants (Fixture *f, gconstpointer data)
{
  const guint32 steps[] = { f->conv->id, f->conv_bias->id, f->all->id };

  for (guint i = 0; i < 3; i++)
    assert_ids (ir_lineage_descendants (f->model, f->conv->id, i), 1, &steps[i]);
  assert_ids (ir_lineage_descendants (f->model, f->relu->id, 1), 1, &f->relu->id);
  assert_ids (ir_lineage_descendants (f->model, f->relu->id, 2), 1, &f->all->id);
}

static void
test_steps (Fixture *f, gconstpointer data)
{
  const guint32 one[] = { 1 }, two[] = { 1, 2 }, last[] = { 2 };

  assert_ids (ir_lineage_steps (f->model, f->conv->id), 1, one);
  assert_ids (ir_lineage_steps (f->model, f->conv_bias->id), 2, two);
  assert_ids (ir_lineage_steps (f->model, f->all->id), 1, last);
}

static void
test_values (Fixture *f, gconstpointer data)
{
  g_assert_cmpuint (ir_lineage_original_value (f->model, f->out_2), ==, f->out);
  g_assert_cmpuint (ir_lineage_original_value (f->model, f->out_1), ==, f->bias->outputs[0]->id);
  g_assert_cmpuint (ir_lineage_original_value (f->model, f->out), ==, f->out);
  g_assert_cmpuint (ir_lineage_current_value (f->model, f->out, 0), ==, f->out);
  g_assert_cmpuint (ir_lineage_current_value (f->model, f->out, 1), ==, f->out);
  g_assert_cmpuint (ir_lineage_current_value (f->model, f->out, 2), ==, f->out_2);
  /* What lay inside of a fused kernel is gone. */
  g_assert_cmpuint (ir_lineage_current_value (f->model, f->bias->outputs[0]->id, 2), ==, 0);
  g_assert_cmpuint (ir_history_cursor (f->model), ==, 2);
}

#define ADD(name, func) g_test_add (name, Fixture, NULL, set_up, func, tear_down)

/* The copy to be saved says the same as the history, in names, and only of nodes that changed. */
static void
test_written (Fixture *f, gconstpointer data)
{
  const gint64 versions[] = { 8, 10 };

  for (guint v = 0; v < G_N_ELEMENTS (versions); v++)
    for (guint step = 0; step <= 2; step++)
      {
        const IrModelInfo *before = f->model->info;
        IrModelInfo info = *before;
        g_autoptr (IrModel) copy = NULL;
        g_autoptr (IrOrigins) origins = NULL;
        const IrNodeId born[] = { 0, f->conv_bias->id, f->all->id };
        const IrOrigin *origin;

        ir_history_goto (f->model, step);
        info.ir_version = versions[v];
        f->model->info = &info;
        copy = ir_model_with_origins (f->model);
        origins = ir_origins_read (copy);
        f->model->info = before;
        g_assert_true ((origins == NULL) == (step == 0));
        if (step == 0)
          continue;
        origin = ir_origins_of (origins, born[step]);
        g_assert_cmpuint (origin->nodes->len, ==, step + 1);
        g_assert_cmpstr (origin->nodes->pdata[0], ==,
                         ir_model_value (f->model, f->conv->outputs[0]->id)->name);
        g_assert_cmpuint (origin->rules->len, ==, step);
        g_assert_true (g_str_has_suffix (origin->rules->pdata[0], "/ConvBias"));
        g_assert_cmpuint (origin->values->len, ==, 1);
        if (step == 1)
          g_assert_null (ir_origins_of (origins, f->relu->id));
      }
}

/* Two nodes of one name that a file has stay so; a third, of a step, gets one of its own. */
static void
test_unique_names (Fixture *f, gconstpointer data)
{
  g_autoptr (IrModel) model = ir_model_new (), copy = NULL;
  IrNode *nodes[3];
  IrValue *x;

  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (model);
    x = ir_edit_add_value (edit, model->main, "x", NULL);
    for (guint i = 0; i < 2; i++)
      ir_edit_rename_node (edit, nodes[i] = add (edit, "Relu", 1, &x), "same");
  }
  {
    g_autoptr (IrEdit) edit = ir_edit_new (model);
    ir_edit_begin_step (edit, "twice", IR_CLASS_EXACT, nodes[0]->id);
    ir_edit_rename_node (edit, nodes[2] = add (edit, "Neg", 1, &x), "same");
    ir_edit_end_step (edit);
  }
  copy = ir_model_with_origins (model);
  g_assert_cmpstr (ir_model_node (copy, nodes[0]->id)->name, ==, "same");
  g_assert_cmpstr (ir_model_node (copy, nodes[1]->id)->name, ==, "same");
  g_assert_cmpstr (ir_model_node (copy, nodes[2]->id)->name, !=, "same");
  g_assert_cmpstr (nodes[2]->name, ==, "same");
}

/* At each step and for all nodes at once as for each alone, also where a step only names what a node came from. */
static void
test_last_steps (Fixture *f, gconstpointer data)
{
  {
    g_autoptr (IrEdit) edit = ir_edit_new (f->model);
    ir_edit_begin_step (edit, "beside", IR_CLASS_EXACT, 0);
    IrNode *beside = add (edit, "Neg", 1, f->all->outputs);
    ir_edit_step_map_node (edit, f->all->id, beside->id);
    ir_edit_end_step (edit);
    ir_edit_begin_step (edit, "into one that is there", IR_CLASS_EXACT, 0);
    add (edit, "Abs", 1, f->all->outputs);
    ir_edit_step_map_node (edit, f->all->id, beside->id);
    ir_edit_end_step (edit);
  }
  for (guint step = 0; step <= 4; step++)
    {
      g_autoptr (GArray) last = ir_lineage_last_steps (f->model, step);
      g_assert_cmpuint (last->len, ==, f->model->nodes->len);
      for (guint id = 1; id < last->len; id++)
        {
          g_autoptr (GArray) steps = ir_lineage_steps (f->model, id);
          guint wanted = 0;
          for (guint i = 0; i < steps->len; i++)
            if (g_array_index (steps, guint, i) <= step)
              wanted = g_array_index (steps, guint, i);
          g_assert_cmpuint (g_array_index (last, guint, id), ==, wanted);
        }
    }
  g_autoptr (GArray) last = ir_lineage_last_steps (f->model, 3);
  g_assert_cmpuint (g_array_index (last, guint, f->all->id), ==, 3);
}

#define CHAIN   6
#define N_STEPS 12

/* A chain of nodes, of which every step replaces some, each by another: as the ones before and behind say. */
static void
test_many_at_once (Fixture *f, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  g_autoptr (IrModel) model = ir_model_new ();
  IrNode *nodes[CHAIN];
  IrValueId at[N_STEPS + 1][CHAIN]; /* the output of each place behind each step */
  IrValue *x;

  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (model);
    x = ir_edit_add_value (edit, model->main, "x", NULL);
    ir_edit_set_graph_inputs (edit, model->main, &x, 1);
    for (guint i = 0; i < CHAIN; i++)
      nodes[i] = add (edit, "Relu", 1, i == 0 ? &x : nodes[i - 1]->outputs);
    ir_edit_set_graph_outputs (edit, model->main, nodes[CHAIN - 1]->outputs, 1);
  }
  for (guint step = 0; step <= N_STEPS; step++)
    {
      g_autoptr (IrEdit) edit = ir_edit_new (model);
      guint n_replaced = 0;
      if (step > 0)
        ir_edit_begin_step (edit, "some", IR_CLASS_EXACT, nodes[0]->id);
      for (guint i = 0; step > 0 && i < CHAIN; i++)
        if (n_replaced == 0 || g_rand_boolean (rand))
          {
            IrNode *other = add (edit, "Relu", 1, nodes[i]->inputs);
            ir_edit_replace_uses (edit, nodes[i]->outputs[0], other->outputs[0]);
            ir_edit_remove_node (edit, nodes[i]);
            nodes[i] = other;
            n_replaced++;
          }
      if (step > 0)
        ir_edit_end_step (edit);
      for (guint i = 0; i < CHAIN; i++)
        at[step][i] = nodes[i]->outputs[0]->id;
    }
  for (guint step = 0; step <= N_STEPS; step++)
    for (guint i = 0; i < CHAIN; i++)
      {
        g_assert_cmpuint (ir_lineage_original_value (model, at[step][i]), ==, at[0][i]);
        g_assert_cmpuint (ir_lineage_current_value (model, at[0][i], step), ==, at[step][i]);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/lineage/a fused node leads back to all it was made of", test_origins);
  ADD ("/lineage/a node leads forward to what does its work", test_descendants);
  ADD ("/lineage/steps that touched a node are found", test_steps);
  ADD ("/lineage/the last step of every node is that of each", test_last_steps);
  ADD ("/lineage/values stand for values", test_values);
  ADD ("/lineage/a model to be saved carries it in names", test_written);
  ADD ("/lineage/nodes that steps made are saved under names of their own", test_unique_names);
  ADD ("/lineage/values stand for values where a step replaces several", test_many_at_once);
  return g_test_run ();
}
