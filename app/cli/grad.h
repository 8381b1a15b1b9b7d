/* The ways in which irscope grad derives; each in a file of its own, but reverse mode, which is the
 * command's. */
#pragma once

#include "app/cli/model.h"

typedef struct
{
  CliModelOptions model;
  char *of, *cotangent, *output, *out, *explain, *mode;
  char **wrt, **stop;
  char **tangents; /* NAME=FILE, NAME=1,2,3 */
  char **hvp;      /* likewise */
  char *order;     /* (nullable) */
  char *method;    /* of differences */
  double step;     /* of them; NAN: what is good */
  gboolean sweep;
  gboolean layers;
  gboolean jacobian;
  gboolean simplify; /* expressions */
  GHashTable *taken; /* names of files that were written */
} CliGradOptions;

typedef gboolean (*CliGradMode) (Cli *cli,
                                 const CliGradOptions *options,
                                 IrModel *model,
                                 GError **error);
/* --jacobian: each element of what is derived by each of what it is derived by */
gboolean cli_grad_jacobian (Cli *cli,
                            const CliGradOptions *options,
                            IrModel *model,
                            GError **error);
gboolean cli_grad_forward (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error);
/* How derivatives move along --hvp: a Hessian-vector product, forward over reverse */
gboolean cli_grad_hessian (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error);
gboolean cli_grad_numeric (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error);
gboolean cli_grad_symbolic (Cli *cli,
                            const CliGradOptions *options,
                            IrModel *model,
                            GError **error);
gboolean cli_grad_tape (Cli *cli, const CliGradOptions *options, IrModel *model, GError **error);

/* -- what they share (grad-common.c) -- */
char *cli_grad_names (char *const *names, const char *fallback); /* with commas between */
/* What --tangent gives @value, NULL without @error: nothing. (transfer full) (nullable) */
IrTensor *cli_grad_direction (const CliGradOptions *options, const IrValue *value, GError **error);
/* What it is derived by, as an option of the passes: what --tangent names, else --wrt. */
char *cli_grad_wrt (const CliGradOptions *options, GError **error);
/* Writes @tensor to a file of its own in the folder of --out. *path: (out) (nullable): where */
gboolean cli_grad_save (const CliGradOptions *options,
                        const char *name,
                        const IrTensor *tensor,
                        char **path,
                        GError **error);
double cli_grad_sum (const IrTensor *tensor); /* (nullable): NaN */
/* file, shape, norm, max_abs, zeros, nan; @tensor, @path: (nullable) */
void cli_grad_add_tensor (cJSON *object, const IrTensor *tensor, const char *path);
/* held_norm: norm of what it is derived by; NAN: not known */
void cli_grad_add_held (cJSON *object, double norm);
void cli_grad_print_tensor (const char *name, const IrTensor *tensor, const char *why);
/* A node by its name, or #id, as commands take both, with its operator; (nullable): null */
void cli_grad_add_node (const IrNode *node, cJSON *object);
