//! Descriptions of elements that are not translated.

use super::node::Node;
use super::variables::EXTRACTOR_NAMES;

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
    match class {
        "CacheManager" => "does not request resources again that are still fresh".to_owned(),
        "DNSCacheManager" => "resolves host names in its own way".to_owned(),
        "UserParameters" => "gives each thread its own variables".to_owned(),
        "ConstantThroughputTimer" => {
            format!("limits the threads to {} samples per minute", property(&["throughput"]))
        }
        "PreciseThroughputTimer" => {
            let (rate, period) = (property(&["throughput"]), property(&["throughputPeriod"]));
            format!("limits the threads to {rate} samples in {period} s, at random times")
        }
        "SyncTimer" => "collects threads and releases them together".to_owned(),
        "TestFragmentController" => "runs only where a module controller refers to it".to_owned(),
        "ModuleController" | "IncludeController" => "runs elements that are defined elsewhere".to_owned(),
        "CriticalSectionController" => "admits one thread at a time".to_owned(),
        "ResultCollector" | "BackendListener" | "Summariser" | "ResultSaver" => {
            "writes results; offered records every request".to_owned()
        }
        "ProxyControl" | "HttpMirrorControl" | "HTTPMirrorControl" | "PropertyDisplay" | "WorkBench" | "HttpSimpleTableControl" => "is not part of the load".to_owned(),
        "SizeAssertion" => {
            "checks the size of the headers, status, message or whole response; only the size of the body can be checked here"
                .to_owned()
        }
        "RegexExtractor" if property(&["RegexExtractor.template"]).is_empty() => {
            format!("sets `{}` to an empty text, because its template is empty", property(&["RegexExtractor.refname"]))
        }
        "ConfigTestElement" | "ConfigTestElementCustom" | "JavaConfig" | "LDAPArguments" => {
            "sets defaults of samplers that do not use HTTP".to_owned()
        }
        "JDBCDataSource" | "MongoSourceElement" | "HBaseConnection" | "JMeterXMPPConnection" => {
            "configures a connection that is not HTTP".to_owned()
        }
        "RedisDataSet" | "VariablesFromCSV" => {
            "reads values from an external source; write them to a file and use it under [variables]".to_owned()
        }
        "RegExUserParameters" => "sends values of a response as parameters of the next request".to_owned(),
        "ResultAction" => "stops a thread or the test after a failed sample; set on_failure of a request".to_owned(),
        "LockFile" => "prevents a second test from running".to_owned(),
        "TextFrameFilter" => "filters messages of a WebSocket".to_owned(),
        "JSONFormatter" | "JSONToXMLConverter" => "converts the response to another format".to_owned(),
        "HbaseCrud" | "HdfsOperations" | "JobStatistics" => "sends requests that are not HTTP".to_owned(),
        "SetVariablesAction" => "sets variables".to_owned(),
        "SoapSampler" | "WebServiceSampler" => {
            "posts XML to a web service (JMeter before version 3); write a [[request]] for it".to_owned()
        }
        "HTTPRawSampler" => "sends raw bytes over a socket".to_owned(),
        "SampleTimeout" => "aborts samples that take too long; set response_timeout".to_owned(),
        "DummySampler" => "sends nothing and waits".to_owned(),
        "KeystoreConfig" => "selects a client certificate; set tls = { certificate = ..., key = ... }".to_owned(),
        "AutoStop" => "stops the test when responses are slow or fail; use [thresholds]".to_owned(),
        "DebugSampler" => "shows variables".to_owned(),
        "JDBCSampler" | "FTPSampler" | "LDAPSampler" | "LDAPExtSampler" | "TCPSampler" | "JMSSampler"
        | "MailReaderSampler" | "SmtpSampler" | "SystemSampler" | "JavaSampler" | "PublisherSampler"
        | "SubscriberSampler" | "AccessLogSampler" | "AjpSampler" | "BoltSampler" | "MongoScriptSampler"
        | "JUnitSampler" => "sends requests that are not HTTP".to_owned(),
        _ if class.starts_with("JSR223") || class.starts_with("BeanShell") || class.starts_with("BSF") => {
            let script = property(&["script", "BeanShellSampler.query", "BeanShellAssertion.query", "filename"]);
            let begins: String = script.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
            if begins.is_empty() { "runs a script".to_owned() } else { format!("runs a script: {begins}") }
        }
        "DurationAssertion" => {
            let most = property(&["DurationAssertion.duration"]);
            format!("fails responses that take longer than {most} ms; use [thresholds]")
        }
        _ if class.ends_with("Extractor") || class.ends_with("PostProcessor") => {
            let name = property(&EXTRACTOR_NAMES);
            if name.is_empty() {
                "processes the response".to_owned()
            } else {
                format!("extracts `{name}` from the response")
            }
        }
        _ => describe_by_suffix(class).to_owned(),
    }
}

/// A short description by the end of the class name, for elements without one of their own.
fn describe_by_suffix(class: &str) -> &'static str {
    match class {
        _ if class.ends_with("Assertion") => "fails responses that are not as expected",
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
