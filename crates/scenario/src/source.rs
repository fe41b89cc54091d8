//! From a name or path to a validated scenario.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::diag::{Findings, Location, Problems, suggest};
use super::fields::Fields;
use super::files_read::FilesRead;
use super::model::Scenario;
use super::overrides::{self, Override};
use super::traces::Traces;
use super::tree::{self, Item, Table, Value};
use super::{bdp, component_files, cross, expand, gravity, mtu, network, parts, schemes, settings, shipped, traffic};
use crate::topology::{Format, MAX_FILE};

/// Longest scenario file, in bytes.
const MAX_SCENARIO: u64 = 16 << 20;

/// A scenario that was read but not yet checked; overrides may still change it.
#[derive(Clone, Debug)]
pub struct Source {
    pub(super) name: String,
    pub(super) root: Table,
    pub(super) base: Base,
    overrides: Vec<Override>,
}

/// What a relative topology file is relative to.
#[derive(Clone, Debug)]
pub(super) enum Base {
    Folder(PathBuf, FilesRead),
    Shipped(FilesRead),
    /// The scenario is a bare topology, with this text.
    Text(String, FilesRead),
}

impl Base {
    fn files_read(&self) -> &FilesRead {
        match self {
            Base::Folder(_, read) | Base::Text(_, read) | Base::Shipped(read) => read,
        }
    }

    /// Where files are looked for that the command line names: where the command is given.
    pub(super) fn of_command_line(&self) -> Base {
        Base::Folder(PathBuf::new(), self.files_read().clone())
    }

    /// As [`read_text`], of a file that belongs to the scenario.
    pub(super) fn read_text(&self, path: &Path, shown: &str) -> Result<String, Problems> {
        self.files_read().allow(path, shown)?;
        let text = read_text(path, shown)?;
        self.files_read().add(path);
        Ok(text)
    }

    /// The text of a file that a scenario names at `at`, and what the file is called in messages.
    ///
    /// # Errors
    /// Why it cannot be read, at `at` unless the file itself is to blame.
    pub(super) fn read(&self, file: &str, what: &str, at: &Location) -> Result<(String, String), Problems> {
        let folder = match self {
            Base::Folder(folder, _) => folder.clone(),
            Base::Text(..) => PathBuf::new(),
            Base::Shipped(_) => {
                let message = format!("a scenario that comes with the program has no {what} \"{file}\"");
                return Err(Problems::one(at.clone(), message, "write a scenario file of your own beside it"));
            }
        };
        let path = folder.join(file);
        let shown = path.display().to_string();
        let text = self.read_text(&path, &shown).map_err(|problems| match problems.list.first() {
            Some(first) if first.place.line == 0 => {
                let message = format!("{what} \"{shown}\": {}", first.message);
                Problems::one(at.clone(), message, "the path is relative to the folder of the scenario file")
            }
            _ => problems,
        })?;
        Ok((shown, text))
    }
}

/// Finds a scenario by the name of a shipped one (`dumbbell`) or by path (`.toml`, or a bare `.graphml`, `.cch`, `.txt`
/// topology).
///
/// # Errors
/// Unknown names (with the names that exist), unreadable files, and errors of the file's syntax.
pub fn find(name_or_path: &str) -> Result<Source, Problems> {
    find_with(name_or_path, FilesRead::default())
}

/// As [`find`], of a scenario that need not be trusted: whatever it and its overrides name, no file outside of the current
/// folder is opened.
///
/// # Errors
/// As [`find`], and for files elsewhere.
pub fn find_here(name_or_path: &str) -> Result<Source, Problems> {
    find_with(name_or_path, FilesRead::new(true))
}

fn find_with(name_or_path: &str, files: FilesRead) -> Result<Source, Problems> {
    let path = Path::new(name_or_path);
    if let Some(shipped) = shipped::by_name(name_or_path) {
        return Source::from_toml(shipped.file, shipped.text, Base::Shipped(files));
    }
    let looks_like_path = name_or_path.contains(['/', '\\']) || path.extension().is_some();
    if !looks_like_path && !path.is_file() {
        let names = shipped::shipped().iter().map(|s| s.name);
        let message = format!("no scenario is called \"{name_or_path}\"");
        let help = format!("{}; or give the path of a .toml file", suggest(name_or_path, "scenarios", names));
        return Err(Problems::one(Location::whole(name_or_path), message, help));
    }
    files.allow(path, name_or_path)?;
    let text = read_text(path, name_or_path)?;
    files.add(path);
    match Format::of(name_or_path) {
        Some(_) => Ok(Source::topology_of(name_or_path, text, files)),
        None => {
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            Source::from_toml(name_or_path, &text, Base::Folder(folder, files))
        }
    }
}

/// Finds a scenario, applies overrides and validates it.
///
/// # Errors
/// Everything wrong with the scenario or the overrides, in the order of the file.
pub fn load(name_or_path: &str, overrides: &[&str]) -> Result<Scenario, Problems> {
    let mut source = find(name_or_path)?;
    apply_overrides(&mut source, overrides)?;
    source.validate()
}

/// Adds overrides such as `link.R1-R2.rate=5Mbps`, in order; later ones win.
///
/// # Errors
/// Overrides that are not of the form `section.name.key=value`. Whether names and values exist and fit is known once
/// [`Source::validate`] has read the topology and made the demand.
pub fn apply_overrides<S: AsRef<str>>(source: &mut Source, overrides: &[S]) -> Result<(), Problems> {
    let found = Findings::default();
    for text in overrides {
        match overrides::parse(text.as_ref()) {
            Ok(parsed) => source.overrides.push(parsed),
            Err(problems) => found.add(problems),
        }
    }
    found.check()
}

impl Source {
    /// Reads TOML text; `folder` is where its topology file is looked for, errors call the file `name`.
    ///
    /// # Errors
    /// Every syntax error of the text.
    pub fn from_text(name: &str, text: &str, folder: &Path) -> Result<Source, Problems> {
        Source::from_toml(name, text, Base::Folder(folder.to_path_buf(), FilesRead::default()))
    }

    pub(super) fn from_toml(name: &str, text: &str, base: Base) -> Result<Source, Problems> {
        if text.len() as u64 > MAX_SCENARIO {
            let message = format!("the file has {} bytes, more than {MAX_SCENARIO}", text.len());
            return Err(Problems::one(Location::whole(name), message, "put the topology into a file of its own"));
        }
        let root = tree::parse(name, text)?;
        Ok(Source { name: name.into(), root, base, overrides: Vec::new() })
    }

    /// Makes a scenario of a bare topology file's text: gravity demand and default run settings.
    pub fn from_topology(name: &str, text: String) -> Source {
        Source::topology_of(name, text, FilesRead::default())
    }

    fn topology_of(name: &str, text: String, files: FilesRead) -> Source {
        let at = Location::whole(name);
        let stem = stem(name);
        // Which is hidden for a file that is, and is never `.`.
        let stem = stem.trim_start_matches('.');
        let stem = if stem.is_empty() { "topology" } else { stem };
        let clean: String =
            stem.chars().take(64).map(|c| if super::is_name(&c.to_string()) { c } else { '-' }).collect();
        let about = format!("The topology {name} with a gravity-like demand and default settings.");
        let mut root = Table::default();
        root.set("name", Item::text(&at, clean));
        root.set("about", Item::text(&at, about));
        root.set("topology", Item::table(&at, vec![("file", Item::text(&at, name))]));
        root.set("demand", Item::table(&at, vec![("model", Item::text(&at, "gravity"))]));
        root.set("run", Item::table(&at, vec![("duration", Item::text(&at, "20s"))]));
        Source { name: name.into(), root, base: Base::Text(text, files), overrides: Vec::new() }
    }

    /// What the scenario varies, `[[vary]]`, as it is written: who runs it in several cases reads it. [`Source::validate`]
    /// gives the scenario without.
    pub fn vary(&self) -> Option<&Item> {
        self.root.get("vary")
    }

    /// The files that were read for this scenario and its clones so far, as paths from where the program runs: those that
    /// it names are among them once [`Source::validate`] has succeeded. None of what comes with the program.
    pub fn files(&self) -> Vec<PathBuf> {
        self.base.files_read().all()
    }

    /// Checks everything and gives the scenario.
    ///
    /// # Errors
    /// Everything found wrong, sorted by place.
    pub fn validate(&self) -> Result<Scenario, Problems> {
        let found = Findings::default();
        let mut root = self.root.clone();
        overrides::apply_settings(&mut root, &self.overrides, &found);
        check_root(&root, &self.name, &found);
        // A broken topology makes every name in the file dangling: stop with the cause.
        expand::topology(&mut root, self, &found)?;
        expand::node_names(&mut root);
        overrides::apply_network(&mut root, &self.overrides, &found);
        let queues = bdp::take(&mut root, &found);
        let whole = Location::at(&self.name.as_str().into(), 1, 1);
        let settings = settings::read(&root, &whole, &found);
        let network = network::read(&root, &settings, &Traces::new(&self.base), &whole, &found);
        gravity::expand(&mut root, &network, &found);
        overrides::apply_traffic(&mut root, &self.overrides, &found);
        component_files::insert(&mut root, &self.base, &found);
        let traffic = traffic::read(&root, &settings, &network, &self.base, &whole, &found);
        let cross = cross::read(&root, &settings, &network, &found);
        let (names, compositions) = schemes::read(&root, &found);
        schemes::prefixes(&root, &traffic.consumers, &found);
        let parts = parts::read(&root, &network.nodes, &traffic.consumers, &compositions, &settings, &found);
        let largest = traffic.producers.iter().map(|p| p.payload).max().unwrap_or(settings.payload);
        mtu::check(&network, &settings.run, largest, &whole, &found);
        found.check()?;
        let text = |key: &str| root.get(key).and_then(Item::as_text).map(str::to_string);
        let mut scenario = Scenario {
            name: text("name").unwrap_or_else(|| stem(&self.name)),
            about: text("about").unwrap_or_default(),
            source: self.name.clone(),
            nodes: network.nodes,
            links: network.links,
            media: network.media,
            cross,
            overlay: network.overlay,
            producers: traffic.producers,
            consumers: traffic.consumers,
            events: traffic.events,
            routing: settings.routing,
            control: settings.control,
            run: settings.run,
            schemes: names,
            compositions,
            part_schemes: parts.schemes,
            parts: parts.parts,
            notes: found.notes(),
        };
        bdp::settle(&mut scenario, &queues, &found);
        found.check()?;
        scenario.sort_by_name();
        Ok(scenario)
    }
}

/// What a scenario without a name of its own is called.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `.` and `..` would be other folders than that of the results, which has the scenario's name.
const NO_FOLDER: &str = "a scenario whose name begins with a dot has no visible folder for its results";

/// The outermost keys.
fn check_root(root: &Table, name: &str, found: &Findings) {
    let at = Location::at(&name.into(), 1, 1);
    let fields = Fields::new(root, "the scenario", &at, found);
    match fields.get::<String>("name") {
        Some(text) if !super::is_name(&text) => fields.error(
            "name",
            "name: this is not a valid name",
            "use letters, digits, '_', '-', '.' and '+', at most 64",
        ),
        Some(text) if text.starts_with('.') => fields.error("name", NO_FOLDER, "begin it with a letter or a digit"),
        // `..toml` is called `.` then.
        None if root.get("name").is_none() && stem(name).starts_with('.') => {
            fields.error("name", NO_FOLDER, "add name = \"NAME\", or give the file another one");
        }
        _ => {}
    }
    fields.get::<String>("about");
    fields.item("overlay");
    for key in ["run", "routing", "control", "topology", "demand", "link-defaults", "scheme"] {
        if let Some(item) = fields.item(key)
            && item.as_table().is_none()
        {
            found.error(&item.at, format!("{key} is {}, not a section", item.kind()), format!("write [{key}]"));
        }
    }
    for key in ["node", "link", "medium", "cross", "producer", "consumer", "event", "part", "vary"] {
        let Some(item) = fields.item(key) else { continue };
        let help = format!("write [[{key}]], with double brackets");
        match &item.value {
            Value::List(items) => {
                for item in items.iter().filter(|i| i.as_table().is_none()) {
                    found.error(&item.at, format!("a {key} is {}, not a table", item.kind()), help.clone());
                }
            }
            _ => found.error(&item.at, format!("{key} is {}, not a list of tables", item.kind()), help),
        }
    }
    fields.finish();
}

/// Reads a text file of bounded size.
pub(super) fn read_text(path: &Path, shown: &str) -> Result<String, Problems> {
    let fail = |message: String, help: &str| Err(Problems::one(Location::whole(shown), message, help));
    match ndnweir_files::read(path, MAX_FILE as u64).map(String::from_utf8) {
        // Some editors begin a file with a byte order mark.
        Ok(Ok(text)) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Ok(Err(error)) => {
            let before = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
            let line = 1 + before.filter(|&&b| b == b'\n').count();
            let place = Location::at(&shown.into(), line, 0);
            Err(Problems::one(place, "the file is not UTF-8 text", "save the file as UTF-8"))
        }
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            fail(error.to_string(), "give the path of a scenario file")
        }
        Err(error) if error.kind() == ErrorKind::FileTooLarge => fail(error.to_string(), "use a smaller file"),
        Err(error) => fail(format!("cannot read the file: {error}"), "check the path and its permissions"),
    }
}
