/* The application: one process, several windows; files from the command line. */
#pragma once

#include <adwaita.h>

#define IR_TYPE_APPLICATION (ir_application_get_type ())
G_DECLARE_FINAL_TYPE (IrApplication, ir_application, IR, APPLICATION, AdwApplication)

IrApplication *ir_application_new (void);
