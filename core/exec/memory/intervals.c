/* Which items lie where in a block of the memory plan: a tree by where they begin, in which every
 * node knows how far those below it reach (an interval tree), balanced by chance (a treap: Seidel
 * and Aragon 1996). What is found to be of no more use is taken out on the way, so that asking
 * costs as much as what is found, whatever else lies in the block. */
#include "config.h"

#include "core/exec/memory/intervals.h"
#include "core/ir/hash.h"

#define NONE G_MAXUINT

typedef struct
{
  gint64 from, end, reach; /* bytes; the last is the highest end of it and of all below it */
  guint item, left, right;
  guint32 rank; /* above those of all below it */
} Interval;

struct _IrMemSpots
{
  GArray *nodes; /* of Interval */
  guint root;
  guint n;      /* in the tree */
  gint64 shift; /* bytes that all of them lie further in the block than they say */
};

/* A block in which nothing lies */
IrMemIntervals *
ir_mem_intervals_new (void)
{
  IrMemIntervals *intervals = g_new0 (IrMemIntervals, 1);

  intervals->nodes = g_array_sized_new (FALSE, FALSE, sizeof (Interval), 1);
  intervals->root = NONE;
  return intervals;
}

void
ir_mem_intervals_free (IrMemIntervals *intervals)
{
  if (intervals == NULL)
    return;
  g_array_unref (intervals->nodes);
  g_free (intervals);
}

static Interval *
interval_at (const IrMemIntervals *intervals, guint node)
{
  return &g_array_index (intervals->nodes, Interval, node);
}

static void
update (const IrMemIntervals *intervals, guint node)
{
  Interval *interval = interval_at (intervals, node);

  interval->reach = interval->end;
  if (interval->left != NONE)
    interval->reach = MAX (interval->reach, interval_at (intervals, interval->left)->reach);
  if (interval->right != NONE)
    interval->reach = MAX (interval->reach, interval_at (intervals, interval->right)->reach);
}

/* All of @left begin no later than any of @right. */
static guint
merge (const IrMemIntervals *intervals, guint left, guint right)
{
  if (left == NONE || right == NONE)
    return left == NONE ? right : left;
  if (interval_at (intervals, left)->rank > interval_at (intervals, right)->rank)
    {
      interval_at (intervals, left)->right = merge (intervals, interval_at (intervals, left)->right,
                                                    right);
      update (intervals, left);
      return left;
    }
  interval_at (intervals, right)->left = merge (intervals, left,
                                                interval_at (intervals, right)->left);
  update (intervals, right);
  return right;
}

static void
split (const IrMemIntervals *intervals, guint node, gint64 from, guint *left, guint *right)
{
  if (node == NONE)
    {
      *left = *right = NONE;
      return;
    }
  Interval *interval = interval_at (intervals, node);
  if (interval->from < from)
    {
      split (intervals, interval->right, from, &interval->right, right);
      *left = node;
    }
  else
    {
      split (intervals, interval->left, from, left, &interval->left);
      *right = node;
    }
  update (intervals, node);
}

static guint
insert (const IrMemIntervals *intervals, guint node, guint fresh)
{
  Interval *interval = interval_at (intervals, fresh);

  if (node == NONE || interval_at (intervals, node)->rank < interval->rank)
    {
      split (intervals, node, interval->from, &interval->left, &interval->right);
      node = fresh;
    }
  else if (interval_at (intervals, node)->from < interval->from)
    interval_at (intervals, node)->right = insert (intervals, interval_at (intervals, node)->right,
                                                   fresh);
  else
    interval_at (intervals, node)->left = insert (intervals, interval_at (intervals, node)->left,
                                                  fresh);
  update (intervals, node);
  return node;
}

/* Cost: O(log items) */
void
ir_mem_intervals_add (IrMemIntervals *intervals, guint item, guint64 at, guint64 size)
{
  gint64 from = (gint64) at - intervals->shift;
  Interval interval = { .from = from,
                        .end = from + (gint64) size,
                        .item = item,
                        .left = NONE,
                        .right = NONE,
                        .rank = (guint32) ir_mix64 (item) };

  g_array_append_val (intervals->nodes, interval);
  intervals->root = insert (intervals, intervals->root, intervals->nodes->len - 1);
  intervals->n++;
}

typedef struct
{
  IrMemIntervals *intervals;
  gint64 from, end;
  IrMemIntervalFunc look;
  gpointer data;
  gboolean over;
} Visit;

/* Returns what is left of the tree below @node. */
static guint
visit (Visit *v, guint node)
{
  IrMemIntervalVerdict verdict = IR_MEM_INTERVAL_KEEP;

  if (node == NONE || v->over || interval_at (v->intervals, node)->reach <= v->from)
    return node;
  Interval *interval = interval_at (v->intervals, node);
  interval->left = visit (v, interval->left);
  if (!v->over && interval->from < v->end)
    {
      if (interval->end > v->from)
        verdict = v->look (interval->item, v->data);
      v->over = verdict == IR_MEM_INTERVAL_STOP;
      interval->right = visit (v, interval->right);
    }
  if (verdict == IR_MEM_INTERVAL_REMOVE)
    {
      v->intervals->n--;
      return merge (v->intervals, interval->left, interval->right);
    }
  update (v->intervals, node);
  return node;
}

/* @look: for items that have some of these bytes, of which there is at least one; says what becomes
 * of them. Cost: O(log items) for each that is found. */
void
ir_mem_intervals_visit (
    IrMemIntervals *intervals, guint64 at, guint64 size, IrMemIntervalFunc look, gpointer data)
{
  gint64 from = (gint64) at - intervals->shift;
  Visit v = { intervals, from, from + (gint64) size, look, data, FALSE };

  intervals->root = visit (&v, intervals->root);
}

typedef struct
{
  IrMemIntervals *into;
  IrMemIntervalFunc look;
  gpointer data;
} Move;

static void
move_all (Move *move, const IrMemIntervals *from, guint node, gint64 by)
{
  if (node == NONE)
    return;
  const Interval *interval = interval_at (from, node);
  move_all (move, from, interval->left, by);
  if (move->look (interval->item, move->data) != IR_MEM_INTERVAL_REMOVE)
    ir_mem_intervals_add (move->into, interval->item, (guint64) (interval->from + by),
                          (guint64) (interval->end - interval->from));
  move_all (move, from, interval->right, by);
}

/* What lies in the first block when the second, of which both are taken, is a range of it, from @at
 * on. @look: which items are of no more use. The fewer join the more: each is moved O(log items)
 * times at most, however deep blocks are joined. */
IrMemIntervals *
ir_mem_intervals_join (
    IrMemIntervals *whole, IrMemIntervals *part, guint64 at, IrMemIntervalFunc look, gpointer data)
{
  IrMemIntervals *fewer = part, *more = whole;
  gint64 by = part->shift + (gint64) at;

  if (part->n > whole->n)
    {
      part->shift += (gint64) at;
      by = whole->shift;
      fewer = whole;
      more = part;
    }
  Move move = { more, look, data };
  move_all (&move, fewer, fewer->root, by);
  ir_mem_intervals_free (fewer);
  return more;
}
