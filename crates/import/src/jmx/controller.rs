//! Logic controllers: the order of samplers.

use super::Reader;
use super::node::Node;
use super::sampler::{self, Defaults};
use super::tree::{Element, is_controller, is_transparent};
use super::variables::EXTRACTOR_NAMES;
use super::{functions, untranslated};
use crate::action::Action;
use crate::chain::MAX_STEPS;
use crate::delay::Delay;

/// Settings that apply to the samplers at one position of the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope<'e> {
    pub(super) defaults: Defaults<'e>,
    pub(super) before: Delay,
}

/// Maximum nesting depth of module controllers.
const MAX_NESTED_MODULES: usize = 8;

/// Maximum number of requests in all passes of a loop without choices.
const MAX_LOOPED_REQUESTS: usize = 20_000;

/// Expression that `offered plan emulate --for jmeter` writes to choose a request by weight.
const WEIGHTED_CHOICE: &str = "${__groovy(def r = java.util.concurrent.ThreadLocalRandom.current().nextDouble(); ";

impl<'e> Reader<'e, '_> {
    /// Extends `scope` by the settings among `nodes`.
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
                        // The extractor nearer to the sampler runs later and wins.
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

    /// The actions of the samplers and controllers among `nodes`; notes what is not translated.
    pub(super) fn actions(&mut self, nodes: &[Node<'e>], scope: &Scope<'e>) -> Vec<Action> {
        let scope = self.scope(nodes, scope);
        nodes.iter().filter_map(|node| self.action(node, &scope)).collect()
    }

    fn action(&mut self, node: &Node<'e>, scope: &Scope<'e>) -> Option<Action> {
        let class = node.class();
        if class == "ForeachController"
            && let Some(action) = self.foreach(node, scope)
        {
            return Some(action);
        }
        match class {
            _ if sampler::is_http(class) => {
                if self.requests.len() > MAX_STEPS {
                    return None; // the group is rejected later
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
            // Fragments run only where a module controller refers to them.
            "TestFragmentController" => None,
            "IncludeController" => {
                let why = node.element.attribute("unread");
                if !why.is_empty() {
                    self.note(node, why);
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
                    action => {
                        let what = match (action, node.element.text_of("ActionProcessor.target")) {
                            ("3", _) => "starts the next iteration of the thread",
                            ("4", _) => "starts the next pass of its loop",
                            ("5", _) => "leaves its loop",
                            (_, "2") => "stops the test",
                            _ => "stops the thread",
                        };
                        self.note(node, format!("{what}; here the session continues"));
                        Delay::default()
                    }
                };
                Some(Action::Pause(before.plus(&pause)))
            }
            _ if is_controller(class) => {
                // Only finite loops have a first pass.
                let loops = || node.element.text_of("LoopController.loops").trim() != "-1";
                let in_loop = class == "WhileController" || class == "LoopController" && loops();
                let outside = std::mem::replace(&mut self.in_loop, in_loop);
                let actions = self.actions(&node.children, scope);
                self.in_loop = outside;
                self.controller(node, actions)
            }
            _ if is_sampler(class) => {
                let before = self.scope(&node.children, scope).before;
                self.note(node, untranslated::note(node));
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

    /// Translates a controller that repeats its children for `x_1`, `x_2`, ..., if these are user-defined variables
    /// (`ForeachController.isDone`).
    fn foreach(&mut self, node: &Node<'e>, scope: &Scope<'e>) -> Option<Action> {
        let property = |name: &str| node.element.text_of(&format!("ForeachController.{name}")).trim();
        let separator = if property("useSeparator") == "false" { "" } else { "_" };
        let (input, output) = (format!("{}{separator}", property("inputVal")), property("returnVal"));
        let start = self.number(node, "ForeachController.startIndex", 0.0).max(0.0) as usize;
        let end = self.number(node, "ForeachController.endIndex", MAX_STEPS as f64) as usize;
        let mut all = Vec::new();
        for number in start + 1..=end.min(start + MAX_STEPS) {
            self.passes += 1;
            if self.passes > MAX_STEPS || !self.variables.set_from(output, &format!("{input}{number}")) {
                break;
            }
            all.push(Action::Sequence(self.actions(&node.children, scope)));
        }
        (!all.is_empty()).then_some(Action::Sequence(all))
    }

    /// Translates the element that a module controller refers to by a path of names.
    fn module(&mut self, node: &Node<'e>, scope: &Scope<'e>) -> Option<Action> {
        let path = node.element.entries("ModuleController.node_path");
        let path: Vec<&str> = path.iter().map(|name| name.text.as_str()).collect();
        // The path starts with the names of the tree and of the test plan.
        let plan = self.plan;
        let found = (1..path.len().min(4)).find_map(|from| find(&plan.children, &path[from..]));
        let Some(found) = found.filter(|_| self.module_depth < MAX_NESTED_MODULES) else {
            let message = match path.is_empty() {
                true => "refers to no element; left out".to_owned(),
                false => format!("refers to `{}`, which does not exist; left out", path.join(" / ")),
            };
            self.note(node, message);
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

    /// Combines the actions under a controller.
    fn controller(&mut self, node: &Node<'e>, actions: Vec<Action>) -> Option<Action> {
        let equally = |actions: Vec<Action>| Action::Choice(actions.into_iter().map(|action| (1.0, action)).collect());
        if actions.is_empty() {
            return None;
        }
        Some(match node.class() {
            class if is_transparent(class) => Action::Sequence(actions),
            "LoopController" => self.loop_controller(node, Action::Sequence(actions)),
            "ParallelSampler" => {
                self.note(node, "runs its children at the same time; here they run one after another");
                Action::Sequence(actions)
            }
            "RandomController" => {
                if node.children.iter().any(|child| child.class() == "OnceOnlyController") {
                    self.note(node, "has a once only controller, which JMeter runs the first time that it is chosen; here it runs only if it is chosen in the first iteration");
                }
                equally(actions)
            }
            "InterleaveControl" => {
                self.note(node, "runs its children in turn; here one child is chosen at random with equal probability");
                equally(actions)
            }
            "RandomOrderController" => {
                self.note(node, "runs its children in random order; here they run in file order");
                Action::Sequence(actions)
            }
            "ThroughputController" => self.throughput_controller(node, Action::Sequence(actions)),
            "SwitchController" => self.switch_controller(node, actions)?,
            // OnceOnlyController.iterationStart: its own loop begins it again, other controllers do not.
            "OnceOnlyController" if self.in_loop => Action::FirstPass(Box::new(Action::Sequence(actions))),
            "OnceOnlyController" if self.single_round => Action::FirstEver(Box::new(Action::Sequence(actions))),
            "OnceOnlyController" => {
                self.once_is_used |= used_elsewhere(node, self.plan);
                Action::FirstEver(Box::new(Action::Sequence(actions)))
            }
            class => {
                if class == "IfController"
                    && let Some(always) = self.constant_condition(node)
                {
                    return always.then_some(Action::Sequence(actions));
                }
                if class == "WhileController"
                    && let Some(action) = self.repeated(node, &actions)
                {
                    return Some(action);
                }
                let all = Action::Sequence(actions);
                if class == "IfController"
                    && let Some(action) = self.conditional(node, &all)
                {
                    return Some(action);
                }
                if class == "WhileController"
                    && node.element.text_of("WhileController.condition").trim().eq_ignore_ascii_case("false")
                {
                    return None;
                }
                self.note_simplified(node);
                all
            }
        })
    }

    /// Adds a note that the children of this controller run once in every iteration here.
    fn note_simplified(&mut self, node: &Node<'e>) {
        let condition = ["IfController.condition", "WhileController.condition", "ForeachController.inputVal"];
        let seconds = node.element.text_of("RunTime.seconds");
        let value_text = condition.iter().map(|name| node.element.text_of(name)).find(|text| !text.is_empty());
        let value_text = value_text.map_or_else(String::new, |value_text| format!(" (`{value_text}`)"));
        self.note(
            node,
            match node.class() {
                "IfController" => {
                    format!("runs its children only if a condition holds{value_text}; here they always run")
                }
                "WhileController" => {
                    format!("repeats its children while a condition holds{value_text}; here they run once")
                }
                "RunTime" => format!("repeats its children for {seconds} s; here they run once"),
                "ForeachController" => {
                    format!("repeats its children for each value of a list{value_text}; here they run once")
                }
                _ => format!("{}; here its children run once", untranslated::describe(node)),
            },
        );
    }

    /// Evaluates the condition of an if controller; `None` if it depends on run-time values.
    fn constant_condition(&mut self, node: &Node<'e>) -> Option<bool> {
        let condition = node.element.text_of("IfController.condition").trim();
        let (value_text, unknown) = self.variables.resolve(condition);
        let value_text = value_text.as_literal().filter(|_| unknown.is_empty())?.trim().to_owned();
        let whole = node.element.text_of("IfController.useExpression") == "true";
        // For JMeter, everything but `true` is false.
        if whole {
            Some(value_text.eq_ignore_ascii_case("true"))
        } else {
            functions::evaluate_expression(&value_text)?.parse().ok()
        }
    }

    fn loop_controller(&mut self, node: &Node<'e>, action: Action) -> Action {
        let loops = self.number(node, "LoopController.loops", 1.0);
        if loops < 0.0 {
            self.note(node, "repeats forever; here its children run once, and then the next iteration starts");
            return action;
        }
        // A single request has a repeat count; several requests are a block, or written out if they contain a choice.
        let single = action.requests().len() == 1 && matches!(&action, Action::Sequence(actions) if actions.len() == 1);
        let limit = if action.is_straight() { MAX_LOOPED_REQUESTS } else { MAX_STEPS / 2 };
        let most = if single { 60_000 } else { (limit / action.size().max(1)).max(1) };
        let times = (loops as u32).min(most as u32);
        if f64::from(times) < loops {
            self.note(
                node,
                format!(
                    "repeats {loops} times; here it repeats {times} times, the maximum for a loop of {} steps",
                    action.size()
                ),
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
            self.note(node, "limits the total number of executions of its children; here they run in every iteration");
            return action;
        }
        let percent = self.number(node, "ThroughputController.percentThroughput", 100.0).clamp(0.0, 100.0);
        if percent == 0.0 {
            let value_text = node.element.text_of("ThroughputController.percentThroughput");
            self.note(node, format!("its share of the iterations, `{value_text}`, is 0 %; its children never run"));
            return Action::Sequence(Vec::new());
        }
        self.note(
            node,
            "runs its children in evenly spaced iterations; here they run at random with the same frequency",
        );
        Action::Choice(vec![(percent, action), (100.0 - percent, Action::Sequence(Vec::new()))])
    }

    /// Translates a switch controller, which selects a child by index or name.
    fn switch_controller(&mut self, node: &Node<'e>, actions: Vec<Action>) -> Option<Action> {
        let value_text = node.element.text_of("SwitchController.value");
        if let Some(shares) =
            value_text.strip_prefix(WEIGHTED_CHOICE).and_then(|value_text| value_text.strip_suffix(")}"))
        {
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
            self.note(node, format!("selects a child by `{value_text}`; here a child is chosen at random"));
            return equally(actions);
        }
        let number = |value: &str| {
            let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            // An index out of range selects the first child.
            digits.then(|| value.parse().ok().filter(|at| *at < children.len()).unwrap_or(0))
        };
        let (value, unknown) = self.variables.resolve(value_text.trim());
        if let Some(value) = value.as_literal().filter(|_| unknown.is_empty()).map(str::trim) {
            let named = |wanted: &str| children.iter().position(|child| child.name() == wanted);
            let otherwise = || children.iter().position(|child| child.name().eq_ignore_ascii_case("default"));
            let at = if value.is_empty() { Some(0) } else { number(value).or_else(|| named(value)).or_else(otherwise) };
            // An unknown name selects no child.
            return at.and_then(|at| actions.into_iter().nth(at));
        }
        if let Some((low, high)) = self.variables.integer_range(&value) {
            self.note(
                node,
                format!(
                    "selects a child by `{value_text}`; here an independent random number is drawn with the same range"
                ),
            );
            let mut weights = vec![0.0; actions.len()];
            let last = actions.len() as i64 - 1;
            for (at, weight) in weights.iter_mut().enumerate() {
                *weight = f64::from(u8::from((low..=high).contains(&(at as i64))));
            }
            weights[0] += (high - low.max(last + 1) + 1).max(0) as f64;
            return Some(Action::Choice(weights.into_iter().zip(actions).collect()));
        }
        self.note(node, format!("selects a child by `{value_text}`; here a child is chosen at random"));
        equally(actions)
    }

    /// Notes an element that is neither sampler nor controller and not translated, and its children.
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
            // Noted when the variables are collected.
            "CSVDataSet" | "RandomCSVDataSetConfig" | "CounterConfig" | "RandomVariableConfig" => true,
            class if class.ends_with("Extractor") || class == "JSONPostProcessor" => self.extractor(node).is_some(),
            class if class.ends_with("Assertion") => self.assertion(node).is_some(),
            // Noted when it is known whether they control their group.
            "ConstantThroughputTimer" | "PreciseThroughputTimer" => self.throttles.contains(&node.element.line),
            _ => false,
        };
        if !translated {
            self.note(node, untranslated::note(node));
        }
        for child in &node.children {
            self.note_untranslated(child);
        }
    }
}

/// Whether other elements of `plan` use a variable that a response under `node` sets.
fn used_elsewhere(node: &Node, plan: &Node) -> bool {
    fn extracted(node: &Node, names: &mut Vec<String>) {
        let properties = EXTRACTOR_NAMES.iter().flat_map(|property| node.element.text_of(property).split(';'));
        names.extend(properties.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
        node.children.iter().for_each(|child| extracted(child, names));
    }
    fn uses(element: &Element, name: &str) -> bool {
        // An extractor also sets `name_1`, `name_g1`, `name_matchNr`.
        [format!("${{{name}}}"), format!("${{{name}_")].iter().any(|used| element.text.contains(used))
            || element.children.iter().any(|child| uses(child, name))
    }
    fn is_used(within: &Node, except: &Node, name: &str) -> bool {
        !std::ptr::eq(within.element, except.element)
            && (uses(within.element, name) || within.children.iter().any(|child| is_used(child, except, name)))
    }
    let mut names = Vec::new();
    extracted(node, &mut names);
    names.iter().any(|name| is_used(plan, node, name))
}

/// Finds a node by a path of names.
fn find<'n, 'e>(nodes: &'n [Node<'e>], path: &[&str]) -> Option<&'n Node<'e>> {
    let (first, rest) = path.split_first()?;
    let mut named = nodes.iter().filter(|node| node.name() == *first);
    if rest.is_empty() { named.next() } else { named.find_map(|node| find(&node.children, rest)) }
}

/// Whether a class is a sampler. Timers of samplers that are not translated still apply.
pub(super) fn is_sampler(class: &str) -> bool {
    class.ends_with("Sampler") || class.ends_with("SamplerProxy") || class.ends_with("Request")
}

fn is_selectable(class: &str) -> bool {
    is_sampler(class) || class == "HTTPSampler2" || class == "TestAction" || is_controller(class)
}
