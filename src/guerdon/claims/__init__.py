"""One file per method: the laptop-scale experiment behind what its paper claims. `base` says what such a file holds."""
