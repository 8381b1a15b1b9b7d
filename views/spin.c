#include "config.h"

#include "views/spin.h"

GtkWidget *
ir_spin_new (double least, double most)
{
  GtkWidget *spin = gtk_spin_button_new_with_range (least, most, 1);
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (spin);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);
      if (GTK_IS_EVENT_CONTROLLER_SCROLL (controller))
        gtk_event_controller_set_propagation_phase (controller, GTK_PHASE_NONE);
    }
  return spin;
}
