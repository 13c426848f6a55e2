//! Reads test plans of Apache `JMeter` (.jmx), including the thread groups of the jp@gc and `BlazeMeter` plugins.
//!
//! `JMeter` waits *before* a sampler for the sum of all timers in its scope: siblings of the sampler and of its parent
//! controllers, and its children. [`crate::chain`] moves the wait after the preceding request. Sources: the `JMeter`
//! 5.6 user manual, "Scoping Rules" and "Component Reference", and `JMeter`'s source code.

mod arguments;
mod auth;
mod comparison;
mod computed;
mod condition;
mod controller;
mod csv_data;
mod functions;
mod group;
mod include;
mod node;
mod once;
mod response;
mod sampler;
mod stages;
mod target;
mod template;
mod timer;
mod tree;
mod untranslated;
mod variables;

use std::collections::BTreeMap;

use offered_base::Nanos;
use offered_workload::Url;
use offered_workload::script::OnFailure;

use controller::Scope;
use group::{GroupKind, Load, Throttle};
use node::Node;
use once::Chains;
use sampler::SamplerRequest;
use tree::Element;
use variables::Variables;

use crate::action::Action;
use crate::address::targets_at;
use crate::chain::{Chain, MAX_STEPS};
use crate::distinct_requests::DistinctRequests;
use crate::initial_values;
use crate::note::Note;
use crate::plan::{Phase, Plan, Request};
use crate::text::Text;
use crate::unique_names::UniqueNames;
use crate::{Error, ImportOptions};

/// Maximum number of thread groups.
const MAX_GROUPS: usize = 100;

/// Translates one thread group.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the group")]
struct Reader<'e, 'g> {
    file: &'e str,
    plan: &'e Node<'e>,
    /// Number of thread groups that generate load (no setUp and tearDown groups).
    groups: usize,
    variables: &'e mut Variables<'g>,
    notes: Vec<Note>,
    requests: Vec<SamplerRequest>,
    /// Whether each thread runs a single iteration.
    single_round: bool,
    /// What a thread does after a failed request.
    on_failure: OnFailure,
    /// Whether a thread is the same user in its next iteration.
    same_user: bool,
    /// The note that users keep their cookies, if the plan clears cookies at each iteration.
    clears_cookies: Option<Note>,
    /// Whether other requests use values of requests that a thread sends once.
    once_is_used: bool,
    /// Whether a thread sends requests once.
    has_once: bool,
    /// Whether the nearest controller is a finite loop.
    in_loop: bool,
    /// Number of passes through lists so far; limited, because nested controllers could make too many passes.
    passes: usize,
    /// Lines of the throughput timers that control the whole group.
    throttles: Vec<usize>,
    /// Nesting depth of module controllers.
    module_depth: usize,
    /// Lines of the elements that module controllers refer to.
    module_targets: Vec<usize>,
}

/// Reads the plans in `text`, the content of `file`: one for each thread group.
pub(crate) fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Vec<Plan>, Error> {
    let mut tree = tree::read(text, file)?;
    let refused = |message: &str| Error::File { file: file.to_owned(), message: message.to_owned() };
    if tree.tag != "jmeterTestPlan" {
        return Err(refused(&format!(
            "the root element is <{}>; expected <jmeterTestPlan>: save the whole test plan in JMeter",
            tree.tag
        )));
    }
    include::expand(&mut tree, options.read_include);
    let top: Vec<Node> =
        tree.children.iter().filter(|child| child.tag == "hashTree").flat_map(Node::from_hash_tree).collect();
    let Some(plan) = top.iter().find(|node| node.class() == "TestPlan") else {
        return Err(refused(
            "no enabled <TestPlan> element found: the file is only a part of a plan; merge it into a plan in JMeter and save the plan",
        ));
    };
    let runs = |node: &&Node| group::kind(node).is_some();
    let loads = |node: &&Node| group::phase(node) == Phase::Load;
    let groups = plan.children.iter().filter(runs).filter(loads).count();
    let mut variables = Variables::new(*options);
    variables.groups = groups;
    variables.apply_preset();
    for node in &top {
        variables.collect(node, None);
    }
    for node in &top {
        variables.collect_extracted(node);
    }
    variables.apply_preset();
    if plan.children.iter().filter(runs).count() > MAX_GROUPS {
        return Err(refused(&format!("more than {MAX_GROUPS} thread groups")));
    }
    let (mut plans, mut plan_names) = (Vec::new(), UniqueNames::default());
    let mut idle: Vec<Note> = Vec::new();
    for group in plan.children.iter().filter(runs) {
        let name = plan_names.take(group.name());
        let reader = Reader {
            file,
            plan,
            groups,
            variables: &mut variables,
            notes: Vec::new(),
            requests: Vec::new(),
            single_round: false,
            on_failure: group::on_failure(group),
            same_user: group.element.text_of("ThreadGroup.same_user_on_next_iteration") != "false",
            clears_cookies: None,
            once_is_used: false,
            has_once: false,
            in_loop: false,
            passes: 0,
            throttles: Vec::new(),
            module_depth: 0,
            module_targets: Vec::new(),
        };
        match reader.group(group, name)? {
            Some(plan) => plans.push(plan),
            None => idle.push(note(group, "sends no HTTP requests; left out".to_owned())),
        }
    }
    let outside = outside_notes(&variables);
    // The load comes first.
    plans.sort_by_key(|plan| plan.phase != Phase::Load);
    for plan in &mut plans {
        plan.notes.extend(idle.iter().chain(&outside).cloned());
        plan.notes.sort();
        plan.notes.dedup();
        plan.notes.sort_by_key(|note| note.line);
    }
    if plans.is_empty() {
        return Err(refused(&no_requests(&tree, &top)));
    }
    Ok(plans)
}

/// Adds notes on properties and variables that the user may want to set.
fn outside_notes(variables: &Variables) -> Vec<Note> {
    let note = |message: String| Note { line: 0, element: String::new(), message };
    let mut notes = Vec::new();
    if !variables.undefined_properties.is_empty() {
        let each: Vec<String> =
            variables.undefined_properties.iter().map(|(name, value)| format!("{name} = `{value}`")).collect();
        notes.push(note(format!("properties without a value, and the defaults used: {}", each.join(", "))));
    }
    for (call, value) in &variables.drawn_once {
        notes.push(note(format!(
            "`${{{call}}}` in a user-defined variable is evaluated once at the start of the test; here it is `{value}` in every run"
        )));
    }
    notes
}

/// The reason why no thread group sends HTTP requests, and the next step.
fn no_requests(tree: &Element, top: &[Node]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for node in top {
        count(node, &mut kinds);
    }
    let http = kinds.keys().any(|kind| sampler::is_http(kind));
    let kinds: Vec<String> = kinds.iter().map(|(kind, times)| format!("{times} {kind}")).collect();
    let has = if kinds.is_empty() { String::new() } else { format!(" (samplers: {})", kinds.join(", ")) };
    let mut groups = Vec::new();
    thread_groups(tree, &mut groups);
    let named = |groups: Vec<&&Element>| {
        let names = groups.iter().map(|group| format!("`{}` (line {})", group.attribute("testname"), group.line));
        names.take(5).collect::<Vec<_>>().join(", ")
    };
    let (disabled, enabled): (Vec<&&Element>, Vec<&&Element>) =
        groups.iter().partition(|group| group.attribute("enabled") == "false");
    let unknown: Vec<_> = enabled.into_iter().filter(|group| !group::is_known(group.class())).collect();
    let unread = tree.find(&|element| !element.attribute("unread").is_empty());
    let why = match (unknown.first(), unread, disabled.is_empty()) {
        (Some(group), ..) => {
            format!(
                "{} of class {} is not a known kind of thread group; use another kind, for example a Thread Group",
                named(vec![group]),
                group.class()
            )
        }
        (None, Some(include), _) => {
            format!("line {} {}: {}", include.line, include.class(), include.attribute("unread"))
        }
        (None, None, false) => {
            format!("disabled: {}; set enabled=\"true\" there, or enable it in JMeter", named(disabled))
        }
        (None, None, true) if groups.is_empty() => {
            "the file has no thread group, only parts of a plan; merge it into a plan in JMeter and save the plan"
                .to_owned()
        }
        (None, None, true) if http => {
            "the HTTP requests are in elements that never run, such as a test fragment; move them into a thread group"
                .to_owned()
        }
        (None, None, true) if kinds.is_empty() => {
            "the file has no samplers; add or record HTTP requests in JMeter".to_owned()
        }
        (None, None, true) => {
            "only HTTP requests are translated; write a workload instead: `offered init URL` makes a first one"
                .to_owned()
        }
    };
    format!("no enabled thread group with an HTTP request found{has}; {why}")
}

/// The thread groups in the file, known or not, enabled or not.
fn thread_groups<'e>(element: &'e Element, groups: &mut Vec<&'e Element>) {
    if element.tag.ends_with("ThreadGroup") {
        groups.push(element);
    }
    element.children.iter().for_each(|child| thread_groups(child, groups));
}

/// Counts the samplers under `node` by class.
fn count<'e>(node: &Node<'e>, kinds: &mut BTreeMap<&'e str, usize>) {
    if controller::is_sampler(node.class()) && !tree::is_controller(node.class()) {
        *kinds.entry(node.class()).or_default() += 1;
    }
    node.children.iter().for_each(|child| count(child, kinds));
}

fn note(node: &Node, message: String) -> Note {
    let name = if node.name().is_empty() { String::new() } else { format!(" `{}`", node.name()) };
    Note { line: node.element.line, element: format!("{}{name}", node.class()), message }
}

/// Text that tells how to set the value of a reference that has none.
fn fix_of(unknown: &str) -> String {
    let name = unknown.trim_start_matches("${").trim_end_matches('}');
    match name.starts_with("__") {
        true => "replace it in the plan".to_owned(),
        false => format!("import again with --set {name}=VALUE"),
    }
}

impl<'e> Reader<'e, '_> {
    fn note(&mut self, node: &Node, message: impl Into<String>) {
        self.notes.push(note(node, message.into()));
    }

    /// Substitutes the variables in `text` of `node`; notes variables without a value.
    fn resolve(&mut self, node: &Node, text: &str) -> Text {
        let (resolved, unknown) = self.variables.resolve(text);
        for unknown in unknown {
            let fix = fix_of(&unknown);
            self.note(node, format!("`{unknown}` has no known value and is sent unchanged; {fix}"));
        }
        resolved
    }

    /// Reads a numeric property; `otherwise` if it is missing or not a number.
    fn number(&mut self, node: &Node, property: &str, otherwise: f64) -> f64 {
        let text = node.element.text_of(property).trim();
        if text.is_empty() {
            return otherwise;
        }
        let (resolved, unknown) = self.variables.resolve(text);
        match resolved.to_display().trim().parse::<f64>() {
            Ok(number) if number.is_finite() => number,
            _ => {
                let fix = unknown.first().map_or_else(String::new, |unknown| format!("; {}", fix_of(unknown)));
                self.note(node, format!("`{property}` is `{text}`, which is not a number; {otherwise} is used{fix}"));
                otherwise
            }
        }
    }

    /// Whether the thread groups run one after another.
    fn is_serial(&self) -> bool {
        self.plan.element.text_of("TestPlan.serialize_threadgroups") == "true" && self.groups > 1
    }

    /// Translates `group`; `None` if it sends no requests.
    fn group(mut self, group: &Node<'e>, name: String) -> Result<Option<Plan>, Error> {
        let plan = self.plan;
        let outer = self.scope(&plan.children, &Scope::default());
        let threads = group::kind(group) == Some(GroupKind::Threads);
        self.single_round = !threads || self.loops_of(group) == 1.0;
        let mut throttle: Option<Throttle> = None;
        for timer in plan.children.iter().chain(&group.children) {
            if let Some(found) = self.throttle(timer).filter(|_| threads) {
                throttle = Some(found);
                self.throttles.push(timer.element.line);
            }
        }
        let action = Action::Sequence(self.actions(&group.children, &outer));
        let too_long = || Error::Line {
            file: self.file.to_owned(),
            line: group.element.line,
            message: format!(
                "thread group `{name}` expands to more steps than a workload can have; reduce its loops or simplify its controllers"
            ),
        };
        if self.requests.len() > MAX_STEPS {
            return Err(too_long());
        }
        let urls = self.choose_targets(&action)?;
        let action = action.retain_requests(&|request| self.requests[request].target.is_some());
        let iterates = threads && !self.single_round;
        let mut chains = self.chains(group, action, iterates, &mut throttle).map_err(|_| too_long())?;
        let dropped: Vec<_> = chains.all().flat_map(Chain::drop_first_conditions).collect();
        if !dropped.iter().all(|condition| self.single_round && self.holds_at_start(condition)) {
            self.note(group, "begins an iteration with a condition, which a workload cannot examine before the first request; here it always holds");
        }
        if chains.requests.is_empty() {
            return Ok(None);
        }
        self.note_beside(group);
        if throttle.is_none() {
            let lines = std::mem::take(&mut self.throttles);
            for timer in plan.children.iter().chain(&group.children) {
                if lines.contains(&timer.element.line) {
                    self.note(timer, untranslated::note(timer));
                }
            }
        }
        self.note_waits(group, &mut chains);
        if self.is_serial() {
            self.note(
                plan,
                "runs its thread groups one after another: in one workload, each starts at the end of the previous one's duration; if you import separate workloads, run them in this order",
            );
        }
        self.has_once = chains.once.is_some();
        let load = self.arrivals(group, &chains.each, throttle);
        Ok(Some(self.plan(group, name, urls, &chains, load)))
    }

    /// Notes waits that are approximated.
    fn note_waits(&mut self, group: &Node<'e>, chains: &mut Chains) {
        if chains.each.is_mixture {
            self.note(
                group,
                "the waits before the first requests of an iteration have different distributions; replaced by a gamma distribution with the same mean and variance",
            );
        }
        if chains.all().any(|chain| chain.is_approximate()) {
            self.note(
                group,
                "some waits are sums of timers without a standard distribution; replaced by gamma distributions with the same mean and variance",
            );
        }
        if chains.all().any(|chain| chain.has_conditional_wait()) {
            self.note(group, "has different waits before and after requests with a condition; here, if such a request is not sent, the user makes the wait before the request instead of the wait after it");
        }
    }

    /// Notes the elements beside `group`.
    fn note_beside(&mut self, group: &Node<'e>) {
        let plan = self.plan;
        for node in &plan.children {
            match group::kind(node) {
                Some(_) if group::phase(node) == group::phase(group) => {}
                Some(_) => {
                    let when = match group::phase(node) {
                        Phase::Setup => "before the load",
                        Phase::Teardown => "after the load",
                        Phase::Load => "as the load",
                    };
                    self.note(node, format!("runs {when}; translated as a separate workload"));
                }
                None if self.module_targets.contains(&node.element.line) => {}
                None => self.note_untranslated(node),
            }
        }
    }

    /// The requests of the samplers `used`, and the name of each sampler's request. Equal samplers with the same name become one
    /// request.
    fn distinct_requests(&self, used: &[usize]) -> (Vec<Request>, Vec<String>) {
        let follow = used.iter().any(|at| self.requests[*at].follows);
        let mut requests = DistinctRequests::default();
        let mut names: Vec<String> = vec![String::new(); self.requests.len()];
        for at in used {
            let sampler = &self.requests[*at];
            let request = Request {
                name: if sampler.name.is_empty() { sampler.path.to_display() } else { sampler.name.clone() },
                target: sampler.target.unwrap_or_default(),
                redirects: (follow && !sampler.follows).then_some(0),
                headers: sampler.headers.clone(),
                body: sampler.body.clone(),
                auth: sampler.auth.clone(),
                extract: sampler.extract.clone(),
                check: sampler.check.clone(),
                on_failure: self.on_failure,
                ..Request::new(&sampler.method, sampler.path.clone())
            };
            names[*at] = requests.find_or_add(request);
        }
        (requests.into_requests(), names)
    }

    fn plan(
        mut self,
        group: &Node<'e>,
        name: String,
        urls: Vec<Url>,
        chains: &Chains,
        Load { arrivals, duration, count }: Load,
    ) -> Plan {
        let used = &chains.requests;
        let (mut requests, names) = self.distinct_requests(used);
        let usual = chains.each.initial_wait.distribution().0;
        let once = chains.once.as_ref().and_then(|once| once.flows("once.start", &names, &usual).pop());
        let weights = chains.each.weights(self.requests.len()).filter(|_| once.is_none());
        let flows = match weights {
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
            None => chains.each.flows(&name, &names, &usual),
        };
        let (mut target, more_targets) = targets_at(&self.target(group, &urls, used), &urls);
        if let Some(auth) = requests[0].auth.clone()
            && more_targets.is_empty()
            && requests.iter().all(|request| request.auth.as_ref() == Some(&auth))
        {
            for request in &mut requests {
                request.auth = None;
            }
            target = target.with_auth(Some(auth));
        }
        let variables = self.variables.definitions.clone();
        let origin = format!("JMeter thread group `{}`", group.name());
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(self.variables.notes.iter().cloned());
        let phase = group::phase(group);
        let mut plan = Plan {
            name,
            origin,
            thresholds: Vec::new(),
            start: Nanos::ZERO,
            phase,
            serial: self.is_serial(),
            duration,
            count,
            arrivals,
            target,
            more_targets,
            variables,
            requests,
            flows,
            once,
            remark: None,
            notes,
        };
        initial_values::ensure_initial_values(&mut plan, group.element.line, |name| format!("${{{name}}}"));
        plan
    }
}
