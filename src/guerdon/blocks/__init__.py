"""A fast way through the decoder layers of the usual families on a CPU, equal to transformers' own to rounding.

`stack` finds the parts of a model and says whether they are known, `kernels` are the operations of a layer with their
gradients by hand, `flat` runs a training pass over tokens that nothing pads, `decode` one step of sampling. Who finds
no stack takes the model's own forward: there is nothing here that only this path can do.
"""
