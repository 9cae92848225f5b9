"""Speed, memory and quality: of the kernels alone, and of whole models beside those of other libraries."""
