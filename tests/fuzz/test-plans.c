/* What is planned for random graphs of every family, on the reference kernels: order and workers by each policy, places of
 * all values and why, what is computed again under budgets. Kept in plans.txt (tests/table/snapshot.h). That plans are
 * right is tried by running them. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/memory/memory.h"
#include "core/exec/recompute/recompute.h"
#include "core/exec/schedule/schedule.h"
#include "core/exec/schedule/tasks.h"
#include "core/op/infer.h"
#include "tests/fuzz/graph-gen.h"
#include "tests/table/snapshot.h"

#define N_GRAPHS 8 /* of each family, whose sizes are all known */

static void
say_schedules (GString *text, IrModel *model)
{
  for (guint policy = 0; policy < IR_N_SCHEDULE_POLICIES; policy++)
    for (guint n_workers = 1; n_workers <= 3; n_workers++)
      {
        IrScheduleOptions options = { .policy = (IrSchedulePolicy) policy,
                                      .stages.n_workers = n_workers };
        g_autoptr (IrScheduleDetails) details = NULL;
        g_autoptr (GError) error = NULL;
        g_autoptr (IrSchedule)
            schedule = ir_schedule_new_with (model, &ir_backend_ref, &options, &details, &error);

        g_assert_no_error (error);
        g_string_append_printf (text, "%s on %u:", ir_schedule_policy_name (options.policy),
                                n_workers);
        for (guint i = 0; i < schedule->items->len; i++)
          {
            const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
            g_string_append_printf (text, " %u@%u", item->node, item->worker);
            for (guint k = 0; k < item->n_after; k++)
              g_string_append_printf (text, "%c%u", k == 0 ? '<' : ',', item->after[k]);
          }
        g_string_append_printf (text, "; %.4g of %.4g ms\n", schedule->makespan_ms,
                                schedule->work_ms);
      }
}

static void
say_memory (GString *text, IrModel *model, const IrSchedule *schedule)
{
  for (guint separate = 0; separate < 2; separate++)
    {
      IrMemOptions options = { .align_bytes = separate ? 1 : 64, .max_steps = 2000 };
      g_autoptr (IrMemPlan)
          plan = ir_mem_plan_new_full (model, schedule, separate ? IR_MEM_SEPARATE : 0, &options);

      g_string_append_printf (text, "peak %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT "\n",
                              plan->peak_bytes, plan->naive_bytes);
      for (guint id = 1; id < model->values->len; id++)
        if (ir_model_live_value (model, id) != NULL)
          {
            g_autofree char *why = ir_mem_plan_explain (plan, model, id);
            g_string_append_printf (text, "%s\n", why);
          }
    }
}

static void
say_budgets (GString *text, IrModel *model, const IrSchedule *schedule)
{
  IrMemOptions options = { .align_bytes = 64 };
  g_autoptr (IrRecomputeGraph) graph = ir_recompute_graph_new (model, schedule, 0, &options);
  guint64 peak = 0;

  for (guint percent = 100; graph != NULL && percent > 20; percent -= 20)
    {
      g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (
          &graph->problem, percent == 100 ? G_MAXUINT64 : peak * percent / 100, &options);

      g_assert_nonnull (plan);
      peak = plan->plain_peak_bytes;
      g_string_append_printf (
          text, "%u %%: %s, peak %" G_GUINT64_FORMAT ", floor %" G_GUINT64_FORMAT ":", percent,
          ir_recompute_method_name (plan->method), plan->peak_bytes, plan->floor_bytes);
      for (guint i = 0; i < plan->runs->len; i++)
        g_string_append_printf (text, " %u", g_array_index (plan->runs, guint, i));
      for (guint i = 0; i < plan->intervals->len; i++)
        g_string_append_printf (text, " +%" G_GUINT64_FORMAT,
                                g_array_index (plan->intervals, IrRecomputeInterval, i).offset);
      g_string_append_c (text, '\n');
    }
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  GString *text = g_string_new (NULL);

  *n_tried = *n_taken = 0;
  for (guint32 seed = 1; *n_taken < N_GRAPHS && seed < 20 * N_GRAPHS; seed++)
    {
      g_auto (Graph) graph = { 0 };
      g_autoptr (GError) error = NULL;

      graph_init (&graph, seed, data);
      ++*n_tried;
      if (graph_has_symbols (graph.model))
        continue;
      ++*n_taken;
      g_string_append_printf (text, "seed %u\n", seed);
      g_autoptr (IrSchedule) schedule = ir_schedule_new (graph.model, &ir_backend_ref, 1, &error);
      g_assert_no_error (error);
      say_schedules (text, graph.model);
      say_memory (text, graph.model, schedule);
      say_budgets (text, graph.model, schedule);
      ir_schedule_order_for_memory (schedule, graph.model);
      say_memory (text, graph.model, schedule);
    }
  return g_string_free (text, FALSE);
}

int
main (int argc, char **argv)
{
  guint n;
  const GraphFamily *families = graph_families (&n);

  for (guint i = 0; i < n; i++)
    snapshot_add (families[i].name, say, &families[i]);
  return snapshot_run (argc, argv, "plans.txt");
}
