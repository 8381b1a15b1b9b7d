#pragma once

/* What the colours of a picture mean, as a small picture. */

#include "core/look/scale.h"

G_BEGIN_DECLS

IrScene *ir_legend_draw (const IrScale *scale, IrSceneMeasure measure, gpointer data);

G_END_DECLS
