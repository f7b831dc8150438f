//! A raw HTTP/2 client: frames as one writes them, right or wrong.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// How long something that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

/// With which a client begins.
pub(crate) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const SELECT_MENU: &str = "/maitred.v1.MenuService/SelectMenu";
pub(crate) const LOAD_PLAYBOOK: &str = "/maitred.v1.MenuService/LoadPlaybook";
pub(crate) const PLAN_COMPACTION: &str = "/maitred.v1.RunService/PlanCompaction";
pub(crate) const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/// Types of frames.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// Flags of frames.
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// Reasons to go away.
pub(crate) const PROTOCOL_ERROR: u32 = 1;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

/// A setting: the window of each stream.
pub(crate) const INITIAL_WINDOW: u16 = 4;

/// A frame as it travels.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

pub(crate) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let one = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(SETTINGS, 0, 0, &settings.iter().flat_map(one).collect::<Vec<_>>())
}

/// Headers as HPACK has them without tables and without Huffman: each field literal.
pub(crate) fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        for text in [name, value] {
            bytes.push(u8::try_from(text.len()).ok().filter(|length| *length < 127).unwrap());
            bytes.extend(text.as_bytes());
        }
    }
    bytes
}

/// The headers of a gRPC call.
pub(crate) fn call_fields(path: &str) -> Vec<u8> {
    fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ])
}

/// The beginning of a gRPC call.
pub(crate) fn call(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &call_fields(path))
}

/// A whole gRPC call.
pub(crate) fn whole_call(stream: u32, path: &str, request: &impl prost::Message) -> Vec<u8> {
    let mut bytes = call(stream, path);
    bytes.extend(frame(DATA, END_STREAM, stream, &message(&request.encode_to_vec())));
    bytes
}

/// A message with its prefix.
pub(crate) fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0], &u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

/// The numbers that a client gives to its streams.
pub(crate) fn stream_ids() -> impl Iterator<Item = u32> {
    (1..).step_by(2)
}

/// A frame that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// What a connection brought until it ended.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Why the server said that it goes.
    pub(crate) go_away: Option<u32>,
    /// Frames received.
    pub(crate) frames: usize,
    /// Whether the connection has ended; else what was waited for is there.
    pub(crate) is_closed: bool,
}

/// One connection.
pub(crate) struct RawConnection<S = TcpStream> {
    stream: S,
    received: Vec<u8>,
}

impl RawConnection {
    /// A connection that has said nothing yet.
    pub(crate) async fn connect(address: &str) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), received: Vec::with_capacity(64 * 1024) }
    }

    /// A connection that can take little before it is read.
    pub(crate) async fn narrow(address: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        Self {
            stream: socket.connect(address.parse().unwrap()).await.unwrap(),
            received: Vec::with_capacity(64 * 1024),
        }
    }

    /// A connection that has begun as it should, with these settings.
    pub(crate) async fn open(address: &str, with: &[(u16, u32)]) -> Self {
        let mut connection = Self::connect(address).await;
        connection.begin(with).await;
        connection
    }

    /// Sends the preface and the first settings.
    pub(crate) async fn begin(&mut self, with: &[(u16, u32)]) {
        self.send(&[PREFACE, &settings(with)[..]].concat()).await.unwrap();
    }

    /// Sends bytes; fails when the server has closed.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        timeout(PATIENCE, self.stream.write_all(bytes)).await.expect("the server takes what is sent")
    }

    /// Sends bytes while it reads, so that neither side waits for the other, and reads on until the connection ends or
    /// `is_enough` of what came.
    pub(crate) async fn flood(self, bytes: &[u8], mut is_enough: impl FnMut(&Frame) -> bool) -> Ending {
        let (reader, mut writer) = self.stream.into_split();
        let mut reader = RawConnection { stream: reader, received: self.received };
        let writing = async {
            // A server that has closed takes no more; the reader sees that it has.
            let _ = writer.write_all(bytes).await;
            writer
        };
        let (ending, _writer) =
            timeout(PATIENCE, async { tokio::join!(reader.read_until(&mut is_enough), writing) })
                .await
                .expect("the server takes the flood, or closes");
        ending
    }

    /// Sends bytes over and over without reading until the server takes no more, and says how many it took. A server
    /// that has closed takes no more either.
    pub(crate) async fn press(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let writing = self.stream.write(&bytes[taken % bytes.len()..]);
            match timeout(Duration::from_millis(300), writing).await {
                Ok(Ok(written)) => taken += written,
                Ok(Err(_)) | Err(_) => return taken,
            }
        }
    }
}

impl<S: AsyncReadExt + Unpin> RawConnection<S> {
    /// The next frame; none at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        timeout(PATIENCE, self.read()).await.expect("the server says something, or closes")
    }

    /// Reads until the connection ends.
    pub(crate) async fn end(mut self) -> Ending {
        timeout(PATIENCE, self.read_until(&mut |_| false)).await.expect("the server closes")
    }

    async fn read_until(&mut self, is_enough: &mut impl FnMut(&Frame) -> bool) -> Ending {
        let mut ending = Ending::default();
        while let Some(frame) = self.read().await {
            ending.frames += 1;
            if frame.kind == GOAWAY {
                ending.go_away = Some(u32::from_be_bytes(frame.payload[4..8].try_into().unwrap()));
            }
            if is_enough(&frame) {
                return ending;
            }
        }
        Ending { is_closed: true, ..ending }
    }

    async fn read(&mut self) -> Option<Frame> {
        while self.frame_bytes().is_none_or(|bytes| self.received.len() < bytes) {
            // A connection that is reset has ended too.
            match self.stream.read_buf(&mut self.received).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
        let bytes: Vec<u8> = self.received.drain(..self.frame_bytes().unwrap()).collect();
        let stream = u32::from_be_bytes(bytes[5..9].try_into().unwrap());
        Some(Frame { kind: bytes[3], flags: bytes[4], stream, payload: bytes[9..].to_vec() })
    }

    /// The size of the frame that is arriving, once its head is there.
    fn frame_bytes(&self) -> Option<usize> {
        let head = self.received.get(..9)?;
        Some(9 + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize)
    }
}
