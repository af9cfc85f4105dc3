"""The admin: for looking, with links between everything of a session. Importing this registers its pages."""

from django.contrib import admin

from sessions_app.admin import access, attempts, history, sessions, work

__all__ = ["access", "attempts", "history", "sessions", "work"]

admin.site.site_header = admin.site.site_title = "Albedo"
admin.site.index_template = "admin/albedo_index.html"
admin.site.index_title = "What lasts, and what lives"
