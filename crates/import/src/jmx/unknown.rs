//! What the elements that are not translated would have done.

use super::node::Node;
use super::variables::EXTRACTED;

/// In a few words, what `node` would have done.
pub(super) fn of(node: &Node) -> String {
    let said = |names: &[&str]| {
        names
            .iter()
            .map(|name| node.element.text_of(name).trim())
            .find(|text| !text.is_empty())
            .unwrap_or("")
            .to_owned()
    };
    let class = node.class();
    match class {
        "CacheManager" => "would not ask again for what the server called fresh".to_owned(),
        "DNSCacheManager" => "would resolve names in its own way".to_owned(),
        "UserParameters" => "would give each thread its own variables".to_owned(),
        "ConstantThroughputTimer" => {
            format!("would hold the threads back to {} samples a minute", said(&["throughput"]))
        }
        "PreciseThroughputTimer" => {
            let (rate, period) = (said(&["throughput"]), said(&["throughputPeriod"]));
            format!("would hold the threads back to {rate} samples in {period} s, at random instants")
        }
        "SyncTimer" => "would gather threads and let them go together".to_owned(),
        "TestFragmentController" => "is run only where a module controller names it".to_owned(),
        "ModuleController" | "IncludeController" => "would do what stands elsewhere".to_owned(),
        "CriticalSectionController" => "would let one thread in at a time".to_owned(),
        "RuntimeController" => "would repeat what is under it for a time".to_owned(),
        "ResultCollector" | "BackendListener" | "Summariser" | "ResultSaver" => {
            "would write results; offered records every launch".to_owned()
        }
        "ProxyControl" | "HTTPMirrorControl" | "PropertyDisplay" => "is none of the load".to_owned(),
        "DebugSampler" => "would show variables".to_owned(),
        "JDBCSampler" | "FTPSampler" | "LDAPSampler" | "LDAPExtSampler" | "TCPSampler" | "JMSSampler"
        | "MailReaderSampler" | "SmtpSampler" | "SystemSampler" | "JavaSampler" | "PublisherSampler"
        | "SubscriberSampler" | "AccessLogSampler" | "AjpSampler" | "BoltSampler" | "MongoScriptSampler"
        | "JUnitSampler" => "would ask something that is no web server".to_owned(),
        _ if class.starts_with("JSR223") || class.starts_with("BeanShell") || class.starts_with("BSF") => {
            let script = said(&["script", "BeanShellSampler.query", "BeanShellAssertion.query", "filename"]);
            let begins: String = script.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
            if begins.is_empty() { "would run a script".to_owned() } else { format!("would run a script: {begins}") }
        }
        _ if class.ends_with("Extractor") || class.ends_with("PostProcessor") => {
            let name = said(&EXTRACTED);
            if name.is_empty() {
                "would look at the answer".to_owned()
            } else {
                format!("would take `{name}` from the answer")
            }
        }
        "DurationAssertion" => {
            let most = said(&["DurationAssertion.duration"]);
            format!("would fail answers that take longer than {most} ms; write [thresholds] instead")
        }
        _ if class.ends_with("Assertion") => "would fail answers that are not as expected".to_owned(),
        _ if class.ends_with("PreProcessor") => "would change the request before it is sent".to_owned(),
        _ if class.ends_with("Timer") => "would wait before each sampler of its scope".to_owned(),
        _ if class.ends_with("Controller") => "would choose what is asked in its own way".to_owned(),
        _ if class.ends_with("Collector") || class.ends_with("Visualizer") || class.ends_with("Reporter") => {
            "would show results; offered records every launch".to_owned()
        }
        _ => "is unknown to offered; nothing of it is translated".to_owned(),
    }
}
