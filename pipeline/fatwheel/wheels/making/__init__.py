"""Write wheels: pack, repack, split, shim, placeholder and variants."""
