#include "config.h"

#include "views/tensor/against.h"

#include "core/io/io.h"
#include "views/tensor/controls.h"

struct _IrAgainst
{
  GtkBox parent;
  GtkWidget *choice;
  IrTensor *tensors[IR_N_AGAINSTS]; /* (nullable) */
  char *names[IR_N_AGAINSTS];       /* (nullable) */
};

G_DEFINE_FINAL_TYPE (IrAgainst, ir_against, GTK_TYPE_BOX)

enum
{
  CHANGED,
  HOLD,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

IrAgainstKind
ir_against_get_kind (IrAgainst *self)
{
  return (IrAgainstKind) gtk_drop_down_get_selected (GTK_DROP_DOWN (self->choice));
}

IrTensor *
ir_against_get_tensor (IrAgainst *self)
{
  return self->tensors[ir_against_get_kind (self)];
}

const char *
ir_against_get_name (IrAgainst *self)
{
  return self->names[ir_against_get_kind (self)];
}

static void
keep (IrAgainst *self, IrAgainstKind kind, IrTensor *tensor, const char *name)
{
  IrTensor *old = self->tensors[kind];

  self->tensors[kind] = ir_tensor_ref (tensor);
  g_clear_pointer (&old, ir_tensor_unref);
  g_free (self->names[kind]);
  self->names[kind] = g_strdup (name);
  if (ir_against_get_kind (self) == kind)
    g_signal_emit (self, signals[CHANGED], 0);
  else
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->choice), kind);
}

void
ir_against_hold (IrAgainst *self, IrTensor *tensor, const char *name)
{
  keep (self, IR_AGAINST_HELD, tensor, name);
}

/* -- a file -- */

static void
on_response (GtkNativeDialog *dialog, int response, IrAgainst *self)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) tensor = path != NULL ? ir_tensor_load (path, &error) : NULL;

  if (tensor != NULL)
    keep (self, IR_AGAINST_FILE, tensor, name);
  else
    gtk_drop_down_set_selected (GTK_DROP_DOWN (self->choice), IR_AGAINST_ORIGINAL);
  gtk_widget_set_tooltip_text (self->choice, error != NULL ? error->message : NULL);
  g_object_unref (dialog);
}

static void
choose_file (IrAgainst *self)
{
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Compare with a File", GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))),
      GTK_FILE_CHOOSER_ACTION_OPEN, "_Open", "_Cancel");
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();

  gtk_file_filter_set_name (filter, "Tensors (.npy, .pb)");
  gtk_file_filter_add_pattern (filter, "*.npy");
  gtk_file_filter_add_pattern (filter, "*.pb");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), filter);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
on_choice (IrAgainst *self)
{
  if (ir_against_get_kind (self) == IR_AGAINST_FILE)
    choose_file (self);
  g_signal_emit (self, signals[CHANGED], 0);
}

static void
on_hold (IrAgainst *self)
{
  g_signal_emit (self, signals[HOLD], 0);
}

/* -- object -- */

static void
ir_against_finalize (GObject *object)
{
  IrAgainst *self = IR_AGAINST (object);

  for (guint i = 0; i < IR_N_AGAINSTS; i++)
    {
      g_clear_pointer (&self->tensors[i], ir_tensor_unref);
      g_free (self->names[i]);
    }
  G_OBJECT_CLASS (ir_against_parent_class)->finalize (object);
}

static void
ir_against_class_init (IrAgainstClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_against_finalize;
  signals[CHANGED] = g_signal_new ("changed", IR_TYPE_AGAINST, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                   NULL, G_TYPE_NONE, 0);
  signals[HOLD] = g_signal_new ("hold", IR_TYPE_AGAINST, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                G_TYPE_NONE, 0);
}

static void
ir_against_init (IrAgainst *self)
{
  static const char *const titles[] = { [IR_AGAINST_ORIGINAL] = "Against the Original",
                                        [IR_AGAINST_HELD] = "Against the Held Value",
                                        [IR_AGAINST_REFERENCE] = "Against Reference Kernels",
                                        [IR_AGAINST_FILE] = "Against a File…",
                                        NULL };

  gtk_box_set_spacing (GTK_BOX (self), 4);
  self->choice = tensor_named_choice ("What the value is compared with", titles,
                                      G_CALLBACK (on_choice), self);
  gtk_box_append (GTK_BOX (self), self->choice);
  gtk_box_append (
      GTK_BOX (self),
      tensor_flat_button ("Hold",
                          "Keep this value, to compare any other with it: of another run, "
                          "round, step or node",
                          G_CALLBACK (on_hold), self));
}

char *
ir_against_text (IrAgainst *self, gboolean of_pair)
{
  const char *name = ir_against_get_name (self);

  switch (ir_against_get_kind (self))
    {
    case IR_AGAINST_HELD:
    case IR_AGAINST_FILE:
      return g_strdup_printf ("Before: %s", name != NULL ? name : "nothing yet");
    case IR_AGAINST_REFERENCE:
      return g_strdup ("Before: reference kernels");
    case IR_AGAINST_ORIGINAL:
    case IR_N_AGAINSTS:
    default:
      return g_strdup (of_pair ? "Before: the other graph" : "Before: the original graph");
    }
}

GtkWidget *
ir_against_new (void)
{
  return g_object_new (IR_TYPE_AGAINST, NULL);
}
