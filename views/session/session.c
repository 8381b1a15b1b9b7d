/* The object: its properties follow what its nouns say, and so does the picture. */
#include "config.h"

#include "views/session/session.h"

#include "views/session/file.h"
#include "views/session/replace.h"
#include "views/session/selection.h"

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

static GParamSpec *props[N_PROPS];

G_DEFINE_FINAL_TYPE (IrSession, ir_session, G_TYPE_OBJECT)

/* Which properties follow which change. */
static const struct
{
  IrSessionChanges change;
  guint prop;
} followers[] = {
  { IR_CHANGED_HISTORY, PROP_N_STEPS },
  { IR_CHANGED_HISTORY, PROP_TITLE },
  { IR_CHANGED_FRAME | IR_CHANGED_CURSOR, PROP_CURSOR },
  { IR_CHANGED_FRAME | IR_CHANGED_COMPARE, PROP_COMPARE },
  { IR_CHANGED_SELECTION, PROP_SELECTED_NODE },
  { IR_CHANGED_SELECTION, PROP_SELECTED_VALUE },
  { IR_CHANGED_HOVER, PROP_HOVER },
  { IR_CHANGED_OVERLAY, PROP_OVERLAY },
  { IR_CHANGED_BUSY, PROP_BUSY },
  { IR_CHANGED_BUSY, PROP_PROGRESS },
  { IR_CHANGED_BUSY, PROP_PROGRESS_TEXT },
  { IR_CHANGED_FILE, PROP_TITLE },
  { IR_CHANGED_FILE, PROP_MODIFIED },
  { IR_CHANGED_PIPELINE, PROP_PIPELINE },
  { IR_CHANGED_PIPELINE, PROP_PROVE },
};

/* Properties, and the picture, follow before anybody else hears of it. */
static void
ir_session_real_changed (IrSession *self, guint changes)
{
  g_object_freeze_notify (G_OBJECT (self));
  for (guint i = 0; i < G_N_ELEMENTS (followers); i++)
    if (changes & followers[i].change)
      g_object_notify_by_pspec (G_OBJECT (self), props[followers[i].prop]);
  g_object_thaw_notify (G_OBJECT (self));
  if (changes & (IR_CHANGED_CURSOR | IR_CHANGED_COMPARE | IR_CHANGED_PICTURE))
    ir_session_request_frame (self);
}

/* -- object -- */

static void
ir_session_finalize (GObject *object)
{
  ir_session_free_nouns (IR_SESSION (object));
  G_OBJECT_CLASS (ir_session_parent_class)->finalize (object);
}

static void
ir_session_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  IrSession *self = IR_SESSION (object);

  switch (id)
    {
    case PROP_CURSOR:
      g_value_set_uint (value, ir_session_get_cursor (self));
      break;
    case PROP_N_STEPS:
      g_value_set_uint (value, ir_session_get_n_steps (self));
      break;
    case PROP_COMPARE:
      g_value_set_uint (value, ir_session_get_compare (self));
      break;
    case PROP_SELECTED_NODE:
      g_value_set_uint (value, ir_session_get_selected_node (self));
      break;
    case PROP_SELECTED_VALUE:
      g_value_set_uint (value, ir_session_get_selected_value (self));
      break;
    case PROP_HOVER:
      g_value_set_uint (value, ir_session_get_hover (self));
      break;
    case PROP_OVERLAY:
      g_value_set_string (value, ir_session_get_overlay (self));
      break;
    case PROP_SHOW:
      g_value_set_uint (value, ir_session_get_show (self));
      break;
    case PROP_BUSY:
      g_value_set_boolean (value, ir_session_get_busy (self));
      break;
    case PROP_PROGRESS:
      g_value_set_double (value, ir_session_get_progress (self));
      break;
    case PROP_PROGRESS_TEXT:
      g_value_set_string (value, ir_session_get_progress_text (self));
      break;
    case PROP_TITLE:
      g_value_set_string (value, ir_session_get_title (self));
      break;
    case PROP_MODIFIED:
      g_value_set_boolean (value, ir_session_get_modified (self));
      break;
    case PROP_PIPELINE:
      g_value_set_string (value, ir_session_get_pipeline (self));
      break;
    case PROP_PROVE:
      g_value_set_boolean (value, ir_session_get_prove (self));
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

  object_class->finalize = ir_session_finalize;
  object_class->get_property = ir_session_get_property;
  object_class->set_property = ir_session_set_property;
  install_properties (object_class);
  g_signal_new_class_handler ("changed", type, G_SIGNAL_RUN_FIRST,
                              G_CALLBACK (ir_session_real_changed), NULL, NULL, NULL, G_TYPE_NONE,
                              1, G_TYPE_UINT);
  g_signal_new ("message", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                G_TYPE_STRING);
  g_signal_new ("failed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2,
                G_TYPE_STRING, G_TYPE_STRING);
  g_signal_new ("show-view", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                G_TYPE_STRING);
}

static void
ir_session_init (IrSession *self)
{
  self->nouns = g_hash_table_new (NULL, NULL);
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
