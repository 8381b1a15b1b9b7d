/* What is wrong with the graph, as far as it is known without a run: found when it was opened, and
 * anew after each edit by hand, as steps of passes make no new problems; and what runs and checks of
 * the execution found at the step where they were made. */
#include "config.h"

#include "core/op/verify.h"
#include "views/session/frame-private.h"
#include "views/session/problems-private.h"

/* Of the graph from a step on; or of its execution at a step. */
typedef struct
{
  guint step;
  GPtrArray *problems; /* of IrProblem; of execution: (nullable) */
} Found;

typedef struct
{
  GArray *found; /* of Found, by step; never empty */
  Found faults[IR_N_FAULTS];
  Found all; /* (nullable problems) found and faults, where somebody asked */
} Problems;

static void
found_clear (gpointer data)
{
  g_clear_pointer (&((Found *) data)->problems, g_ptr_array_unref);
}

static GArray *
found_new (void)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (Found));

  g_array_set_clear_func (found, found_clear);
  return found;
}

static void
init (gpointer state)
{
  Problems *self = state;
  const Found none = { 0, ir_problems_new () };

  self->found = found_new ();
  g_array_append_val (self->found, none);
}

static void
clear (gpointer state)
{
  Problems *self = state;

  g_array_unref (self->found);
  for (guint i = 0; i < IR_N_FAULTS; i++)
    found_clear (&self->faults[i]);
  found_clear (&self->all);
}

IR_SESSION_NOUN (Problems, init, clear)

/* -- of the graph -- */

void
ir_session_forget_problems (IrSession *self, guint step)
{
  GArray *found = own (self)->found;

  while (found->len > 1 && g_array_index (found, Found, found->len - 1).step > step)
    g_array_set_size (found, found->len - 1);
}

void
ir_session_take_problems (IrSession *self, guint step, GPtrArray *problems)
{
  GArray *all = own (self)->found;
  const Found found = { step, problems };

  while (all->len > 0 && g_array_index (all, Found, all->len - 1).step >= step)
    g_array_set_size (all, all->len - 1);
  g_array_append_val (all, found);
}

GPtrArray *
ir_found_at (const GArray *found, guint step)
{
  guint i = found->len - 1;

  while (i > 0 && g_array_index (found, Found, i).step > step)
    i--;
  return g_array_index (found, Found, i).problems;
}

GPtrArray *
ir_session_found_at (IrSession *self, guint step)
{
  return ir_found_at (own (self)->found, step);
}

static GArray *
found_copy (const GArray *found)
{
  GArray *copy = found_new ();

  g_array_append_vals (copy, found->data, found->len);
  for (guint i = 0; i < copy->len; i++)
    g_ptr_array_ref (g_array_index (copy, Found, i).problems);
  return copy;
}

GArray *
ir_session_dup_found (IrSession *self)
{
  return found_copy (own (self)->found);
}

void
ir_session_place_found (IrSession *self, const GArray *found)
{
  g_array_unref (own (self)->found);
  own (self)->found = found_copy (found);
}

/* -- of its execution -- */

void
ir_session_set_faults (IrSession *self, IrFaultKind kind, guint step, GPtrArray *faults)
{
  Found *own_faults = &own (self)->faults[kind];

  found_clear (own_faults);
  *own_faults = (Found){ step, faults };
}

static gboolean
has_faults_at (const Problems *self, guint step)
{
  for (guint i = 0; i < IR_N_FAULTS; i++)
    if (self->faults[i].problems != NULL && self->faults[i].step == step)
      return TRUE;
  return FALSE;
}

void
ir_session_faults_changed (IrSession *self)
{
  Problems *problems = own (self);
  const gboolean had_faults = problems->all.problems != NULL;

  found_clear (&problems->all);
  if (had_faults || has_faults_at (problems, ir_session_get_cursor (self)))
    ir_session_age_picture (self);
}

void
ir_session_forget_faults (IrSession *self)
{
  ir_session_set_faults (self, IR_FAULTS_OF_CHECK, 0, NULL);
  found_clear (&own (self)->all);
}

/* -- all -- */

static void
add_problem (GPtrArray *problems, const IrProblem *problem)
{
  IrProblem *copy = g_memdup2 (problem, sizeof *problem);

  copy->message = g_strdup (problem->message);
  copy->hint = g_strdup (problem->hint);
  g_ptr_array_add (problems, copy);
}

static gboolean
has_problem (const GPtrArray *problems, IrNodeId node)
{
  for (guint i = 0; i < problems->len; i++)
    if (((const IrProblem *) problems->pdata[i])->node == node)
      return TRUE;
  return FALSE;
}

/* That a node stopped the run says nothing more where it is known to be wrong. Types that the file
 * declares, and that the run contradicts, are warnings beside. */
static GPtrArray *
all_problems (IrSession *self, guint step)
{
  const GPtrArray *found = ir_session_found_at (self, step);
  const Found *stops = &own (self)->faults[IR_FAULTS_OF_RUN],
              *wrong = &own (self)->faults[IR_FAULTS_OF_CHECK];
  GPtrArray *problems = ir_problems_new ();

  for (guint i = 0; i < found->len; i++)
    add_problem (problems, found->pdata[i]);
  for (guint i = 0; wrong->problems != NULL && wrong->step == step && i < wrong->problems->len; i++)
    add_problem (problems, wrong->problems->pdata[i]);
  for (guint i = 0; stops->problems != NULL && stops->step == step && i < stops->problems->len; i++)
    {
      const IrProblem *stop = stops->problems->pdata[i];

      if (stop->severity < IR_SEVERITY_ERROR || !has_problem (problems, stop->node))
        add_problem (problems, stop);
    }
  return problems;
}

GPtrArray *
ir_session_problems_at (IrSession *self, guint step)
{
  Found *all = &own (self)->all;

  if (!has_faults_at (own (self), step))
    return ir_session_found_at (self, step);
  if (all->problems == NULL || all->step != step)
    {
      found_clear (all);
      *all = (Found){ step, all_problems (self, step) };
    }
  return all->problems;
}

gboolean
ir_session_problems_vary (IrSession *self)
{
  return own (self)->all.problems != NULL || own (self)->found->len > 1;
}

/**
 * ir_session_get_problems:
 *
 * Returns: (transfer none) (element-type IrProblem): what is wrong with the graph on screen, and
 *   with its execution as far as that is known
 */
GPtrArray *
ir_session_get_problems (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);

  return ir_session_problems_at (self, frame != NULL ? frame->to : 0);
}
