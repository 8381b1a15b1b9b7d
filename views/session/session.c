#include "config.h"

#include "views/session/session.h"

#include "views/picture.h"
#include "views/session/session-private.h"

enum
{
  PROP_CURSOR = 1,
  PROP_N_STEPS,
  PROP_COMPARE,
  PROP_SELECTED_NODE,
  PROP_SELECTED_VALUE,
  PROP_HOVER,
  PROP_OVERLAY,
  PROP_SHOW,
  PROP_BUSY,
  PROP_PROGRESS,
  PROP_PROGRESS_TEXT,
  PROP_TITLE,
  PROP_MODIFIED,
  PROP_PIPELINE,
  PROP_PROVE,
  N_PROPS
};

enum
{
  CHANGED,
  MESSAGE,
  FAILED,
  SHOW_VIEW,
  N_SIGNALS
};

static GParamSpec *props[N_PROPS];
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (IrSession, ir_session, G_TYPE_OBJECT)

/* Which properties follow which change. */
static const struct
{
  IrSessionChanges change;
  guint prop;
} followers[] = {
  { IR_CHANGED_HISTORY, PROP_N_STEPS },
  { IR_CHANGED_HISTORY, PROP_TITLE },
  { IR_CHANGED_FRAME, PROP_CURSOR },
  { IR_CHANGED_FRAME, PROP_COMPARE },
  { IR_CHANGED_SELECTION, PROP_SELECTED_NODE },
  { IR_CHANGED_SELECTION, PROP_SELECTED_VALUE },
  { IR_CHANGED_HOVER, PROP_HOVER },
  { IR_CHANGED_OVERLAY, PROP_OVERLAY },
  { IR_CHANGED_BUSY, PROP_BUSY },
  { IR_CHANGED_BUSY, PROP_PROGRESS },
  { IR_CHANGED_BUSY, PROP_PROGRESS_TEXT },
  { IR_CHANGED_FILE, PROP_TITLE },
  { IR_CHANGED_FILE, PROP_MODIFIED },
  { IR_CHANGED_FILE, PROP_PIPELINE },
  { IR_CHANGED_FILE, PROP_PROVE },
};

/* -- timeline and frame -- */

IrTimeline *
ir_timeline_new (IrModel *model)
{
  IrTimeline *timeline = g_new0 (IrTimeline, 1);

  g_atomic_ref_count_init (&timeline->ref_count);
  g_mutex_init (&timeline->lock);
  timeline->model = model;
  timeline->original = ir_history_snapshot (model, 0);
  return timeline;
}

IrTimeline *
ir_timeline_ref (IrTimeline *timeline)
{
  g_atomic_ref_count_inc (&timeline->ref_count);
  return timeline;
}

void
ir_timeline_unref (IrTimeline *timeline)
{
  if (!g_atomic_ref_count_dec (&timeline->ref_count))
    return;
  g_clear_pointer (&timeline->original, ir_model_unref);
  g_clear_pointer (&timeline->model, ir_model_unref);
  g_mutex_clear (&timeline->lock);
  g_free (timeline);
}

IrFrame *
ir_frame_ref (IrFrame *frame)
{
  g_atomic_ref_count_inc (&frame->ref_count);
  return frame;
}

void
ir_frame_unref (IrFrame *frame)
{
  if (!g_atomic_ref_count_dec (&frame->ref_count))
    return;
  g_clear_pointer (&frame->scene, ir_scene_unref);
  g_clear_pointer (&frame->diff, ir_diff_free);
  g_clear_pointer (&frame->marks, ir_scene_marks_unref);
  g_clear_pointer (&frame->before, ir_model_unref);
  g_clear_pointer (&frame->model, ir_model_unref);
  g_free (frame);
}

/**
 * ir_frame_node:
 * @frame: what is on screen
 * @id: as it is selected
 *
 * Returns: (transfer none) (nullable): the node, on the side that has it
 */
const IrNode *
ir_frame_node (const IrFrame *frame, IrNodeId id)
{
  const IrNode *node;

  if (id & IR_OTHER_SIDE)
    return frame->foreign ? ir_model_live_node (frame->before, id & ~IR_OTHER_SIDE) : NULL;
  node = ir_model_live_node (frame->model, id);
  return node != NULL || frame->foreign ? node : ir_model_live_node (frame->before, id);
}

/**
 * ir_frame_value:
 * @frame: what is on screen
 * @id: as it is selected
 *
 * Returns: (transfer none) (nullable): the value, on the side that has it
 */
const IrValue *
ir_frame_value (const IrFrame *frame, IrValueId id)
{
  const IrValue *value;

  if (id & IR_OTHER_SIDE)
    return frame->foreign ? ir_model_live_value (frame->before, id & ~IR_OTHER_SIDE) : NULL;
  value = ir_model_live_value (frame->model, id);
  return value != NULL || frame->foreign ? value : ir_model_live_value (frame->before, id);
}

/**
 * ir_frame_box_node:
 * @frame: what is on screen
 * @box: of its scene
 *
 * Returns: the id to select it by, or 0
 */
IrNodeId
ir_frame_box_node (const IrFrame *frame, const IrSceneBox *box)
{
  if (box->node != 0 || box->before == 0)
    return box->node;
  return frame->foreign ? box->before | IR_OTHER_SIDE : box->before;
}

/**
 * ir_frame_line_value:
 * @frame: what is on screen
 * @line: of its scene
 *
 * Returns: the id to select its value by, or 0
 */
IrValueId
ir_frame_line_value (const IrFrame *frame, const IrSceneLine *line)
{
  if (line->value != 0 || line->before == 0)
    return line->value;
  return frame->foreign ? line->before | IR_OTHER_SIDE : line->before;
}

/**
 * ir_frame_find_box:
 * @frame: what is on screen
 * @id: as it is selected
 *
 * Returns: the box of its scene that shows the node, or -1
 */
gint32
ir_frame_find_box (const IrFrame *frame, IrNodeId id)
{
  guint n = 0;
  const IrSceneBox *boxes = frame->scene != NULL ? ir_scene_boxes (frame->scene, &n) : NULL;
  const gint32 found = id != 0 && n > 0 ? ir_scene_find_node (frame->scene, id) : -1;

  /* a node that is gone is known by its id before; in another file it may be that of another */
  if (found >= 0 && (!frame->foreign || boxes[found].node == id))
    return found;
  for (guint i = 0; i < n && id != 0; i++)
    if (ir_frame_box_node (frame, &boxes[i]) == id || (!frame->foreign && boxes[i].before == id))
      return (gint32) i;
  return -1;
}

/* -- telling -- */

void
ir_session_changed (IrSession *self, IrSessionChanges changes)
{
  g_object_freeze_notify (G_OBJECT (self));
  for (guint i = 0; i < G_N_ELEMENTS (followers); i++)
    if (changes & followers[i].change)
      g_object_notify_by_pspec (G_OBJECT (self), props[followers[i].prop]);
  g_object_thaw_notify (G_OBJECT (self));
  g_signal_emit (self, signals[CHANGED], 0, (guint) changes);
}

void
ir_session_message (IrSession *self, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_signal_emit (self, signals[MESSAGE], 0, text);
}

void
ir_session_failed (IrSession *self, const char *title, const GError *error)
{
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    ir_session_message (self, "Cancelled");
  else
    g_signal_emit (self, signals[FAILED], 0, title, error != NULL ? error->message : "");
}

/* -- object -- */

static void
ir_session_dispose (GObject *object)
{
  IrSession *self = IR_SESSION (object);

  if (self->job != NULL)
    ir_job_cancel (self->job);
  if (self->frame_job != NULL)
    ir_job_cancel (self->frame_job);
  if (self->board_job != NULL)
    ir_job_cancel (self->board_job);
  g_clear_pointer (&self->board_job, ir_job_unref);
  g_clear_pointer (&self->job, ir_job_unref);
  g_clear_pointer (&self->frame_job, ir_job_unref);
  G_OBJECT_CLASS (ir_session_parent_class)->dispose (object);
}

static void
ir_session_finalize (GObject *object)
{
  IrSession *self = IR_SESSION (object);

  ir_session_clear_runs (self);
  ir_session_forget_records (self);
  ir_session_clear_debug (self);
  ir_session_forget_whys (self);
  ir_session_forget_other (self);
  ir_session_forget_values (self);
  ir_session_forget_execution (self);
  g_clear_pointer (&self->frame, ir_frame_unref);
  g_clear_pointer (&self->timeline, ir_timeline_unref);
  g_clear_pointer (&self->found, g_array_unref);
  g_clear_pointer (&self->selection, gtk_bitset_unref);
  g_clear_pointer (&self->inputs, g_hash_table_unref);
  g_clear_pointer (&self->sizes, g_hash_table_unref);
  g_clear_pointer (&self->folded, g_hash_table_unref);
  g_clear_pointer (&self->automatic, g_hash_table_unref);
  g_free (self->path);
  g_free (self->title);
  g_free (self->pipeline);
  g_free (self->chosen);
  g_free (self->progress_text);
  G_OBJECT_CLASS (ir_session_parent_class)->finalize (object);
}

static void
ir_session_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  IrSession *self = IR_SESSION (object);

  switch (id)
    {
    case PROP_CURSOR:
      g_value_set_uint (value, self->cursor);
      break;
    case PROP_N_STEPS:
      g_value_set_uint (value, ir_session_get_n_steps (self));
      break;
    case PROP_COMPARE:
      g_value_set_uint (value, self->compare);
      break;
    case PROP_SELECTED_NODE:
      g_value_set_uint (value, self->selected_node);
      break;
    case PROP_SELECTED_VALUE:
      g_value_set_uint (value, self->selected_value);
      break;
    case PROP_HOVER:
      g_value_set_uint (value, self->hover);
      break;
    case PROP_OVERLAY:
      g_value_set_string (value, self->overlay);
      break;
    case PROP_SHOW:
      g_value_set_uint (value, self->show);
      break;
    case PROP_BUSY:
      g_value_set_boolean (value, self->job != NULL);
      break;
    case PROP_PROGRESS:
      g_value_set_double (value, self->progress);
      break;
    case PROP_PROGRESS_TEXT:
      g_value_set_string (value, self->progress_text);
      break;
    case PROP_TITLE:
      g_value_set_string (value, self->title);
      break;
    case PROP_MODIFIED:
      g_value_set_boolean (value, self->modified);
      break;
    case PROP_PIPELINE:
      g_value_set_string (value, self->pipeline);
      break;
    case PROP_PROVE:
      g_value_set_boolean (value, self->prove);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ir_session_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  IrSession *self = IR_SESSION (object);

  switch (id)
    {
    case PROP_CURSOR:
      ir_session_goto (self, g_value_get_uint (value));
      break;
    case PROP_COMPARE:
      ir_session_set_compare (self, g_value_get_uint (value));
      break;
    case PROP_SELECTED_NODE:
      ir_session_select_node (self, g_value_get_uint (value));
      break;
    case PROP_SELECTED_VALUE:
      ir_session_select_value (self, g_value_get_uint (value));
      break;
    case PROP_HOVER:
      ir_session_set_hover (self, g_value_get_uint (value));
      break;
    case PROP_OVERLAY:
      ir_session_set_overlay (self, g_value_get_string (value));
      break;
    case PROP_SHOW:
      ir_session_set_show (self, g_value_get_uint (value));
      break;
    case PROP_PIPELINE:
      ir_session_set_pipeline (self, g_value_get_string (value));
      break;
    case PROP_PROVE:
      ir_session_set_prove (self, g_value_get_boolean (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
install_properties (GObjectClass *klass)
{
  const GParamFlags r = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  const GParamFlags rw = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  const struct
  {
    guint id;
    const char *name;
  } uints[] = {
    { PROP_CURSOR, "cursor" },
    { PROP_COMPARE, "compare" },
    { PROP_SELECTED_NODE, "selected-node" },
    { PROP_SELECTED_VALUE, "selected-value" },
    { PROP_HOVER, "hover" },
    { PROP_SHOW, "show" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (uints); i++)
    props[uints[i].id] = g_param_spec_uint (uints[i].name, NULL, NULL, 0, G_MAXUINT, 0, rw);
  props[PROP_N_STEPS] = g_param_spec_uint ("n-steps", NULL, NULL, 0, G_MAXUINT, 0, r);
  props[PROP_OVERLAY] = g_param_spec_string ("overlay", NULL, NULL, NULL, rw);
  props[PROP_BUSY] = g_param_spec_boolean ("busy", NULL, NULL, FALSE, r);
  props[PROP_PROGRESS] = g_param_spec_double ("progress", NULL, NULL, -1, 1, -1, r);
  props[PROP_PROGRESS_TEXT] = g_param_spec_string ("progress-text", NULL, NULL, NULL, r);
  props[PROP_TITLE] = g_param_spec_string ("title", NULL, NULL, NULL, r);
  props[PROP_MODIFIED] = g_param_spec_boolean ("modified", NULL, NULL, FALSE, r);
  props[PROP_PIPELINE] = g_param_spec_string ("pipeline", NULL, NULL, NULL, rw);
  props[PROP_PROVE] = g_param_spec_boolean ("prove", NULL, NULL, TRUE, rw);
  g_object_class_install_properties (klass, N_PROPS, props);
}

static void
ir_session_class_init (IrSessionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GType type = G_TYPE_FROM_CLASS (klass);

  object_class->dispose = ir_session_dispose;
  object_class->finalize = ir_session_finalize;
  object_class->get_property = ir_session_get_property;
  object_class->set_property = ir_session_set_property;
  install_properties (object_class);
  signals[CHANGED] = g_signal_new ("changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                   G_TYPE_NONE, 1, G_TYPE_UINT);
  signals[MESSAGE] = g_signal_new ("message", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                   G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[FAILED] = g_signal_new ("failed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_STRING);
  signals[SHOW_VIEW] = g_signal_new ("show-view", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                     G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
ir_session_init (IrSession *self)
{
  self->found = ir_found_problems_new ();
  self->selection = gtk_bitset_new_empty ();
  self->inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  self->breakpoints = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_breakpoint_free);
  self->pipeline = g_strdup ("default");
  self->title = g_strdup ("");
  self->prove = TRUE;
  self->settings = (IrRunSettings){ .options = { .capture = IR_CAPTURE_ALL }, .n_runs = 1 };
  self->progress = -1;
  self->seed = 0; /* as irscope run does */
  ir_session_forget_sizes (self);
  self->show = IR_SHOW_SHAPES | IR_SHOW_NAMES | IR_SHOW_SCOPES;
  self->folded = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->automatic = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

/**
 * ir_session_new:
 *
 * Returns: (transfer full): a session in which nothing is open
 */
IrSession *
ir_session_new (void)
{
  return g_object_new (IR_TYPE_SESSION, NULL);
}

/* -- reading -- */

/**
 * ir_session_get_frame:
 *
 * Returns: (transfer none) (nullable): what is on screen; take a reference to keep it over the next
 *   change
 */
IrFrame *
ir_session_get_frame (IrSession *self)
{
  return self->frame;
}

/**
 * ir_session_get_history:
 *
 * Returns: (transfer none) (nullable): the model whose log the steps are, to be read only, in the
 *   main thread, until the next %IR_CHANGED_HISTORY
 */
IrModel *
ir_session_get_history (IrSession *self)
{
  return self->timeline != NULL ? self->timeline->model : NULL;
}

guint
ir_session_get_n_steps (IrSession *self)
{
  return self->timeline != NULL ? ir_history_n_steps (self->timeline->model) : 0;
}

guint
ir_session_get_cursor (IrSession *self)
{
  return self->cursor;
}

IrCompare
ir_session_get_compare (IrSession *self)
{
  return self->compare;
}

const char *
ir_session_get_path (IrSession *self)
{
  return self->path;
}

const char *
ir_session_get_title (IrSession *self)
{
  return self->title;
}

gboolean
ir_session_get_modified (IrSession *self)
{
  return self->modified;
}

GPtrArray *
ir_session_get_problems (IrSession *self)
{
  return ir_session_problems_at (self, self->frame != NULL ? self->frame->to : 0);
}

const char *
ir_session_get_pipeline (IrSession *self)
{
  return self->pipeline;
}

gboolean
ir_session_get_prove (IrSession *self)
{
  return self->prove;
}

gboolean
ir_session_is_empty (IrSession *self)
{
  return self->frame == NULL;
}

gboolean
ir_session_get_busy (IrSession *self)
{
  return self->job != NULL;
}

double
ir_session_get_progress (IrSession *self)
{
  return self->progress;
}

const char *
ir_session_get_progress_text (IrSession *self)
{
  return self->progress_text;
}

/**
 * ir_session_origins:
 *
 * Returns: (transfer full): the nodes of the original graph that @node was made of; of #IrNodeId
 */
GArray *
ir_session_origins (IrSession *self, IrNodeId node)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (self->timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_origins (self->timeline->model, node);
}

/**
 * ir_session_descendants:
 *
 * Returns: (transfer full): the nodes at @step that came from @node; of #IrNodeId
 */
GArray *
ir_session_descendants (IrSession *self, IrNodeId node, guint step)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (self->timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_descendants (self->timeline->model, node, step);
}

/**
 * ir_session_steps_of:
 *
 * Returns: (transfer full): the steps that touched @node; of guint
 */
GArray *
ir_session_steps_of (IrSession *self, IrNodeId node)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (self->timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (guint));
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_steps (self->timeline->model, node);
}

/* -- selection, hover, overlay, time span -- */

const GtkBitset *
ir_session_get_selection (IrSession *self)
{
  return self->selection;
}

IrNodeId
ir_session_get_selected_node (IrSession *self)
{
  return self->selected_node;
}

IrValueId
ir_session_get_selected_value (IrSession *self)
{
  return self->selected_value;
}

#define MAX_REVEALED 60 /* nodes; of more that are selected at once, folds stay closed */

/* What is selected is drawn: scopes that were closed by themselves open for it. */
static void
reveal_selection (IrSession *self)
{
  gboolean any = FALSE;
  GtkBitsetIter iter;
  guint id;

  if (self->frame == NULL || gtk_bitset_get_size (self->selection) > MAX_REVEALED)
    return;
  for (gboolean more = gtk_bitset_iter_init_first (&iter, self->selection, &id); more;
       more = gtk_bitset_iter_next (&iter, &id))
    {
      const IrNode *node = ir_frame_node (self->frame, id);

      if (node != NULL && ir_frame_find_box (self->frame, id) < 0)
        any |= ir_picture_reveal (self->automatic, self->frame->diff, node);
    }
  if (any)
    ir_session_picture_changed (self);
}

/**
 * ir_session_select_node:
 * @node: 0 for nothing
 *
 * Selects @node alone and no value.
 */
void
ir_session_select_node (IrSession *self, IrNodeId node)
{
  if (self->selected_node == node && self->selected_value == 0 &&
      gtk_bitset_get_size (self->selection) == (node != 0))
    return;
  gtk_bitset_remove_all (self->selection);
  if (node != 0)
    gtk_bitset_add (self->selection, node);
  self->selected_node = node;
  self->selected_value = 0;
  ir_session_changed (self, IR_CHANGED_SELECTION);
  reveal_selection (self);
}

/**
 * ir_session_toggle_node:
 *
 * Adds @node to the selection, or takes it away.
 */
void
ir_session_toggle_node (IrSession *self, IrNodeId node)
{
  if (node == 0)
    return;
  if (gtk_bitset_contains (self->selection, node))
    {
      gtk_bitset_remove (self->selection, node);
      if (self->selected_node == node)
        self->selected_node = gtk_bitset_is_empty (self->selection)
                                  ? 0
                                  : gtk_bitset_get_maximum (self->selection);
    }
  else
    {
      gtk_bitset_add (self->selection, node);
      self->selected_node = node;
    }
  ir_session_changed (self, IR_CHANGED_SELECTION);
}

/**
 * ir_session_set_selection:
 * @nodes: (transfer none): copied
 */
void
ir_session_set_selection (IrSession *self, const GtkBitset *nodes)
{
  if (gtk_bitset_equals (self->selection, nodes))
    return;
  gtk_bitset_unref (self->selection);
  self->selection = gtk_bitset_copy (nodes);
  if (!gtk_bitset_contains (nodes, self->selected_node))
    self->selected_node = gtk_bitset_is_empty (nodes) ? 0 : gtk_bitset_get_minimum (nodes);
  ir_session_changed (self, IR_CHANGED_SELECTION);
  reveal_selection (self);
}

void
ir_session_select_value (IrSession *self, IrValueId value)
{
  if (self->selected_value == value)
    return;
  self->selected_value = value;
  ir_session_changed (self, IR_CHANGED_SELECTION);
}

IrNodeId
ir_session_get_hover (IrSession *self)
{
  return self->hover;
}

void
ir_session_set_hover (IrSession *self, IrNodeId node)
{
  if (self->hover == node)
    return;
  self->hover = node;
  ir_session_changed (self, IR_CHANGED_HOVER);
}

const char *
ir_session_get_overlay (IrSession *self)
{
  return self->overlay;
}

void
ir_session_set_overlay (IrSession *self, const char *id)
{
  id = g_intern_string (id);
  if (self->overlay == id)
    return;
  self->overlay = id;
  ir_session_changed (self, IR_CHANGED_OVERLAY);
  ir_session_picture_changed (self);
}

IrShow
ir_session_get_show (IrSession *self)
{
  return self->show;
}

/**
 * ir_session_set_show:
 * @show: what the picture of the graph shows
 */
void
ir_session_set_show (IrSession *self, IrShow show)
{
  if (self->show == show)
    return;
  self->show = show;
  g_object_notify_by_pspec (G_OBJECT (self), props[PROP_SHOW]);
  ir_session_picture_changed (self);
}

guint
ir_session_get_picture_serial (IrSession *self)
{
  return self->serial;
}

static gboolean
is_drawn_open (IrSession *self, const char *fold)
{
  guint n = 0;
  const IrSceneBox *boxes = self->frame != NULL && self->frame->scene != NULL
                                ? ir_scene_boxes (self->frame->scene, &n)
                                : NULL;

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind == IR_SCENE_CLUSTER && g_strcmp0 (boxes[i].fold, fold) == 0)
      return TRUE;
  return FALSE;
}

/**
 * ir_session_toggle_fold:
 * @fold: the key of a scope or of a node with subgraphs, from a box of the scene
 *
 * Closes it into one box, or opens it again.
 */
void
ir_session_toggle_fold (IrSession *self, const char *fold)
{
  const gboolean was_closed = g_hash_table_remove (self->folded, fold);
  const gboolean was_automatic = g_hash_table_remove (self->automatic, fold);

  /* the picture may show one open that is closed elsewhere, because of what it holds */
  if (is_drawn_open (self, fold) || (!was_closed && !was_automatic))
    g_hash_table_add (self->folded, g_strdup (fold));
  ir_session_picture_changed (self);
}

/**
 * ir_session_get_time_span:
 *
 * The part of the run that is looked at, in milliseconds from its start; 0, 0 is all of it.
 */
void
ir_session_get_time_span (IrSession *self, double *start_ms, double *end_ms)
{
  *start_ms = self->span_start_ms;
  *end_ms = self->span_end_ms;
}

void
ir_session_set_time_span (IrSession *self, double start_ms, double end_ms)
{
  if (self->span_start_ms == start_ms && self->span_end_ms == end_ms)
    return;
  self->span_start_ms = start_ms;
  self->span_end_ms = end_ms;
  ir_session_changed (self, IR_CHANGED_TIME_SPAN);
}

/**
 * ir_session_show_view:
 * @id: such as "tensor"
 *
 * Asks the window to bring that view to the front.
 */
void
ir_session_show_view (IrSession *self, const char *id)
{
  g_signal_emit (self, signals[SHOW_VIEW], 0, id);
}

/* -- runs and values -- */

void
ir_session_clear_runs (IrSession *self)
{
  for (guint i = 0; i < IR_N_SIDES; i++)
    ir_job_free_later (g_steal_pointer (&self->runs[i]), (GDestroyNotify) ir_run_unref);
  ir_session_forget_originals (self);
  g_clear_pointer (&self->used_inputs, g_hash_table_unref);
  g_clear_pointer (&self->divergence, g_free);
  g_clear_pointer (&self->unknown, g_free);
  self->run_step = 0;
}

const IrDivergence *
ir_session_get_divergence (IrSession *self)
{
  return self->runs[IR_SIDE_AFTER] != NULL ? self->divergence : NULL;
}

IrRun *
ir_session_get_run (IrSession *self, IrSide side)
{
  g_return_val_if_fail (side < IR_N_SIDES, NULL);
  return self->runs[side];
}

guint
ir_session_get_run_step (IrSession *self)
{
  return self->run_step;
}

/* The value of the original graph that @value is or stands for; 0: none. */
IrValueId
ir_session_original_value (IrSession *self, IrValueId value)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (ir_model_live_value (self->timeline->original, value) != NULL)
    return value;
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_original_value (self->timeline->model, value);
}

static IrTensor *
stored_contents (const IrModel *model, GHashTable *inputs, IrValueId id)
{
  const IrValue *value = ir_model_live_value (model, id);
  const IrTensor *constant = value != NULL ? ir_value_constant (value) : NULL;

  if (constant != NULL)
    return (IrTensor *) constant;
  if (value != NULL && inputs != NULL && g_hash_table_contains (inputs, GUINT_TO_POINTER (id)))
    return g_hash_table_lookup (inputs, GUINT_TO_POINTER (id));
  return value != NULL ? value->initializer : NULL;
}

/* Why the node that stops @value could not run, as far as outputs tell. */
static const char *
stop_of (const IrRun *run, const IrValue *value, GHashTable *seen)
{
  const IrNode *node = value != NULL ? value->producer : NULL;
  const char *why = NULL;

  if (node == NULL || !g_hash_table_add (seen, (gpointer) node))
    return NULL;
  for (guint i = 0; i < run->missing->len; i++)
    if (g_array_index (run->missing, IrMissing, i).node == node->id)
      return g_array_index (run->missing, IrMissing, i).why;
  for (guint i = 0; i < node->n_inputs && why == NULL; i++)
    why = stop_of (run, node->inputs[i], seen);
  return why;
}

/* (transfer full) (nullable): why the run left @id out; %NULL: it did not */
static char *
left_out_reason (IrSession *self, const IrRun *run, IrValueId id, IrSide side)
{
  const guint step = side == IR_SIDE_BEFORE ? 0 : self->run_step;
  const IrModel *model = step == 0 ? self->timeline->original : self->frame->model;
  const IrValue *value = step == 0 || step == self->frame->to ? ir_model_live_value (model, id)
                                                              : NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  const char *why = value != NULL && run->missing != NULL ? stop_of (run, value, seen) : NULL;

  return why != NULL ? g_strdup_printf ("This value was not computed: %s", why) : NULL;
}

static char *
missing_reason (IrSession *self, IrValueId id, IrSide side)
{
  IrRun *run = self->runs[side];
  char *left_out;

  if (run == NULL)
    return g_strdup ("Run the graph to see this value (Ctrl+R).");
  if (run->error != NULL)
    return g_strdup_printf ("The run stopped before this value: %s", run->error->message);
  left_out = left_out_reason (self, run, id, side);
  if (left_out != NULL)
    return left_out;
  if (ir_model_live_value (run->model, id) == NULL)
    return g_strdup_printf (
        "The graph was last run after step %u, where this value does not exist. Run it again.",
        side == IR_SIDE_BEFORE ? 0 : self->run_step);
  return g_strdup ("This value was not kept by the last run.");
}

/* A value of the other side has the contents that its graph stores; that graph is not run. */
static IrTensor *
other_side_tensor (IrSession *self, IrValueId id, IrSide side, char **reason)
{
  const IrValue *value = ir_frame_value (self->frame, id);
  const IrTensor *constant = value != NULL ? ir_value_constant (value) : NULL;

  if (side == IR_SIDE_BEFORE && constant != NULL)
    return ir_tensor_ref ((IrTensor *) constant);
  if (reason != NULL)
    *reason = g_strdup (side == IR_SIDE_AFTER
                            ? "This value is only on the other side of the comparison."
                            : "The other side was not run: compare the values to run both.");
  return NULL;
}

/**
 * ir_session_dup_run_of:
 * @value: a value of any step
 * @side: whether it is asked for as it was before or as it is after the optimization
 * @id: (out): which value of the run it is
 *
 * Returns: (transfer full) (nullable): the run that has it, or can compute it with ir_run_find()
 */
IrRun *
ir_session_dup_run_of (IrSession *self, IrValueId value, IrSide side, IrValueId *id)
{
  IrRun *run = self->runs[side], *own;

  *id = 0;
  if (ir_session_get_body_value (self, value, &own) != NULL)
    {
      *id = value;
      return ir_run_ref (own);
    }
  if (self->frame == NULL || run == NULL || value == 0 || (value & IR_OTHER_SIDE))
    return NULL;
  *id = side == IR_SIDE_BEFORE ? ir_session_original_value (self, value) : value;
  return *id != 0 && ir_model_live_value (run->model, *id) != NULL ? ir_run_ref (run) : NULL;
}

/**
 * ir_session_dup_tensor:
 * @value: a value of any step
 * @side: whether it is asked for as it was before or as it is after the optimization; a value in
 *   the body of a function is the same in both
 * @reason: (out) (optional) (transfer full): why there is none, and what to do
 *
 * Returns: (transfer full) (nullable): the contents
 */
IrTensor *
ir_session_dup_tensor (IrSession *self, IrValueId value, IrSide side, char **reason)
{
  const IrModel *model;
  IrTensor *tensor;
  IrRun *own;
  gboolean compared;

  if (reason != NULL)
    *reason = NULL;
  if (self->frame == NULL || value == 0)
    return NULL;
  if (ir_session_get_body_value (self, value, &own) != NULL)
    {
      tensor = ir_run_value (own, value);
      return tensor != NULL ? ir_tensor_ref (tensor) : NULL;
    }
  tensor = ir_session_pair_tensor (self, value, side, &compared);
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  if (compared)
    {
      if (reason != NULL)
        *reason = g_strdup ("No value of the other graph is paired with this one.");
      return NULL;
    }
  if (value & IR_OTHER_SIDE)
    return other_side_tensor (self, value, side, reason);
  model = side == IR_SIDE_BEFORE ? self->timeline->original : self->frame->model;
  if (side == IR_SIDE_BEFORE)
    {
      value = ir_session_original_value (self, value);
      if (value == 0)
        {
          if (reason != NULL)
            *reason = g_strdup ("This value is new: nothing in the original graph equals it.");
          return NULL;
        }
    }
  tensor = stored_contents (model, self->used_inputs != NULL ? self->used_inputs : self->inputs,
                            value);
  if (tensor == NULL && self->runs[side] != NULL)
    tensor = ir_run_value (self->runs[side], value);
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  if (reason != NULL)
    *reason = missing_reason (self, value, side);
  return NULL;
}

GHashTable *
ir_session_get_inputs (IrSession *self)
{
  return self->inputs;
}

/**
 * ir_session_set_input:
 * @tensor: (nullable) (transfer none): what the input is given from the next run on; %NULL makes it
 *   random again
 */
void
ir_session_set_input (IrSession *self, IrValueId input, IrTensor *tensor)
{
  if (tensor != NULL)
    g_hash_table_insert (self->inputs, GUINT_TO_POINTER (input), ir_tensor_ref (tensor));
  else
    g_hash_table_remove (self->inputs, GUINT_TO_POINTER (input));
  ir_session_changed (self, IR_CHANGED_INPUTS);
}

guint64
ir_session_get_seed (IrSession *self)
{
  return self->seed;
}

void
ir_session_set_seed (IrSession *self, guint64 seed)
{
  if (self->seed == seed)
    return;
  self->seed = seed;
  ir_session_changed (self, IR_CHANGED_INPUTS);
}

/* -- small verbs -- */

void
ir_session_set_pipeline (IrSession *self, const char *name)
{
  if (name == NULL || g_strcmp0 (self->pipeline, name) == 0)
    return;
  g_free (self->pipeline);
  self->pipeline = g_strdup (name);
  ir_session_changed (self, IR_CHANGED_FILE);
}

void
ir_session_set_prove (IrSession *self, gboolean prove)
{
  if (self->prove == prove)
    return;
  self->prove = prove;
  ir_session_changed (self, IR_CHANGED_FILE);
}

void
ir_session_cancel (IrSession *self)
{
  if (self->job != NULL)
    ir_job_cancel (self->job);
}

/* The step that @to is compared with. */
guint
ir_session_compare_from (IrSession *self, guint to)
{
  const IrModel *model = ir_session_get_history (self);

  if (self->marks != NULL && self->marks_step == to)
    return to;
  switch (self->compare)
    {
    case IR_COMPARE_STEP:
      return to > 0 ? to - 1 : 0;
    case IR_COMPARE_PASS:
      if (to == 0)
        return 0;
      return ir_history_pass_run (model, ir_history_step (model, to)->pass_run)->first_step - 1;
    case IR_COMPARE_ORIGINAL:
      return 0;
    case IR_COMPARE_PINNED:
      return MIN (self->pinned, ir_session_get_n_steps (self));
    case IR_COMPARE_FILE:
    case IR_COMPARE_RESULT:
    case IR_COMPARE_NOTHING:
    case IR_N_COMPARES:
    default:
      return to;
    }
}

void
ir_session_take_timeline (IrSession *self, IrTimeline *timeline, IrFrame *frame)
{
  ir_session_forget_findings (self);
  ir_session_forget_whys (self);
  ir_session_forget_execution (self);
  ir_job_free_later (self->timeline, (GDestroyNotify) ir_timeline_unref);
  ir_job_free_later (self->frame, (GDestroyNotify) ir_frame_unref);
  self->timeline = timeline;
  self->frame = frame;
  self->cursor = frame->to;
  self->hover = 0;
  self->pinned = MIN (self->pinned, ir_history_n_steps (timeline->model));
}
