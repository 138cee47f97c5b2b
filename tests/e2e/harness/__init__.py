"""What the end-to-end tests stand on. README.md beside it is the guide."""
