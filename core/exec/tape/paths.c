/* The chain rule, path by path: a derivative is the sum over all paths of the products of the slopes
 * along them. Source: Bauer 1974, Computational Graphs and Rounding Error. */
#include "config.h"

#include "core/exec/tape/tape.h"

#include <math.h>

#define MAX_TRIED 20000 /* there may be exponentially many */

typedef struct
{
  const IrTape *tape;
  IrValueId by;
  GArray *here;  /* of IrValueId: from what is derived */
  GArray *paths; /* of IrTapePath */
  guint n_tried;
} Search;

static void
clear_path (gpointer data)
{
  g_array_unref (((IrTapePath *) data)->values);
}

static void
add_path (Search *search, double product)
{
  IrTapePath path = { .values = g_array_new (FALSE, FALSE, sizeof (IrValueId)),
                      .contribution = product };

  for (guint i = search->here->len; i-- > 0;)
    g_array_append_val (path.values, g_array_index (search->here, IrValueId, i));
  g_array_append_val (search->paths, path);
}

/* From @value back to what it is derived by */
static void
follow (Search *search, IrValueId value, double product)
{
  const IrTapeRow *row = ir_tape_row (search->tape, value);

  if (row == NULL || ++search->n_tried > MAX_TRIED)
    return;
  g_array_append_val (search->here, value);
  if (value == search->by)
    add_path (search, product);
  for (guint i = 0; value != search->by && i < row->partials->len; i++)
    {
      const IrTapePartial *partial = &g_array_index (row->partials, IrTapePartial, i);
      if (!isnan (partial->slope) || isnan (product))
        follow (search, partial->input, product * partial->slope);
    }
  g_array_set_size (search->here, search->here->len - 1);
}

static gint
by_size (gconstpointer a, gconstpointer b)
{
  double x = fabs (((const IrTapePath *) a)->contribution);
  double y = fabs (((const IrTapePath *) b)->contribution);

  return (x < y) - (x > y);
}

/**
 * ir_tape_paths:
 * @tape: a tape
 * @by: a value that it is derived by
 * @max: most paths that are given
 * @all: (out): whether these are all that there are
 *
 * Returns: (transfer full) (element-type IrTapePath): those that contribute most, largest first; none
 *   where what lies between has several elements
 */
GArray *
ir_tape_paths (const IrTape *tape, IrValueId by, guint max, gboolean *all)
{
  g_autoptr (GArray) here = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  Search search = { .tape = tape, .by = by, .here = here };

  search.paths = g_array_new (FALSE, FALSE, sizeof (IrTapePath));
  g_array_set_clear_func (search.paths, clear_path);
  follow (&search, tape->of, 1);
  g_array_sort (search.paths, by_size);
  *all = search.n_tried <= MAX_TRIED && search.paths->len <= max;
  if (search.paths->len > max)
    g_array_set_size (search.paths, max);
  return search.paths;
}
