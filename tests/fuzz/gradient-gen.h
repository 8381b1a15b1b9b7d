/* Random programs with control flow, to be derived: a list of statements, each of which makes one more
 * double[2,3] of those before it, and may own lists of its own. */
#pragma once

#include <glib.h>

typedef struct _GradientProgram GradientProgram;

GradientProgram *gradient_program_new (guint32 seed);
void gradient_program_free (GradientProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradientProgram, gradient_program_free)
/* ONNX text of (double[2,3] a, double[3] b, and a direction for each) => (double loss) */
char *gradient_program_text (const GradientProgram *program);
/* Whether statement @i hands on what it reads; programs without some are still programs. */
guint gradient_program_n (const GradientProgram *program);
gboolean gradient_program_drop (GradientProgram *program, guint i, gboolean drop); /* was it not? */
