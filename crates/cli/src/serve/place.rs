//! The place where a service takes requests: a TCP address, or a Unix socket.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

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
                let listener = UnixListener::bind(path)?;
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
