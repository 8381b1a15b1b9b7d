/* A picture as the contents of an input. In words it is a path, and settings behind commas:
 *
 *   preset=imagenet|unit|signed|bytes|caffe|clip|yolo   what follows, all at once; others refine it
 *   fit=crop|stretch|pad     the middle of it, all of it squeezed, all of it with a rim
 *   crop=0.875               of fit=crop: the part of the shorter side that is kept
 *   pad=114                  of fit=pad: the grey of the rim, 0 to 255
 *   size=224x224             width and height, where the input leaves them open
 *   layout=nchw|nhwc         where the channels are, if the type does not say
 *   channels=rgb|bgr|gray    their order; of one channel always gray
 *   scale=1/255 mean=0.5:0.5:0.5 std=0.2    (pixel * scale - mean) / std, pixels being 0 to 255
 *   invert=yes               255 - pixel
 */
#pragma once

#include "core/exec/run/run.h"

typedef enum
{
  IR_PICTURE_CROP,
  IR_PICTURE_STRETCH,
  IR_PICTURE_PAD,
  IR_N_PICTURE_FITS
} IrPictureFit;

/* Settings that are usual together; @settings is what the name stands for. */
typedef struct
{
  const char *name, *title, *settings;
} IrPicturePreset;

const IrPicturePreset *ir_picture_presets (guint *n);
/* What is taken without preset=. */
const IrPicturePreset *ir_picture_preset_for (const IrValue *input);
/* The path in @text; @settings: (out): behind it, "" for none. (transfer full) (nullable) */
char *ir_picture_path (const char *text, const char **settings);
IrTensor *ir_picture_tensor (const IrValue *input,
                             GHashTable *sizes,
                             const char *text,
                             GError **error);
