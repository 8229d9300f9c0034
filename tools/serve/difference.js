// SPDX-License-Identifier: Apache-2.0
// Two profiles of one process into what changed between them, in the form that they have themselves.

class Tree {
    constructor() {
        this.children = new Map();
        this.own = null;
        this.about = null; // of the profile where it was met last
    }

    child(key) {
        let child = this.children.get(key);
        if (!child) this.children.set(key, (child = new Tree()));
        return child;
    }
}

/** Adds a profile's values to the tree, times `sign`. */
function addToTree(root, data, sign) {
    const path = [root];
    const add = (tree, i) => {
        tree.own ||= data.own.map(() => 0);
        for (let t = 0; t < data.own.length; t++) tree.own[t] += sign * data.own[t][i];
    };
    add(root, 0);
    for (let i = 0, depth = 0; i < data.frame.length; i++) {
        depth += data.deeper[i];
        const f = 3 * data.frame[i];
        const [name, file, module] = [0, 1, 2].map((k) => data.texts[data.frames[f + k]]);
        const tree = path[depth - 1].child([name, file, module, data.more[i] % 2].join('\u0000'));
        tree.about = { name, file, module, line: data.line[i], more: data.more[i] };
        add(tree, i + 1);
        path[depth] = tree;
    }
}

/** Takes out what didn't change, and has nothing below it that did. */
function prune(tree) {
    for (const [key, child] of tree.children) if (!prune(child)) tree.children.delete(key);
    return tree.children.size > 0 || tree.own.some((value) => value !== 0);
}

/** `from` and `to` are what /api/flame gives; the result is what changed from one to the other. */
function difference(from, to) {
    const root = new Tree(),
        texts = new Map([['', 0]]),
        frames = new Map();
    const data = { ...to, base: from.file, texts: [''], frames: [], deeper: [], frame: [], line: [], more: [] };
    const textOf = (text) => {
        if (!texts.has(text)) texts.set(text, data.texts.push(text) - 1);
        return texts.get(text);
    };
    const frameOf = ({ name, file, module }) => {
        const key = [name, file, module].join('\u0000');
        if (!frames.has(key)) {
            frames.set(key, data.frames.length / 3);
            data.frames.push(textOf(name), textOf(file), textOf(module));
        }
        return frames.get(key);
    };
    addToTree(root, from, -1);
    addToTree(root, to, 1);
    prune(root);
    data.own = root.own.map((value) => [value]);
    let last = 0;
    const write = (tree, depth) => {
        for (const child of tree.children.values()) {
            data.deeper.push(depth - last);
            last = depth;
            data.frame.push(frameOf(child.about));
            data.line.push(child.about.line);
            data.more.push(child.about.more);
            child.own.forEach((value, t) => data.own[t].push(value));
            write(child, depth + 1);
        }
    };
    write(root, 1);
    data.types = to.types.map((type, t) => ({ ...type, sum: String(BigInt(type.sum) - BigInt(from.types[t].sum)) }));
    data.time = from.time;
    data.duration = String(BigInt(to.time) - BigInt(from.time));
    return data;
}
