// SPDX-License-Identifier: Apache-2.0
// The page: what is chosen, and who is told.

class App {
    constructor(data) {
        this.model = new Model(data);
        this.colors = new Colors(this.model);
        this.graph = new Graph(this.model, this.colors, {
            hover: (node, event) => this.hover(node, event),
            select: (node) => this.select(node),
            zoom: (node) => this.zoom(node),
        });
        this.table = new Table(this.model, { choose: (frame) => this.showFunction(frame) });
        this.zoomed = 0;
        this.selected = -1;
        this.match = -1;
        describe(this.model);
        this.listen();
        this.setTheme(this.savedTheme());
        this.setView(innerWidth >= 1100 ? 'both' : 'graph');
        this.setType(data.type);
        this.graph.resize();
    }

    // ---- What is shown ----

    setType(type) {
        this.type = type;
        this.layout = this.model.layout(type);
        for (const button of $('types').children) this.check(button, Number(button.dataset.type) === type);
        $('types-narrow').value = String(type);
        this.graph.setLayout(this.layout);
        this.table.setLayout(this.layout);
        this.search();
        this.showPath();
        this.showDetails();
        const nothing = this.layout.width[0] === 0;
        $('empty').hidden = !nothing;
        $('empty').textContent = this.model.data.loading
            ? 'The profile is being loaded.'
            : this.model.count === 1
              ? 'There are no samples in this profile.'
              : `There is no ${this.model.types[type].name} in this profile.`;
        this.say(`${this.model.types[type].name}: ${formatValue(this.layout.total[0], this.layout.unit)}`);
    }

    zoom(node) {
        this.zoomed = node;
        this.graph.setZoomed(node);
        this.showPath();
        this.showFound();
        this.showDetails();
    }

    goBack(node) {
        this.select(-1);
        this.zoom(node);
    }

    select(node) {
        this.selected = node;
        this.graph.setSelected(node);
        this.showDetails();
        if (node >= 0) this.say(this.sentence(node));
    }

    setView(view) {
        document.body.dataset.view = view;
        for (const button of $('views').children) this.check(button, button.dataset.view === view);
        this.graph.resize();
        this.table.render();
    }

    check(button, on) {
        button.setAttribute('aria-checked', on);
        button.tabIndex = on ? 0 : -1;
    }

    savedTheme() {
        try {
            return localStorage.getItem('cprof-theme');
        } catch {
            return null; // not allowed here; then it is as the system has it
        }
    }

    setTheme(theme) {
        const dark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
        this.theme = theme;
        document.documentElement.dataset.theme = dark ? 'dark' : 'light';
        this.colors.setTheme(dark);
        showLegend(this.colors);
        this.graph.request();
    }

    toggleTheme() {
        const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
        this.setTheme(theme);
        try {
            localStorage.setItem('cprof-theme', theme);
        } catch {
            // It is not remembered, that is all.
        }
    }

    // ---- Searching ----

    search() {
        const query = $('query').value;
        this.found = query ? this.model.find(query) : null;
        this.only = -1;
        this.match = -1;
        this.table.setFilter(this.found);
        this.showFound();
    }

    /** One function, chosen in the table: all its frames are marked, the widest is gone to. */
    showFunction(frame) {
        if (this.only !== frame) {
            this.found = new Uint8Array(this.model.frameCount);
            this.found[frame] = 1;
            this.only = frame;
            this.match = -1;
        }
        if (document.body.dataset.view === 'table') this.setView(innerWidth >= 1100 ? 'both' : 'graph');
        this.showFound();
        if (this.share.nodes.length === 0 && this.zoomed !== 0) this.zoom(0);
        this.step(1);
    }

    showFound() {
        this.graph.setFound(this.found);
        $('found').hidden = !this.found;
        if (!this.found) return;
        const share = (this.share = this.layout.share(this.found, this.zoomed)),
            whole = this.layout.width[0];
        const name = this.only >= 0 ? `${this.model.frameName(this.only)}: ` : '';
        const count = share.nodes.length;
        const at = this.match >= 0 && count > 1 ? `${this.match + 1} of ` : '';
        $('found-text').textContent =
            count === 0
                ? `${name}nothing found${this.zoomed ? ' here' : ''}`
                : `${name}${formatValue(share.total, this.layout.unit, this.model.differs)}, ` +
                  `${formatPercent(share.total, whole)} of all, in ${at}${count} ${count === 1 ? 'frame' : 'frames'}`;
        $('found-text').title = $('found-text').textContent;
        $('previous').disabled = $('next').disabled = count === 0;
    }

    /** Goes to another of the frames found, and closer if it could hardly be seen. */
    step(by) {
        const nodes = this.found ? this.share.nodes : [];
        if (nodes.length === 0) return;
        const match = this.match < 0 && by < 0 ? nodes.length - 1 : (this.match + by + nodes.length) % nodes.length;
        const node = nodes[match],
            box = this.graph.box(node);
        if (this.graph.width && box && box.width < 12) {
            const close = this.model.path(node).find((at) => this.layout.width[at] * 0.04 <= this.layout.width[node]);
            this.zoom(close);
            this.match = this.share.nodes.indexOf(node);
            if (this.match < 0) this.match = match;
        } else {
            this.match = match;
        }
        this.select(node);
        this.showFound();
    }

    clearSearch() {
        $('query').value = '';
        this.search();
    }

    // ---- Texts ----

    valueText(value) {
        const part = formatPercent(value, this.layout.width[0]);
        return `${formatValue(value, this.layout.unit, this.model.differs)} (${part})`;
    }

    sentence(node) {
        const mark = this.model.inlined(node) ? ', inlined' : '';
        const total = this.valueText(this.layout.total[node]);
        return `${this.model.name(node)}${mark}: ${total}, itself ${this.valueText(this.layout.own[node])}`;
    }

    hover(node, event) {
        const tip = $('tip');
        if (node < 0 || !event) {
            tip.hidden = true;
            return;
        }
        const line = (tag, text, name = '') => {
            const element = document.createElement(tag);
            element.textContent = text;
            element.className = name;
            return element;
        };
        const { total, own, width, unit } = this.layout,
            parts = [line('b', this.model.name(node))];
        const self = own[node] && own[node] !== total[node] ? `, self ${this.valueText(own[node])}` : '';
        parts.push(line('div', this.valueText(total[node]) + self, 'values'));
        if (this.zoomed > 0 && !this.graph.isAbove(node) && node !== this.zoomed)
            parts.push(
                line(
                    'small',
                    `${formatPercent(total[node], width[this.zoomed])} of ${this.model.name(this.zoomed).slice(0, 60)}`,
                ),
            );
        for (const text of [
            formatExact(total[node], unit),
            this.model.place(node),
            this.model.module(node),
            this.model.inlined(node) && 'inlined into its caller',
        ])
            if (text) parts.push(line('small', text));
        tip.replaceChildren(...parts);
        tip.hidden = false;
        const { offsetWidth: wide, offsetHeight: high } = tip;
        const x = Math.min(event.clientX + 14, innerWidth - wide - 8),
            below = event.clientY + 18;
        const y = below + high + 8 > innerHeight ? Math.max(8, event.clientY - high - 12) : below;
        tip.style.transform = `translate(${Math.max(8, x)}px, ${y}px)`;
    }

    showDetails() {
        const node = this.selected >= 0 ? this.selected : this.zoomed,
            { layout, model } = this;
        const module = model.module(node);
        $('d-name').textContent = $('d-name').title = model.name(node);
        $('d-name').parentElement.classList.toggle('inlined', model.inlined(node));
        $('d-place').textContent = $('d-place').title =
            [model.place(node), module && node > 0 ? module : ''].filter(Boolean).join(' · ') ||
            (node === 0 ? `${model.types[this.type].name}, all of it` : '');
        $('d-total').textContent = this.valueText(layout.total[node]);
        $('d-own').textContent = this.valueText(layout.own[node]);
        $('d-total').title = formatExact(node === 0 ? model.types[this.type].sum : layout.total[node], layout.unit);
        $('d-own').title = formatExact(layout.own[node], layout.unit);
        $('d-zoom').disabled = node === this.zoomed;
    }

    showPath() {
        const crumbs = this.model.path(this.zoomed).map((node) => {
            const item = document.createElement('li'),
                button = document.createElement('button');
            button.type = 'button';
            button.textContent = button.title = this.model.name(node);
            if (node === this.zoomed) button.setAttribute('aria-current', 'location');
            button.addEventListener('click', () => this.goBack(node));
            item.append(button);
            return item;
        });
        $('reset').hidden = this.zoomed === 0;
        $('crumbs').replaceChildren(...crumbs);
        this.showEndOfPath();
    }

    showEndOfPath() {
        $('crumbs').parentElement.scrollLeft = $('crumbs').parentElement.scrollWidth;
    }

    say(text) {
        $('say').textContent = text;
        this.graph.canvas.setAttribute(
            'aria-label',
            `${this.model.types[this.type].name} of ${this.model.wholeName()}. ${text}`,
        );
    }

    // ---- What the user does ----

    listen() {
        $('types').addEventListener(
            'click',
            ({ target }) => target.dataset.type && this.setType(Number(target.dataset.type)),
        );
        $('types-narrow').addEventListener('change', ({ target }) => this.setType(Number(target.value)));
        $('views').addEventListener('click', ({ target }) => target.dataset.view && this.setView(target.dataset.view));
        for (const group of [$('types'), $('views')])
            group.addEventListener('keydown', (event) => this.moveInGroup(group, event));
        $('query').addEventListener('input', () => this.search());
        $('search').addEventListener('submit', (event) => {
            event.preventDefault();
            this.step(1);
        });
        $('previous').addEventListener('click', () => this.step(-1));
        $('next').addEventListener('click', () => this.step(1));
        $('clear').addEventListener('click', () => this.clearSearch());
        $('reset').addEventListener('click', () => this.goBack(0));
        addEventListener('resize', () => this.showEndOfPath());
        $('d-zoom').addEventListener('click', () => this.zoom(this.selected));
        $('theme').addEventListener('click', () => this.toggleTheme());
        $('about-open').addEventListener('click', () => $('about').showModal());
        $('comment').addEventListener('click', () => $('about').showModal());
        $('help-open').addEventListener('click', () => $('help').showModal());
        for (const id of ['about', 'help'])
            $(id).addEventListener('click', (event) => event.target === $(id) && $(id).close());
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.setTheme(this.theme));
        document.addEventListener('keydown', (event) => this.key(event));
    }

    moveInGroup(group, event) {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!by) return;
        const buttons = [...group.children],
            next = buttons[(buttons.indexOf(event.target) + by + buttons.length) % buttons.length];
        event.preventDefault();
        event.stopPropagation();
        next.focus();
        next.click();
    }

    key(event) {
        const typing = event.target.matches('input, select');
        if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
        if (event.key === 'Escape') this.escape();
        else if (typing) return;
        else if (event.key.startsWith('Arrow') && event.target.closest('.rows, dialog') === null)
            this.select(this.graph.neighbour(event.key));
        else if (event.key === 'Enter' && event.target.matches('button')) return;
        else if (event.key === 'Enter' && this.selected >= 0) this.zoom(this.selected);
        else if (!this.command(event.key)) return;
        event.preventDefault();
    }

    command(key) {
        const commands = {
            '/': () => ($('query').focus(), $('query').select()),
            n: () => this.step(1),
            N: () => this.step(-1),
            g: () => this.setView('graph'),
            b: () => this.setView('both'),
            t: () => this.setView('table'),
            d: () => this.toggleTheme(),
            i: () => $('about').showModal(),
            '?': () => $('help').showModal(),
            Backspace: () => this.zoomed > 0 && this.zoom(this.model.parent[this.zoomed]),
        };
        if (/^[1-9]$/.test(key) && Number(key) <= this.model.types.length) this.setType(Number(key) - 1);
        else if (Object.hasOwn(commands, key)) commands[key]();
        else return false;
        return true;
    }

    escape() {
        if (this.found) this.clearSearch();
        else if (this.zoomed > 0) this.zoom(0);
        else this.select(-1);
        if (document.activeElement === $('query')) $('query').blur();
    }
}

const data = JSON.parse($('profile').textContent);
window.cprof = new App(data); // for the console
