#include "config.h"

/* A picture that is much higher than wide is cut between its layers, and the pieces stand side by
 * side, as text does in columns. This is done to the finished picture, not to the layout: what keeps
 * its place from step to step keeps it as before.
 *
 * A cut goes through no box, no frame and few lines. A line that is cut runs below its column, up in
 * the gap and into the next one from above; lines keep their order, so none crosses another there. */

#include "core/layout/scene-private.h"

#include <math.h>

#define MOST_CUT     8      /* lines that one cut may go through */
#define GAP          56.0   /* px between columns, and more for each line */
#define TRACK        12.0   /* px between lines in the gap */
#define ROOM         20.0   /* px between a column's end and the first line that turns there */
#define LOOK         0.35   /* part of a column by which a cut may be higher than wanted */
#define SHAPE        1.5    /* wanted width by height */
#define TALL         2.2    /* height by width of what is cut */
#define LEAST        1600.0 /* px, height of what is cut */
#define MAX_COLUMNS  250
#define LEAST_COLUMN 0.3 /* of the wanted height */

typedef struct
{
  double y;      /* px, of the cut above; the first column: the upper edge */
  double end;    /* px */
  double dx, dy; /* px, by which all in it is moved */
  double right;  /* px, moved: where its gap begins */
  GArray *cut;   /* of double: x in px of the lines cut at its end, ascending */
} Column;

typedef struct
{
  IrScene *scene;
  GArray *gaps; /* of Span: places of cuts, ascending */
  guint *cost;  /* lines that a cut in each gap goes through */
  GArray *columns;
} Wrap;

typedef struct
{
  double from, to; /* px, free of boxes */
} Span;

static int
compare_spans (gconstpointer a, gconstpointer b)
{
  const Span *x = a, *y = b;

  return x->from < y->from ? -1 : x->from > y->from;
}

/* Where no box and no text of a frame stands. */
static void
find_gaps (Wrap *w)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (Span));
  double end;

  for (guint i = 0; i < w->scene->boxes->len; i++)
    {
      const IrSceneBox *b = &g_array_index (w->scene->boxes, IrSceneBox, i);
      const Span span = { b->y, b->y + b->height };

      g_array_append_val (taken, span);
    }
  g_array_sort (taken, compare_spans);
  end = taken->len > 0 ? g_array_index (taken, Span, 0).to : 0;
  for (guint i = 1; i < taken->len; i++)
    {
      const Span *next = &g_array_index (taken, Span, i);

      if (next->from > end + 8)
        {
          const Span gap = { end, next->from };

          g_array_append_val (w->gaps, gap);
        }
      end = MAX (end, next->to);
    }
}

/* Behind what turns there, before the arrows. */
static double
cut_in (const Span *gap)
{
  return floor (gap->to) - 8;
}

/* The first of @n ascending places that is behind @y. */
static guint
first_behind (const double *places, guint n, double y)
{
  guint lo = 0, hi = n;

  while (lo < hi)
    {
      const guint mid = (lo + hi) / 2;

      if (places[mid] <= y)
        lo = mid + 1;
      else
        hi = mid;
    }
  return lo;
}

/* How many lines a cut at each of @places goes through, for all at once: each part of a line begins
 * and ends to be cut somewhere. */
static guint *
count_cuts (const IrScene *scene, const double *places, guint n)
{
  g_autofree gint *steps = g_new0 (gint, n + 1);
  guint *counts = g_new0 (guint, n + 1);
  gint sum = 0;

  for (guint i = 0; i < scene->lines->len; i++)
    {
      const IrSceneLine *line = &g_array_index (scene->lines, IrSceneLine, i);
      const IrLayoutPoint *p = ir_scene_line_points (scene, line);

      for (guint k = 0; k + 1 < line->n_points; k++)
        {
          steps[first_behind (places, n, MIN (p[k].y, p[k + 1].y))]++;
          steps[first_behind (places, n, MAX (p[k].y, p[k + 1].y))]--;
        }
    }
  for (guint i = 0; i < n; i++)
    {
      sum += steps[i];
      counts[i] = (guint) MAX (sum, 0);
    }
  return counts;
}

static guint *
count_cuts_of_gaps (const Wrap *w)
{
  g_autofree double *places = g_new (double, w->gaps->len + 1);

  for (guint i = 0; i < w->gaps->len; i++)
    places[i] = cut_in (&g_array_index (w->gaps, Span, i));
  return count_cuts (w->scene, places, w->gaps->len);
}

/* The lowest of the cheapest cuts from @earliest to @latest; NAN: none is cheap. */
static double
choose_cut (const Wrap *w, double earliest, double latest)
{
  double best = NAN;
  guint least = MOST_CUT + 1;

  for (guint i = 0; i < w->gaps->len; i++)
    {
      const Span *gap = &g_array_index (w->gaps, Span, i);
      const double y = cut_in (gap);

      if (y < earliest || y > latest)
        continue;
      if (w->cost[i] <= least && w->cost[i] <= MOST_CUT)
        {
          least = w->cost[i];
          best = y;
        }
    }
  return best;
}

/* The cheap cut next to where a column should end, where there is none in that place: large frames stand in
 * the way. NAN: there is none at all behind @y. */
static double
nearest_cut (const Wrap *w, double y, double height)
{
  double best = NAN;

  for (guint i = 0; i < w->gaps->len; i++)
    {
      const double cut = cut_in (&g_array_index (w->gaps, Span, i));

      if (cut > y + height * LEAST_COLUMN && w->cost[i] <= MOST_CUT &&
          !(fabs (cut - y - height) >= fabs (best - y - height)))
        best = cut;
    }
  return best;
}

static gboolean
choose_columns (Wrap *w, const IrLayoutRect *r)
{
  const double height = MAX (MAX (sqrt (r->height * (r->width + GAP) / SHAPE), 900),
                             r->height / MAX_COLUMNS / (1 - LOOK));
  double y = r->y;

  while (w->columns->len < MAX_COLUMNS && y + height < r->y + r->height)
    {
      double cut = choose_cut (w, y + height * (1 - LOOK), y + height);
      Column column = { .y = y };

      if (isnan (cut))
        cut = nearest_cut (w, y, height);
      if (isnan (cut))
        break;
      column.end = cut;
      g_array_append_val (w->columns, column);
      y = cut;
    }
  g_array_append_val (w->columns, ((Column){ .y = y, .end = r->y + r->height }));
  return w->columns->len > 1;
}

/* Where the picture before was cut, if one can still cut there: so steps do not move columns. */
static gboolean
keep_columns (Wrap *w, const IrLayoutRect *r, const GArray *cuts)
{
  const double *places = (const double *) (gconstpointer) cuts->data;
  g_autofree guint *n_cut = count_cuts (w->scene, places, cuts->len);
  double y = r->y;

  for (guint i = 0; i < cuts->len; i++)
    {
      const double cut = places[i];
      gboolean is_free = FALSE;

      for (guint k = 0; k < w->gaps->len && !is_free; k++)
        is_free = g_array_index (w->gaps, Span, k).from <= cut &&
                  cut <= g_array_index (w->gaps, Span, k).to;
      if (!is_free || cut <= y || cut >= r->y + r->height || n_cut[i] > 2 * MOST_CUT)
        {
          g_array_set_size (w->columns, 0);
          return FALSE;
        }
      g_array_append_val (w->columns, ((Column){ .y = y, .end = cut }));
      y = cut;
    }
  g_array_append_val (w->columns, ((Column){ .y = y, .end = r->y + r->height }));
  return w->columns->len > 1;
}

static guint
column_of (const Wrap *w, double y)
{
  guint lo = 0, hi = w->columns->len - 1;

  while (lo < hi)
    {
      const guint mid = (lo + hi) / 2;

      if (y >= g_array_index (w->columns, Column, mid).end)
        lo = mid + 1;
      else
        hi = mid;
    }
  return lo;
}

static Column *
column_at (const Wrap *w, guint i)
{
  return &g_array_index (w->columns, Column, i);
}

static void
widen (double *left, double *right, double x)
{
  *left = MIN (*left, x);
  *right = MAX (*right, x);
}

/* What is in each column, from left to right: @left and @right have one place for each. */
static void
measure_columns (const Wrap *w, double *left, double *right)
{
  for (guint k = 0; k < w->scene->boxes->len; k++)
    {
      const IrSceneBox *b = &g_array_index (w->scene->boxes, IrSceneBox, k);
      const guint i = column_of (w, b->y);

      widen (&left[i], &right[i], b->x);
      widen (&left[i], &right[i], b->x + b->width);
    }
  for (guint k = 0; k < w->scene->points->len; k++)
    {
      const IrLayoutPoint *p = &g_array_index (w->scene->points, IrLayoutPoint, k);
      const guint i = column_of (w, p->y);

      widen (&left[i], &right[i], p->x);
    }
  for (guint k = 0; k < w->scene->texts->len; k++)
    {
      const IrSceneText *t = &g_array_index (w->scene->texts, IrSceneText, k);
      const guint i = t->box < 0 ? column_of (w, t->y) : 0;

      if (t->box < 0)
        widen (&left[i], &right[i], t->x + t->width);
    }
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* A line that only passes through a column needs room there, too; and at each end it is cut. */
static void
measure_passing (Wrap *w, double *left, double *right)
{
  for (guint i = 0; i < w->columns->len; i++)
    column_at (w, i)->cut = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint k = 0; k < w->scene->lines->len; k++)
    {
      const IrSceneLine *line = &g_array_index (w->scene->lines, IrSceneLine, k);
      const IrLayoutPoint *p = ir_scene_line_points (w->scene, line);

      for (guint m = 0; m + 1 < line->n_points; m++)
        for (guint i = column_of (w, MIN (p[m].y, p[m + 1].y));
             i < column_of (w, MAX (p[m].y, p[m + 1].y)); i++)
          {
            widen (&left[i], &right[i], p[m + 1].x);
            widen (&left[i + 1], &right[i + 1], p[m + 1].x);
            g_array_append_val (column_at (w, i)->cut, p[m].x);
          }
    }
  for (guint i = 0; i < w->columns->len; i++)
    g_array_sort (column_at (w, i)->cut, compare_doubles);
}

/* Columns are as wide as what is in them, and begin at one height. */
static void
place_columns (Wrap *w, const IrLayoutRect *r)
{
  const guint n = w->columns->len;
  g_autofree double *left = g_new (double, n), *right = g_new (double, n);
  double x = r->x;

  for (guint i = 0; i < n; i++)
    {
      left[i] = G_MAXDOUBLE;
      right[i] = -G_MAXDOUBLE;
    }
  measure_columns (w, left, right);
  measure_passing (w, left, right);
  for (guint i = 0; i < n; i++)
    {
      Column *column = column_at (w, i);

      column->dx = x - left[i];
      column->dy = r->y - column->y;
      column->right = right[i] + column->dx;
      x = column->right + GAP + (i + 1 < n ? TRACK * column->cut->len : 0);
    }
}

static void
add_point (GArray *points, double x, double y)
{
  const IrLayoutPoint p = { x, y };

  g_array_append_val (points, p);
}

/* From the end of column @i, or towards it, to the beginning of the next one, at @x. */
static void
add_bridge (const Wrap *w, guint i, double x, gboolean down, GArray *points)
{
  const Column *here = column_at (w, i), *next = column_at (w, i + 1);
  const guint n =
      here->cut->len; /* and those left of @x: their places below the column and in the gap */
  const guint rank = first_behind ((const double *) (gconstpointer) here->cut->data, n,
                                   nextafter (x, -G_MAXDOUBLE));
  const double deep = TRACK * (n - 1 - MIN (rank, n - 1)); /* the leftmost goes deepest, farthest */
  const double low = here->end + here->dy + ROOM + deep,
               high = next->y + next->dy - ROOM - TRACK * rank;
  const double side = here->right + GAP / 2 + deep;
  const IrLayoutPoint bridge[] = {
    { x + here->dx, low }, { side, low }, { side, high }, { x + next->dx, high }
  };

  for (guint k = 0; k < G_N_ELEMENTS (bridge); k++)
    {
      const IrLayoutPoint *p = &bridge[down ? k : G_N_ELEMENTS (bridge) - 1 - k];

      add_point (points, p->x, p->y);
    }
}

static void
wrap_line (const Wrap *w, const IrLayoutPoint *p, guint n, GArray *points)
{
  guint at = column_of (w, p[0].y);

  for (guint k = 0; k < n; k++)
    {
      const guint to = column_of (w, p[k].y);

      for (; at < to; at++)
        add_bridge (w, at, p[k].x, TRUE, points);
      for (; at > to; at--)
        add_bridge (w, at - 1, p[k].x, FALSE, points);
      add_point (points, p[k].x + column_at (w, at)->dx, p[k].y + column_at (w, at)->dy);
    }
}

static void
move_all (Wrap *w)
{
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));
  g_autofree guint *starts = g_new (guint, w->scene->lines->len + 1);

  for (guint i = 0; i < w->scene->lines->len; i++)
    {
      const IrSceneLine *line = &g_array_index (w->scene->lines, IrSceneLine, i);

      starts[i] = points->len;
      wrap_line (w, ir_scene_line_points (w->scene, line), line->n_points, points);
    }
  starts[w->scene->lines->len] = points->len;
  for (guint i = 0; i < w->scene->lines->len; i++)
    {
      IrSceneLine *line = &g_array_index (w->scene->lines, IrSceneLine, i);

      line->first_point = starts[i];
      line->n_points = starts[i + 1] - starts[i];
    }
  for (guint i = 0; i < w->scene->texts->len; i++)
    {
      IrSceneText *t = &g_array_index (w->scene->texts, IrSceneText, i);
      const double y = t->box >= 0 ? g_array_index (w->scene->boxes, IrSceneBox, t->box).y : t->y;
      const Column *column = column_at (w, column_of (w, y));

      t->x += column->dx;
      t->y += column->dy;
    }
  for (guint i = 0; i < w->scene->boxes->len; i++)
    {
      IrSceneBox *b = &g_array_index (w->scene->boxes, IrSceneBox, i);
      const Column *column = column_at (w, column_of (w, b->y));

      b->x += column->dx;
      b->y += column->dy;
    }
  g_array_unref (w->scene->points);
  w->scene->points = g_steal_pointer (&points);
}

/* Puts a picture that would be a hairline into columns; before it is finished. @before: (nullable):
 * the picture whose places are kept */
void
ir_scene_wrap (IrScene *scene, const IrScene *before)
{
  Wrap w = { .scene = scene };
  IrLayoutRect r = { 0 };
  gboolean any = FALSE;

  for (guint i = 0; i < scene->boxes->len; i++)
    {
      const IrSceneBox *b = &g_array_index (scene->boxes, IrSceneBox, i);
      const double right = any ? MAX (r.x + r.width, b->x + b->width) : b->x + b->width;
      const double bottom = any ? MAX (r.y + r.height, b->y + b->height) : b->y + b->height;

      r.x = any ? MIN (r.x, b->x) : b->x;
      r.y = any ? MIN (r.y, b->y) : b->y;
      r.width = right - r.x;
      r.height = bottom - r.y;
      any = TRUE;
    }
  const gboolean tall = r.height >= LEAST && r.height >= TALL * r.width;
  const gboolean was = before != NULL && before->cuts != NULL;
  if (!tall && !was)
    return;
  w.gaps = g_array_new (FALSE, FALSE, sizeof (Span));
  w.columns = g_array_new (FALSE, FALSE, sizeof (Column));
  find_gaps (&w);
  w.cost = count_cuts_of_gaps (&w);
  if ((was && keep_columns (&w, &r, before->cuts)) || (tall && choose_columns (&w, &r)))
    {
      scene->cuts = g_array_new (FALSE, FALSE, sizeof (double));
      for (guint i = 0; i + 1 < w.columns->len; i++)
        g_array_append_val (scene->cuts, column_at (&w, i)->end);
      place_columns (&w, &r);
      move_all (&w);
    }
  g_array_unref (w.gaps);
  g_free (w.cost);
  for (guint i = 0; i < w.columns->len; i++)
    g_clear_pointer (&column_at (&w, i)->cut, g_array_unref);
  g_array_unref (w.columns);
}
