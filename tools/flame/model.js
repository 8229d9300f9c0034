// SPDX-License-Identifier: Apache-2.0
// The profile: a tree of frames in arrays. Node 0 is the whole; each node is followed by those it called.

class Model {
    constructor(data) {
        const count = data.frame.length + 1;
        this.data = data;
        this.count = count;
        this.types = data.types;
        this.differs = data.base !== '';
        this.depth = new Int32Array(count);
        this.parent = new Int32Array(count).fill(-1);
        this.end = new Int32Array(count); // first node behind those below
        this.frame = new Int32Array(count).fill(-1);
        this.frame.set(data.frame, 1);
        this.frameCount = data.frames.length / 3;
        this.layouts = [];
        const path = [0];
        for (let i = 1; i < count; i++) {
            const depth = this.depth[i - 1] + data.deeper[i - 1];
            this.depth[i] = depth;
            this.parent[i] = path[depth - 1];
            path[depth] = i;
        }
        for (let i = count - 1; i >= 0; i--) {
            this.end[i] = Math.max(this.end[i], i + 1);
            if (i > 0) this.end[this.parent[i]] = Math.max(this.end[this.parent[i]], this.end[i]);
        }
    }

    frameName(frame) {
        return this.data.texts[this.data.frames[3 * frame]];
    }
    frameFile(frame) {
        return this.data.texts[this.data.frames[3 * frame + 1]];
    }
    frameModule(frame) {
        return this.data.texts[this.data.frames[3 * frame + 2]];
    }

    name(node) {
        return node === 0 ? this.wholeName() : this.frameName(this.frame[node]);
    }
    module(node) {
        return node === 0 ? this.data.program : this.frameModule(this.frame[node]);
    }
    inlined(node) {
        return node > 0 && this.data.more[node - 1] % 2 === 1;
    }
    wholeName() {
        return baseName(this.data.program || this.data.file);
    }

    /** "file.c:12", or a range of lines, as far as it is known. */
    place(node) {
        if (node === 0) return '';
        const file = this.frameFile(this.frame[node]);
        const line = this.data.line[node - 1],
            more = Math.floor(this.data.more[node - 1] / 2);
        return file + (file && line ? `:${line}${more ? `–${line + more}` : ''}` : '');
    }

    /** Nodes from the whole to this one. */
    path(node) {
        const path = [];
        for (let at = node; at >= 0; at = this.parent[at]) path.unshift(at);
        return path;
    }

    layout(type) {
        return (this.layouts[type] ||= new Layout(this, type));
    }

    /** Which frames a search finds: as a regular expression if it is one, else as it is written. */
    find(query) {
        let test;
        try {
            const pattern = new RegExp(query, 'i');
            test = (text) => pattern.test(text);
        } catch {
            test = (text) => text.toLowerCase().includes(query.toLowerCase());
        }
        const found = new Uint8Array(this.frameCount);
        for (let f = 0; f < found.length; f++) found[f] = test(this.frameName(f)) ? 1 : 0;
        return found;
    }
}

/** Where everything is for one type of value. Beside a base a node is as wide as what changed in it, up or down. */
class Layout {
    constructor(model, type) {
        const { count, parent } = model;
        this.model = model;
        this.type = type;
        this.unit = model.types[type].unit;
        this.own = Float64Array.from(model.data.own[type]);
        this.total = this.own.slice();
        this.width = this.own.map(Math.abs);
        for (let i = count - 1; i > 0; i--) {
            this.total[parent[i]] += this.total[i];
            this.width[parent[i]] += this.width[i];
        }
        this.order();
    }

    /** Node i has children[first[i]] up to first[i + 1], the widest first, side by side from its start. */
    order() {
        const { count, parent } = this.model,
            width = this.width;
        this.first = new Int32Array(count + 1);
        for (let i = 1; i < count; i++) this.first[parent[i] + 1]++;
        for (let i = 0; i < count; i++) this.first[i + 1] += this.first[i];
        this.children = new Int32Array(count - 1);
        this.start = new Float64Array(count);
        const next = this.first.slice();
        for (let i = 1; i < count; i++) this.children[next[parent[i]]++] = i;
        for (let i = 0; i < count; i++) {
            const from = this.first[i],
                to = this.first[i + 1];
            if (to - from > 1) this.children.subarray(from, to).sort((a, b) => width[b] - width[a] || a - b);
            let at = this.start[i];
            for (let k = from; k < to; k++) {
                this.start[this.children[k]] = at;
                at += width[this.children[k]];
            }
        }
    }

    /** For each frame what it owns and, each sample counted once, what it and all it called do. */
    functions() {
        if (this.table) return this.table;
        const { model } = this,
            { count, frame, depth } = model;
        const own = new Float64Array(model.frameCount),
            total = new Float64Array(model.frameCount);
        const open = new Int32Array(model.frameCount),
            path = [];
        for (let i = 1; i < count; i++) {
            while (path.length >= depth[i]) open[path.pop()]--;
            const f = frame[i];
            own[f] += this.own[i];
            if (open[f]++ === 0) total[f] += this.total[i];
            path.push(f);
        }
        return (this.table = { own, total });
    }

    /** What found frames below `top` stand for together, how many nodes they are, and the nodes, widest first. */
    share(found, top) {
        const { model, width } = this,
            nodes = [];
        let total = 0,
            wide = 0;
        for (let i = Math.max(top, 1), covered = 0; i < model.end[top]; i++) {
            if (!found[model.frame[i]] || width[i] === 0) continue;
            nodes.push(i);
            if (i < covered) continue;
            covered = model.end[i];
            total += this.total[i];
            wide += width[i];
        }
        return { total, wide, nodes: nodes.sort((a, b) => width[b] - width[a] || a - b) };
    }
}
