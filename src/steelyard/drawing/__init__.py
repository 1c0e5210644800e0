"""Charts: what the analysis found as Vega-Lite specifications and as marks.

Each module imports only from earlier ones: charts, lanes, marks, figures, timelines, study_figures,
watch_figures.
"""
