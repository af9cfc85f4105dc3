"""What runs in the kernel's own process. Imports nothing of this project: it is started by path."""
