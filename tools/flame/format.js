// SPDX-License-Identifier: Apache-2.0
// Numbers for people.

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const NANOSECONDS = {
    nanoseconds: 1,
    ns: 1,
    microseconds: 1e3,
    us: 1e3,
    milliseconds: 1e6,
    ms: 1e6,
    seconds: 1e9,
    s: 1e9,
};
const TIME_STEPS = [
    [3600e9, 'h'],
    [60e9, 'min'],
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, 'µs'],
    [1, 'ns'],
];
const MINUS = '−';

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Three digits that say something, more for whole numbers. */
function digits(value) {
    const size = Math.abs(value);
    return value.toFixed(Number.isInteger(value) ? 0 : size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function scaleBytes(value) {
    let step = 0;
    while (value >= 1023.5 && step < BYTE_UNITS.length - 1) {
        value /= 1024;
        step++;
    }
    return `${step === 0 ? grouped.format(value) : digits(value)} ${BYTE_UNITS[step]}`;
}

function scaleTime(nanoseconds) {
    const [size, unit] = TIME_STEPS.find(([step]) => nanoseconds >= step) || [1, 'ns'];
    return `${digits(nanoseconds / size)} ${unit}`;
}

function scaleCount(value) {
    if (value < 1e5) return grouped.format(value);
    const [size, unit] = value >= 1e9 ? [1e9, 'G'] : value >= 1e6 ? [1e6, 'M'] : [1e3, 'k'];
    return `${digits(value / size)} ${unit}`;
}

/** A value in short. `signed`: a plus too. */
function formatValue(value, unit, signed = false) {
    const sign = value < 0 ? MINUS : signed && value > 0 ? '+' : '';
    const size = Math.abs(value);
    if (unit === 'bytes') return sign + scaleBytes(size);
    if (unit in NANOSECONDS) return sign + scaleTime(size * NANOSECONDS[unit]);
    return sign + scaleCount(size) + (unit && unit !== 'count' ? ` ${unit}` : '');
}

/** All its digits, those of a text that no number could hold as well. */
function formatExact(value, unit) {
    const text = typeof value === 'string' ? value : grouped.format(value).replace(/,/g, '');
    const negative = text.startsWith('-');
    const number = text.replace('-', '').replace(/\B(?=(\d{3})+$)/g, ',');
    return `${negative ? MINUS : ''}${number}${unit && unit !== 'count' ? ` ${unit}` : ''}`;
}

function formatPercent(value, total) {
    if (!total) return '0%';
    const percent = (100 * value) / total,
        size = Math.abs(percent);
    const text = size >= 99.95 || size === 0 ? percent.toFixed(0) : size >= 0.1 ? percent.toFixed(1) : '<0.1';
    return `${text.replace('-', MINUS)}%`;
}

function baseName(path) {
    return path.replace(/\/+$/, '').replace(/^.*\//, '') || path;
}
