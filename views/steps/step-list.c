#include "config.h"

#include "views/steps/step-list.h"

#include "views/steps/step-row.h"

#include <string.h>

#define MAX_OPEN  24 /* rows of a card that is open unless it was closed */
#define MIN_EQUAL 4  /* steps from which on equal ones stand together, where a card has more rows */

typedef struct
{
  IrStepRowKind kind;
  guint step, card, part;
  gboolean within;
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
ir_step_row_get_card (IrStepRow *self)
{
  return self->row.card;
}

guint
ir_step_row_get_part (IrStepRow *self)
{
  return self->row.part;
}

gboolean
ir_step_row_is_within (IrStepRow *self)
{
  return self->row.within;
}

/* -- the list -- */

struct _IrStepList
{
  GObject parent;
  IrStepSummary *summary; /* (nullable) */
  GArray *rows;           /* of Row */
  GArray *positions;      /* of guint: by step; GTK_INVALID_LIST_POSITION = not listed */
  GHashTable *opened;     /* key of what was opened or closed by hand -> whether it is open */
  gboolean filtered;
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

  g_clear_pointer (&self->summary, ir_step_summary_free);
  g_array_unref (self->rows);
  g_array_unref (self->positions);
  g_hash_table_unref (self->opened);
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
  self->opened = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

IrStepList *
ir_step_list_new (void)
{
  return g_object_new (IR_TYPE_STEP_LIST, NULL);
}

/* -- the filter -- */

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
step_matches (const IrModel *history, guint index, gpointer data)
{
  const IrStep *step = ir_history_step (history, index);
  const IrNode *anchor = step->anchor != 0 ? ir_model_node (history, step->anchor) : NULL;

  for (char **words = data; *words != NULL; words++)
    if (!contains (step->rule, *words) &&
        !contains (ir_verdict_look (step->proof.verdict)->text, *words) &&
        (anchor == NULL ||
         (!contains (anchor->name, *words) && !contains (anchor->op_type, *words))))
      return FALSE;
  return TRUE;
}

/* -- rows -- */

static const IrPassSummary *
card_at (IrStepList *self, guint card)
{
  return self->summary->passes->pdata[card];
}

/* What is open and closed is remembered by names, so that it lasts while verdicts come in. */
static char *
key_of (IrStepList *self, const Row *row)
{
  const IrPassSummary *pass;
  const IrStepGroup *group;

  if (row->kind == IR_STEP_ROW_IDLE)
    return g_strdup ("idle");
  pass = card_at (self, row->card);
  if (row->kind == IR_STEP_ROW_PASS)
    return g_strdup_printf ("%s\n%u", pass->pass, pass->first_run);
  group = pass->groups->pdata[row->part];
  return g_strdup_printf ("%s\n%u\n%s\n%s", pass->pass, pass->first_run, group->rule,
                          group->op != NULL ? group->op : "");
}

static gboolean
stands_together (const IrPassSummary *pass, const IrStepGroup *group)
{
  return pass->n_wanted > MAX_OPEN && group->steps->len >= MIN_EQUAL;
}

static guint
n_rows_of (const IrPassSummary *pass)
{
  guint n = 0;

  for (guint i = 0; i < pass->groups->len; i++)
    {
      const IrStepGroup *group = pass->groups->pdata[i];

      n += stands_together (pass, group) ? 1 : group->steps->len;
    }
  return n;
}

static gboolean
is_row_open (IrStepList *self, const Row *row)
{
  g_autofree char *key = key_of (self, row);
  gpointer open;

  if (g_hash_table_lookup_extended (self->opened, key, NULL, &open))
    return GPOINTER_TO_INT (open);
  return row->kind == IR_STEP_ROW_PASS &&
         (self->filtered || n_rows_of (card_at (self, row->card)) <= MAX_OPEN);
}

/* Returns its place. */
static guint
append_row (IrStepList *self, Row row)
{
  g_array_append_val (self->rows, row);
  return self->rows->len - 1;
}

static void
place_step (IrStepList *self, guint step, guint position)
{
  g_array_index (self->positions, guint, step) = position;
}

static void
append_group (IrStepList *self, guint card, guint part, const IrStepGroup *group)
{
  Row head = { IR_STEP_ROW_GROUP, g_array_index (group->steps, guint, 0), card, part, FALSE };
  const gboolean open = is_row_open (self, &head);
  const guint position = append_row (self, head);

  for (guint i = 0; i < group->steps->len; i++)
    {
      const guint step = g_array_index (group->steps, guint, i);
      const Row row = { IR_STEP_ROW_STEP, step, card, part, TRUE };

      place_step (self, step, open ? append_row (self, row) : position);
    }
}

typedef struct
{
  guint step, part;
} Listed;

static int
compare_listed (gconstpointer a, gconstpointer b)
{
  const guint x = ((const Listed *) a)->step, y = ((const Listed *) b)->step;

  return x < y ? -1 : x > y;
}

/* Single steps in their order; what stands together where the first of it is. */
static void
append_steps (IrStepList *self, guint card, const IrPassSummary *pass)
{
  g_autoptr (GArray) listed = g_array_new (FALSE, FALSE, sizeof (Listed));

  for (guint i = 0; i < pass->groups->len; i++)
    {
      const IrStepGroup *group = pass->groups->pdata[i];
      const guint n = stands_together (pass, group) ? 1 : group->steps->len;

      for (guint k = 0; k < n; k++)
        {
          const Listed one = { g_array_index (group->steps, guint, k), i };

          g_array_append_val (listed, one);
        }
    }
  g_array_sort (listed, compare_listed);
  for (guint i = 0; i < listed->len; i++)
    {
      const Listed *one = &g_array_index (listed, Listed, i);
      const IrStepGroup *group = pass->groups->pdata[one->part];
      const Row row = { IR_STEP_ROW_STEP, one->step, card, one->part, FALSE };

      if (stands_together (pass, group))
        append_group (self, card, one->part, group);
      else
        place_step (self, one->step, append_row (self, row));
    }
}

static void
append_pass (IrStepList *self, guint card)
{
  const IrPassSummary *pass = card_at (self, card);
  const guint last = pass->first_step + pass->n_steps - 1;
  const Row head = { IR_STEP_ROW_PASS, last, card, 0, FALSE };
  const gboolean open = is_row_open (self, &head);
  const guint position = append_row (self, head);

  if (open)
    append_steps (self, card, pass);
  else
    for (guint i = 0; i < pass->groups->len; i++)
      {
        const IrStepGroup *group = pass->groups->pdata[i];

        for (guint k = 0; k < group->steps->len; k++)
          place_step (self, g_array_index (group->steps, guint, k), position);
      }
}

static void
append_idle (IrStepList *self)
{
  const guint n = self->summary->idle->len;
  const Row head = { IR_STEP_ROW_IDLE, 0, 0, 0, FALSE };

  if (n == 0 || self->filtered)
    return;
  append_row (self, head);
  for (guint i = 0; i < n && is_row_open (self, &head); i++)
    append_row (self, (Row){ IR_STEP_ROW_IDLE_PASS, 0, 0, i, FALSE });
}

static void
list_rows (IrStepList *self)
{
  const guint n = self->positions->len;

  self->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  memset (self->positions->data, 0xff, n * sizeof (guint)); /* invalid */
  place_step (self, 0, append_row (self, (Row){ IR_STEP_ROW_ORIGINAL, 0, 0, 0, FALSE }));
  for (guint i = 0; i < self->summary->passes->len; i++)
    append_pass (self, i);
  append_idle (self);
}

void
ir_step_list_load (IrStepList *self, IrModel *history, const char *filter)
{
  g_auto (GStrv) words = g_strsplit_set (filter != NULL ? filter : "", " \t", -1);
  g_autoptr (GArray) old = g_steal_pointer (&self->rows);

  self->filtered = filter != NULL && filter[0] != '\0';
  g_clear_pointer (&self->summary, ir_step_summary_free);
  g_array_set_size (self->positions, history != NULL ? ir_history_n_steps (history) + 1 : 0);
  if (history != NULL)
    {
      self->summary = ir_step_summary_new (history, self->filtered ? step_matches : NULL, words);
      list_rows (self);
    }
  else
    self->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_list_model_items_changed (G_LIST_MODEL (self), 0, old->len, self->rows->len);
}

guint
ir_step_list_position (IrStepList *self, guint step)
{
  return step < self->positions->len ? g_array_index (self->positions, guint, step)
                                     : GTK_INVALID_LIST_POSITION;
}

static gboolean
is_card_of (IrStepList *self, guint position, guint last_step)
{
  const Row *row = &g_array_index (self->rows, Row, position);

  return row->kind == IR_STEP_ROW_PASS && row->step == last_step;
}

guint
ir_step_list_card_position (IrStepList *self, guint last_step)
{
  guint position = ir_step_list_position (self, last_step);

  if (position ==
      GTK_INVALID_LIST_POSITION) /* the filter leaves the step out, perhaps not its card */
    {
      for (position = 0; position < self->rows->len; position++)
        if (is_card_of (self, position, last_step))
          return position;
      return GTK_INVALID_LIST_POSITION;
    }
  while (position > 0 && g_array_index (self->rows, Row, position).kind != IR_STEP_ROW_PASS)
    position--;
  return is_card_of (self, position, last_step) ? position : GTK_INVALID_LIST_POSITION;
}

guint
ir_step_list_n_steps (IrStepList *self)
{
  return self->summary != NULL ? self->summary->n_wanted : 0;
}

const IrStepSummary *
ir_step_list_get_summary (IrStepList *self)
{
  return self->summary;
}

const IrPassSummary *
ir_step_list_get_pass (IrStepList *self, IrStepRow *row)
{
  return card_at (self, row->row.card);
}

const IrStepGroup *
ir_step_list_get_group (IrStepList *self, IrStepRow *row)
{
  return card_at (self, row->row.card)->groups->pdata[row->row.part];
}

/* -- open and closed -- */

gboolean
ir_step_list_can_open (IrStepList *self, guint position)
{
  const Row *row = position < self->rows->len ? &g_array_index (self->rows, Row, position) : NULL;

  return row != NULL && (row->kind == IR_STEP_ROW_PASS || row->kind == IR_STEP_ROW_GROUP ||
                         row->kind == IR_STEP_ROW_IDLE);
}

gboolean
ir_step_list_is_open (IrStepList *self, guint position)
{
  return ir_step_list_can_open (self, position) &&
         is_row_open (self, &g_array_index (self->rows, Row, position));
}

static gboolean
same_row (const GArray *a, guint i, const GArray *b, guint k)
{
  return memcmp (&g_array_index (a, Row, i), &g_array_index (b, Row, k), sizeof (Row)) == 0;
}

/* Only the rows that come or go are told of, and its own, whose mark is another. */
void
ir_step_list_set_open (IrStepList *self, guint position, gboolean open)
{
  g_autoptr (GArray) old = NULL;
  guint tail = 0;

  if (!ir_step_list_can_open (self, position) || ir_step_list_is_open (self, position) == open)
    return;
  g_hash_table_insert (self->opened, key_of (self, &g_array_index (self->rows, Row, position)),
                       GINT_TO_POINTER (open));
  old = g_steal_pointer (&self->rows);
  list_rows (self);
  while (tail + position + 1 < MIN (old->len, self->rows->len) &&
         same_row (old, old->len - 1 - tail, self->rows, self->rows->len - 1 - tail))
    tail++;
  g_list_model_items_changed (G_LIST_MODEL (self), position, old->len - position - tail,
                              self->rows->len - position - tail);
}
