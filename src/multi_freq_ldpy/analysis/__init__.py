"""Analysis of mechanisms: exact worst cases, audits and data poisoning."""
