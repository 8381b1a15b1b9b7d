#pragma once

/* The scale of an overlay in one picture: from a number to a colour, with units that fit and the
 * distribution of what is drawn. */

#include "core/layout/scene.h"
#include "core/look/overlay.h"

G_BEGIN_DECLS

#define IR_SCALE_BINS 24
#define IR_SCALE_CLASSES                                                                           \
  8 /* with colours of their own; the last one is all others, if there are more */

typedef enum
{
  IR_SCALE_AUTO, /* logarithmic where numbers are all positive and range over more than 100 times */
  IR_SCALE_LINEAR,
  IR_SCALE_LOG,
} IrScaleKind;

typedef struct
{
  gatomicrefcount refs;
  char *title, *unit;
  const char *lacks; /* (nullable) what to do where @n is 0; static */
  gboolean is_class, is_log;
  double low, high;          /* of the numbers; of a logarithmic scale @low is positive */
  guint n;                   /* boxes with a number */
  guint bins[IR_SCALE_BINS]; /* of these, by place on the scale */
  guint n_classes;
  char *classes[IR_SCALE_CLASSES];
  guint n_in_class[IR_SCALE_CLASSES];
} IrScale;

/* Colours the boxes of @scene by their amounts, before others read it. */
IrScale *ir_scale_apply (IrScene *scene, const char *title, const char *unit, IrScaleKind kind);
IrScale *ir_scale_apply_classes (IrScene *scene, const char *title);
IrScale *ir_scale_ref (IrScale *scale);
void ir_scale_unref (IrScale *scale);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrScale, ir_scale_unref)
double ir_scale_at (const IrScale *scale, double number);
char *ir_scale_text (double number, const char *unit);
char *ir_scale_sentence (const IrScale *scale);

G_END_DECLS
