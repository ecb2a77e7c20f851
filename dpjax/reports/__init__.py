"""Reports of results: one HTML file each, with its figures and tables, that refers to nothing outside itself."""

from .audit import audit_page as audit_page
from .study import study_page as study_page
