// The workload of workload.toml for k6: k6 run k6.js
import http from 'k6/http';
import exec from 'k6/execution';
import encoding from 'k6/encoding';
import { check, group, sleep } from 'k6';
import { Rate, Trend } from 'k6/metrics';
import { setTimeout } from 'k6/timers';
import { WebSocket } from 'k6/websockets';

const HOST = '127.0.0.1:8888';
const BASE = `http://${HOST}`;
const template = open('notebook.json');
const visits = new Rate('visits');
const cells = new Trend('run_cell', true);

export const options = {
  scenarios: {
    scientists: {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [{ duration: '4s', target: 4 }, { duration: '16s', target: 4 }],
      gracefulStop: '30s',
    },
  },
  thresholds: {
    http_req_failed: ['rate<0.01'],
    checks: ['rate>0.99'],
    visits: ['rate>0.99'],
    run_cell: ['p(95)<1000'],
    'group_duration{group:::edit}': ['p(95)<3000'],
  },
};

const pause = () => -0.25 * Math.log(1 - Math.random());
const think = () => sleep(pause());
const draw = () => 1000 + Math.floor(Math.random() * 8001);
const sum = (n) => (n * (n - 1)) / 2;

// Sends a request with the token of the session; `status` is what it expects.
function send(xsrf, method, name, path, body, status) {
  const params = { headers: { 'X-XSRFToken': xsrf }, tags: { name } };
  const answer = http.request(method, `${BASE}${path}`, body, params);
  const ok = check(answer, { [name]: (r) => status.includes(r.status) });
  think();
  return { answer, ok };
}

function edit(xsrf, user) {
  const book = `/api/contents/book-${user}.ipynb`;
  const content = encoding.b64encode(String(draw()));
  const upload = JSON.stringify({ type: 'file', format: 'base64', content });
  const list = send(xsrf, 'GET', 'list', '/api/contents?type=directory', null, [200]);
  let ok = check(list.answer, { 'a directory': (r) => r.json('type') === 'directory' }) && list.ok;
  ok = send(xsrf, 'PUT', 'upload', `/api/contents/data-${user}.csv`, upload, [200, 201]).ok && ok;
  group('edit', () => {
    const notebook = template.replace('{{n}}', draw());
    ok = send(xsrf, 'PUT', 'save', book, notebook, [200, 201]).ok && ok;
    const { answer } = send(xsrf, 'GET', 'open', book, null, [200]);
    const source = (r) => r.json('content.cells.0.source').includes('sum');
    ok = check(answer, { 'has the cell': source }) && ok;
  });
  return ok;
}

function close(xsrf, user, kernel) {
  const { answer, ok } = send(xsrf, 'GET', 'status', `/api/kernels/${kernel}`, null, [200]);
  const connected = check(answer, { connected: (r) => r.json('connections') === 1 });
  if (Math.random() < 0.5) return ok && connected;
  const book = `/api/contents/book-${user}.ipynb`;
  return send(xsrf, 'DELETE', 'delete', book, null, [204]).ok && ok && connected;
}

// Runs a cell in the kernel behind the socket; resolves to whether the result is right.
function runCell(socket, user, number) {
  const n = draw();
  const id = `cell-${user}-${number}`;
  const header = { msg_id: id, msg_type: 'execute_request', username: '', session: `${user}`, version: '5.3' };
  const content = { code: `sum(range(${n}))`, silent: false };
  const started = Date.now();
  return new Promise((resolve) => {
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.msg_type !== 'execute_result' || message.parent_header.msg_id !== id) return;
      cells.add(Date.now() - started);
      const text = message.content.data['text/plain'];
      const ok = check(text, { 'the sum': (t) => t === String(sum(n)) });
      setTimeout(() => resolve(ok), 1000 * pause());
    };
    socket.send(JSON.stringify({ header, parent_header: {}, metadata: {}, content, channel: 'shell' }));
  });
}

// A scientist signs in, works until the end of the test, and signs out.
export default function () {
  const user = exec.vu.idInTest;
  let page = http.get(`${BASE}/login`, { tags: { name: 'login page' } });
  const xsrf = page.html('input[name=_xsrf]').attr('value');
  think();
  page = page.submitForm({ fields: { password: 'load-test' }, params: { tags: { name: 'sign in' } } });
  if (!check(page, { 'signed in': (r) => !r.url.includes('login') })) return;
  think();
  const start = send(xsrf, 'POST', 'start kernel', '/api/kernels', '{"name": "python3"}', [201]);
  const kernel = start.answer.json('id');
  const socket = new WebSocket(`ws://${HOST}/api/kernels/${kernel}/channels`);
  socket.onopen = async () => {
    sleep(1);
    let number = 0;
    while (exec.scenario.progress < 1) {
      let ok = edit(xsrf, user);
      for (let i = 0; i < 3; i++) {
        ok = (await runCell(socket, user, number++)) && ok;
      }
      visits.add(close(xsrf, user, kernel) && ok);
    }
    socket.close();
    send(xsrf, 'DELETE', 'stop kernel', `/api/kernels/${kernel}`, null, [204]);
    http.get(`${BASE}/logout`, { tags: { name: 'sign out' } });
  };
}
