"""Shows an evaluation, and lists, on standard output and as a page: one object, several forms.

`console` for people at a terminal, `plain` for programs (JSON, CSV), `markdown` for comments, `page` for
everybody else.

Each module imports only from earlier ones: listing, diagnosis, answers, sentences, template, console,
plain, markdown, gate, page, so_far, screen, during, watch_page.
"""
