#include "config.h"

#include "views/view.h"

typedef struct
{
  const IrViewInfo *info;
  IrSession *session;
  char *indicator;
  IrSessionChanges pending; /* what changed while the view was not on screen */
  GHashTable *disabled;     /* set of names of actions that mean nothing now */
} IrViewPrivate;

enum
{
  PROP_SESSION = 1,
  PROP_INFO,
  PROP_TITLE,
  PROP_ICON_NAME,
  PROP_INDICATOR,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (IrView, ir_view, ADW_TYPE_BIN)

/* -- registry -- */

#define IR_VIEW(NAME) extern const IrViewInfo ir_view_##NAME;
#include "views/views.def"
#undef IR_VIEW

static const IrViewInfo *const infos[] = {
#define IR_VIEW(NAME) &ir_view_##NAME,
#include "views/views.def"
#undef IR_VIEW
};

#define LEAST_HEIGHT 120 /* px of what is scrolled */

/**
 * ir_views:
 * @n: (out): number of views
 *
 * Returns: (transfer none): the descriptors of all views, in the order of the panes
 */
const IrViewInfo *const *
ir_views (guint *n)
{
  *n = G_N_ELEMENTS (infos);
  return infos;
}

/**
 * ir_view_find:
 * @id: such as "graph"
 *
 * Returns: (transfer none) (nullable): the descriptor of that view
 */
const IrViewInfo *
ir_view_find (const char *id)
{
  for (guint i = 0; i < G_N_ELEMENTS (infos); i++)
    if (g_strcmp0 (infos[i]->id, id) == 0)
      return infos[i];
  return NULL;
}

/**
 * ir_view_info_create:
 *
 * Returns: (transfer floating): a new view of @session
 */
IrView *
ir_view_info_create (const IrViewInfo *info, IrSession *session)
{
  return g_object_new (info->get_type (), "info", info, "session", session, NULL);
}

/* -- changes -- */

static void
deliver (IrView *self)
{
  IrViewPrivate *priv = ir_view_get_instance_private (self);
  IrSessionChanges changes = priv->pending;

  priv->pending = 0;
  if (changes != 0 && IR_VIEW_GET_CLASS (self)->session_changed != NULL)
    IR_VIEW_GET_CLASS (self)->session_changed (self, changes);
}

static void
on_session_changed (IrView *self, guint changes, IrSession *session)
{
  IrViewPrivate *priv = ir_view_get_instance_private (self);

  priv->pending |= changes;
  if (gtk_widget_get_mapped (GTK_WIDGET (self)))
    deliver (self);
}

static void
ir_view_map (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (ir_view_parent_class)->map (widget);
  deliver (IR_VIEW (widget));
}

/* -- object -- */

static void
ir_view_constructed (GObject *object)
{
  IrViewPrivate *priv = ir_view_get_instance_private (IR_VIEW (object));

  G_OBJECT_CLASS (ir_view_parent_class)->constructed (object);
  priv->pending = IR_CHANGED_ALL;
  g_signal_connect_object (priv->session, "changed", G_CALLBACK (on_session_changed), object,
                           G_CONNECT_SWAPPED);
}

static void
ir_view_dispose (GObject *object)
{
  IrViewPrivate *priv = ir_view_get_instance_private (IR_VIEW (object));

  if (priv->session != NULL)
    g_signal_handlers_disconnect_by_data (priv->session, object);
  G_OBJECT_CLASS (ir_view_parent_class)->dispose (object);
}

static void
ir_view_finalize (GObject *object)
{
  IrViewPrivate *priv = ir_view_get_instance_private (IR_VIEW (object));

  g_clear_object (&priv->session);
  g_clear_pointer (&priv->indicator, g_free);
  g_clear_pointer (&priv->disabled, g_hash_table_unref);
  G_OBJECT_CLASS (ir_view_parent_class)->finalize (object);
}

static void
ir_view_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  IrViewPrivate *priv = ir_view_get_instance_private (IR_VIEW (object));

  switch (id)
    {
    case PROP_SESSION:
      g_value_set_object (value, priv->session);
      break;
    case PROP_INFO:
      g_value_set_pointer (value, (gpointer) priv->info);
      break;
    case PROP_TITLE:
      g_value_set_string (value, priv->info != NULL ? priv->info->title : "");
      break;
    case PROP_ICON_NAME:
      g_value_set_string (value, priv->info != NULL ? priv->info->icon_name : NULL);
      break;
    case PROP_INDICATOR:
      g_value_set_string (value, priv->indicator);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ir_view_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  IrViewPrivate *priv = ir_view_get_instance_private (IR_VIEW (object));

  switch (id)
    {
    case PROP_SESSION:
      priv->session = g_value_dup_object (value);
      break;
    case PROP_INFO:
      priv->info = g_value_get_pointer (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

/* -- its size -- */

static GtkSizeRequestMode
follow_width (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

/* A text that wraps takes as little height as there is, on one long line: asked for the width that goes with
 * a height, it would make the window as wide as itself. So a view is never asked that. */
static void
measure_size (GtkWidget *widget,
              GtkOrientation orientation,
              int for_size,
              int *minimum,
              int *natural,
              int *minimum_baseline,
              int *natural_baseline)
{
  GtkWidget *child = adw_bin_get_child (ADW_BIN (widget));

  *minimum = *natural = 0;
  *minimum_baseline = *natural_baseline = -1;
  if (child != NULL && gtk_widget_should_layout (child))
    gtk_widget_measure (child, orientation,
                        orientation == GTK_ORIENTATION_HORIZONTAL ? -1 : for_size, minimum, natural,
                        minimum_baseline, natural_baseline);
}

static void
allocate_size (GtkWidget *widget, int width, int height, int baseline)
{
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (gtk_widget_should_layout (child))
      gtk_widget_allocate (child, width, height, baseline, NULL);
}

static void
ir_view_class_init (IrViewClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->constructed = ir_view_constructed;
  object_class->dispose = ir_view_dispose;
  object_class->finalize = ir_view_finalize;
  object_class->get_property = ir_view_get_property;
  object_class->set_property = ir_view_set_property;
  GTK_WIDGET_CLASS (klass)->map = ir_view_map;

  props[PROP_SESSION] = g_param_spec_object ("session", NULL, NULL, IR_TYPE_SESSION,
                                             G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY |
                                                 G_PARAM_STATIC_STRINGS);
  props[PROP_INFO] = g_param_spec_pointer (
      "info", NULL, NULL, G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
  props[PROP_TITLE] = g_param_spec_string ("title", NULL, NULL, NULL,
                                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  props[PROP_ICON_NAME] = g_param_spec_string ("icon-name", NULL, NULL, NULL,
                                               G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  props[PROP_INDICATOR] = g_param_spec_string ("indicator", NULL, NULL, NULL,
                                               G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
ir_view_init (IrView *self)
{
  IrViewPrivate *priv = ir_view_get_instance_private (self);

  priv->disabled = g_hash_table_new (g_str_hash, g_str_equal);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_layout_manager (GTK_WIDGET (self),
                                 gtk_custom_layout_new (follow_width, measure_size, allocate_size));
}

IrSession *
ir_view_get_session (IrView *view)
{
  IrViewPrivate *priv = ir_view_get_instance_private (view);

  return priv->session;
}

const IrViewInfo *
ir_view_get_info (IrView *view)
{
  IrViewPrivate *priv = ir_view_get_instance_private (view);

  return priv->info;
}

/**
 * ir_view_focus_content:
 *
 * Puts the keyboard focus where work in @view begins.
 */
void
ir_view_focus_content (IrView *view)
{
  if (IR_VIEW_GET_CLASS (view)->focus_content != NULL)
    IR_VIEW_GET_CLASS (view)->focus_content (view);
  else
    gtk_widget_child_focus (GTK_WIDGET (view), GTK_DIR_TAB_FORWARD);
}

/**
 * ir_view_set_inset:
 * @px: height of what floats over the lowest part of @view; 0: nothing does
 *
 * Has the view leave that part free of what must be seen.
 */
void
ir_view_set_inset (IrView *view, int px)
{
  if (IR_VIEW_GET_CLASS (view)->inset != NULL)
    IR_VIEW_GET_CLASS (view)->inset (view, px);
}

/**
 * ir_view_set_cover:
 * @left: px at the left side of @view that a pane lies on; 0: none does
 * @right: the same at the right side
 *
 * Has the view show elsewhere what is to be seen.
 */
void
ir_view_set_cover (IrView *view, int left, int right)
{
  if (IR_VIEW_GET_CLASS (view)->cover != NULL)
    IR_VIEW_GET_CLASS (view)->cover (view, left, right);
}

/**
 * ir_view_get_note:
 * @width: (out): px of what @view shows over its lower left corner, with its margins; 0: nothing
 * @height: (out): the same
 *
 * Says where nothing else should lie.
 */
void
ir_view_get_note (IrView *view, int *width, int *height)
{
  *width = *height = 0;
  if (IR_VIEW_GET_CLASS (view)->note != NULL)
    IR_VIEW_GET_CLASS (view)->note (view, width, height);
}

/**
 * ir_view_enable_action:
 * @name: (transfer none): of an action of the widget's class, "view.rename"; a literal
 *
 * Says whether it means something now, as gtk_widget_action_set_enabled() does, which nobody can ask.
 */
void
ir_view_enable_action (IrView *view, const char *name, gboolean enabled)
{
  IrViewPrivate *priv = ir_view_get_instance_private (view);

  if (enabled)
    g_hash_table_remove (priv->disabled, name);
  else
    g_hash_table_add (priv->disabled, (gpointer) name);
  gtk_widget_action_set_enabled (GTK_WIDGET (view), name, enabled);
}

/**
 * ir_view_can:
 * @name: of an action, "view.rename"
 *
 * Returns: whether it means something now
 */
gboolean
ir_view_can (IrView *view, const char *name)
{
  IrViewPrivate *priv = ir_view_get_instance_private (view);

  return !g_hash_table_contains (priv->disabled, name);
}

/**
 * ir_view_set_indicator:
 * @text: (nullable): a short text, such as a count, shown beside the title of @view
 */
void
ir_view_set_indicator (IrView *view, const char *text)
{
  IrViewPrivate *priv = ir_view_get_instance_private (view);

  if (g_strcmp0 (priv->indicator, text) == 0)
    return;
  g_free (priv->indicator);
  priv->indicator = g_strdup (text);
  g_object_notify_by_pspec (G_OBJECT (view), props[PROP_INDICATOR]);
}

const char *
ir_view_get_indicator (IrView *view)
{
  IrViewPrivate *priv = ir_view_get_instance_private (view);

  return priv->indicator;
}

/**
 * ir_view_empty_page:
 * @icon_name: a symbolic icon
 * @description: what to do next
 * @action_name: (nullable): a detailed action, such as "win.open"
 * @action_label: (nullable): the button's text
 *
 * Returns: (transfer floating): the screen of a view that has nothing to show
 */
GtkWidget *
ir_view_empty_page (const char *icon_name,
                    const char *title,
                    const char *description,
                    const char *action_name,
                    const char *action_label)
{
  GtkWidget *page = adw_status_page_new ();

  adw_status_page_set_icon_name (ADW_STATUS_PAGE (page), icon_name);
  adw_status_page_set_title (ADW_STATUS_PAGE (page), title);
  adw_status_page_set_description (ADW_STATUS_PAGE (page), description);
  gtk_widget_add_css_class (page, "compact");
  if (action_name != NULL)
    {
      GtkWidget *button = gtk_button_new_with_label (action_label);

      gtk_actionable_set_detailed_action_name (GTK_ACTIONABLE (button), action_name);
      gtk_widget_set_halign (button, GTK_ALIGN_CENTER);
      gtk_widget_add_css_class (button, "pill");
      adw_status_page_set_child (ADW_STATUS_PAGE (page), button);
    }
  return page;
}

/**
 * ir_view_scrolled:
 * @child: (transfer floating): what may be higher than its place
 *
 * Returns: (transfer floating): @child behind a vertical scroll bar; texts in it have to wrap
 */
GtkWidget *
ir_view_scrolled (GtkWidget *child)
{
  GtkWidget *window = gtk_scrolled_window_new ();

  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (window), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (window), child);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (window), LEAST_HEIGHT);
  gtk_widget_set_vexpand (window, TRUE);
  return window;
}

/**
 * ir_view_fading_row:
 * @row: (transfer floating): tabs, or a toolbar
 *
 * Returns: (transfer floating): @row, as wide as there is room: what does not fit is scrolled to by
 * the focus, the wheel or a touch
 */
GtkWidget *
ir_view_fading_row (GtkWidget *row)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkWidget *viewport = gtk_viewport_new (NULL, NULL);

  gtk_viewport_set_scroll_to_focus (GTK_VIEWPORT (viewport), TRUE);
  gtk_viewport_set_child (GTK_VIEWPORT (viewport), row);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_EXTERNAL,
                                  GTK_POLICY_NEVER);
  gtk_scrolled_window_set_propagate_natural_width (GTK_SCROLLED_WINDOW (scroller), TRUE);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), viewport);
  gtk_widget_set_focusable (scroller, FALSE);
  gtk_widget_add_css_class (scroller, "fades"); /* at the side where there is more */
  return scroller;
}

/* -- a row with arrows where there is more -- */

#define PAGE 0.7 /* of what is in sight, by which an arrow goes on */

static void
go_on (GtkAdjustment *along, double pages)
{
  gtk_adjustment_set_value (along, gtk_adjustment_get_value (along) +
                                       pages * gtk_adjustment_get_page_size (along));
}

static void
on_back (GtkButton *button, GtkAdjustment *along)
{
  go_on (along, -PAGE);
}

static void
on_forth (GtkButton *button, GtkAdjustment *along)
{
  go_on (along, PAGE);
}

static void
show_arrows (GtkAdjustment *along, GtkWidget *overlay)
{
  const double value = gtk_adjustment_get_value (along),
               end = gtk_adjustment_get_upper (along) - gtk_adjustment_get_page_size (along);

  gtk_widget_set_visible (g_object_get_data (G_OBJECT (overlay), "back"),
                          value > gtk_adjustment_get_lower (along) + 1);
  gtk_widget_set_visible (g_object_get_data (G_OBJECT (overlay), "forth"), value < end - 1);
}

/* @key: of the data of @overlay */
static void
add_arrow (GtkWidget *overlay, const char *key, GtkAlign side, GCallback clicked)
{
  const gboolean forth = side == GTK_ALIGN_END;
  GtkWidget *button = gtk_button_new_from_icon_name (forth ? "go-next-symbolic"
                                                           : "go-previous-symbolic");

  gtk_widget_add_css_class (button, "more");
  gtk_widget_set_halign (button, side);
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_focusable (button, FALSE); /* the focus itself brings what it is on into sight */
  gtk_widget_set_tooltip_text (button, forth ? "More to the right" : "More to the left");
  g_signal_connect_object (button, "clicked", clicked,
                           gtk_scrolled_window_get_hadjustment (
                               GTK_SCROLLED_WINDOW (gtk_overlay_get_child (GTK_OVERLAY (overlay)))),
                           0);
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), button);
  g_object_set_data (G_OBJECT (overlay), key, button);
}

/**
 * ir_view_scrolled_row:
 * @row: (transfer floating): a toolbar
 *
 * Returns: (transfer floating): as ir_view_fading_row(), with arrows that lead to what does not fit
 */
GtkWidget *
ir_view_scrolled_row (GtkWidget *row)
{
  GtkWidget *overlay = gtk_overlay_new (), *scroller = ir_view_fading_row (row);
  GtkAdjustment *along = gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (scroller));

  gtk_overlay_set_child (GTK_OVERLAY (overlay), scroller);
  add_arrow (overlay, "back", GTK_ALIGN_START, G_CALLBACK (on_back));
  add_arrow (overlay, "forth", GTK_ALIGN_END, G_CALLBACK (on_forth));
  g_signal_connect_object (along, "value-changed", G_CALLBACK (show_arrows), overlay, 0);
  g_signal_connect_object (along, "changed", G_CALLBACK (show_arrows), overlay, 0);
  show_arrows (along, overlay);
  return overlay;
}
