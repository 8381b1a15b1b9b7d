/* The elements of a tensor, with those of the tensor it is compared with, as a list model. Items
 * are made when asked for, so a tensor of millions costs nothing. */
#pragma once

#include "core/ir/tensor-text.h"

#include <gio/gio.h>

#define IR_TYPE_ELEMENT (ir_element_get_type ())
G_DECLARE_FINAL_TYPE (IrElement, ir_element, IR, ELEMENT, GObject)
char *ir_element_index_text (IrElement *self);  /* "[0, 3, 1]" */
char *ir_element_before_text (IrElement *self); /* "" where there is none */
char *ir_element_after_text (IrElement *self);
char *ir_element_difference_text (IrElement *self); /* after - before; "" where it has no meaning */

#define IR_TYPE_ELEMENT_LIST (ir_element_list_get_type ())
G_DECLARE_FINAL_TYPE (IrElementList, ir_element_list, IR, ELEMENT_LIST, GObject)
IrElementList *ir_element_list_new (void);
void ir_element_list_load (IrElementList *self, IrTensor *before, IrTensor *after); /* (nullable) */
void ir_element_list_set_format (IrElementList *self, IrNumberFormat format);
/* Of a tensor that is longer than a list can be, a part is listed: that around an element which was asked for.
 * ir_element_list_row() lists it, if it is not, and says in which row it is. */
guint ir_element_list_row (IrElementList *self, guint64 index);
guint64 ir_element_list_first (IrElementList *self); /* the element in row 0 */
