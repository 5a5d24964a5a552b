//! The place where a service takes requests: a TCP address, or a Unix socket.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::Mode;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A TCP address, or `unix:` and the path of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpPlace {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for HttpPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) => Ok(HttpPlace::Unix(path.into())),
            None => match text.parse() {
                Ok(address) => Ok(HttpPlace::Tcp(address)),
                Err(_) => Err("expected an address such as 127.0.0.1:8080, or unix:PATH".into()),
            },
        }
    }
}

impl fmt::Display for HttpPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpPlace::Tcp(address) => address.fmt(f),
            HttpPlace::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl HttpPlace {
    /// Connects to the service there.
    ///
    /// # Errors
    /// If nobody listens there.
    pub async fn connect(&self) -> io::Result<Box<dyn HttpStream>> {
        Ok(match self {
            HttpPlace::Tcp(address) => Box::new(TcpStream::connect(address).await?),
            HttpPlace::Unix(path) => Box::new(UnixStream::connect(path).await?),
        })
    }

    /// Listens there. Returns the place with the port that the system chose. A socket that a killed service
    /// has left is replaced. A new socket can be used only by its owner.
    ///
    /// # Errors
    /// If another process listens there, or the path is no socket.
    pub async fn listen(&self) -> io::Result<(Door, HttpPlace)> {
        match self {
            HttpPlace::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                let address = listener.local_addr()?;
                Ok((Door::Tcp(listener), HttpPlace::Tcp(address)))
            }
            HttpPlace::Unix(path) => {
                if is_left(path) {
                    std::fs::remove_file(path)?;
                }
                // With this mask nobody else can connect before the socket has its mode.
                let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
                let listener = UnixListener::bind(path);
                rustix::process::umask(mask);
                let listener = listener?;
                std::fs::set_permissions(path, PermissionsExt::from_mode(0o600))?;
                Ok((Door::Unix(listener), self.clone()))
            }
        }
    }
}

/// Returns whether the path is a socket at which nobody listens.
fn is_left(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket());
    let refused = |e: &io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && std::os::unix::net::UnixStream::connect(path).err().as_ref().is_some_and(refused)
}

/// A listening socket for requests.
pub enum Door {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A stream of either kind.
pub trait HttpStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> HttpStream for S {}

impl Door {
    pub async fn accept(&self) -> io::Result<Box<dyn HttpStream>> {
        Ok(match self {
            Door::Tcp(listener) => Box::new(listener.accept().await?.0),
            Door::Unix(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// At no time can another user connect to the socket.
    #[test]
    fn a_socket_is_private_from_the_beginning() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("http");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let mut seen = 0;
                while !over.load(Ordering::SeqCst) {
                    if let Ok(there) = std::fs::symlink_metadata(&path) {
                        seen |= there.permissions().mode() & 0o077;
                    }
                }
                seen
            });
            for _ in 0..300 {
                drop(runtime.block_on(HttpPlace::Unix(path.clone()).listen()).expect("it listens"));
            }
            over.store(true, Ordering::SeqCst);
            assert_eq!(looks.join().expect("it looks"), 0);
        });
    }
}
