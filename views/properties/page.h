/* The page of the properties: groups, and rows in them. It is made anew when what it shows changes. */
#pragma once

#include "core/ir/model.h"
#include "views/session/session.h"

#include <adwaita.h>

#define IR_PROPERTY_MAX_ROWS                                                                       \
  64 /* of one group; ir_property_more() says how many there are beyond */

typedef struct
{
  IrSession *session; /* not referenced: lives as long as the view */
  GtkWidget *box;     /* the groups, one below the other */
  GtkWidget *chooser; /* (nullable) of the kernel, while a node is shown */
} IrPropertyPage;

void ir_property_heading (IrPropertyPage *page,
                          const char *title,
                          const char *subtitle,
                          const char *doc);
GtkWidget *ir_property_group (IrPropertyPage *page, const char *title);
/* Titles and subtitles are shown as they are: names may hold any character. */
GtkWidget *ir_property_row (GtkWidget *group, const char *title, const char *subtitle);
void ir_property_suffix (GtkWidget *row, const char *text, const char *css);
void ir_property_more (GtkWidget *group, guint n);
/* What a click on the row selects. */
void ir_property_leads_to_value (GtkWidget *row, IrValueId value);
void ir_property_leads_to_node (GtkWidget *row, IrNodeId node);
void ir_property_leads_to_step (GtkWidget *row, guint step);
/* Of the graph on screen, which acts can change. */
gboolean ir_property_page_is_live (IrPropertyPage *page, const IrNode *node);
