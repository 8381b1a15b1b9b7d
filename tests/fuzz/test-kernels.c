/* What the CPU kernels say of applications of each operator, and take of them when they run: of every recipe
 * (tests/table), with numbers of its inputs far too small or too large as well, and of random ones. Kept in kernels.txt
 * (tests/table/snapshot.h). That what they give is right is tried by fuzz-ops. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/run/run.h"
#include "core/op/infer.h"
#include "tests/fuzz/isa.h"
#include "tests/fuzz/op-trial.h"
#include "tests/table/recipes.h"
#include "tests/table/snapshot.h"

#include <math.h>
#include <string.h>

#define DRAWS 60 /* of each size */

static const guint sizes[] = { 4, 9 };

static void
say_terms (GString *text, const IrNode *node)
{
  const IrBackend *cpu = &ir_backend_cpu;
  IrOutputTerms out = cpu->output_terms (node);
  const IrType *type = node->outputs[0] != NULL ? node->outputs[0]->type : NULL;
  guint most = type != NULL && type->rank == 4 && ir_type_is_static (type); /* what blocks are of */

  g_string_append_printf (text, "%s; %s; %s; gives %u%s%s:", cpu->kernel_name (node),
                          cpu->candidates (node), cpu->explain_choice (node), out.gives,
                          out.tiled ? " tiled" : "", cpu->shares_state (node) ? " shared" : "");
  for (guint blocks = 0; blocks <= most; blocks++)
    for (guint i = 0; i < node->n_inputs; i++)
      if (node->inputs[i] != NULL)
        {
          IrInputTerms in = cpu->input_terms (node, i, blocks);
          g_string_append_printf (text, " %u%s%s%s", in.layouts, in.any_address ? "a" : "",
                                  in.overwritten ? "o" : "", in.there ? "t" : "");
        }
}

static void
say_run (GString *text, const Trial *trial)
{
  IrRunOptions options = { .backend = &ir_backend_cpu, .n_threads = 1, .output_limit = 1 << 20 };
  g_autoptr (GHashTable) inputs = g_hash_table_new (NULL, NULL);
  g_autoptr (GError) error = NULL;
  const IrNode *node = trial->node;

  for (guint i = 0; i < trial->n && i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && node->inputs[i]->initializer == NULL)
      g_hash_table_insert (inputs, GUINT_TO_POINTER (node->inputs[i]->id), trial->tensors[i]);
  g_autoptr (IrRun) run = ir_model_run (trial->model, inputs, &options, NULL, &error);
  if (run == NULL)
    g_string_append_printf (text, " fails: %s", error->message);
  for (guint i = 0; run != NULL && i < run->trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, i);
      g_string_append_printf (text, " %s%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, item->kernel,
                              item->by_ref ? " by ref" : "", item->bytes, item->flops);
    }
}

static void
say_application (GString *text, Trial *trial)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  const IrNode *node = trial->node;
  const char *why;

  ir_edit_set_graph_outputs (trial->edit, trial->model->main, node->outputs, node->n_outputs);
  ir_infer_model (trial->edit, IR_INFER_DEFAULT, problems);
  why = ir_backend_cpu.refuses (node);
  if (why != NULL)
    {
      g_string_append_printf (text, "refused: %s\n", why);
      return;
    }
  if (problems->len == 0) /* nobody asks about what does not fit */
    say_terms (text, node);
  say_run (text, trial);
  g_string_append_c (text, '\n');
}

static guint
say_recipe (GString *text, const IrOp *op, const Recipe *recipe)
{
  guint n = 1, n_said = 0;

  for (guint change = 0; change < 1 + 2 * n; change++)
    {
      g_auto (Trial) trial = { 0 };
      trial_init_as (&trial, op, 1, recipe->inputs, recipe->attrs);
      n = trial.n;
      if (change > 0 && !trial_break_input (&trial, (change - 1) / 2, change % 2 == 0))
        continue;
      say_application (text, &trial);
      n_said++;
    }
  return n_said;
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  GString *text = g_string_new (NULL);
  const IrOp *op = data;

  *n_tried = 0;
  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    if (strcmp (recipes[i].op, op->name) == 0 && trial_attrs_exist (op, recipes[i].attrs))
      *n_tried += say_recipe (text, op, &recipes[i]);
  for (guint size = 0; size < G_N_ELEMENTS (sizes); size++)
    for (guint32 seed = 0; seed < DRAWS; seed++)
      {
        g_auto (Trial) trial = { 0 };
        trial_init (&trial, op, seed, sizes[size]);
        say_application (text, &trial);
        ++*n_tried;
      }
  *n_taken = *n_tried;
  for (const char *at = text->str; (at = strstr (at, "refused: ")) != NULL; at++)
    --*n_taken;
  return g_string_free (text, FALSE);
}

int
main (int argc, char **argv)
{
  if (!isa_limit ())
    return 0;
  for (guint i = 1; i < ir_op_n (); i++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) i);
      if (op->start != NULL || (op->flags & IR_OP_RANDOM) != 0 || op->tokens != IR_TOKENS_STRICT)
        continue;
      g_autofree char *name = op->domain != NULL && *op->domain != '\0'
                                  ? g_strdup_printf ("%s.%s", op->domain, op->name)
                                  : g_strdup (op->name);
      snapshot_add (name, say, op);
    }
  return snapshot_run (argc, argv, "kernels.txt");
}
