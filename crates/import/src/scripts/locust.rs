//! Locust scripts.

use super::{Emulation, ThinkShape};

/// The emulation as Python: users repeat request and think time.
pub(super) fn script(emulation: &Emulation, shape: ThinkShape) -> String {
    let think = match shape {
        ThinkShape::Uniform => "random.uniform(0, 2 * Z)",
        ThinkShape::Exponential => "random.expovariate(1 / Z)",
        ThinkShape::Constant => "Z",
    };
    let requests = emulation.requests_json();
    format!(
        r#"# {summary}.
# Run it with: locust -f FILE.py --headless -u {users} -r {spawn} -t {duration}s
# Tested: scripts of this form run in Locust.
import itertools
import json
import random

from locust import HttpUser, task

Z = {think_mean}  # mean think time, seconds
REQUESTS = json.loads({quoted})
sessions = itertools.count(1)


class User(HttpUser):
    host = "{origin}"

    def on_start(self):
        self.session, self.sequence = next(sessions), 0

    def wait_time(self):
        return {think}

    def fill(self, text):
        return text and text.replace("{{{{session}}}}", str(self.session)).replace("{{{{sequence}}}}", str(self.sequence))

    @task
    def ask(self):
        u = random.random()
        r = next(r for r in REQUESTS if u < r["upto"])
        self.sequence += 1
        self.client.request(r["method"], self.fill(r["path"]), name=r["name"], data=self.fill(r["body"]), headers=r["headers"])
"#,
        summary = emulation.summary(),
        users = emulation.users,
        spawn = emulation.users as f64 / emulation.ramp.as_secs_f64(),
        duration = emulation.duration.as_secs_f64().ceil(),
        think_mean = emulation.think,
        quoted = serde_json::to_string(&requests).expect("a string is JSON, and so a Python literal"),
        origin = emulation.origin(),
    )
}
