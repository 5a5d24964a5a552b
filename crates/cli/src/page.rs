//! `--report`: a page about the result of a command.

use std::path::{Path, PathBuf};

use brickwork::circuit::Program;
use clap::Args;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::failure::Failure;

/// The flag for a page.
#[derive(Args)]
pub struct PageArguments {
    /// Also write a page about the result to this file: one HTML file without scripts, which loads nothing
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// The flags for a page about a run, which has outputs.
#[derive(Args)]
pub struct RunPageArguments {
    #[command(flatten)]
    page: PageArguments,
    /// Show the outputs on that page, too: everybody who sees the page then knows them
    #[arg(long, requires = "report")]
    report_outputs: bool,
}

impl PageArguments {
    /// Creates the page's file if a page was requested, so that an error in writing it is found before the
    /// work.
    pub fn open(&self) -> Result<Option<Page>, Failure> {
        self.report.as_deref().map(Page::begin).transpose()
    }
}

impl RunPageArguments {
    /// Creates the page's file, like [`PageArguments::open`].
    pub fn open(&self) -> Result<Option<Page>, Failure> {
        let page = self.page.open()?;
        Ok(page.map(|page| Page { outputs: self.report_outputs, ..page }))
    }
}

/// A page that will be written. If it is never written, no file remains.
pub struct Page {
    path: PathBuf,
    file: NamedTempFile,
    outputs: bool,
}

impl Page {
    /// Creates a page in this file, without outputs.
    pub fn begin(path: &Path) -> Result<Self, Failure> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
        // Otherwise the error would contain the name of the temporary file, which the user does not know.
        let file = made.map_err(|e| Failure::cannot_write(path, &e.kind().into()))?;
        Ok(Page { path: path.to_owned(), file, outputs: false })
    }

    /// Writes the page: the result in its JSON form, and the program, if there is one. An error is only a
    /// warning, because the results must not be lost together with a page.
    pub fn write(self, record: &Value, program: Option<Result<Program, Failure>>) {
        let path = self.path.clone();
        if let Err(failure) = self.try_to_write(record, program) {
            tracing::warn!("the page {} was not written: {}", path.display(), failure.message());
        }
    }

    fn try_to_write(self, record: &Value, program: Option<Result<Program, Failure>>) -> Result<(), Failure> {
        let mut record = record.clone();
        if let (Some(program), Some(fields)) = (program, record.as_object_mut()) {
            let info = serde_json::to_value(program?.info());
            fields.insert("program".into(), info.map_err(|e| Failure::fault(e.to_string()))?);
        }
        let html = html(&record, self.outputs)?;
        self.put(&html)
    }

    /// Writes the text. The file gets its name when all of the text is written.
    pub fn put(self, html: &str) -> Result<(), Failure> {
        std::fs::write(self.file.path(), html).map_err(|e| Failure::cannot_write(&self.path, &e))?;
        self.file.persist(&self.path).map_err(|e| Failure::cannot_write(&self.path, &e.error))?;
        Ok(())
    }
}

/// Returns the page about a record. It shows outputs only if `outputs` is true.
pub fn html(record: &Value, outputs: bool) -> Result<String, Failure> {
    let made = match outputs {
        true => brickwork_report::page_with_outputs(record),
        false => brickwork_report::page(record),
    };
    made.map_err(|why| Failure::fault(why.to_string()))
}
