// SPDX-License-Identifier: Apache-2.0
// Uses the page of cprof flame as people do, in Chromium. Started by flame_browser.t:
//
//     node flame_browser.js MODULES CHROMIUM PLACE
//
// MODULES is where playwright-core is; PLACE holds small.html and large.html, and gets pictures. Each check is printed
// as a line of JSON: {name, good, got}.
'use strict';
const path = require('path');
const [modules, chromium, place] = process.argv.slice(2);
const playwright = require(path.join(modules, 'playwright-core'));

function check(good, name, got = '') {
    console.log(
        JSON.stringify({ name, good: Boolean(good), got: typeof got === 'string' ? got : JSON.stringify(got) }),
    );
}

function equal(got, wanted, name) {
    check(JSON.stringify(got) === JSON.stringify(wanted), name, { got, wanted });
}

/** A page that is open, and all that it said or asked for. */
async function open(browser, file, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 860 }, ...options });
    const page = await context.newPage();
    page.said = [];
    page.on('console', (message) => {
        // Not of the page: this test looks at the colours of its canvas.
        if (!message.text().includes('willReadFrequently')) page.said.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => page.said.push(`error: ${error.message}`));
    page.on('request', (request) => {
        if (!/^(data:|file:.*\/(small|large)\.html$)/.test(request.url())) page.said.push(`request: ${request.url()}`);
    });
    await page.goto(`file://${path.join(place, file)}`);
    await page.waitForFunction(() => window.cprof && performance.getEntriesByName('cprof-drawn').length > 0);
    return page;
}

async function close(page, what) {
    equal(page.said, [], `${what}: nothing on the console, nothing asked of the network`);
    await page.context().close();
}

const shoot = (page, name) => page.screenshot({ path: path.join(place, `${name}.png`) });
const text = (page, id) => page.textContent(`#${id}`);
const state = (page) =>
    page.evaluate(() => {
        const { model, zoomed, selected, type } = window.cprof;
        return {
            zoomed: model.name(zoomed),
            selected: selected < 0 ? '' : model.name(selected),
            type: model.types[type].name,
        };
    });

/** Where on the screen the widest frame of a function is, or null if nothing of it is in view. */
const find = (page, name) =>
    page.evaluate((wanted) => {
        const { model, layout, graph } = window.cprof,
            rect = graph.canvas.getBoundingClientRect();
        let best = -1;
        for (let i = 0; i < model.count; i++)
            if (model.name(i) === wanted && graph.box(i) && (best < 0 || layout.width[i] > layout.width[best]))
                best = i;
        const box = best >= 0 && graph.box(best),
            y = box && box.y - graph.scroller.scrollTop + graph.row / 2;
        return box && y > 0 && y < graph.height
            ? { x: rect.left + box.x + box.width / 2, y: rect.top + y, width: box.width }
            : null;
    }, name);

/** The colour of a frame, near its right end, where no text is. */
const colour = (page, name) =>
    page.evaluate((wanted) => {
        const { model, graph } = window.cprof;
        graph.draw();
        const box = graph.box([...Array(model.count).keys()].find((i) => model.name(i) === wanted && graph.box(i)));
        const ratio = devicePixelRatio;
        return [
            ...graph.context
                .getImageData((box.x + box.width - 6) * ratio, (box.y - graph.scroller.scrollTop + 5) * ratio, 1, 1)
                .data.slice(0, 3),
        ];
    }, name);

const SHOWN = () => document.getElementById('tip').hidden === false && document.getElementById('tip').innerText;

async function checkMouse(browser) {
    const page = await open(browser, 'small.html', { colorScheme: 'light' });
    equal(await page.title(), 'small.pb.gz', 'the title is the file');
    equal(
        await state(page),
        { zoomed: 'made', selected: '', type: 'inuse_space' },
        'begins with all of the default type',
    );
    check(
        (await text(page, 'comment')).includes('exact alloc_space=4100'),
        'the comment is shown',
        await text(page, 'comment'),
    );
    await shoot(page, 'light');

    let at = await find(page, 'parse');
    await page.mouse.move(at.x, at.y);
    const tip = await page.evaluate(SHOWN);
    for (const part of ['parse', '2.93 KiB (75.0%)', '3,000 bytes', 'parse.c:12', '/usr/bin/made'])
        check(tip.includes(part), `tooltip: ${part}`, tip);
    await page.mouse.click(at.x, at.y);
    equal((await state(page)).zoomed, 'parse', 'a click zooms');
    equal(await page.locator('#crumbs button').allTextContents(), ['made', 'main', 'parse'], 'the path leads there');
    check(
        Math.abs((await find(page, 'parse')).width - (await page.evaluate(() => window.cprof.graph.width))) < 1,
        'it fills the width',
    );
    equal(await find(page, 'render'), null, 'and what is beside it is gone');
    await page.locator('#crumbs button', { hasText: 'main' }).click();
    equal((await state(page)).zoomed, 'main', 'the path leads back');
    await page.click('#reset');
    equal(
        [(await state(page)).zoomed, (await state(page)).selected, await page.isVisible('#reset')],
        ['made', '', false],
        'reset leads back to all',
    );
    at = await find(page, 'small_vector');
    await page.mouse.move(at.x, at.y);
    check((await page.evaluate(SHOWN)).includes('inlined into its caller'), 'an inlined frame is marked');

    await page.fill('#query', 'ALLOC');
    equal(
        await text(page, 'found-text'),
        '2.93 KiB, 75.0% of all, in 3 frames',
        'search: share, recursion counted once',
    );
    equal(
        await page.locator('.rows .function').allTextContents(),
        ['alloc_nodealloc.c'],
        'search: the table shows what was found',
    );
    const found = await colour(page, 'alloc_node'),
        other = await colour(page, 'main');
    check(
        found[2] > found[1] + 40 && Math.max(...other) - Math.min(...other) < 20,
        'search: found is coloured, the rest is grey',
        [found, other],
    );
    await shoot(page, 'search');
    await page.fill('#query', '^(parse|render)$');
    equal(await text(page, 'found-text'), '3.91 KiB, 100% of all, in 2 frames', 'search: a regular expression');
    await page.fill('#query', 'odd(');
    equal(await text(page, 'found-text'), 'nothing found', 'search: what is none is taken as it is written');
    await page.click('#clear');
    equal([await page.isVisible('#found'), await page.inputValue('#query')], [false, ''], 'search: cleared');

    await page.locator('#types button', { hasText: 'alloc_objects' }).click();
    equal(
        [(await state(page)).type, await text(page, 'd-total')],
        ['alloc_objects', '41 (100%)'],
        'another type: its sum',
    );
    equal(await page.getAttribute('#types button:nth-child(1)', 'aria-checked'), 'true', 'and it is checked');
    equal(
        await page
            .locator('.rows .number:first-child')
            .first()
            .innerText()
            .then((s) => s.split(/\s+/)),
        ['30', '73.2%'],
        'and its table',
    );

    await page.click('[data-sort="total"]');
    equal((await page.locator('.rows .function').first().textContent()).startsWith('main'), true, 'table: by total');
    await page.click('[data-sort="name"]');
    equal(await page.getAttribute('[role="columnheader"]:nth-child(3)', 'aria-sort'), 'ascending', 'table: by name');
    equal(
        await page
            .locator('.rows .function')
            .first()
            .evaluate((cell) => cell.firstChild.data),
        '<b>bold</b>',
        'table: a name is text',
    );
    await page.locator('.rows [role="row"]', { hasText: 'render' }).click();
    equal(
        [(await state(page)).selected, await text(page, 'found-text')],
        ['render', 'render: 11, 26.8% of all, in 1 frame'],
        'a row of the table leads to the graph',
    );
    await close(page, 'mouse');
}

async function checkKeyboard(browser) {
    const page = await open(browser, 'small.html', { colorScheme: 'light' });
    const press = async (...keys) => {
        for (const key of keys) await page.keyboard.press(key);
        return state(page);
    };
    await press('/');
    equal(await page.evaluate(() => document.activeElement.id), 'query', '/ goes to the search');
    await page.keyboard.type('alloc');
    equal((await press('Enter')).selected, 'alloc_node', 'Enter goes to the first found');
    check((await text(page, 'found-text')).includes('in 1 of 3 frames'), 'and counts', await text(page, 'found-text'));
    await press('Enter');
    check((await text(page, 'found-text')).includes('in 2 of 3 frames'), 'Enter again: the next');
    await press('Escape');
    equal(await page.inputValue('#query'), '', 'Escape clears it');
    equal(await page.evaluate(() => document.activeElement === document.body), true, 'and leaves the field');
    await press('Escape');
    equal((await press('ArrowDown', 'ArrowDown')).selected, 'main', 'arrows: down');
    equal((await press('ArrowDown')).selected, 'parse', 'arrows: the widest below');
    equal((await press('ArrowRight')).selected, 'render', 'arrows: right');
    equal((await press('ArrowLeft', 'ArrowUp')).selected, 'main', 'arrows: left and up');
    equal((await press('ArrowDown', 'Enter')).zoomed, 'parse', 'Enter zooms');
    check(
        (await text(page, 'say')).startsWith('parse: 2.93 KiB (75.0%), itself'),
        'what is selected is said',
        await text(page, 'say'),
    );
    equal((await press('Backspace')).zoomed, 'main', 'Backspace zooms out by one');
    equal((await press('Escape')).zoomed, 'made', 'Escape zooms out');
    const types = [];
    for (const key of ['1', '2', '3', '4']) types.push((await press(key)).type);
    equal(types, ['alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space'], '1 to 4 choose the values');
    await press('t');
    equal([await page.isVisible('#canvas'), await page.isVisible('#table')], [false, true], 't: the table');
    await page.focus('#table');
    await press('ArrowDown', 'ArrowDown');
    const row = await page.getAttribute('#table', 'aria-activedescendant');
    const name = await page.evaluate((id) => document.querySelector(`#${id} .function`).firstChild.data, row);
    equal((await press('Enter')).selected, name, 'table: arrows choose a row, Enter shows it in the graph');
    equal(await page.isVisible('#canvas'), true, 'which comes into view');
    await press('g');
    equal(await page.isVisible('#table'), false, 'g: the graph');
    await press('?');
    equal(await page.isVisible('#help'), true, '?: help');
    await shoot(page, 'help');
    await press('Escape', 'i');
    equal([await page.isVisible('#help'), await page.isVisible('#about')], [false, true], 'i: about');
    check(
        (await page.innerText('#about')).includes('4,100 bytes'),
        'about: sums to the last digit',
        await page.innerText('#about'),
    );
    await shoot(page, 'about');
    await close(page, 'keyboard');
}

async function checkNames(browser) {
    const page = await open(browser, 'small.html');
    const nameless = await page.evaluate(() =>
        [...document.querySelectorAll('button, input, select, canvas, section, [role]')]
            .filter(
                (element) =>
                    element.role !== 'row' &&
                    element.role !== 'rowgroup' &&
                    element.role !== 'status' &&
                    element.role !== 'tooltip' &&
                    !(element.textContent.trim() || element.getAttribute('aria-label')),
            )
            .map((element) => element.outerHTML.slice(0, 80)),
    );
    equal(nameless, [], 'all that can be used has a name');
    check(
        (await page.getAttribute('#canvas', 'aria-label')).includes('inuse_space of made'),
        'the canvas says what it is',
    );
    const order = [];
    for (let i = 0; i < 8; i++) {
        await page.keyboard.press('Tab');
        order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
    }
    equal(
        order,
        ['inuse_space', 'query', 'Both', 'theme', 'about-open', 'help-open', 'made', 'canvas'],
        'the order of Tab',
    );
    await close(page, 'names');
}

async function checkThemes(browser) {
    const page = await open(browser, 'small.html', { colorScheme: 'dark' });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
    check(Math.max(...(await ground())) < 60, 'dark where the system is', await ground());
    check(Math.max(...(await colour(page, 'parse'))) < 170, 'the graph too', await colour(page, 'parse'));
    await shoot(page, 'dark');
    await page.click('#theme');
    check(Math.min(...(await ground())) > 200, 'the button makes it light', await ground());
    check(Math.max(...(await colour(page, 'parse'))) > 200, 'the graph too', await colour(page, 'parse'));
    await page.reload();
    await page.waitForFunction(() => window.cprof);
    check(Math.min(...(await ground())) > 200, 'which is remembered', await ground());
    await close(page, 'themes');
}

async function checkPhone(browser) {
    const page = await open(browser, 'small.html', { ...playwright.devices['Pixel 7'] });
    const fits = () =>
        page.evaluate(
            () => document.documentElement.scrollWidth <= innerWidth && document.body.scrollHeight <= innerHeight + 1,
        );
    equal([await page.isVisible('#canvas'), await page.isVisible('#table')], [true, false], 'phone: the graph alone');
    equal(await fits(), true, 'phone: nothing sticks out');
    check(
        (await page.evaluate(() => window.cprof.graph.height / innerHeight)) > 0.5,
        'phone: the graph has the most of it',
    );
    let at = await find(page, 'parse');
    await page.touchscreen.tap(at.x, at.y);
    equal([(await state(page)).zoomed, (await state(page)).selected], ['made', 'parse'], 'phone: a tap selects');
    equal(await page.isVisible('#tip'), false, 'phone: without a tooltip');
    check(
        (await page.innerText('#details')).includes('parse.c:12'),
        'phone: and tells',
        await page.innerText('#details'),
    );
    await shoot(page, 'phone');
    await page.touchscreen.tap(at.x, at.y);
    equal((await state(page)).zoomed, 'parse', 'phone: the second tap zooms');
    await page.selectOption('#types-narrow', { label: 'alloc_space' });
    equal((await state(page)).type, 'alloc_space', 'phone: another type');
    await page.locator('#views button', { hasText: 'Table' }).tap();
    equal(
        [await page.isVisible('#canvas'), await page.isVisible('#table'), await fits()],
        [false, true, true],
        'phone: the table',
    );
    await shoot(page, 'phone-table');
    const small = await page.evaluate(() =>
        [...document.querySelectorAll('header button, header input, header select')]
            .filter((element) => element.offsetParent && element.offsetHeight < 28)
            .map((element) => element.textContent),
    );
    equal(small, [], 'phone: nothing is too small to be hit');
    await close(page, 'phone');
}

async function checkLarge(browser) {
    const first = [];
    let page;
    for (let i = 0; i < 3; i++) {
        if (page) await page.context().close();
        page = await open(browser, 'large.html');
        first.push(await page.evaluate(() => performance.getEntriesByName('cprof-drawn')[0].startTime));
    }
    const count = await page.evaluate(() => window.cprof.model.count);
    check(count > 100000, 'large: more than 100,000 frames', count);
    check(Math.min(...first) < 1000, 'large: drawn within a second', first);
    await shoot(page, 'large');
    const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
    const zooms = await page.evaluate(() => {
        const { cprof } = window,
            times = [];
        for (let i = 0, node = 0; i < 40; i++) {
            const { first, children } = cprof.layout,
                at = first[node];
            node = first[node + 1] > at ? children[at] : 0;
            const from = performance.now();
            cprof.zoom(node);
            cprof.graph.draw();
            times.push(performance.now() - from);
        }
        return times;
    });
    check(median(zooms) < 100 && zooms.at(-1) < 300, 'large: zooms in less than 0.1 s', zooms.map(Math.round));
    const others = await page.evaluate(() =>
        ['1', '2', '3', '4'].map((key) => {
            const from = performance.now();
            window.cprof.command(key);
            window.cprof.graph.draw();
            return performance.now() - from;
        }),
    );
    check(median(others) < 500, 'large: another type within half a second', others.map(Math.round));
    const searches = await page.evaluate(() =>
        ['method', 'Type1', 'x'].map((query) => {
            document.getElementById('query').value = query;
            const from = performance.now();
            window.cprof.search();
            window.cprof.graph.draw();
            return performance.now() - from;
        }),
    );
    check(median(searches) < 300, 'large: searches within 0.3 s', searches.map(Math.round));
    check((await page.locator('.rows [role="row"]').count()) < 100, 'large: rows that are in view only');
    await close(page, 'large');
}

async function main() {
    const browser = await playwright.chromium.launch({
        executablePath: chromium,
        args: process.getuid() === 0 ? ['--no-sandbox'] : [],
    });
    try {
        for (const part of [checkMouse, checkKeyboard, checkNames, checkThemes, checkPhone, checkLarge])
            await part(browser);
    } finally {
        await browser.close();
    }
}

main().catch((error) => {
    check(false, 'the browser did what it was asked', String(error && error.stack));
    process.exitCode = 1;
});
