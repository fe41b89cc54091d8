//! Who watches the runs of `sim`: the progress bar, a page, a screen.

use crate::args::SimArgs;
use crate::failure::Failure;
use crate::progress::Bar;
#[cfg(feature = "view")]
use crate::terminal::say;
use ndnweir_lab::experiment::{Experiment, Progress};
#[cfg(feature = "view")]
use ndnweir_lab::results::Series;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Who watches.
pub(super) struct Watchers {
    bar: Bar,
    #[cfg(feature = "view")]
    page: Option<Page>,
    #[cfg(feature = "view")]
    screen: Option<ndnweir_view::terminal::RunScreen>,
    #[cfg(feature = "view")]
    stop: &'static AtomicBool,
}

/// A page that shows the run.
#[cfg(feature = "view")]
struct Page {
    server: ndnweir_view::Server,
    run: std::sync::Arc<ndnweir_view::LiveRun>,
    path: String,
}

/// Checks, before the work, what can be.
pub(super) fn check(args: &SimArgs) -> Result<(), Failure> {
    #[cfg(feature = "view")]
    if args.watch {
        ndnweir_view::terminal::check().map_err(Failure::input)?;
    }
    #[cfg(not(feature = "view"))]
    let _ = args;
    Ok(())
}

#[cfg(not(feature = "view"))]
impl Watchers {
    pub(super) fn start(
        args: &SimArgs,
        experiment: &Experiment,
        _command: &str,
        _folder: &Path,
        _stop: &'static AtomicBool,
    ) -> Result<Watchers, Failure> {
        let runs = experiment.schemes.len() * experiment.seeds.len();
        Ok(Watchers { bar: Bar::new(runs, args.run.output.quiet) })
    }

    pub(super) fn over(&mut self) -> Result<(), Failure> {
        self.bar.done();
        Ok(())
    }

    pub(super) fn written(&self, _folder: Option<&Path>, _partial: bool, _problem: &str) {}

    pub(super) fn stay(&self) {}
}

#[cfg(feature = "view")]
impl Watchers {
    /// Begins to watch runs whose results go to `folder`.
    pub(super) fn start(
        args: &SimArgs,
        experiment: &Experiment,
        command: &str,
        folder: &Path,
        stop: &'static AtomicBool,
    ) -> Result<Watchers, Failure> {
        use ndnweir_view::{LiveRun, Options, Server, terminal::RunScreen};
        let runs = experiment.schemes.len() * experiment.seeds.len();
        let described = || ndnweir_lab::experiment::describe(&experiment.scenario);
        let page = match args.live {
            true => {
                let root = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let options = Options { root: root.to_owned(), ..Options::default() };
                let server = Server::start(options).map_err(Failure::work)?;
                let run = std::sync::Arc::new(LiveRun::new(experiment, &described(), command));
                let path = server.show(std::sync::Arc::clone(&run));
                say(format_args!("watch: {}", server.url(&path)));
                Some(Page { server, run, path })
            }
            false => None,
        };
        let screen = match args.watch {
            true => Some(RunScreen::start(experiment, &described(), stop).map_err(Failure::work)?),
            false => None,
        };
        Ok(Watchers { bar: Bar::new(runs, args.run.output.quiet || args.watch), page, screen, stop })
    }

    /// The work is over: the terminal is as before.
    pub(super) fn over(&mut self) -> Result<(), Failure> {
        self.bar.done();
        self.screen.take().map_or(Ok(()), |screen| screen.end().map_err(Failure::work))
    }

    /// Where the results are, for the page.
    pub(super) fn written(&self, folder: Option<&Path>, partial: bool, problem: &str) {
        let Some(page) = &self.page else { return };
        let name = folder.and_then(Path::file_name).and_then(|name| name.to_str());
        let state = match (folder, partial) {
            (None, _) => "failed",
            (_, true) => "cancelled",
            _ => "complete",
        };
        page.run.end(state, name, problem);
    }

    /// Serves the page until Ctrl-C.
    pub(super) fn stay(&self) {
        if let Some(page) = &self.page
            && !self.stop.load(std::sync::atomic::Ordering::Relaxed)
        {
            say(format_args!("the page stays until Ctrl-C: {}", page.server.url(&page.path)));
            super::view::wait(self.stop);
        }
    }
}

impl Progress for Watchers {
    fn advanced(&self, run: usize, fraction: f64) {
        self.bar.advanced(run, fraction);
        #[cfg(feature = "view")]
        {
            if let Some(page) = &self.page {
                page.run.advanced(run, fraction);
                if page.run.is_cancelled() {
                    self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
                }
            }
            if let Some(screen) = &self.screen {
                screen.advanced(run, fraction);
            }
        }
    }

    #[cfg(feature = "view")]
    fn wants_bins(&self) -> bool {
        self.page.is_some() || self.screen.is_some()
    }

    #[cfg(feature = "view")]
    fn bins(&self, run: usize, first: usize, series: &Series) {
        if let Some(page) = &self.page {
            page.run.bins(run, first, series);
        }
        if let Some(screen) = &self.screen {
            screen.bins(run, first, series);
        }
    }
}
