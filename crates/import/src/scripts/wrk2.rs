//! wrk2 scripts.

use offered_workload::Template;

use super::{Emulation, fill_placeholders};

/// The emulation as Lua. wrk2 has no think times: it paces each of its N connections evenly at rate R/N, so users are
/// periodic.
pub(super) fn script(emulation: &Emulation) -> String {
    let places = |text: &Template| fill_placeholders(text, "{{session}}", "{{sequence}}");
    let request = |(r, upto): (&offered_workload::Request, f64)| {
        let headers: Vec<String> =
            r.headers().iter().map(|(k, v)| format!("[{}] = {}", quoted(k), quoted(&places(v)))).collect();
        format!(
            "  {{ upto = {upto}, method = {}, path = {}, body = {}, headers = {{ {} }} }},\n",
            quoted(r.method()),
            quoted(&places(r.path())),
            r.body().text().map_or("nil".to_owned(), |b| quoted(&places(b))),
            headers.join(", ")
        )
    };
    let requests: String = emulation.requests.iter().zip(emulation.running_shares()).map(request).collect();
    let rate = emulation.rate.round().max(1.0);
    format!(
        r#"-- {summary}.
-- Run it with: wrk -t1 -c{users} -d{duration}s -R{rate} -s FILE.lua {origin}
-- Tested: with wrk 4.1.0, whose Lua interface wrk2 shares; -R and its pacing were only reviewed.
-- (-t1, or a number of threads that divides {users}; -R takes integers only, so {exact} became {rate}.)
-- wrk2 has no think times: each connection sends at regular intervals of {users}/{rate} s. The merged gaps look Poisson
-- (CoV sqrt((N-1)/(N+1))), but the dispersion of counts in long windows tends to 0 instead of 1.
local requests = {{
{requests}}}
local sequence = 0

local function fill(text)
  if text == nil then return nil end
  text = text:gsub("{{{{sequence}}}}", tostring(sequence))
  return (text:gsub("{{{{session}}}}", tostring(sequence % {users} + 1)))
end

function init(args)
  math.randomseed(os.time())
end

function request()
  sequence = sequence + 1
  local u = math.random()
  for _, r in ipairs(requests) do
    if u < r.upto then
      local headers = {{}}
      for k, v in pairs(wrk.headers) do headers[k] = v end
      for k, v in pairs(r.headers) do headers[k] = v end
      return wrk.format(r.method, fill(r.path), headers, fill(r.body))
    end
  end
end
"#,
        summary = emulation.summary(),
        users = emulation.users,
        duration = emulation.duration.as_secs_f64().ceil(),
        origin = emulation.origin(),
        exact = super::four_digits(emulation.rate),
    )
}

/// A Lua 5.1 string literal, which has no `\\u` escapes.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            c if c.is_ascii_control() => literal.push_str(&format!("\\{:03}", c as u32)),
            c => literal.push(c),
        }
    }
    literal + "\""
}
