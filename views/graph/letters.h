/* Texts of the canvas: fonts that are as wide as they were measured, and names at their size on
 * screen, kept from frame to frame. */
#pragma once

#include "core/layout/scene.h"

#include <gtk/gtk.h>

typedef struct _IrLetters IrLetters;

IrLetters *ir_letters_new (void);
void ir_letters_free (IrLetters *letters);
PangoContext *ir_letters_context (IrLetters *letters, PangoContext *widget);
PangoFontDescription *ir_letters_font (const IrSceneTextLook *look);
GskRenderNode *ir_letters_dup_name (IrLetters *letters,
                                    PangoContext *pango,
                                    const IrSceneName *name,
                                    guint32 colour);
