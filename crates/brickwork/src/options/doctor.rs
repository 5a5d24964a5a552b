//! The options of the doctor by name.

use std::path::PathBuf;

use brickwork_base::Party;
use brickwork_circuit::formats::InputMap;
use zeroize::Zeroizing;

use super::RunOptions;
use crate::doctor::DoctorRequest;
use crate::failure::Error;

impl RunOptions {
    /// Returns the request for checks of a run with these options.
    ///
    /// # Errors
    /// An error of usage that names the wrong option.
    pub fn doctor(
        &self,
        program: Option<(PathBuf, InputMap)>,
        role: Option<Party>,
        input: Option<Zeroizing<String>>,
    ) -> Result<DoctorRequest, Error> {
        if self.recovery_notes.is_some() {
            return Err(Error::usage("the doctor has no option recovery_notes", "leave it out"));
        }
        if self.listen.is_some() && self.connect.is_some() {
            self.place()?;
        }
        Ok(DoctorRequest {
            program,
            role,
            listen: self.listen.clone(),
            connect: self.connect.clone(),
            input,
            reading: self.reading()?,
            identity: self.identity.clone(),
            peer: self.peer.clone(),
            run: self.request()?,
            store: self.store(),
        })
    }
}
