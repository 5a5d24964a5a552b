//! The HTML page about a result. `--report` and notebooks show it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::cut::Cut;
use crate::failure::Error;
use crate::program::Program;

/// A page that will be written. If it is never written, no file remains.
pub struct Page {
    path: PathBuf,
    file: NamedTempFile,
    outputs: bool,
}

impl Page {
    /// Creates a page in this file, so that an error in writing it is found before the work. It shows the
    /// outputs of a run only if `outputs` is true.
    ///
    /// # Errors
    /// An error of the machine if the file cannot be created.
    pub fn begin(path: &Path, outputs: bool) -> Result<Self, Error> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
        // Otherwise the error would contain the name of the temporary file, which the user does not know.
        let file = made.map_err(|e| Error::cannot_write(path, &e.kind().into()))?;
        Ok(Page { path: path.to_owned(), file, outputs })
    }

    /// Writes the page about a result, with the program in the cut that the result names. An error is only a
    /// warning, because the results must not be lost together with a page.
    pub fn write(self, record: &impl Serialize, program: Option<&Program>) {
        let path = self.path.clone();
        if let Err(error) = self.try_to_write(record, program) {
            tracing::warn!("the page {} could not be written: {}", path.display(), error.message());
        }
    }

    fn try_to_write(self, record: &impl Serialize, program: Option<&Program>) -> Result<(), Error> {
        let mut record = json(record)?;
        if let (Some(program), Some(fields)) = (program, record.as_object_mut()) {
            let cut = fields.get("cut").and_then(Value::as_str).map(str::parse);
            let cut: Cut = cut.transpose().map_err(Error::fault)?.unwrap_or_default();
            fields.insert("program".into(), json(&program.describe(&cut)?)?);
        }
        let html = html(&record, self.outputs)?;
        self.put(&html)
    }

    /// Writes the text. The file gets its name when all of the text is written.
    fn put(self, html: &str) -> Result<(), Error> {
        std::fs::write(self.file.path(), html).map_err(|e| Error::cannot_write(&self.path, &e))?;
        self.file.persist(&self.path).map_err(|e| Error::cannot_write(&self.path, &e.error))?;
        Ok(())
    }
}

fn json(record: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(record).map_err(|e| Error::fault(format!("a result has no JSON form: {e}")))
}

/// Returns the page about a result, given its JSON. It shows outputs only if `outputs` is true. With a path,
/// the page is written to this file, which only its owner can read.
///
/// # Errors
/// A fault if there is no page about such a result. An error of the machine if the file cannot be written.
pub fn of_json(record: &str, outputs: bool, path: Option<&Path>) -> Result<String, Error> {
    let record = serde_json::from_str(record).map_err(|e| Error::fault(e.to_string()))?;
    let html = html(&record, outputs)?;
    if let Some(path) = path {
        Page::begin(path, outputs)?.put(&html)?;
    }
    Ok(html)
}

fn html(record: &Value, outputs: bool) -> Result<String, Error> {
    let made = match outputs {
        true => brickwork_report::page_with_outputs(record),
        false => brickwork_report::page(record),
    };
    made.map_err(|why| Error::fault(why.to_string()))
}

/// Draws the chart of a plan.
///
/// # Errors
/// A fault if the plan has no JSON form.
pub fn chart(plan: &impl Serialize) -> Result<String, Error> {
    Ok(brickwork_report::chart::document(&brickwork_report::charts_of_plan(&json(plan)?)))
}
