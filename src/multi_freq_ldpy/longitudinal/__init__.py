"""Many reports over time: protocols that remember, devices and panels of users that report again and again, rounds combined."""
