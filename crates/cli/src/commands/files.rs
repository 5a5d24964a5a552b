//! Reading and writing files.

pub use brickwork::engine::role;
pub use brickwork::files::*;
