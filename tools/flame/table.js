// SPDX-License-Identifier: Apache-2.0
// The table of functions. There are rows for what is in view only.

class Table {
    /** `on`: {choose(frame)}. */
    constructor(model, on) {
        this.model = model;
        this.on = on;
        this.element = document.getElementById('table');
        this.view = document.getElementById('rows');
        this.body = document.getElementById('rows-height');
        this.sort = 'own';
        this.frames = [];
        this.active = -1; // a frame
        this.filter = null;
        for (const button of this.element.querySelectorAll('[data-sort]'))
            button.addEventListener('click', () => this.setSort(button.dataset.sort));
        this.view.addEventListener('scroll', () => this.render(), { passive: true });
        this.element.addEventListener('keydown', (event) => this.key(event));
        this.body.addEventListener('click', (event) => {
            const row = event.target.closest('[role="row"]');
            if (row) this.choose(Number(row.dataset.frame));
        });
        new ResizeObserver(() => this.render()).observe(this.view);
    }

    setLayout(layout) {
        this.layout = layout;
        this.update();
    }

    setFilter(found) {
        this.filter = found;
        this.view.scrollTop = 0;
        this.update();
    }

    setSort(sort) {
        this.sort = sort;
        this.view.scrollTop = 0;
        this.update();
    }

    setActive(frame) {
        this.active = frame;
        this.reveal();
        this.render();
    }

    update() {
        const { own, total } = this.layout.functions(),
            { model, filter } = this,
            size = Math.abs;
        const frames = [];
        for (let f = 0; f < model.frameCount; f++)
            if ((total[f] !== 0 || own[f] !== 0) && (!filter || filter[f])) frames.push(f);
        const order = {
            own: (a, b) => size(own[b]) - size(own[a]) || size(total[b]) - size(total[a]) || a - b,
            total: (a, b) => size(total[b]) - size(total[a]) || size(own[b]) - size(own[a]) || a - b,
        }[this.sort];
        if (order) frames.sort(order);
        else this.sortByName(frames);
        this.frames = frames;
        for (const button of this.element.querySelectorAll('[data-sort]')) {
            const kind = button.dataset.sort === 'name' ? 'ascending' : 'descending';
            button.parentElement.setAttribute('aria-sort', button.dataset.sort === this.sort ? kind : 'none');
        }
        this.element.setAttribute('aria-rowcount', frames.length + 1);
        this.reveal();
        this.render();
    }

    sortByName(frames) {
        const names = new Map(frames.map((f) => [f, this.model.frameName(f).toLowerCase()]));
        frames.sort((a, b) => {
            const one = names.get(a),
                two = names.get(b);
            return one < two ? -1 : one > two ? 1 : a - b;
        });
    }

    get row() {
        return matchMedia('(max-width: 760px)').matches ? 36 : 28;
    }

    reveal() {
        const at = this.frames.indexOf(this.active),
            { view, row } = this;
        if (at < 0) return;
        if (at * row < view.scrollTop) view.scrollTop = at * row;
        else if ((at + 1) * row > view.scrollTop + view.clientHeight)
            view.scrollTop = (at + 1) * row - view.clientHeight;
    }

    render() {
        if (!this.layout || !this.view.clientHeight) return;
        const { row, view, frames } = this;
        const first = Math.max(0, Math.floor(view.scrollTop / row) - 5);
        const last = Math.min(frames.length, Math.ceil((view.scrollTop + view.clientHeight) / row) + 5);
        const { own, total } = this.layout.functions();
        this.body.style.height = `${frames.length * row}px`;
        this.body.replaceChildren(
            ...frames.slice(first, last).map((frame, i) => {
                const element = document.createElement('div');
                element.role = 'row';
                element.id = `row-${frame}`;
                element.dataset.frame = frame;
                element.style.top = `${(first + i) * row}px`;
                element.setAttribute('aria-rowindex', first + i + 2);
                element.setAttribute('aria-selected', frame === this.active);
                element.classList.toggle('active', frame === this.active);
                element.append(this.number(own[frame]), this.number(total[frame]), this.function(frame));
                return element;
            }),
        );
        if (document.getElementById(`row-${this.active}`))
            this.element.setAttribute('aria-activedescendant', `row-${this.active}`);
        else this.element.removeAttribute('aria-activedescendant');
    }

    number(value) {
        const whole = this.layout.width[0],
            cell = document.createElement('div'),
            part = document.createElement('small');
        cell.role = 'gridcell';
        cell.className = 'number';
        cell.style.setProperty('--part', `${whole ? Math.min(100, (100 * Math.abs(value)) / whole) : 0}%`);
        cell.title = formatExact(value, this.layout.unit);
        part.textContent = formatPercent(value, whole);
        cell.append(formatValue(value, this.layout.unit, this.model.differs), part);
        return cell;
    }

    function(frame) {
        const cell = document.createElement('div'),
            file = document.createElement('small');
        cell.role = 'gridcell';
        cell.className = 'function';
        cell.title = this.model.frameName(frame);
        file.textContent = baseName(this.model.frameFile(frame) || this.model.frameModule(frame));
        cell.append(this.model.frameName(frame), file);
        return cell;
    }

    choose(frame) {
        this.setActive(frame);
        this.on.choose(frame);
    }

    key(event) {
        const page = Math.max(1, Math.floor(this.view.clientHeight / this.row) - 1),
            last = this.frames.length - 1;
        const at = this.frames.indexOf(this.active);
        const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last }[
            event.key
        ];
        if (event.target !== this.element || last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
        if (to !== undefined) this.setActive(this.frames[Math.min(Math.max(to, 0), last)]);
        else if (event.key === 'Enter' && at >= 0) this.choose(this.active);
        else return;
        event.preventDefault();
        event.stopPropagation();
    }
}
