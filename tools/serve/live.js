// SPDX-License-Identifier: Apache-2.0
// A process that lives: its figures, fetched every second, and its profile, every two. Profiles are kept for a while,
// so that any two moments can be compared; the server keeps none.

const FIGURES_EVERY = 1000,
    PROFILES_EVERY = 2000,
    KEPT_POINTS = 1200,
    KEPT_CHARACTERS = 40e6;

/** Shows another profile where there was one; what is zoomed to, selected and searched for stays, if it is there. */
function replaceProfile(app, data) {
    const keyOf = (model, node) =>
        [model.frameName(model.frame[node]), model.frameFile(model.frame[node])].join('\u0000');
    const pathOf = (node) =>
        node < 0
            ? null
            : app.model
                  .path(node)
                  .slice(1)
                  .map((at) => keyOf(app.model, at));
    const [zoomed, selected] = [pathOf(app.zoomed), pathOf(app.selected)];
    const active =
        app.table.active >= 0 && app.table.active < app.model.frameCount ? frameKey(app.model, app.table.active) : null;
    const only = app.only >= 0 ? frameKey(app.model, app.only) : null;
    const scrolled = [app.graph.scroller.scrollTop, app.table.view.scrollTop],
        say = app.say;
    const first = app.model.types.length !== data.types.length;
    app.say = () => {}; // nobody wants to be told every two seconds
    app.model = app.colors.model = app.graph.model = app.table.model = new Model(data);
    app.colors.cache = [];
    app.graph.hovered = -1;
    $('types').replaceChildren();
    $('types-narrow').replaceChildren();
    describe(app.model);
    app.zoomed = app.graph.zoomed = Math.max(0, nodeOf(app.model, zoomed, keyOf));
    app.selected = app.graph.selected = nodeOf(app.model, selected, keyOf);
    app.table.active = active === null ? -1 : frameOfKey(app.model, active);
    app.setType(first ? data.type : app.type);
    const again = only === null ? -1 : frameOfKey(app.model, only);
    if (again >= 0) {
        app.found = new Uint8Array(app.model.frameCount);
        app.found[again] = 1;
        app.only = again;
        app.showFound();
    }
    [app.graph.scroller.scrollTop, app.table.view.scrollTop] = scrolled;
    app.table.render();
    app.say = say;
}

const clock = ({ time }) => new Date(time).toLocaleTimeString();

function frameKey(model, frame) {
    return [model.frameName(frame), model.frameFile(frame), model.frameModule(frame)].join('\u0000');
}

function frameOfKey(model, key) {
    for (let frame = 0; frame < model.frameCount; frame++) if (frameKey(model, frame) === key) return frame;
    return -1;
}

function nodeOf(model, path, keyOf) {
    let node = path ? 0 : -1;
    for (const key of path || []) {
        let child = node + 1;
        while (child < model.end[node] && keyOf(model, child) !== key) child = model.end[child];
        if (child >= model.end[node]) return -1;
        node = child;
    }
    return node;
}

class Live {
    constructor(app) {
        this.app = app;
        this.pid = Number(new URLSearchParams(location.search).get('pid')) || 0;
        this.history = new Map(); // points by process
        this.profiles = []; // {time, text} of the process that is shown
        this.range = null; // {from, to}: profiles; `to` null: the newest
        this.paused = false;
        this.shown = null;
        const on = {
            hover: (time) => this.charts.forEach((chart) => chart.hover(time)),
            pick: (a, b) => this.pick(a, b),
        };
        this.charts = [
            new Chart($('chart-inuse'), 'Bytes in use', (point) => point.inuse, on),
            new Chart($('chart-alloc'), 'Bytes allocated', (point) => point.alloc, on),
        ];
        this.listen();
        this.every(FIGURES_EVERY, () => this.fetchFigures());
        this.every(PROFILES_EVERY, () => this.fetchProfile());
    }

    /** Again and again, never twice at once. */
    every(milliseconds, work) {
        const again = async () => {
            await work();
            setTimeout(again, milliseconds);
        };
        again();
    }

    listen() {
        $('live-process').addEventListener('change', ({ target }) => this.choose(Number(target.value)));
        $('live-pause').addEventListener('click', () => {
            this.paused = !this.paused;
            $('live-pause').setAttribute('aria-pressed', this.paused);
            if (!this.paused) this.fetchProfile();
        });
        $('live-mark').addEventListener('click', () => this.pick(Date.now(), 0));
        $('live-whole').addEventListener('click', () => this.setRange(null));
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.drawCharts());
        $('theme').addEventListener('click', () => this.drawCharts());
    }

    say(text, bad = false) {
        $('live-state').textContent = text;
        $('live-state').classList.toggle('bad', bad);
    }

    // ---- Figures ----

    async fetchFigures() {
        try {
            const response = await fetch('/api/processes', { signal: AbortSignal.timeout(5000) });
            if (!response.ok) throw new Error(response.statusText);
            this.take(await response.json());
        } catch {
            this.say('The server does not answer.', true);
        }
    }

    take({ processes, default: preferred }) {
        const time = Date.now();
        for (const process of processes) {
            const key = `${process.pid}-${process.ticks}`,
                points = this.history.get(key) || [];
            points.push({ time, inuse: process.inuse_space, alloc: process.alloc_space });
            if (points.length > KEPT_POINTS) points.shift();
            this.history.set(key, points);
        }
        const live = new Set(processes.map((process) => `${process.pid}-${process.ticks}`));
        for (const key of this.history.keys()) if (!live.has(key) && key !== this.key) this.history.delete(key);
        this.processes = processes;
        this.sayIdle(processes.length === 0 && this.profiles.length === 0);
        if (!this.pid && processes.length) this.choose(preferred || processes[0].pid);
        this.list();
        this.show(processes.find((process) => process.pid === this.pid));
    }

    /** Nothing is there, nor was: how to begin. */
    sayIdle(idle) {
        document.body.classList.toggle('idle', idle);
        $('idle').hidden = !idle;
        // The page may have been asked for a process that is gone; the next one is to be shown.
        if (idle) this.pid = 0;
    }

    list() {
        const select = $('live-process'),
            pids = this.processes.map(({ pid }) => pid);
        const entries = this.processes.map(({ pid, name }) => [pid, `${pid} ${name}`]);
        if (this.pid && !pids.includes(this.pid)) entries.push([this.pid, `${this.pid} (ended)`]);
        const text = JSON.stringify(entries);
        if (text !== this.listed) {
            select.replaceChildren(...entries.map(([pid, name]) => new Option(name, pid)));
            this.listed = text;
        }
        select.value = this.pid || '';
    }

    show(process) {
        if (!process) {
            this.say(this.pid ? 'The process has ended.' : '', true);
        } else {
            const key = `${process.pid}-${process.ticks}`;
            if (this.key && this.key !== key) this.forget(); // another one with that number
            this.key = key;
            const points = this.history.get(key),
                before = points[Math.max(0, points.length - 6)],
                now = points[points.length - 1];
            const speed = now.time > before.time ? ((now.alloc - before.alloc) * 1000) / (now.time - before.time) : 0;
            const mark = process.inuse_mark,
                words = { '≈': ['about ', ', estimated'], '≥': ['at least ', ', at least'] }[mark] || ['', ''];
            this.charts[0].title = `Bytes in use${words[1]}`;
            $('live-inuse').textContent = mark + formatValue(process.inuse_space, 'bytes');
            $('live-inuse').title =
                `${words[0]}${formatExact(process.inuse_space, 'bytes')}, ${formatExact(process.inuse_objects, 'blocks')}`;
            $('live-alloc').textContent = formatValue(process.alloc_space, 'bytes');
            $('live-alloc').title =
                `${formatExact(process.alloc_space, 'bytes')}, ${formatExact(process.alloc_objects, 'blocks')}`;
            $('live-speed').textContent = `${formatValue(Math.round(speed), 'bytes')}/s`;
            $('live-age').textContent = formatValue(process.age_seconds * 1e9, 'ns');
            document.title = `${process.name} ${process.pid} – cprof`;
            this.sayRange(process);
        }
        this.drawCharts();
    }

    sayRange(process) {
        if (this.range)
            this.say(`What changed from ${clock(this.range.from)} to ${this.range.to ? clock(this.range.to) : 'now'}`);
        else if (!process.complete) this.say('Incomplete: part of its records can not be seen from outside.', true);
        else this.say('Drag over a chart to compare two moments.');
    }

    drawCharts() {
        const range = this.range && { from: this.range.from.time, to: this.range.to?.time };
        for (const chart of this.charts) chart.set(this.history.get(this.key) || [], range);
    }

    // ---- Profiles ----

    forget() {
        this.profiles = [];
        this.range = null;
        this.shown = null;
        this.key = null;
        $('live-whole').hidden = true;
    }

    choose(pid) {
        if (pid !== this.pid) this.forget();
        this.pid = pid;
        const links = { heap: '', allocs: '', delta: '&seconds=10', text: '&debug=1' };
        for (const [name, more] of Object.entries(links))
            $(`live-${name}`).href =
                `/debug/pprof/${name === 'heap' || name === 'text' ? 'heap' : 'allocs'}?pid=${pid}${more}`;
        history.replaceState(null, '', `/?pid=${pid}`);
        const process = this.processes?.find((one) => one.pid === pid);
        if (process) this.show(process);
        this.fetchProfile();
    }

    async fetchProfile() {
        const { pid } = this;
        const ended = this.processes && !this.processes.some((one) => one.pid === pid);
        if (!pid || ended || this.paused || document.hidden || this.fetching === pid) return;
        this.fetching = pid;
        try {
            const response = await fetch(`/api/flame?pid=${pid}`, { signal: AbortSignal.timeout(20000) });
            if (response.ok) {
                const text = await response.text();
                if (pid === this.pid && !this.paused) this.keep(text);
            }
        } catch {
            // That the server is gone is told where the figures are fetched.
        }
        if (this.fetching === pid) this.fetching = 0;
    }

    keep(text) {
        this.profiles.push({ time: Date.now(), text });
        this.thin();
        if (!this.range?.to) this.render();
    }

    /** Of older ones every other goes when they become too many. */
    thin() {
        const size = () => this.profiles.reduce((sum, { text }) => sum + text.length, 0);
        while (this.profiles.length > 8 && size() > KEPT_CHARACTERS) {
            const half = this.profiles.length / 2;
            this.profiles = this.profiles.filter(
                (profile, i) => i % 2 === 0 || i > half || profile === this.range?.from || profile === this.range?.to,
            );
        }
    }

    /** Two moments of a chart to be compared; `to` 0: the newest, always. */
    pick(from, to) {
        if (this.profiles.length === 0) return;
        const range = { from: nearest(this.profiles, from), to: to ? nearest(this.profiles, to) : null };
        if (range.to === range.from) range.to = null;
        this.setRange(range);
    }

    setRange(range) {
        this.range = range;
        $('live-whole').hidden = !range;
        const process = this.processes?.find((one) => one.pid === this.pid);
        if (process) this.show(process);
        else this.drawCharts();
        this.render();
    }

    render() {
        const newest = this.profiles[this.profiles.length - 1],
            to = this.range?.to || newest;
        if (!newest || (this.shown?.to === to && this.shown?.from === this.range?.from)) return;
        const from = this.range?.from,
            data = JSON.parse(to.text);
        this.shown = { to, from };
        if (!from) {
            replaceProfile(this.app, data);
            return;
        }
        const changed = difference(JSON.parse(from.text), data);
        replaceProfile(this.app, { ...changed, file: `${data.file} at ${clock(to)}`, base: clock(from), comments: [] });
    }
}

window.live = new Live(window.cprof); // for the console
