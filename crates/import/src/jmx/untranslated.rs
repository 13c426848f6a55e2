//! What the elements that are not translated would have done.

use super::node::Node;
use super::variables::EXTRACTOR_NAMES;

/// In a few words, what `node` would have done.
#[expect(clippy::too_many_lines, reason = "a table with a row for each element")]
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
        return format!("would look at the variable `{}`, not at the answer", property(&["Scope.variable"]));
    } else if ["all", "children"].contains(&scope.as_str()) {
        return "would look at what came with the answer, redirects and what the page embeds, as well".to_owned();
    }
    match class {
        "CacheManager" => "would not ask again for what the server called fresh".to_owned(),
        "DNSCacheManager" => "would resolve names in its own way".to_owned(),
        "UserParameters" => "would give each thread its own variables".to_owned(),
        "ConstantThroughputTimer" => {
            format!("would hold the threads back to {} samples a minute", property(&["throughput"]))
        }
        "PreciseThroughputTimer" => {
            let (rate, period) = (property(&["throughput"]), property(&["throughputPeriod"]));
            format!("would hold the threads back to {rate} samples in {period} s, at random instants")
        }
        "SyncTimer" => "would gather threads and let them go together".to_owned(),
        "TestFragmentController" => "is run only where a module controller names it".to_owned(),
        "ModuleController" | "IncludeController" => "would do what stands elsewhere".to_owned(),
        "CriticalSectionController" => "would let one thread in at a time".to_owned(),
        "ResultCollector" | "BackendListener" | "Summariser" | "ResultSaver" => {
            "would write results; offered records every launch".to_owned()
        }
        "ProxyControl" | "HttpMirrorControl" | "HTTPMirrorControl" | "PropertyDisplay" | "WorkBench" | "HttpSimpleTableControl" => "is none of the load".to_owned(),
        "SizeAssertion" => {
            "would fail answers whose whole, headers, status or message is not so long; here only the body's length is looked at"
                .to_owned()
        }
        "RegexExtractor" if property(&["RegexExtractor.template"]).is_empty() => {
            format!("would take an empty text as `{}`, for its template is empty", property(&["RegexExtractor.refname"]))
        }
        "ConfigTestElement" | "ConfigTestElementCustom" | "JavaConfig" | "LDAPArguments" => {
            "would be the defaults of samplers that ask no web server".to_owned()
        }
        "JDBCDataSource" | "MongoSourceElement" | "HBaseConnection" | "JMeterXMPPConnection" => {
            "would connect to something that is no web server".to_owned()
        }
        "RedisDataSet" | "VariablesFromCSV" => {
            "would take values from somewhere; write them under [variables], from a file".to_owned()
        }
        "RegExUserParameters" => "would send what an answer said as parameters of the next request".to_owned(),
        "ResultAction" => "would stop something after a sample that failed; write on_failure for a request".to_owned(),
        "LockFile" => "would keep a second test from running".to_owned(),
        "TextFrameFilter" => "would leave out messages of a WebSocket".to_owned(),
        "JSONFormatter" | "JSONToXMLConverter" => "would write the answer in another way".to_owned(),
        "HbaseCrud" | "HdfsOperations" | "JobStatistics" => "would ask something that is no web server".to_owned(),
        "SetVariablesAction" => "would set variables".to_owned(),
        "SoapSampler" | "WebServiceSampler" => {
            "would post XML to a web service, as JMeter before 3 did; write a [[request]] for it".to_owned()
        }
        "HTTPRawSampler" => "would send bytes of its own over a socket".to_owned(),
        "SampleTimeout" => "would break off samples that take too long; write response_timeout instead".to_owned(),
        "DummySampler" => "would ask nobody, and wait".to_owned(),
        "KeystoreConfig" => "would choose a client's certificate; write tls = { certificate = ..., key = ... }".to_owned(),
        "AutoStop" => "would stop the test when answers are slow or fail; write [thresholds]".to_owned(),
        "DebugSampler" => "would show variables".to_owned(),
        "JDBCSampler" | "FTPSampler" | "LDAPSampler" | "LDAPExtSampler" | "TCPSampler" | "JMSSampler"
        | "MailReaderSampler" | "SmtpSampler" | "SystemSampler" | "JavaSampler" | "PublisherSampler"
        | "SubscriberSampler" | "AccessLogSampler" | "AjpSampler" | "BoltSampler" | "MongoScriptSampler"
        | "JUnitSampler" => "would ask something that is no web server".to_owned(),
        _ if class.starts_with("JSR223") || class.starts_with("BeanShell") || class.starts_with("BSF") => {
            let script = property(&["script", "BeanShellSampler.query", "BeanShellAssertion.query", "filename"]);
            let begins: String = script.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
            if begins.is_empty() { "would run a script".to_owned() } else { format!("would run a script: {begins}") }
        }
        _ if class.ends_with("Extractor") || class.ends_with("PostProcessor") => {
            let name = property(&EXTRACTOR_NAMES);
            if name.is_empty() {
                "would look at the answer".to_owned()
            } else {
                format!("would take `{name}` from the answer")
            }
        }
        "DurationAssertion" => {
            let most = property(&["DurationAssertion.duration"]);
            format!("would fail answers that take longer than {most} ms; write [thresholds] instead")
        }
        _ if class.ends_with("Assertion") => "would fail answers that are not as expected".to_owned(),
        _ if class.ends_with("DriverConfig") => "would drive a browser".to_owned(),
        _ if class.ends_with("Sampler") || class.ends_with("Request") => {
            "would ask in a way that is not translated".to_owned()
        }
        _ if class.ends_with("Modifier") => "would change the request before it is sent".to_owned(),
        _ if class.ends_with("PreProcessor") => "would change the request before it is sent".to_owned(),
        _ if class.ends_with("Timer") => "would wait before each sampler of its scope".to_owned(),
        _ if class.ends_with("Controller") => "would choose what is asked in its own way".to_owned(),
        _ if ["Collector", "Visualizer", "Reporter", "Listener", "Writer", "Uploader", "Logger"]
            .iter()
            .any(|end| class.ends_with(end)) =>
        {
            "would show results; offered records every launch".to_owned()
        }
        _ => "is unknown to offered; nothing of it is translated".to_owned(),
    }
}
