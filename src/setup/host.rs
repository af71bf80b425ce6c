//! What the host gives: the machine class, the load's program.

use std::path::Path;

use super::{Frozen, StudySource, catalogue};
use crate::error::{Error, Problem, Result};
use crate::host::Fingerprint;
use crate::space::{MachineClass, Storage, Value};
use crate::strategy::Strategy;
use crate::study::WorkloadKind;
use crate::units::Bytes;
use crate::workload::{Workload, sysbench::Sysbench};

/// The machine class of a study.
pub(super) struct Classes {
    /// As it is tuned for: with no more free disk space than this host has.
    pub(super) class: MachineClass,
    /// As declared; as probed where this host is the class.
    pub(super) declared: MachineClass,
}

/// The class of a study, frozen when it began: what is probed (memory and disk space that are free) changes from hour to
/// hour, and bounds and arithmetic of a study must not.
///
/// # Errors
/// As [`machine_class`].
pub(super) fn classes(source: &StudySource, host: &Fingerprint, frozen: Option<&Frozen>) -> Result<Classes> {
    let connections = source
        .study
        .hardware
        .connections
        .and_then(|n| u32::try_from(n).ok());
    let (class, declared) = machine_class(source, host)?;
    let Some(frozen) = frozen else {
        return Ok(Classes { class, declared });
    };
    Ok(begun(
        &class,
        declared,
        &frozen.class,
        frozen.declared.as_ref(),
        connections,
    ))
}

/// The class with which the study began, where it is the same class.
fn begun(
    class: &MachineClass,
    declared: MachineClass,
    then: &MachineClass,
    declared_then: Option<&MachineClass>,
    connections: Option<u32>,
) -> Classes {
    if class.name == "probe" && then.name == "probe" {
        // What was probed then, without the connections of the study file of then.
        let then = MachineClass {
            connections,
            ..then.clone()
        };
        return Classes {
            class: then.clone(),
            declared: then,
        };
    }
    let same = declared_then.is_some_and(|declared_then| {
        let plain = |class: &MachineClass| MachineClass {
            connections: None,
            source: String::new(),
            ..class.clone()
        };
        plain(declared_then) == plain(&declared)
    });
    Classes {
        class: MachineClass {
            disk_free: if same { then.disk_free } else { class.disk_free },
            ..class.clone()
        },
        declared,
    }
}

/// The machine class of a study: this host as probed, a class by its name or path; and the same as
/// declared, before this host's free disk space narrowed it.
///
/// # Errors
/// [`Error::Input`] for an unknown class; [`Error::Host`] for one that is larger than this host.
fn machine_class(source: &StudySource, host: &Fingerprint) -> Result<(MachineClass, MachineClass)> {
    let wanted = &source.study.hardware;
    let probed = probed_class(host)?;
    let mut class = match wanted.class.as_str() {
        "probe" => probed.clone(),
        name => catalogue::machine_class(name)?,
    };
    if let Some(connections) = wanted.connections {
        class.connections = u32::try_from(connections).ok();
    }
    let too_large = if class.cores > probed.cores {
        Some(format!("{} cores, this host has {}", class.cores, probed.cores))
    } else if class.ram > probed.ram {
        Some(format!(
            "{} of RAM, this host can give {}",
            class.ram.human(),
            probed.ram.human()
        ))
    } else {
        None
    };
    if let Some(what) = too_large {
        return Err(Error::Host(
            Problem::new(format!(
                "the machine class {} is larger than this host: it has {what}",
                class.name
            ))
            .at(format!("{}, [hardware] class", source.name))
            .next("run the study on a host of that class, or take class = \"probe\""),
        ));
    }
    let declared = class.clone();
    class.disk_free = Bytes(class.disk_free.0.min(probed.disk_free.0));
    Ok((class, declared))
}

/// This host as a machine class.
///
/// # Errors
/// [`Error::Host`] where the kernel does not tell its memory.
pub fn probed_class(host: &Fingerprint) -> Result<MachineClass> {
    let memory = host.memory.as_ref().ok_or_else(|| {
        Error::host("the kernel does not tell how much memory this host has").at("/proc/meminfo")
    })?;
    let storage = host.storage.as_ref();
    let kind = match storage.and_then(|storage| storage.rotational) {
        Some(true) => Storage::Hdd,
        _ => Storage::Ssd,
    };
    Ok(MachineClass {
        name: "probe".to_owned(),
        // A quota below one core still runs one thread at a time.
        cores: (host.cores.floor() as u32).max(1),
        ram: memory.class_ram(),
        disk_free: storage.map_or(Bytes(0), |storage| storage.free),
        storage: kind,
        connections: None,
        source: format!("probed on {}", host.hostname),
    })
}

/// What the user's own script of the load says; none where the load has a bundled one, which comes with sysbench.
///
/// # Errors
/// [`Error::Input`] for a script that cannot be read.
pub(super) fn own_script(source: &StudySource) -> Result<Option<String>> {
    let script = &source.study.workload.script;
    if !is_own(script) {
        return Ok(None);
    }
    let path = source.path(script);
    let text = std::fs::read(&path).map_err(|error| {
        Error::input(format!("the script of the load cannot be read: {error}")).at(path.display().to_string())
    })?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Whether a script is named by its path.
fn is_own(script: &str) -> bool {
    Path::new(script).extension().is_some() || script.contains('/')
}

/// The load of a study.
///
/// # Errors
/// [`Error::Input`] for options that cannot be.
pub fn workload(source: &StudySource) -> Result<Box<dyn Workload>> {
    let wanted = &source.study.workload;
    match wanted.kind {
        WorkloadKind::Sysbench => {
            let script = if is_own(&wanted.script) {
                source.path(&wanted.script).display().to_string()
            } else {
                wanted.script.clone()
            };
            let options = wanted
                .options
                .iter()
                .map(|(name, value)| (name.clone(), option(value)));
            let load = Sysbench::new(script, wanted.threads as usize, options)
                .map_err(|error| error.at(format!("{}, [workload]", source.name)))?;
            let load = match std::env::var("NOCTUNE_SYSBENCH") {
                Ok(program) => load.with_program(program),
                Err(_) => load,
            };
            Ok(Box::new(load))
        }
    }
}

/// An option's value as sysbench takes it: switches are `on` and `off`.
fn option(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        other => other.to_string(),
    }
}

/// The strategy of a study.
///
/// # Errors
/// [`Error::Input`] for one that does not exist, cannot be read or cannot be understood.
pub fn strategy(source: &StudySource) -> Result<Box<dyn Strategy>> {
    catalogue::strategy_named(&source.study.strategy.preset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, ram: u64, disk_free: u64) -> MachineClass {
        MachineClass {
            name: name.to_owned(),
            cores: 2,
            ram: Bytes(ram),
            disk_free: Bytes(disk_free),
            ..MachineClass::default()
        }
    }

    #[test]
    fn what_was_probed_when_a_study_began_stays() {
        let then = class("probe", 4000, 900);
        let now = class("probe", 3000, 500);
        let classes = begun(&now, now.clone(), &then, None, Some(7));
        assert_eq!(
            (classes.class.ram, classes.class.disk_free),
            (Bytes(4000), Bytes(900))
        );
        assert_eq!(classes.class.connections, Some(7));
        assert_eq!(classes.declared, classes.class);
    }

    #[test]
    fn a_declared_class_keeps_the_disk_space_of_its_beginning_unless_it_was_changed() {
        let declared = class("small", 4000, 10_000);
        let (then, now) = (class("small", 4000, 900), class("small", 4000, 500));
        let kept = begun(&now, declared.clone(), &then, Some(&declared), None);
        assert_eq!(kept.class.disk_free, Bytes(900));
        let changed = begun(&now, class("small", 8000, 10_000), &then, Some(&declared), None);
        assert_eq!(changed.class.disk_free, Bytes(500));
        assert_eq!(changed.declared.ram, Bytes(8000));
    }
}
