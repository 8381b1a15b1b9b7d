#include "config.h"

#include "passes/training/parameters.h"

#include "passes/training/curves.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

#define N_HISTORY 32
#define DECADES   6
#define HEIGHT    16 /* cells of a picture */

static void
course_free (gpointer data)
{
  IrParameterCourse *course = data;

  g_array_unref (course->history);
  g_free (course->name);
  g_free (course);
}

static IrParameterCourse *
course_new (const char *name)
{
  IrParameterCourse *course = g_new0 (IrParameterCourse, 1);

  course->name = g_strdup (name);
  course->weights = course->update = NAN;
  course->history = g_array_new (FALSE, FALSE, sizeof (double));
  course->stride = 1;
  return course;
}

/**
 * ir_parameter_courses_new:
 * @trainer: a training run
 *
 * Returns: (transfer full) (element-type IrParameterCourse): one for each parameter that @trainer
 *   measures, before its first step
 */
GPtrArray *
ir_parameter_courses_new (const IrTrainer *trainer)
{
  const GArray *states = ir_trainer_states (trainer);
  GPtrArray *courses = g_ptr_array_new_with_free_func (course_free);

  for (guint i = 0; i < states->len; i++)
    if (g_array_index (states, IrTrainerState, i).measured)
      g_ptr_array_add (courses, course_new (g_array_index (states, IrTrainerState, i).name));
  return courses;
}

/**
 * ir_parameter_courses_copy:
 * @courses: courses
 *
 * Returns: (transfer full) (element-type IrParameterCourse): the same, which do not change any more
 */
GPtrArray *
ir_parameter_courses_copy (const GPtrArray *courses)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func (course_free);

  for (guint i = 0; i < courses->len; i++)
    {
      const IrParameterCourse *from = courses->pdata[i];
      IrParameterCourse *course = g_memdup2 (from, sizeof *from);
      course->name = g_strdup (from->name);
      course->history = g_array_copy (from->history);
      g_ptr_array_add (copy, course);
    }
  return copy;
}

/**
 * ir_parameter_course_ratio:
 * @course: a parameter
 *
 * Returns: the norm of its change in the last step by its own; NaN before the first, and of zeros
 */
double
ir_parameter_course_ratio (const IrParameterCourse *course)
{
  return course->weights > 0 ? course->update / course->weights : NAN;
}

/* Two entries become one, and stand for twice the steps. */
static void
halve (IrParameterCourse *course)
{
  double *entries = (double *) course->history->data;

  for (guint i = 0; 2 * i + 1 < course->history->len; i++)
    entries[i] = MAX (entries[2 * i], entries[2 * i + 1]);
  g_array_set_size (course->history, course->history->len / 2);
  course->stride *= 2;
}

static void
course_take (IrParameterCourse *course, double weights, double update)
{
  course->weights = weights;
  course->update = update;
  const double ratio = ir_parameter_course_ratio (course);
  const double entry = isnan (ratio) ? 0 : ratio;
  GArray *history = course->history;

  if (history->len > 0 && course->n_last < course->stride)
    {
      double *last = &g_array_index (history, double, history->len - 1);
      *last = MAX (*last, entry);
      course->n_last++;
      return;
    }
  if (history->len == N_HISTORY)
    halve (course);
  g_array_append_val (history, entry);
  course->n_last = 1;
}

/**
 * ir_parameter_courses_take:
 * @courses: courses of the parameters of @trainer
 * @trainer: a training run that has just made a step
 *
 * Takes what the step did to each. Of more than 32 entries of history two become one.
 */
void
ir_parameter_courses_take (GPtrArray *courses, const IrTrainer *trainer)
{
  const GArray *states = ir_trainer_states (trainer);

  for (guint i = 0, at = 0; i < states->len && at < courses->len; i++)
    if (g_array_index (states, IrTrainerState, i).measured)
      {
        const IrTrainerState *state = &g_array_index (states, IrTrainerState, i);
        course_take (courses->pdata[at++], state->weights, state->update);
      }
}

/* From 0, 1e-6 and less, to 1, for 1 and more; below 0: it did not move */
static double
level_of (double ratio)
{
  return ratio > 0 ? CLAMP ((log10 (ratio) + DECADES) / DECADES, 0, 1) : -1;
}

/**
 * ir_parameter_course_bars:
 * @course: a parameter
 *
 * Returns: (transfer full): its history, a bar per entry in logarithms: the lowest is 1e-6 and less,
 *   the full one 1 and more, a point where it did not move
 */
char *
ir_parameter_course_bars (const IrParameterCourse *course)
{
  static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < course->history->len; i++)
    {
      const double level = level_of (g_array_index (course->history, double, i));
      g_string_append (text, level >= 0 ? bars[(guint) (level * 7)] : "·");
    }
  return g_string_free (text, FALSE);
}

/* -- as CSV -- */

/**
 * ir_parameter_courses_csv_head:
 * @courses: courses
 *
 * Returns: (transfer full): their names, in quotes, each behind a comma
 */
char *
ir_parameter_courses_csv_head (const GPtrArray *courses)
{
  GString *line = g_string_new (NULL);

  for (guint i = 0; i < courses->len; i++)
    {
      g_autoptr (GString)
          name = g_string_new (((const IrParameterCourse *) courses->pdata[i])->name);
      g_string_replace (name, "\"", "\"\"", 0);
      g_string_append_printf (line, ",\"%s\"", name->str);
    }
  return g_string_free (line, FALSE);
}

/**
 * ir_parameter_courses_csv:
 * @courses: courses
 *
 * Returns: (transfer full): the ratio of the last step of each behind a comma; what there is none of is
 *   empty
 */
char *
ir_parameter_courses_csv (const GPtrArray *courses)
{
  GString *line = g_string_new (NULL);

  for (guint i = 0; i < courses->len; i++)
    {
      const double ratio = ir_parameter_course_ratio (courses->pdata[i]);
      char text[G_ASCII_DTOSTR_BUF_SIZE];
      g_string_append_c (line, ',');
      if (!isnan (ratio))
        g_string_append (line, g_ascii_formatd (text, sizeof text, "%.4g", ratio));
    }
  return g_string_free (line, FALSE);
}

/* The names that @line has behind the columns of all parameters together */
static GPtrArray *
courses_of_head (const char *line)
{
  GPtrArray *courses = g_ptr_array_new_with_free_func (course_free);
  const char *c = line + strlen (ir_training_csv_head ());

  while (g_str_has_prefix (c, ",\""))
    {
      g_autoptr (GString) name = g_string_new (NULL);
      for (c += 2; *c != '\0' && (*c != '"' || c[1] == '"'); c++)
        {
          c += *c == '"';
          g_string_append_c (name, *c);
        }
      c += *c == '"';
      g_ptr_array_add (courses, course_new (name->str));
    }
  return courses;
}

/* A line of numbers, of which @n_first come before those of @courses */
static gboolean
take_line (const char *line, guint n_first, GPtrArray *courses)
{
  g_auto (GStrv) cells = g_strsplit (line, ",", -1);

  if (g_strv_length (cells) != n_first + courses->len)
    return FALSE;
  for (guint i = 0; i < courses->len; i++)
    {
      const char *cell = cells[n_first + i];
      char *end = NULL;
      const double ratio = *cell != '\0' ? g_ascii_strtod (cell, &end) : 0;
      if (end == cell || (end != NULL && *end != '\0'))
        return FALSE;
      course_take (courses->pdata[i], 1, ratio);
    }
  return TRUE;
}

/**
 * ir_parameter_courses_load:
 * @path: a file that irscope train --log has written
 * @error: return location for an error
 *
 * Fails with %G_IO_ERROR_INVALID_DATA where it says nothing of single parameters, or a line has not a number
 * for each.
 *
 * Returns: (transfer full) (nullable) (element-type IrParameterCourse): how each went through its steps
 */
GPtrArray *
ir_parameter_courses_load (const char *path, GError **error)
{
  g_autofree char *contents = NULL, *head = g_strconcat (ir_training_csv_head (), ",\"", NULL);
  g_auto (GStrv) first = g_strsplit (ir_training_csv_head (), ",", -1), lines = NULL;

  if (!g_file_get_contents (path, &contents, NULL, error))
    return NULL;
  lines = g_strsplit (contents, "\n", -1);
  if (lines[0] == NULL || !g_str_has_prefix (lines[0], head))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                   "%s: has no columns of single parameters, which 'irscope train --log' writes",
                   path);
      return NULL;
    }
  g_autoptr (GPtrArray) courses = courses_of_head (lines[0]);
  for (guint i = 1; lines[i] != NULL; i++)
    if (*g_strchomp (lines[i]) != '\0' && !take_line (lines[i], g_strv_length (first), courses))
      {
        g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                     "%s: line %u has not a number for each column: \"%s\"", path, i + 1, lines[i]);
        return NULL;
      }
  return g_steal_pointer (&courses);
}

/* -- in the graph -- */

/* Bars from the left, each as high and as strong as the level */
static IrSceneThumb *
picture_of (const GArray *history)
{
  IrSceneThumb *thumb = ir_scene_thumb_new (N_HISTORY, HEIGHT);

  for (guint x = 0; x < N_HISTORY; x++)
    {
      const double level = x < history->len ? level_of (g_array_index (history, double, x)) : -1;
      const guint n = x >= history->len ? 0 : 1 + (guint) (MAX (level, 0) * (HEIGHT - 1));
      for (guint y = 0; y < HEIGHT; y++)
        thumb->cells[(HEIGHT - 1 - y) * N_HISTORY + x] = y < n ? (float) MAX (level, 0)
                                                               : IR_SCENE_THUMB_GAP;
    }
  return thumb;
}

/* Of several parameters of a node the largest counts, step by step. */
static void
merge (GHashTable *histories, IrNodeId node, const GArray *history)
{
  GArray *known = g_hash_table_lookup (histories, GUINT_TO_POINTER (node));

  if (known == NULL)
    g_hash_table_insert (histories, GUINT_TO_POINTER (node), g_array_copy ((GArray *) history));
  for (guint i = 0; known != NULL && i < MIN (known->len, history->len); i++)
    {
      double *entry = &g_array_index (known, double, i);
      *entry = MAX (*entry, g_array_index (history, double, i));
    }
}

/**
 * ir_parameter_courses_by_node:
 * @courses: courses
 * @model: a model with parameters of these names
 *
 * Returns: (transfer full): node id -> #IrNodeUpdate, of the nodes that read them
 */
GHashTable *
ir_parameter_courses_by_node (const GPtrArray *courses, const IrModel *model)
{
  GHashTable *updates = g_hash_table_new_full (NULL, NULL, NULL,
                                               (GDestroyNotify) ir_node_update_free);
  g_autoptr (GHashTable)
      histories = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_array_unref);
  GHashTableIter iter;
  gpointer id, history;

  for (guint i = 0; i < courses->len; i++)
    {
      const IrParameterCourse *course = courses->pdata[i];
      const IrValue *value = ir_graph_find_value (model->main, course->name);
      for (guint k = 0; value != NULL && k < value->n_uses; k++)
        {
          const IrNode *node = ir_value_use (value, k).node;
          IrNodeUpdate *update = node != NULL
                                     ? g_hash_table_lookup (updates, GUINT_TO_POINTER (node->id))
                                     : NULL;
          if (node == NULL)
            continue;
          if (update == NULL)
            {
              update = g_new0 (IrNodeUpdate, 1);
              update->ratio = NAN;
              g_hash_table_insert (updates, GUINT_TO_POINTER (node->id), update);
            }
          update->ratio = fmax (update->ratio, ir_parameter_course_ratio (course));
          merge (histories, node->id, course->history);
        }
    }
  g_hash_table_iter_init (&iter, histories);
  while (g_hash_table_iter_next (&iter, &id, &history))
    ((IrNodeUpdate *) g_hash_table_lookup (updates, id))->history = picture_of (history);
  return updates;
}
