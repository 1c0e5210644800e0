"""The words for what the analysis found, the same in every report.

Each module imports only from earlier ones: phrases, remarks, reasons, wording, loads, care, notes.
"""
