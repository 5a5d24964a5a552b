/// One of the two parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The party that garbles, commits, and is the sender of OTs.
    Garbler,
    /// The party that checks and evaluates.
    Evaluator,
}
