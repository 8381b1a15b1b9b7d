#include "config.h"

#include "views/steps/step-list.h"

#include <string.h>

/* One row: a pass run, or a step. */
typedef struct
{
  IrStepRowKind kind;
  guint step, pass_run;
} Row;

struct _IrStepRow
{
  GObject parent;
  Row row;
};

G_DEFINE_FINAL_TYPE (IrStepRow, ir_step_row, G_TYPE_OBJECT)

static void
ir_step_row_class_init (IrStepRowClass *klass)
{
}

static void
ir_step_row_init (IrStepRow *self)
{
}

IrStepRowKind
ir_step_row_get_kind (IrStepRow *self)
{
  return self->row.kind;
}

guint
ir_step_row_get_step (IrStepRow *self)
{
  return self->row.step;
}

guint
ir_step_row_get_pass_run (IrStepRow *self)
{
  return self->row.pass_run;
}

/* -- the list -- */

struct _IrStepList
{
  GObject parent;
  GArray *rows;      /* of Row */
  GArray *positions; /* of guint: by step; GTK_INVALID_LIST_POSITION = not listed */
  guint n_steps;
};

static GType
ir_step_list_get_item_type (GListModel *model)
{
  return IR_TYPE_STEP_ROW;
}

static guint
ir_step_list_get_n_items (GListModel *model)
{
  return IR_STEP_LIST (model)->rows->len;
}

static gpointer
ir_step_list_get_item (GListModel *model, guint position)
{
  IrStepList *self = IR_STEP_LIST (model);
  IrStepRow *row;

  if (position >= self->rows->len)
    return NULL;
  row = g_object_new (IR_TYPE_STEP_ROW, NULL);
  row->row = g_array_index (self->rows, Row, position);
  return row;
}

static void
ir_step_list_iface_init (GListModelInterface *iface)
{
  iface->get_item_type = ir_step_list_get_item_type;
  iface->get_n_items = ir_step_list_get_n_items;
  iface->get_item = ir_step_list_get_item;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (IrStepList,
                               ir_step_list,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, ir_step_list_iface_init))

static void
ir_step_list_finalize (GObject *object)
{
  IrStepList *self = IR_STEP_LIST (object);

  g_array_unref (self->rows);
  g_array_unref (self->positions);
  G_OBJECT_CLASS (ir_step_list_parent_class)->finalize (object);
}

static void
ir_step_list_class_init (IrStepListClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_step_list_finalize;
}

static void
ir_step_list_init (IrStepList *self)
{
  self->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  self->positions = g_array_new (FALSE, FALSE, sizeof (guint));
}

IrStepList *
ir_step_list_new (void)
{
  return g_object_new (IR_TYPE_STEP_LIST, NULL);
}

static gboolean
contains (const char *text, const char *word)
{
  const gsize length = strlen (word);

  if (length == 0)
    return TRUE;
  for (; *text != '\0'; text++)
    if (g_ascii_tolower (*text) == g_ascii_tolower (*word) &&
        g_ascii_strncasecmp (text, word, length) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
step_matches (const IrModel *history, guint index, char **words)
{
  const IrStep *step = ir_history_step (history, index);
  const IrNode *anchor = step->anchor != 0 ? ir_model_node (history, step->anchor) : NULL;

  for (; *words != NULL; words++)
    if (!contains (step->rule, *words) && (anchor == NULL || (!contains (anchor->name, *words) &&
                                                              !contains (anchor->op_type, *words))))
      return FALSE;
  return TRUE;
}

static void
append_row (IrStepList *self, Row row)
{
  g_array_append_val (self->rows, row);
}

static gboolean
is_edit (const IrPassRun *run)
{
  return strcmp (run->pass, "edit") == 0;
}

/* Edits that follow each other stand under one heading. */
static gboolean
goes_on (IrStepList *self, const IrModel *history, const IrPassRun *run)
{
  const Row *last = &g_array_index (self->rows, Row, self->rows->len - 1);

  return is_edit (run) && last->kind == IR_STEP_ROW_STEP &&
         is_edit (ir_history_pass_run (history, last->pass_run));
}

/* The last step of a pass run, and of the edits that follow one. */
static guint
last_of_edits (const IrModel *history, guint index)
{
  const IrPassRun *run = ir_history_pass_run (history, index);

  while (is_edit (run) && index + 1 < ir_history_n_pass_runs (history) &&
         is_edit (ir_history_pass_run (history, index + 1)))
    run = ir_history_pass_run (history, ++index);
  return run->first_step + run->n_steps - 1;
}

static void
append_pass (IrStepList *self, const IrModel *history, guint index, char **words)
{
  const IrPassRun *run = ir_history_pass_run (history, index);
  guint n_listed = 0;

  for (guint i = 0; i < run->n_steps; i++)
    {
      guint step = run->first_step + i;

      if (!step_matches (history, step, words))
        continue;
      if (n_listed++ == 0 && !goes_on (self, history, run))
        append_row (self, (Row){ IR_STEP_ROW_PASS, last_of_edits (history, index), index });
      g_array_index (self->positions, guint, step) = self->rows->len;
      append_row (self, (Row){ IR_STEP_ROW_STEP, step, index });
    }
  self->n_steps += n_listed;
}

static void
append_history (IrStepList *self, IrModel *history, const char *filter)
{
  g_auto (GStrv) words = g_strsplit_set (filter != NULL ? filter : "", " \t", -1);

  g_array_set_size (self->positions, ir_history_n_steps (history) + 1);
  memset (self->positions->data, 0xff, self->positions->len * sizeof (guint)); /* invalid */
  g_array_index (self->positions, guint, 0) = 0;
  append_row (self, (Row){ IR_STEP_ROW_ORIGINAL, 0, 0 });
  for (guint i = 0; i < ir_history_n_pass_runs (history); i++)
    append_pass (self, history, i, words);
}

void
ir_step_list_load (IrStepList *self, IrModel *history, const char *filter)
{
  guint removed = self->rows->len;

  g_array_set_size (self->rows, 0);
  g_array_set_size (self->positions, 0);
  self->n_steps = 0;
  if (history != NULL)
    append_history (self, history, filter);
  g_list_model_items_changed (G_LIST_MODEL (self), 0, removed, self->rows->len);
}

guint
ir_step_list_position (IrStepList *self, guint step)
{
  return step < self->positions->len ? g_array_index (self->positions, guint, step)
                                     : GTK_INVALID_LIST_POSITION;
}

guint
ir_step_list_n_steps (IrStepList *self)
{
  return self->n_steps;
}
