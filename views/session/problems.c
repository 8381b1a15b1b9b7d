/* What is wrong with the graph, as far as it is known without a run: found when it was opened, and
 * anew after each edit by hand. Steps of passes make no new problems. */
#include "config.h"

#include "core/op/verify.h"
#include "views/session/session-private.h"

/* Of the graph from a step on. */
typedef struct
{
  guint step;
  GPtrArray *problems; /* of IrProblem */
} Found;

static void
found_clear (gpointer data)
{
  g_ptr_array_unref (((Found *) data)->problems);
}

GArray *
ir_found_problems_new (void)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (Found));
  const Found none = { 0, ir_problems_new () };

  g_array_set_clear_func (found, found_clear);
  g_array_append_val (found, none);
  return found;
}

/* What is known of the steps behind @step is forgotten. */
void
ir_session_forget_problems (IrSession *self, guint step)
{
  while (self->found->len > 1 &&
         g_array_index (self->found, Found, self->found->len - 1).step > step)
    g_array_set_size (self->found, self->found->len - 1);
}

/* @problems: (transfer full): of the graph at @step, the last one that was edited */
void
ir_session_take_problems (IrSession *self, guint step, GPtrArray *problems)
{
  const Found found = { step, problems };

  while (self->found->len > 0 &&
         g_array_index (self->found, Found, self->found->len - 1).step >= step)
    g_array_set_size (self->found, self->found->len - 1);
  g_array_append_val (self->found, found);
}

/* (transfer none): of the graph at @step */
GPtrArray *
ir_session_found_at (IrSession *self, guint step)
{
  guint i = self->found->len - 1;

  while (i > 0 && g_array_index (self->found, Found, i).step > step)
    i--;
  return g_array_index (self->found, Found, i).problems;
}
