#include "config.h"

#include "views/label.h"

/* Wraps @label, also within words. A hyphen there would read as part of the name. */
void
ir_label_wrap_names (GtkLabel *label)
{
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_insert_hyphens_new (FALSE));
  gtk_label_set_wrap (label, TRUE);
  gtk_label_set_wrap_mode (label, PANGO_WRAP_WORD_CHAR);
  gtk_label_set_attributes (label, attributes);
  pango_attr_list_unref (attributes);
}
