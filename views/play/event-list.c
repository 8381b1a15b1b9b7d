/* Rows are made as they come into sight: a run may have 200,000 events. */
#include "config.h"

#include "views/play/event-list.h"

#include <string.h>

struct _IrEventRow
{
  GObject parent;
  IrFlowLog *log; /* owns what the event names */
  IrFlowEvent event;
};

G_DEFINE_FINAL_TYPE (IrEventRow, ir_event_row, G_TYPE_OBJECT)

static void
ir_event_row_finalize (GObject *object)
{
  ir_flow_log_unref (IR_EVENT_ROW (object)->log);
  G_OBJECT_CLASS (ir_event_row_parent_class)->finalize (object);
}

static void
ir_event_row_class_init (IrEventRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_event_row_finalize;
}

static void
ir_event_row_init (IrEventRow *self)
{
}

const IrFlowEvent *
ir_event_row_get_event (IrEventRow *self)
{
  return &self->event;
}

const IrFlowLog *
ir_event_row_get_log (IrEventRow *self)
{
  return self->log;
}

/* -- the list -- */

struct _IrEventList
{
  GObject parent;
  IrFlowLog *log; /* (nullable) that they are of */
  GArray *events; /* of IrFlowEvent: those that are shown */
};

static GType
get_item_type (GListModel *model)
{
  return IR_TYPE_EVENT_ROW;
}

static guint
get_n_items (GListModel *model)
{
  return IR_EVENT_LIST (model)->events->len;
}

static gpointer
get_item (GListModel *model, guint position)
{
  const GArray *events = IR_EVENT_LIST (model)->events;
  IrEventRow *row;

  if (position >= events->len)
    return NULL;
  row = g_object_new (IR_TYPE_EVENT_ROW, NULL);
  row->log = ir_flow_log_ref (IR_EVENT_LIST (model)->log);
  row->event = g_array_index (events, IrFlowEvent, position);
  return row;
}

static void
iface_init (GListModelInterface *iface)
{
  iface->get_item_type = get_item_type;
  iface->get_n_items = get_n_items;
  iface->get_item = get_item;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (IrEventList,
                               ir_event_list,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, iface_init))

static void
ir_event_list_finalize (GObject *object)
{
  g_array_unref (IR_EVENT_LIST (object)->events);
  ir_flow_log_unref (IR_EVENT_LIST (object)->log);
  G_OBJECT_CLASS (ir_event_list_parent_class)->finalize (object);
}

static void
ir_event_list_class_init (IrEventListClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_event_list_finalize;
}

static void
ir_event_list_init (IrEventList *self)
{
  self->events = g_array_new (FALSE, FALSE, sizeof (IrFlowEvent));
}

IrEventList *
ir_event_list_new (void)
{
  return g_object_new (IR_TYPE_EVENT_LIST, NULL);
}

static gboolean
is_of (const IrFlowEvent *event, const char *frame, gint64 iteration)
{
  return (frame == NULL || strcmp (event->loop, frame) == 0) &&
         (iteration < 0 || (*event->frame != '\0' && event->iteration == iteration));
}

void
ir_event_list_set (IrEventList *self, IrFlowLog *log, const char *frame, gint64 iteration)
{
  const GArray *all = log != NULL ? ir_flow_log_events (log) : NULL;
  const guint before = self->events->len;

  g_array_set_size (self->events, 0);
  if (log != NULL)
    ir_flow_log_ref (log);
  g_clear_pointer (&self->log, ir_flow_log_unref);
  self->log = log;
  for (guint i = 0; all != NULL && i < all->len; i++)
    if (is_of (&g_array_index (all, IrFlowEvent, i), frame, iteration))
      g_array_append_val (self->events, g_array_index (all, IrFlowEvent, i));
  g_list_model_items_changed (G_LIST_MODEL (self), 0, before, self->events->len);
}
