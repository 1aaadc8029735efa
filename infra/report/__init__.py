"""A report with plots on the models of a plan, in Markdown."""
