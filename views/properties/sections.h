/* What the page of the properties is made of; each from the file of its name. */
#pragma once

#include "core/layout/scene.h"
#include "views/properties/page.h"
#include "views/session/frame.h"

void ir_properties_show_model (IrPropertyPage *page, const IrModel *model);
void ir_properties_show_node (IrPropertyPage *page, const IrNode *node);
/* A node of another step than those on screen. */
void ir_properties_show_absent (IrPropertyPage *page, IrNodeId id);
/* A value that is selected as a line, or as an input or output. */
void ir_properties_show_value (IrPropertyPage *page, const IrValue *value);
void ir_properties_show_group (IrPropertyPage *page, const IrFrame *frame, const IrSceneBox *box);

void ir_properties_add_kernel (IrPropertyPage *page, const IrNode *node);
void ir_properties_add_lineage (IrPropertyPage *page, IrNodeId id);
/* Those of a node, or all: 0. */
void ir_properties_add_problems (IrPropertyPage *page, IrNodeId node);

char *ir_property_type_text (const IrValue *value);    /* (transfer full) */
const char *ir_property_origin (const IrValue *value); /* (nullable): a node computes it */
