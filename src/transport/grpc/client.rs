//! A client of a running server, for the command line.

use std::path::PathBuf;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::StatusExt;
use tower::service_fn;

use super::proto::menu_service_client::MenuServiceClient;
use super::proto::{LoadPlaybookRequest, LoadPlaybookResponse, SelectMenuRequest, SelectMenuResponse};

/// How long connecting and each call may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    menu: MenuServiceClient<Channel>,
}

/// A call that failed, in a sentence with its reason.
#[derive(Debug)]
pub struct ClientError(String);

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ClientError {}

impl Client {
    /// Connects to `host:port` or `unix:PATH`.
    ///
    /// # Errors
    /// When nobody answers there.
    pub async fn connect(address: &str) -> Result<Self, ClientError> {
        let unreachable = |error: tonic::transport::Error| {
            let cause =
                std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
            ClientError(format!(
                "no server answers at {address}{cause}; start one with `maitred serve`, or name it with --server"
            ))
        };
        let channel = match address.strip_prefix("unix:") {
            Some(path) => {
                let path = PathBuf::from(path);
                let connector = service_fn(move |_| {
                    let path = path.clone();
                    async move {
                        Ok::<_, std::io::Error>(TokioIo::new(tokio::net::UnixStream::connect(path).await?))
                    }
                });
                endpoint("http://localhost")?.connect_with_connector(connector).await
            }
            None => endpoint(&format!("http://{address}"))?.connect().await,
        };
        Ok(Self { menu: MenuServiceClient::new(channel.map_err(unreachable)?) })
    }

    /// Selects a menu.
    ///
    /// # Errors
    /// What the server refused.
    pub async fn select(&mut self, request: SelectMenuRequest) -> Result<SelectMenuResponse, ClientError> {
        self.menu
            .select_menu(request)
            .await
            .map(tonic::Response::into_inner)
            .map_err(|status| describe(&status))
    }

    /// Loads a playbook.
    ///
    /// # Errors
    /// What the server refused.
    pub async fn load(&mut self, request: LoadPlaybookRequest) -> Result<LoadPlaybookResponse, ClientError> {
        self.menu
            .load_playbook(request)
            .await
            .map(tonic::Response::into_inner)
            .map_err(|status| describe(&status))
    }
}

fn endpoint(uri: &str) -> Result<Endpoint, ClientError> {
    let endpoint = Endpoint::from_shared(uri.to_owned());
    let endpoint =
        endpoint.map_err(|_| ClientError(format!("{uri} is not an address such as 127.0.0.1:50051")))?;
    Ok(endpoint.connect_timeout(PATIENCE).timeout(PATIENCE))
}

fn describe(status: &Status) -> ClientError {
    let reason = status.get_details_error_info().map(|info| info.reason);
    let code = match status.code() {
        Code::Unknown => "UNKNOWN".to_owned(),
        code => format!("{code:?}"),
    };
    let message = status.message();
    ClientError(match reason {
        Some(reason) => format!("{message} ({code}, {reason})"),
        None => format!("{message} ({code})"),
    })
}
