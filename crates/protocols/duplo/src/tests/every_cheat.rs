//! Provokes every variant of [`Cheat`], in a run of the real state machines where that is possible. The list
//! is complete: a new variant does not compile until it has a cheat here.

use super::super::msg;
use super::authenticators::accepted;
use super::harness::*;
use crate::Cheat;
use crate::hooks::Point;
use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_primitives::commit::split::msg::CORRECTIONS;
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_primitives::ot::BASE_OT;
use brickwork_primitives::ot::extension::msg::CHECK;

macro_rules! provoked {
    ($($variant:ident by $cheat:expr,)*) => {
        /// Compiles only if all variants are listed.
        fn is_listed(cheat: Cheat) -> bool {
            match cheat {
                $(Cheat::$variant => true,)*
            }
        }

        #[test]
        fn every_check_fails_for_its_own_cheat() {
            $(
                assert!(is_listed(Cheat::$variant));
                assert_eq!(Some(Cheat::$variant), ($cheat).detected(), "{}", stringify!($variant));
                assert_eq!(Some(Cheat::$variant), Detected::in_files($cheat).detected(), "{} in files",
                    stringify!($variant));
            )*
        }
    };
}

/// A run that may end with a detected cheat.
trait Detected: Sized {
    fn detected(self) -> Option<Cheat>;

    /// Runs the same cheat with the evaluator's openings in files.
    fn in_files(self) -> Self {
        self
    }
}

impl Detected for Case {
    fn detected(self) -> Option<Cheat> {
        self.run_alone().cheat().map(|(_, cheat)| cheat)
    }

    fn in_files(self) -> Self {
        self.in_files()
    }
}

impl<T> Detected for Result<T, Error> {
    fn detected(self) -> Option<Cheat> {
        if let Err(Error::Peer(cheat)) = self { Cheat::of(cheat) } else { None }
    }
}

const BUCKETING: Bucketing = Bucketing { slots: 2, bucket: 3, opened: 4 };

/// Returns the labels of output 0 of the three copies in the first bucket, which have two output wires each.
fn first_bucket() -> Vec<usize> {
    chosen(BUCKETING)[..3].iter().map(|copy| 2 * copy).collect()
}

provoked! {
    UnexpectedMessage by Case::toy().sends(Party::Garbler, msg::OPENED, 0, |opened| opened.truncate(3)),
    BaseOtPoint by Case::toy().sends(Party::Evaluator, BASE_OT, 0, |points| points[..32].fill(0xff)),
    BaseOtIdentity by Case::toy().sends(Party::Garbler, BASE_OT, 0, |points| points[..32].fill(0)),
    BaseOtVector by Case::toy().post_quantum().sends(Party::Garbler, BASE_OT, 0,
        |keys| keys[32..35].fill(0xff)),
    OtExtension by Case::toy().sends(Party::Evaluator, CHECK, 0, |answer| answer[16] ^= 1),
    Commitment by Case::toy().sends(Party::Garbler, CORRECTIONS, 2,
        |rows| rows.chunks_mut(16).for_each(|row| row[0] ^= 1)),
    Opening by Case::toy().lie(Point::ProgramSolderings(0), flip(0, 20)),
    Indicator by Case::toy().lie(Point::Indicators, flip(0, 0)),
    OffsetColour by Case::toy().lie(Point::Opened(0), flip(0, 0)),
    DeltaDifferenceColour by Case::toy().lie(Point::DeltaDifferences(0), flip(0, 0)),
    OpenedCopy by Case::toy().tables(|_, copy, _, bytes| bytes[0] ^= u8::from(copy == opened(BUCKETING)[0])),
    ChosenTables by Case::toy().sends(Party::Garbler, msg::TABLES, 0, |tables| tables[0] ^= 1),
    KeyAuthenticator by Case::toy().lie(Point::PlainAuthenticators, |hashes| hashes.fill(0)),
    InputAuthenticator by Case::toy().lie(Point::InputAuthenticators, |hashes| hashes.fill(0)),
    OtBinding by Case::toy().evaluator_lies(Point::OtBinding, flip(47, 127)),
    InputLabel by Case::toy().lie(Point::InputLabels, flip(2, 99)),
    NoValidLabel by Case::toy().lie(Point::CommittedOutputs(0), flips(first_bucket(), 99)),
    // A third label needs a collision of BLAKE3, so only the function that counts labels is tested.
    ThirdLabel by accepted(&[6, 8]),
    ForgedOutput by Case::toy().evaluator_lies(Point::OutputLabels, |message| message[0] ^= 1),
}
