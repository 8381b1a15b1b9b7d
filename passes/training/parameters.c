#include "config.h"

#include "passes/training/parameters.h"

#include <math.h>

#define N_HISTORY 32
#define DECADES   6

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
course_take (IrParameterCourse *course, const IrTrainerState *state)
{
  course->weights = state->weights;
  course->update = state->update;
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
      course_take (courses->pdata[at++], &g_array_index (states, IrTrainerState, i));
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
      const double ratio = g_array_index (course->history, double, i);
      const double level = (log10 (MAX (ratio, 1e-300)) + DECADES) / DECADES * 7;
      g_string_append (text, ratio > 0 ? bars[(guint) CLAMP (level, 0, 7)] : "·");
    }
  return g_string_free (text, FALSE);
}
