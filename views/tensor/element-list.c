#include "config.h"

#include "views/tensor/element-list.h"

#include <math.h>

#define MAX_ROWS 10000000 /* heights of rows add up in 32 bits */

struct _IrElement
{
  GObject parent;
  IrTensor *before, *after; /* (nullable) */
  guint64 index;
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
  return ir_tensor_element_text (self->before, self->index);
}

char *
ir_element_after_text (IrElement *self)
{
  return ir_tensor_element_text (self->after, self->index);
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
  guint n;
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
  element->index = position;
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

void
ir_element_list_load (IrElementList *self, IrTensor *before, IrTensor *after)
{
  const IrTensor *tensor = after != NULL ? after : before;
  guint removed = self->n;

  g_clear_pointer (&self->before, ir_tensor_unref);
  g_clear_pointer (&self->after, ir_tensor_unref);
  self->before = before != NULL ? ir_tensor_ref (before) : NULL;
  self->after = after != NULL ? ir_tensor_ref (after) : NULL;
  self->n = tensor != NULL ? (guint) MIN (ir_tensor_n_elements (tensor), MAX_ROWS) : 0;
  g_list_model_items_changed (G_LIST_MODEL (self), 0, removed, self->n);
}

guint
ir_element_list_max_rows (void)
{
  return MAX_ROWS;
}
