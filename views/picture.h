/* The picture of a frame: the scene that the canvas paints and that export writes, made with the
 * session's settings. Runs in jobs. */
#pragma once

#include "core/exec/exec.h"
#include "core/look/look.h"
#include "views/session/frame.h"

/* Immutable once made; shared with jobs. */
typedef struct
{
  gatomicrefcount ref_count;
  guint serial;
  IrLook *look;
  IrRun *run;            /* (nullable) for overlays */
  GHashTable *errors;    /* (nullable) for overlays: as ir_overlay_errors() gives them */
  GHashTable *gradients; /* (nullable) for overlays: node id -> IrNodeGradient */
  GHashTable *updates;   /* (nullable) for overlays: node id -> IrNodeUpdate */
  IrNumbers *numbers;    /* (nullable) for overlays */
  GPtrArray *problems;
  IrSceneMarks *marks; /* (nullable) of one step */
  guint marks_step;
  GHashTable *moves; /* guint64 * -> IrLayoutPoint *: boxes that were moved by hand */
} IrPictureSettings;

IrPictureSettings *ir_picture_settings_new (guint serial, const IrLook *look, GPtrArray *problems);
IrPictureSettings *ir_picture_settings_with_problems (const IrPictureSettings *settings,
                                                      GPtrArray *problems);
void ir_picture_settings_set_automatic (IrPictureSettings *settings, GHashTable *keys);
void ir_picture_settings_set_facts (IrPictureSettings *settings,
                                    IrRun *run,
                                    GHashTable *errors,
                                    GHashTable *gradients,
                                    GHashTable *updates,
                                    IrNumbers *numbers);
void ir_picture_settings_set_problems (IrPictureSettings *settings, GPtrArray *problems);
void ir_picture_settings_set_marks (IrPictureSettings *settings, IrSceneMarks *marks, guint step);
void ir_picture_settings_move (IrPictureSettings *settings, guint64 key, const IrLayoutPoint *by);
IrPictureSettings *ir_picture_settings_ref (IrPictureSettings *settings);
void ir_picture_settings_unref (IrPictureSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrPictureSettings, ir_picture_settings_unref)

/* @facts: (nullable); @scale: (out) (optional) (nullable) (transfer full) */
IrScene *ir_picture_new (const IrFrame *frame,
                         const IrPictureSettings *settings,
                         const IrFrame *previous,
                         const IrOverlayFacts *facts,
                         IrScale **scale,
                         GCancellable *cancellable,
                         GError **error);
/* (nullable): it has no nodes, or too many */
IrScene *ir_picture_of_rewrite (const IrRewrite *rewrite,
                                IrSceneJoin join,
                                GCancellable *cancellable);
/* -- large graphs -- */
GHashTable *ir_picture_choose_folds (const IrScene *scene); /* (transfer full) (nullable) */
gboolean ir_picture_reveal (GHashTable *folds, const IrDiff *diff, const IrNode *node);
IrOverlayFacts *ir_picture_facts (const IrPictureSettings *settings);

gboolean ir_picture_is_format (const char *path);
gboolean ir_picture_save (const IrFrame *frame, const char *path, GError **error);
