#include "config.h"

#include "app/gui/application.h"

#include "app/gui/keeper.h"
#include "app/gui/state.h"
#include "app/gui/window.h"

struct _IrApplication
{
  AdwApplication parent_instance;
  GFile *session; /* (nullable) until it is opened: of --session */
  gboolean exit_after_startup;
};

G_DEFINE_FINAL_TYPE (IrApplication, ir_application, ADW_TYPE_APPLICATION)

static const struct
{
  const char *action;
  const char *accels[4];
} shortcuts[] = {
  { "win.open", { "<Control>o" } },
  { "win.new", { "<Control>n" } },
  { "win.compare", { "<Control>d" } },
  { "win.close-graph", { "<Control>w" } },
  { "win.save", { "<Control>s" } },
  { "win.save-as", { "<Control><Shift>s" } },
  { "win.export('onnx')", { "<Control>e" } },
  { "win.optimize", { "F5" } },
  { "win.passes", { "<Shift>F5" } },
  { "win.run", { "<Control>r" } },
  { "win.drive('step')", { "F7" } },
  { "win.drive('over')", { "<Shift>F7" } },
  { "win.drive('round')", { "<Alt>F7" } },
  { "win.drive('to')", { "<Control>F7" } },
  { "win.drive('continue')", { "<Control><Shift>F7" } },
  { "win.measure-kernels", { "<Control>k" } },
  { "win.check-execution", { "<Control><Shift>e" } },
  { "win.inputs", { "<Control>i" } },
  { "win.run-options", { "<Control><Shift>r" } },
  { "win.next-step", { "F8" } },
  { "win.previous-step", { "<Shift>F8" } },
  { "win.run-on", { "F9" } },
  { "win.run-back", { "<Shift>F9" } },
  { "win.bisect", { "<Control>b" } },
  { "win.skip-nothing", { "<Control>BackSpace" } },
  { "win.view('search')", { "<Control>f" } },
  { "win.view('next-hit')", { "<Control>g" } },
  { "win.view('previous-hit')", { "<Control><Shift>g" } },
  { "win.view('zoom-in')", { "<Control>plus", "<Control>equal", "<Control>KP_Add" } },
  { "win.view('zoom-out')", { "<Control>minus", "<Control>KP_Subtract" } },
  { "win.view('zoom-normal')", { "<Control>0", "<Control>KP_0" } },
  { "win.show-start", { "<Control>F9" } },
  { "win.show-end", { "<Control><Shift>F9" } },
  { "win.show-bottom", { "<Control>j" } },
  { "win.graph-alone", { "F4" } },
  { "win.palette", { "<Control><Shift>p" } },
  { "win.next-pane", { "F6" } },
  { "win.show('graph')", { "<Alt>1" } },
  { "win.show('text')", { "<Alt>2" } },
  { "win.show('steps')", { "<Alt>3" } },
  { "win.show('properties')", { "<Alt>4" } },
  { "win.show('schedule')", { "<Alt>5" } },
  { "win.show('memory')", { "<Alt>m" } },
  { "win.show('derivation')", { "<Alt>d" } },
  { "win.show('gradients')", { "<Alt>g" } },
  { "win.show('training')", { "<Alt>t" } },
  { "win.show('tensor')", { "<Alt>6" } },
  { "win.show('scoreboard')", { "<Alt>7" } },
  { "win.show('breakpoints')", { "<Alt>8" } },
  { "win.show('differences')", { "<Alt>9" } },
  { "win.show('why')", { "<Alt>0" } },
  { "win.show('nodes')", { "<Alt>n" } },
  { "win.show-help-overlay", { "<Control>question" } },
  { "app.new-window", { "<Control><Shift>n" } },
  { "app.quit", { "<Control>q" } },
};

static void
activate_new_window (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *window = ir_window_new (GTK_APPLICATION (user_data));

  gtk_window_present (GTK_WINDOW (window));
  ir_keeper_attach (window);
}

/* Closes window by window, so that each may ask about its edits. */
static void
activate_quit (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  GList *windows = g_list_copy (gtk_application_get_windows (GTK_APPLICATION (user_data)));

  for (GList *l = windows; l != NULL; l = l->next)
    gtk_window_close (l->data);
  g_list_free (windows);
}

static void
activate_about (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  GtkWindow *parent = gtk_application_get_active_window (GTK_APPLICATION (user_data));

  adw_show_about_window (
      parent, "application-name", "irscope", "application-icon", "org.irscope.Irscope", "version",
      IR_VERSION, "comments",
      "An oscilloscope for computation graphs: see every rewrite of the optimizer and every value "
      "of the run.",
      "license-type", GTK_LICENSE_MIT_X11, "developer-name", "The irscope developers", NULL);
}

static void
apply_theme (const char *theme)
{
  AdwColorScheme scheme = ADW_COLOR_SCHEME_DEFAULT;

  if (g_strcmp0 (theme, "light") == 0)
    scheme = ADW_COLOR_SCHEME_FORCE_LIGHT;
  else if (g_strcmp0 (theme, "dark") == 0)
    scheme = ADW_COLOR_SCHEME_FORCE_DARK;
  adw_style_manager_set_color_scheme (adw_style_manager_get_default (), scheme);
}

static void
change_theme (GSimpleAction *action, GVariant *value, gpointer user_data)
{
  apply_theme (g_variant_get_string (value, NULL));
  ir_state_set_string ("theme", g_variant_get_string (value, NULL));
  ir_state_save ();
  g_simple_action_set_state (action, value);
}

static const GActionEntry actions[] = {
  { "new-window", activate_new_window },
  { "about", activate_about },
  { "quit", activate_quit },
  { "theme", NULL, "s", "'system'", change_theme },
};

static void
ir_application_startup (GApplication *application)
{
  g_autofree char *theme = NULL;

  G_APPLICATION_CLASS (ir_application_parent_class)->startup (application);
  g_action_map_add_action_entries (G_ACTION_MAP (application), actions, G_N_ELEMENTS (actions),
                                   application);
  for (guint i = 0; i < G_N_ELEMENTS (shortcuts); i++)
    gtk_application_set_accels_for_action (GTK_APPLICATION (application), shortcuts[i].action,
                                           (const char *const *) shortcuts[i].accels);
  theme = ir_state_get_string ("theme", "system");
  g_action_group_change_action_state (G_ACTION_GROUP (application), "theme",
                                      g_variant_new_string (theme));
  gtk_window_set_default_icon_name ("org.irscope.Irscope");
}

static gboolean
quit_when_drawn (gpointer data)
{
  g_application_quit (G_APPLICATION (data));
  return G_SOURCE_REMOVE;
}

static void
present_new (IrApplication *self, GFile *file)
{
  IrWindow *window = ir_window_new (GTK_APPLICATION (self));

  gtk_window_present (GTK_WINDOW (window));
  ir_keeper_attach (window);
  if (file != NULL)
    ir_window_open (window, file);
  else
    ir_window_offer_lost (window);
  if (self->exit_after_startup)
    g_timeout_add (500, quit_when_drawn, self);
}

/* FALSE: --session was not given, or is open */
static gboolean
open_session (IrApplication *self)
{
  g_autoptr (GFile) session = g_steal_pointer (&self->session);

  if (session != NULL)
    present_new (self, session);
  return session != NULL;
}

static void
ir_application_activate (GApplication *application)
{
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (application));

  if (open_session (IR_APPLICATION (application)))
    return;
  if (window != NULL)
    gtk_window_present (window);
  else
    present_new (IR_APPLICATION (application), NULL);
}

static void
ir_application_open (GApplication *application, GFile **files, int n_files, const char *hint)
{
  open_session (IR_APPLICATION (application));
  for (int i = 0; i < n_files; i++)
    present_new (IR_APPLICATION (application), files[i]);
}

/* Where the application runs already, it opens the session. */
static int
take_session (IrApplication *self, GVariantDict *options)
{
  GApplication *application = G_APPLICATION (self);
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_variant_dict_lookup (options, "session", "^ay", &path))
    return -1;
  self->session = g_file_new_for_commandline_arg (path);
  if (!g_application_register (application, NULL, &error))
    {
      g_printerr ("irscope-gtk: %s\n", error->message);
      return 1;
    }
  if (!g_application_get_is_remote (application))
    return -1;
  g_application_open (application, &self->session, 1, "");
  g_clear_object (&self->session);
  return 0;
}

static int
ir_application_handle_local_options (GApplication *application, GVariantDict *options)
{
  IrApplication *self = IR_APPLICATION (application);

  if (g_variant_dict_contains (options, "version"))
    {
      g_print ("irscope-gtk %s\n", IR_VERSION);
      return 0;
    }
  self->exit_after_startup = g_variant_dict_contains (options, "exit-after-startup");
  return take_session (self, options);
}

static void
ir_application_shutdown (GApplication *application)
{
  ir_keepers_end ();
  G_APPLICATION_CLASS (ir_application_parent_class)->shutdown (application);
}

static void
ir_application_class_init (IrApplicationClass *klass)
{
  GApplicationClass *application_class = G_APPLICATION_CLASS (klass);

  application_class->startup = ir_application_startup;
  application_class->shutdown = ir_application_shutdown;
  application_class->activate = ir_application_activate;
  application_class->open = ir_application_open;
  application_class->handle_local_options = ir_application_handle_local_options;
}

static void
ir_application_init (IrApplication *self)
{
  static const GOptionEntry options[] = {
    { "version", 0, 0, G_OPTION_ARG_NONE, NULL, "Print the version and exit", NULL },
    { "session", 0, 0, G_OPTION_ARG_FILENAME, NULL, "Open what is in a session file", "F" },
    { "exit-after-startup", 0, 0, G_OPTION_ARG_NONE, NULL, "Show the window and exit; for tests",
      NULL },
    { NULL },
  };

  g_application_add_main_option_entries (G_APPLICATION (self), options);
  g_application_set_option_context_parameter_string (G_APPLICATION (self), "[FILE…]");
  g_application_set_option_context_summary (
      G_APPLICATION (self),
      "Shows computation graphs, how they are optimized and what they compute.");
}

/* The application; unique in the session unless IRSCOPE_NON_UNIQUE is set. */
IrApplication *
ir_application_new (void)
{
  GApplicationFlags flags = G_APPLICATION_HANDLES_OPEN;

  if (g_getenv ("IRSCOPE_NON_UNIQUE") != NULL)
    flags |= G_APPLICATION_NON_UNIQUE;
  return g_object_new (IR_TYPE_APPLICATION, "application-id", "org.irscope.Irscope", "flags", flags,
                       NULL);
}
