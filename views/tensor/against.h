/* What a value is held against: a choice, and what was held or read for it. */
#pragma once

#include "core/ir/tensor.h"

#include <gtk/gtk.h>

typedef enum
{
  IR_AGAINST_ORIGINAL, /* the same value of the original graph, or of the one that it is compared with */
  IR_AGAINST_HELD,      /* a value of any run, round or step, kept by hand */
  IR_AGAINST_REFERENCE, /* what the reference kernels give */
  IR_AGAINST_FILE,
  IR_N_AGAINSTS
} IrAgainstKind;

#define IR_TYPE_AGAINST (ir_against_get_type ())
G_DECLARE_FINAL_TYPE (IrAgainst, ir_against, IR, AGAINST, GtkBox)

/* Signals: changed (); hold (): what is on screen is to be held. */
GtkWidget *ir_against_new (void); /* (transfer floating) */
void ir_against_hold (IrAgainst *self, IrTensor *tensor, const char *name);
IrAgainstKind ir_against_get_kind (IrAgainst *self);
IrTensor *ir_against_get_tensor (IrAgainst *self);         /* (nullable) of what was held or read */
char *ir_against_text (IrAgainst *self, gboolean of_pair); /* a heading; @of_pair: of two graphs */
const char *ir_against_get_name (IrAgainst *self);         /* (nullable) what it is called */
