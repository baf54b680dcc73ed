// Generated from clients/js by `make bundle`. Edit the sources there.
var __defProp = Object.defineProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// dist/errors.js
var SpecError = class extends Error {
  name = "SpecError";
};
function quote(value) {
  let text;
  try {
    text = typeof value === "bigint" ? `${value}` : JSON.stringify(value) ?? String(value);
  } catch {
    text = `a value of type ${typeof value}`;
  }
  return text.length > 200 ? `${text.slice(0, 200)}… (${text.length} characters)` : text;
}
function refuse(field, wanted, value) {
  throw new SpecError(`${field} must be ${wanted}, not ${quote(value)}`);
}
function refuseSmall({ field, epsilon, k }) {
  throw new SpecError(`${field}=${epsilon} is too small to be realised with k=${k}: the probabilities round to equality`);
}

// dist/draws.js
var draws_exports = {};
__export(draws_exports, {
  again: () => again,
  bytes: () => bytes,
  has: () => has,
  hash: () => hash,
  hashed: () => hashed,
  histogram: () => histogram,
  ones: () => ones,
  plan: () => plan,
  sampled: () => sampled,
  seed: () => seed,
  size: () => size,
  subset: () => subset,
  symbol: () => symbol,
  table: () => table,
  unary: () => unary,
  uniform: () => uniform,
  width: () => width
});

// dist/exact.js
var WORD = 2n ** 64n;
var DIGITS = 80;
var BITS = 448n;
var ONE = 1n << BITS;
var SLACK = 10n ** 70n;
var of = (above, below2 = 1n) => [
  BigInt(above),
  BigInt(below2)
];
var add = ([a, b], [c, d]) => [a * d + c * b, b * d];
var subtract = ([a, b], [c, d]) => [a * d - c * b, b * d];
var multiply = ([a, b], [c, d]) => [a * c, b * d];
var divide = ([a, b], [c, d]) => [a * d, b * c];
var rest = ([a, b]) => [b - a, b];
var compare = ([a, b], [c, d]) => a * d - c * b;
var floor = ([a, b]) => a < 0n && a % b ? a / b - 1n : a / b;
var ceil = ([a, b]) => -floor([-a, b]);
var chance = (weight) => [weight, WORD];
function reduce([a, b]) {
  let [x, y] = [a < 0n ? -a : a, b];
  while (y)
    [x, y] = [y, x % y];
  return [a / x, b / x];
}
function nearest(x) {
  const whole = floor(x), more = compare(subtract(x, of(whole)), [1n, 2n]);
  return more > 0n || more === 0n && whole & 1n ? whole + 1n : whole;
}
function fraction(x) {
  let below2 = 1n;
  for (; !Number.isInteger(x); x *= 2)
    below2 *= 2n;
  return [BigInt(x), below2];
}
function double([a, b]) {
  const shift = BigInt(Math.max(0, b.toString(2).length - a.toString(2).length + 66));
  const scaled = (a << shift) / b;
  return Number(scaled | (scaled * b === a << shift ? 0n : 1n)) / 2 ** Number(shift);
}
function round([a, b]) {
  if (a <= 0n)
    return a ? negate(round([-a, b])) : [0n, 1n];
  let exponent = a.toString().length - b.toString().length - DIGITS;
  const scale = (e) => [a * ten(-e), b * ten(e)];
  if (compare(scale(exponent), [ten(DIGITS), 1n]) >= 0n)
    exponent++;
  return [nearest(scale(exponent)) * ten(exponent), ten(-exponent)];
}
var ten = (exponent) => exponent > 0 ? 10n ** BigInt(exponent) : 1n;
var negate = ([a, b]) => [-a, b];
function exponential([a, b]) {
  if (a < 0n)
    return divide([1n, 1n], exponential([-a, b]));
  const x = (a << BITS) / (b << 20n);
  let sum = ONE;
  for (let term = x, n = 2n; term; term = (term * x >> BITS) / n++)
    sum += term;
  for (let i = 0; i < 20; i++)
    sum = sum * sum >> BITS;
  return [sum, ONE];
}
function exp(x) {
  const value = round(exponential(round(x)));
  const times = (n) => multiply(value, [n, SLACK]);
  return { low: times(SLACK - 1n), high: times(SLACK + 1n) };
}
function ln(ratio2) {
  const [a, b] = round(ratio2);
  const shift = b.toString(2).length - a.toString(2).length;
  const near = double(shift > 0 ? [a << BigInt(shift), b] : [a, b << BigInt(-shift)]);
  const [c, d] = fraction(Math.log(near) - shift * Math.LN2);
  let y = (c << BITS) / d;
  for (let i = 0; i < 2; i++) {
    const [e, f] = exponential([y, ONE]);
    y += (a * f - e * b << BITS + 1n) / (a * f + e * b);
  }
  return round([y, ONE]);
}

// dist/blake2b.js
var IV = new Uint32Array([
  4089235720,
  1779033703,
  2227873595,
  3144134277,
  4271175723,
  1013904242,
  1595750129,
  2773480762,
  2917565137,
  1359893119,
  725511199,
  2600822924,
  4215389547,
  528734635,
  327033209,
  1541459225
]);
var SIGMA = [
  "0123456789abcdef",
  "ea489fd61c02b753",
  "b8c052fdae367194",
  "7931dcbe265a40f8",
  "905724afe1bc683d",
  "2c6a0b834d75fe19",
  "c51fed4a0763928b",
  "db7ec13950f4862a",
  "6fe9b308c2d714a5",
  "a2847615fb9e3cd0"
].map((row2) => Array.from(row2, (digit) => parseInt(digit, 16)));
var MIXED = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"].map((row2) => Array.from(row2, (digit) => 2 * parseInt(digit, 16)));
var BLOCK = 128;
var v = new Uint32Array(32);
var m = new Uint32Array(32);
function add2(a, b, x) {
  const low = v[a] + v[b] + (x === void 0 ? 0 : m[x]);
  v[a + 1] += v[b + 1] + (x === void 0 ? 0 : m[x + 1]) + Math.floor(low / 2 ** 32);
  v[a] = low;
}
function turn(a, b, bits2) {
  const low = v[a] ^ v[b], high = v[a + 1] ^ v[b + 1];
  const [from, to, n] = bits2 < 32 ? [low, high, bits2] : [high, low, bits2 - 32];
  v[a] = n ? from >>> n | to << 32 - n : from;
  v[a + 1] = n ? to >>> n | from << 32 - n : to;
}
function compress(h, block, end, last) {
  m.fill(0);
  block.forEach((byte, i) => m[i >> 2] |= byte << 8 * (i & 3));
  v.set(h);
  v.set(IV, 16);
  v[24] ^= end;
  if (last)
    v.set([~v[28], ~v[29]], 28);
  for (let round2 = 0; round2 < 12; round2++) {
    const order = SIGMA[round2 % 10];
    for (let i = 0; i < 8; i++) {
      const [a, b, c, d] = MIXED[i];
      add2(a, b, 2 * order[2 * i]);
      turn(d, a, 32);
      add2(c, d);
      turn(b, c, 24);
      add2(a, b, 2 * order[2 * i + 1]);
      turn(d, a, 16);
      add2(c, d);
      turn(b, c, 63);
    }
  }
  for (let i = 0; i < 16; i++)
    h[i] ^= v[i] ^ v[i + 16];
}
function blake2b(message, size2, key = new Uint8Array()) {
  const padded = key.length ? BLOCK : 0;
  const data = new Uint8Array(padded + message.length);
  data.set(key);
  data.set(message, padded);
  const h = IV.slice();
  h[0] ^= 16842752 ^ key.length << 8 ^ size2;
  let start = 0;
  for (; start + BLOCK < data.length; start += BLOCK) {
    compress(h, data.subarray(start, start + BLOCK), start + BLOCK, false);
  }
  compress(h, data.subarray(start), data.length, true);
  return new Uint8Array(new Uint32Array(h).buffer, 0, size2).slice();
}
var ascii = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));
var subkey = (key, purpose) => blake2b(ascii(purpose), 32, key);
var hex = (bytes2) => Array.from(bytes2, (byte) => byte.toString(16).padStart(2, "0")).join("");

// dist/chacha.js
var QUARTERS = [
  0,
  4,
  8,
  12,
  1,
  5,
  9,
  13,
  2,
  6,
  10,
  14,
  3,
  7,
  11,
  15,
  0,
  5,
  10,
  15,
  1,
  6,
  11,
  12,
  2,
  7,
  8,
  13,
  3,
  4,
  9,
  14
];
function chacha(key, nonce, block) {
  const start = new Uint32Array(16);
  start.set([1634760805, 857760878, 2036477234, 1797285236]);
  start.set(key, 4);
  start.set([block, block / 2 ** 32, nonce, nonce / 2 ** 32], 12);
  const x = start.slice();
  for (let i = 0; i < 320; i += 4) {
    const a = QUARTERS[i & 31], b = QUARTERS[(i & 31) + 1];
    const c = QUARTERS[(i & 31) + 2], d = QUARTERS[(i & 31) + 3];
    let t = x[d] ^ (x[a] += x[b]);
    x[d] = t << 16 | t >>> 16;
    t = x[b] ^ (x[c] += x[d]);
    x[b] = t << 12 | t >>> 20;
    t = x[d] ^ (x[a] += x[b]);
    x[d] = t << 8 | t >>> 24;
    t = x[b] ^ (x[c] += x[d]);
    x[b] = t << 7 | t >>> 25;
  }
  return x.map((word2, i) => word2 + start[i]);
}

// dist/source.js
var word = (source, address) => BigInt(source.number(address + 4, 4)) << 32n | BigInt(source.number(address, 4));
function keyed(key) {
  const words = new Uint32Array(key.slice().buffer);
  const parts = /* @__PURE__ */ new Map();
  let at = -1;
  let block = new Uint8Array();
  function byte(address) {
    const wanted = Math.floor(address / 64);
    if (wanted !== at) {
      block = new Uint8Array(chacha(words, 0, wanted).buffer);
      at = wanted;
    }
    return block[address % 64];
  }
  return {
    number(address, size2) {
      let number2 = 0;
      for (let i = size2; i--; )
        number2 = number2 * 256 + byte(address + i);
      return number2;
    },
    on(address) {
      let next = 0;
      let view;
      return () => {
        if (next % 8 === 0)
          view = new DataView(chacha(words, address + 1, next / 8).buffer);
        return view.getBigUint64(8 * (next++ % 8), true);
      };
    },
    part(name) {
      let part = parts.get(`${name}`);
      if (!part)
        parts.set(`${name}`, part = keyed(subkey(key, `${name}`)));
      return part;
    }
  };
}

// dist/draws.js
var HALF = 2n ** 32n;
var width = (k) => Math.ceil(k / 8);
var size = (m2) => m2 <= 256 ? 1 : m2 <= 65536 ? 2 : m2 <= 2 ** 32 ? 4 : 8;
function bytes(number2, length) {
  let left = BigInt(number2);
  return Uint8Array.from({ length }, () => {
    const byte = Number(left & 255n);
    left >>= 8n;
    return byte;
  });
}
function below(drawn, m2, bits2) {
  const range = 2 ** bits2;
  const product = BigInt(drawn) * BigInt(m2);
  const low = Number(product % BigInt(range));
  return low < range % m2 ? void 0 : Number(product >> BigInt(bits2));
}
function uniform(source, user, m2) {
  const on = source.on(4 * user);
  let found = below(source.number(4 * user, 4), m2, 32);
  while (found === void 0)
    found = below(Number(on() >> 32n), m2, 32);
  return found;
}
function uniformWord(source, address, m2) {
  const on = source.on(address);
  let drawn = word(source, address);
  while (drawn < WORD % m2)
    drawn = on();
  return drawn % m2;
}
function sampled(source, user, weights) {
  let left = word(source, 8 * user), j = 0;
  while (left >= weights[j])
    left -= weights[j++];
  return j;
}
var offset = (drawn, [own, other]) => drawn < own ? 0n : 1n + (drawn - own) / other;
function symbol(source, user, value, m2, weights) {
  const high = BigInt(source.number(4 * user, 4)) << 32n;
  let moved = offset(high, weights);
  if (moved !== offset(high | HALF - 1n, weights)) {
    moved = offset(high | source.on(4 * user)() >> 32n, weights);
  }
  return (value + Number(moved)) % m2;
}
var ones = (bits2) => {
  let count = 0;
  for (let left = bits2; left; left &= left - 1)
    count++;
  return count;
};
function table(weight) {
  const chances = Array.from({ length: 9 }, (_, n) => weight ** BigInt(n) * (WORD - weight) ** BigInt(8 - n) << 16n);
  const ends = new Uint32Array(256);
  for (let b = 0, end = 0; b < 256; b++)
    ends[b] = end += Number(chances[ones(b)] >> 512n);
  const digits = chances.map((each) => Array.from({ length: 8 }, (_, i) => (each >> BigInt(64 * (7 - i))) % WORD));
  return { ends, digits };
}
function eight(source, address, { ends, digits }) {
  const drawn = source.number(address, 2);
  let low = 0, high = 256;
  while (low < high) {
    const middle = low + high >> 1;
    if (ends[middle] > drawn)
      high = middle;
    else
      low = middle + 1;
  }
  if (low < 256)
    return low;
  for (const on = source.on(address); ; ) {
    const byte = Number(on() >> 56n);
    for (const digit of digits[ones(byte)]) {
      const next = on();
      if (next < digit)
        return byte;
      if (next > digit)
        break;
    }
  }
}
function row(source, address, k, bits2) {
  const found = Uint8Array.from({ length: width(k) }, (_, i) => eight(source, address + 2 * i, bits2));
  found[found.length - 1] &= 255 >> (-k & 7);
  return found;
}
function coin(source, address, weight) {
  const drawn = source.number(address, 2), digits = Number(weight >> 48n);
  if (drawn !== digits)
    return drawn < digits;
  return source.on(address)() >> 16n < weight % 2n ** 48n;
}
var has = (bits2, place) => (bits2[place >>> 3] >> (place & 7) & 1) === 1;
function put(bits2, place, bit) {
  bits2[place >>> 3] = bits2[place >>> 3] & ~(1 << (place & 7)) | +bit << (place & 7);
}
function unary(source, user, value, k, own, others) {
  const address = user * (2 * width(k) + 2), bits2 = row(source, address, k, others);
  if (value >= 0)
    put(bits2, value, coin(source, address + 2 * width(k), own));
  return bits2;
}
function again(source, user, permanent, k, half, noise2) {
  const w = width(k), address = user * (2 * w + (half ? w + (w & 1) : 0));
  return row(source, address, k, noise2).map((byte, i) => byte ^ permanent[i] & (half ? source.number(address + 2 * w + i, 1) : 255));
}
var FEW = 6;
function root(n) {
  let found = BigInt(Math.floor(Math.sqrt(Number(n))));
  while (found * found > n)
    found--;
  while ((found + 1n) * (found + 1n) <= n)
    found++;
  return found;
}
function plan(k, w) {
  const spread = Number(root(25n * BigInt(w) * BigInt(k - w) / BigInt(k)));
  let fewer = Number(floor([BigInt(spread) * BigInt(k - 2 * w), 4n * BigInt(k)]));
  if (Math.min(w, k - w) <= FEW)
    fewer = w <= FEW ? w : w - k;
  const enter = WORD * BigInt(w - fewer) / BigInt(k);
  const corrections = Math.floor(spread / 2) + 2 + Math.abs(fewer);
  return { k, w, corrections, bits: k <= 4096 ? 16 : 32, start: table(enter) };
}
function subset(source, user, value, own, { k, w, corrections, bits: bits2, start }) {
  const each = bits2 / 8, head = 2 * width(k) + 2, address = user * (head + each * corrections);
  const found = row(source, address, k, start);
  const held = value >= 0 && coin(source, address + head - 2, own);
  if (value >= 0)
    put(found, value, false);
  let missing = w - +held - found.reduce((sum, byte) => sum + ones(byte), 0);
  const adds = missing > 0, on = source.on(address + head);
  for (let used = 0; missing; used++) {
    const drawn = used < corrections ? source.number(address + head + each * used, each) : Number(on() >> BigInt(64 - bits2));
    const x = below(drawn, k, bits2);
    if (x === void 0 || x === value || has(found, x) === adds)
      continue;
    put(found, x, adds);
    missing += adds ? -1 : 1;
  }
  if (held)
    put(found, value, true);
  return found;
}
var seed = (source, address, prime) => uniformWord(source, address, BigInt(prime) * BigInt(prime - 1));
function hash(of2, value, prime, g) {
  const P = BigInt(prime);
  return Number(BigInt(g) * (((1n + of2 / P) * BigInt(value) + of2 % P) % P) / P);
}
function hashed(source, user, value, prime, g, weights) {
  const address = 16 * user, own = seed(source, address, prime);
  if (value < 0)
    return [own, Number(uniformWord(source, address + 8, BigInt(g)))];
  const moved = Number(offset(word(source, address + 8), weights));
  return [own, (hash(own, value, prime, g) + moved) % g];
}
function toss(next, gamma) {
  for (let run = 1; ; ) {
    const drawn = next(), choice = below(Number(drawn >> 32n), run, 32);
    if (choice === void 0)
      continue;
    if (choice || drawn % HALF >= gamma)
      return run % 2 === 1;
    run++;
  }
}
var LARGEST = 2 ** 31 - 1;
function noise(next, weight) {
  for (; ; ) {
    const drawn = next();
    let whole = drawn >> 32n;
    if (!toss(next, whole))
      continue;
    while (toss(next, HALF))
      whole += HALF;
    const large = whole / weight, amount = large > LARGEST ? LARGEST + 1 : Number(large);
    if (amount || !(drawn & 1n))
      return drawn & 1n ? -amount : amount;
  }
}
function histogram(source, user, value, k, weight) {
  const next = source.on(user);
  return Int32Array.from({ length: k }, (_, v2) => Math.max(-LARGEST, Math.min(LARGEST, noise(next, weight) + +(v2 === value))));
}

// dist/json.js
var Float = class {
  value;
  constructor(value) {
    this.value = value;
  }
};
var LONGEST = 2 ** 24;
var DEEPEST = 100;
var MOST_DIGITS = 4300;
var SPACE = /[ \t\n\r]*/y;
var NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
var WORDS = /* @__PURE__ */ new Map([["true", true], ["false", false], ["null", null]]);
function parse(text) {
  if (typeof text !== "string" || text.length >= LONGEST) {
    refuse("text", `a string of less than ${LONGEST} characters`, text);
  }
  let at = 0;
  function fail(why = "is not JSON") {
    throw new SpecError(`text ${why} at character ${at}: ${quote(text.slice(at, at + 30))}`);
  }
  function match(pattern) {
    pattern.lastIndex = at;
    const found2 = pattern.exec(text);
    if (found2)
      at = pattern.lastIndex;
    return found2;
  }
  function next(character) {
    match(SPACE);
    if (text[at] !== character)
      return false;
    at++;
    return true;
  }
  function string() {
    const start = at++;
    while (at < text.length && text[at] !== '"')
      at += text[at] === "\\" ? 2 : 1;
    try {
      return JSON.parse(text.slice(start, ++at));
    } catch {
      at = start;
      return fail();
    }
  }
  function items(end, read) {
    if (next(end))
      return;
    do
      read();
    while (next(","));
    if (!next(end))
      fail();
  }
  function value(depth) {
    if (depth > DEEPEST)
      fail(`is nested more than ${DEEPEST} deep`);
    if (next("{")) {
      const object = /* @__PURE__ */ new Map();
      items("}", () => {
        match(SPACE);
        const key = text[at] === '"' ? string() : fail();
        if (!next(":"))
          fail();
        if (object.has(key))
          fail(`has the key ${quote(key)} twice`);
        object.set(key, value(depth + 1));
      });
      return object;
    }
    if (next("[")) {
      const array = [];
      items("]", () => array.push(value(depth + 1)));
      return array;
    }
    if (text[at] === '"')
      return string();
    for (const [name, each] of WORDS) {
      if (text.startsWith(name, at)) {
        at += name.length;
        return each;
      }
    }
    const [digits, fraction2, exponent] = match(NUMBER) ?? fail();
    if (fraction2 ?? exponent)
      return new Float(Number(digits));
    if (digits.length > MOST_DIGITS)
      fail("has a number that is too long");
    const number2 = Number(digits);
    return Number.isSafeInteger(number2) ? number2 || 0 : BigInt(digits);
  }
  const found = value(0);
  match(SPACE);
  return at < text.length ? fail() : found;
}

// dist/canonical.js
function writeFloat(x) {
  if (Object.is(x, -0))
    return "-0.0";
  if (x < 0)
    return `-${writeFloat(-x)}`;
  const [digits, power2] = x.toExponential().split("e");
  const exponent = Number(power2);
  if (x && (exponent < -4 || exponent >= 16)) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const text = String(x);
  return Number.isInteger(x) ? `${text}.0` : text;
}
var writeString = (text) => JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
function write(value) {
  if (value instanceof Float)
    return writeFloat(value.value);
  if (Array.isArray(value))
    return `[${value.map(write).join(", ")}]`;
  return typeof value === "string" ? writeString(value) : String(value);
}

// dist/mechanism.js
var LARGEST_DOMAIN = 2 ** 32 - 5;
var fresh = (bytes2, label) => keyed(subkey(bytes2, label));
var forget = (mechanism2, record) => ({
  charges: [[0, null]],
  report: (bytes2) => mechanism2.draw(fresh(bytes2(0), mechanism2.label), 0, record)
});
var labelOf = (name, integers, budgets) => {
  const written = [
    ...Object.entries(integers).map(([field, each]) => `"${field}": ${each}`),
    ...Object.entries(budgets).map(([field, each]) => `"${field}": ${writeFloat(each)}`),
    `"protocol": "${name}"`
  ];
  return `{${written.sort().join(", ")}}`;
};
function integer(field, value, low, high) {
  const wanted = `an integer from ${low} to ${high}`;
  if (typeof value !== "number" || !Number.isInteger(value))
    return refuse(field, wanted, show(value));
  return value >= low && value <= high ? value : refuse(field, wanted, value);
}
function budget(field, value) {
  const number2 = value instanceof Float ? value.value : value;
  const found = typeof number2 === "bigint" ? Number(number2) : number2;
  if (typeof found === "number" && found > 0 && found < Infinity)
    return found;
  return refuse(field, "a finite number greater than 0", show(value));
}
var show = (value) => value instanceof Float ? value.value : value;
function entries(what, spec) {
  if (spec instanceof Map)
    return spec;
  if (typeof spec === "object" && spec && !Array.isArray(spec))
    return new Map(Object.entries(spec));
  return refuse(what, "an object", spec);
}
function requireFields(what, given, wanted) {
  const found = [...given.keys()];
  if (found.length !== wanted.length || !wanted.every((field) => given.has(field))) {
    throw new SpecError(`${what} must have the fields ${wanted.join(", ")}, not ${quote(found)}`);
  }
}

// dist/ranges.js
function nextPrime(k) {
  for (let prime = k; ; prime++) {
    let divisor = 2;
    while (divisor * divisor <= prime && prime % divisor)
      divisor++;
    if (divisor * divisor > prime)
      return prime;
  }
}
function bestRange(prime, excess) {
  const P = BigInt(prime), pairs = P * (P - 1n);
  const cost = (g, pair) => {
    const apart = multiply(rest(pair), excess);
    const top = multiply(add(of(1), multiply(pair, excess)), add(of(g - 1n), apart));
    return divide(top, multiply(apart, apart));
  };
  const even = (g) => cost(g, [P - g, g * (P - 1n)]);
  const exactCost = (g) => {
    const s2 = P / g, larger = P % g;
    return cost(g, [(g - larger) * s2 * (s2 - 1n) + larger * (s2 + 1n) * s2, pairs]);
  };
  let best;
  const consider = (g) => {
    const own = exactCost(g), order = best ? compare(own, best.cost) : -1n;
    if (!best || order < 0n || order === 0n && g < best.g)
      best = { g, cost: own };
  };
  const search = (s2) => {
    const least = P / (s2 + 1n) + 1n, low2 = least > 2n ? least : 2n, high2 = P / s2;
    consider(low2);
    consider(high2);
  };
  const mayWin = (g) => compare(even(g), best.cost) <= 0n;
  let low = 2n, high = P;
  while (high - low > 2n) {
    const middle = (low + high) / 2n;
    if (compare(even(middle), even(middle + 1n)) <= 0n)
      high = middle + 1n;
    else
      low = middle;
  }
  let near = low;
  for (let g = low + 1n; g <= high; g++)
    if (compare(even(g), even(near)) < 0n)
      near = g;
  const s = P / near;
  search(s);
  let below2 = P / (s + 1n), above = P / s + 1n;
  for (; below2 >= 2n && mayWin(below2); below2 = P / (P / below2 + 1n))
    search(P / below2);
  for (; above <= P && mayWin(above); above = P / (P / above) + 1n)
    search(P / above);
  return Number(best.g);
}

// dist/weights.js
var HALF2 = of(1, 2);
var exactly = (epsilon) => fraction(Math.min(epsilon, 1e3));
var power = (epsilon) => exp(exactly(epsilon)).low;
function symbolWeights(m2, budget2) {
  const other = ceil(divide(of(WORD), add(power(budget2.epsilon), of(m2 - 1))));
  const own = WORD - BigInt(m2 - 1) * other;
  return own <= other ? refuseSmall(budget2) : [own, other];
}
function bitWeights(p, q, budget2) {
  const own = floor(multiply(p, of(WORD))), other = ceil(multiply(q, of(WORD)));
  const kept = [own < WORD ? own : WORD - 1n, other > 0n ? other : 1n];
  return kept[0] <= kept[1] ? refuseSmall(budget2) : kept;
}
function symmetricWeights(budget2) {
  const root2 = exp(multiply(exactly(budget2.epsilon), HALF2)).low;
  const q = divide(of(1), add(root2, of(1)));
  return bitWeights(rest(q), q, budget2);
}
var optimizedWeights = (budget2) => bitWeights(HALF2, divide(of(1), add(power(budget2.epsilon), of(1))), budget2);
function thresholdWeights(budget2) {
  const half = multiply(exactly(budget2.epsilon), HALF2);
  const halved = (x) => multiply(exp(x).high, HALF2);
  const at = (theta) => [
    rest(halved(multiply(half, [theta - 2n ** 32n, 2n ** 32n]))),
    halved(multiply(half, [-theta, 2n ** 32n]))
  ];
  const cost = (theta) => {
    const [p, q] = at(theta), gap = subtract(p, q);
    return divide(multiply(q, rest(q)), multiply(gap, gap));
  };
  let low = 2n ** 31n, high = 2n ** 32n;
  while (high - low > 2n) {
    const third = (high - low) / 3n;
    if (compare(cost(low + third), cost(high - third)) <= 0n)
      high -= third;
    else
      low += third;
  }
  let threshold = low > 2n ** 31n ? low : low + 1n;
  for (let theta = threshold + 1n; theta <= high; theta++) {
    if (compare(cost(theta), cost(threshold)) < 0n)
      threshold = theta;
  }
  return { threshold, weights: bitWeights(...at(threshold), budget2) };
}
function setWeight(budget2) {
  const { epsilon, k } = budget2, e = power(epsilon);
  const spread = (w) => add(multiply(of(w), e), of(k - w));
  const cost = (w) => divide(multiply(spread(w), spread(w)), of(BigInt(w) * BigInt(k - w)));
  const near = Number(floor(divide(of(k), add(e, of(1)))));
  const [lower, upper] = [near, near + 1].map((w) => Math.min(Math.max(w, 1), k - 1));
  const omega = compare(cost(upper), cost(lower)) < 0n ? upper : lower;
  const own = floor(divide(multiply(of(WORD * BigInt(omega)), e), spread(omega)));
  const weight = own < WORD ? own : WORD - 1n;
  if (weight * BigInt(k) <= WORD * BigInt(omega))
    refuseSmall(budget2);
  return { omega, weight };
}
function noiseWeight({ field, epsilon }) {
  const weight = floor(multiply(exactly(epsilon), of(2n ** 31n)));
  if (weight <= 60n * 2n ** 32n / (2n ** 31n - 1n)) {
    throw new SpecError(`${field}=${epsilon} is too small to be realised: the noise would not fit into 32 bits`);
  }
  return weight;
}
function unreachable(epsilon, ratio2) {
  const most = double(ln(ratio2));
  throw new SpecError(`eps_1=${epsilon} has no second round: the permanent round leaves less than eps_1=${most}`);
}
function secondSymbols(m2, first, budget2) {
  const c = power(budget2.epsilon);
  const reached = multiply(add(c, of(m2 - 1)), chance(first[0] - first[1]));
  const gap = divide(subtract(c, of(1)), reached);
  if (compare(gap, of(1)) >= 0n)
    unreachable(budget2.epsilon, first);
  const other = ceil(divide(multiply(of(WORD), rest(gap)), of(m2)));
  const own = WORD - BigInt(m2 - 1) * other;
  return own <= other ? refuseSmall(budget2) : [own, other];
}
var bitRatio = (own, other) => divide(multiply(own, rest(other)), multiply(other, rest(own)));
function secondBits(first, half, budget2) {
  const c = power(budget2.epsilon);
  const ratio2 = (weight) => {
    const chances = throughBoth(first, [half ? WORD / 2n : WORD - weight, weight]);
    return bitRatio(...chances);
  };
  let low = 0n, high = WORD / 2n;
  if (compare(ratio2(low), c) <= 0n)
    unreachable(budget2.epsilon, ratio2(low));
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (compare(ratio2(middle), c) <= 0n)
      high = middle;
    else
      low = middle;
  }
  if (high === WORD / 2n)
    refuseSmall(budget2);
  return [half ? WORD / 2n : WORD - high, high];
}
function throughBoth(first, second) {
  const through = (weight) => [
    weight * second[0] + (WORD - weight) * second[1],
    WORD * WORD
  ];
  return [through(first[0]), through(first[1])];
}

// dist/rounds.js
var ratio = (of2) => ({ ratio: of2 });
var same = (low) => [low, low];
function concat(...parts) {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
function symbols(k, own) {
  const weights = symbolWeights(k, own), length = size(k);
  return {
    bytes: length,
    constants: { weights },
    loss: ratio(weights),
    fake: () => ({ uniform: true, lows: same([BigInt(k) * weights[1], WORD]) }),
    draw: (source, user, value) => bytes(symbol(source, user, value, k, weights), length)
  };
}
function bits(k, constants) {
  const { weights } = constants, [p, q] = [chance(weights[0]), chance(weights[1])];
  const odds = bitRatio(p, q);
  let others;
  const low = (m2) => [
    BigInt(k) * odds[1],
    BigInt(m2) * odds[0] + BigInt(k - m2) * odds[1]
  ];
  return {
    bytes: width(k),
    constants,
    loss: ratio(odds),
    fake: (zero) => zero ? { uniform: false, lows: same(divide(rest(p), rest(q))) } : { uniform: true, lows: [low(k - 1), low(1)] },
    draw: (source, user, value) => unary(source, user, value, k, weights[0], others ??= table(weights[1]))
  };
}
function sets(own) {
  const { k } = own, { omega, weight } = setWeight(own);
  const p = chance(weight), without = multiply(rest(p), of(k, k - omega));
  let how;
  return {
    bytes: width(k),
    constants: { weights: [weight], omega },
    loss: ratio(divide(multiply(p, of(k, omega)), without)),
    fake: () => ({ uniform: true, lows: same(without) }),
    draw: (source, user, value) => subset(source, user, value, weight, how ??= plan(k, omega))
  };
}
var pack = (prime, g, [function_, sent]) => concat(bytes(function_, size(BigInt(prime) * BigInt(prime - 1))), bytes(sent, size(g)));
function hashing(g, own) {
  const prime = nextPrime(own.k), weights = symbolWeights(g, own);
  return {
    bytes: pack(prime, g, [0n, 0]).length,
    constants: { weights, g, prime },
    loss: ratio(weights),
    fake: () => ({ uniform: false, lows: same([BigInt(g) * weights[1], WORD]) }),
    draw: (source, user, value) => pack(prime, g, hashed(source, user, value, prime, g, weights))
  };
}
function bestSymbols(own) {
  const excess = subtract(power(own.epsilon), of(1));
  if (compare(multiply(excess, of(WORD)), of(1)) < 0n)
    refuseSmall(own);
  return bestRange(nextPrime(own.k), excess);
}
function hadamard(own) {
  const rows = 2 ** (32 - Math.clz32(own.k)), length = size(rows);
  const [keep] = symbolWeights(2, { ...own, k: 2 });
  const p = chance(keep), coin2 = [keep, WORD - keep];
  return {
    bytes: length,
    constants: { weights: [keep, WORD / 2n] },
    loss: ratio(divide(p, rest(p))),
    fake: () => ({ uniform: false, lows: same(multiply(of(2), rest(p))) }),
    draw(source, user, value) {
      const line = value + 1;
      let index = uniform(source.part("index"), user, rows);
      const odd = symbol(source.part("parity"), user, 0, 2, coin2);
      if (ones(index & line) % 2 !== odd)
        index ^= line & -line;
      return bytes(index >>> 0, length);
    }
  };
}
function histograms(own) {
  const weight = noiseWeight(own);
  return {
    bytes: 4 * own.k,
    constants: { weights: [weight] },
    loss: { log: [2n * weight, 2n ** 32n] },
    draw: (source, user, value) => new Uint8Array(histogram(source, user, value, own.k, weight).buffer)
  };
}

// dist/memoized.js
function memoized(k, label, memory) {
  const { first, second, again: addNoise } = memory;
  const one = memory.draw ?? ((source, user, value) => addNoise(source.part("report"), user, first.draw(source.part("permanent"), user, value)));
  return {
    label,
    bytes: first.bytes,
    ks: [k],
    constants: second ? { ...first.constants, second } : first.constants,
    accounts: 1,
    loss: (_, lifetime) => lifetime ? first.loss : memory.loss,
    one,
    draw: (source, user, [value]) => one(source, user, value),
    recall(own, [value]) {
      const [memoClass, permanent] = memory.remember(own, value);
      return {
        charges: [[0, memoClass]],
        permanent,
        report: (bytes_) => addNoise(fresh(bytes_(0), label).part("report"), 0, permanent)
      };
    }
  };
}
function chain(name, given, make) {
  const k = integer("k", given.k, 2, LARGEST_DOMAIN);
  const eps_perm = budget("eps_perm", given.eps_perm), eps_1 = budget("eps_1", given.eps_1);
  return memoized(k, labelOf(name, { k }, { eps_perm, eps_1 }), make({ field: "eps_perm", epsilon: eps_perm, k }, { field: "eps_1", epsilon: eps_1, k }));
}
var symbolLoss = (first, second) => {
  const [p, q] = throughBoth(first, second);
  return ratio(divide(p, q));
};
function longSymbols(own, alone) {
  const { k } = own, first = symbols(k, own);
  const weights = first.constants.weights, second = secondSymbols(k, weights, alone);
  return {
    first,
    second,
    loss: symbolLoss(weights, second),
    again: (source, user, permanent) => bytes(symbol(source, user, number(permanent), k, second), permanent.length),
    remember: (memory, value) => [value, first.draw(memory, value, value)]
  };
}
var number = (of2) => of2.reduceRight((sum, byte) => 256 * sum + byte, 0);
function longBits(first, half, { field, epsilon, k }) {
  if (!Number.isSafeInteger(k * (2 * width(k) + 2))) {
    refuse("k", "small enough for addresses below 2^53", k);
  }
  const weights = first.constants.weights;
  const second = secondBits(weights, half, { field, epsilon, k });
  let noise2;
  return {
    first,
    second,
    loss: ratio(bitRatio(...throughBoth(weights, second))),
    again: (source, user, permanent) => again(source, user, permanent, k, half, noise2 ??= table(second[1])),
    remember: (memory, value) => [value, first.draw(memory, value, value)]
  };
}
function longHashing(g, own, alone) {
  const first = hashing(g, own), { prime } = first.constants;
  const weights = first.constants.weights, second = secondSymbols(g, weights, alone);
  return {
    first,
    second,
    loss: symbolLoss(weights, second),
    again(source, user, permanent) {
      const edge = permanent.length - size(g), kept = number(permanent.subarray(edge));
      const sent = symbol(source, user, kept, g, second);
      return concat(permanent.subarray(0, edge), bytes(sent, size(g)));
    },
    remember(memory, value) {
      const function_ = seed(memory.part("seed"), 0, prime);
      const bucket = hash(function_, value, prime, g);
      const kept = symbol(memory.part("symbol"), bucket, bucket, g, weights);
      return [bucket, pack(prime, g, [function_, kept])];
    }
  };
}
function heldBits(k, b, d, weights) {
  const [p, q] = [chance(weights[0]), chance(weights[1])];
  let tables;
  const make = () => tables ??= [plan(b, d), table(weights[1])];
  function hold(source, user) {
    if (d < b)
      return subset(source, user, -1, 0n, make()[0]);
    const all = new Uint8Array(width(b)).fill(255);
    all[all.length - 1] &= 255 >> (-b & 7);
    return all;
  }
  function rank(held, value) {
    const bucket = Number(BigInt(value) * BigInt(b) / BigInt(k));
    if (!has(held, bucket))
      return -1;
    let before = 0;
    for (let place = 0; place < bucket; place++)
      before += +has(held, place);
    return before;
  }
  const answer = (source, user, own) => unary(source, user, own, d, weights[0], make()[1]);
  const alone = () => {
    const [up, down] = [divide(p, q), divide(rest(q), rest(p))];
    return compare(up, down) > 0n ? up : down;
  };
  const loss = ratio(d === 1 ? alone() : bitRatio(p, q));
  const draw = (source, user, value) => {
    const held = hold(source.part("positions"), user);
    return concat(held, answer(source.part("bits"), user, rank(held, value)));
  };
  return {
    first: { bytes: width(b) + width(d), constants: { weights }, loss, draw },
    loss,
    draw,
    again: (_, __, permanent) => permanent,
    remember(memory, value) {
      const held = hold(memory.part("positions"), 0), own = rank(held, value);
      return [own + 1, concat(held, answer(memory.part("bits"), own + 1, own))];
    }
  };
}
var LGRR = (given) => chain("LGRR", given, longSymbols);
var longUnary = (name, weights, half) => (given) => chain(name, given, (own, alone) => longBits(bits(own.k, { weights: weights(own) }), half, alone));
var LSUE = longUnary("LSUE", symmetricWeights, false);
var LOSUE = longUnary("LOSUE", optimizedWeights, false);
var LOUE = longUnary("LOUE", optimizedWeights, true);
var LSOUE = longUnary("LSOUE", symmetricWeights, true);
var LBLH = (given) => chain("LBLH", given, (own, alone) => longHashing(2, own, alone));
var LOLH = (given) => chain("LOLH", given, (own, alone) => longHashing(bestSymbols(alone), own, alone));
function DBitFlipPM(given) {
  const k = integer("k", given.k, 2, LARGEST_DOMAIN);
  const epsilon = budget("eps_perm", given.eps_perm);
  const b = integer("b", given.b ?? k, 2, LARGEST_DOMAIN);
  const d_bits = integer("d_bits", given.d_bits ?? b, 1, LARGEST_DOMAIN);
  if (b > k)
    refuse("b", `at most k=${k}, the number of values`, b);
  if (d_bits > b)
    refuse("d_bits", `at most b=${b}, the number of buckets`, d_bits);
  if (!Number.isSafeInteger((d_bits + 1) * (2 * width(d_bits) + 2))) {
    refuse("d_bits", "small enough for addresses below 2^53", d_bits);
  }
  const weights = symmetricWeights({ field: "eps_perm", epsilon, k });
  const label = labelOf("DBitFlipPM", { k, b, d_bits }, { eps_perm: epsilon });
  return memoized(k, label, heldBits(k, b, d_bits, weights));
}

// dist/protocols.js
function oneShot(name, given, make, largest2 = LARGEST_DOMAIN) {
  const k = integer("k", given.k, 2, largest2), epsilon = budget("epsilon", given.epsilon);
  const round2 = make({ field: "epsilon", epsilon, k });
  const protocol = {
    ...round2,
    label: labelOf(name, { k }, { epsilon }),
    ks: [k],
    accounts: 1,
    loss: (_, lifetime) => lifetime ? null : round2.loss,
    one: round2.draw,
    draw: (source, user, [value]) => round2.draw(source, user, value),
    recall: (_, record) => forget(protocol, record)
  };
  return protocol;
}
var GRR = (given) => oneShot("GRR", given, (own) => symbols(own.k, own));
var SUE = (given) => oneShot("SUE", given, (own) => bits(own.k, { weights: symmetricWeights(own) }));
var OUE = (given) => oneShot("OUE", given, (own) => bits(own.k, { weights: optimizedWeights(own) }));
var THE = (given) => oneShot("THE", given, (own) => bits(own.k, thresholdWeights(own)));
var BLH = (given) => oneShot("BLH", given, (own) => hashing(2, own));
var OLH = (given) => oneShot("OLH", given, (own) => hashing(bestSymbols(own), own));
var SS = (given) => oneShot("SS", given, sets);
var SHE = (given) => oneShot("SHE", given, histograms, 2 ** 28);
var HR = (given) => oneShot("HR", given, hadamard, 2 ** 31 - 1);

// dist/random.js
var generator = globalThis.crypto?.getRandomValues?.bind(globalThis.crypto);
function randomBytes() {
  if (!generator) {
    throw new Error('crypto.getRandomValues is missing: in React Native, import "react-native-get-random-values"');
  }
  const bytes2 = new Uint8Array(32);
  generator(bytes2);
  return bytes2;
}
function recordOf({ ks }, value) {
  const record = [value].flat();
  const fits = (each, j) => Number.isInteger(each) && each >= 0 && each < ks[j];
  if (record.length === ks.length && record.every(fits))
    return record;
  throw new SpecError(`value must be below k=${ks.join(", ")}, not ${quote(value)}`);
}
function randomize(mechanism2, value) {
  const { label } = mechanism2, record = recordOf(mechanism2, value);
  if (mechanism2.loss(false, true)) {
    throw new SpecError(`permanent answers need a Client, not randomize: ${label}`);
  }
  return mechanism2.draw(fresh(randomBytes(), label), 0, record);
}

// dist/privacy.js
var logarithm = (loss) => "log" in loss ? loss.log : ln(loss.ratio);
var largest = (all) => all.reduce((most, each) => compare(each, most) > 0n ? each : most);
function combine(losses, together) {
  const ratios = losses.flatMap((each) => "ratio" in each ? [each.ratio] : []);
  if (ratios.length === losses.length) {
    return { ratio: reduce(together ? ratios.reduce(multiply) : largest(ratios)) };
  }
  const logs = losses.map(logarithm);
  return { log: fraction(double(together ? logs.reduce(add) : largest(logs))) };
}
function hidden(attribute, attributes) {
  const pieces = attributes.map(({ ratio: ratio2, share, fake }) => ({
    ratio: ratio2,
    low: multiply(share, fake.lows[0]),
    high: multiply(share, fake.lows[1])
  }));
  const sum = (all) => all.reduce((total2, each) => reduce(add(total2, each)));
  if (attribute) {
    const all = sum(pieces.map((each) => each.low));
    const excess = pieces.map(({ ratio: ratio2, low, high }) => divide(multiply(subtract(ratio2, of(1)), high), add(all, subtract(high, low))));
    return { ratio: reduce(add(of(1), largest(excess))) };
  }
  for (let whole = of(0); ; ) {
    const lows = pieces.map((each) => compare(each.ratio, whole) > 0n ? each.high : each.low);
    const better = reduce(divide(sum(pieces.map((each, j) => multiply(each.ratio, lows[j]))), sum(lows)));
    if (compare(better, whole) <= 0n)
      return { ratio: whole };
    whole = better;
  }
}
function privacyOf(mechanism2) {
  const loss = (attribute, lifetime) => {
    const found = mechanism2.loss(attribute, lifetime);
    return found ? double(logarithm(found)) : Infinity;
  };
  return {
    report: loss(false, false),
    lifetime: loss(false, true),
    reportAttribute: loss(true, false),
    lifetimeAttribute: loss(true, true)
  };
}

// dist/solutions.js
var LARGEST_REPORT = 2 ** 31 - 1;
var LARGEST_RECORD = 2 ** 10;
var NUMBERED_TOGETHER = 2 ** 16;
var isProtocol = (mechanism2) => "one" in mechanism2;
function starts(lengths2) {
  let start = 0;
  return lengths2.map((length) => (start += length) - length);
}
function common(name, parts, size_, options = "") {
  const ks = parts.flatMap((each) => each.ks);
  if (!parts.length)
    refuse("protocols", "a list of specs, one per attribute", parts);
  if (ks.length > LARGEST_RECORD)
    refuse("protocols", `at most ${LARGEST_RECORD}`, ks.length);
  if (size_ > LARGEST_REPORT) {
    refuse("protocols", `of a report of at most ${LARGEST_REPORT} bytes`, size_);
  }
  const labels = parts.map((each) => each.label).join(", ");
  return { parts, ks, bytes: size_, label: `{${options}"protocol": "${name}", "protocols": [${labels}]}` };
}
var total = (numbers) => numbers.reduce((sum, each) => sum + each, 0);
var lengths = (parts) => parts.map((each) => each.bytes);
function independent(name, parts, size_, together) {
  const columns = starts(parts.map((each) => each.ks.length));
  const accounts = starts(parts.map((each) => each.accounts));
  return {
    ...common(name, parts, size_),
    accounts: total(parts.map((each) => each.accounts)),
    loss(attribute, lifetime) {
      const losses = parts.flatMap((each) => each.loss(attribute, lifetime) ?? []);
      return losses.length < parts.length ? null : combine(losses, together && !attribute);
    },
    /** Draws the report of part j, with the values of this part of a record. */
    part: (j, source, user, record) => parts[j].draw(source.part(j), user, own(j, record)),
    /** Derives the state of part j, with its place among accounts and attributes. */
    remember(j, memory, record) {
      const { charges, report } = parts[j].recall(memory.part(j), own(j, record));
      return {
        charges: charges.map(([account, memoClass]) => [accounts[j] + account, memoClass]),
        report: (fresh2) => report((i) => fresh2(columns[j] + i))
      };
    }
  };
  function own(j, record) {
    return record.slice(columns[j], columns[j] + parts[j].ks.length);
  }
}
function SPL(parts) {
  const { part, remember, ...solution } = independent("SPL", parts, total(lengths(parts)), true);
  return {
    ...solution,
    draw: (source, user, record) => concat(...parts.map((_, j) => part(j, source, user, record))),
    recall(memory, record) {
      const recalled = parts.map((_, j) => remember(j, memory, record));
      return {
        charges: recalled.flatMap((each) => each.charges),
        report: (fresh2) => concat(...recalled.map((each) => each.report(fresh2)))
      };
    }
  };
}
function SMP(parts) {
  const m2 = parts.length, head = size(m2), length = head + Math.max(...lengths(parts));
  const { part, remember, ...solution } = independent("SMP", parts, length, false);
  const wrap = (j, report) => {
    const whole = new Uint8Array(length);
    whole.set(bytes(j, head));
    whole.set(report, head);
    return whole;
  };
  return {
    ...solution,
    draw(source, user, record) {
      const choice = source.part("attribute"), j = uniform(choice, user, m2);
      let number2 = user - user % NUMBERED_TOGETHER;
      for (let u = number2; u < user; u++)
        if (uniform(choice, u, m2) === j)
          number2++;
      return wrap(j, part(j, source, number2, record));
    },
    recall(memory, record) {
      const j = uniform(memory.part("attribute"), 0, m2);
      const { charges, report } = remember(j, memory, record);
      return { charges, report: (fresh2) => wrap(j, report(fresh2)) };
    }
  };
}
function balance(fakes) {
  let sum = of(0);
  const sums = fakes.map(({ lows: [low, high] }) => {
    if (compare(low, high)) {
      throw new SpecError('balance=true needs fakes with one lower ratio: use fake="zero"');
    }
    return sum = reduce(add(sum, divide(of(1), low)));
  });
  const edges = sums.map((each) => nearest(divide(multiply(of(WORD), each), sum)));
  return edges.map((edge, j) => {
    const weight = edge - (edges[j - 1] ?? 0n);
    return weight || refuse("balance", "false here: an attribute would never be sampled", true);
  });
}
function RSFD(parts, { fake: kind, balance: given }) {
  const even = given === 1 || (given === 0 ? false : given);
  if (kind !== "zero" && kind !== "random")
    refuse("fake", '"zero" or "random"', kind);
  if (typeof even !== "boolean")
    refuse("balance", "true or false", given);
  const hiding = parts.map((each) => {
    const fake = isProtocol(each) && each.fake?.(kind === "zero");
    if (!fake)
      throw new SpecError(`protocols must be of one round and have fakes: ${each.label}`);
    return { protocol: each, fake };
  });
  const d = parts.length;
  const weights = even && d > 1 ? balance(hiding.map((each) => each.fake)) : void 0;
  const options = `"balance": ${even}, "fake": "${kind}", `;
  const solution = {
    ...common("RSFD", parts, total(lengths(parts)), options),
    weights,
    accounts: 1,
    loss(attribute, lifetime) {
      if (lifetime)
        return null;
      return hidden(attribute, hiding.map(({ protocol, fake }, j) => ({
        ratio: protocol.loss(false, false).ratio,
        share: weights ? chance(weights[j]) : of(1, d),
        fake
      })));
    },
    draw(source, user, record) {
      const choice = source.part("attribute");
      const own = weights ? sampled(choice, user, weights) : uniform(choice, user, d);
      return concat(...hiding.map(({ protocol, fake }, j) => {
        let value = record[j];
        if (j !== own) {
          value = fake.uniform ? uniform(source.part(`fake ${j}`), user, protocol.ks[0]) : -1;
        }
        return protocol.one(source.part(j), user, value);
      }));
    },
    recall: (_, record) => forget(solution, record)
  };
  return solution;
}

// dist/registry.js
var ONE_ROUND = { GRR, BLH, OLH, SS, SUE, OUE, THE, SHE, HR };
var TWO_ROUNDS = { LGRR, LSUE, LSOUE, LOUE, LOSUE, LBLH, LOLH };
var SOLUTIONS = ["SPL", "SMP", "RSFD"];
var DEEPEST2 = 8;
var MOST = 2 ** 10;
var VERSION = 1;
var listed = (makes, fields) => Object.entries(makes).map(([name, make]) => [name, [make, fields]]);
var PROTOCOLS = new Map([
  ...listed(ONE_ROUND, ["k", "epsilon"]),
  ...listed(TWO_ROUNDS, ["k", "eps_perm", "eps_1"]),
  ...listed({ DBitFlipPM }, ["k", "eps_perm", "b", "d_bits"])
]);
function mechanism(spec) {
  const { version, ...given } = Object.fromEntries(entries("spec", spec));
  if (version !== VERSION)
    refuse("version of the spec", `${VERSION}`, version);
  countLeaves(given, 0);
  return build(given);
}
function nameOf(given) {
  const field = given.has("history") ? "history" : "protocol", name = given.get(field);
  const known = field === "protocol" ? [...PROTOCOLS.keys(), ...SOLUTIONS] : [];
  return known.includes(name) ? name : refuse(field, `one that devices support (${known.join(", ")})`, name);
}
function countLeaves(spec, depth) {
  const parts = entries("protocols", spec).get("protocols");
  if (!Array.isArray(parts))
    return 1;
  if (depth >= DEEPEST2)
    throw new SpecError(`protocols must be nested at most ${DEEPEST2} deep`);
  const leaves = parts.reduce((sum, each) => sum + countLeaves(each, depth + 1), 0);
  return leaves > MOST ? refuse("protocols", `at most ${MOST}, one per attribute`, leaves) : leaves;
}
function build(spec) {
  const given = entries("protocols", spec), name = nameOf(given);
  const wanted = (fields) => requireFields(`spec of ${name}`, given, ["protocol", ...fields]);
  const protocol = PROTOCOLS.get(name);
  if (protocol) {
    wanted(protocol[1]);
    return protocol[0](Object.fromEntries(given));
  }
  wanted(name === "RSFD" ? ["protocols", "fake", "balance"] : ["protocols"]);
  const parts = given.get("protocols");
  if (!Array.isArray(parts))
    return refuse("protocols", "a list of specs", quote(parts));
  const built = parts.map(build);
  if (name === "SPL")
    return SPL(built);
  if (name === "SMP")
    return SMP(built);
  return RSFD(built, { fake: given.get("fake"), balance: given.get("balance") });
}

// dist/survey.js
var VERSION2 = 1;
var LARGEST_LABEL = 2 ** 53;
var AnswerError = class extends Error {
  name = "AnswerError";
};
function labelOf2(field, given) {
  const label = given instanceof Float ? given.value : given;
  const number2 = typeof label === "bigint" ? Number(label) : label;
  if (typeof label === "bigint" && BigInt(LARGEST_LABEL) < (label < 0n ? -label : label)) {
    refuse(field, "numbers within ±2^53", label);
  }
  if (typeof number2 === "string" && /\p{Surrogate}/u.test(number2)) {
    refuse(field, "text that can be written as UTF-8", number2);
  }
  if (typeof number2 === "string" || typeof number2 === "boolean")
    return number2;
  if (typeof number2 === "number" && Number.isFinite(number2))
    return number2;
  return refuse(field, "strings, numbers or truth values", number2);
}
function textOf(given) {
  if (given instanceof Float)
    return writeFloat(given.value);
  return given === true ? "True" : given === false ? "False" : String(given);
}
function readAttribute(given) {
  const entry = entries("attributes", given);
  requireFields("each of attributes", entry, ["name", "categories"]);
  const name = entry.get("name"), categories = entry.get("categories");
  if (typeof name !== "string" || !name)
    refuse("names of attributes", "texts", name);
  const field = `categories of ${quote(labelOf2("names of attributes", name))}`;
  if (!Array.isArray(categories))
    return refuse(field, "a list", categories);
  const labels = categories.map((each) => labelOf2(field, each));
  const different = (all) => new Set(all).size === all.length;
  const numbers = labels.map((each) => typeof each === "boolean" ? Number(each) : each);
  if (labels.length < 2 || !different(categories.map(textOf)) || !different(numbers)) {
    refuse(field, "two or more, all different, also as text", labels);
  }
  return { name, categories: labels };
}
var Survey = class _Survey {
  /** The digest of names, categories, their order, protocols and budgets. */
  digest;
  attributes;
  solution;
  #other;
  #missing;
  constructor(spec) {
    const given = new Map(spec);
    if (given.get("version") !== VERSION2) {
      refuse("version of the survey", `${VERSION2}`, given.get("version"));
    }
    const fields = ["version", "attributes", "other", "missing", "solution"];
    requireFields("survey", given, fields);
    const list = spec.get("attributes");
    if (!Array.isArray(list))
      refuse("attributes", "a list of names with categories", list);
    this.attributes = Object.freeze(list.map(readAttribute));
    const names = this.attributes.map((each) => each.name);
    if (!names.length || new Set(names).size < names.length) {
      refuse("attributes", "one or more, with different names", names);
    }
    this.solution = mechanism(spec.get("solution"));
    const sizes = this.attributes.map((each) => each.categories.length);
    if (!("parts" in this.solution) || this.solution.ks.join() !== sizes.join()) {
      refuse("solution", `over the declared categories, ${sizes.join(", ")}`, this.solution.label);
    }
    this.#other = this.#declared("other", spec.get("other"));
    this.#missing = this.#declared("missing", spec.get("missing"));
    if (this.#other !== null && this.#other === this.#missing) {
      refuse("other", "another category than missing", this.#other);
    }
    const named = list.map((each) => `{"categories": ${write(each.get("categories"))}, "name": ${write(each.get("name"))}}`);
    this.digest = hex(blake2b(ascii(`{"attributes": [${named.join(", ")}], "missing": ${write(spec.get("missing"))}, "other": ${write(spec.get("other"))}, "solution": ${this.solution.label.slice(0, -1)}, "version": 1}, "version": 1}`), 16));
  }
  /** Reads a survey file. Throws a `SpecError` that names the field and shows its value. */
  static parse(text) {
    const spec = parse(text);
    if (!(spec instanceof Map))
      return refuse("survey", "an object", spec);
    return new _Survey(spec);
  }
  #declared(field, given) {
    if (given === null)
      return null;
    const label = labelOf2(field, given);
    const known = this.attributes.some(({ categories }) => categories.includes(label));
    return known ? label : refuse(field, "a declared category of some attribute", label);
  }
  /** The privacy losses, in natural logarithms. */
  get privacy() {
    return privacyOf(this.solution);
  }
  /** True if answers are permanent: then a client has to remember, and `randomize` refuses. */
  get longitudinal() {
    return this.solution.loss(false, true) !== null;
  }
  /** Returns the index of each answer among the categories of its attribute. */
  encode(answers) {
    if (typeof answers !== "object" || !answers) {
      throw new AnswerError(`answers must map attributes to labels, not ${quote(answers)}`);
    }
    return this.attributes.map(({ name, categories }) => {
      if (!Object.hasOwn(answers, name)) {
        throw new AnswerError(`answers must have ${quote(name)}, not only ${quote(Object.keys(answers))}`);
      }
      const answer = answers[name], absent = answer == null || Number.isNaN(answer);
      const instead = absent ? this.#missing : this.#other;
      const found = absent ? -1 : categories.indexOf(answer);
      const index = found >= 0 || instead === null ? found : categories.indexOf(instead);
      if (index >= 0)
        return index;
      const what = absent ? "is missing" : `is ${quote(answer)}, which is not declared`;
      throw new AnswerError(`answer ${quote(name)} ${what}: the categories are ${quote(categories)}`);
    });
  }
  /** Draws a report from new random bytes. Its bytes are all that leaves the device. */
  randomize(answers) {
    return randomize(this.solution, this.encode(answers));
  }
};

// dist/testing.js
var testing_exports = {};
__export(testing_exports, {
  Survey: () => Survey,
  ascii: () => ascii,
  blake2b: () => blake2b,
  chacha: () => chacha,
  drawAs: () => drawAs,
  draws: () => draws_exports,
  hex: () => hex,
  keyed: () => keyed,
  mechanism: () => mechanism,
  memoryOf: () => memoryOf,
  parse: () => parse,
  permanentOf: () => permanentOf,
  privacyOf: () => privacyOf,
  reportAs: () => reportAs,
  subkey: () => subkey,
  write: () => write,
  writeFloat: () => writeFloat
});
function drawAs(spec, key, user, value) {
  if (!(Number.isSafeInteger(user) && user >= 0 && user < 2 ** 40)) {
    throw new SpecError(`user must be an integer from 0 to 2^40, not ${quote(user)}`);
  }
  const own = mechanism(spec);
  return own.draw(fresh(keyOf(key), own.label), user, recordOf(own, value));
}
var memoryOf = ({ label }, secret, context) => keyed(blake2b(concatenate(ascii(`client ${label.length} ${label}`), context), 32, keyOf(secret)));
function keyOf(key) {
  if (key?.length === 32)
    return key;
  throw new SpecError(`a key must have 32 bytes, not ${quote(key?.length)}`);
}
var concatenate = (a, b) => {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
};
function reportAs(spec, secret, context, keys, value) {
  const own = mechanism(spec);
  const recalled = own.recall(memoryOf(own, secret, context), recordOf(own, value));
  return { report: recalled.report((i) => keyOf(keys[i])), charges: recalled.charges };
}
var permanentOf = (own, memory, value) => own.recall(memory, [value]).permanent;
export {
  AnswerError,
  BLH,
  DBitFlipPM,
  GRR,
  HR,
  LBLH,
  LGRR,
  LOLH,
  LOSUE,
  LOUE,
  LSOUE,
  LSUE,
  OLH,
  OUE,
  RSFD,
  SHE,
  SMP,
  SPL,
  SS,
  SUE,
  SpecError,
  Survey,
  THE,
  mechanism,
  randomize,
  testing_exports as testing
};
