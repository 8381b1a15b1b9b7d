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
} Spot;

struct _IrMemSpots
{
  GArray *nodes; /* of Spot */
  guint root;
  guint n;      /* in the tree */
  gint64 shift; /* bytes that all of them lie further in the block than they say */
};

/* A block in which nothing lies */
IrMemSpots *
ir_mem_spots_new (void)
{
  IrMemSpots *spots = g_new0 (IrMemSpots, 1);

  spots->nodes = g_array_sized_new (FALSE, FALSE, sizeof (Spot), 1);
  spots->root = NONE;
  return spots;
}

void
ir_mem_spots_free (IrMemSpots *spots)
{
  if (spots == NULL)
    return;
  g_array_unref (spots->nodes);
  g_free (spots);
}

static Spot *
spot_at (const IrMemSpots *spots, guint node)
{
  return &g_array_index (spots->nodes, Spot, node);
}

static void
update (const IrMemSpots *spots, guint node)
{
  Spot *spot = spot_at (spots, node);

  spot->reach = spot->end;
  if (spot->left != NONE)
    spot->reach = MAX (spot->reach, spot_at (spots, spot->left)->reach);
  if (spot->right != NONE)
    spot->reach = MAX (spot->reach, spot_at (spots, spot->right)->reach);
}

/* All of @left begin no later than any of @right. */
static guint
merge (const IrMemSpots *spots, guint left, guint right)
{
  if (left == NONE || right == NONE)
    return left == NONE ? right : left;
  if (spot_at (spots, left)->rank > spot_at (spots, right)->rank)
    {
      spot_at (spots, left)->right = merge (spots, spot_at (spots, left)->right, right);
      update (spots, left);
      return left;
    }
  spot_at (spots, right)->left = merge (spots, left, spot_at (spots, right)->left);
  update (spots, right);
  return right;
}

static void
split (const IrMemSpots *spots, guint node, gint64 from, guint *left, guint *right)
{
  if (node == NONE)
    {
      *left = *right = NONE;
      return;
    }
  Spot *spot = spot_at (spots, node);
  if (spot->from < from)
    {
      split (spots, spot->right, from, &spot->right, right);
      *left = node;
    }
  else
    {
      split (spots, spot->left, from, left, &spot->left);
      *right = node;
    }
  update (spots, node);
}

static guint
insert (const IrMemSpots *spots, guint node, guint fresh)
{
  Spot *spot = spot_at (spots, fresh);

  if (node == NONE || spot_at (spots, node)->rank < spot->rank)
    {
      split (spots, node, spot->from, &spot->left, &spot->right);
      node = fresh;
    }
  else if (spot_at (spots, node)->from < spot->from)
    spot_at (spots, node)->right = insert (spots, spot_at (spots, node)->right, fresh);
  else
    spot_at (spots, node)->left = insert (spots, spot_at (spots, node)->left, fresh);
  update (spots, node);
  return node;
}

/* Cost: O(log items) */
void
ir_mem_spots_add (IrMemSpots *spots, guint item, guint64 at, guint64 size)
{
  gint64 from = (gint64) at - spots->shift;
  Spot spot = { .from = from,
                .end = from + (gint64) size,
                .item = item,
                .left = NONE,
                .right = NONE,
                .rank = (guint32) ir_mix64 (item) };

  g_array_append_val (spots->nodes, spot);
  spots->root = insert (spots, spots->root, spots->nodes->len - 1);
  spots->n++;
}

typedef struct
{
  IrMemSpots *spots;
  gint64 from, end;
  IrMemSpotFunc look;
  gpointer data;
  gboolean over;
} Visit;

/* Returns what is left of the tree below @node. */
static guint
visit (Visit *v, guint node)
{
  IrMemSpotVerdict verdict = IR_MEM_SPOT_STAYS;

  if (node == NONE || v->over || spot_at (v->spots, node)->reach <= v->from)
    return node;
  Spot *spot = spot_at (v->spots, node);
  spot->left = visit (v, spot->left);
  if (!v->over && spot->from < v->end)
    {
      if (spot->end > v->from)
        verdict = v->look (spot->item, v->data);
      v->over = verdict == IR_MEM_SPOT_ENOUGH;
      spot->right = visit (v, spot->right);
    }
  if (verdict == IR_MEM_SPOT_GOES)
    {
      v->spots->n--;
      return merge (v->spots, spot->left, spot->right);
    }
  update (v->spots, node);
  return node;
}

/* @look: for items that have some of these bytes, of which there is at least one; says what becomes
 * of them. Cost: O(log items) for each that is found. */
void
ir_mem_spots_visit (IrMemSpots *spots, guint64 at, guint64 size, IrMemSpotFunc look, gpointer data)
{
  gint64 from = (gint64) at - spots->shift;
  Visit v = { spots, from, from + (gint64) size, look, data, FALSE };

  spots->root = visit (&v, spots->root);
}

typedef struct
{
  IrMemSpots *into;
  IrMemSpotFunc look;
  gpointer data;
} Move;

static void
move_all (Move *move, const IrMemSpots *from, guint node, gint64 by)
{
  if (node == NONE)
    return;
  const Spot *spot = spot_at (from, node);
  move_all (move, from, spot->left, by);
  if (move->look (spot->item, move->data) != IR_MEM_SPOT_GOES)
    ir_mem_spots_add (move->into, spot->item, (guint64) (spot->from + by),
                      (guint64) (spot->end - spot->from));
  move_all (move, from, spot->right, by);
}

/* What lies in the first block when the second, of which both are taken, is a range of it, from @at
 * on. @look: which items are of no more use. The fewer join the more: each is moved O(log items)
 * times at most, however deep blocks are joined. */
IrMemSpots *
ir_mem_spots_join (
    IrMemSpots *whole, IrMemSpots *part, guint64 at, IrMemSpotFunc look, gpointer data)
{
  IrMemSpots *fewer = part, *more = whole;
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
  ir_mem_spots_free (fewer);
  return more;
}
