/* What commands that open a model share: FILE@N, pipelines, dimensions, inputs, running. */
#pragma once

#include "app/cli/command.h"
#include "core/exec/run/iteration-name.h"
#include "passes/pipeline/pipeline.h"

/* Of arguments that cannot be what was meant. */
#define CLI_ERROR (g_quark_from_static_string ("irscope-usage"))

/* Options that several commands have, each where it keeps them. */
#define CLI_DEVICE_OPTION(offset)                                                                  \
  {                                                                                                \
    "device", 0, G_OPTION_ARG_STRING, offset,                                                      \
        "Back end: cpu (default), ref, gpu; of several GPUs gpu:N", "NAME"                         \
  }
#define CLI_BUDGET_OPTION(offset)                                                                         \
  {                                                                                                       \
    "budget", 0, G_OPTION_ARG_STRING, offset,                                                             \
        "Most memory of the values between nodes, bytes or a part of what they take without (20M, 50%): " \
        "values are dropped and computed again, with the same results; exit status 1: it cannot be held", \
        "SIZE"                                                                                            \
  }

/* The shared options; a command's options struct begins with it. */
typedef struct
{
  char *pipeline, *passes, *step_class;
  char **dims, **shapes, **skip, **set;
  char **inputs;
  char **images;  /* NAME=FILE,KEY=VALUE */
  char **values;  /* NAME=1,2,3 */
  char **fills;   /* NAME=normal,KEY=VALUE */
  char *data_set; /* (nullable) a folder; an option of run alone */
  gint64 seed;
  char *device;
  char *precision; /* of a GPU */
  char *streams;   /* (nullable) of a GPU; NULL: as many as there may be */
  char **kernels;  /* NODE=NAME */
  gint threads;
  char *memory_limit, *output_limit;
  char *budget; /* of the arena, as IrRunOptions has it */
  gint64 iterations;
  double seconds;
  gint64 opset;             /* 0: as the model is */
  gboolean record_refusals; /* no option: set by commands that need them */
  IrIterations captured;    /* likewise: of which iterations a run keeps what it captures */
  GArray *rule_totals;      /* (unowned) (nullable) of IrRuleTotal: gets what rules cost */
} CliModelOptions;

extern const CliOption cli_pass_options[];  /* --pipeline --pass --class --skip */
extern const CliOption cli_model_options[]; /* those, and --dim --shape */
extern const CliOption cli_run_options[];   /* those, and --input --random --device --threads */

/* Those, and --memory-limit --output-limit --max-iterations --time-limit. */
extern const CliOption cli_limited_options[];

typedef struct
{
  IrModel *model;      /* (owned) with its history if passes were run */
  GPtrArray *problems; /* (owned) */
  char *path;          /* (owned) without @N */
  gint step;           /* N of FILE@N, -1 if none was given */
} CliModel;

/* FILE, or with @at > 0 FILE@N, of which @with_step (out) (transfer full) (nullable) is the text; of a
 * session its step. */
const char *cli_file_at (Cli *cli, gint at, char **with_step);
/* Opens FILE or FILE@N; with @N, --pipeline or --pass runs the passes and goes to step N. Prints
 * what went wrong and sets @status. */
gboolean cli_model_open (Cli *cli,
                         const CliModelOptions *options,
                         const char *file,
                         gboolean with_passes,
                         CliModel *model,
                         CliStatus *status);
void cli_model_clear (CliModel *model);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliModel, cli_model_clear)

IrPipeline *cli_pipeline (const CliModelOptions *options, GError **error);
gboolean cli_class (const CliModelOptions *options, IrClass *step_class, GError **error);
gboolean cli_run_pipeline (Cli *cli,
                           const CliModelOptions *options,
                           IrModel *model,
                           IrPipelineResult *result,
                           GError **error);
/* NAME=VALUE of the option called @option. @name: (out) (transfer full); @value: (out), in @text */
gboolean cli_split_assignment (
    const char *text, const char *option, char **name, const char **value, GError **error);
/* Binds the symbols and shapes of the model as --dim, --shape and --input say. */
gboolean cli_bind_dims (const CliModelOptions *options,
                        IrModel *model,
                        GPtrArray *problems,
                        GError **error);
/* What no sizes suit, or not those of @bindings (nullable), with the --dim to give. Returns how many. */
guint cli_add_size_conflicts (const IrModel *model, GHashTable *bindings, GPtrArray *problems);
void cli_json_add_sizes (cJSON *json, const IrModel *model);
/* Of open dimensions, for commands that run often. */
void cli_print_default_sizes (const IrModel *model);
GHashTable *cli_bindings (const CliModelOptions *options, GError **error); /* symbol -> gint64 * */
/* Inputs as --input and --random say. */
GHashTable *cli_inputs (Cli *cli, const CliModelOptions *options, IrModel *model, GError **error);
/* The same with a limit on the bytes of those that are made; 0: a quarter of memory. */
GHashTable *cli_inputs_within (
    Cli *cli, const CliModelOptions *options, IrModel *model, guint64 limit, GError **error);
/* Gives the inputs of the model that @edit writes the sizes that those would have. */
gboolean cli_bind_sizes (const CliModelOptions *options,
                         IrModel *model,
                         IrEdit *edit,
                         GError **error);
/* @names: (nullable): --without, as often as it was given */
gboolean cli_without (char **names, IrDecisions *without, GError **error);
gboolean cli_parallel (const char *text, IrParallelMode *mode, GError **error);
/* What --memory-limit and its like say; without them, the defaults. */
gboolean cli_limits (const CliModelOptions *options, IrRunLimits *limits, GError **error);
gboolean cli_parse_size (const char *option, const char *text, gsize *bytes, GError **error);
const IrBackend *cli_backend (const CliModelOptions *options, GError **error);
/* FALSE: @run has left out the node that computes @value. */
gboolean cli_value_was_run (const IrRun *run, const IrValue *value, GError **error);
/* How @options want @model to be run, and with which inputs: value id -> IrTensor; *inputs: (out)
 * (transfer full) */
gboolean cli_run_setup (Cli *cli,
                        const CliModelOptions *options,
                        IrModel *model,
                        IrRunOptions *how,
                        GHashTable **inputs,
                        GError **error);
IrRun *cli_run (Cli *cli,
                const CliModelOptions *options,
                IrModel *model,
                IrCaptureKind capture,
                GArray *chosen,
                IrRun **partial,
                GError **error);
IrNode *cli_find_node (const IrModel *model, const char *name, GError **error); /* name or #id */
/* Likewise, or in an iteration, LOOP@N/NAME: then @iteration (out) says which; else it is empty. */
IrNode *cli_find_node_in (const IrModel *model,
                          const char *name,
                          IrIterationName *iteration,
                          GError **error);
IrValue *cli_find_value (const IrModel *model, const char *name, GError **error); /* name or #id */
/* Also in the body of the function that a node calls, or in what @backend runs in the place of a node:
 * the node's name, '/', and the name there. Such values are only in what runs: then @expanded (inout)
 * (nullable) is that, and is what has to be run, with the same ids. */
IrValue *cli_find_run_value (
    IrModel *model, const IrBackend *backend, IrModel **expanded, const char *name, GError **error);
/* Likewise, or one of an iteration, LOOP@N/NAME: then @iteration (out) says which; else it is empty. */
const IrValue *cli_find_iteration (IrModel *model,
                                   const IrBackend *backend,
                                   IrModel **expanded,
                                   const char *name,
                                   IrIterationName *iteration,
                                   GError **error);
