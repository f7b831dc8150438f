//! A listening address: a loopback port or a Unix socket.
//!
//! **Invariants** of a Unix socket: it is reachable under its path only with its final permissions (it is made in a
//! private directory and renamed into place); a live server's socket is never taken; nothing that is not a socket is
//! ever deleted; it is removed at the end.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::server::{Router, TcpIncoming};
use tower::layer::util::{Identity, Stack};

use crate::config::Listen;
use crate::transport::grpc::RefusalLayer;

/// Who may connect to the socket: the user of the server.
const SOCKET_MODE: u32 = 0o600;

/// A bound listener.
#[derive(Debug)]
pub(super) struct Listener {
    address: String,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// Removes the socket's file when the server is gone.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody else may have removed it already.
        let _ = fs::remove_file(&self.0);
    }
}

impl Listener {
    pub(super) async fn bind(listen: &Listen) -> Result<Self, String> {
        match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
                    ErrorKind::AddrInUse => {
                        format!("--listen {address}: the port is in use; stop the other server or choose another port")
                    }
                    _ => format!("--listen {address}: {error}"),
                })?;
                let address = listener.local_addr().map_err(|error| error.to_string())?.to_string();
                Ok(Self { address, socket: Socket::Tcp(listener) })
            }
            Listen::Unix(path) => {
                let address = listen.to_string();
                let (listener, file) =
                    bind_unix(path).await.map_err(|error| format!("--listen {address}: {error}"))?;
                Ok(Self { address, socket: Socket::Unix(listener, file) })
            }
        }
    }

    /// Where it listens, as a client writes it.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) async fn serve(
        self,
        router: Router<Stack<RefusalLayer, Identity>>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), String> {
        let outcome = match self.socket {
            Socket::Tcp(listener) => {
                let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
                router.serve_with_incoming_shutdown(incoming, shutdown).await
            }
            Socket::Unix(listener, _file) => {
                router.serve_with_incoming_shutdown(UnixListenerStream::new(listener), shutdown).await
            }
        };
        outcome.map_err(|error| format!("serving ended: {error}"))
    }
}

async fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), String> {
    make_room(path).await?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let private = parent.join(format!(".mtd-{}", std::process::id()));
    let made = fs::DirBuilder::new().mode(0o700).create(&private);
    made.map_err(|error| format!("a directory cannot be made in {}: {error}", parent.display()))?;
    let bound = bind_in(&private, path);
    // The directory is empty once the socket has moved out of it.
    let _ = fs::remove_file(private.join("s"));
    let _ = fs::remove_dir(&private);
    Ok((bound.map_err(|error| error.to_string())?, SocketFile(path.to_owned())))
}

fn bind_in(private: &Path, path: &Path) -> std::io::Result<UnixListener> {
    let inner = private.join("s");
    let listener = UnixListener::bind(&inner)?;
    fs::set_permissions(&inner, Permissions::from_mode(SOCKET_MODE))?;
    fs::rename(&inner, path)?;
    Ok(listener)
}

/// Makes sure that nothing stands in the way: nothing at all, or the socket of a server that is gone.
async fn make_room(path: &Path) -> Result<(), String> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
        Ok(metadata) => metadata,
    };
    if !metadata.file_type().is_socket() {
        return Err("something that is not a socket is there; remove it or choose another path".to_owned());
    }
    match UnixStream::connect(path).await {
        Ok(_) => Err("another server is listening there; stop it or choose another path".to_owned()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(format!("the socket that is there cannot be tried: {error}")),
    }
}
