"""What mechanisms tell and withstand: exact worst cases, audits, data poisoning."""
