/* Rows of the properties in which something is typed: what is applied is an act. */
#pragma once

#include "views/properties/page.h"

/* Applying does @words, in which @prefix and what was typed stand before @words[at]. */
GtkWidget *ir_editing_row (IrSession *session,
                           const char *title,
                           const char *text,
                           const char *const *words,
                           guint at,
                           const char *prefix);
char *ir_editing_attr_text (const IrAttr *attr); /* (transfer full) (nullable): not to be typed */
/* The title of the row that is being typed in, in @box; (transfer full) (nullable) */
char *ir_editing_focus (GtkWidget *box);
void ir_editing_restore_focus (GtkWidget *box, const char *title);

void ir_editing_add_value (IrPropertyPage *page, const IrValue *value);
void ir_editing_add_constant (IrPropertyPage *page, GtkWidget *group, const IrValue *value);
void ir_editing_add_sizes (IrPropertyPage *page, const IrModel *model);
