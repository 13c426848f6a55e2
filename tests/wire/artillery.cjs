// Runs Artillery scripts one after another in one process, as its worker does: node artillery.cjs PACKAGE LIST CONTROL
//
// PACKAGE is the directory of the installed package. Each line of LIST is a name and a script file, separated by a tab. Before each
// script the URL CONTROL with its name at the end is requested, so that the recording server knows to which script requests belong.
const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');

const [home, list, control] = process.argv.slice(2);
const load = createRequire(path.join(path.resolve(home), 'package.json'));
const prepare = load('./lib/util/prepare-test-execution-plan');
const { createGlobalObject } = load('./lib/artillery-global');
const { runner: createRunner, runnerFuncs } = load('@artilleryio/int-core').runner;

// Time after which a script is stopped, in ms.
const MOST = 30000;

// An invalid script would end the process.
process.exit = (code) => {
  throw new Error(`exit code ${code}`);
};

async function run(file) {
  const script = await prepare([file], {}, { script: file });
  const options = { scriptPath: file, absoluteScriptPath: file, plugins: [] };
  const runner = await createRunner(await runnerFuncs.loadProcessor(script, options), script.config.payload, options);
  await new Promise((resolve) => {
    runner.on('done', resolve);
    setTimeout(resolve, MOST).unref();
    runner.run({});
  });
  await runner.stop();
}

async function main() {
  await createGlobalObject();
  for (const line of fs.readFileSync(list, 'utf8').trim().split('\n')) {
    const [name, file] = line.split('\t');
    await fetch(control + name);
    try {
      await run(file);
    } catch (wrong) {
      console.log(`${name}\t${String(wrong.message).split('\n')[0]}`);
    }
  }
  process.reallyExit(0);
}

main();
