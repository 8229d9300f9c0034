// SPDX-License-Identifier: Apache-2.0
// Uses the page of cprof serve as people do, in Chromium. Started by serve_browser.t:
//
//     node serve_browser.js MODULES CHROMIUM PLACE ADDRESS PID EVIL SERVER
//
// PID is a process that allocates all the time, EVIL one whose name is markup, SERVER the server's; that is stopped in
// the end. Each check is printed as a line of JSON: {name, good, got}.
'use strict';
const path = require('path');
const [modules, chromium, place, address, pid, evil, server] = process.argv.slice(2);
const playwright = require(path.join(modules, 'playwright-core'));

function check(good, name, got = '') {
    console.log(
        JSON.stringify({ name, good: Boolean(good), got: typeof got === 'string' ? got : JSON.stringify(got) }),
    );
}

function equal(got, wanted, name) {
    check(JSON.stringify(got) === JSON.stringify(wanted), name, { got, wanted });
}

const said = [];
const shoot = (page, name) => page.screenshot({ path: path.join(place, `serve-${name}.png`) });
const text = (page, id) => page.textContent(`#${id}`);

async function open(browser, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const page = await context.newPage();
    page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => said.push(`error: ${error.message}`));
    page.on('request', (request) => {
        if (!request.url().startsWith(address) && !request.url().startsWith('data:')) said.push(request.url());
    });
    await page.goto(address);
    await page.waitForFunction(() => window.live && window.live.profiles.length > 0, null, { timeout: 20000 });
    return page;
}

const points = (page) => page.evaluate(() => window.live.charts[0].points.length);
const names = (page) =>
    page.evaluate(() => {
        const { model } = window.cprof;
        return [...new Set(Array.from({ length: model.count - 1 }, (_, i) => model.name(i + 1)))];
    });
const more = (page, profiles) =>
    page.waitForFunction((count) => window.live.profiles.length > count, profiles, { timeout: 20000 });
const count = (page) => page.evaluate(() => window.live.profiles.length);

async function checkFigures(page) {
    const listed = await page.locator('#live-process option').allTextContents();
    equal(listed.length, 2, 'both processes are listed');
    check(
        listed.some((line) => line.startsWith(`${pid} rhythm`)),
        'by number and name',
        listed,
    );
    equal(await page.inputValue('#live-process'), pid, 'the one that the command line chose is shown');
    await page.waitForTimeout(4500);
    const first = await points(page);
    check(first >= 3, 'the charts have points', String(first));
    await page.waitForTimeout(2500);
    check((await points(page)) > first, 'and get more');
    for (const id of ['live-inuse', 'live-alloc', 'live-speed', 'live-age'])
        check(/\d/.test(await text(page, id)), `${id} has a figure`, await text(page, id));
    const found = await names(page);
    for (const name of ['main', 'beat', 'parse_request', 'keep'])
        check(found.includes(name), `the graph has ${name}`, found);
    for (const [id, wanted] of [
        ['live-heap', `/debug/pprof/heap?pid=${pid}`],
        ['live-allocs', `/debug/pprof/allocs?pid=${pid}`],
        ['live-delta', `/debug/pprof/allocs?pid=${pid}&seconds=10`],
        ['live-text', `/debug/pprof/heap?pid=${pid}&debug=1`],
    ])
        equal(await page.getAttribute(`#${id}`, 'href'), wanted, `${id} leads to the profile`);
    await shoot(page, 'light');
}

async function checkDownload(page) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#live-heap')]);
    equal(download.suggestedFilename(), 'heap', 'a click downloads the profile');
}

/** What one looks at stays while profiles come. */
async function checkStays(page) {
    await page.click('#types [data-type="1"]');
    const node = await page.evaluate(() => {
        const { model, app = window.cprof } = window.cprof;
        const found = [...Array(model.count).keys()].find((i) => model.name(i) === 'parse_request');
        app.zoom(found);
        app.select(found);
        return found;
    });
    check(node > 0, 'zoomed to a function', String(node));
    await page.fill('#query', 'keep');
    const before = await count(page);
    await more(page, before + 1);
    const state = await page.evaluate(() => {
        const { model, zoomed, selected, type } = window.cprof;
        return [model.name(zoomed), model.name(selected), model.types[type].name];
    });
    equal(
        state,
        ['parse_request', 'parse_request', 'alloc_space'],
        'after more profiles: zoomed, selected, type as before',
    );
    check(
        (await text(page, 'found-text')).includes('in'),
        'and what was searched for is found',
        await text(page, 'found-text'),
    );
    equal(await page.locator('#types button').count(), 4, 'and there are four types still');
    await page.click('#clear');
    await page.click('#reset');
    await page.click('#types [data-type="3"]');
}

async function checkDifference(page) {
    await page.click('#live-mark');
    check(await page.isVisible('#live-whole'), 'a mark: the way back is offered');
    await more(page, (await count(page)) + 2);
    check(
        (await text(page, 'live-state')).startsWith('What changed from'),
        'a mark: it says so',
        await text(page, 'live-state'),
    );
    const marked = await page.evaluate(() => {
        const { model } = window.cprof,
            to = JSON.parse(window.live.profiles.at(-1).text),
            from = JSON.parse(window.live.range.from.text);
        return { differs: model.differs, sums: model.types.map((type) => type.sum), to: to.types, from: from.types };
    });
    check(marked.differs, 'a mark: what is shown is a difference');
    equal(
        marked.sums,
        marked.to.map((type, t) => String(BigInt(type.sum) - BigInt(marked.from[t].sum))),
        'a mark: its sums are those of the two profiles',
    );
    const total = await page.evaluate(() =>
        window.cprof.model.types.map((type, t) => window.cprof.model.layout(t).total[0]),
    );
    equal(total.map(String), marked.sums, 'a mark: and its frames add up to them');
    await shoot(page, 'mark');
    await page.click('#live-whole');
    equal(await page.evaluate(() => window.cprof.model.differs), false, 'and back to all');

    const box = await page.locator('#chart-inuse').boundingBox();
    await page.mouse.move(box.x + box.width * 0.84, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.97, box.y + 55, { steps: 5 });
    await page.mouse.up();
    const range = await page.evaluate(
        () => window.live.range && [window.live.range.from.time, window.live.range.to?.time],
    );
    check(range && range[1] > range[0], 'a drag over a chart compares two moments', range);
    const shown = await page.evaluate(() => window.live.shown.to.time);
    await more(page, (await count(page)) + 1);
    equal(await page.evaluate(() => window.live.shown.to.time), shown, 'which stays as it is');
    await shoot(page, 'drag');
    await page.click('#live-whole');
}

async function checkPause(page) {
    await page.click('#live-pause');
    const before = await count(page);
    await page.waitForTimeout(5000);
    equal(await count(page), before, 'paused: no further profile');
    await page.click('#live-pause');
    await more(page, before);
    check(true, 'and on again');
}

async function checkOther(page) {
    await page.selectOption('#live-process', evil);
    await page.waitForFunction(
        () => window.live.profiles.length > 0 && window.cprof.model.data.file.includes(window.live.pid),
    );
    check((await names(page)).includes('keep'), 'another process: its graph');
    check((await page.title()).includes('<img'), 'a name that is markup is text', await page.title());
    equal(
        await page.evaluate(() => [window.evil === undefined, document.images.length]),
        [true, 0],
        'and nothing else',
    );
    await page.hover('#chart-alloc');
    await shoot(page, 'other');
    const address = page.url();
    check(address.endsWith(`/?pid=${evil}`), 'the address names the process', address);
    await page.reload();
    await page.waitForFunction(() => window.live && window.live.profiles.length > 0);
    equal(await page.inputValue('#live-process'), evil, 'and leads back to it');
}

async function checkIndex(page) {
    await page.goto(`${address}debug/pprof/`);
    equal(await page.locator('table tr').count(), 3, 'the index lists both processes');
    equal(await page.evaluate(() => document.images.length), 0, 'and has no markup of theirs');
    await shoot(page, 'index');
}

async function checkSmall(browser) {
    const page = await open(browser, { viewport: { width: 390, height: 800 }, colorScheme: 'dark', hasTouch: true });
    await page.waitForTimeout(3500);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= 390, 'on a telephone nothing is wider than the screen', String(wide));
    const graph = await page.locator('#graph').boundingBox();
    check(graph && graph.height > 200, 'and the graph has room', graph);
    await shoot(page, 'small');
    await page.context().close();
}

/** Nothing is said of a profile before it is there. */
async function checkLoading(browser) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    let goOn;
    const waited = new Promise((resolve) => (goOn = resolve));
    await page.route('**/api/flame*', async (route) => {
        await waited;
        await route.continue();
    });
    await page.goto(address);
    await page.waitForFunction(() => window.live && window.live.pid);
    equal(await text(page, 'empty'), 'The profile is being loaded.', 'a profile that is still to come is told of');
    check(await page.isVisible('#empty'), 'where it is going to be');
    goOn();
    await page.waitForFunction(() => window.live.profiles.length > 0, null, { timeout: 20000 });
    check(!(await page.isVisible('#empty')), 'and no more once it is there');
    await context.close();
}

async function checkDark(browser) {
    const page = await open(browser, { colorScheme: 'dark' });
    await page.waitForTimeout(6000);
    await shoot(page, 'dark');
    const before = said.length;
    process.kill(Number(server), 'SIGTERM');
    await page.waitForFunction(
        () => document.getElementById('live-state').textContent.includes('does not answer'),
        null,
        {
            timeout: 10000,
        },
    );
    check(true, 'a server that is gone is told of');
    said.length = before; // the browser itself tells of requests that fail
    await page.context().close();
}

(async () => {
    const browser = await playwright.chromium.launch({ executablePath: chromium, args: ['--no-sandbox'] });
    const page = await open(browser, { colorScheme: 'light' });
    await checkFigures(page);
    await checkDownload(page);
    await checkStays(page);
    await checkDifference(page);
    await checkPause(page);
    await checkOther(page);
    await checkIndex(page);
    await page.context().close();
    await checkSmall(browser);
    await checkLoading(browser);
    await checkDark(browser);
    equal(said, [], 'nothing on the console, nothing asked of others');
    await browser.close();
})().catch((error) => {
    console.error(error);
    process.exit(1);
});
