/* Blocks of bytes, and the live ranges in them. A block may become a range of a later one: it then
 * has a parent, and what lies in it lies in that one.
 *
 * A block that holds parts lives from the first that is made to the last use of all: bytes that
 * wait for their part are lost meanwhile. So what is cut or joined shares bytes only where no more
 * lives at once than without any sharing of this kind (IrSharing.live). */
#include "config.h"

#include "core/exec/memory/intervals.h"
#include "core/exec/memory/sharing.h"

#define NONE IR_SHARING_NONE

typedef struct
{
  IrLiveRange range;
  guint block; /* that it was added to; NONE: none */
  guint64 at;  /* bytes from the start of that one */
} Row;

typedef struct
{
  IrMemBlock block;
  guint parent;      /* NONE: none */
  guint64 at;        /* bytes from the start of the parent */
  guint owner;       /* the live range that it was made for */
  IrMemIntervals *intervals; /* (nullable) what lies there and may still be read; of roots */
} Block;

static const Row *
row_at (const IrSharing *sharing, guint range)
{
  return &g_array_index (sharing->rows, Row, range);
}

static Block *
block_at (const IrSharing *sharing, guint block)
{
  return &g_array_index (sharing->blocks, Block, block);
}

/**
 * ir_sharing_init:
 * @sharing: (out): nothing
 * @align_bytes: at whose multiples parts begin
 * @options: (nullable): what stops it
 */
void
ir_sharing_init (IrSharing *sharing, guint64 align_bytes, const IrMemOptions *options)
{
  *sharing = (IrSharing){
    .align_bytes = align_bytes,
    .options = options,
    .rows = g_array_new (FALSE, FALSE, sizeof (Row)),
    .blocks = g_array_new (FALSE, FALSE, sizeof (Block)),
  };
}

/**
 * ir_sharing_clear:
 * @sharing: what has been added
 */
void
ir_sharing_clear (IrSharing *sharing)
{
  for (guint i = 0; i < sharing->blocks->len; i++)
    ir_mem_intervals_free (block_at (sharing, i)->intervals);
  g_array_unref (sharing->rows);
  g_array_unref (sharing->blocks);
  ir_mem_live_clear (&sharing->live);
}

/* -- where live ranges lie -- */

/**
 * ir_sharing_block_of:
 * @sharing: what has been added
 * @range: one of it
 * @at: (out): bytes from the start of the block
 *
 * Blocks on the way are led past the one above them, so that asking often is cheap however deep
 * they are joined.
 *
 * Returns: the block that holds it, all joining done; %IR_SHARING_NONE: none
 */
guint
ir_sharing_block_of (const IrSharing *sharing, guint range, guint64 *at)
{
  guint block = row_at (sharing, range)->block;

  *at = row_at (sharing, range)->at;
  while (block != NONE && block_at (sharing, block)->parent != NONE)
    {
      Block *below = block_at (sharing, block), *above = block_at (sharing, below->parent);
      if (above->parent != NONE)
        {
          below->at += above->at;
          below->parent = above->parent;
        }
      *at += below->at;
      block = below->parent;
    }
  return block;
}

static gboolean
overlaps (const IrSharing *sharing, guint range, guint block, guint64 at, guint64 size)
{
  guint64 own;

  return ir_sharing_block_of (sharing, range, &own) == block && own < at + size &&
         at < own + row_at (sharing, range)->range.size;
}

static void
add_to (IrSharing *sharing, const IrLiveRange *range, guint block, guint64 at)
{
  Row row = { *range, block, at };
  Block *into = block_at (sharing, block);

  g_array_append_val (sharing->rows, row);
  into->block.last = MAX (into->block.last, range->to);
  ir_mem_intervals_add (into->intervals, sharing->rows->len - 1, at, range->size);
}

/**
 * ir_sharing_add_external:
 * @sharing: what has been added
 *
 * Adds a value that has no bytes here.
 */
void
ir_sharing_add_external (IrSharing *sharing)
{
  Row row = { .block = NONE };

  g_array_append_val (sharing->rows, row);
}

/**
 * ir_sharing_add_alone:
 * @sharing: what has been added
 * @range: what is added, in a block of its own
 */
void
ir_sharing_add_alone (IrSharing *sharing, const IrLiveRange *range)
{
  Block block = { .block = { .size = range->size, .first = range->from, .last = range->to },
                  .parent = NONE,
                  .owner = sharing->rows->len,
                  .intervals = ir_mem_intervals_new () };

  g_array_append_val (sharing->blocks, block);
  add_to (sharing, range, sharing->blocks->len - 1, 0);
}

/**
 * ir_sharing_add_within:
 * @sharing: what has been added
 * @range: what is added
 * @of: a live range in a block, among whose bytes it lies
 * @at: bytes from the start of that one
 */
void
ir_sharing_add_within (IrSharing *sharing, const IrLiveRange *range, guint of, guint64 at)
{
  guint64 from;
  guint block = ir_sharing_block_of (sharing, of, &from);

  add_to (sharing, range, block, from + at);
}

/* -- written over -- */

typedef struct
{
  const IrSharing *sharing;
  const IrSharingStep *step;
  IrSharingRefusal found;
} Reading;

static IrMemIntervalVerdict
look_whether_over (guint range, gpointer data)
{
  const Reading *reading = data;

  return row_at (reading->sharing, range)->range.to < reading->step->from ? IR_MEM_INTERVAL_REMOVE
                                                                            : IR_MEM_INTERVAL_KEEP;
}

/* What no later step reads can be in nobody's way. */
static IrMemIntervalVerdict
look_at_reader (guint range, gpointer data)
{
  Reading *reading = data;
  const IrSharingStep *step = reading->step;
  guint last = row_at (reading->sharing, range)->range.last;

  if (row_at (reading->sharing, range)->range.to < step->from)
    return IR_MEM_INTERVAL_REMOVE;
  if (last > step->now)
    {
      reading->found = IR_REFUSAL_READ_LATER;
      return IR_MEM_INTERVAL_STOP;
    }
  if (step->is_concurrent != NULL && step->is_concurrent (range, step->data))
    reading->found = IR_REFUSAL_CONCURRENT;
  return IR_MEM_INTERVAL_KEEP;
}

/**
 * ir_sharing_may_overwrite:
 * @sharing: what has been added
 * @range: one of it, which the step reads
 * @step: the step that has been come to
 *
 * Returns: why the step must not write over the bytes of @range
 */
IrSharingRefusal
ir_sharing_may_overwrite (const IrSharing *sharing, guint range, const IrSharingStep *step)
{
  guint64 at, size = row_at (sharing, range)->range.size;
  guint block = ir_sharing_block_of (sharing, range, &at);
  Reading reading = { sharing, step, IR_REFUSAL_NONE };

  if (block == NONE)
    return IR_REFUSAL_EXTERNAL;
  if (size > 0)
    ir_mem_intervals_visit (block_at (sharing, block)->intervals, at, size, look_at_reader,
                            &reading);
  if (reading.found != IR_REFUSAL_NONE)
    return reading.found;
  for (guint i = 0; i < step->n_reads; i++)
    if (overlaps (sharing, step->reads[i], block, at, size))
      return IR_REFUSAL_READ_TWICE;
  return IR_REFUSAL_NONE;
}

/* -- cut out -- */

static gint64
aligned (const IrSharing *sharing, guint64 size)
{
  return (gint64) ir_mem_align (size, (guint) sharing->align_bytes);
}

/**
 * ir_sharing_may_cut:
 * @sharing: what has been added
 * @part: what is to be added
 * @of: what it is a range of
 * @at: bytes from the start of that one
 *
 * A small part may keep a large whole. Where it is allowed, the bytes at each step are those with
 * the part in its whole.
 *
 * Returns: why @part must not lie there
 */
IrSharingRefusal
ir_sharing_may_cut (IrSharing *sharing, const IrLiveRange *part, guint of, guint64 at)
{
  guint64 from;
  guint index = ir_sharing_block_of (sharing, of, &from);

  if (index == NONE)
    return IR_REFUSAL_EXTERNAL;
  if ((at + from) % sharing->align_bytes != 0)
    return IR_REFUSAL_ALIGN;
  const IrMemBlock *block = &block_at (sharing, index)->block;
  gint64 whole = aligned (sharing, block->size), own = aligned (sharing, part->size);
  for (int sign = 1; sign >= -1; sign -= 2)
    {
      ir_mem_live_add (&sharing->live, part->from, part->to, -sign * own);
      if (part->to > block->last)
        ir_mem_live_add (&sharing->live, block->last + 1, part->to, sign * whole);
      if (sign > 0 && ir_mem_live_is_low (&sharing->live, part->from, part->to))
        return IR_REFUSAL_NONE;
    }
  return IR_REFUSAL_PEAK;
}

/* -- joined -- */

/* A block that has been made for nothing but the part can become a range of the whole. */
static void
find_part (const IrSharing *sharing, guint whole, IrSharingPart *part)
{
  guint64 from = 0;

  part->block = part->range != NONE ? ir_sharing_block_of (sharing, part->range, &from) : NONE;
  if (part->refusal != IR_REFUSAL_NONE)
    return;
  if (part->block == NONE)
    part->refusal = IR_REFUSAL_EXTERNAL;
  else if (part->at % sharing->align_bytes != 0)
    part->refusal = IR_REFUSAL_ALIGN;
  else if (part->block == whole || from != 0 ||
           block_at (sharing, part->block)->block.size != row_at (sharing, part->range)->range.size)
    part->refusal = IR_REFUSAL_PART;
  else
    part->first = block_at (sharing, part->block)->block.first;
}

/* Those that are refused, then latest first: those cost the fewest bytes that wait. */
static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const IrSharingPart *left = a, *right = b;
  gboolean refused = left->refusal != IR_REFUSAL_NONE;

  if (refused != (right->refusal != IR_REFUSAL_NONE))
    return refused ? -1 : 1;
  if (refused)
    return (left->slot > right->slot) - (left->slot < right->slot);
  return left->first != right->first ? (left->first < right->first ? 1 : -1)
                                     : (left->at > right->at) - (left->at < right->at);
}

/* The whole lives longer by what the part does, whose own bytes are no longer needed. */
static gboolean
is_worth (IrSharing *sharing, guint whole, guint part)
{
  const IrMemBlock *own = &block_at (sharing, part)->block,
                   *all = &block_at (sharing, whole)->block;
  guint first = MIN (own->first, all->first), last = MAX (own->last, all->last);
  gint64 size = aligned (sharing, all->size);

  for (int sign = 1; sign >= -1; sign -= 2)
    {
      ir_mem_live_add (&sharing->live, own->first, own->last, -sign * aligned (sharing, own->size));
      if (first < all->first)
        ir_mem_live_add (&sharing->live, first, all->first - 1, sign * size);
      if (last > all->last)
        ir_mem_live_add (&sharing->live, all->last + 1, last, sign * size);
      if (sign > 0 && ir_mem_live_is_low (&sharing->live, first, last))
        return TRUE;
    }
  return FALSE;
}

static void
join (IrSharing *sharing, guint whole, const IrSharingPart *part, const IrSharingStep *step)
{
  Block *all = block_at (sharing, whole), *own = block_at (sharing, part->block);
  Reading reading = { sharing, step, IR_REFUSAL_NONE };

  all->block.first = MIN (all->block.first, own->block.first);
  all->block.last = MAX (all->block.last, own->block.last);
  own->parent = whole;
  own->at = part->at;
  all->intervals = ir_mem_intervals_join (all->intervals, g_steal_pointer (&own->intervals),
                                          part->at, look_whether_over, &reading);
}

/**
 * ir_sharing_join:
 * @sharing: what has been added
 * @whole: a live range in a block of its own
 * @parts: (inout) (array length=n): what @step joins to it
 * @n: how many
 * @step: the step that joins
 *
 * Moves parts into the whole, where they are ranges of it. What is joined twice lies in the first
 * place only.
 */
void
ir_sharing_join (
    IrSharing *sharing, guint whole, IrSharingPart *parts, guint n, const IrSharingStep *step)
{
  guint64 at;
  guint block = ir_sharing_block_of (sharing, whole, &at);

  if (n == 0) /* where there may be no array to sort */
    return;
  for (guint i = 0; i < n && !ir_mem_stopped (sharing->options); i++)
    find_part (sharing, block, &parts[i]);
  qsort (parts, n, sizeof *parts, compare_parts);
  for (guint i = 0; i < n && !ir_mem_stopped (sharing->options); i++)
    {
      if (parts[i].refusal != IR_REFUSAL_NONE)
        continue;
      if (block_at (sharing, parts[i].block)->parent != NONE)
        parts[i].refusal = IR_REFUSAL_PART;
      else if (!is_worth (sharing, block, parts[i].block))
        parts[i].refusal = IR_REFUSAL_PEAK;
      else
        join (sharing, block, &parts[i], step);
    }
}

/* -- what comes of it -- */

/**
 * ir_sharing_owner:
 * @sharing: what has been added
 * @block: from ir_sharing_block_of()
 *
 * Returns: the live range that the block was made for
 */
guint
ir_sharing_owner (const IrSharing *sharing, guint block)
{
  return block_at (sharing, block)->owner;
}

/**
 * ir_sharing_blocks:
 * @sharing: all that there is
 * @numbers: (nullable): of guint: gets, by block, its index in what is returned
 *
 * Returns: (transfer full): of #IrMemBlock: what has to be placed
 */
GArray *
ir_sharing_blocks (const IrSharing *sharing, GArray *numbers)
{
  GArray *blocks = g_array_new (FALSE, FALSE, sizeof (IrMemBlock));

  for (guint i = 0; i < sharing->blocks->len; i++)
    {
      const Block *block = block_at (sharing, i);
      if (numbers != NULL)
        g_array_append_val (numbers, blocks->len);
      if (block->parent == NONE)
        g_array_append_val (blocks, block->block);
    }
  return blocks;
}
