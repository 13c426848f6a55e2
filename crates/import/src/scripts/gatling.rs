//! Gatling scripts.

use offered_workload::Request;
use offered_workload::Template;

use super::{Emulation, ThinkShape, fill_placeholders};

/// The emulation as a Java simulation: N users are injected over the ramp and repeat think time and request.
pub(super) fn script(emulation: &Emulation, shape: ThinkShape) -> String {
    let think = match shape {
        ThinkShape::Uniform => "2 * Z * random.nextDouble()",
        ThinkShape::Exponential => "-Z * Math.log(1 - random.nextDouble())",
        ThinkShape::Constant => "Z",
    };
    let quoted = |text: &str| serde_json::to_string(text).expect("a string is JSON, and so a Java literal");
    let el = |text: &Template| quoted(&fill_placeholders(text, "#{session}", "#{sequence}"));
    let total: f64 = emulation.requests.iter().map(Request::weight).sum();
    let requests: Vec<String> = emulation
        .requests
        .iter()
        .filter(|r| r.weight() > 0.0)
        .map(|r| {
            let header = |(k, v): &(String, Template)| format!(".header({}, {})", quoted(k), el(v));
            let headers = r.headers().iter().map(header).collect::<Vec<_>>().concat();
            let body = r.body().text().map_or(String::new(), |b| format!(".body(StringBody({}))", el(b)));
            format!(
                "      percent({}).then(exec(http({}).httpRequest({}, {}){headers}{body}))",
                // Rounded down: Gatling rejects a sum above 100.
                (r.weight() / total * 1e8).floor() / 1e6,
                quoted(r.name()),
                quoted(r.method()),
                el(r.path())
            )
        })
        .collect();
    format!(
        r#"// {summary}.
// Save it as src/test/java/PrincipleA.java. Gatling pauses in whole milliseconds.
// Tested: scripts of this form compile and run with Gatling 3.11.5 on Java 17.
import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.*;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

public class PrincipleA extends Simulation {{
  static final double Z = {think_mean};  // mean think time, seconds

  static Duration think() {{
    ThreadLocalRandom random = ThreadLocalRandom.current();
    return Duration.ofNanos((long) (1e9 * ({think})));
  }}

  ScenarioBuilder users = scenario("users")
    .exec(session -> session.set("session", session.userId()))
    .forever("sequence").on(
      pause(session -> think()),
      randomSwitch().on(
{requests}
      ));

  {{
    setUp(users.injectOpen(rampUsers({users}).during(Duration.ofSeconds({ramp}))))
      .protocols(http.baseUrl("{origin}").disableFollowRedirect())
      .maxDuration(Duration.ofSeconds({duration}));
  }}
}}
"#,
        summary = emulation.summary(),
        think_mean = emulation.think,
        requests = requests.join(",\n"),
        users = emulation.users,
        ramp = emulation.ramp.as_secs_f64().ceil(),
        origin = emulation.origin(),
        duration = emulation.duration.as_secs_f64().ceil(),
    )
}
