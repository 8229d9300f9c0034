// SPDX-License-Identifier: Apache-2.0
// Colours: the program's own functions are warm, those of libraries cool; beside a base what grew is red, what shrank
// blue.

function hash(text) {
    let value = 2166136261;
    for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return (value ^ (value >>> 15)) >>> 0;
}

class Colors {
    constructor(model) {
        this.model = model;
        this.setTheme(false);
    }

    setTheme(dark) {
        const style = getComputedStyle(document.documentElement);
        this.dark = dark;
        this.cache = [];
        for (const name of ['panel', 'rest', 'frame-text', 'edge', 'accent', 'text', 'muted'])
            this[name.replace(/-./, (at) => at[1].toUpperCase())] = style.getPropertyValue(`--${name}`).trim();
        this.found = dark ? 'hsl(262,62%,56%)' : 'hsl(265,95%,78%)';
    }

    /** What is of one source file looks alike, and functions are still told apart. */
    ofFunction(module, file, name) {
        const own = module === this.model.data.program;
        const hue = own ? 10 + (hash(file) % 40) : 158 + (hash(module) % 60) + (hash(file) % 44);
        const light = hash(name) % 11;
        return this.dark
            ? `hsl(${hue},${own ? 48 : 32}%,${31 + light}%)`
            : `hsl(${hue},${own ? 84 : 52}%,${70 + light}%)`;
    }

    ofChange(part) {
        const size = Math.abs(part),
            hue = part >= 0 ? 6 : 214;
        return this.dark
            ? `hsl(${hue},${Math.round(58 * size)}%,${Math.round(30 + 12 * size)}%)`
            : `hsl(${hue},${Math.round(80 * size)}%,${Math.round(88 - 14 * size)}%)`;
    }

    of(node, layout) {
        const { model } = this;
        if (node === 0) return this.rest;
        if (model.differs) return this.ofChange(layout.width[node] ? layout.total[node] / layout.width[node] : 0);
        const frame = model.frame[node];
        return (this.cache[frame] ||= this.ofFunction(
            model.frameModule(frame),
            model.frameFile(frame),
            model.frameName(frame),
        ));
    }

    legend() {
        if (this.model.differs)
            return [
                [this.ofChange(1), 'grew'],
                [this.ofChange(-1), 'shrank'],
                [this.ofChange(0), 'both, evenly'],
                [this.found, 'found'],
            ];
        return [
            [this.ofFunction(this.model.data.program, '', ''), 'the program'],
            [this.ofFunction('/lib', '', ''), 'libraries'],
            [this.found, 'found'],
            [this.rest, 'too narrow to show'],
        ];
    }
}
