// The workload of workload.toml for k6: k6 run k6.js
import http from 'k6/http';
import exec from 'k6/execution';
import { check, group, sleep } from 'k6';
import { Rate, Trend } from 'k6/metrics';

const BASE = 'http://127.0.0.1:8008';
const CLIENT = `${BASE}/_matrix/client/v3`;
const WORDS = ['tea', 'rain', 'train', 'music'];
const minutes = open('minutes.txt');
const visits = new Rate('visits');
const events = new Trend('events');

export const options = {
  scenarios: {
    people: {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [{ duration: '6s', target: 6 }, { duration: '14s', target: 6 }],
      gracefulStop: '30s',
    },
  },
  thresholds: {
    http_req_failed: ['rate<0.01'],
    visits: ['rate>0.99'],
    'http_req_duration{name:send}': ['p(95)<2000'],
    'group_duration{group:::share}': ['p(95)<4000'],
    events: ['avg>=1'],
  },
};

const pick = (list) => list[Math.floor(Math.random() * list.length)];
const think = () => sleep(-0.5 * Math.log(1 - Math.random()));

// One session: sends requests with its token, and counts failures.
class Session {
  constructor() {
    this.number = exec.vu.idInTest;
    this.word = pick(WORDS);
    this.ok = true;
    this.messages = 0;
  }

  send(method, name, path, body, type = 'application/json') {
    const headers = { 'Content-Type': type };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    const params = { headers, tags: { name } };
    if (name === 'log in') params.responseCallback = http.expectedStatuses(200, 403);
    const url = path.startsWith('/') ? `${BASE}${path}` : `${CLIENT}/${path}`;
    const response = http.request(method, url, typeof body === 'object' ? JSON.stringify(body) : body, params);
    if (name !== 'log in') this.expect(response, name, (r) => r.status === 200);
    think();
    return response;
  }

  expect(response, name, condition) {
    this.ok = check(response, { [name]: condition }) && this.ok;
  }

  signIn() {
    const [user, password] = [`user${this.number}`, `secret-${this.number}`];
    const identifier = { type: 'm.id.user', user };
    let answer = this.send('POST', 'log in', 'login', { type: 'm.login.password', identifier, password });
    this.expect(answer, 'known or new', (r) => r.status === 200 || r.status === 403);
    if (answer.status === 403) {
      const auth = { type: 'm.login.dummy' };
      answer = this.send('POST', 'register', 'register', { auth, username: user, password });
    }
    this.token = answer.json('access_token');
    return answer.status === 200;
  }

  enter() {
    const room = { preset: 'private_chat', name: `About ${this.word}` };
    this.room = this.send('POST', 'create room', 'createRoom', room).json('room_id');
    this.since = this.send('GET', 'first sync', 'sync?timeout=0').json('next_batch');
  }

  sync() {
    const answer = this.send('GET', 'sync', `sync?timeout=0&since=${encodeURIComponent(this.since)}`);
    this.since = answer.json('next_batch');
    const rooms = Object.values(answer.json('rooms.join') || {});
    events.add(rooms.reduce((sum, room) => sum + room.timeline.events.length, 0));
  }

  write(name, content) {
    this.messages += 1;
    const path = `rooms/${this.room}/send/m.room.message/${this.number}.${this.messages}`;
    return this.send('PUT', name, path, content);
  }

  talk() {
    for (let i = 0; i < 2; i++) {
      const typing = { typing: true, timeout: 5000 };
      this.send('PUT', 'typing', `rooms/${this.room}/typing/@user${this.number}:localhost`, typing);
      const text = `More ${this.word} at ${new Date().toISOString().slice(11, 19)}`;
      const answer = this.write('send', { msgtype: 'm.text', body: text });
      this.expect(answer, 'event id', (r) => /^\$/.test(r.json('event_id')));
      this.sync();
    }
  }

  share() {
    let file;
    group('share', () => {
      const path = '/_matrix/media/v3/upload?filename=minutes.txt';
      const answer = this.send('POST', 'upload', path, minutes, 'text/plain');
      file = answer.json('content_uri');
      this.write('send file', { msgtype: 'm.file', body: 'minutes.txt', url: file });
    });
    const path = `/_matrix/client/v1/media/download/${file.slice('mxc://'.length)}`;
    const answer = this.send('GET', 'download', path);
    this.expect(answer, 'the file', (r) => r.body.length > 100 && !r.body.includes(this.word));
  }

  readBack() {
    const path = `rooms/${this.room}/messages?dir=b&limit=3`;
    let end = this.send('GET', 'newest', path).json('end');
    for (let i = 0; end && i < 10; i++) {
      end = this.send('GET', 'messages', `${path}&from=${encodeURIComponent(end)}`).json('end');
    }
  }
}

// One person signs in, does one thing after another until the end of the test, and signs out.
export default function () {
  const session = new Session();
  if (!session.signIn()) return;
  session.enter();
  while (exec.scenario.progress < 1) {
    session.ok = true;
    const draw = 5 * Math.random();
    if (draw < 3) session.talk();
    else if (draw < 4) session.share();
    else session.readBack();
    visits.add(session.ok);
  }
  session.send('POST', 'log out', 'logout', {});
}
