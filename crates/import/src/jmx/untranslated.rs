//! Descriptions of elements that are not translated.

use super::node::Node;
use super::variables::EXTRACTOR_NAMES;

/// A note on `node`: its description, and what to do instead, if there is a substitute.
pub(super) fn note(node: &Node) -> String {
    let description = describe(node);
    if description.contains("; ") { description } else { format!("{description}; not translated") }
}

/// A short description of what `node` does in `JMeter`.
pub(super) fn describe(node: &Node) -> String {
    let property = |names: &[&str]| {
        names
            .iter()
            .map(|name| node.element.text_of(name).trim())
            .find(|text| !text.is_empty())
            .unwrap_or("")
            .to_owned()
    };
    let class = node.class();
    let scope = property(&["Sample.scope", "Assertion.scope"]);
    if scope == "variable" {
        return format!("applies to the variable `{}`, not to the response", property(&["Scope.variable"]));
    } else if ["all", "children"].contains(&scope.as_str()) {
        return "also applies to sub-samples (redirects and embedded resources)".to_owned();
    }
    if let Some(description) = describe_by_name(class) {
        return description.to_owned();
    }
    match class {
        "ConstantThroughputTimer" => {
            format!("limits the threads to {} samples per minute", property(&["throughput"]))
        }
        "PreciseThroughputTimer" => {
            let (rate, period) = (property(&["throughput"]), property(&["throughputPeriod"]));
            format!("limits the threads to {rate} samples in {period} s, at random times")
        }
        "RegexExtractor" if property(&["RegexExtractor.template"]).is_empty() => {
            format!("sets `{}` to an empty text, because its template is empty", property(&["RegexExtractor.refname"]))
        }
        _ if class.starts_with("JSR223") || class.starts_with("BeanShell") || class.starts_with("BSF") => {
            let script = property(&["script", "BeanShellSampler.query", "BeanShellAssertion.query", "filename"]);
            let begins: String = script.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
            if begins.is_empty() { "runs a script".to_owned() } else { format!("runs a script: {begins}") }
        }
        "DurationAssertion" => {
            let most = property(&["DurationAssertion.duration"]);
            format!("marks responses that take longer than {most} ms as failed; use [thresholds]")
        }
        _ if class.ends_with("Extractor") || class.ends_with("PostProcessor") => match extracted_names(node) {
            "" => "processes the response".to_owned(),
            name => format!("extracts `{name}` in a way that is not translated; add `extract` to the request"),
        },
        _ => describe_by_suffix(class).to_owned(),
    }
}

/// Whether an extractor names no variable, so that it does nothing.
pub(super) fn sets_no_variable(node: &Node) -> bool {
    EXTRACTOR_NAMES.iter().any(|name| node.element.property(name).is_some()) && extracted_names(node).is_empty()
}

/// The names of the variables that an extractor sets.
pub(super) fn extracted_names<'e>(node: &Node<'e>) -> &'e str {
    EXTRACTOR_NAMES.iter().map(|name| node.element.text_of(name).trim()).find(|name| !name.is_empty()).unwrap_or("")
}

/// The description of a class, if it does not depend on the properties of the element.
fn describe_by_name(class: &str) -> Option<&'static str> {
    Some(match class {
        "CacheManager" => "does not request resources again that are still fresh",
        "DNSCacheManager" => "resolves host names in its own way",
        "UserParameters" => "gives each thread its own variables",
        "SyncTimer" => "collects threads and releases them together",
        "TestFragmentController" => "runs only if a module controller refers to it",
        "ModuleController" | "IncludeController" => "runs elements that are defined elsewhere",
        "CriticalSectionController" => "admits one thread at a time",
        "ResultCollector" | "BackendListener" | "Summariser" | "ResultSaver" => {
            "writes results; offered records every request"
        }
        "ProxyControl"
        | "HttpMirrorControl"
        | "HTTPMirrorControl"
        | "PropertyDisplay"
        | "WorkBench"
        | "HttpSimpleTableControl" => "is not part of the load",
        "SizeAssertion" => {
            "checks the size of the headers, status, message or whole response; only the size of the body can be checked here"
        }
        "ConfigTestElement" | "ConfigTestElementCustom" | "JavaConfig" | "LDAPArguments" => {
            "sets defaults of samplers that do not use HTTP"
        }
        "JDBCDataSource" | "MongoSourceElement" | "HBaseConnection" | "JMeterXMPPConnection" => {
            "configures a connection that is not HTTP"
        }
        "RedisDataSet" | "VariablesFromCSV" => {
            "reads values from an external source; write the values to a file, and name the file under [variables]"
        }
        "RegExUserParameters" => "sends values of a response as parameters of the next request",
        "ResultAction" => "stops a thread or the test after a failed sample; set on_failure of a request",
        "LockFile" => "prevents a second test from running",
        "TextFrameFilter" => "filters messages of a WebSocket",
        "JSONFormatter" | "JSONToXMLConverter" => "converts the response to another format",
        "HbaseCrud" | "HdfsOperations" | "JobStatistics" => "sends requests that are not HTTP",
        "SetVariablesAction" => "sets variables",
        "SoapSampler" | "WebServiceSampler" => {
            "posts XML to a web service (JMeter before version 3); write a [[request]] for it"
        }
        "HTTPRawSampler" => "sends raw bytes over a socket",
        "SampleTimeout" => "aborts samples that take too long; set response_timeout",
        "DummySampler" => "sends nothing and waits",
        "KeystoreConfig" => "selects a client certificate; set tls = { certificate = ..., key = ... }",
        "AutoStop" => "stops the test when responses are slow or fail; use [thresholds]",
        "DebugSampler" => "shows variables",
        "JDBCSampler" | "FTPSampler" | "LDAPSampler" | "LDAPExtSampler" | "TCPSampler" | "JMSSampler"
        | "MailReaderSampler" | "SmtpSampler" | "SystemSampler" | "JavaSampler" | "PublisherSampler"
        | "SubscriberSampler" | "AccessLogSampler" | "AjpSampler" | "BoltSampler" | "MongoScriptSampler"
        | "JUnitSampler" => "sends requests that are not HTTP",
        _ => return None,
    })
}

/// A short description chosen by the end of the class name, for elements without a description of their own.
fn describe_by_suffix(class: &str) -> &'static str {
    match class {
        _ if class.ends_with("Assertion") => "marks unexpected responses as failed",
        _ if class.ends_with("DriverConfig") => "configures a browser",
        _ if class.ends_with("Sampler") || class.ends_with("Request") => "sends requests of an unsupported kind",
        _ if class.ends_with("Modifier") => "changes the request before it is sent",
        _ if class.ends_with("PreProcessor") => "changes the request before it is sent",
        _ if class.ends_with("Timer") => "waits before each sampler in its scope",
        _ if class.ends_with("Controller") => "controls the order of its children in its own way",
        _ if ["Collector", "Visualizer", "Reporter", "Listener", "Writer", "Uploader", "Logger"]
            .iter()
            .any(|end| class.ends_with(end)) =>
        {
            "shows results; offered records every request"
        }
        _ => "unknown element; not translated",
    }
}
