//! `ndnweir explain`.

use super::{print, print_json};
use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::terminal;
use ndnweir_core::component::Info;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::suggest;
use ndnweir_lab::text_table::wrapped;
use ndnweir_report::pages;
use serde_json::{Value, json};
use std::fmt::Write;

pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let scheme = Scheme::named(&args.name).ok();
    let components: Vec<(Family, &Info)> = Family::ALL
        .into_iter()
        .flat_map(|family| family.components().iter().map(move |info| (family, info)))
        .filter(|(_, info)| info.name == args.name)
        .collect();
    if scheme.is_none() && components.is_empty() {
        return Err(Failure::Input(unknown(&args.name)));
    }
    if args.json {
        return print_json(&document(scheme.as_ref(), &components));
    }
    let mut text = String::new();
    if let Some(scheme) = &scheme {
        describe_scheme(&mut text, scheme);
    }
    for (family, info) in &components {
        describe_component(&mut text, *family, info);
    }
    if let Some(page) = pages::scheme(&args.name) {
        let _ = write!(text, "\n{}\n", page.trim_end());
    }
    print(&text)
}

fn unknown(name: &str) -> String {
    let components = Family::ALL.into_iter().flat_map(|f| f.components().iter().map(|i| i.name));
    let mut known: Vec<&str> = Scheme::names().chain(components).collect();
    known.sort_unstable();
    known.dedup();
    suggest::unknown("scheme or component", name, &known).to_string()
}

fn describe_scheme(text: &mut String, scheme: &Scheme) {
    let _ = writeln!(text, "Scheme {}: {}", scheme.name, scheme.summary);
    if scheme.is_stand_in() {
        let _ = writeln!(text, "  A stand-in: the original law is not public.");
    }
    for family in Family::ALL {
        let part = scheme.part(family);
        let params: Vec<_> = part.params.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let _ = writeln!(text, "  {:<11} {:<12} {}", family.key(), part.name, params.join(", "));
    }
    for (key, value) in marks(scheme) {
        let _ = writeln!(text, "  {key:<14} {}", value.as_str().unwrap_or_default());
    }
}

/// What the scheme does with marks, as scenario files write it.
fn marks(scheme: &Scheme) -> [(&'static str, Value); 2] {
    [("interest-marks", json!(scheme.interest_marks)), ("cached-marks", json!(scheme.cached_marks))]
}

fn describe_component(text: &mut String, family: Family, info: &Info) {
    let _ = writeln!(text, "\nComponent {} ({}): {}", info.name, family.key(), info.summary);
    let _ = writeln!(text, "  Source: {}", info.source);
    let parameters = parameters(info);
    let room = terminal::width().map_or(100, |width| width.saturating_sub(8).clamp(20, 100));
    if !parameters.is_empty() {
        let _ = writeln!(text, "  Parameters:");
    }
    for parameter in parameters {
        let _ = writeln!(text, "    {} = {}", parameter.path, parameter.default);
        for line in wrapped(&parameter.text, Some(room)) {
            let _ = writeln!(text, "        {line}");
        }
    }
}

struct Parameter {
    path: String,
    default: Value,
    text: String,
}

/// The parameters with their defaults and documentation, nested tables as dotted paths.
fn parameters(info: &Info) -> Vec<Parameter> {
    let schema = (info.schema)();
    let mut found = Vec::new();
    collect(&schema, &schema, &(info.defaults)(), "", &mut found);
    found
}

fn collect(root: &Value, schema: &Value, defaults: &Value, path: &str, found: &mut Vec<Parameter>) {
    let Value::Object(table) = defaults else { return };
    for (name, default) in table {
        let property = &schema["properties"][name];
        let target =
            property["$ref"].as_str().and_then(|r| root.pointer(r.trim_start_matches('#'))).unwrap_or(property);
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if default.is_object() {
            collect(root, target, default, &path, found);
            continue;
        }
        let own = property["description"].as_str();
        let mut text = own.or(target["description"].as_str()).unwrap_or_default().replace('\n', " ");
        let choices = choices(target);
        if !choices.is_empty() {
            let _ = write!(text, " [{}]", choices.join(" | "));
        }
        found.push(Parameter { path, default: default.clone(), text });
    }
}

/// The values of an enumeration, with what each means.
fn choices(schema: &Value) -> Vec<String> {
    let plain = schema["enum"].as_array().into_iter().flatten().map(|value| value.to_string());
    let documented = schema["oneOf"].as_array().into_iter().flatten().map(|choice| {
        let meaning = choice["description"].as_str().unwrap_or_default().replace('\n', " ");
        format!("{}: {}", choice["const"], meaning.trim_end_matches('.'))
    });
    plain.chain(documented).collect()
}

fn document(scheme: Option<&Scheme>, components: &[(Family, &Info)]) -> Value {
    let scheme = scheme.map(|scheme| {
        let parts = Family::ALL.map(|family| (family.key().to_string(), json!(scheme.part(family))));
        let [(interest, on_interests), (cached, on_cached)] = marks(scheme);
        json!({
            interest: on_interests, cached: on_cached, "name": scheme.name, "summary": scheme.summary, "stand_in": scheme.is_stand_in(),
            "parts": serde_json::Map::from_iter(parts),
        })
    });
    let components = components.iter().map(|(family, info)| {
        let parameters = parameters(info);
        let parameters = parameters.iter().map(|p| json!({ "name": p.path, "default": p.default, "text": p.text }));
        json!({
            "family": family.key(), "name": info.name, "summary": info.summary, "source": info.source,
            "stand_in": info.stand_in, "parameters": parameters.collect::<Vec<_>>(),
        })
    });
    json!({ "scheme": scheme, "components": components.collect::<Vec<_>>() })
}
