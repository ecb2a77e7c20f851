"""What is audited: a program, its claim, its databases and its neighbors."""
