//! Controllers: in what order the samplers under them are asked.

use super::Reader;
use super::node::Node;
use super::sampler::Defaults;
use super::{functions, untranslated};
use crate::chain::{Action, MAX_STEPS};
use crate::delay::Delay;

/// What holds for the samplers of one place of the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope<'e> {
    pub(super) defaults: Defaults<'e>,
    pub(super) before: Delay,
}

/// Module controllers within what module controllers name, at most.
const MAX_NESTED_MODULES: usize = 8;

/// What `offered plan emulate --for jmeter` writes to choose a request by weight.
const WEIGHTED_CHOICE: &str = "${__groovy(def r = java.util.concurrent.ThreadLocalRandom.current().nextDouble(); ";

impl<'e> Reader<'e, '_> {
    /// The scope under `scope` where `nodes` stand.
    pub(super) fn scope(&mut self, nodes: &[Node<'e>], scope: &Scope<'e>) -> Scope<'e> {
        let mut scope = scope.clone();
        for node in nodes {
            self.variables.enter(node.element.line);
            match node.class() {
                "ConfigTestElement" if node.element.attribute("guiclass").ends_with("HttpDefaultsGui") => {
                    scope.defaults.requests.push(node.element);
                }
                "HeaderManager" => self.headers(node, &mut scope.defaults.headers),
                "CookieManager" => scope.defaults.cookies = true,
                "AuthManager" => self.logins(node, &mut scope.defaults.logins),
                class if class.ends_with("Extractor") || class == "JSONPostProcessor" => {
                    for one in self.extractor(node).into_iter().flatten() {
                        // The nearer to the sampler is asked later, and its value stays.
                        scope.defaults.extract.retain(|other| other.name != one.name);
                        scope.defaults.extract.push(one);
                    }
                }
                class if class.ends_with("Assertion") => {
                    let checks = self.assertion(node);
                    scope.defaults.check.extend(checks.into_iter().flatten());
                }
                _ => {
                    if let Some(delay) = self.timer(node) {
                        scope.before = scope.before.plus(&delay);
                    }
                }
            }
        }
        scope
    }

    /// What the samplers and controllers among `nodes`, the children of a place, do there; the rest is noted.
    pub(super) fn actions(&mut self, nodes: &[Node<'e>], scope: &Scope<'e>) -> Vec<Action> {
        let scope = self.scope(nodes, scope);
        nodes.iter().filter_map(|node| self.action(node, &scope)).collect()
    }

    fn action(&mut self, node: &Node<'e>, scope: &Scope<'e>) -> Option<Action> {
        let class = node.class();
        match class {
            "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
                if self.requests.len() > MAX_STEPS {
                    return None; // the group is refused
                }
                let inner = self.scope(&node.children, scope);
                self.variables.enter(0);
                let request = self.sampler(node, &inner.defaults);
                for child in &node.children {
                    self.note_untranslated(child);
                }
                self.requests.push(request);
                Some(Action::Request(self.requests.len() - 1, inner.before))
            }
            "ModuleController" => self.module(node, scope),
            // It is only done where a module controller names it.
            "TestFragmentController" => None,
            "IncludeController" => {
                let why = node.element.attribute("unread");
                if !why.is_empty() {
                    let file = node.element.text_of("IncludeController.includepath");
                    self.note(node, format!("would do what stands in `{file}`, which is not read: {why}"));
                }
                Some(Action::Sequence(self.actions(&node.children, scope)))
            }
            "TestAction" => {
                let before = self.scope(&node.children, scope).before;
                for child in &node.children {
                    self.note_untranslated(child);
                }
                let pause = match node.element.text_of("ActionProcessor.action") {
                    "1" => Delay::constant(self.number(node, "ActionProcessor.duration", 0.0) / 1e3),
                    _ => {
                        self.note(node, "would stop a thread, the test or a round; sessions go on");
                        Delay::default()
                    }
                };
                Some(Action::Pause(before.plus(&pause)))
            }
            _ if is_controller(class) => {
                // A repetition that can be written out has a first time.
                let loops = || node.element.text_of("LoopController.loops").trim() != "-1";
                let in_loop = class == "LoopController" && loops();
                let before = std::mem::replace(&mut self.in_loop, in_loop);
                let actions = self.actions(&node.children, scope);
                self.in_loop = before;
                self.controller(node, actions)
            }
            _ if is_sampler(class) => {
                let before = self.scope(&node.children, scope).before;
                self.note(node, untranslated::describe(node));
                for child in &node.children {
                    self.note_untranslated(child);
                }
                Some(Action::Pause(before))
            }
            _ => {
                self.note_untranslated(node);
                None
            }
        }
    }

    /// What stands elsewhere, at the end of a path of names.
    fn module(&mut self, node: &Node<'e>, scope: &Scope<'e>) -> Option<Action> {
        let path = node.element.entries("ModuleController.node_path");
        let path: Vec<&str> = path.iter().map(|name| name.text.as_str()).collect();
        // The first names are those of the tree and of the plan.
        let plan = self.plan;
        let found = (1..path.len().min(4)).find_map(|from| find(&plan.children, &path[from..]));
        let Some(found) = found.filter(|_| self.module_depth < MAX_NESTED_MODULES) else {
            self.note(node, format!("would do what stands under `{}`, which is not there", path.join(" / ")));
            return None;
        };
        self.module_depth += 1;
        self.module_targets.push(found.element.line);
        let actions = self.actions(&found.children, scope);
        self.module_depth -= 1;
        match found.class() {
            "TestFragmentController" => Some(Action::Sequence(actions)),
            _ => self.controller(found, actions),
        }
    }

    /// How the actions under a controller are taken.
    fn controller(&mut self, node: &Node<'e>, actions: Vec<Action>) -> Option<Action> {
        let equally = |actions: Vec<Action>| Action::Choice(actions.into_iter().map(|action| (1.0, action)).collect());
        if actions.is_empty() {
            return None;
        }
        Some(match node.class() {
            "GenericController" | "TransactionController" | "RecordingController" => Action::Sequence(actions),
            "LoopController" => self.loop_controller(node, Action::Sequence(actions)),
            "RandomController" => equally(actions),
            "InterleaveControl" => {
                self.note(node, "takes what is under it in turn; here one at random, each as often");
                equally(actions)
            }
            "RandomOrderController" => {
                self.note(node, "takes what is under it in a random order; here in the order of the file");
                Action::Sequence(actions)
            }
            "ThroughputController" => self.throughput_controller(node, Action::Sequence(actions)),
            "SwitchController" => self.switch_controller(node, actions)?,
            // The nearest controller is a loop: the first time of that.
            "OnceOnlyController" if self.in_loop => Action::FirstPass(Box::new(Action::Sequence(actions))),
            "OnceOnlyController" if self.single_round => Action::Sequence(actions),
            "OnceOnlyController" => {
                self.note(node, "asked once by each thread at its start; left out, for it is none of the load after");
                return None;
            }
            class => {
                let condition = ["IfController.condition", "WhileController.condition", "ForeachController.inputVal"];
                if class == "IfController"
                    && let Some(always) = self.constant_condition(node)
                {
                    return always.then_some(Action::Sequence(actions));
                }
                let seconds = node.element.text_of("RunTime.seconds");
                let said = condition.iter().map(|name| node.element.text_of(name)).find(|text| !text.is_empty());
                let said = said.map_or_else(String::new, |said| format!(" (`{said}`)"));
                self.note(
                    node,
                    match class {
                        "IfController" => format!("what is under it only if its condition holds{said}; here always"),
                        "WhileController" => format!("what is under it while its condition holds{said}; here once"),
                        "RunTime" => format!("what is under it again and again for {seconds} s; here once"),
                        "ForeachController" => format!("what is under it for each of some values{said}; here once"),
                        _ => format!("{}; what is under it is asked once", untranslated::describe(node)),
                    },
                );
                Action::Sequence(actions)
            }
        })
    }

    /// What the condition of an if controller is, where that does not depend on anything: a truth, or an expression of which one
    /// comes.
    fn constant_condition(&mut self, node: &Node<'e>) -> Option<bool> {
        let condition = node.element.text_of("IfController.condition").trim();
        let (said, unknown) = self.variables.resolve(condition);
        let said = said.as_literal().filter(|_| unknown.is_empty())?.trim().to_owned();
        let whole = node.element.text_of("IfController.useExpression") == "true";
        // JMeter takes anything but `true` for not.
        if whole {
            Some(said.eq_ignore_ascii_case("true"))
        } else {
            functions::evaluate_expression(&said)?.parse().ok()
        }
    }

    fn loop_controller(&mut self, node: &Node<'e>, action: Action) -> Action {
        let loops = self.number(node, "LoopController.loops", 1.0);
        if loops < 0.0 {
            self.note(node, "repeats for ever; here once, and then the whole round begins again");
            return action;
        }
        // One request is repeated as it is; several are written out.
        let single = action.requests().len() == 1 && matches!(&action, Action::Sequence(actions) if actions.len() == 1);
        let most = if single { 60_000 } else { (MAX_STEPS / 2 / action.size().max(1)).max(1) };
        let times = (loops as u32).min(most as u32);
        if f64::from(times) < loops {
            self.note(
                node,
                format!("repeats {loops} times; here {times} times, which is the longest that is written out"),
            );
        }
        let inner = match action {
            Action::Sequence(mut actions) if single => actions.remove(0),
            action => action,
        };
        Action::Repeat(times, Box::new(inner))
    }

    fn throughput_controller(&mut self, node: &Node<'e>, action: Action) -> Action {
        if node.element.text_of("ThroughputController.style") != "1" {
            self.note(node, "what is under it only so many times in all; here in every round");
            return action;
        }
        let percent = self.number(node, "ThroughputController.percentThroughput", 100.0).clamp(0.0, 100.0);
        if percent == 0.0 {
            let said = node.element.text_of("ThroughputController.percentThroughput");
            self.note(node, format!("its share of the rounds, `{said}`, is 0 %: what is under it is never asked"));
            return Action::Sequence(Vec::new());
        }
        self.note(node, "takes its share of the rounds evenly spread; here at random, as often");
        Action::Choice(vec![(percent, action), (100.0 - percent, Action::Sequence(Vec::new()))])
    }

    /// One of those under it, by number or by name.
    fn switch_controller(&mut self, node: &Node<'e>, actions: Vec<Action>) -> Option<Action> {
        let said = node.element.text_of("SwitchController.value");
        if let Some(shares) = said.strip_prefix(WEIGHTED_CHOICE).and_then(|said| said.strip_suffix(")}")) {
            let mut upto = 0.0;
            let mut weights: Vec<f64> = Vec::new();
            for share in shares.split("r < ").filter_map(|part| part.split(' ').next()?.parse::<f64>().ok()) {
                weights.push(share - upto);
                upto = share;
            }
            weights.push(1.0 - upto);
            return Some(Action::Choice(weights.into_iter().zip(actions).collect()));
        }
        let children: Vec<&Node> = node.children.iter().filter(|child| is_selectable(child.class())).collect();
        let equally =
            |actions: Vec<Action>| Some(Action::Choice(actions.into_iter().map(|action| (1.0, action)).collect()));
        if children.len() != actions.len() {
            self.note(node, format!("one of those under it, by `{said}`; here one at random"));
            return equally(actions);
        }
        let number = |value: &str| {
            let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            // A number beyond the last is the first.
            digits.then(|| value.parse().ok().filter(|at| *at < children.len()).unwrap_or(0))
        };
        let (value, unknown) = self.variables.resolve(said.trim());
        if let Some(value) = value.as_literal().filter(|_| unknown.is_empty()).map(str::trim) {
            let named = |wanted: &str| children.iter().position(|child| child.name() == wanted);
            let otherwise = || children.iter().position(|child| child.name().eq_ignore_ascii_case("default"));
            let at = if value.is_empty() { Some(0) } else { number(value).or_else(|| named(value)).or_else(otherwise) };
            // A name that none of them has chooses none.
            return at.and_then(|at| actions.into_iter().nth(at));
        }
        if let Some((low, high)) = self.variables.integer_range(&value) {
            self.note(node, format!("one of those under it, by `{said}`; here drawn for itself, each as often, whatever number stands elsewhere"));
            let mut weights = vec![0.0; actions.len()];
            let last = actions.len() as i64 - 1;
            for (at, weight) in weights.iter_mut().enumerate() {
                *weight = f64::from(u8::from((low..=high).contains(&(at as i64))));
            }
            weights[0] += (high - low.max(last + 1) + 1).max(0) as f64;
            return Some(Action::Choice(weights.into_iter().zip(actions).collect()));
        }
        self.note(node, format!("one of those under it, by `{said}`; here one at random"));
        equally(actions)
    }

    /// Notes what is neither sampler nor controller, with all under it.
    pub(super) fn note_untranslated(&mut self, node: &Node<'e>) {
        let translated = match node.class() {
            "ConfigTestElement" => node.element.attribute("guiclass").ends_with("HttpDefaultsGui"),
            "HeaderManager" | "Arguments" | "ConstantTimer" | "UniformRandomTimer" => true,
            "GaussianRandomTimer" | "PoissonRandomTimer" => true,
            "JSR223Timer" => self.timer(node).is_some(),
            "CookieManager" => {
                self.note_cookies(node);
                true
            }
            "AuthManager" => {
                self.note_other_logins(node);
                true
            }
            // Told of where the variables are collected.
            "CSVDataSet" | "RandomCSVDataSetConfig" | "CounterConfig" | "RandomVariableConfig" => true,
            class if class.ends_with("Extractor") || class == "JSONPostProcessor" => self.extractor(node).is_some(),
            class if class.ends_with("Assertion") => self.assertion(node).is_some(),
            // These are told of where it is known whether they rule their group.
            "ConstantThroughputTimer" | "PreciseThroughputTimer" => self.throttles.contains(&node.element.line),
            _ => false,
        };
        if !translated {
            self.note(node, untranslated::describe(node));
        }
        for child in &node.children {
            self.note_untranslated(child);
        }
    }
}

/// The node at the end of a path of names.
fn find<'n, 'e>(nodes: &'n [Node<'e>], path: &[&str]) -> Option<&'n Node<'e>> {
    let (first, rest) = path.split_first()?;
    let mut named = nodes.iter().filter(|node| node.name() == *first);
    if rest.is_empty() { named.next() } else { named.find_map(|node| find(&node.children, rest)) }
}

/// Samplers that ask no web server; their timers are waited for all the same.
pub(super) fn is_sampler(class: &str) -> bool {
    class.ends_with("Sampler") || class.ends_with("SamplerProxy") || class.ends_with("Request")
}

fn is_selectable(class: &str) -> bool {
    is_sampler(class) || class == "HTTPSampler2" || class == "TestAction" || is_controller(class)
}

/// Controllers; not all are called so.
pub(super) fn is_controller(class: &str) -> bool {
    class.ends_with("Controller") || ["InterleaveControl", "RunTime"].contains(&class)
}
