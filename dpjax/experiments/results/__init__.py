"""What a person reads of a study: tables, arrays, comparisons."""
