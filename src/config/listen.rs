//! Where a server listens.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use super::LISTEN_DEFAULT;

/// Bytes of a Unix socket's path at most, as the system has it.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A loopback address.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Listen {
    /// Reads an address and refuses one that others can reach: tokens cannot be made yet.
    ///
    /// # Errors
    /// A sentence that names the flag and says what to do.
    pub fn parse(flag: &str, text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() || path.len() > SOCKET_PATH_BYTES_MAX {
                return Err(format!(
                    "{flag} {text}: the path of a Unix socket has 1 to {SOCKET_PATH_BYTES_MAX} bytes, this one has {}",
                    path.len()
                ));
            }
            return Ok(Self::Unix(path.into()));
        }
        let addresses = text.to_socket_addrs().map_err(|error| {
            format!(
                "{flag} {text}: {error}; write an address such as {LISTEN_DEFAULT} or unix:/run/maitred.sock"
            )
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        match addresses.iter().find(|address| !address.ip().to_canonical().is_loopback()) {
            Some(address) => Err(format!(
                "{flag} {text}: {} can be reached by others, and this version hands out no tokens; listen on \
                 127.0.0.1, [::1] or unix:PATH",
                address.ip()
            )),
            None => {
                addresses.first().copied().map(Self::Tcp).ok_or_else(|| format!("{flag} {text}: no address"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_and_unix_sockets() {
        for address in [
            "127.0.0.1:0",
            "127.8.9.1:50051",
            "[::1]:50051",
            "[::ffff:127.0.0.1]:1",
            "localhost:50051",
            "unix:/tmp/m.sock",
        ] {
            assert!(Listen::parse("--listen", address).is_ok(), "{address}");
        }
        let long = format!("unix:/{}", "x".repeat(107));
        for (address, sentence) in [
            ("0.0.0.0:50051", "0.0.0.0 can be reached by others"),
            ("[::]:50051", ":: can be reached by others"),
            ("192.0.2.7:50051", "192.0.2.7 can be reached by others"),
            ("50051", "write an address such as 127.0.0.1:50051"),
            ("unix:", "1 to 107 bytes, this one has 0"),
            (long.as_str(), "1 to 107 bytes, this one has 108"),
        ] {
            let error = Listen::parse("--listen", address).expect_err(address);
            assert!(error.contains(sentence), "{error}");
        }
    }
}
