// SPDX-License-Identifier: Apache-2.0
// What is known of the profile and does not change with what is looked at.

const $ = (id) => document.getElementById(id);

function showLegend(colors) {
    $('legend').replaceChildren(
        ...colors.legend().map(([color, text]) => {
            const item = document.createElement('li'),
                sample = document.createElement('i');
            sample.style.background = color;
            item.append(sample, text);
            return item;
        }),
    );
}

/** What does not change: names, values to choose from, what is known of the profile. */
function describe(model) {
    const { data, types } = model;
    $('program').textContent = $('program').title = model.wholeName();
    $('file').textContent = baseName(data.file) + (data.base ? ` ${MINUS} ${baseName(data.base)}` : '');
    $('file').title = data.base ? `${data.file} ${MINUS} ${data.base}` : data.file;
    $('help-base').hidden = !model.differs;
    types.forEach((type, i) => {
        const button = document.createElement('button'),
            option = document.createElement('option');
        button.type = 'button';
        button.role = 'radio';
        button.dataset.type = i;
        button.textContent = option.textContent = type.name;
        button.title = `${formatExact(type.sum, type.unit)} (${i + 1})`;
        option.value = String(i);
        $('types').append(button);
        $('types-narrow').append(option);
    });
    const note = [...data.comments, ...data.notes].join(' · ');
    $('comment').textContent =
        note || types.map((type) => `${type.name} ${formatExact(type.sum, type.unit)}`).join(' · ');
    describeFacts(model);
}

function describeFacts(model) {
    const { data, types } = model,
        facts = [];
    const time = Number(data.time) > 0 && new Date(Number(data.time) / 1e6);
    facts.push(['Program', data.program], ['Build id', data.buildId], ['File', data.file], ['Subtracted', data.base]);
    facts.push(['Begun', time && !Number.isNaN(time.getTime()) ? time.toLocaleString() : '']);
    facts.push(['Duration', Number(data.duration) > 0 ? formatValue(Number(data.duration), 'ns') : '']);
    facts.push(['Sampled every', Number(data.period) > 0 ? formatValue(Number(data.period), data.periodUnit) : '']);
    facts.push(['Samples', formatExact(data.samples, '')]);
    for (const type of types) facts.push([type.name, formatExact(type.sum, type.unit)]);
    for (const text of data.comments) facts.push(['Comment', text]);
    for (const text of data.notes) facts.push(['Shown', text]);
    facts.push(['Page by', `cprof ${data.cprof}`]);
    $('facts').replaceChildren(
        ...facts
            .filter(([, text]) => text)
            .map(([name, text]) => {
                const row = document.createElement('div'),
                    term = document.createElement('dt'),
                    value = document.createElement('dd');
                term.textContent = name;
                value.textContent = text;
                row.append(term, value);
                return row;
            }),
    );
}
