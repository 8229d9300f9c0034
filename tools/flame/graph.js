// SPDX-License-Identifier: Apache-2.0
// The graph: a canvas that always fills its window, drawn anew for what is in view. Only frames wide enough to be seen
// are ever looked at: children are ordered by width, so what follows a narrow one is narrower.

const NARROWEST = 0.6; // pixels
const PADDING = 5;

class Graph {
    /** `on`: {hover(node, event), select(node), zoom(node)}, node -1 being none. */
    constructor(model, colors, on) {
        this.model = model;
        this.colors = colors;
        this.on = on;
        this.scroller = document.getElementById('scroll');
        this.canvas = document.getElementById('canvas');
        this.spacer = document.getElementById('height');
        this.context = this.canvas.getContext('2d', { alpha: false });
        this.zoomed = 0;
        this.selected = -1;
        this.hovered = -1;
        this.found = null;
        this.row = matchMedia('(pointer: coarse)').matches ? 26 : 20;
        const family = getComputedStyle(document.documentElement).getPropertyValue('--mono');
        this.font = `${this.row > 20 ? 12.5 : 12}px ${family}`;
        this.listen();
        new ResizeObserver(() => this.resize()).observe(this.scroller);
    }

    listen() {
        const canvas = this.canvas;
        this.scroller.addEventListener(
            'scroll',
            () => {
                this.setHovered(-1);
                this.request();
            },
            { passive: true },
        );
        canvas.addEventListener('pointermove', (event) => {
            if (event.pointerType !== 'touch') this.setHovered(this.at(event), event);
        });
        canvas.addEventListener('pointerleave', () => this.setHovered(-1));
        canvas.addEventListener('pointerdown', (event) => {
            this.pointer = event.pointerType;
        });
        canvas.addEventListener('click', (event) => {
            const node = this.at(event);
            // A finger has no hovering: the first tap tells, the second zooms.
            if (node >= 0 && (this.pointer !== 'touch' || node === this.selected)) this.on.zoom(node);
            this.on.select(node);
        });
    }

    setLayout(layout) {
        this.layout = layout;
        this.measure();
    }

    setZoomed(node) {
        this.zoomed = node;
        this.setHovered(-1);
        this.measure();
        this.revealZoomed();
    }

    /** What the zoomed frame called is what was asked for, so there must be room for that below it. */
    revealZoomed() {
        const y = this.model.depth[this.zoomed] * this.row,
            top = y - this.scroller.scrollTop;
        if (top < this.row || top > this.height * 0.4) this.scroller.scrollTop = y - 3 * this.row;
    }

    setSelected(node) {
        this.selected = node;
        if (node >= 0) this.reveal(node);
        this.request();
    }

    setFound(found) {
        this.found = found;
        this.request();
    }

    setHovered(node, event) {
        if (node !== this.hovered) {
            this.hovered = node;
            this.request();
        }
        this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
        this.on.hover(node, event);
    }

    resize() {
        const { clientWidth: width, clientHeight: height } = this.scroller;
        if (!width || !height || !this.layout) return;
        const ratio = devicePixelRatio || 1;
        this.width = width;
        this.height = height;
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        this.canvas.style.height = `${height}px`;
        this.setHovered(-1);
        this.measure();
        this.revealZoomed();
        this.draw();
    }

    /** Pixels for one unit of value. */
    get scale() {
        const whole = this.layout.width[this.zoomed];
        return whole > 0 ? this.width / whole : 0;
    }

    /** Calls back for the zoomed frame and each below it that can be seen: (node, x, width), and for each frame whose
     * children are too narrow, with -1, (x, width) of those and their parent. `lowest`: no rows below that. */
    visit(lowest, each) {
        const { first, children, width } = this.layout,
            { depth } = this.model,
            scale = this.scale;
        const nodes = [this.zoomed],
            places = [0];
        if (scale === 0) return;
        while (nodes.length > 0) {
            const node = nodes.pop();
            let x = places.pop();
            each(node, x, width[node] * scale);
            if (depth[node] >= lowest) continue;
            for (let k = first[node], wide; k < first[node + 1]; k++, x += wide) {
                wide = width[children[k]] * scale;
                if (wide < NARROWEST) {
                    let rest = 0;
                    for (; k < first[node + 1] && rest < 4000; k++) rest += width[children[k]] * scale;
                    if (rest >= NARROWEST / 2) each(-1, x, rest, node);
                    break;
                }
                nodes.push(children[k]);
                places.push(x);
            }
        }
    }

    /** How high it all is. */
    measure() {
        let deepest = this.model.depth[this.zoomed];
        if (!this.width) return;
        this.visit(Infinity, (node, x, wide, parent) => {
            deepest = Math.max(deepest, node >= 0 ? this.model.depth[node] : this.model.depth[parent] + 1);
        });
        const high = (deepest + 2) * this.row,
            zoomed = (this.model.depth[this.zoomed] - 3) * this.row;
        this.spacer.style.height = `${Math.max(0, high - this.height, zoomed)}px`;
        this.request();
    }

    request() {
        this.pending ||= requestAnimationFrame(() => this.draw());
    }

    draw() {
        if (this.pending) cancelAnimationFrame(this.pending);
        this.pending = 0;
        if (!this.layout || !this.width) return;
        const { context: c, row } = this,
            ratio = devicePixelRatio || 1;
        const top = this.scroller.scrollTop,
            lowest = Math.floor((top + this.height) / row);
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        c.fillStyle = this.colors.panel;
        c.fillRect(0, 0, this.width, this.height);
        c.font = this.font;
        c.textBaseline = 'middle';
        this.letter ||= c.measureText('0'.repeat(100)).width / 100;
        for (let at = this.model.parent[this.zoomed]; at >= 0; at = this.model.parent[at])
            this.drawFrame(at, 0, this.width, top, true);
        this.visit(lowest, (node, x, wide, parent) => {
            if (node >= 0) {
                this.drawFrame(node, x, wide, top, false);
            } else {
                c.fillStyle = this.colors.rest;
                c.fillRect(x, (this.model.depth[parent] + 1) * row - top, wide, row - 1);
            }
        });
        this.drawMarks(top);
        performance.mark('cprof-drawn');
    }

    drawFrame(node, x, wide, top, above) {
        const { context: c, row } = this,
            y = this.model.depth[node] * row - top;
        if (y + row < 0 || y > this.height) return;
        const found = this.found && node > 0 && this.found[this.model.frame[node]];
        c.globalAlpha = above ? 0.55 : 1;
        c.fillStyle = found
            ? this.colors.found
            : this.found && node > 0
              ? this.colors.rest
              : this.colors.of(node, this.layout);
        c.fillRect(x, y, wide > 3 ? wide - 1 : wide, row - 1);
        if (this.model.inlined(node) && wide > 6) {
            c.fillStyle = this.colors.frameText;
            c.globalAlpha *= 0.35;
            for (let dot = y + 2; dot < y + row - 3; dot += 4) c.fillRect(x, dot, 1.5, 2);
            c.globalAlpha = above ? 0.55 : 1;
        }
        if (wide > 26) this.drawText(node, x, y, wide, this.found && !found && node > 0);
        c.globalAlpha = 1;
    }

    drawText(node, x, y, wide, faded) {
        const { context: c, row } = this;
        const room = Math.floor((Math.min(wide, this.width) - 2 * PADDING) / this.letter);
        let text = this.model.name(node),
            value = '';
        if (text.length > room) text = text.replace(/(?<=.)\(.*$/s, '');
        if (text.length > room) text = room > 2 ? `${text.slice(0, room - 1)}…` : '';
        else value = formatValue(this.layout.total[node], this.layout.unit, this.model.differs && node > 0);
        c.fillStyle = node === 0 || faded ? this.colors.text : this.colors.frameText;
        const alpha = c.globalAlpha * (faded ? 0.6 : 1),
            middle = y + row / 2;
        c.globalAlpha = alpha;
        if (this.model.inlined(node)) c.font = `italic ${this.font}`;
        c.fillText(text, x + PADDING, middle, wide - 2 * PADDING);
        if (this.model.inlined(node)) c.font = this.font;
        if (value && text.length + value.length + 2 <= room) {
            c.globalAlpha = alpha * 0.6;
            c.fillText(value, x + PADDING + (text.length + 2) * this.letter, middle);
        }
        c.globalAlpha = alpha;
    }

    drawMarks(top) {
        const c = this.context;
        for (const [node, color, thick] of [
            [this.hovered, this.colors.text, 1.5],
            [this.selected, this.colors.accent, 2],
        ]) {
            const box = node >= 0 && this.box(node);
            if (!box) continue;
            c.strokeStyle = color;
            c.lineWidth = thick;
            c.strokeRect(box.x + 0.5, box.y - top + 0.5, Math.max(box.width - 2, 1), this.row - 2);
        }
    }

    isAbove(node) {
        return node < this.zoomed && this.model.end[node] > this.zoomed;
    }

    /** Where a frame is, y being counted from the top of it all; null if it is not in what is zoomed to. */
    box(node) {
        const { depth, end } = this.model,
            { start, width } = this.layout,
            y = depth[node] * this.row;
        if (this.isAbove(node)) return { x: 0, y, width: this.width };
        if (node < this.zoomed || node >= end[this.zoomed]) return null;
        return { x: (start[node] - start[this.zoomed]) * this.scale, y, width: width[node] * this.scale };
    }

    /** The frame that an event is on, or -1. */
    at(event) {
        const rect = this.canvas.getBoundingClientRect(),
            x = event.clientX - rect.left;
        const depth = Math.floor((event.clientY - rect.top + this.scroller.scrollTop) / this.row);
        return this.layout && this.scale > 0 ? this.nodeAt(x, depth) : -1;
    }

    nodeAt(x, depth) {
        const { first, children, start, width } = this.layout,
            zoomed = this.zoomed;
        let node = zoomed;
        if (depth < this.model.depth[zoomed]) return depth < 0 ? -1 : this.model.path(zoomed)[depth];
        const value = start[zoomed] + x / this.scale;
        while (this.model.depth[node] < depth) {
            let low = first[node],
                high = first[node + 1]; // the last child that starts at or before the value
            while (high - low > 1) {
                const middle = (low + high) >> 1;
                if (start[children[middle]] <= value) low = middle;
                else high = middle;
            }
            const child = children[low];
            if (low >= first[node + 1] || value >= start[child] + width[child] || width[child] * this.scale < NARROWEST)
                return -1;
            node = child;
        }
        return node;
    }

    /** Scrolls so that a frame's row is in view. */
    reveal(node) {
        const y = this.model.depth[node] * this.row,
            view = this.scroller;
        if (y < view.scrollTop + this.row) view.scrollTop = y - 2 * this.row;
        else if (y + 2 * this.row > view.scrollTop + this.height) view.scrollTop = y + 3 * this.row - this.height;
    }

    /** The frame that an arrow key leads to from the selected one. */
    neighbour(key) {
        const { first, children, width } = this.layout,
            { parent } = this.model;
        const node = this.selected >= 0 ? this.selected : this.zoomed;
        if (this.selected < 0) return node;
        if (key === 'ArrowUp') return parent[node] >= 0 ? parent[node] : node;
        if (key === 'ArrowDown')
            return first[node] < first[node + 1] && width[children[first[node]]] > 0 ? children[first[node]] : node;
        if (node === 0) return node;
        const siblings = children.subarray(first[parent[node]], first[parent[node] + 1]);
        const next = siblings[siblings.indexOf(node) + (key === 'ArrowRight' ? 1 : -1)];
        return next !== undefined && width[next] > 0 ? next : node;
    }
}
