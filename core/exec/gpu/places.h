/* Where the libraries of CUDA are looked for. */
#pragma once

#include <glib.h>

/* Folders that come first, joined by ':'. As the last of them "-" means: nowhere else. */
#define IR_GPU_PATH "IRSCOPE_GPU_PATH"

typedef struct
{
  char *folder;    /* (nullable) NULL: where the loader looks by itself */
  const char *why; /* "LD_LIBRARY_PATH", "toolkit" */
} IrGpuPlace;

GPtrArray *ir_gpu_places_new (void);
void ir_gpu_places_add (GPtrArray *places, const char *folder, const char *why);
GPtrArray *ir_gpu_places (const char *path);
