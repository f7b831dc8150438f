//! A listening address: a loopback port or a Unix socket.
//!
//! **Invariants** of a Unix socket: it is reachable under its path only with its final permissions (it is made in a
//! private directory and renamed into place); a live server's socket is never taken; nothing that is not a socket is
//! ever deleted; it is removed at the end.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tracing::warn;

use crate::config::Listen;

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
    Unix(UnixListener, #[expect(dead_code, reason = "it is there to be dropped")] SocketFile),
}

/// Removes the socket's file when the server is gone, if it is still the one that was made.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    id: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| metadata.file_type().is_socket() && id_of(&metadata) == self.id);
        if is_ours {
            // Somebody else may remove it at the same moment; then it is gone all the same.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn id_of(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// How long to wait after a failure to accept: with no file descriptor left, trying at once would only burn a core.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// How often at most a failure to accept is logged.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(30);

/// A connection that was accepted.
#[derive(Debug)]
pub(super) enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    pub(super) async fn bind(flag: &str, listen: &Listen) -> Result<Self, String> {
        match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
                    ErrorKind::AddrInUse => {
                        format!("{flag} {address}: the port is in use; stop the other server or choose another port")
                    }
                    _ => format!("{flag} {address}: {error}"),
                })?;
                let address = listener.local_addr().map_err(|error| error.to_string())?.to_string();
                Ok(Self { address, socket: Socket::Tcp(listener) })
            }
            Listen::Unix(path) => {
                let address = listen.to_string();
                let (listener, file) =
                    bind_unix(path).await.map_err(|error| format!("{flag} {address}: {error}"))?;
                Ok(Self { address, socket: Socket::Unix(listener, file) })
            }
        }
    }

    /// Where it listens, as a client writes it.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Hands over each connection that is accepted, for as long as this is awaited; dropping the listener closes it.
    pub(super) async fn serve(&self, take: impl Fn(Accepted)) {
        let mut complained: Option<Instant> = None;
        loop {
            match self.accept().await {
                Ok(connection) => take(connection),
                Err(error) => {
                    if complained.is_none_or(|at| at.elapsed() >= COMPLAINT_INTERVAL) {
                        warn!(%error, "connections cannot be accepted; trying on");
                        complained = Some(Instant::now());
                    }
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
    }

    async fn accept(&self) -> io::Result<Accepted> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Small answers must not wait for the acknowledgement of the one before.
                stream.set_nodelay(true)?;
                Ok(Accepted::Tcp(stream))
            }
            Socket::Unix(listener, _) => Ok(Accepted::Unix(listener.accept().await?.0)),
        }
    }
}

async fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), String> {
    make_room(path).await?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    check_directory(parent)?;
    let private = parent.join(format!(".mtd-{}", std::process::id()));
    let made = fs::DirBuilder::new().mode(0o700).create(&private);
    made.map_err(|error| format!("a directory cannot be made in {}: {error}", parent.display()))?;
    let bound = bind_in(&private, path);
    // The directory is empty once the socket has moved out of it.
    let _ = fs::remove_file(private.join("s"));
    let _ = fs::remove_dir(&private);
    bound.map_err(|error| error.to_string())
}

fn bind_in(private: &Path, path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let inner = private.join("s");
    let listener = UnixListener::bind(&inner)?;
    fs::set_permissions(&inner, Permissions::from_mode(SOCKET_MODE))?;
    let id = id_of(&fs::symlink_metadata(&inner)?);
    fs::rename(&inner, path)?;
    Ok((listener, SocketFile { path: path.to_owned(), id }))
}

/// Refuses a directory in which anybody may replace the socket by their own.
fn check_directory(parent: &Path) -> Result<(), String> {
    let metadata = fs::metadata(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    let mode = metadata.permissions().mode();
    let (is_open_to_all, is_sticky) = (mode & 0o002 != 0, mode & 0o1000 != 0);
    if is_open_to_all && !is_sticky {
        return Err(format!(
            "everybody may write to {} and replace the socket; use a directory of your own, such as one with mode 0700",
            parent.display()
        ));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_send_small_answers_at_once() {
        let listen = Listen::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = Listener::bind("--listen", &listen).await.unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(listener.address()), listener.accept());
        let Accepted::Tcp(stream) = accepted.unwrap() else { panic!("it listens on a port") };
        assert!(stream.nodelay().unwrap());
        drop(client);
    }
}
