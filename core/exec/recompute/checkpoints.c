/* The best checkpoints of a chain. The graph begins with tasks in a row, each of which reads the
 * value before and gives the next; what follows reads those values in the opposite order:
 *
 *     x1 -> x2 -> ... -> xn          a forward pass, or the encoder of a U-Net
 *      |     |           |
 *     ..  <- .. <- ... <-'           a backward pass, or the decoder
 *
 * Of values x_i .. x_j of which only x_i is there, x_k is computed and kept while those above it
 * are served, then those below are served from x_i again; the best k by dynamic programming over
 * (i, j, bytes that are left). Values that stay are kept until they have been read (persistent
 * schedules), which is optimal where all have one size.
 *
 * Source: Griewank and Walther 2000 (revolve); Beaumont et al. 2019 (Rotor) for unequal sizes and
 * costs. Cost: O(n^3) for each amount of bytes that comes up. */
#include "config.h"

#include "core/exec/memory/place/place.h"
#include "core/exec/recompute/recompute.h"

#include <string.h>

#define MAX_CHAIN  64
#define MAX_STATES 150000
#define FEW_LINKS  24 /* so many come across few amounts of bytes; for more, they are rounded */

#define NOT_POSSIBLE G_MAXUINT64

typedef struct
{
  guint task, value;
  guint64 flops, size;
  gboolean over;               /* may be written over the value before */
  guint first_read, last_read; /* positions after the chain; IR_RECOMPUTE_NONE: none */
  /* Bytes of values after the chain that live while this one is read, after that until the next is
   * needed, and before, while it is computed again. */
  guint64 own_read, own_tail, gap;
} Link;

typedef struct
{
  guint i, j;
  guint64 left; /* bytes that x_i and all that is computed from it may have */
} State;

typedef struct
{
  State state;
  guint64 flops;
  guint k;
} Answer;

typedef struct
{
  const IrRecomputeProblem *problem;
  const IrMemOptions *options; /* (nullable) */
  GArray *links;               /* of Link; 0 stands for what lies outside the arena */
  guint n;                     /* the last link */
  GArray *rest;                /* of guint: tasks after the chain */
  GHashTable *answers;
  gboolean gave_up;
  Answer none; /* what is said after that */
  GArray *runs;
  gboolean *is_out; /* by task: tasks without values that have run */
} Chain;

static Link *
link_at (const Chain *chain, guint i)
{
  return &g_array_index (chain->links, Link, i);
}

static const IrRecomputeTask *
task_at (const Chain *chain, guint position)
{
  return &chain->problem->tasks[g_array_index (chain->rest, guint, position)];
}

/* -- finding one -- */

static void
find_links (Chain *chain)
{
  const IrRecomputeProblem *problem = chain->problem;
  Link none = { .first_read = IR_RECOMPUTE_NONE, .last_read = IR_RECOMPUTE_NONE };

  g_array_append_val (chain->links, none);
  for (guint i = 0; i < problem->n_tasks && chain->n < MAX_CHAIN; i++)
    {
      const IrRecomputeTask *task = &problem->tasks[i];
      const Link *last = link_at (chain, chain->n);
      if (task->n_reads == 0 && task->n_writes == 0)
        continue;
      if (task->once || task->n_writes != 1 || task->n_reads != (chain->n > 0 ? 1 : 0) ||
          (chain->n > 0 && task->reads[0] != last->value))
        break;
      Link link = none;
      link.task = i;
      link.value = task->writes[0];
      link.flops = task->flops;
      link.size = problem->sizes[link.value];
      link.over = chain->n > 0 && last->size == link.size &&
                  (task->over[0] == last->value || task->over[1] == last->value);
      g_array_append_val (chain->links, link);
      chain->n++;
    }
}

/* What comes after the first @n links, and no read of them known. */
static void
cut_after (Chain *chain, guint n)
{
  chain->n = n;
  g_array_set_size (chain->rest, 0);
  for (guint i = link_at (chain, n)->task + 1; i < chain->problem->n_tasks; i++)
    g_array_append_val (chain->rest, i);
  for (guint i = 0; i <= n; i++)
    link_at (chain, i)->first_read = link_at (chain, i)->last_read = IR_RECOMPUTE_NONE;
}

/* Where each link is read; FALSE: not in the opposite order, two at once, or the last not at all.
 */
static gboolean
find_reads (Chain *chain)
{
  g_autofree guint *link_of = g_new0 (guint, chain->problem->n_values + 1);
  guint lowest = chain->n;

  for (guint i = 1; i <= chain->n; i++)
    link_of[link_at (chain, i)->value] = i;
  for (guint position = 0; position < chain->rest->len; position++)
    {
      const IrRecomputeTask *task = task_at (chain, position);
      guint index = 0;
      for (guint k = 0; k < task->n_reads; k++)
        {
          guint read = link_of[task->reads[k]];
          if (read != 0 && index != 0)
            return FALSE;
          index = read != 0 ? read : index;
        }
      if (index > lowest)
        return FALSE;
      if (index == 0)
        continue;
      lowest = index;
      if (link_at (chain, index)->first_read == IR_RECOMPUTE_NONE)
        link_at (chain, index)->first_read = position;
      link_at (chain, index)->last_read = position;
    }
  return link_at (chain, chain->n)->first_read != IR_RECOMPUTE_NONE;
}

/* Bytes of the values that tasks after the chain make, at each of those tasks; and between it and
 * the one before. */
static void
find_own_bytes (const Chain *chain, guint64 *at, guint64 *before)
{
  const IrRecomputeProblem *problem = chain->problem;
  guint n = chain->rest->len;
  g_autofree guint *born = g_new (guint, problem->n_values + 1);
  g_autofree guint *died = g_new (guint, problem->n_values + 1);

  memset (born, 0xff, sizeof *born * (problem->n_values + 1));
  for (guint position = 0; position < n; position++)
    {
      const IrRecomputeTask *task = task_at (chain, position);
      for (guint k = 0; k < task->n_writes; k++)
        born[task->writes[k]] = died[task->writes[k]] = position;
      for (guint k = 0; k < task->n_reads; k++)
        died[task->reads[k]] = position;
    }
  for (guint value = 0; value < problem->n_values; value++)
    for (guint position = born[value]; position != IR_RECOMPUTE_NONE && position <= died[value];
         position++)
      {
        at[position] += problem->sizes[value];
        if (position > born[value])
          before[position] += problem->sizes[value];
      }
  /* A result that may take the place of what is read for the last time, be it of the chain, which
   * is counted elsewhere, needs none of its own. */
  for (guint position = 0; position < n; position++)
    {
      const IrRecomputeTask *task = task_at (chain, position);
      for (guint k = 0; k < G_N_ELEMENTS (task->over); k++)
        {
          guint over = task->over[k];
          if (over == IR_RECOMPUTE_NONE || died[over] != position || born[over] == position ||
              problem->sizes[over] != problem->sizes[task->writes[0]])
            continue;
          at[position] -= problem->sizes[over];
          break;
        }
    }
}

static guint64
most_of (const guint64 *bytes, guint first, guint end)
{
  guint64 most = 0;

  for (guint i = first; i < end; i++)
    most = MAX (most, bytes[i]);
  return most;
}

/* The tasks that each link is there for: from its first read, the topmost from the start, to before
 * the first read of the next. */
static void
find_phases (Chain *chain)
{
  guint n = chain->rest->len, end = n;
  g_autofree guint64 *at = g_new0 (guint64, n + 1), *before = g_new0 (guint64, n + 1);

  find_own_bytes (chain, at, before);
  link_at (chain, chain->n)->first_read = 0;
  for (guint i = 1; i <= chain->n; i++)
    {
      Link *link = link_at (chain, i);
      if (link->first_read == IR_RECOMPUTE_NONE)
        continue;
      link->own_read = most_of (at, link->first_read, link->last_read + 1);
      link->own_tail = most_of (at, link->last_read + 1, end);
      link->gap = before[link->first_read];
      end = link->first_read;
    }
}

/* -- bytes as small numbers -- */

static guint64
common_divisor (guint64 a, guint64 b)
{
  while (b != 0)
    {
      guint64 rest = a % b;
      a = b;
      b = rest;
    }
  return a;
}

static void
count_in_units (Chain *chain, guint64 *budget)
{
  guint64 unit = 0;

  for (guint i = 1; i <= chain->n; i++)
    {
      const Link *link = link_at (chain, i);
      unit = common_divisor (unit, link->size);
      unit = common_divisor (unit, link->own_read);
      unit = common_divisor (unit, link->own_tail);
      unit = common_divisor (unit, link->gap);
    }
  unit = MAX (unit, 1);
  /* As fine as the number of states allows, and to the safe side. */
  guint64 most = 2 * MAX_STATES / ((guint64) (chain->n + 1) * (chain->n + 1));
  if (chain->n > FEW_LINKS && *budget / unit > most)
    unit = *budget / most;
  for (guint i = 1; i <= chain->n; i++)
    {
      Link *link = link_at (chain, i);
      link->size = link->size / unit + (link->size % unit > 0);
      link->own_read = link->own_read / unit + (link->own_read % unit > 0);
      link->own_tail = link->own_tail / unit + (link->own_tail % unit > 0);
      link->gap = link->gap / unit + (link->gap % unit > 0);
    }
  *budget /= unit;
}

/* -- dynamic programming -- */

static guint
state_hash (gconstpointer key)
{
  const State *state = key;
  guint64 mixed = ((guint64) state->i << 32 | state->j) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  mixed = (mixed ^ state->left) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  return (guint) (mixed >> 32);
}

static gboolean
state_equal (gconstpointer a, gconstpointer b)
{
  const State *x = a, *y = b;

  return x->i == y->i && x->j == y->j && x->left == y->left;
}

/* The topmost link of i+1 .. j that is read, or i. */
static guint
top_read (const Chain *chain, guint i, guint j)
{
  while (j > i && link_at (chain, j)->first_read == IR_RECOMPUTE_NONE)
    j--;
  return j;
}

static guint64
left_above (const Chain *chain, guint i, gboolean stays, guint64 left)
{
  return stays ? left - link_at (chain, i)->size : left;
}

static Answer *
solve (Chain *chain, guint i, guint j, guint64 left)
{
  State state = { i, top_read (chain, i, j), left };
  Answer *answer = g_hash_table_lookup (chain->answers, &state);
  const Link *base = link_at (chain, i);

  if (answer != NULL)
    return answer;
  chain->gave_up = chain->gave_up || g_hash_table_size (chain->answers) >= MAX_STATES ||
                   ir_mem_stopped (chain->options);
  if (chain->gave_up)
    return &chain->none;
  answer = g_new0 (Answer, 1);
  *answer = (Answer){ state, NOT_POSSIBLE, i };
  g_hash_table_add (chain->answers, answer);
  j = state.j;
  if (base->size > left)
    return answer;
  if (i == j)
    {
      if (base->size + base->own_read <= left && base->own_tail <= left)
        answer->flops = 0;
      return answer;
    }
  guint64 flops = 0, gap = link_at (chain, j)->gap;
  gboolean stays = base->first_read != IR_RECOMPUTE_NONE;
  gboolean way[2] = { TRUE, TRUE }; /* the base goes, or stays, while x_k is computed */
  for (guint k = i + 1; k <= j; k++)
    {
      const Link *link = link_at (chain, k), *before = link_at (chain, k - 1);
      guint64 pair = link->over ? link->size : link->size + before->size;
      way[FALSE] = way[FALSE] && pair + gap <= left;
      way[TRUE] = way[TRUE] &&
                  (k == i + 1 ? base->size + link->size : base->size + pair) + gap <= left;
      stays = stays || (k - 1 > i && before->first_read != IR_RECOMPUTE_NONE);
      flops += link->flops;
      if (!way[FALSE] && !way[TRUE])
        break;
      if (!way[stays])
        continue;
      guint64 above = solve (chain, k, j, left_above (chain, i, stays, left))->flops;
      if (above == NOT_POSSIBLE)
        continue;
      guint64 below = stays ? solve (chain, i, k - 1, left)->flops : 0;
      if (below != NOT_POSSIBLE && flops + above + below < answer->flops)
        {
          answer->flops = flops + above + below;
          answer->k = k;
        }
    }
  return answer;
}

/* -- the runs of an answer -- */

/* Tasks that neither read nor give values of the arena follow what stands before them. */
static void
emit_link (Chain *chain, guint i)
{
  guint task = link_at (chain, i)->task;

  g_array_append_val (chain->runs, task);
  for (task++;
       task < chain->problem->n_tasks && !chain->is_out[task] &&
       chain->problem->tasks[task].n_reads == 0 && chain->problem->tasks[task].n_writes == 0;
       task++)
    {
      chain->is_out[task] = TRUE;
      g_array_append_val (chain->runs, task);
    }
}

static void
emit_phase (Chain *chain, guint i)
{
  const Link *link = link_at (chain, i);
  guint end = chain->rest->len;

  if (link->first_read == IR_RECOMPUTE_NONE)
    return;
  for (guint k = 1; k < i; k++)
    if (link_at (chain, k)->first_read != IR_RECOMPUTE_NONE)
      end = link_at (chain, k)->first_read;
  for (guint position = link->first_read; position < end; position++)
    {
      guint task = g_array_index (chain->rest, guint, position);
      if (!chain->is_out[task])
        g_array_append_val (chain->runs, task);
      chain->is_out[task] = TRUE;
    }
}

static void
emit (Chain *chain, guint i, guint j, guint64 left)
{
  const Answer *answer = solve (chain, i, j, left);
  gboolean stays = FALSE;

  if (answer->k == i)
    {
      emit_phase (chain, i);
      return;
    }
  for (guint k = i + 1; k <= answer->k; k++)
    {
      stays = stays || link_at (chain, k - 1)->first_read != IR_RECOMPUTE_NONE;
      emit_link (chain, k);
    }
  emit (chain, answer->k, answer->state.j, left_above (chain, i, stays, left));
  if (stays)
    emit (chain, i, answer->k - 1, left);
}

/* The turn from forward to back may look like a link or some, too: they are left off. */
static gboolean
find_chain (Chain *chain, guint64 *budget)
{
  find_links (chain);
  for (guint n = chain->n; n >= 2 && !ir_mem_stopped (chain->options); n--)
    {
      cut_after (chain, n);
      if (find_reads (chain))
        {
          find_phases (chain);
          count_in_units (chain, budget);
          return TRUE;
        }
    }
  return FALSE;
}

/**
 * ir_recompute_chain:
 * @problem: tasks and values
 * @budget: bytes that may live at once
 * @options: (nullable): what stops it
 *
 * The cheapest order of runs in which tasks of the chain at the start of @problem are repeated, of
 * those that keep a checkpoint until it has been read. Nothing behind the chain runs twice, and
 * only its first links (MAX_CHAIN) count as such. Of a chain with more than FEW_LINKS links bytes
 * are rounded up, so that a cheaper order may just miss the budget.
 *
 * Returns: (transfer full) (nullable): tasks in the order of their runs; %NULL if @problem has no
 *   such chain, the budget is too small, there is too much to try, or it was cancelled
 */
GArray *
ir_recompute_chain (const IrRecomputeProblem *problem, guint64 budget, const IrMemOptions *options)
{
  g_autoptr (GArray) links = g_array_new (FALSE, FALSE, sizeof (Link));
  g_autoptr (GArray) rest = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GHashTable) answers = g_hash_table_new_full (state_hash, state_equal, g_free, NULL);
  g_autofree gboolean *is_out = g_new0 (gboolean, problem->n_tasks + 1);
  Chain chain = { .problem = problem,
                  .options = options,
                  .links = links,
                  .rest = rest,
                  .answers = answers,
                  .runs = runs,
                  .is_out = is_out,
                  .none = { .flops = NOT_POSSIBLE } };

  if (!find_chain (&chain, &budget))
    return NULL;
  const Answer *answer = solve (&chain, 0, chain.n, budget);
  if (chain.gave_up || answer->flops == NOT_POSSIBLE)
    return NULL;
  for (guint task = 0; task < link_at (&chain, 1)->task; task++)
    g_array_append_val (runs, task);
  emit (&chain, 0, chain.n, budget);
  return g_steal_pointer (&runs);
}
