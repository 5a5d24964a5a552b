//! `--report`: a page about what a command did.

use std::path::{Path, PathBuf};

use brickwork::circuit::Program;
use clap::Args;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::info;

/// Whether there is to be a page.
#[derive(Args)]
pub struct PageArguments {
    /// Also write a page about it into this file: one HTML file without scripts, which loads nothing
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// The same of a run, which has outputs.
#[derive(Args)]
pub struct RunPageArguments {
    #[command(flatten)]
    page: PageArguments,
    /// Show what was computed on that page, too: whoever sees the page knows it then
    #[arg(long, requires = "report")]
    report_outputs: bool,
}

impl PageArguments {
    /// Makes room for the page, if there is to be one: what cannot be written is to show before the work is
    /// done.
    pub fn open(&self) -> Result<Option<Page>, Failure> {
        self.report.as_deref().map(Page::begin).transpose()
    }
}

impl RunPageArguments {
    /// Opens the page as [`PageArguments::open`] does.
    pub fn open(&self) -> Result<Option<Page>, Failure> {
        let page = self.page.open()?;
        Ok(page.map(|page| Page { outputs: self.report_outputs, ..page }))
    }
}

/// A page that will be written. Nothing is left of it if it is not.
pub struct Page {
    path: PathBuf,
    file: NamedTempFile,
    outputs: bool,
}

impl Page {
    /// Makes room for a page in this file, without outputs.
    pub fn begin(path: &Path) -> Result<Self, Failure> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
        // It would name the temporary file, of which the user knows nothing.
        let file = made.map_err(|e| Failure::cannot_write(path, &e.kind().into()))?;
        Ok(Page { path: path.to_owned(), file, outputs: false })
    }

    /// Writes it: about what the command prints as JSON, and the program, if one is given. It cannot fail:
    /// the work is done, and its results are not to be lost with a page; so it warns.
    pub fn write(self, record: &Value, program: Option<Result<Program, Failure>>) {
        let path = self.path.clone();
        if let Err(failure) = self.try_to_write(record, program) {
            tracing::warn!("the page {} was not written: {}", path.display(), failure.message());
        }
    }

    fn try_to_write(self, record: &Value, program: Option<Result<Program, Failure>>) -> Result<(), Failure> {
        let mut record = record.clone();
        if let (Some(program), Some(fields)) = (program, record.as_object_mut()) {
            fields.insert("program".into(), info::json(program?.info())?);
        }
        let html = html(&record, self.outputs)?;
        self.put(&html)
    }

    /// Writes what was made: the file has its name once all of it is there.
    pub fn put(self, html: &str) -> Result<(), Failure> {
        std::fs::write(self.file.path(), html).map_err(|e| Failure::cannot_write(&self.path, &e))?;
        self.file.persist(&self.path).map_err(|e| Failure::cannot_write(&self.path, &e.error))?;
        Ok(())
    }
}

/// Returns the page about a record, with its outputs if they are to be shown.
pub fn html(record: &Value, outputs: bool) -> Result<String, Failure> {
    let made = match outputs {
        true => brickwork_report::page_with_outputs(record),
        false => brickwork_report::page(record),
    };
    made.map_err(|why| Failure::fault(why.to_string()))
}
