//! k6 scripts.

use super::{Emulation, ThinkShape};

/// The emulation as a JavaScript module: VUs repeat think time and request.
pub(super) fn script(emulation: &Emulation, shape: ThinkShape) -> String {
    let think = match shape {
        ThinkShape::Uniform => "2 * Z * Math.random()",
        ThinkShape::Exponential => "-Z * Math.log(1 - Math.random())",
        ThinkShape::Constant => "Z",
    };
    format!(
        r"// {summary}.
// Run it with: k6 run --out json=FILE.json FILE.js, and check its requests with: offered verify FILE.json
// Tested: the syntax (node --check); the k6 modules were only reviewed.
import http from 'k6/http';
import {{ sleep }} from 'k6';
import exec from 'k6/execution';

const ORIGIN = '{origin}';
const Z = {think_mean};  // mean think time, seconds
const REQUESTS = {requests};

export const options = {{
  discardResponseBodies: true,
  scenarios: {{
    users: {{
      executor: 'ramping-vus',
      startVUs: 0,
      stages: [
        {{ duration: '{ramp}s', target: {users} }},
        {{ duration: '{rest}s', target: {users} }},
      ],
      gracefulRampDown: '0s',
      gracefulStop: '30s',
    }},
  }},
}};

const fill = (text) => text && text
  .replaceAll('{{{{session}}}}', String(exec.vu.idInTest))
  .replaceAll('{{{{sequence}}}}', String(exec.vu.iterationInScenario));

export default function () {{
  sleep({think});
  const u = Math.random();
  const r = REQUESTS.find((r) => u < r.upto);
  http.request(r.method, ORIGIN + fill(r.path), fill(r.body), {{ headers: r.headers, tags: {{ name: r.name }} }});
}}
",
        summary = emulation.summary(),
        origin = emulation.origin(),
        think_mean = emulation.think,
        requests = emulation.requests_json(),
        ramp = emulation.ramp.as_secs_f64(),
        rest = (emulation.duration - emulation.ramp).as_secs_f64(),
        users = emulation.users,
    )
}
