//! Test plans of Apache `JMeter` (.jmx), those of its distribution and the thread groups of the jp@gc and `BlazeMeter` plugins.
//!
//! `JMeter` waits *before* a sampler, by the sum of all timers in whose scope it stands: those beside it, beside the controllers
//! above it, and under it. [`crate::chain`] puts the wait after the request before. Sources: the `JMeter` 5.6 user manual,
//! "Scoping Rules" and "Component Reference", and for the draws of the random timers its class files.

mod answer;
mod controller;
mod functions;
mod group;
mod include;
mod login;
mod node;
mod sampler;
mod timer;
mod tree;
mod unknown;
mod variables;

use std::collections::BTreeMap;

use offered_model::workload::{Reuse, Target, Url};

use controller::Scope;
use group::{Kind, Throttle};
use node::Node;
use sampler::Asked;
use variables::Variables;

use crate::address::{Chosen, Goal, choose};
use crate::chain::{Chain, MOST_STEPS, Walk};
use crate::names;
use crate::note::Note;
use crate::plan::{Arrivals, Plan, Request, When, unlike};
use crate::text::Text;
use crate::{Error, Given};

/// Redirects that `JMeter` follows.
const REDIRECTS: u32 = 20;

/// Thread groups at most.
const MOST_GROUPS: usize = 100;

/// One group under translation.
struct Reader<'e, 'g> {
    file: &'e str,
    plan: &'e Node<'e>,
    /// How many groups make load.
    groups: usize,
    variables: &'e mut Variables<'g>,
    notes: Vec<Note>,
    asked: Vec<Asked>,
    /// Whether each thread goes round only once.
    once: bool,
    /// Whether the nearest controller is a loop.
    looping: bool,
    /// The lines of the throughput timers over all of the group.
    throttles: Vec<usize>,
    /// Module controllers we are within.
    modules: usize,
    /// The lines of what they name.
    named: Vec<usize>,
}

/// The plans of `text`, the content of `file`: one for each thread group.
pub(crate) fn read(text: &str, file: &str, given: &Given) -> Result<Vec<Plan>, Error> {
    let mut tree = tree::read(text, file)?;
    let refused = |what: &str| Error::File { file: file.to_owned(), what: what.to_owned() };
    if tree.tag != "jmeterTestPlan" {
        return Err(refused(&format!("begins with <{}>; a JMeter test plan begins with <jmeterTestPlan>", tree.tag)));
    }
    include::all(&mut tree, given.included);
    let top: Vec<Node> = tree.children.iter().filter(|child| child.tag == "hashTree").flat_map(Node::all).collect();
    let Some(plan) = top.iter().find(|node| node.class() == "TestPlan") else {
        return Err(refused("no enabled test plan in it; expected <TestPlan>"));
    };
    let mut variables = Variables::new(*given);
    for node in &top {
        variables.collect(node, None);
    }
    for node in &top {
        variables.collect_extracted(node);
    }
    variables.set_from_outside();
    let runs = |node: &&Node| group::kind(node).is_some();
    let loads = |node: &&Node| group::when(node) == When::Load;
    if plan.children.iter().filter(runs).count() > MOST_GROUPS {
        return Err(refused(&format!("more than {MOST_GROUPS} thread groups; no test plan has")));
    }
    let mut plans: Vec<Plan> = Vec::new();
    let mut idle: Vec<Note> = Vec::new();
    let groups = plan.children.iter().filter(runs).filter(loads).count();
    for group in plan.children.iter().filter(runs) {
        let taken = |name: &str| plans.iter().any(|plan| plan.name == name);
        let name = unlike(group.name(), taken);
        let reader = Reader {
            file,
            plan,
            groups,
            variables: &mut variables,
            notes: Vec::new(),
            asked: Vec::new(),
            once: false,
            looping: false,
            throttles: Vec::new(),
            modules: 0,
            named: Vec::new(),
        };
        match reader.group(group, name)? {
            Some(plan) => plans.push(plan),
            None => idle.push(note(group, "asks no web server; left out".to_owned())),
        }
    }
    let outside = from_outside(&variables);
    // The load first.
    plans.sort_by_key(|plan| plan.when != When::Load);
    for plan in &mut plans {
        plan.notes.extend(idle.iter().chain(&outside).cloned());
        plan.notes.sort();
        plan.notes.dedup();
        plan.notes.sort_by_key(|note| note.line);
    }
    if plans.is_empty() {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for node in &top {
            count(node, &mut kinds);
        }
        let kinds: Vec<String> = kinds.iter().map(|(kind, times)| format!("{times} {kind}")).collect();
        let has = if kinds.is_empty() { String::new() } else { format!(" (it has {})", kinds.join(", ")) };
        return Err(refused(&format!(
            "no enabled thread group with an HTTP request in it{has}; there is nothing to ask"
        )));
    }
    Ok(plans)
}

/// What a person must know who could give values from outside.
fn from_outside(variables: &Variables) -> Vec<Note> {
    let note = |what: String| Note { line: 0, element: String::new(), what };
    let mut notes = Vec::new();
    if !variables.valueless.is_empty() {
        let each: Vec<String> = variables.valueless.iter().map(|(name, value)| format!("{name} = `{value}`")).collect();
        notes.push(note(format!(
            "properties that nothing gives a value, and what JMeter takes for them: {}",
            each.join(", ")
        )));
    }
    for (call, value) in &variables.once {
        notes.push(note(format!(
            "`${{{call}}}` in a user-defined variable is drawn once, when the test begins; here it is `{value}` in every run"
        )));
    }
    notes
}

/// Adds the samplers under `node` by their kind.
fn count<'e>(node: &Node<'e>, kinds: &mut BTreeMap<&'e str, usize>) {
    if controller::is_sampler(node.class()) {
        *kinds.entry(node.class()).or_default() += 1;
    }
    node.children.iter().for_each(|child| count(child, kinds));
}

fn note(node: &Node, what: String) -> Note {
    let name = if node.name().is_empty() { String::new() } else { format!(" `{}`", node.name()) };
    Note { line: node.element.line, element: format!("{}{name}", node.class()), what }
}

impl<'e> Reader<'e, '_> {
    fn note(&mut self, node: &Node, what: impl Into<String>) {
        self.notes.push(note(node, what.into()));
    }

    /// `text` of `node` with variables put in; what has no value is noted.
    fn resolve(&mut self, node: &Node, text: &str) -> Text {
        let (resolved, unknown) = self.variables.resolve(text);
        for unknown in unknown {
            self.note(
                node,
                format!("`{unknown}` has no value here and is sent as it stands; write one under [variables]"),
            );
        }
        resolved
    }

    /// A property that is a number, `otherwise` where it is not given or no number.
    fn number(&mut self, node: &Node, property: &str, otherwise: f64) -> f64 {
        let said = node.element.text_of(property).trim();
        if said.is_empty() {
            return otherwise;
        }
        let resolved = self.variables.resolve(said).0.shown();
        match resolved.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => number,
            _ => {
                self.note(node, format!("`{property}` is `{said}`, which is no number here; taken as {otherwise}"));
                otherwise
            }
        }
    }

    /// The plan of `group`; `None` where it asks nothing.
    fn group(mut self, group: &Node<'e>, name: String) -> Result<Option<Plan>, Error> {
        let plan = self.plan;
        let outer = self.scope(&plan.children, &Scope::default());
        let threads = group::kind(group) == Some(Kind::Threads);
        self.once = !threads || self.loops_of(group) == 1.0;
        let mut throttle: Option<Throttle> = None;
        for timer in plan.children.iter().chain(&group.children) {
            if let Some(found) = self.throttle(timer).filter(|_| threads) {
                throttle = Some(found);
                self.throttles.push(timer.element.line);
            }
        }
        let walk = Walk::All(self.walks(&group.children, &outer));
        let too_long = || Error::At {
            file: self.file.to_owned(),
            line: group.element.line,
            what: format!(
                "thread group `{name}` takes more steps to write out than a workload can have; repeat less, or simplify its controllers"
            ),
        };
        if self.asked.len() > MOST_STEPS {
            return Err(too_long());
        }
        let (url, kept) = self.server(&walk)?;
        let walk = walk.only(&|request| kept[request]);
        let again = threads && !self.once;
        let chain = Chain::of(&walk.settled(), again).map_err(|_| too_long())?;
        if chain.requests().is_empty() {
            return Ok(None);
        }
        if chain.means().1 > 0.0 && throttle.is_some() {
            throttle = None;
        }
        for node in &plan.children {
            match group::kind(node) {
                Some(_) if group::when(node) == group::when(group) => {}
                Some(_) => {
                    let when = match group::when(node) {
                        When::Before => "before the load",
                        When::After => "after the load",
                        When::Load => "as the load",
                    };
                    self.note(node, format!("runs {when}; a workload of its own"));
                }
                None if self.named.contains(&node.element.line) => {}
                None => self.leftover(node),
            }
        }
        if throttle.is_none() {
            let lines = std::mem::take(&mut self.throttles);
            for timer in plan.children.iter().chain(&group.children) {
                if lines.contains(&timer.element.line) {
                    self.note(timer, unknown::of(timer));
                }
            }
        }
        if chain.mixed {
            self.note(
                group,
                "the first requests of a round wait by different laws; here by a gamma law of their mean and variance",
            );
        }
        if chain.bent() {
            self.note(
                group,
                "some waits are sums of timers that have no name; here gamma laws of the same mean and variance",
            );
        }
        if plan.element.text_of("TestPlan.serialize_threadgroups") == "true" && self.groups > 1 {
            self.note(
                plan,
                "its thread groups run one after another; here each is a workload of its own, to be run in this order",
            );
        }
        let (arrivals, duration) = self.arrivals(group, &chain, throttle);
        Ok(Some(self.plan(group, name, url, &chain, arrivals, duration)))
    }

    /// The server that is asked most, and which requests go to it; the others are noted.
    fn server(&mut self, walk: &Walk) -> Result<(Url, Vec<bool>), Error> {
        let mut times = vec![0; self.asked.len()];
        walk.asked().into_iter().for_each(|at| times[at] += 1);
        let goals = self.asked.iter().zip(&times).map(|(asked, times)| Goal {
            server: &asked.server,
            line: asked.line,
            element: &asked.element,
            times: *times,
        });
        let Chosen { url, kept, notes } = choose(goals, None, self.file)?;
        self.notes.extend(notes);
        Ok((url, kept))
    }

    fn plan(
        mut self,
        group: &Node,
        name: String,
        url: Url,
        chain: &Chain,
        arrivals: Arrivals,
        duration: offered_model::Nanos,
    ) -> Plan {
        // Samplers that ask the same under the same name are one request.
        let mut requests: Vec<Request> = Vec::new();
        let mut names: Vec<String> = vec![String::new(); self.asked.len()];
        let used = chain.requests();
        for at in &used {
            let asked = &self.asked[*at];
            let wanted = if asked.name.is_empty() { asked.path.shown() } else { asked.name.clone() };
            let request = Request {
                headers: asked.headers.clone(),
                body: asked.body.clone(),
                auth: asked.auth.clone(),
                extract: asked.extract.clone(),
                check: asked.check.clone(),
                ..Request::new(&asked.method, asked.path.clone())
            };
            let like = |other: &&Request| {
                let plain = other.name.rsplit_once(" (").map_or(other.name.as_str(), |(plain, _)| plain);
                (plain == wanted || other.name == wanted)
                    && **other == Request { name: other.name.clone(), ..request.clone() }
            };
            if let Some(request) = requests.iter().find(like) {
                names[*at].clone_from(&request.name);
                continue;
            }
            let name = unlike(&wanted, |name| requests.iter().any(|request| request.name == name));
            names[*at].clone_from(&name);
            requests.push(Request { name, ..request });
        }
        let flows = match chain.weights(self.asked.len()) {
            Some(weights) => {
                for request in &mut requests {
                    let all = names.iter().zip(&weights).filter(|(name, _)| **name == request.name);
                    request.weight = all.map(|(_, weight)| weight).sum();
                }
                let least = requests.iter().map(|request| request.weight).fold(f64::INFINITY, f64::min);
                for request in &mut requests {
                    request.weight /= least;
                }
                Vec::new()
            }
            None => chain.flows(&name, &names),
        };
        let first = used.iter().map(|at| &self.asked[*at]);
        let longest = |time: fn(&Asked) -> Option<offered_model::Nanos>| first.clone().filter_map(time).max();
        let follow = first.clone().filter(|asked| asked.follows).count();
        let keepalive = first.clone().any(|asked| asked.keepalive);
        let mut target = Target::new(url)
            .with_reuse(if keepalive { Reuse::PerSession } else { Reuse::Fresh })
            .with_cookies(first.clone().any(|asked| asked.cookies))
            .with_redirects(if follow > 0 { REDIRECTS } else { 0 });
        if let Some(time) = longest(|asked| asked.connect_timeout) {
            target = target.with_connect_timeout(time);
        }
        if let Some(time) = longest(|asked| asked.response_timeout) {
            target = target.with_response_timeout(time);
        }
        if let Some(auth) = requests[0].auth.clone()
            && requests.iter().all(|request| request.auth.as_ref() == Some(&auth))
        {
            for request in &mut requests {
                request.auth = None;
            }
            target = target.with_auth(Some(auth));
        }
        let variables = self.variables.written.clone();
        let origin = format!("JMeter thread group `{}`", group.name());
        if 0 < follow && follow < used.len() {
            self.note(group, "some of its requests follow redirects and some do not; here all do");
        }
        if target.url().secure {
            self.note(group, "takes any certificate, as JMeter does; here the server's must be good, or write tls = { insecure = true }");
        }
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(self.variables.notes.iter().cloned());
        let when = group::when(group);
        let mut plan = Plan {
            name,
            origin,
            when,
            duration,
            count: None,
            arrivals,
            target,
            variables,
            requests,
            flows,
            remark: None,
            notes,
        };
        names::settle(&mut plan, group.element.line, |name| format!("${{{name}}}"));
        plan
    }
}
