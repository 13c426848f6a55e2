// The workload of workload.toml for k6: k6 run k6.js
import http from 'k6/http';
import exec from 'k6/execution';
import { check, sleep } from 'k6';
import { Rate } from 'k6/metrics';
import { SharedArray } from 'k6/data';

const BASE = 'http://127.0.0.1:8917';
const WORDS = ['printer', 'login', 'report', 'mail'];
const trace = open('trace.txt', 'b');
const users = new SharedArray('users', () =>
  open('users.csv').trim().split('\n').slice(1).map((line) => line.split(',')));
const reports = new Rate('reports');

export const options = {
  scenarios: {
    members: {
      executor: 'ramping-vus',
      exec: 'member',
      startVUs: 1,
      stages: [{ duration: '10s', target: 4 }, { duration: '10s', target: 4 }],
      gracefulStop: '30s',
    },
    visitors: {
      executor: 'ramping-arrival-rate',
      exec: 'visitor',
      startRate: 2,
      timeUnit: '1s',
      stages: [{ duration: '10s', target: 6 }, { duration: '10s', target: 6 }],
      preAllocatedVUs: 20,
    },
  },
  thresholds: {
    http_req_failed: ['rate<0.01'],
    checks: ['rate>0.99'],
    reports: ['rate>0.99'],
    'http_req_duration{scenario:visitors}': ['p(95)<1000'],
    'http_req_duration{name:new issue}': ['p(95)<2000'],
  },
};

const pick = (list) => list[Math.floor(Math.random() * list.length)];
const think = () => sleep(-Math.log(1 - Math.random()));
const named = (name) => ({ tags: { name } });

// A member signs in, works until the end of the test, and signs out.
export function member() {
  const [name, password] = users[(exec.vu.idInTest - 1) % users.length];
  let page = http.get(`${BASE}/`, named('home'));
  think();
  page = page.submitForm({
    formSelector: 'form:has(input[name=__login_name])',
    fields: { __login_name: name, __login_password: password },
    params: { ...named('sign in'), headers: { Referer: page.url, Origin: BASE } },
  });
  if (!check(page, { 'signed in': (r) => r.html('nav').text().includes(`Hello, ${name}`) })) return;
  think();
  while (exec.scenario.progress < 1) {
    if (Math.random() < 2 / 3) report();
    else triage();
  }
  page = http.get(`${BASE}/?@action=logout`, named('sign out'));
  check(page, { 'signed out': (r) => r.html('input[value=Login]').size() > 0 });
}

function report() {
  let page = http.get(`${BASE}/issue?@template=item`, named('new form'));
  sleep(1 + 2 * Math.random());
  page = edit(page, 'new issue', {
    title: `The ${pick(WORDS)} is slow`,
    priority: '3',
    '@note': `Since ${new Date().toISOString().slice(11, 16)}`,
    '@file': http.file(trace, 'trace.txt', 'text/plain'),
  });
  const made = check(page, { created: (r) => r.html('.ok-message').text().includes('created') });
  think();
  if (made) view(page.url.match(/issue(\d+)/)[0]);
  reports.add(made);
}

function triage() {
  const list = http.get(
    `${BASE}/issue?@columns=id,title,status&@sort=-activity&@filter=status&status=-1,1,2,3,4,5,6,7`,
    named('open issues'));
  think();
  const links = list.html('table.list a[href^=issue]').toArray();
  if (links.length === 0) return;
  const issue = pick(links).attr('href');
  view(issue);
  const page = view(issue);
  if (page.html('select[name=status] option[selected]').text() === 'unread') {
    const saved = edit(page, 'edit issue', { status: '4', '@note': 'seen' });
    check(saved, { edited: (r) => r.html('.ok-message').text().includes('edited ok') });
    think();
  }
}

function view(issue) {
  const page = http.get(`${BASE}/${issue}`, named('issue'));
  check(page, { 'an issue': (r) => r.html('title').text().includes('Issue') });
  think();
  return page;
}

// submitForm sends no files, so the fields of the form are collected here.
function edit(page, name, changes) {
  const form = page.html('form[name=itemSynopsis]');
  const fields = { ...form.serializeObject(), ...changes };
  const button = form.find('input[type=submit]').first();
  fields[button.attr('name')] = button.attr('value');
  if (!('@file' in fields)) fields['@file'] = http.file('', '', 'application/octet-stream');
  const params = { ...named(name), headers: { Referer: page.url, Origin: BASE } };
  return http.post(`${BASE}/${form.attr('action')}`, fields, params);
}

export function visitor() {
  if (Math.random() < 0.5) {
    const page = http.get(`${BASE}/issue?@search_text=${pick(WORDS)}&@columns=id,title&@sort=activity`, named('search'));
    check(page, { found: (r) => r.html('title').text().includes('List of issues') });
  } else {
    http.get(`${BASE}/`, named('front page'));
    http.get(`${BASE}/@@file/style.css`, named('style'));
  }
}
