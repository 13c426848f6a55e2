//! `JMeter` scripts.

use std::fmt::Write as _;

use offered_workload::Template;
use offered_workload::{Address, Request};

use super::{Emulation, ThinkShape, fill_placeholders};

/// The emulation as a .jmx test plan. The timer applies before each sampler, so users think before every request.
pub(super) fn script(emulation: &Emulation, shape: ThinkShape) -> String {
    let Address::Tcp { host, port } = &emulation.url.address else { unreachable!("checked by the caller") };
    let mut samplers = String::new();
    for request in &emulation.requests {
        samplers.push_str(&sampler(request));
    }
    if emulation.requests.len() > 1 {
        samplers = format!(
            r#"        <SwitchController guiclass="SwitchControllerGui" testclass="SwitchController" testname="one request by weight">
          <stringProp name="SwitchController.value">{}</stringProp>
        </SwitchController>
        <hashTree>
{samplers}        </hashTree>
"#,
            escape(&choice(emulation))
        );
    }
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- {summary}.
     Run it with: jmeter -n -t FILE.jmx -l FILE.jtl, and check its requests with: offered verify FILE.jtl
          Tested: plans of this form run in JMeter 5.6.3, and their requests pass offered verify.
          JMeter's Poisson Random Timer is not used: it draws a Poisson *count* of milliseconds, which is nearly constant
          (CoV 1/sqrt(mean)) and does not produce Poisson arrivals. -->
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
  <hashTree>
    <TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Principle A" enabled="true"/>
    <hashTree>
      <ConfigTestElement guiclass="HttpDefaultsGui" testclass="ConfigTestElement" testname="target">
        <elementProp name="HTTPsampler.Arguments" elementType="Arguments"/>
        <stringProp name="HTTPSampler.domain">{host}</stringProp>
        <stringProp name="HTTPSampler.port">{port}</stringProp>
        <stringProp name="HTTPSampler.protocol">http</stringProp>
      </ConfigTestElement>
      <hashTree/>
      <ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
        <stringProp name="ThreadGroup.on_sample_error">continue</stringProp>
        <elementProp name="ThreadGroup.main_controller" elementType="LoopController" guiclass="LoopControlPanel" testclass="LoopController">
          <intProp name="LoopController.loops">-1</intProp>
        </elementProp>
        <stringProp name="ThreadGroup.num_threads">{users}</stringProp>
        <stringProp name="ThreadGroup.ramp_time">{ramp}</stringProp>
        <boolProp name="ThreadGroup.scheduler">true</boolProp>
        <stringProp name="ThreadGroup.duration">{duration}</stringProp>
        <boolProp name="ThreadGroup.same_user_on_next_iteration">true</boolProp>
      </ThreadGroup>
      <hashTree>
{timer}{samplers}      </hashTree>
    </hashTree>
  </hashTree>
</jmeterTestPlan>
"#,
        summary = emulation.summary(),
        host = escape(host),
        users = emulation.users,
        ramp = emulation.ramp.as_secs_f64().round(),
        duration = emulation.duration.as_secs_f64().ceil(),
        timer = timer(emulation, shape),
    )
}

fn timer(emulation: &Emulation, shape: ThinkShape) -> String {
    let mean = emulation.think * 1e3;
    match shape {
        ThinkShape::Uniform => format!(
            r#"        <UniformRandomTimer guiclass="UniformRandomTimerGui" testclass="UniformRandomTimer" testname="think 0 to 2Z">
          <stringProp name="ConstantTimer.delay">0</stringProp>
          <stringProp name="RandomTimer.range">{:.3}</stringProp>
        </UniformRandomTimer>
        <hashTree/>
"#,
            2.0 * mean
        ),
        ThinkShape::Exponential => format!(
            r#"        <JSR223Timer guiclass="TestBeanGUI" testclass="JSR223Timer" testname="think exponential of mean Z">
          <stringProp name="scriptLanguage">groovy</stringProp>
          <stringProp name="cacheKey">true</stringProp>
          <stringProp name="script">return Math.round(-{mean:.3} * Math.log(1 - java.util.concurrent.ThreadLocalRandom.current().nextDouble()))</stringProp>
        </JSR223Timer>
        <hashTree/>
"#
        ),
        ThinkShape::Constant => format!(
            r#"        <ConstantTimer guiclass="ConstantTimerGui" testclass="ConstantTimer" testname="think Z">
          <stringProp name="ConstantTimer.delay">{mean:.0}</stringProp>
        </ConstantTimer>
        <hashTree/>
"#
        ),
    }
}

/// A Groovy expression for the index of the next request: the first one whose cumulative share exceeds a random number.
fn choice(emulation: &Emulation) -> String {
    let shares = emulation.running_shares();
    let mut tests = String::new();
    for (i, share) in shares[..shares.len() - 1].iter().enumerate() {
        let _ = write!(tests, "r < {share} ? {i} : ");
    }
    let last = shares.len() - 1;
    format!("${{__groovy(def r = java.util.concurrent.ThreadLocalRandom.current().nextDouble(); {tests}{last})}}")
}

fn sampler(request: &Request) -> String {
    let arguments = request.body().text().map_or_else(
        || "            <elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\"/>\n".to_owned(),
        |body| {
            format!(
                r#"            <boolProp name="HTTPSampler.postBodyRaw">true</boolProp>
            <elementProp name="HTTPsampler.Arguments" elementType="Arguments">
              <collectionProp name="Arguments.arguments">
                <elementProp name="" elementType="HTTPArgument">
                  <boolProp name="HTTPArgument.always_encode">false</boolProp>
                  <stringProp name="Argument.value">{}</stringProp>
                  <stringProp name="Argument.metadata">=</stringProp>
                </elementProp>
              </collectionProp>
            </elementProp>
"#,
                escape(&placeholders(body))
            )
        },
    );
    let header = |(name, value): &(String, Template)| {
        format!(
            r#"                <elementProp name="" elementType="Header">
                  <stringProp name="Header.name">{}</stringProp>
                  <stringProp name="Header.value">{}</stringProp>
                </elementProp>
"#,
            escape(name),
            escape(&placeholders(value))
        )
    };
    let headers = request.headers().iter().map(header).collect::<Vec<_>>().concat();
    let tree = if headers.is_empty() {
        "          <hashTree/>\n".to_owned()
    } else {
        format!(
            r#"          <hashTree>
            <HeaderManager guiclass="HeaderPanel" testclass="HeaderManager" testname="headers">
              <collectionProp name="HeaderManager.headers">
{headers}              </collectionProp>
            </HeaderManager>
            <hashTree/>
          </hashTree>
"#
        )
    };
    format!(
        r#"          <HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="{name}">
            <stringProp name="HTTPSampler.path">{path}</stringProp>
            <stringProp name="HTTPSampler.method">{method}</stringProp>
            <boolProp name="HTTPSampler.follow_redirects">false</boolProp>
            <boolProp name="HTTPSampler.use_keepalive">true</boolProp>
{arguments}          </HTTPSamplerProxy>
{tree}"#,
        name = escape(request.name()),
        path = escape(&placeholders(request.path())),
        method = request.method(),
    )
}

/// Converts placeholders to `JMeter` functions.
fn placeholders(text: &Template) -> String {
    fill_placeholders(text, "${__threadNum}", "${__counter(FALSE,)}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
