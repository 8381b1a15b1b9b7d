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

/* Its index along each axis, such as "[0, 3, 1]" */
char *
ir_tensor_index_text (const IrTensor *tensor, guint64 index)
{
  g_autoptr (GString) text = g_string_new ("]");

  for (guint i = ir_tensor_rank (tensor); i > 0; i--)
    {
      guint64 dim = (guint64) MAX (ir_tensor_dims (tensor)[i - 1], 1);
      g_autofree char *part = g_strdup_printf ("%s%" G_GUINT64_FORMAT, i > 1 ? ", " : "",
                                               index % dim);

      g_string_prepend (text, part);
      index /= dim;
    }
  g_string_prepend_c (text, '[');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Returns FALSE if @tensor has no such element */
gboolean
ir_tensor_index_parse (const IrTensor *tensor, const char *text, guint64 *index)
{
  guint rank = ir_tensor_rank (tensor), n = 0;
  guint64 flat = 0, first = 0;

  while (*text != '\0')
    {
      guint64 part;

      if (!g_ascii_isdigit (*text))
        {
          text++;
          continue;
        }
      part = g_ascii_strtoull (text, (char **) &text, 10);
      if (n == 0)
        first = part;
      if (n < rank && part < (guint64) ir_tensor_dims (tensor)[n])
        flat = flat * (guint64) ir_tensor_dims (tensor)[n] + part;
      else if (n > 0)
        return FALSE;
      else if (rank > 1)
        flat = G_MAXUINT64; /* good as a flat index only */
      n++;
    }
  if (n > 1 && first >= (guint64) ir_tensor_dims (tensor)[0])
    return FALSE;
  *index = n == 1 ? first : flat;
  return n > 0 && (n == 1 || n == rank) && *index < ir_tensor_n_elements (tensor);
}

char *
ir_element_index_text (IrElement *self)
{
  return ir_tensor_index_text (self->after != NULL ? self->after : self->before, self->index);
}

static char *
complex_text (const IrTensor *tensor, guint64 index)
{
  const IrDtype dtype = ir_tensor_dtype (tensor);
  gconstpointer data = ir_tensor_data (tensor);
  double re, im;

  if (data == NULL)
    return g_strdup_printf ("%.9g", ir_tensor_get_double (tensor, index));
  re = dtype == IR_DTYPE_COMPLEX64 ? ((const float *) data)[2 * index]
                                   : ((const double *) data)[2 * index];
  im = dtype == IR_DTYPE_COMPLEX64 ? ((const float *) data)[2 * index + 1]
                                   : ((const double *) data)[2 * index + 1];
  return g_strdup_printf ("%.9g %s %.9gi", re, signbit (im) ? "−" : "+", fabs (im));
}

/* Whether a NaN is negative means nothing. */
static char *
real_text (double value, int digits)
{
  if (isnan (value))
    return g_strdup ("NaN");
  if (isinf (value))
    return g_strdup (value < 0 ? "-Inf" : "Inf");
  return g_strdup_printf ("%.*g", digits, value);
}

#define SHOWN_BYTES 1024 /* of a string: more is not read in a cell, and takes long to lay out */

static char *
string_text (GBytes *string)
{
  gsize length;
  const char *data = g_bytes_get_data (string, &length);
  g_autofree char *start = length > 0 ? g_utf8_make_valid (data, (gssize) MIN (length, SHOWN_BYTES))
                                      : g_strdup ("");

  return length <= SHOWN_BYTES
             ? g_steal_pointer (&start)
             : g_strdup_printf ("%s\u2026 (%" G_GSIZE_FORMAT " bytes)", start, length);
}

/* The element as text, with all its digits or the start of a long string; "" if there is none. */
char *
ir_tensor_element_text (const IrTensor *tensor, guint64 index)
{
  IrDtype dtype;

  if (tensor == NULL || index >= ir_tensor_n_elements (tensor))
    return g_strdup ("");
  dtype = ir_tensor_dtype (tensor);
  if (dtype == IR_DTYPE_STRING)
    return string_text (ir_tensor_string (tensor, index));
  if (dtype == IR_DTYPE_BOOL)
    return g_strdup (ir_tensor_get_int64 (tensor, index) != 0 ? "true" : "false");
  if (dtype == IR_DTYPE_COMPLEX64 || dtype == IR_DTYPE_COMPLEX128)
    return complex_text (tensor, index);
  if (dtype == IR_DTYPE_UINT64 && ir_tensor_data (tensor) != NULL)
    return g_strdup_printf ("%" G_GUINT64_FORMAT,
                            ((const guint64 *) ir_tensor_data (tensor))[index]);
  if (ir_dtype_is_integer (dtype))
    return g_strdup_printf ("%" G_GINT64_FORMAT, ir_tensor_get_int64 (tensor, index));
  return real_text (ir_tensor_get_double (tensor, index), dtype == IR_DTYPE_DOUBLE ? 17 : 9);
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
