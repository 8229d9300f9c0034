// SPDX-License-Identifier: Apache-2.0
// The page of cprof serve while no process is profiled, and when one begins, in Chromium. Started by serve_browser.t:
//
//     node serve_idle.js MODULES CHROMIUM PLACE ADDRESS PROGRAM LIBRARY SERVER
//
// PROGRAM is tests/serve/rhythm, to be run under LIBRARY; SERVER, a process, is stopped in the end.
// Each check is printed as a line of JSON: {name, good, got}.
'use strict';
const path = require('path');
const { spawn } = require('child_process');
const [modules, chromium, place, address, program, library, server] = process.argv.slice(2);
const playwright = require(path.join(modules, 'playwright-core'));

function equal(got, wanted, name) {
    const good = JSON.stringify(got) === JSON.stringify(wanted);
    console.log(JSON.stringify({ name, good, got: JSON.stringify({ got, wanted }) }));
}

function start(rate) {
    const settings = { LD_PRELOAD: library, CPROF_RATE: rate, CPROF_OUT: '/dev/null', CPROF_SYMBOLIZE: 'off' };
    const child = spawn(program, { env: { ...process.env, ...settings }, stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.write('keep 10 1000\n');
    return child;
}

async function end(child) {
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.stdin.write('end\n');
    await ended;
}

const parts = ['idle', 'live-process', 'chart-inuse', 'types', 'main', 'canvas', 'comment'];
const IDLE = ['idle'],
    BUSY = parts.slice(1);

async function visible(page) {
    const seen = [];
    for (const id of parts) if (await page.isVisible(`#${id}`)) seen.push(id);
    return seen;
}

const shows = (page, pid) =>
    page.waitForFunction((wanted) => window.live.pid === wanted && window.live.profiles.length > 0, pid, {
        timeout: 20000,
    });

async function checkIdle(page, what) {
    await page.waitForSelector('#idle', { state: 'visible', timeout: 10000 });
    equal(await visible(page), IDLE, `${what}: that there is no process is said, and nothing else is shown`);
}

(async () => {
    const said = [];
    const browser = await playwright.chromium.launch({ executablePath: chromium, args: ['--no-sandbox'] });
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    page.on('console', (message) => {
        // The browser itself tells of what is asked for just when the process ends.
        if (!message.text().includes('404')) said.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => said.push(`error: ${error.message}`));
    await page.goto(address);
    await checkIdle(page, 'at first');
    const text = await page.textContent('#idle');
    equal(
        ['No process', 'cprof run ./program', 'LD_PRELOAD='].filter((part) => !text.includes(part)),
        [],
        'how to start one is said',
    );
    await page.screenshot({ path: path.join(place, 'serve-idle.png') });
    const first = start('1');
    await shows(page, first.pid);
    equal(await visible(page), BUSY, 'a process that begins is shown');
    equal(/^\d/.test(await page.textContent('#live-inuse')), true, 'what is in use is exact at rate 1');
    await end(first);
    await page.waitForFunction(() => document.getElementById('live-state').textContent.includes('has ended'));
    equal(await visible(page), BUSY, 'what is known of it stays when it has ended');
    await page.reload();
    await checkIdle(page, 'loaded again');
    const second = start('64');
    await shows(page, second.pid);
    equal(await visible(page), BUSY, 'the next one is shown, and not the one that was asked for and is gone');
    equal(/^≈\d/.test(await page.textContent('#live-inuse')), true, 'an estimate is marked');
    equal(await page.evaluate(() => window.live.charts[0].title), 'Bytes in use, estimated', 'and so is its chart');
    await end(second);
    await page.reload();
    await checkIdle(page, 'after that');
    equal(said, [], 'nothing on the console');
    process.kill(Number(server), 'SIGTERM');
    await page.waitForFunction(() => document.getElementById('live-state').textContent.includes('does not answer'));
    equal(await page.isVisible('#live-state'), true, 'a server that is gone is told of here, too');
    await browser.close();
})().catch((error) => {
    console.error(error);
    process.exit(1);
});
