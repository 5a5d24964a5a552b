/// One of the two parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Party {
    /// Garbles, commits, sends OTs.
    Garbler,
    /// Checks and evaluates.
    Evaluator,
}
