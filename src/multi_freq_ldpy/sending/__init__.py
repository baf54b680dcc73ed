"""Parts of a sender: surveys that it knows, the outbox, and files of waiting batches."""
