//! `--report`: a page about the result of a command.

use std::path::PathBuf;

use brickwork::page::Page;
use clap::Args;

use crate::render::failure::Failure;

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
    /// Creates the page's file if a page was requested.
    pub fn open(&self) -> Result<Option<Page>, Failure> {
        Ok(self.report.as_deref().map(|path| Page::begin(path, false)).transpose()?)
    }
}

impl RunPageArguments {
    /// Creates the page's file, like [`PageArguments::open`].
    pub fn open(&self) -> Result<Option<Page>, Failure> {
        let path = self.page.report.as_deref();
        Ok(path.map(|path| Page::begin(path, self.report_outputs)).transpose()?)
    }
}
