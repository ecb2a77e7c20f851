"""Every name of JAX that its compatibility policy does not cover, with the reason for each.

No other file of the package imports such a name: those of `jax.extend`, `jax.interpreters`, `jax.experimental` and
`jaxlib`, and names that begin with an underscore. A minor version of JAX may remove any of them.
"""

# Writes machine code as bytes; the public way, jax.export, writes a program that is compiled again.
from jax.experimental import serialize_executable as serialize_executable

# Clears the folder of compiled programs that JAX has opened; setting jax_compilation_cache_dir alone does not.
from jax.experimental.compilation_cache.compilation_cache import reset_cache as reset_cache

# The source line of an equation, which audits report.
from jax.extend import source_info_util as source_info_util

# Traced programs, which audits interpret, digests describe, and draws and loops carry as parameters; and primitives.
from jax.extend.core import ClosedJaxpr as ClosedJaxpr
from jax.extend.core import Jaxpr as Jaxpr
from jax.extend.core import Literal as Literal
from jax.extend.core import Primitive as Primitive
from jax.extend.core import Var as Var
from jax.extend.core import jaxpr_as_fun as jaxpr_as_fun
from jax.extend.core import jaxprs_in_params as jaxprs_in_params

# Rules of the primitives of draws, queries and loops: derivatives, vmap and compilation.
from jax.interpreters import ad as ad
from jax.interpreters import batching as batching
from jax.interpreters import mlir as mlir

# Writes out the operations that JAX expands when it compiles: `lower_jaxpr2`, from JAX 0.11 on, see `core.lowered`.
from jax.interpreters import partial_eval as partial_eval

# Options that load machine code on another device than the one that it was compiled for.
from jaxlib.xla_client import CompileOptions as CompileOptions
from jaxlib.xla_client import DeviceAssignment as DeviceAssignment

# Reads that machine code; the public `deserialize_and_load` loads it only on the device that compiled it.
ExecutableUnpickler = serialize_executable._JaxPjrtUnpickler

# The event of `jax.monitoring` that says that a program was read from JAX's persistent cache.
CACHE_HIT = "/jax/compilation_cache/cache_hits"
