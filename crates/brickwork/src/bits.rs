//! Bits as bytes on the wire: least significant first, the rest of the last byte 0.

use crate::Cheat;

/// Packs bits (0 or 1) into bytes.
pub fn pack(bits: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, bit) in bits.into_iter().enumerate() {
        if i % 8 == 0 {
            bytes.push(0);
        }
        bytes[i / 8] |= (bit & 1) << (i % 8);
    }
    bytes
}

/// The first `count` bits of the bytes.
///
/// # Errors
/// [`Cheat::UnexpectedMessage`] if there are not as many bytes as `count` bits take, or the rest of the last one is not 0.
pub fn unpack(bytes: &[u8], count: usize) -> Result<Vec<u8>, Cheat> {
    let unused = (8 * bytes.len()).checked_sub(count).filter(|u| *u < 8).ok_or(Cheat::UnexpectedMessage)?;
    if unused > 0 && bytes[bytes.len() - 1] >> (8 - unused) != 0 {
        return Err(Cheat::UnexpectedMessage);
    }
    Ok((0..count).map(|i| bytes[i / 8] >> (i % 8) & 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_and_nothing_else() {
        for count in 0..40 {
            let bits: Vec<u8> = (0..count).map(|i| (i * i / 3 % 2) as u8).collect();
            let bytes = pack(bits.iter().copied());
            assert_eq!(unpack(&bytes, count).unwrap(), bits);
            assert!(unpack(&[&bytes[..], &[0]].concat(), count).is_err());
            if count % 8 != 0 {
                let mut padded = bytes.clone();
                *padded.last_mut().unwrap() |= 0x80;
                assert_eq!(unpack(&padded, count), Err(Cheat::UnexpectedMessage));
            }
        }
    }
}
