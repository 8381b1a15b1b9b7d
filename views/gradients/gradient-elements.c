#include "config.h"

#include "views/gradients/gradient-elements.h"

#include "core/ir/tensor-text.h"
#include "views/columns.h"

#include <math.h>

#define MANY 1000 /* elements that are listed */

/* -- an element -- */

#define IR_TYPE_GRADIENT_ELEMENT (ir_gradient_element_get_type ())
G_DECLARE_FINAL_TYPE (IrGradientElement, ir_gradient_element, IR, GRADIENT_ELEMENT, GObject)

struct _IrGradientElement
{
  GObject parent;
  IrTensor *gradient;
  guint64 index;
  double value, numeric; /* NAN: not known */
  const char *verdict;
};

G_DEFINE_FINAL_TYPE (IrGradientElement, ir_gradient_element, G_TYPE_OBJECT)

static guint changed;

static void
ir_gradient_element_finalize (GObject *object)
{
  ir_tensor_unref (IR_GRADIENT_ELEMENT (object)->gradient);
  G_OBJECT_CLASS (ir_gradient_element_parent_class)->finalize (object);
}

static void
ir_gradient_element_class_init (IrGradientElementClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_gradient_element_finalize;
  changed = g_signal_new ("changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                          NULL, G_TYPE_NONE, 0);
}

static void
ir_gradient_element_init (IrGradientElement *self)
{
  self->numeric = NAN;
  self->verdict = "";
}

static char *
index_text (gpointer item)
{
  const IrGradientElement *self = item;

  return ir_tensor_index_text (self->gradient, self->index);
}

static double
index_number (gpointer item)
{
  return (double) IR_GRADIENT_ELEMENT (item)->index;
}

static double
value_number (gpointer item)
{
  return IR_GRADIENT_ELEMENT (item)->value;
}

static double
gradient_number (gpointer item)
{
  const IrGradientElement *self = item;

  return ir_tensor_get_double (self->gradient, self->index);
}

static double
numeric_number (gpointer item)
{
  return IR_GRADIENT_ELEMENT (item)->numeric;
}

static char *
verdict_text (gpointer item)
{
  return g_strdup (IR_GRADIENT_ELEMENT (item)->verdict);
}

static const IrColumn columns[] = {
  { "Element", NULL, 150, index_text, index_number, 0, FALSE },
  { "Value", "What is derived by", 110, NULL, value_number, IR_FIGURE_NUMBER, FALSE },
  { "Gradient", "By the backward part, in the run", 110, NULL, gradient_number, IR_FIGURE_NUMBER,
    FALSE },
  { "By Differences", "Of the function itself, in double", 130, NULL, numeric_number,
    IR_FIGURE_NUMBER, FALSE },
  { "Verdict", "Whether both agree", -1, verdict_text, NULL, 0, FALSE },
};

/* -- the table -- */

struct _IrGradientElements
{
  GtkWidget parent;
  GtkWidget *box, *view, *said;
  GListStore *store;
  GtkSingleSelection *selection;
  gboolean syncing;
};

G_DEFINE_FINAL_TYPE (IrGradientElements, ir_gradient_elements, GTK_TYPE_WIDGET)

static guint chosen;

static void
on_selected (IrGradientElements *self)
{
  const IrGradientElement *element = gtk_single_selection_get_selected_item (self->selection);

  if (!self->syncing && element != NULL)
    g_signal_emit (self, chosen, 0, element->index);
}

typedef struct
{
  guint64 index;
  double magnitude;
} Ranked;

/* NaN before all others */
static int
larger_first (gconstpointer a, gconstpointer b)
{
  const Ranked *x = a, *y = b;

  if (isnan (x->magnitude) != isnan (y->magnitude))
    return isnan (x->magnitude) ? -1 : 1;
  return x->magnitude > y->magnitude   ? -1
         : x->magnitude < y->magnitude ? 1
                                       : (x->index > y->index) - (x->index < y->index);
}

/* (transfer full) (element-type guint64): in the order of memory, or the largest first */
static GArray *
list_elements (const IrTensor *gradient)
{
  const guint64 n = ir_tensor_n_elements (gradient);
  GArray *ranked = g_array_new (FALSE, FALSE, sizeof (Ranked));

  for (guint64 i = 0; i < n; i++)
    {
      Ranked one = { i, fabs (ir_tensor_get_double (gradient, i)) };
      g_array_append_val (ranked, one);
      if (n > MANY && ranked->len >= 8 * MANY)
        {
          g_array_sort (ranked, larger_first);
          g_array_set_size (ranked, MANY);
        }
    }
  if (n > MANY)
    {
      g_array_sort (ranked, larger_first);
      g_array_set_size (ranked, MANY);
    }
  return ranked;
}

static char *
said_text (const IrGradients *gradients, int row, const IrTensor *gradient)
{
  if (row < 0)
    return g_strdup ("Choose a derivative under Values: its elements are listed here.");
  const char *name = ir_model_value (gradients->model,
                                     g_array_index (gradients->rows, IrGradientRow, row).by)
                         ->name;
  if (gradient == NULL)
    return g_strdup_printf ("Nothing comes to %s.", name);
  const guint64 n = ir_tensor_n_elements (gradient);
  return n > MANY ? g_strdup_printf ("%s: the %u largest of %" G_GUINT64_FORMAT
                                     " elements. Choose one to check it by differences.",
                                     name, MANY, n)
                  : g_strdup_printf ("%s: choose an element to check it by differences.", name);
}

static void
fill (IrGradientElements *self, IrTensor *gradient, const IrTensor *value)
{
  g_autoptr (GArray) ranked = list_elements (gradient);

  for (guint i = 0; i < ranked->len; i++)
    {
      g_autoptr (IrGradientElement) element = g_object_new (IR_TYPE_GRADIENT_ELEMENT, NULL);
      element->gradient = ir_tensor_ref (gradient);
      element->index = g_array_index (ranked, Ranked, i).index;
      element->value = value != NULL ? ir_tensor_get_double (value, element->index) : NAN;
      g_list_store_append (self->store, element);
    }
}

void
ir_gradient_elements_set (IrGradientElements *self, IrGradients *gradients, int row)
{
  const IrGradientRow *one = gradients != NULL && row >= 0
                                 ? &g_array_index (gradients->rows, IrGradientRow, row)
                                 : NULL;
  IrTensor *gradient = one != NULL ? ir_gradients_tensor (gradients, one->gradient) : NULL;

  self->syncing = TRUE;
  g_list_store_remove_all (self->store);
  if (gradient != NULL)
    fill (self, gradient, ir_gradients_tensor (gradients, one->by));
  gtk_single_selection_set_selected (self->selection, GTK_INVALID_LIST_POSITION);
  self->syncing = FALSE;
  g_autofree char *text = said_text (gradients, one != NULL ? row : -1, gradient);
  gtk_label_set_text (GTK_LABEL (self->said), text);
}

void
ir_gradient_elements_take (IrGradientElements *self, const IrGradcheckItem *item)
{
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->store)); i++)
    {
      g_autoptr (IrGradientElement) element = g_list_model_get_item (G_LIST_MODEL (self->store), i);
      if (element->index != (guint64) item->index)
        continue;
      element->numeric = item->numeric;
      element->verdict = ir_gradcheck_verdict_name (item->verdict);
      g_signal_emit (element, changed, 0);
    }
}

static void
ir_gradient_elements_dispose (GObject *object)
{
  IrGradientElements *self = IR_GRADIENT_ELEMENTS (object);

  g_clear_object (&self->store);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  G_OBJECT_CLASS (ir_gradient_elements_parent_class)->dispose (object);
}

static gboolean
ir_gradient_elements_grab_focus (GtkWidget *widget)
{
  return gtk_widget_child_focus (IR_GRADIENT_ELEMENTS (widget)->view, GTK_DIR_TAB_FORWARD);
}

static void
ir_gradient_elements_class_init (IrGradientElementsClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_gradient_elements_dispose;
  GTK_WIDGET_CLASS (klass)->grab_focus = ir_gradient_elements_grab_focus;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  chosen = g_signal_new ("chosen", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                         NULL, G_TYPE_NONE, 1, G_TYPE_UINT64);
}

static void
ir_gradient_elements_init (IrGradientElements *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();

  self->store = g_list_store_new (IR_TYPE_GRADIENT_ELEMENT);
  self->view = ir_columns_new ("Elements of a derivative", self->store, columns,
                               G_N_ELEMENTS (columns));
  self->selection = ir_columns_selection (self->view);
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (on_selected), self,
                           G_CONNECT_SWAPPED);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->view);
  gtk_widget_set_vexpand (scroller, TRUE);
  self->said = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->said), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->said), 0);
  gtk_widget_set_margin_start (self->said, 12);
  gtk_widget_set_margin_end (self->said, 12);
  gtk_widget_add_css_class (self->said, "dim-label");
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_box_append (GTK_BOX (self->box), self->said);
  gtk_box_append (GTK_BOX (self->box), scroller);
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
}

GtkWidget *
ir_gradient_elements_new (void)
{
  return g_object_new (IR_TYPE_GRADIENT_ELEMENTS, NULL);
}
