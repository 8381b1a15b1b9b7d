#include "config.h"

#include "passes/training/curves.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

/* Columns, in order, before those of parameters (parameters.c); files of older versions end before the norms. */
static const struct
{
  const char *name;
  gsize offset;
} columns[] = {
  { "loss", G_STRUCT_OFFSET (IrTrainingPoint, loss) },
  { "accuracy", G_STRUCT_OFFSET (IrTrainingPoint, accuracy) },
  { "rate", G_STRUCT_OFFSET (IrTrainingPoint, rate) },
  { "ms", G_STRUCT_OFFSET (IrTrainingPoint, ms) },
  { "validation_loss", G_STRUCT_OFFSET (IrTrainingPoint, check_loss) },
  { "validation_accuracy", G_STRUCT_OFFSET (IrTrainingPoint, check_accuracy) },
  { "weight_norm", G_STRUCT_OFFSET (IrTrainingPoint, weights) },
  { "update_norm", G_STRUCT_OFFSET (IrTrainingPoint, update) },
};
#define HEAD                                                                                       \
  "step,epoch,loss,accuracy,rate,ms,validation_loss,validation_accuracy,weight_norm,update_norm"

/**
 * ir_training_point:
 * @step: what a step gave
 * @check: (nullable): what is held out gave behind it
 *
 * Returns: both as one row
 */
IrTrainingPoint
ir_training_point (const IrTrainerResult *step, const IrTrainerResult *check)
{
  return (IrTrainingPoint){ .step = step->step,
                            .epoch = step->epoch,
                            .loss = step->loss,
                            .accuracy = step->accuracy,
                            .rate = step->rate,
                            .ms = step->ms,
                            .check_loss = check != NULL ? check->loss : NAN,
                            .check_accuracy = check != NULL ? check->accuracy : NAN,
                            .weights = step->weights,
                            .update = step->update };
}

/* -- CSV -- */

/**
 * ir_training_csv_head:
 *
 * Returns: (transfer none): the names of the columns, a line that has no end yet
 */
const char *
ir_training_csv_head (void)
{
  return HEAD;
}

/**
 * ir_training_point_to_csv:
 * @point: a row
 *
 * Returns: (transfer full): its line, without an end; what there is none of is empty
 */
char *
ir_training_point_to_csv (const IrTrainingPoint *point)
{
  GString *line = g_string_new (NULL);

  g_string_append_printf (line, "%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT, point->step,
                          point->epoch);
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    {
      const double value = G_STRUCT_MEMBER (double, point, columns[i].offset);
      char text[G_ASCII_DTOSTR_BUF_SIZE];

      g_string_append_c (line, ',');
      if (!isnan (value))
        g_string_append (line, g_ascii_formatd (text, sizeof text, "%.9g", value));
    }
  return g_string_free (line, FALSE);
}

static gboolean
parse_line (const char *text, IrTrainingPoint *point)
{
  g_auto (GStrv) cells = g_strsplit (text, ",", -1);
  const guint n = g_strv_length (cells);

  if (n < 3 || !g_ascii_string_to_unsigned (cells[0], 10, 1, G_MAXINT64, &point->step, NULL) ||
      !g_ascii_string_to_unsigned (cells[1], 10, 1, G_MAXINT64, &point->epoch, NULL))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    {
      double *value = G_STRUCT_MEMBER_P (point, columns[i].offset);
      const char *cell = i + 2 < n ? cells[i + 2] : "";
      char *end;

      *value = *cell != '\0' ? g_ascii_strtod (cell, &end) : NAN;
      if (*cell != '\0' && (end == cell || *end != '\0'))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_training_points_load:
 * @path: a file that irscope train --log has written
 * @error: return location for an error
 *
 * Fails with %G_IO_ERROR_INVALID_DATA where a line is none of these, naming it.
 *
 * Returns: (transfer full) (nullable): of #IrTrainingPoint
 */
GArray *
ir_training_points_load (const char *path, GError **error)
{
  g_autofree char *contents = NULL;
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (IrTrainingPoint));
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents (path, &contents, NULL, error))
    return NULL;
  lines = g_strsplit (contents, "\n", -1);
  if (lines[0] == NULL || !g_str_has_prefix (lines[0], "step,epoch,loss"))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                   "%s: is no log of irscope train: its first line is not \"step,epoch,loss,…\"",
                   path);
      return NULL;
    }
  for (guint i = 1; lines[i] != NULL; i++)
    {
      IrTrainingPoint point;

      g_strchomp (lines[i]);
      if (lines[i][0] == '\0')
        continue;
      if (!parse_line (lines[i], &point))
        {
          g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s: line %u is no step: \"%s\"",
                       path, i + 1, lines[i]);
          return NULL;
        }
      g_array_append_val (points, point);
    }
  return g_steal_pointer (&points);
}

/* -- curves -- */

static void
add_curve (IrChartPanel *panel, const char *name, const GArray *points, gsize offset)
{
  IrChartCurve curve = { name, g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint)) };

  for (guint i = 0; i < points->len; i++)
    {
      const IrTrainingPoint *point = &g_array_index (points, IrTrainingPoint, i);
      const IrLayoutPoint at = { (double) point->step, G_STRUCT_MEMBER (double, point, offset) };
      if (isfinite (at.y))
        g_array_append_val (curve.points, at);
    }
  g_array_append_val (panel->curves, curve);
}

#define CURVE(panel, name, field)                                                                  \
  add_curve (panel, name, points, G_STRUCT_OFFSET (IrTrainingPoint, field))

/**
 * ir_training_chart:
 * @points: of #IrTrainingPoint
 * @options: (nullable): the drawing area
 *
 * Returns: (transfer full): loss, accuracy, norms and rate over the steps
 */
IrScene *
ir_training_chart (const GArray *points, const IrChartOptions *options)
{
  IrChartPanel panels[] = { { "Loss", TRUE, NULL, NULL },
                            { "Accuracy", FALSE, NULL, NULL },
                            { "Norms", TRUE, NULL, NULL },
                            { "Rate", FALSE, NULL, NULL } };
  IrScene *scene;

  for (guint i = 0; i < G_N_ELEMENTS (panels); i++)
    panels[i].curves = ir_chart_curves_new ();
  CURVE (&panels[0], "training", loss);
  CURVE (&panels[0], "held out", check_loss);
  CURVE (&panels[1], "training", accuracy);
  CURVE (&panels[1], "held out", check_accuracy);
  CURVE (&panels[2], "weights", weights);
  CURVE (&panels[2], "update", update);
  CURVE (&panels[3], "rate", rate);
  scene = ir_chart_panels (panels, G_N_ELEMENTS (panels), "step", options);
  for (guint i = 0; i < G_N_ELEMENTS (panels); i++)
    g_array_unref (panels[i].curves);
  return scene;
}
