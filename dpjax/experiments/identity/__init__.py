"""What values, programs and code are, as digests that a store can trust."""
