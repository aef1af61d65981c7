"""The commands of the command line, a file each. Heavy imports happen inside them, so that `--help` is instant."""
