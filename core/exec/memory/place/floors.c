/* What is known of a placement under way: below what each waiting block cannot lie, how high what
 * waits in a section of time must reach, and how all of it is taken back. */
#include "config.h"

#include "core/exec/memory/place/exact.h"

/* -- undoing -- */

/* Notes what ir_exact_undo() is to bring back */
void
ir_exact_record (IrExactSearch *search, IrExactChangeKind kind, guint index, gint64 old)
{
  IrExactChange change = { kind, index, old };

  g_array_append_val (search->changes, change);
}

static void
unplace (IrExactSearch *search, IrExactItem *item)
{
  item->placed = FALSE;
  for (guint s = item->lo; s <= item->hi; s++)
    search->sections[s].waiting += item->size;
  for (guint s = item->lo + 1; s <= item->hi; s++)
    search->sections[s].crossing++;
}

void
ir_exact_undo (IrExactSearch *search, guint mark)
{
  for (guint i = search->changes->len; i-- > mark;)
    {
      IrExactChange change = g_array_index (search->changes, IrExactChange, i);
      switch (change.kind)
        {
        case IR_EXACT_CHANGE_FLOOR:
          search->items[change.index].floor = change.old;
          break;
        case IR_EXACT_CHANGE_TOP:
          search->items[change.index].top = change.old;
          break;
        case IR_EXACT_CHANGE_LOW:
          search->sections[change.index].low = change.old;
          break;
        case IR_EXACT_CHANGE_END:
          search->sections[change.index].end = change.old;
          break;
        case IR_EXACT_CHANGE_PLACED:
          unplace (search, &search->items[change.index]);
          break;
        }
    }
  g_array_set_size (search->changes, mark);
}

/* -- bounds -- */

/* Its bound is looked at by the next ir_exact_propagate() */
void
ir_exact_queue_section (IrExactSearch *search, guint index)
{
  if (search->sections[index].queued)
    return;
  search->sections[index].queued = TRUE;
  g_array_append_val (search->dirty, index);
}

static gboolean
is_hanging (const IrExactItem *item)
{
  return !item->placed && item->floor > item->top;
}

/* What it can come to lie on is looked at by the next ir_exact_propagate(), if it lies on
 * nothing. */
void
ir_exact_queue_hanging (IrExactSearch *search, guint index)
{
  IrExactItem *item = &search->items[index];

  if (item->queued || !is_hanging (item))
    return;
  item->queued = TRUE;
  g_array_append_val (search->hanging, index);
}

/* What follows from it is found by the next ir_exact_propagate() */
void
ir_exact_raise_floor (IrExactSearch *search, guint index, gint64 floor)
{
  IrExactItem *item = &search->items[index];

  if (floor <= item->floor)
    return;
  ir_exact_record (search, IR_EXACT_CHANGE_FLOOR, index, item->floor);
  item->floor = floor;
  for (guint s = item->lo; s <= item->hi; s++)
    ir_exact_queue_section (search, s);
  for (guint i = 0; i < item->n_neighbours; i++)
    ir_exact_queue_hanging (search, item->neighbours[i]);
  ir_exact_queue_hanging (search, index);
}

/* Forgets what was to be looked at */
void
ir_exact_clear_queues (IrExactSearch *search)
{
  for (guint i = 0; i < search->dirty->len; i++)
    search->sections[g_array_index (search->dirty, guint, i)].queued = FALSE;
  for (guint i = 0; i < search->hanging->len; i++)
    search->items[g_array_index (search->hanging, guint, i)].queued = FALSE;
  g_array_set_size (search->dirty, 0);
  g_array_set_size (search->hanging, 0);
}

/* A block that begins at or above the end that @item has when it lies at its top is no support:
 * then @item could be let down. Returns the lowest top on which @item can come to lie, given
 * that a waiting block comes below it; %IR_EXACT_HIGH if none can. */
gint64
ir_exact_lowest_support (const IrExactSearch *search, const IrExactItem *item)
{
  gint64 end = item->top + item->size, lowest = IR_EXACT_HIGH;

  for (guint i = 0; i < item->n_neighbours; i++)
    {
      const IrExactItem *other = &search->items[item->neighbours[i]];
      if (!other->placed && other->floor < end)
        lowest = MIN (lowest, other->floor + other->size);
    }
  return lowest;
}

/* Only the search that goes by failures learns from them: those of the other are elsewhere. */
static void
count_failure (IrExactSearch *search, guint section)
{
  if (search->focus == IR_EXACT_FOCUS_MIXED)
    search->sections[section].failures++;
}

static gboolean
check_hanging (IrExactSearch *search, guint index)
{
  IrExactItem *item = &search->items[index];

  if (!is_hanging (item))
    return TRUE;
  gint64 support = ir_exact_lowest_support (search, item);
  if (support > search->capacity - item->size)
    {
      for (guint s = item->lo; s <= item->hi; s++)
        count_failure (search, s);
      return FALSE;
    }
  ir_exact_raise_floor (search, index, support);
  return TRUE;
}

static gint64
sorting_floor (const IrExactItem *item)
{
  return item->placed ? -1 : item->floor;
}

/* Sorts the blocks of @section by their floors; those placed come first. The order of the last look
 * is nearly right. */
static void
sort_section (const IrExactSearch *search, IrExactSection *section)
{
  for (guint i = 1; i < section->n_items; i++)
    {
      guint index = section->items[i], j = i;
      gint64 floor = sorting_floor (&search->items[index]);
      for (; j > 0 && sorting_floor (&search->items[section->items[j - 1]]) > floor; j--)
        section->items[j] = section->items[j - 1];
      section->items[j] = index;
    }
}

/* What waits here is stacked without gaps but those that floors force, as jobs with release dates
 * on one machine. */
static gboolean
check_section (IrExactSearch *search, guint index)
{
  IrExactSection *section = &search->sections[index];
  gint64 low = IR_EXACT_HIGH, end = 0;

  if (section->waiting > 0)
    sort_section (search, section);
  for (guint i = 0; i < section->n_items; i++)
    {
      const IrExactItem *item = &search->items[section->items[i]];
      if (item->placed)
        continue;
      low = MIN (low, item->floor);
      end = MAX (end, item->floor) + item->size;
    }
  if (low != section->low)
    ir_exact_record (search, IR_EXACT_CHANGE_LOW, index, section->low);
  if (end != section->end)
    ir_exact_record (search, IR_EXACT_CHANGE_END, index, section->end);
  section->low = low;
  section->end = end;
  if (end <= search->capacity)
    return TRUE;
  count_failure (search, index);
  return FALSE;
}

static guint
pop (GArray *queue)
{
  guint index = g_array_index (queue, guint, queue->len - 1);

  g_array_set_size (queue, queue->len - 1);
  return index;
}

/* Draws all conclusions from what has changed. Returns whether all that waits may still fit. */
gboolean
ir_exact_propagate (IrExactSearch *search)
{
  while (search->hanging->len > 0 || search->dirty->len > 0)
    {
      gboolean fits;
      if (search->hanging->len > 0)
        {
          guint index = pop (search->hanging);
          search->items[index].queued = FALSE;
          fits = check_hanging (search, index);
        }
      else
        {
          guint index = pop (search->dirty);
          search->sections[index].queued = FALSE;
          fits = check_section (search, index);
        }
      if (!fits)
        {
          ir_exact_clear_queues (search);
          return FALSE;
        }
    }
  return TRUE;
}
