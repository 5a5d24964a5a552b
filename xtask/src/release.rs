//! The files of a release. For each kind of Linux machine there is one static program, in an archive with its
//! manual pages, shell completions, and the licences of all its parts; a list has the archives' SHA-256.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::foreign::{has_target, needs};
use crate::test::cargo_with;

/// A kind of machine.
struct Target {
    name: &'static str,
    /// The name in Rust's standard library.
    architecture: &'static str,
    /// The number in the ELF header.
    machine: u16,
    /// An emulator that runs the machine's programs on other machines.
    emulator: &'static str,
    /// The folder where Debian's musl-dev puts the C library's headers.
    headers: &'static str,
    /// GCC for this machine with another C library.
    compiler: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        name: "x86_64-unknown-linux-musl",
        architecture: "x86_64",
        machine: 62,
        emulator: "qemu-x86_64",
        headers: "/usr/include/x86_64-linux-musl",
        compiler: "x86_64-linux-gnu-gcc",
    },
    Target {
        name: "aarch64-unknown-linux-musl",
        architecture: "aarch64",
        machine: 183,
        emulator: "qemu-aarch64",
        headers: "/usr/include/aarch64-linux-musl",
        compiler: "aarch64-linux-gnu-gcc",
    },
];

/// The project's own files in an archive.
const OWN: [&str; 5] =
    ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "docs/reference/cli.md"];

/// Shells, and the names of their completion files.
const SHELLS: [(&str, &str); 3] =
    [("bash", "brickwork.bash"), ("zsh", "_brickwork"), ("fish", "brickwork.fish")];

/// The file with the list of all packages in the program.
const PARTS: &str = "sbom.cdx.json";

pub const USAGE: &str = "release [TARGET …]";

/// Runs `cargo xtask release [TARGET …]`: builds the archives of these targets, or of all, into
/// `target/dist`.
pub fn run(root: &Path, names: &[&str]) -> Result<(), String> {
    let known = |name: &&str| TARGETS.iter().any(|target| target.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        return Err(format!("{unknown} is no target of a release; those are {}", all.join(" and ")));
    }
    let folder = root.join("target/dist");
    let commit = std::env::var(COMMIT).ok().or_else(|| commit(root));
    if commit.is_none() {
        eprintln!("xtask: the program names no commit: commit all changes, or set {COMMIT}");
    }
    for target in TARGETS.iter().filter(|target| names.is_empty() || names.contains(&target.name)) {
        let program = target.build(root, commit.as_deref())?;
        let packages = packages(root, target.name)?;
        let (licences, parts) = (licences(&packages)?, parts_list(&packages)?);
        let archive = Archive { root, folder: &folder, name: format!("brickwork-{VERSION}-{}", target.name) };
        let path = archive.make(&program, &|program| target.command(program), (&licences, &parts))?;
        println!("{} ({} bytes)", path.display(), read(&path)?.len());
    }
    println!("{}", sums(&folder)?.display());
    Ok(())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The variable that tells the compiler the commit of the source.
const COMMIT: &str = "BRICKWORK_COMMIT";

impl Target {
    /// Builds the command from this commit; returns its program, which needs no library of the machine that
    /// runs it.
    fn build(&self, root: &Path, commit: Option<&str>) -> Result<PathBuf, String> {
        if !has_target("+stable", self.name) {
            return Err(format!(
                "Rust's library for the target is not there: rustup target add {}",
                self.name
            ));
        }
        let upper = self.name.to_uppercase().replace('-', "_");
        let lower = self.name.replace('-', "_");
        let mut environment = environment(&cargo_home()?, root, commit);
        // A musl compiler knows the headers of its C library; another C compiler gets musl's headers by
        // flags.
        let own = format!("{}-linux-musl-gcc", self.architecture);
        if needs(&own, "").is_ok() {
            environment.push((format!("CC_{lower}"), own));
        } else {
            needs(
                self.compiler,
                &format!("install a C compiler (Debian: gcc, or gcc-{}-linux-gnu)", self.architecture),
            )?;
            if !Path::new(self.headers).is_dir() {
                return Err(format!(
                    "{} is not there: install musl's headers (Debian: musl-dev)",
                    self.headers
                ));
            }
            let output = said(Command::new(self.compiler).arg("-print-file-name=include"))?;
            let flags = format!("-nostdinc -isystem {} -isystem {}", self.headers, output.trim());
            environment.push((format!("CC_{lower}"), self.compiler.to_owned()));
            environment.push((format!("CFLAGS_{lower}"), flags));
            environment.push((format!("CARGO_TARGET_{upper}_LINKER"), self.compiler.to_owned()));
        }
        let environment: Vec<(&str, &str)> = environment.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        let build = ["build", "--release", "--locked", "--target", self.name, "-p", "brickwork-cli"];
        cargo_with(root, &build, &environment)?;
        let program = root.join("target").join(self.name).join("release/brickwork");
        let bytes = read(&program)?;
        let home = cargo_home()?;
        let checked = is_static(&bytes, self.machine).and_then(|()| names_no_folder(&bytes, &[&home, root]));
        checked.map_err(|why| format!("{}: {why}", program.display()))?;
        let version = said(self.command(&program).arg("--version"))?;
        if !version.starts_with(&format!("brickwork {VERSION} (")) {
            return Err(format!("{} calls itself {version:?}", program.display()));
        }
        let named = named_commit(&said(self.command(&program).args(["--version", "--json"]))?)?;
        match named.as_deref() == commit {
            true => Ok(program),
            false => Err(format!("{} says that it is of commit {named:?}", program.display())),
        }
    }

    /// Returns a command that runs a program of this machine, directly or under an emulator.
    fn command(&self, program: &Path) -> Command {
        if self.architecture == std::env::consts::ARCH {
            return Command::new(program);
        }
        let mut command = Command::new(self.emulator);
        command.arg(program);
        command
    }
}

/// Returns the environment in which every target is built from this commit.
fn environment(cargo_home: &Path, root: &Path, commit: Option<&str>) -> Vec<(String, String)> {
    // The program does not tell where registries and the source are kept on this machine.
    let hidden = [cargo_home, root].map(|folder| format!("--remap-path-prefix={}=", folder.display()));
    let hidden = hidden.join(" ");
    let all =
        [("RUSTFLAGS", &hidden[..]), ("CARGO_PROFILE_RELEASE_STRIP", "symbols"), ("CARGO_INCREMENTAL", "0")];
    let named = commit.map(|commit| (COMMIT, commit));
    all.into_iter().chain(named).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the commit that a folder holds. Returns `None` outside a repository, or if a file was changed
/// since the commit.
fn commit(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| said(Command::new("git").args(arguments).current_dir(root)).ok();
    let is_clean = git(&["status", "--porcelain"])?.is_empty();
    let head = git(&["rev-parse", "HEAD"])?;
    is_clean.then(|| head.trim().to_owned())
}

/// Returns the commit in the output of `brickwork --version --json`.
fn named_commit(versions: &str) -> Result<Option<String>, String> {
    let versions: Value = serde_json::from_str(versions).map_err(|e| format!("--version --json: {e}"))?;
    Ok(versions["commit"].as_str().map(str::to_owned))
}

fn cargo_home() -> Result<PathBuf, String> {
    let home = |name| std::env::var_os(name).map(PathBuf::from);
    let found = home("CARGO_HOME").or_else(|| home("HOME").map(|home| home.join(".cargo")));
    found.ok_or_else(|| "neither CARGO_HOME nor HOME is set".into())
}

/// Refuses a program that contains the name of one of these folders of this machine.
fn names_no_folder(program: &[u8], folders: &[&Path]) -> Result<(), String> {
    // A name of one part, such as /src, may occur by accident.
    for folder in folders.iter().filter(|folder| folder.components().count() > 2) {
        let name = folder.as_os_str().as_encoded_bytes();
        if program.windows(name.len()).any(|window| window == name) {
            return Err(format!("it names the folder {}", folder.display()));
        }
    }
    Ok(())
}

/// Returns whether an ELF program of this machine needs no other file to run.
fn is_static(program: &[u8], machine: u16) -> Result<(), String> {
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at + length).ok_or("it is cut off")?;
        Ok::<u64, String>(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    if !program.starts_with(b"\x7fELF\x02\x01") {
        return Err("it is no program of 64 bits for Linux".into());
    }
    if number(18, 2)? != u64::from(machine) {
        return Err("it is for another machine".into());
    }
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for header in 0..count {
        // PT_INTERP names the dynamic linker.
        if number((table + header * size) as usize, 4)? == 3 {
            return Err("it is linked dynamically".into());
        }
    }
    Ok(())
}

/// An archive in the making.
struct Archive<'a> {
    root: &'a Path,
    folder: &'a Path,
    name: String,
}

impl Archive<'_> {
    /// Packs a program, its documentation, the project's files and the licences into an archive.
    fn make(
        &self,
        program: &Path,
        command: &dyn Fn(&Path) -> Command,
        (licences, parts): (&[(String, PathBuf)], &[u8]),
    ) -> Result<PathBuf, String> {
        needs("tar", "install it")?;
        let inside = self.folder.join(&self.name);
        if inside.exists() {
            fs::remove_dir_all(&inside).map_err(|e| format!("{}: {e}", inside.display()))?;
        }
        let copy = |from: &Path, to: &str| -> Result<(), String> { write(&inside.join(to), &read(from)?) };
        copy(program, "brickwork")?;
        executable(&inside.join("brickwork"))?;
        for name in OWN {
            copy(&self.root.join(name), name)?;
        }
        for (name, file) in licences {
            copy(file, &format!("licences/{name}"))?;
        }
        write(&inside.join(PARTS), parts)?;
        said(command(program).args(["man", "-o"]).arg(inside.join("man/man1")))?;
        for (shell, file) in SHELLS {
            let script = said(command(program).args(["completions", shell]))?;
            write(&inside.join("completions").join(file), script.as_bytes())?;
        }
        let path = self.folder.join(format!("{}.tar.gz", self.name));
        // The archive depends only on the files, and not on the user or the time.
        let same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];
        let mut tar = Command::new("tar");
        tar.args(same).arg(format!("--mtime=@{}", self.time())).arg("--use-compress-program=gzip -9n");
        said(tar.arg("-cf").arg(&path).arg("-C").arg(self.folder).arg(&self.name))?;
        fs::remove_dir_all(&inside).map_err(|e| format!("{}: {e}", inside.display()))?;
        Ok(path)
    }

    /// Returns the time of the last commit, in seconds; 0 outside a repository.
    fn time(&self) -> String {
        let mut git = Command::new("git");
        let time = said(git.args(["log", "-1", "--format=%ct"]).current_dir(self.root)).unwrap_or_default();
        if time.trim().is_empty() { "0".into() } else { time.trim().into() }
    }
}

/// Returns a text of a package's description.
fn text_of<'p>(package: &'p Value, field: &str) -> &'p str {
    package[field].as_str().unwrap_or_default()
}

/// Returns all packages from which the command `brickwork` is built, as `cargo metadata` describes them.
fn packages(root: &Path, target: &str) -> Result<Vec<Value>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = said(Command::new(&cargo).current_dir(root).args([
        "tree",
        "--locked",
        "-p",
        "brickwork-cli",
        "-e",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--target",
        target,
    ]))?;
    let metadata = said(Command::new(&cargo).current_dir(root).args([
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        target,
    ]))?;
    let mut metadata: Value = serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let all = metadata["packages"].as_array_mut().map(std::mem::take);
    let is_part = |package: &Value| {
        let name = format!("{} v{}", text_of(package, "name"), text_of(package, "version"));
        tree.lines().any(|line| line == name || line.starts_with(&format!("{name} ")))
    };
    Ok(all.ok_or("cargo metadata names no packages")?.into_iter().filter(is_part).collect())
}

/// Returns the list of all packages in the command, in the format of CycloneDX 1.5.
fn parts_list(packages: &[Value]) -> Result<Vec<u8>, String> {
    let component = |package: &Value| {
        let [name, version, licence] = ["name", "version", "license"].map(|field| text_of(package, field));
        let mut component = json!({
            "type": "library",
            "name": name,
            "version": version,
            "licenses": [{ "expression": licence.replace('/', " OR ") }],
        });
        // A package without a source is the project's own.
        if !package["source"].is_null() {
            component["purl"] = format!("pkg:cargo/{name}@{version}").into();
        }
        component
    };
    let mut components: Vec<Value> = packages.iter().map(component).collect();
    components.sort_by_key(|component| component["name"].to_string() + &component["version"].to_string());
    let command = json!({ "type": "application", "name": "brickwork", "version": VERSION });
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": command },
        "components": components,
    });
    serde_json::to_vec_pretty(&list).map_err(|e| format!("the list of parts: {e}"))
}

/// Returns the licence files of these packages: the name in the archive, and the file.
fn licences(packages: &[Value]) -> Result<Vec<(String, PathBuf)>, String> {
    let mut found = Vec::new();
    // A package without a source is the project's own.
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let text = |field: &str| text_of(package, field);
        let folder = Path::new(text("manifest_path")).parent().ok_or("a manifest without a folder")?;
        let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let before = found.len();
        for entry in entries.filter_map(Result::ok).filter(|entry| entry.path().is_file()) {
            let file = entry.file_name().to_string_lossy().into_owned();
            let upper = file.to_uppercase();
            if ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
                .iter()
                .any(|w| upper.starts_with(w))
            {
                found.push((format!("{}-{}/{file}", text("name"), text("version")), entry.path()));
            }
        }
        if found.len() == before {
            // The package's manifest names the licence, whose full text other packages have.
            found.push((
                format!("{}-{}/Cargo.toml", text("name"), text("version")),
                folder.join("Cargo.toml"),
            ));
        }
    }
    found.sort();
    Ok(found)
}

/// Writes the SHA-256 of all archives in a folder, as `sha256sum -c` reads them.
fn sums(folder: &Path) -> Result<PathBuf, String> {
    needs("sha256sum", "install GNU coreutils")?;
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .filter(|name| Path::new(name).extension() == Some(OsStr::new("gz")))
        .collect();
    names.sort();
    let list = said(Command::new("sha256sum").args(&names).current_dir(folder))?;
    let path = folder.join("SHA256SUMS");
    write(&path, list.as_bytes())?;
    Ok(path)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, bytes)).map_err(|e| format!("{}: {e}", path.display()))
}

fn executable(path: &Path) -> Result<(), String> {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, mode).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns the output of a program that must succeed.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name} does not start: {e}"))?;
    match output.status.success() {
        true => String::from_utf8(output.stdout).map_err(|_| format!("{name} does not write text")),
        false => Err(format!("{name}: {}{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// A shell script in place of `brickwork`. It gives only the outputs that making an archive needs.
    const PRETENDER: &str = "#!/bin/sh\n\
        if [ $1 = man ]; then mkdir -p $3 && echo page > $3/brickwork.1; else echo \"completes $2\"; fi\n";

    #[test]
    fn an_archive_has_all_and_is_the_same_again() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        let folder = std::env::temp_dir().join(format!("brickwork-release-{}-{now}", std::process::id()));
        let program = folder.join("pretender");
        write(&program, PRETENDER.as_bytes()).unwrap();
        executable(&program).unwrap();
        let archive = Archive { root: crate::root(), folder: &folder, name: "brickwork-1-here".into() };
        let licences = [("some-1.0/LICENSE".to_owned(), crate::root().join("LICENSE-MIT"))];
        let make = || archive.make(&program, &|program| Command::new(program), (&licences, b"{}")).unwrap();
        let (path, first) = (make(), read(&make()).unwrap());
        assert_eq!(read(&make()).unwrap(), first);

        let list = said(Command::new("tar").arg("-tf").arg(&path)).unwrap();
        let mut files: Vec<_> = list.lines().filter(|line| !line.ends_with('/')).collect();
        let inside = |name: &str| format!("brickwork-1-here/{name}");
        let mut expected: Vec<_> = OWN.iter().map(|name| inside(name)).collect();
        expected.extend(SHELLS.iter().map(|(_, file)| inside(&format!("completions/{file}"))));
        expected
            .extend(["brickwork", PARTS, "licences/some-1.0/LICENSE", "man/man1/brickwork.1"].map(inside));
        files.sort_unstable();
        expected.sort_unstable();
        assert_eq!(files, expected);
        let out = |name: &str| said(Command::new("tar").arg("-xOf").arg(&path).arg(inside(name))).unwrap();
        assert_eq!(out("brickwork"), PRETENDER);
        assert_eq!(out("completions/_brickwork"), "completes zsh\n");
        let details = said(Command::new("tar").arg("-tvf").arg(&path)).unwrap();
        assert!(
            details.lines().any(|line| line.starts_with("-rwxr-xr-x 0/0") && line.ends_with("/brickwork"))
        );

        sums(&folder).unwrap();
        let check = || said(Command::new("sha256sum").args(["-c", "SHA256SUMS"]).current_dir(&folder));
        assert_eq!(check().unwrap(), "brickwork-1-here.tar.gz: OK\n");
        write(&path, b"another").unwrap();
        assert!(check().is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A program names its commit, and no commit if its source differs from the commit.
    #[test]
    fn a_program_names_the_commit_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let author =
                ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
            said(Command::new("git").args(author).args(arguments).current_dir(&folder)).unwrap()
        };
        git(&["init", "-q"]);
        assert_eq!(commit(folder.path()), None);
        git(&["commit", "-q", "--allow-empty", "-m", "First"]);
        let first = git(&["rev-parse", "HEAD"]);
        assert_eq!(commit(folder.path()).as_deref(), Some(first.trim()));
        fs::write(folder.path().join("changed"), "").unwrap();
        assert_eq!(commit(folder.path()), None);

        let set = |commit| {
            environment(Path::new("/home"), Path::new("/src"), commit)
                .into_iter()
                .find(|(name, _)| name == COMMIT)
        };
        assert_eq!(set(Some("abc")), Some((COMMIT.into(), "abc".into())));
        assert_eq!(set(None), None);
        let named = |versions| named_commit(versions).unwrap();
        assert_eq!(named(r#"{"version":"0.1.0","commit":"abc"}"#), Some("abc".into()));
        assert_eq!(named(r#"{"version":"0.1.0","commit":null}"#), None);
    }

    #[test]
    fn what_is_linked_dynamically_is_refused() {
        let mut own = read(&std::env::current_exe().unwrap()).unwrap();
        let machine = u16::from_le_bytes([own[18], own[19]]);
        if cfg!(not(target_feature = "crt-static")) {
            assert_eq!(is_static(&own, machine), Err("it is linked dynamically".into()));
        }
        assert_eq!(is_static(&own, machine ^ 1), Err("it is for another machine".into()));
        // A program without program headers needs no library.
        own[56..58].fill(0);
        assert_eq!(is_static(&own, machine), Ok(()));
        assert_eq!(is_static(&own[..40], machine), Err("it is cut off".into()));
        assert!(is_static(b"#!/bin/sh", machine).is_err());
    }

    #[test]
    fn every_crate_of_the_command_has_a_licence() {
        let packages = packages(crate::root(), TARGETS[0].name).unwrap();
        let all = licences(&packages).unwrap();
        for name in ["rustls-0", "clap-4", "redb-4", "aws-lc-sys-0"] {
            assert!(all.iter().any(|(file, _)| file.starts_with(name)), "{name}: {all:?}");
        }
        assert!(!all.iter().any(|(file, _)| file.starts_with("loom") || file.starts_with("brickwork")));
        // The list of parts has all packages with their licences, and is the same again.
        let list = parts_list(&packages).unwrap();
        assert_eq!(list, parts_list(&packages).unwrap());
        let list: Value = serde_json::from_slice(&list).unwrap();
        let parts = list["components"].as_array().unwrap();
        assert_eq!(parts.len(), packages.len());
        let part = |name: &str| parts.iter().find(|part| part["name"] == name).expect(name);
        assert!(part("rustls")["purl"].as_str().is_some_and(|purl| purl.starts_with("pkg:cargo/rustls@0.")));
        assert!(part("brickwork-cli")["purl"].is_null());
        let has_licence =
            |part: &Value| part["licenses"][0]["expression"].as_str().is_some_and(|l| !l.is_empty());
        assert!(parts.iter().all(has_licence), "{parts:?}");
    }

    #[test]
    fn a_program_that_names_a_folder_is_refused() {
        let folders = [Path::new("/home/me/.cargo"), Path::new("/home/me/src"), Path::new("/src")];
        assert_eq!(names_no_folder(b"code of registry/src/a.rs", &folders), Ok(()));
        for folder in ["/home/me/.cargo", "/home/me/src"] {
            let why = names_no_folder(format!("in {folder}/a.rs").as_bytes(), &folders).unwrap_err();
            assert_eq!(why, format!("it names the folder {folder}"));
        }
        let variable = environment(folders[0], folders[2], None).swap_remove(0).1;
        assert_eq!(variable, "--remap-path-prefix=/home/me/.cargo= --remap-path-prefix=/src=");
    }

    /// The container's compiler is new enough.
    #[test]
    fn the_container_has_the_compiler_that_is_needed() {
        let text = |name: &str| String::from_utf8(read(&crate::root().join(name)).unwrap()).unwrap();
        let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
        let version = manifest["workspace"]["package"]["rust-version"].as_str().unwrap().to_owned();
        let container = text("Containerfile");
        assert!(container.contains(&format!("FROM rust:{version}-alpine AS build")), "{container}");
        assert!(container.contains("cargo build --release --locked -p brickwork-cli"), "{container}");
    }
}
