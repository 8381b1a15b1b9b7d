#include "config.h"

/* A picture that is much higher than wide is cut between its layers, and the pieces stand side by
 * side, as text does in columns. This is done to the finished picture, not to the layout: what keeps
 * its place from step to step keeps it as before.
 *
 * A cut goes through no box and few lines. A line that is cut runs below its column, up in
 * the gap and into the next one from above; lines keep their order, so none crosses another there. It goes through no
 * frame either, but through one that is much higher than wide itself and has its rows alone: its columns stand in it,
 * below its title, and what is behind it begins another column. */

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
#define LABEL_REACH  24.0 /* px from where a line begins, to where its label may */
#define LEAST_COLUMN 0.3  /* of the wanted height */

typedef struct
{
  double y;      /* px, of the cut above; the first column: the upper edge */
  double end;    /* px */
  double dx, dy; /* px, by which all in it is moved */
  double right;  /* px, moved: where its gap begins */
  double pad;    /* px, of that outside of what is in it: edges of frames that end here */
  GArray *cut;   /* of double: x in px of the lines cut at its end, ascending */
} Column;

/* One that may be cut. */
typedef struct
{
  guint box;
  double y, end;              /* px */
  double above, right, below; /* px, between it and what is in it */
} Frame;

typedef struct
{
  IrScene *scene;
  GArray *frames; /* of Frame: each in those before it */
  GArray *gaps;   /* of Span: places of cuts, ascending */
  guint *cost;    /* lines that a cut in each gap goes through */
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

static const IrSceneBox *
box_at (const Wrap *w, guint i)
{
  return &g_array_index (w->scene->boxes, IrSceneBox, i);
}

static const Frame *
frame_at (const Wrap *w, guint i)
{
  return &g_array_index (w->frames, Frame, i);
}

static gboolean
encloses (const IrSceneBox *frame, const IrSceneBox *b)
{
  return frame->x <= b->x && b->x + b->width <= frame->x + frame->width && frame->y <= b->y &&
         b->y + b->height <= frame->y + frame->height;
}

/* FALSE: something stands beside it. Says how much room it leaves around what is in it. */
static gboolean
has_rows_alone (const Wrap *w, Frame *frame)
{
  const IrSceneBox *f = box_at (w, frame->box);
  double top = G_MAXDOUBLE, right = -G_MAXDOUBLE, bottom = -G_MAXDOUBLE;

  for (guint i = 0; i < w->scene->boxes->len; i++)
    {
      const IrSceneBox *b = box_at (w, i);

      if (i == frame->box || encloses (b, f) || b->y >= f->y + f->height ||
          b->y + b->height <= f->y)
        continue;
      if (!encloses (f, b))
        return FALSE;
      top = MIN (top, b->y);
      right = MAX (right, b->x + b->width);
      bottom = MAX (bottom, b->y + b->height);
    }
  frame->above = top - f->y;
  frame->right = f->x + f->width - right;
  frame->below = f->y + f->height - bottom;
  return top <= bottom;
}

static int
compare_frames (gconstpointer a, gconstpointer b)
{
  const Frame *x = a, *y = b;

  return x->y != y->y ? (x->y > y->y) - (x->y < y->y) : (x->end < y->end) - (x->end > y->end);
}

/* px */
static double
column_height (const IrLayoutRect *r)
{
  return MAX (MAX (sqrt (r->height * (r->width + GAP) / SHAPE), 900),
              r->height / MAX_COLUMNS / (1 - LOOK));
}

/* What is not higher than a column need not be cut. */
static void
find_frames (Wrap *w, const IrLayoutRect *r)
{
  const double least = MAX (column_height (r), LEAST);

  for (guint i = 0; i < w->scene->boxes->len; i++)
    {
      const IrSceneBox *b = box_at (w, i);
      Frame frame = { .box = i, .y = b->y, .end = b->y + b->height };

      if (b->kind == IR_SCENE_CLUSTER && b->height >= least && b->height >= TALL * b->width &&
          has_rows_alone (w, &frame))
        g_array_append_val (w->frames, frame);
    }
  g_array_sort (w->frames, compare_frames);
}

static gboolean
may_be_cut (const Wrap *w, guint box)
{
  for (guint i = 0; i < w->frames->len; i++)
    if (frame_at (w, i)->box == box)
      return TRUE;
  return FALSE;
}

/* Where no box and no text of a frame stands. */
static void
find_gaps (Wrap *w)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (Span));
  double end;

  for (guint i = 0; i < w->scene->boxes->len; i++)
    {
      const IrSceneBox *b = box_at (w, i);
      const Span span = { b->y, b->y + b->height };

      if (!may_be_cut (w, i))
        g_array_append_val (taken, span);
    }
  for (guint i = 0; i < w->frames->len; i++)
    {
      const Frame *f = frame_at (w, i);
      const Span edges[] = { { f->y, f->y + f->above }, { f->end - f->below, f->end } };

      g_array_append_vals (taken, edges, G_N_ELEMENTS (edges));
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

/* A part of a line that goes down. */
typedef struct
{
  double x, from, to; /* px */
} Part;

static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const Part *p = a, *q = b;

  return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->from > q->from) - (p->from < q->from);
}

/* Lines of one value run above each other until they part: such count once. (transfer full) (element-type Part) */
static GArray *
find_parts (const IrScene *scene)
{
  GArray *parts = g_array_new (FALSE, FALSE, sizeof (Part));
  guint n = 0;

  for (guint i = 0; i < scene->lines->len; i++)
    {
      const IrSceneLine *line = &g_array_index (scene->lines, IrSceneLine, i);
      const IrLayoutPoint *p = ir_scene_line_points (scene, line);

      for (guint k = 0; k + 1 < line->n_points; k++)
        {
          const Part part = { p[k].x, MIN (p[k].y, p[k + 1].y), MAX (p[k].y, p[k + 1].y) };

          if (part.from < part.to)
            g_array_append_val (parts, part);
        }
    }
  g_array_sort (parts, compare_parts);
  for (guint i = 0; i < parts->len; i++)
    {
      const Part *part = &g_array_index (parts, Part, i);
      Part *last = n > 0 ? &g_array_index (parts, Part, n - 1) : NULL;

      if (last != NULL && last->x == part->x && part->from <= last->to)
        last->to = MAX (last->to, part->to);
      else
        g_array_index (parts, Part, n++) = *part;
    }
  g_array_set_size (parts, n);
  return parts;
}

/* How many lines a cut at each of @places goes through, for all at once: each part of a line begins
 * and ends to be cut somewhere. */
static guint *
count_cuts (const IrScene *scene, const double *places, guint n)
{
  g_autofree gint *steps = g_new0 (gint, n + 1);
  g_autoptr (GArray) parts = find_parts (scene);
  guint *counts = g_new0 (guint, n + 1);
  gint sum = 0;

  for (guint i = 0; i < parts->len; i++)
    {
      const Part *part = &g_array_index (parts, Part, i);

      steps[first_behind (places, n, part->from)]++;
      steps[first_behind (places, n, part->to)]--;
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

/* Where the innermost frame that a cut at @y goes through is left. INFINITY: there is none, or nothing behind it. */
static double
leave_frame (const Wrap *w, double y)
{
  double end = INFINITY;

  for (guint i = 0; i < w->frames->len; i++)
    if (frame_at (w, i)->y < y && y < frame_at (w, i)->end)
      end = frame_at (w, i)->end;
  for (guint i = 0; i < w->gaps->len; i++)
    if (g_array_index (w->gaps, Span, i).from >= end)
      return cut_in (&g_array_index (w->gaps, Span, i));
  return INFINITY;
}

/* Frames that are cut have their last column for themselves. */
static gboolean
frames_are_left (const Wrap *w)
{
  for (guint i = 0; i + 1 < w->columns->len; i++)
    {
      const double end = leave_frame (w, g_array_index (w->columns, Column, i).end);
      gboolean is_left = end == INFINITY;

      for (guint k = i + 1; k < w->columns->len && !is_left; k++)
        is_left = fabs (g_array_index (w->columns, Column, k).end - end) < 1;
      if (!is_left)
        return FALSE;
    }
  return TRUE;
}

static gboolean
choose_columns (Wrap *w, const IrLayoutRect *r)
{
  const double height = column_height (r);
  double y = r->y;

  while (w->columns->len < MAX_COLUMNS)
    {
      const double left = leave_frame (w, y);
      const gboolean fits = y + height >= r->y + r->height;
      double cut = fits ? left : choose_cut (w, y + height * (1 - LOOK), y + height);
      Column column = { .y = y };

      if (isnan (cut))
        cut = nearest_cut (w, y, height);
      cut = fmin (cut, left);
      if (!isfinite (cut))
        break;
      column.end = cut;
      g_array_append_val (w->columns, column);
      y = cut;
    }
  g_array_append_val (w->columns, ((Column){ .y = y, .end = r->y + r->height }));
  return w->columns->len > 1 && frames_are_left (w);
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
  return w->columns->len > 1 && frames_are_left (w);
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
    {
      GArray *cut = column_at (w, i)->cut;
      guint n = 0;

      g_array_sort (cut, compare_doubles);
      for (guint k = 0; k < cut->len; k++)
        if (n == 0 || g_array_index (cut, double, k) != g_array_index (cut, double, n - 1))
          g_array_index (cut, double, n++) = g_array_index (cut, double, k);
      g_array_set_size (cut, n);
    }
}

/* In the innermost frame that is cut above it, below its title; else at the upper edge. */
static double
top_of_column (const Wrap *w, guint i, double top)
{
  const Column *column = column_at (w, i);
  double y = top;

  for (guint k = 0; k < w->frames->len; k++)
    {
      const Frame *f = frame_at (w, k);

      if (f->y < column->y && column->y < f->end)
        y = f->y + column_at (w, column_of (w, f->y))->dy + f->above + ROOM +
            TRACK * column_at (w, i - 1)->cut->len;
    }
  return y;
}

/* px, of the frames of which it is the last column */
static double
pad_of_column (const Wrap *w, guint i)
{
  double pad = 0;

  for (guint k = 0; k < w->frames->len; k++)
    {
      const Frame *f = frame_at (w, k);

      if (column_of (w, f->end - 1) == i && column_of (w, f->y) < i)
        pad += f->right;
    }
  return pad;
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
      column->dy = top_of_column (w, i, r->y) - column->y;
      column->pad = pad_of_column (w, i);
      column->right = right[i] + column->dx + column->pad;
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

/* Around all its columns, the lines that turn below them, and the frames in it, which have been stretched. */
static void
stretch_frame (const Wrap *w, guint index)
{
  const Frame *f = frame_at (w, index);
  IrSceneBox *b = &g_array_index (w->scene->boxes, IrSceneBox, f->box);
  const guint first = column_of (w, f->y), last = column_of (w, f->end - 1);
  double right = -G_MAXDOUBLE, bottom = -G_MAXDOUBLE;

  if (first == last)
    return;
  for (guint i = first; i <= last; i++)
    {
      const Column *column = column_at (w, i);
      const double end = MIN (column->end, f->end - f->below) + column->dy;

      right = MAX (right, column->right - column->pad);
      bottom = MAX (bottom, end + (i < last ? ROOM + TRACK * column->cut->len : 0));
    }
  for (guint k = index + 1; k < w->frames->len && frame_at (w, k)->end <= f->end; k++)
    {
      const IrSceneBox *inner = box_at (w, frame_at (w, k)->box);

      right = MAX (right, inner->x + inner->width);
      bottom = MAX (bottom, inner->y + inner->height);
    }
  b->width = right + f->right - b->x;
  b->height = bottom + f->below - b->y;
}

/* The label of a line goes to where the line is now seen first. */
static void
move_label (const Wrap *w, const IrLayoutPoint *from, const IrLayoutPoint *to)
{
  for (guint i = 0; i < w->scene->texts->len; i++)
    {
      IrSceneText *t = &g_array_index (w->scene->texts, IrSceneText, i);

      if (t->box < 0 && t->x >= from->x && t->x < from->x + LABEL_REACH && t->y >= from->y &&
          t->y < from->y + LABEL_REACH)
        {
          t->x += to->x - from->x;
          t->y = to->y - TRACK;
        }
    }
}

/* What a frame gives begins at the side of it where it leaves the last column, not at the lower edge of before. */
static void
clip_line (const Wrap *w, const Frame *f, IrSceneLine *line, GArray *points)
{
  const IrSceneBox *b = box_at (w, f->box);
  const double right = b->x + b->width;
  IrLayoutPoint *p = &g_array_index (points, IrLayoutPoint, line->first_point);
  const IrLayoutPoint start = p[0];

  for (guint k = 0; k + 1 < line->n_points; k++)
    if (p[k].x < right && p[k + 1].x > right)
      {
        p[k].x = right;
        line->first_point += k;
        line->n_points -= k;
        move_label (w, &start, &p[k + 1]);
        return;
      }
}

static void
clip_lines (const Wrap *w, guint index, GArray *points)
{
  const Frame *f = frame_at (w, index);

  if (column_of (w, f->y) == column_of (w, f->end - 1))
    return;
  for (guint i = 0; i < w->scene->lines->len; i++)
    {
      IrSceneLine *line = &g_array_index (w->scene->lines, IrSceneLine, i);

      if (line->from == (gint32) f->box && line->n_points > 1)
        clip_line (w, f, line, points);
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
  for (guint i = w->frames->len; i-- > 0;)
    {
      stretch_frame (w, i);
      clip_lines (w, i, points);
    }
  g_array_unref (w->scene->points);
  w->scene->points = g_steal_pointer (&points);
}

static void
prepare (Wrap *w)
{
  g_array_set_size (w->gaps, 0);
  g_array_set_size (w->columns, 0);
  g_free (w->cost);
  find_gaps (w);
  w->cost = count_cuts_of_gaps (w);
}

/* As before, else anew, and where frames cannot be left, not through them. */
static gboolean
divide (Wrap *w, const IrLayoutRect *r, const GArray *cuts, gboolean tall)
{
  find_frames (w, r);
  prepare (w);
  if (cuts != NULL && keep_columns (w, r, cuts))
    return TRUE;
  g_array_set_size (w->columns, 0);
  if (!tall)
    return FALSE;
  if (choose_columns (w, r))
    return TRUE;
  if (w->frames->len == 0)
    return FALSE;
  g_array_set_size (w->frames, 0);
  prepare (w);
  return choose_columns (w, r);
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
  const GArray *cuts = before != NULL ? before->cuts : NULL;
  if (!tall && cuts == NULL)
    return;
  w.frames = g_array_new (FALSE, FALSE, sizeof (Frame));
  w.gaps = g_array_new (FALSE, FALSE, sizeof (Span));
  w.columns = g_array_new (FALSE, FALSE, sizeof (Column));
  if (divide (&w, &r, cuts, tall))
    {
      scene->cuts = g_array_new (FALSE, FALSE, sizeof (double));
      for (guint i = 0; i + 1 < w.columns->len; i++)
        g_array_append_val (scene->cuts, column_at (&w, i)->end);
      place_columns (&w, &r);
      move_all (&w);
    }
  g_array_unref (w.frames);
  g_array_unref (w.gaps);
  g_free (w.cost);
  for (guint i = 0; i < w.columns->len; i++)
    g_clear_pointer (&column_at (&w, i)->cut, g_array_unref);
  g_array_unref (w.columns);
}
