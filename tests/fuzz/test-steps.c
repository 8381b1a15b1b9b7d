/* What runs of random graphs of every family do on CPU kernels: the kernel, the chain, the memory and the forms of each step,
 * where each value lies and whether it is kept, what ran and what was left to the reference; in several ways to run them,
 * for one set of sizes and for another one. Kept in steps.txt (tests/table/snapshot.h). That results are right is tried by
 * fuzz-graphs, and that plans hold by IR_RUN_CHECK_PLAN. */
#include "config.h"

#include "core/exec/plan/plan.h"
#include "core/exec/run/run.h"
#include "tests/fuzz/graph-gen.h"
#include "tests/fuzz/isa.h"
#include "tests/table/snapshot.h"

#include <string.h>

#define N_GRAPHS 24 /* of each family */

typedef struct
{
  const char *name;
  IrRunOptions options;
  void (*change) (IrEdit *edit,
                  GRand *rand); /* (nullable) of the graph since the run whose values it may take */
} Way;

#define AGAIN .n_threads = 1, .parallel = IR_PARALLEL_OFF, .reuse_all = TRUE

/* One of all live nodes, those of bodies included */
static IrNode *
choose_node (IrModel *model, GRand *rand)
{
  IrNode *node;

  do
    node = model->nodes->pdata[g_rand_int_range (rand, 1, (gint) model->nodes->len)];
  while (node->state != IR_STATE_LIVE);
  return node;
}

static void
swap_inputs (IrEdit *edit, GRand *rand)
{
  IrNode *node = choose_node (ir_edit_model (edit), rand);
  IrValue *first = ir_node_input (node, 0), *second = ir_node_input (node, 1);

  if (second == NULL)
    return;
  ir_edit_set_input (edit, node, 0, second);
  ir_edit_set_input (edit, node, 1, first);
}

static void
drop_attribute (IrEdit *edit, GRand *rand)
{
  IrNode *node = choose_node (ir_edit_model (edit), rand);

  if (node->n_attrs > 0)
    ir_edit_unset_attr (edit, node, node->attrs[0]->name);
}

static void
clear_contents (IrEdit *edit, GRand *rand)
{
  IrValue *value = ir_node_input (choose_node (ir_edit_model (edit), rand), 1);

  if (value != NULL && value->initializer != NULL &&
      ir_tensor_dtype (value->initializer) != IR_DTYPE_STRING)
    {
      const IrTensor *old = value->initializer;
      g_autoptr (IrTensor) none = ir_tensor_new_alloc (ir_tensor_dtype (old), ir_tensor_rank (old),
                                                       ir_tensor_dims (old), NULL);
      memset (ir_tensor_data_writable (none), 0, ir_tensor_n_bytes (none));
      ir_edit_set_initializer (edit, value, none);
    }
}

static void
drop_output (IrEdit *edit, GRand *rand)
{
  IrGraph *main = ir_edit_model (edit)->main;
  guint n = ir_graph_n_outputs (main);
  g_autofree IrValue **outputs = g_new0 (IrValue *, n);

  for (guint i = 0; i < n; i++)
    outputs[i] = ir_graph_output (main, i);
  if (n > 1)
    ir_edit_set_graph_outputs (edit, main, outputs,
                               n - (guint) g_rand_int_range (rand, 1, (gint) n));
}

/* Of bodies that have several */
static void
swap_body_outputs (IrEdit *edit, GRand *rand)
{
  IrModel *model = ir_edit_model (edit);

  for (guint id = 1; id < model->graphs->len; id++)
    {
      IrGraph *graph = model->graphs->pdata[id];
      guint n = ir_graph_n_outputs (graph);
      g_autofree IrValue **outputs = g_new0 (IrValue *, n + 1);

      if (graph->state != IR_STATE_LIVE || graph->kind != IR_GRAPH_SUBGRAPH || n < 2)
        continue;
      for (guint i = 0; i < n; i++)
        outputs[i] = ir_graph_output (graph, n - 1 - i);
      ir_edit_set_graph_outputs (edit, graph, outputs, n);
    }
}

static const Way ways[] = {
  { "plain", { .n_threads = 1 } },
  { "all kept", { .n_threads = 1, .capture = IR_CAPTURE_ALL } },
  { "statistics", { .n_threads = 1, .capture = IR_CAPTURE_STATS } },
  { "in a file", { .n_threads = 1, .capture = IR_CAPTURE_ALL, .capture_budget = 600 } },
  { "in turns", { .n_threads = 1, .alternate = TRUE } },
  { "within half", { .n_threads = 1, .budget = "50%" } },
  { "with nothing", { .n_threads = 1, .without = IR_DECISION_ALL } },
  { "unshared", { .n_threads = 1, .without = IR_DECISION_SHARING } },
  { "deterministic", { .n_threads = 2, .deterministic = TRUE } },
  { "again", { AGAIN } },
  { "behind a swap", { AGAIN }, swap_inputs },
  { "behind an attribute", { AGAIN }, drop_attribute },
  { "behind other contents", { AGAIN }, clear_contents },
  { "behind fewer outputs", { AGAIN }, drop_output },
  { "behind other outputs of bodies", { AGAIN }, swap_body_outputs },
};

static GString *said; /* (nullable) where plans are described when they end */

void __real_ir_prepared_free (IrPrepared *prepared);
void __wrap_ir_prepared_free (IrPrepared *prepared); /* of the linker's --wrap */

static void
say_step (const IrRunStep *step)
{
  g_string_append_printf (
      said,
      "%u%s%s%s%s%s slab %u own %u kept %" G_GUINT64_FORMAT " placed %" G_GUINT64_FORMAT
      " given %" G_GUINT64_FORMAT " reach %" G_GUINT64_FORMAT
      " chain %u.%u of %u by %" G_GUINT64_FORMAT "%s:",
      step->node->id, step->bound ? " bound" : "", step->no_op ? " no-op" : "",
      step->constant ? " constant" : "", step->observed ? " observed" : "",
      step->there ? " there" : "", step->n_slab_values, step->n_owned, step->kept_bytes,
      step->placed_bytes, step->allocated_bytes, step->reach_bytes, step->chain, step->link,
      step->n_links, step->unit, step->streams ? " streaming" : "");
  for (guint i = 0; i < IR_CHAIN_OPERANDS; i++)
    g_string_append_printf (said, " %d<%u", step->forms[i], step->sources[i]);
  for (guint i = 0; step->outputs != NULL && i < step->node->n_outputs; i++)
    g_string_append (said, step->outputs[i] != NULL ? " +" : " -");
  g_string_append_c (said, '\n');
}

static void
say_value (const IrPrepared *prepared, guint id)
{
  const IrPlanValue *value = &prepared->values[id];

  g_string_append_printf (
      said,
      "value %u at %" G_GINT64_FORMAT " of %" G_GUINT64_FORMAT
      " keep %d%s%s in %u+%" G_GUINT64_FORMAT " chunk %u+%" G_GUINT64_FORMAT " read by %u%s%s\n",
      id, (gint64) value->place.offset, value->place.size, value->keep,
      value->spill ? " spilled" : "", value->constant ? " constant" : "", value->within.of,
      value->within.at, value->slab_place.chunk, value->slab_place.at, value->binding.n,
      value->binding.tensor != NULL ? " tensor" : "", value->other != NULL ? " other" : "");
}

static void
say_plan (const IrPrepared *prepared)
{
  guint n_steps = prepared->schedule->items->len;

  g_string_append_printf (said, "shapes %s\n", prepared->shapes);
  for (guint i = 0; prepared->steps != NULL && i < n_steps; i++)
    say_step (&prepared->steps[i]);
  for (guint id = 0; id < prepared->n_values; id++)
    say_value (prepared, id);
  for (guint i = 0; i < n_steps; i++)
    {
      const IrScheduleItem *item = &g_array_index (prepared->schedule->items, IrScheduleItem, i);
      g_string_append_printf (said, "%u by %s of %s %s %" G_GINT64_MODIFIER "x releases",
                              item->node, prepared->kernels->rows[item->node].name,
                              item->candidates, item->choice, item->overwrites);
      for (guint k = prepared->release_start[i]; k < prepared->release_start[i + 1]; k++)
        g_string_append_printf (said, " %u", prepared->release[k]);
      g_string_append_c (said, '\n');
    }
  for (guint i = 0; prepared->schedule->blocks != NULL && i < prepared->schedule->n_blocks; i++)
    g_string_append_printf (said, "%u,", prepared->schedule->blocks[i]);
  g_string_append_printf (
      said,
      "kept %" G_GUINT64_FORMAT " expected %" G_GUINT64_FORMAT " taken %" G_GUINT64_FORMAT
      " new %" G_GUINT64_FORMAT " peak %" G_GUINT64_FORMAT " views %u\n",
      prepared->kept_bytes, prepared->expected_bytes, prepared->taken_bytes, prepared->new_bytes,
      prepared->memplan->peak_bytes, prepared->views != NULL ? prepared->views->len : 0);
}

void
__wrap_ir_prepared_free (IrPrepared *prepared)
{
  if (prepared != NULL && said != NULL && prepared->values != NULL && prepared->schedule != NULL &&
      prepared->memplan != NULL)
    say_plan (prepared);
  __real_ir_prepared_free (prepared);
}

static void
say_run (const IrRun *run)
{
  g_string_append_printf (said,
                          "%u own, %u fallback, %u control, %u reused; peak %" G_GUINT64_FORMAT
                          ", arena %" G_GUINT64_FORMAT ", allocated %" G_GUINT64_FORMAT
                          "; held %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " by %u; %u kept\n",
                          run->n_own, run->n_fallback, run->n_control, run->n_reused,
                          run->trace->peak_bytes, run->trace->arena_bytes,
                          run->trace->allocated_bytes, run->held.budget_bytes,
                          run->held.plain_bytes, run->held.n_again, ir_run_n_kept (run));
  for (guint i = 0; i < run->trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, i);
      g_string_append_printf (said, "%u %s%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                              item->node, item->kernel, item->by_ref ? " by ref" : "", item->bytes,
                              item->flops);
    }
}

static IrRunOptions
options_of (const Way *way)
{
  IrRunOptions options = way->options;

  options.backend = ir_backend_find ("cpu");
  options.memory_limit = 256 << 20;
  options.output_limit = 32 << 20;
  return options;
}

/* (transfer full) (nullable): a run of the graph as it was, of which all is kept */
static IrRun *
run_before (const Way *way, IrModel *model, guint32 seed)
{
  IrRunOptions options = options_of (way);
  GString *outer = g_steal_pointer (&said); /* nobody asks for that plan */
  g_autoptr (GHashTable) inputs = graph_inputs (model, seed, 0);

  options.capture = IR_CAPTURE_ALL;
  IrRun *run = ir_model_run (model, inputs, &options, NULL, NULL);
  said = outer;
  return run;
}

/* (transfer full): a copy, with the change of the way */
static IrModel *
changed (const Way *way, IrModel *model, guint32 seed)
{
  IrModel *copy = ir_model_clone (model);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  IrEdit *edit = ir_edit_new_import (copy);

  if (way->change != NULL)
    way->change (edit, rand);
  ir_edit_free (edit);
  return copy;
}

/* Three runs: of the same sizes twice, and of others. */
static void
say_way (const Way *way, IrModel *of, guint32 seed)
{
  IrRunOptions options = options_of (way);
  g_autoptr (IrModel) model = changed (way, of, seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) before = options.reuse_all ? run_before (way, of, seed) : NULL;

  options.before = before;
  g_string_append_printf (said, "-- %s\n", way->name);
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  for (guint i = 0; executable != NULL && error == NULL && i < 3; i++)
    {
      g_autoptr (GHashTable)
          inputs = graph_inputs (model, seed, i == 2 && graph_has_symbols (model));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      if (run != NULL)
        say_run (run);
    }
  if (error != NULL)
    g_string_append_printf (said, "%s\n", error->message);
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  g_autoptr (GString) text = g_string_new (NULL);

  said = text;
  *n_tried = *n_taken = N_GRAPHS;
  for (guint32 seed = 1; seed <= N_GRAPHS; seed++)
    {
      g_auto (Graph) graph = { 0 };

      said = NULL; /* what makes a graph runs its nodes */
      graph_init (&graph, seed, data);
      said = text;
      g_string_append_printf (text, "seed %u\n", seed);
      for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
        say_way (&ways[i], graph.model, seed);
    }
  said = NULL;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

int
main (int argc, char **argv)
{
  guint n;
  const GraphFamily *families = graph_families (&n);

  if (!isa_limit ())
    return 0;
  for (guint i = 0; i < n; i++)
    snapshot_add (families[i].name, say, &families[i]);
  return snapshot_run (argc, argv, "steps.txt");
}
