"""Numbers only: plain values in, frozen results out.

No units, files, charts or widgets here; names carry the unit. Import from the module of the subject, as in
``from afterload.model.coupled import simulate``.
"""
