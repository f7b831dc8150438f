//! The header `grpc-timeout`: the time that a caller gives a call.

use std::time::Duration;

use http::HeaderMap;

/// The time that the caller gives the call: at most eight digits and a unit. A malformed value is no time, as if it had
/// not been sent.
pub(super) fn given(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let amount: u64 = Some(digits).filter(|_| is_number)?.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3_600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_the_protocol_has_them() {
        for (value, wanted) in [
            ("5m", Some(Duration::from_millis(5))),
            ("1n", Some(Duration::from_nanos(1))),
            ("0S", Some(Duration::ZERO)),
            ("99999999H", Some(Duration::from_hours(99_999_999))),
            ("999999999S", None),
            ("-1S", None),
            ("+1S", None),
            ("S", None),
            ("5", None),
            ("5 S", None),
            ("1猫", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            assert_eq!(given(&headers), wanted, "{value}");
        }
    }
}
