/* Tasks that wait for each other, and how good a placement of them is: no schedule is shorter than
 * the longest path through the tasks, nor than all of their work shared by all workers. */
#include "config.h"

#include "core/exec/schedule/tasks.h"

#include <stdlib.h>

static int
compare_edges (gconstpointer a, gconstpointer b)
{
  const IrTaskEdge *x = a, *y = b;

  if (x->to != y->to)
    return x->to < y->to ? -1 : 1;
  return x->from < y->from ? -1 : x->from > y->from;
}

/**
 * ir_tasks_new:
 * @n: number of tasks
 * @ms: (array length=n): how long each takes, in ms; what is negative or not finite counts as 0
 * @edges: (array length=n_edges) (nullable): which task waits for which, in any order; edges that
 * do not lead from a task to one of a higher number are left out, and of equal ones all but one
 * @n_edges: number of edges
 *
 * The numbers of tasks are an order in which they could run.
 *
 * Cost: O(n + edges · log edges).
 *
 * Returns: (transfer full): tasks without kin
 */
IrTasks *
ir_tasks_new (guint n, const double *ms, const IrTaskEdge *edges, guint n_edges)
{
  IrTasks *tasks = g_new0 (IrTasks, 1);
  g_autofree IrTaskEdge *sorted = g_new (IrTaskEdge, (gsize) n_edges + 1);
  guint n_kept = 0;

  tasks->n = n;
  tasks->ms = g_new (double, (gsize) n + 1);
  tasks->kin = g_new0 (guint, (gsize) n + 1);
  for (guint i = 0; i < n; i++)
    tasks->ms[i] = ms[i] > 0 && ms[i] <= G_MAXDOUBLE ? ms[i] : 0;
  for (guint i = 0; i < n_edges; i++)
    if (edges[i].from < edges[i].to && edges[i].to < n)
      sorted[n_kept++] = edges[i];
  if (n_kept > 0)
    qsort (sorted, n_kept, sizeof *sorted, compare_edges);
  n_edges = 0;
  for (guint i = 0; i < n_kept; i++)
    if (i == 0 || compare_edges (&sorted[i - 1], &sorted[i]) != 0)
      sorted[n_edges++] = sorted[i];
  tasks->before_first = g_new0 (guint, (gsize) n + 1);
  tasks->after_first = g_new0 (guint, (gsize) n + 1);
  tasks->before = g_new (guint, (gsize) n_edges + 1);
  tasks->after = g_new (guint, (gsize) n_edges + 1);
  for (guint i = 0; i < n_edges; i++)
    {
      tasks->before_first[sorted[i].to + 1]++;
      tasks->after_first[sorted[i].from + 1]++;
      tasks->before[i] = sorted[i].from;
    }
  for (guint i = 0; i < n; i++)
    {
      tasks->before_first[i + 1] += tasks->before_first[i];
      tasks->after_first[i + 1] += tasks->after_first[i];
    }
  g_autofree guint *fill = g_memdup2 (tasks->after_first, sizeof *fill * ((gsize) n + 1));
  for (guint i = 0; i < n_edges; i++)
    tasks->after[fill[sorted[i].from]++] = sorted[i].to;
  return tasks;
}

/**
 * ir_tasks_free:
 * @tasks: (transfer full) (nullable): tasks
 */
void
ir_tasks_free (IrTasks *tasks)
{
  if (tasks == NULL)
    return;
  g_free (tasks->ms);
  g_free (tasks->before_first);
  g_free (tasks->before);
  g_free (tasks->after_first);
  g_free (tasks->after);
  g_free (tasks->kin);
  g_free (tasks->wide_ms);
  g_free (tasks);
}

/* How long @task takes at least. */
static double
shortest (const IrTasks *tasks, guint task)
{
  return tasks->wide_ms != NULL ? MIN (tasks->ms[task], tasks->wide_ms[task]) : tasks->ms[task];
}

/**
 * ir_tasks_bottom_levels:
 * @tasks: tasks
 *
 * The bottom level of a task is the longest path from its start to the end of all.
 *
 * Returns: (transfer full) (array): ms by task
 */
double *
ir_tasks_bottom_levels (const IrTasks *tasks)
{
  double *levels = g_new0 (double, (gsize) tasks->n + 1);

  for (guint i = tasks->n; i-- > 0;)
    {
      for (guint k = tasks->after_first[i]; k < tasks->after_first[i + 1]; k++)
        levels[i] = MAX (levels[i], levels[tasks->after[k]]);
      levels[i] += shortest (tasks, i);
    }
  return levels;
}

typedef struct
{
  double ms;
  int change; /* of the number of tasks that run */
} Change;

static int
compare_changes (gconstpointer a, gconstpointer b)
{
  const Change *x = a, *y = b;

  return x->ms < y->ms ? -1 : x->ms > y->ms;
}

/* Tasks that take no time run at no time. */
static void
find_widths (IrScheduleReport *report, const IrTaskPlace *places, guint n)
{
  g_autofree Change *changes = g_new (Change, 2 * (gsize) n + 1);
  guint n_changes = 0, n_running = 0;

  for (guint i = 0; i < n; i++)
    if (places[i].end_ms > places[i].start_ms)
      {
        changes[n_changes++] = (Change){ places[i].start_ms, 1 };
        changes[n_changes++] = (Change){ places[i].end_ms, -1 };
      }
  if (n_changes > 0)
    qsort (changes, n_changes, sizeof *changes, compare_changes);
  for (guint i = 0; i < n_changes;)
    {
      IrWidth width = { .from_ms = changes[i].ms };
      guint before = n_running;
      for (; i < n_changes && !(changes[i].ms > width.from_ms); i++)
        n_running = (guint) ((int) n_running + changes[i].change);
      width.n = n_running;
      report->max_width = MAX (report->max_width, n_running);
      if (n_running != before)
        g_array_append_val (report->widths, width);
    }
}

/**
 * ir_tasks_report:
 * @tasks: tasks
 * @n_workers: workers that they were placed on, at least 1
 * @places: (array): where and when each runs
 *
 * Compares a placement with what no placement can undercut. One that runs several tasks as one
 * kernel can: the bounds are those of separate kernels. Where tasks can have the threads of all
 * workers, the bounds take the shorter time, and the work that is less.
 *
 * Returns: (transfer full): the report
 */
IrScheduleReport *
ir_tasks_report (const IrTasks *tasks, guint n_workers, const IrTaskPlace *places)
{
  IrScheduleReport *report = g_new0 (IrScheduleReport, 1);
  g_autofree double *levels = ir_tasks_bottom_levels (tasks);
  double busy_ms = 0;

  n_workers = MAX (n_workers, 1);
  report->widths = g_array_new (FALSE, FALSE, sizeof (IrWidth));
  for (guint i = 0; i < tasks->n; i++)
    {
      report->critical_path_ms = MAX (report->critical_path_ms, levels[i]);
      report->makespan_ms = MAX (report->makespan_ms, places[i].end_ms);
      double busy = places[i].end_ms - places[i].start_ms, work = tasks->ms[i];
      if (tasks->wide_ms != NULL)
        work = MIN (work, n_workers * tasks->wide_ms[i]);
      report->work_ms += work;
      busy_ms += places[i].wide ? n_workers * busy : busy;
    }
  report->bound_ms = MAX (report->critical_path_ms, report->work_ms / n_workers);
  if (report->makespan_ms > 0)
    report->utilization = MIN (busy_ms / (report->makespan_ms * n_workers), 1);
  if (report->critical_path_ms > 0)
    report->parallelism = report->work_ms / report->critical_path_ms;
  find_widths (report, places, tasks->n);
  return report;
}

/**
 * ir_schedule_report_free:
 * @report: (transfer full) (nullable): a report
 */
void
ir_schedule_report_free (IrScheduleReport *report)
{
  if (report == NULL)
    return;
  g_array_unref (report->widths);
  g_free (report);
}
