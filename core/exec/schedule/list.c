/* Placing tasks on workers: in a given order, or by list scheduling, where a worker that is free
 * takes the task that is ready and has the longest path behind it (Graham 1966, Hu 1961). Since no
 * worker is idle while a task is ready, list scheduling takes at most (2 - 1/workers) times the
 * shortest time. */
#include "config.h"

#include "core/exec/schedule/tasks.h"

/* -- a heap of numbers, the least key on top; among equal keys the least number -- */

typedef struct
{
  double key;
  guint number;
} Entry;

typedef struct
{
  Entry *entries;
  guint n;
} Heap;

static gboolean
entry_before (Entry a, Entry b)
{
  return a.key < b.key || (!(a.key > b.key) && a.number < b.number);
}

static void
heap_push (Heap *heap, double key, guint number)
{
  Entry entry = { key, number };
  guint at = heap->n++;

  for (; at > 0 && entry_before (entry, heap->entries[(at - 1) / 2]); at = (at - 1) / 2)
    heap->entries[at] = heap->entries[(at - 1) / 2];
  heap->entries[at] = entry;
}

static Entry
heap_pop (Heap *heap)
{
  Entry top = heap->entries[0], last = heap->entries[--heap->n];
  guint at = 0;

  for (guint child = 1; child < heap->n; at = child, child = 2 * at + 1)
    {
      if (child + 1 < heap->n && entry_before (heap->entries[child + 1], heap->entries[child]))
        child++;
      if (!entry_before (heap->entries[child], last))
        break;
      heap->entries[at] = heap->entries[child];
    }
  heap->entries[at] = last;
  return top;
}

/**
 * ir_tasks_place_in_order:
 * @tasks: tasks
 * @n_workers: at least 1
 * @places: (out) (array): where and when each runs
 *
 * Starts the tasks in the order of their numbers, each on the worker that is free first, none
 * before the one that stands before it has started.
 *
 * Cost: O(edges + n · log workers).
 */
void
ir_tasks_place_in_order (const IrTasks *tasks, guint n_workers, IrTaskPlace *places)
{
  guint n_used = CLAMP (n_workers, 1, MAX (tasks->n, 1));
  Heap free_workers = { g_new (Entry, n_used), 0 };
  double start_ms = 0;

  for (guint i = 0; i < n_used; i++)
    heap_push (&free_workers, 0, i);
  for (guint i = 0; i < tasks->n; i++)
    {
      Entry worker = heap_pop (&free_workers);
      start_ms = MAX (start_ms, worker.key);
      for (guint k = tasks->before_first[i]; k < tasks->before_first[i + 1]; k++)
        start_ms = MAX (start_ms, places[tasks->before[k]].end_ms);
      places[i] = (IrTaskPlace){ worker.number, 0, start_ms, start_ms + tasks->ms[i] };
      heap_push (&free_workers, places[i].end_ms, worker.number);
    }
  g_free (free_workers.entries);
}

/**
 * ir_tasks_place_by_list:
 * @tasks: tasks
 * @n_workers: at least 1
 * @places: (out) (array): where and when each runs
 *
 * List scheduling with the bottom level as priority, and among equals the lower number.
 *
 * Source: Graham 1966; Hu 1961. Cost: O(edges + n · (log n + log workers)).
 */
void
ir_tasks_place_by_list (const IrTasks *tasks, guint n_workers, IrTaskPlace *places)
{
  g_autofree double *levels = ir_tasks_bottom_levels (tasks);
  g_autofree guint *n_before = g_new (guint, (gsize) tasks->n + 1);
  Heap ready = { g_new (Entry, (gsize) tasks->n + 1), 0 };
  Heap running = { g_new (Entry, (gsize) tasks->n + 1), 0 };
  guint n_used = CLAMP (n_workers, 1, MAX (tasks->n, 1)); /* more would stay idle */
  Heap idle = { g_new (Entry, n_used), 0 };
  double now_ms = 0;

  for (guint i = 0; i < n_used; i++)
    heap_push (&idle, 0, i);
  for (guint i = 0; i < tasks->n; i++)
    {
      n_before[i] = tasks->before_first[i + 1] - tasks->before_first[i];
      if (n_before[i] == 0)
        heap_push (&ready, -levels[i], i);
    }
  while (ready.n > 0 || running.n > 0)
    {
      while (ready.n > 0 && idle.n > 0)
        {
          guint task = heap_pop (&ready).number;
          places[task] = (IrTaskPlace){ heap_pop (&idle).number, 0, now_ms,
                                        now_ms + tasks->ms[task] };
          heap_push (&running, places[task].end_ms, task);
        }
      /* All that end together are over before anything new begins. */
      now_ms = running.entries[0].key;
      while (running.n > 0 && !(running.entries[0].key > now_ms))
        {
          guint done = heap_pop (&running).number;
          heap_push (&idle, 0, places[done].worker);
          for (guint k = tasks->after_first[done]; k < tasks->after_first[done + 1]; k++)
            if (--n_before[tasks->after[k]] == 0)
              heap_push (&ready, -levels[tasks->after[k]], tasks->after[k]);
        }
    }
  g_free (ready.entries);
  g_free (running.entries);
  g_free (idle.entries);
}
