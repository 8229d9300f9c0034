// SPDX-License-Identifier: Apache-2.0
// A line over time. Times are milliseconds, as Date.now() has them.

const CHART = { left: 74, right: 10, top: 18, bottom: 18, window: 600e3, least: 60e3 };

class Chart {
    /** `on`: {hover(time or 0), pick(from, to)}; `title` says what it is, `value(point)` is what is drawn. */
    constructor(canvas, title, value, on) {
        this.canvas = canvas;
        this.context = canvas.getContext('2d');
        this.title = title;
        this.value = value;
        this.on = on;
        this.points = [];
        this.range = null;
        this.hovered = 0;
        this.pressed = null;
        this.listen();
        new ResizeObserver(() => this.draw()).observe(canvas);
    }

    listen() {
        const { canvas } = this;
        canvas.addEventListener('pointerdown', (event) => {
            if (event.button !== 0) return;
            this.pressed = { from: this.timeAt(event), x: event.clientX };
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener('pointermove', (event) => {
            if (this.pressed) this.pressed.to = this.timeAt(event);
            this.on.hover(this.timeAt(event));
        });
        canvas.addEventListener('pointerleave', () => this.on.hover(0));
        canvas.addEventListener('pointercancel', () => (this.pressed = null));
        canvas.addEventListener('pointerup', (event) => {
            const pressed = this.pressed;
            this.pressed = null;
            if (!pressed || this.points.length === 0) return;
            const to = this.timeAt(event);
            if (Math.abs(event.clientX - pressed.x) < 4) this.on.pick(pressed.from, 0);
            else this.on.pick(Math.min(pressed.from, to), Math.max(pressed.from, to));
        });
    }

    set(points, range) {
        this.points = points;
        this.range = range;
        this.draw();
    }

    hover(time) {
        this.hovered = time;
        this.draw();
    }

    /** First and last time that are shown. */
    get span() {
        const last = this.points.length ? this.points[this.points.length - 1].time : Date.now();
        const first = this.points.length ? this.points[0].time : last;
        return [last - Math.max(CHART.least, Math.min(CHART.window, last - first)), last];
    }

    timeAt(event) {
        const rect = this.canvas.getBoundingClientRect(),
            [first, last] = this.span;
        const part = (event.clientX - rect.left - CHART.left) / (rect.width - CHART.left - CHART.right);
        return first + Math.min(1, Math.max(0, part)) * (last - first);
    }

    draw() {
        const { canvas, context: c } = this,
            ratio = devicePixelRatio || 1,
            width = canvas.clientWidth,
            height = canvas.clientHeight;
        if (!width || !height) return;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        c.clearRect(0, 0, width, height);
        const style = getComputedStyle(document.documentElement);
        this.colors = Object.fromEntries(
            ['text', 'muted', 'line', 'accent', 'bar'].map((name) => [
                name,
                style.getPropertyValue(`--${name}`).trim(),
            ]),
        );
        const [first, last] = this.span,
            shown = this.points.filter((point) => point.time >= first - 2000),
            highest = niceAbove(Math.max(2, ...shown.map(this.value)));
        const x = (time) => CHART.left + ((time - first) / (last - first)) * (width - CHART.left - CHART.right);
        const y = (value) => height - CHART.bottom - (value / highest) * (height - CHART.top - CHART.bottom);
        c.font = '11px system-ui, sans-serif';
        this.drawScale(width, height, highest, y);
        this.drawRange(x, height);
        this.drawLine(shown, x, y);
        this.drawHovered(shown, x, y, width);
        canvas.setAttribute('aria-label', this.describe());
    }

    drawScale(width, height, highest, y) {
        const { context: c, colors } = this,
            [first, last] = this.span;
        c.fillStyle = colors.text;
        c.textBaseline = 'middle';
        c.textAlign = 'left';
        c.fillText(this.title, CHART.left, 8);
        if (this.points.length === 0) return;
        c.fillStyle = colors.muted;
        c.strokeStyle = colors.line;
        c.lineWidth = 1;
        c.textAlign = 'right';
        for (const part of [0, 0.5, 1]) {
            const at = Math.round(y(part * highest)) + 0.5;
            c.beginPath();
            c.moveTo(CHART.left, at);
            c.lineTo(width - CHART.right, at);
            c.stroke();
            c.fillText(formatValue(part * highest, 'bytes'), CHART.left - 6, at);
        }
        const low = height - CHART.bottom / 2 + 1;
        c.fillText('now', width - CHART.right, low);
        c.textAlign = 'left';
        c.fillText(`${formatValue((last - first) * 1e6, 'ns')} ago`, CHART.left, low);
    }

    drawRange(x, height) {
        const { context: c, colors } = this,
            [first, last] = this.span;
        const range = this.pressed?.to ? { from: this.pressed.from, to: this.pressed.to } : this.range;
        if (!range) return;
        const from = x(Math.max(first, Math.min(range.from, range.to || last))),
            to = x(Math.min(last, Math.max(range.from, range.to || last)));
        c.fillStyle = colors.bar;
        c.fillRect(from, CHART.top, Math.max(1, to - from), height - CHART.top - CHART.bottom);
    }

    drawLine(shown, x, y) {
        const { context: c, colors } = this;
        if (shown.length === 0) return;
        c.beginPath();
        shown.forEach((point, i) =>
            c[i ? 'lineTo' : 'moveTo'](Math.max(CHART.left, x(point.time)), y(this.value(point))),
        );
        c.strokeStyle = colors.accent;
        c.lineWidth = 1.6;
        c.lineJoin = 'round';
        c.stroke();
        const end = shown[shown.length - 1];
        c.beginPath();
        c.arc(x(end.time), y(this.value(end)), 2.6, 0, 7);
        c.fillStyle = colors.accent;
        c.fill();
    }

    drawHovered(shown, x, y, width) {
        const { context: c, colors } = this;
        if (!this.hovered || shown.length === 0) return;
        const point = nearest(shown, this.hovered),
            at = Math.round(x(point.time)) + 0.5;
        c.strokeStyle = colors.muted;
        c.lineWidth = 1;
        c.beginPath();
        c.moveTo(at, CHART.top);
        c.lineTo(at, y(0));
        c.stroke();
        c.beginPath();
        c.arc(at, y(this.value(point)), 3, 0, 7);
        c.fillStyle = colors.text;
        c.fill();
        c.textAlign = 'right';
        const time = new Date(point.time).toLocaleTimeString();
        c.fillText(`${formatValue(this.value(point), 'bytes')} at ${time}`, width - CHART.right, 8);
    }

    describe() {
        const { points } = this;
        if (points.length === 0) return `${this.title}: nothing yet`;
        const [a, b] = [points[0], points[points.length - 1]].map((point) => formatValue(this.value(point), 'bytes'));
        return `${this.title}: from ${a} to ${b}`;
    }
}

/** The next value that is 1, 2 or 5 times a power of ten of a binary unit. */
function niceAbove(value) {
    const unit = 1024 ** Math.floor(Math.log(value) / Math.log(1024));
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((size) => size * unit >= value);
    return (step || 1024) * unit;
}

/** The entry, of some in the order of their times, whose time is the nearest. */
function nearest(entries, time) {
    let best = entries[0];
    for (const entry of entries) if (Math.abs(entry.time - time) <= Math.abs(best.time - time)) best = entry;
    return best;
}
