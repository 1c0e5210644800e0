"""Shows a weighing, and lists, on standard output and as a page: one object, several forms.

`console` for people at a terminal, `plain` for programs (JSON, CSV), `page` for everybody else.

Each module imports only from earlier ones: listing, diagnosis, answers, notes, sentences, template, console,
plain, page, so_far, screen, during, watch_page.
"""
