/* Values of two graphs as rows of a table: what each is called, and by how much it differs. */
#pragma once

#include "passes/proof/value-table.h"
#include "views/columns.h"
#include "views/session/frame.h"

#define IR_TYPE_VALUE_ITEM (ir_value_item_get_type ())
G_DECLARE_FINAL_TYPE (IrValueItem, ir_value_item, IR, VALUE_ITEM, GObject)

enum
{
  IR_VALUE_COLUMN_ORDER,
  IR_VALUE_COLUMN_NAME,
  IR_VALUE_COLUMN_ABS,
  IR_VALUE_COLUMN_REL,
  IR_VALUE_COLUMN_ULP,
  IR_N_VALUE_COLUMNS
};

extern const IrColumn ir_value_columns[IR_N_VALUE_COLUMNS];

IrValueItem *ir_value_item_new (const IrValueRow *row); /* borrows nothing */
guint ir_value_item_id (
    IrValueItem *self); /* with IR_OTHER_SIDE for one of the other graph alone */
