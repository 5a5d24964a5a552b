use std::io::{Read, Write};

use super::*;
use brickwork_base::Malformed;

const TAG: Tag = Tag(7);

fn refused(result: Result<(), Error>) -> bool {
    matches!(result, Err(Error::Peer(cheat)) if cheat == Malformed::UnexpectedMessage)
}

/// A peer may refuse with its first message only.
#[test]
fn a_refusal_is_heard_only_as_the_first_message() {
    for heard in [0, 1] {
        let (mut a, mut b) = memory_pair();
        for _ in 0..heard {
            a.send(TAG, b"hello").unwrap();
            a.flush().unwrap();
            b.receive_first_into(TAG, &mut [0; 5]).unwrap();
        }
        a.refuse("not now").unwrap();
        let next = b.receive_first_into(TAG, &mut [0; 5]);
        match heard {
            0 => assert!(matches!(next, Err(Error::Refused(why)) if why == "not now")),
            _ => assert!(refused(next)),
        }
    }
}

#[test]
fn messages_arrive_and_are_counted() {
    let (mut a, mut b) = memory_pair();
    let long: Vec<u8> = (0..3 * MAX_FRAME_BYTES + 5).map(|i| (i % 251) as u8).collect();
    a.send(TAG, b"short").unwrap();
    a.send(TAG, &long).unwrap();
    a.send(TAG, b"").unwrap();
    a.flush().unwrap();
    assert_eq!(b.receive(TAG, 5).unwrap(), b"short");
    assert_eq!(b.receive(TAG, long.len()).unwrap(), long);
    assert_eq!(b.receive_up_to(TAG, 10).unwrap(), b"");
    let total = (5 + long.len() + 6 * FRAME_HEADER_BYTES) as u64;
    assert_eq!((a.sent_bytes(), b.received_bytes()), (total, total));
}

/// A message is the same however it is divided into parts, even if a cheater changes it.
#[test]
fn a_message_in_parts_is_one_message() {
    let frame = MAX_FRAME_BYTES;
    for length in [0, 1, 5000, frame - 1, frame, frame + 1, 2 * frame, 3 * frame + 5] {
        let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let (mut whole, _whole) = memory_pair();
        whole.send(TAG, &bytes).unwrap();
        for part in [length.max(1), 999, frame / 2, frame, frame + 7] {
            for altered in [false, true] {
                let (mut a, mut b) = memory_pair();
                if altered {
                    a.set_tamper(Box::new(|_, message| message.iter_mut().for_each(|byte| *byte ^= 1)));
                }
                let mut message = a.message(TAG);
                for part in bytes.chunks(part) {
                    message.push(part).unwrap();
                    // Less than one frame of a message is in memory, however long the message is.
                    assert!(altered || message.waiting.len() < frame, "{length} by {}", part.len());
                }
                message.finish().unwrap();
                a.flush().unwrap();
                assert_eq!(a.sent_bytes(), whole.sent_bytes(), "{length} by {part}");
                let expected: Vec<u8> = bytes.iter().map(|byte| byte ^ u8::from(altered)).collect();
                assert!(b.receive(TAG, length).unwrap() == expected, "{length} by {part}");
            }
        }
    }
}

#[test]
fn wrong_tags_and_lengths_are_the_peers_fault() {
    for (tag, sent, expected) in
        [(Tag(8), 4, 4), (TAG, 0, 4), (TAG, 3, 4), (TAG, 5, 4), (TAG, MAX_FRAME_BYTES + 1, MAX_FRAME_BYTES)]
    {
        let (mut a, mut b) = memory_pair();
        a.send(tag, &vec![1; sent]).unwrap();
        a.flush().unwrap();
        let first = b.receive(TAG, expected).map(drop);
        // An additional byte is taken for a wrong next message.
        let next = first.and_then(|()| b.receive(Tag(9), 0).map(drop));
        assert!(refused(next), "{tag:?} {sent} {expected}");
    }
}

/// Only short messages wait in the buffer. Longer messages are not copied, however much is sent before the
/// next answer.
#[test]
fn long_messages_do_not_wait_for_a_flush() {
    let (mut a, mut b) = memory_pair();
    let long = vec![3; MAX_FRAME_BYTES];
    a.send(TAG, b"short").unwrap();
    a.send(TAG, &long).unwrap();
    // This end sends nothing more, so its buffered bytes are lost.
    drop(a);
    assert_eq!(b.receive(TAG, 5).unwrap(), b"short");
    assert!(b.receive(TAG, long.len()).unwrap() == long);
}

#[test]
fn a_message_may_be_as_long_as_its_limit() {
    let (mut a, mut b) = memory_pair();
    for (length, limit) in [(0, 0), (5, 5), (MAX_FRAME_BYTES, MAX_FRAME_BYTES), (MAX_FRAME_BYTES, usize::MAX)]
    {
        a.send(TAG, &vec![1; length]).unwrap();
        a.flush().unwrap();
        assert_eq!(b.receive_up_to(TAG, limit).unwrap().len(), length);
    }
    a.send(TAG, &[1; 6]).unwrap();
    a.flush().unwrap();
    assert!(refused(b.receive_up_to(TAG, 5).map(drop)));
}

/// A pipe is a stream of bytes: reads may be shorter or longer than writes.
#[test]
fn reads_from_a_pipe_need_not_match_the_writes() {
    let (mut left, mut right) = memory::pipes();
    right.write_all(b"abc").unwrap();
    right.write_all(b"de").unwrap();
    let (mut first, mut rest) = ([0; 1], [0; 4]);
    left.read_exact(&mut first).unwrap();
    left.read_exact(&mut rest).unwrap();
    assert_eq!((&first, &rest), (b"a", b"bcde"));
}

#[test]
fn impossible_lengths_are_refused_before_allocation() {
    for length in [MAX_FRAME_BYTES as u32 + 1, u32::MAX] {
        let (left, mut right) = memory::pipes();
        let mut channel = Channel::new(vec![left]);
        right.write_all(&[TAG.0]).unwrap();
        right.write_all(&length.to_le_bytes()).unwrap();
        assert!(refused(channel.receive_up_to(TAG, usize::MAX).map(drop)), "{length}");
    }
}

#[test]
fn signs_of_life_stay_below_the_messages() {
    let (left, mut right) = memory::pipes();
    let mut channel = Channel::new(vec![left]);
    right.write_all(&[0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 7, 1, 0, 0, 0, 42]).unwrap();
    assert_eq!(channel.receive(TAG, 1).unwrap(), [42]);
    assert_eq!(channel.received_bytes(), 6);
    // A frame with a payload is not a keep-alive frame.
    right.write_all(&[0xff, 1, 0, 0, 0, 42]).unwrap();
    assert!(refused(channel.receive(TAG, 1).map(drop)));
}

#[test]
fn signs_of_life_alone_are_not_taken_for_ever() {
    let (left, mut right) = memory::pipes();
    let mut channel = Channel::new(vec![left]);
    channel.main.patience = std::time::Duration::ZERO;
    right.write_all(&[0xff, 0, 0, 0, 0].repeat(1000)).unwrap();
    right.write_all(&[7, 1, 0, 0, 0, 42]).unwrap();
    let error = channel.receive(TAG, 1).unwrap_err();
    assert!(matches!(error, Error::Io(e) if e.kind() == std::io::ErrorKind::TimedOut));
}

#[test]
fn bulk_goes_over_all_lanes() {
    for lanes in [1, 2, 5] {
        for length in [0, 1, 2 * MIN_LANE_BYTES, 5 * MIN_LANE_BYTES + 3, 3 * MAX_FRAME_BYTES + 1] {
            let (mut a, mut b) = memory_lanes(lanes);
            assert_eq!((a.lanes(), b.lanes()), (lanes, lanes));
            let data: Vec<u8> = (0..length).map(|i| (i % 253) as u8).collect();
            let mut copy = vec![0; length];
            a.send(TAG, b"before").unwrap();
            a.send_bulk(TAG, &data).unwrap();
            a.send(TAG, b"after").unwrap();
            a.flush().unwrap();
            assert_eq!(b.receive(TAG, 6).unwrap(), b"before");
            b.receive_bulk_into(TAG, &mut copy).unwrap();
            assert_eq!(b.receive(TAG, 5).unwrap(), b"after");
            assert!(copy == data, "{lanes} lanes, {length} bytes");
            assert_eq!(a.sent_bytes(), b.received_bytes());
            let enough = length >= lanes * MIN_LANE_BYTES;
            assert!(
                !enough || a.further.iter().all(|lane| lane.sent > 0),
                "{lanes} lanes, {length} bytes: one carries nothing"
            );
        }
    }
}

#[test]
fn a_bad_lane_is_not_lost() {
    let (mut a, mut b) = memory_lanes(3);
    let mut data = vec![0; 3 * MIN_LANE_BYTES];
    a.further[1].send(Tag(8), &data[..MIN_LANE_BYTES]).unwrap();
    a.further[1].flush().unwrap();
    a.further[0].send(TAG, &data[..MIN_LANE_BYTES]).unwrap();
    a.further[0].flush().unwrap();
    a.send(TAG, &data[..MIN_LANE_BYTES]).unwrap();
    a.flush().unwrap();
    assert!(refused(b.receive_bulk_into(TAG, &mut data)));
}

#[test]
fn a_tampered_length_is_seen() {
    let (mut a, mut b) = memory_lanes(2);
    a.set_tamper(Box::new(|_, payload| payload.truncate(payload.len() - 1)));
    let mut data = vec![0; 4 * MIN_LANE_BYTES];
    a.send_bulk(TAG, &data).unwrap();
    assert!(refused(b.receive_bulk_into(TAG, &mut data)));
}

/// The peer has received everything and has gone away. If a keep-alive frame then cannot be written, this is
/// no error.
#[test]
fn a_peer_that_left_after_the_last_message_is_no_error() {
    struct Leaving(bool);
    impl std::io::Read for Leaving {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Ok(0)
        }
    }
    impl Write for Leaving {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            let gone = std::mem::replace(&mut self.0, true);
            if gone { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        }
    }
    impl frame::Stream for Leaving {}
    let mut channel = Channel::new(vec![Box::new(Leaving(false))]);
    channel.send(TAG, &[1; 9]).unwrap();
    channel.flush().unwrap();
    channel.flush().unwrap();
    // If the peer still needs a message, a failed write is an error.
    channel.send(TAG, &[2]).unwrap();
    assert!(matches!(channel.flush(), Err(Error::Io(_))));
    assert!(channel.send(TAG, &vec![3; 3 << 20]).and_then(|()| channel.flush()).is_err());
}
