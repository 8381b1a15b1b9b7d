/* Streams of a device that runs what is in one stream in order and different streams beside each
 * other:
 *
 *       a          stream 0: a b d       b waits for a by order, c by an event; d waits for b by
 *      / \         stream 1: c           order, for c by an event. Two events, and two is the least
 *     b   c                              that lets b and c run at once.
 *      \ /
 *       d
 *
 * Edges that follow from others need no care, so they are left out first (transitive reduction). A
 * task can have one successor of what remains in its own stream, and one predecessor: a matching.
 * The largest leaves the fewest edges that need an event, and no two tasks that could run at once
 * share a stream, as each stream is a path.
 *
 * Source: Kwon and others, Nimble, NeurIPS 2020 (stream assignment); Chen and others, Opara, 2023.
 */
#include "config.h"

#include "core/exec/schedule/tasks.h"

#define NONE       G_MAXUINT
#define POLL_EDGES 4096 /* between two polls */

/* Something that takes many small steps, and polls now and then. */
typedef struct
{
  GCancellable *cancellable; /* (nullable) */
  guint n;
  gboolean over;
} Watch;

static gboolean
is_over (Watch *watch)
{
  if (watch->n++ % POLL_EDGES == 0)
    watch->over = watch->over || g_cancellable_is_cancelled (watch->cancellable);
  return watch->over;
}

/* The edges that no path beside them replaces, as successors; a copy of @tasks without the others.
 * Cost: for each task with several predecessors, the edges between the first of them and it. */
static IrTasks *
reduce_transitively (const IrTasks *tasks, Watch *watch)
{
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autofree guint *seen = g_new0 (guint, (gsize) tasks->n + 1); /* task + 1 that looked at it */

  for (guint i = 0; i < tasks->n && !is_over (watch); i++)
    {
      guint first = tasks->before_first[i], last = tasks->before_first[i + 1];
      for (guint k = first; k < last && last - first > 1; k++)
        g_array_append_val (stack, tasks->before[k]);
      while (stack->len > 0)
        {
          guint at = g_array_index (stack, guint, stack->len - 1);
          g_array_set_size (stack, stack->len - 1);
          for (guint k = tasks->before_first[at]; k < tasks->before_first[at + 1]; k++)
            if (!is_over (watch) && tasks->before[k] >= tasks->before[first] &&
                seen[tasks->before[k]] != i + 1)
              {
                seen[tasks->before[k]] = i + 1;
                g_array_append_val (stack, tasks->before[k]);
              }
        }
      for (guint k = first; k < last; k++)
        {
          IrTaskEdge edge = { tasks->before[k], i };
          if (seen[edge.from] != i + 1)
            g_array_append_val (edges, edge);
        }
    }
  return ir_tasks_new (tasks->n, tasks->ms, (const IrTaskEdge *) (void *) edges->data, edges->len);
}

typedef struct
{
  const IrTasks *reduced;
  guint *next;     /* by task: the successor in its stream, or NONE */
  guint *previous; /* by task: the predecessor in its stream, or NONE */
  guint *at;       /* by task: the edge that the search stands at */
  gboolean *tried; /* by task: as a successor, in this round */
  guint *path;     /* tasks from the one that wants a successor on */
  Watch *watch;
} Matching;

static void
turn_round (const Matching *m, guint depth)
{
  for (guint i = 0; i <= depth; i++)
    {
      guint from = m->path[i], to = m->reduced->after[m->at[from]];
      m->next[from] = to;
      m->previous[to] = from;
    }
}

/* Looks for a path of edges in turn outside and inside the matching, which ends at a task without a
 * predecessor in its stream; turning it round gives @root a successor. */
static gboolean
augment (Matching *m, guint root)
{
  const IrTasks *tasks = m->reduced;
  guint depth = 0;

  m->path[0] = root;
  m->at[root] = tasks->after_first[root];
  while (!is_over (m->watch))
    {
      guint from = m->path[depth];
      if (m->at[from] == tasks->after_first[from + 1])
        {
          if (depth-- == 0)
            return FALSE;
          m->at[m->path[depth]]++;
          continue;
        }
      guint to = tasks->after[m->at[from]];
      if (m->tried[to])
        {
          m->at[from]++;
          continue;
        }
      m->tried[to] = TRUE;
      if (m->previous[to] == NONE)
        {
          turn_round (m, depth);
          return TRUE;
        }
      m->path[++depth] = m->previous[to];
      m->at[m->path[depth]] = tasks->after_first[m->path[depth]];
    }
  return FALSE;
}

static void
match (Matching *m)
{
  guint n = m->reduced->n;

  for (gboolean progress = TRUE; progress;)
    {
      progress = FALSE;
      memset (m->tried, 0, sizeof *m->tried * n);
      for (guint i = 0; i < n; i++)
        if (m->next[i] == NONE && augment (m, i))
          progress = TRUE;
    }
}

static void
list_waits (IrStreams *streams, const IrTasks *reduced, const guint *previous)
{
  g_autofree gboolean *has_event = g_new0 (gboolean, (gsize) reduced->n + 1);

  for (guint i = 0; i < reduced->n; i++)
    for (guint k = reduced->before_first[i]; k < reduced->before_first[i + 1]; k++)
      {
        IrTaskEdge wait = { reduced->before[k], i };
        if (wait.from == previous[i])
          continue;
        g_array_append_val (streams->waits, wait);
        streams->n_events += !has_event[wait.from];
        has_event[wait.from] = TRUE;
      }
}

/**
 * ir_tasks_streams:
 * @tasks: tasks
 * @cancellable: (nullable): what may stop it
 *
 * Gives each task a stream, so that tasks that could run at once are in different streams and as
 * few waits as possible between streams keep the order. Tasks of one stream are issued in the order
 * of their numbers, and so is everything.
 *
 * Source: Nimble (NeurIPS 2020). Cost: O(edges) searches of the matching in the worst case, each
 * O(edges); few for graphs of layers.
 *
 * Returns: (transfer full) (nullable): the streams, numbered by their first tasks; %NULL if it was
 *   stopped
 */
IrStreams *
ir_tasks_streams (const IrTasks *tasks, GCancellable *cancellable)
{
  Watch watch = { .cancellable = cancellable };
  g_autoptr (IrTasks) reduced = reduce_transitively (tasks, &watch);
  gsize n = (gsize) tasks->n + 1;
  g_autofree guint *next = g_new (guint, n), *previous = g_new (guint, n);
  g_autofree guint *at = g_new0 (guint, n), *path = g_new0 (guint, n);
  g_autofree gboolean *tried = g_new0 (gboolean, n);
  Matching matching = { reduced, next, previous, at, tried, path, &watch };

  for (guint i = 0; i < tasks->n; i++)
    next[i] = previous[i] = NONE;
  match (&matching);
  if (watch.over)
    return NULL;
  IrStreams *streams = g_new0 (IrStreams, 1);
  streams->stream = g_new0 (guint, n);
  streams->waits = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));
  for (guint i = 0; i < tasks->n; i++)
    streams->stream[i] = previous[i] == NONE ? streams->n_streams++ : streams->stream[previous[i]];
  list_waits (streams, reduced, previous);
  return streams;
}

/* Waits within one stream need no event. */
static void
drop_waits (IrStreams *streams, guint n_tasks)
{
  g_autofree gboolean *has_event = g_new0 (gboolean, (gsize) n_tasks + 1);
  guint n = 0;

  streams->n_events = 0;
  for (guint i = 0; i < streams->waits->len; i++)
    {
      IrTaskEdge wait = g_array_index (streams->waits, IrTaskEdge, i);
      if (streams->stream[wait.from] == streams->stream[wait.to])
        continue;
      g_array_index (streams->waits, IrTaskEdge, n++) = wait;
      streams->n_events += !has_event[wait.from];
      has_event[wait.from] = TRUE;
    }
  g_array_set_size (streams->waits, n);
}

/**
 * ir_streams_limit:
 * @streams: streams of tasks
 * @n_tasks: how many those are
 * @most: how many streams there may be, at least 1
 *
 * Puts streams together until there are no more than @most: each further one, in the order of their first
 * tasks, goes to the one of them whose last task is the earliest, so that few that could run at once get in
 * each other's way.
 */
void
ir_streams_limit (IrStreams *streams, guint n_tasks, guint most)
{
  g_autofree guint *last = g_new0 (guint, (gsize) streams->n_streams + 1);
  g_autofree guint *goes_to = g_new0 (guint, (gsize) streams->n_streams + 1);

  most = MAX (most, 1);
  if (streams->n_streams <= most)
    return;
  for (guint i = 0; i < n_tasks; i++)
    last[streams->stream[i]] = i;
  for (guint stream = 0; stream < streams->n_streams; stream++)
    {
      guint best = MIN (stream, most - 1);
      for (guint other = 0; stream >= most && other < most; other++)
        if (last[other] < last[best])
          best = other;
      goes_to[stream] = best;
      last[best] = MAX (last[best], last[stream]);
    }
  for (guint i = 0; i < n_tasks; i++)
    streams->stream[i] = goes_to[streams->stream[i]];
  streams->n_streams = most;
  drop_waits (streams, n_tasks);
}

/**
 * ir_streams_free:
 * @streams: (transfer full) (nullable): streams
 */
void
ir_streams_free (IrStreams *streams)
{
  if (streams == NULL)
    return;
  g_free (streams->stream);
  g_array_unref (streams->waits);
  g_free (streams);
}
