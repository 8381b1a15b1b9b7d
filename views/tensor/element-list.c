#include "config.h"

#include "views/tensor/element-list.h"

#include <math.h>

#define MAX_ROWS 10000000 /* heights of rows add up in 32 bits */

struct _IrElement
{
  GObject parent;
  IrTensor *before, *after; /* (nullable) */
  guint64 index;
  IrNumberFormat format;
};

G_DEFINE_FINAL_TYPE (IrElement, ir_element, G_TYPE_OBJECT)

static void
ir_element_finalize (GObject *object)
{
  IrElement *self = IR_ELEMENT (object);

  g_clear_pointer (&self->before, ir_tensor_unref);
  g_clear_pointer (&self->after, ir_tensor_unref);
  G_OBJECT_CLASS (ir_element_parent_class)->finalize (object);
}

static void
ir_element_class_init (IrElementClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_element_finalize;
}

static void
ir_element_init (IrElement *self)
{
}

char *
ir_element_index_text (IrElement *self)
{
  return ir_tensor_index_text (self->after != NULL ? self->after : self->before, self->index);
}

char *
ir_element_before_text (IrElement *self)
{
  return ir_tensor_element_format (self->before, self->index, self->format);
}

char *
ir_element_after_text (IrElement *self)
{
  return ir_tensor_element_format (self->after, self->index, self->format);
}

static gboolean
has_numbers (const IrTensor *tensor, guint64 index)
{
  return tensor != NULL && index < ir_tensor_n_elements (tensor) &&
         ir_tensor_dtype (tensor) != IR_DTYPE_STRING;
}

char *
ir_element_difference_text (IrElement *self)
{
  double a, b;

  if (!has_numbers (self->before, self->index) || !has_numbers (self->after, self->index))
    return g_strdup ("");
  a = ir_tensor_get_double (self->before, self->index);
  b = ir_tensor_get_double (self->after, self->index);
  if (a == b || (isnan (a) && isnan (b)))
    return g_strdup ("0");
  return g_strdup_printf ("%.3g", b - a);
}

/* -- the list -- */

struct _IrElementList
{
  GObject parent;
  IrTensor *before, *after; /* (nullable) */
  guint64 first;
  guint n;
  IrNumberFormat format;
};

static GType
ir_element_list_get_item_type (GListModel *model)
{
  return IR_TYPE_ELEMENT;
}

static guint
ir_element_list_get_n_items (GListModel *model)
{
  return IR_ELEMENT_LIST (model)->n;
}

static gpointer
ir_element_list_get_item (GListModel *model, guint position)
{
  IrElementList *self = IR_ELEMENT_LIST (model);
  IrElement *element;

  if (position >= self->n)
    return NULL;
  element = g_object_new (IR_TYPE_ELEMENT, NULL);
  element->before = self->before != NULL ? ir_tensor_ref (self->before) : NULL;
  element->after = self->after != NULL ? ir_tensor_ref (self->after) : NULL;
  element->index = self->first + position;
  element->format = self->format;
  return element;
}

static void
ir_element_list_iface_init (GListModelInterface *iface)
{
  iface->get_item_type = ir_element_list_get_item_type;
  iface->get_n_items = ir_element_list_get_n_items;
  iface->get_item = ir_element_list_get_item;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (IrElementList,
                               ir_element_list,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL,
                                                      ir_element_list_iface_init))

static void
ir_element_list_finalize (GObject *object)
{
  IrElementList *self = IR_ELEMENT_LIST (object);

  g_clear_pointer (&self->before, ir_tensor_unref);
  g_clear_pointer (&self->after, ir_tensor_unref);
  G_OBJECT_CLASS (ir_element_list_parent_class)->finalize (object);
}

static void
ir_element_list_class_init (IrElementListClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_element_list_finalize;
}

static void
ir_element_list_init (IrElementList *self)
{
}

IrElementList *
ir_element_list_new (void)
{
  return g_object_new (IR_TYPE_ELEMENT_LIST, NULL);
}

static void
set_part (IrElementList *self, guint64 first)
{
  const IrTensor *tensor = self->after != NULL ? self->after : self->before;
  const guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0;
  const guint removed = self->n;

  /* In two steps, as whoever follows a row that goes makes each that comes at the same time, to find it again. */
  self->n = 0;
  if (removed > 0)
    g_list_model_items_changed (G_LIST_MODEL (self), 0, removed, 0);
  self->n = (guint) MIN (n, MAX_ROWS);
  self->first = MIN (first, n - self->n);
  if (self->n > 0)
    g_list_model_items_changed (G_LIST_MODEL (self), 0, 0, self->n);
}

void
ir_element_list_load (IrElementList *self, IrTensor *before, IrTensor *after)
{
  g_clear_pointer (&self->before, ir_tensor_unref);
  g_clear_pointer (&self->after, ir_tensor_unref);
  self->before = before != NULL ? ir_tensor_ref (before) : NULL;
  self->after = after != NULL ? ir_tensor_ref (after) : NULL;
  set_part (self, 0);
}

void
ir_element_list_set_format (IrElementList *self, IrNumberFormat format)
{
  self->format = format;
  set_part (self, self->first);
}

guint
ir_element_list_row (IrElementList *self, guint64 index)
{
  if (index < self->first || index - self->first >= self->n)
    set_part (self, index - MIN (index, MAX_ROWS / 2));
  return (guint) (index - self->first);
}

guint64
ir_element_list_first (IrElementList *self)
{
  return self->first;
}
