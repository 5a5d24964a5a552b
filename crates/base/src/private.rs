//! New files and folders that only their owner can read or change, whatever the umask is.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options for writing to a file; a new file gets mode 0600.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder with mode 0700, and its missing parents. An existing folder stays unchanged.
///
/// # Errors
/// If one cannot be made, or a file has its name.
pub fn create_folders(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn others_have_no_rights() {
        let folder = std::env::temp_dir().join(format!("brickwork-private-{}", std::process::id()));
        let inner = folder.join("a/b");
        create_folders(&inner).unwrap();
        create_folders(&inner).unwrap();
        let file = inner.join("file");
        options().create_new(true).open(&file).unwrap();
        assert!(create_folders(&file).is_err());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!([&folder, &inner, &file].map(|path| mode(path)), [0o700, 0o700, 0o600]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
