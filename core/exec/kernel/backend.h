/* What the files of core/exec share, and what back ends need of it. */
#pragma once

#include "core/exec/exec.h"
#include "core/exec/memory/memory.h"
#include "core/exec/kernel/threads.h"
#include "core/ir/edit.h"

extern const IrBackend ir_backend_ref;

const IrBackend *ir_backend_require (const char *name, GError **error);
gboolean ir_backend_choose (const IrBackend *backend,
                            const IrNode *node,
                            IrKernelFunc *kernel,
                            const IrBackend **chosen,
                            const char **why,
                            GError **error);
const char *ir_backend_kernel_name (const IrBackend *backend,
                                    const IrNode *node,
                                    IrKernelFunc kernel);

/* -- subgraph.c -- */
gboolean ir_subgraph_runs (const IrNode *node);

/* The node of @graph that a use belongs to: the node itself, or the owner of the subgraphs around
 * it. NULL for graph outputs and for uses outside @graph. */
IrNode *ir_use_node_in (const IrGraph *graph, IrUse use);

/* -- runner.c -- */
GError *ir_exec_error_from_kernel (const IrNode *node, GError *error);
gsize ir_exec_default_memory_limit (void);
guint64 ir_exec_random_seed (const IrNode *node, guint64 seed, guint round);
gboolean ir_eval_control (const IrNode *node,
                          const IrTensor *const *inputs,
                          IrTensor **outputs,
                          const IrEvalOptions *options,
                          GError **error);
gboolean ir_exec_expand_bodies (IrEdit *edit,
                                const IrOp *only,
                                GPtrArray *problems,
                                GError **error);
gboolean ir_exec_expand_gradients (IrEdit *edit, GError **error);

IrSchedule *ir_schedule_ref (IrSchedule *schedule);
IrMemPlan *ir_mem_plan_ref (IrMemPlan *plan);
