//! A stream of bytes that counts what arrives, says when nothing leaves, and ends so that its last bytes arrive.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::state::{Sending, State};
use crate::domain::limits::LINGER_TIME_MAX;

/// Counts the bytes that a client sends. Bytes that it does not take are to be sent, whatever they belong to.
#[derive(Debug)]
pub(super) struct Counted<S> {
    stream: S,
    state: Arc<State>,
    /// While the client takes no bytes.
    blocked: Option<Sending>,
    /// Once nothing more is sent: until when what the client still sends is read.
    lingering: Option<Pin<Box<Sleep>>>,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, state: Arc<State>) -> Self {
        Self { stream, state, blocked: None, lingering: None }
    }

    fn wrote(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.blocked = None;
        } else if self.blocked.is_none() {
            self.blocked = Some(self.state.sending());
        }
        written
    }
}

impl<S: AsyncRead + Unpin> Counted<S> {
    /// Reads and throws away what still comes, until the client closes too, or has had its time. A socket that is closed
    /// over unread bytes is reset, and the answers that have not left it are lost.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER_TIME_MAX)));
        if timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut bytes = [0; 4_096];
        loop {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.state.received(buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        self.poll_linger(context).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// A drain once closed connections while answers waited for a slow reader: what the client had sent meanwhile was unread,
    /// so the kernel reset the connection and threw the answers away.
    #[tokio::test]
    async fn what_is_sent_arrives_though_the_client_sends_on() {
        const ANSWER: usize = 64 * 1_024;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let client = socket.connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let (mut client, (stream, _)) = (client.unwrap(), accepted.unwrap());
        client.write_all(b"sent and never asked for").await.unwrap();
        let server = async move {
            let mut stream = Counted::new(stream, Arc::new(State::default()));
            stream.write_all(&vec![7; ANSWER]).await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let reader = async move {
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.map(|_| answer.len())
        };
        let (arrived, ()) = tokio::join!(reader, server);
        assert_eq!(arrived.unwrap(), ANSWER);
    }
}
