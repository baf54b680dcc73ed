// Generated from clients/js by `make bundle`. Edit the sources there.
var __defProp = Object.defineProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

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
function add(a, b, x) {
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
      add(a, b, 2 * order[2 * i]);
      turn(d, a, 32);
      add(c, d);
      turn(b, c, 24);
      add(a, b, 2 * order[2 * i + 1]);
      turn(d, a, 16);
      add(c, d);
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
var unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (two) => parseInt(two, 16));

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
  function items(end, read2) {
    if (next(end))
      return;
    do
      read2();
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

// dist/mechanism.js
var LARGEST_DOMAIN = 2 ** 32 - 5;
var isTimed = (mechanism2) => "rounds" in mechanism2;
var fresh = (bytes2, label) => keyed(subkey(bytes2, label));
var forget = (mechanism2, record) => ({
  charges: [[0, null]],
  report: (bytes2) => mechanism2.draw(fresh(bytes2(0), mechanism2.label), 0, record)
});
var labelOf = (kind, name, fields) => {
  const written = Object.entries(fields).map(([field, each]) => `"${field}": ${each}`);
  return `{${[...written, `"${kind}": "${name}"`].sort().join(", ")}}`;
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
var add2 = ([a, b], [c, d]) => [a * d + c * b, b * d];
var subtract = ([a, b], [c, d]) => [a * d - c * b, b * d];
var multiply = ([a, b], [c, d]) => [a * c, b * d];
var divide = ([a, b], [c, d]) => [a * d, b * c];
var rest = ([a, b]) => [b - a, b];
var compare = ([a, b], [c, d]) => a * d - c * b;
var largest = (all) => all.reduce((most, each) => compare(each, most) > 0n ? each : most);
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

// dist/privacy.js
var logarithm = (loss) => "log" in loss ? loss.log : ln(loss.ratio);
var inDouble = (loss) => double(logarithm(loss));
function combine(losses, together) {
  const ratios = losses.flatMap((each) => "ratio" in each ? [each.ratio] : []);
  if (ratios.length === losses.length) {
    return { ratio: reduce(together ? ratios.reduce(multiply) : largest(ratios)) };
  }
  const logs = losses.map(logarithm);
  return { log: fraction(double(together ? logs.reduce(add2) : largest(logs))) };
}
function hidden(attribute, attributes) {
  const pieces = attributes.map(({ ratio: ratio2, share, fake }) => ({
    ratio: ratio2,
    low: multiply(share, fake.lows[0]),
    high: multiply(share, fake.lows[1])
  }));
  const sum = (all) => all.reduce((total2, each) => reduce(add2(total2, each)));
  if (attribute) {
    const all = sum(pieces.map((each) => each.low));
    const excess = pieces.map(({ ratio: ratio2, low, high }) => divide(multiply(subtract(ratio2, of(1)), high), add2(all, subtract(high, low))));
    return { ratio: reduce(add2(of(1), largest(excess))) };
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
  const rounded = (loss) => loss ? inDouble(loss) : Infinity;
  return {
    report: rounded(mechanism2.loss(false, false)),
    lifetime: rounded(mechanism2.loss(false, true)),
    reportAttribute: rounded(mechanism2.loss(true, false)),
    lifetimeAttribute: rounded(mechanism2.loss(true, true)),
    history: rounded(mechanism2.history())
  };
}

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
  if (isTimed(mechanism2) || mechanism2.loss(false, true)) {
    throw new SpecError(`permanent answers need a Client, not randomize: ${label}`);
  }
  return mechanism2.draw(fresh(randomBytes(), label), 0, record);
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
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? writeString(value) : String(value);
  }
  const sorted = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return `{${sorted.map(([key, each]) => `${writeString(key)}: ${write(each)}`).join(", ")}}`;
}

// dist/record.js
function writeRecord({ secret, label, context, ledger, history: history2 }) {
  const sorted = (all) => [...all].sort((a, b) => a - b);
  const body = {
    version: history2 ? 2 : 1,
    secret: hex(secret),
    protocol: label,
    context: hex(context),
    classes: Object.fromEntries([...ledger.classes].map(([j, each]) => [j, sorted(each)])),
    reports: Object.fromEntries(ledger.reports),
    ...history2 && { history: history2 }
  };
  const line = `${write(body)}
`;
  return `${line}${hex(blake2b(ascii(line), 16))}
`;
}
var damaged = (why) => {
  throw new SpecError(`the record of the client cannot be used: ${why}`);
};
function readRecord(text, check) {
  const end = text.indexOf("\n") + 1, line = text.slice(0, end);
  if (!end || text.slice(end) !== `${hex(blake2b(ascii(line), 16))}
`) {
    damaged("it is truncated or was altered");
  }
  const body = entries("record", parse(line)), version = body.get("version");
  if (version !== 1 && version !== 2)
    damaged(`it has version ${quote(version)}`);
  const fields = ["version", "secret", "protocol", "context", "classes", "reports"];
  requireFields("record", body, version === 2 ? [...fields, "history"] : fields);
  const string = (field) => {
    const given = body.get(field);
    return typeof given === "string" ? given : damaged(`its ${field} is ${quote(given)}`);
  };
  const accounts = (field, read2) => new Map([...entries(field, body.get(field))].map(([j, each]) => [Number(j), read2(each)]));
  const count = (n) => typeof n === "number" && n >= 0 ? n : damaged(`${quote(n)} is not a number of the ledger`);
  const secret = unhex(string("secret")), context = unhex(string("context"));
  const found = {
    secret,
    context,
    label: string("protocol"),
    ledger: {
      classes: accounts("classes", (each) => new Set(Array.isArray(each) ? each.map(count) : damaged("its classes are no lists"))),
      reports: accounts("reports", count)
    },
    history: version === 2 ? check(body.get("history"), secret, context) : null
  };
  if (found.secret.length !== 32 || writeRecord(found) !== text)
    damaged("its form is another");
  return found;
}
function addCharges(ledger, charges) {
  const classes = new Map(ledger.classes), reports = new Map(ledger.reports);
  let changed = false;
  for (const [account, memoClass] of charges) {
    const told = classes.get(account);
    if (memoClass === null)
      reports.set(account, (reports.get(account) ?? 0) + 1);
    else if (told?.has(memoClass))
      continue;
    else
      classes.set(account, /* @__PURE__ */ new Set([...told ?? [], memoClass]));
    changed = true;
  }
  return changed ? { classes, reports } : ledger;
}
function spentBy({ classes, reports }, prices) {
  return double(prices.reduce((sum, price, j) => {
    const times = (classes.get(j)?.size ?? 0) + (reports.get(j) ?? 0);
    return times ? add2(sum, multiply(fraction(price), of(times))) : sum;
  }, of(0)));
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
    const drawn = next(), choice2 = below(Number(drawn >> 32n), run, 32);
    if (choice2 === void 0)
      continue;
    if (choice2 || drawn % HALF >= gamma)
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
    const top = multiply(add2(of(1), multiply(pair, excess)), add2(of(g - 1n), apart));
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
  const other = ceil(divide(of(WORD), add2(power(budget2.epsilon), of(m2 - 1))));
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
  const q = divide(of(1), add2(root2, of(1)));
  return bitWeights(rest(q), q, budget2);
}
var optimizedWeights = (budget2) => bitWeights(HALF2, divide(of(1), add2(power(budget2.epsilon), of(1))), budget2);
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
  const spread = (w) => add2(multiply(of(w), e), of(k - w));
  const cost = (w) => divide(multiply(spread(w), spread(w)), of(BigInt(w) * BigInt(k - w)));
  const near = Number(floor(divide(of(k), add2(e, of(1)))));
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
  const reached = multiply(add2(c, of(m2 - 1)), chance(first[0] - first[1]));
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
    history: () => null,
    prices: () => [first.loss],
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
  return memoized(k, labelOf("protocol", name, { k, eps_perm: writeFloat(eps_perm), eps_1: writeFloat(eps_1) }), make({ field: "eps_perm", epsilon: eps_perm, k }, { field: "eps_1", epsilon: eps_1, k }));
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
  const eps_perm = writeFloat(epsilon);
  const label = labelOf("protocol", "DBitFlipPM", { k, b, d_bits, eps_perm });
  return memoized(k, label, heldBits(k, b, d_bits, weights));
}

// dist/blocks.js
function ways(s, bits2) {
  const idle = 2n ** BigInt(bits2) - 2n;
  let found = [1n];
  for (let i = 0; i < s; i++) {
    found = Array.from({ length: found.length + 2 }, (_, m2) => (found[m2] ?? 0n) + idle * (found[m2 - 1] ?? 0n) + (found[m2 - 2] ?? 0n));
  }
  return found;
}
function ball(s, budget2) {
  const c = power(budget2.epsilon), spread = multiply(of(s), subtract(c, of(1)));
  const most = ceil(subtract(compare(spread, of(2)) > 0n ? spread : of(2), of(1)));
  let best;
  for (let bits3 = 1; bits3 <= Math.min(60, most.toString(2).length + 1); bits3++) {
    const all = 2n ** BigInt(bits3 * s), counts = ways(s, bits3);
    let above = 0n, sums = 0n;
    for (let edge2 = s; edge2 > 0; edge2--) {
      above += counts[s + edge2];
      sums += BigInt(edge2) * counts[s + edge2];
      if (!above)
        continue;
      const below2 = all - above, told = multiply(c, of(above));
      const weight = floor(divide(multiply(of(WORD), told), add2(told, of(below2))));
      const gain = weight * below2 - (WORD - weight) * above;
      if (gain <= 0n)
        continue;
      const cost = of((above * below2) ** 2n, (sums * gain) ** 2n * 2n ** BigInt(bits3));
      if (best && compare(cost, best.cost) >= 0n)
        continue;
      best = {
        cost,
        bits: bits3,
        edge: edge2,
        high: reduce([weight * all, WORD * above]),
        low: reduce([(WORD - weight) * all, WORD * below2])
      };
    }
  }
  if (!best)
    return refuseSmall(budget2);
  const { bits: bits2, edge, high, low } = best;
  return { symbols: s, bits: bits2, density: (m2) => m2 >= edge ? high : low };
}
function linear(s, budget2) {
  const [weight] = symbolWeights(2, budget2), gap = 2n * weight - WORD;
  const density = (m2) => reduce([WORD * BigInt(s) + gap * BigInt(m2), WORD * BigInt(s)]);
  return { symbols: s, bits: 1, density };
}
function meanDensity({ symbols: symbols2, bits: bits2, density }, n, m2) {
  const left = symbols2 - n;
  const total2 = ways(left, bits2).reduce((sum, count, i) => count ? add2(sum, multiply(of(count), density(m2 + i - left))) : sum, of(0));
  return reduce(divide(total2, of(2n ** BigInt(bits2 * left))));
}
function choose(n, k) {
  let found = 1n;
  for (let i = 0; i < k; i++)
    found = found * BigInt(n - i) / BigInt(i + 1);
  return found;
}
function drawBlock({ symbols: s, bits: bits2, density }, source) {
  const next = source.on(0), idle = 2n ** BigInt(bits2) - 2n;
  const outcomes = [];
  for (let plus2 = 0; plus2 <= s; plus2++) {
    for (let minus2 = 0; minus2 <= s - plus2; minus2++) {
      const count = choose(s, plus2) * choose(s - plus2, minus2) * idle ** BigInt(s - plus2 - minus2);
      if (count)
        outcomes.push({ plus: plus2, minus: minus2, chance: multiply(of(count), density(plus2 - minus2)) });
    }
  }
  const common2 = outcomes.reduce((all, { chance: [, d] }) => all * reduce([all, d])[1], 1n);
  const weights = outcomes.map(({ chance: [a, d] }) => a * (common2 / d));
  const total2 = weights.reduce((sum, each) => sum + each, 0n), length = total2.toString(2).length;
  let drawn = total2;
  while (drawn >= total2) {
    drawn = 0n;
    for (let i = 0; i < length; i += 64)
      drawn = drawn * WORD + next();
    drawn >>= BigInt(-length & 63);
  }
  let chosen = 0;
  while (drawn >= weights[chosen])
    drawn -= weights[chosen++];
  let { plus, minus } = outcomes[chosen];
  return Array.from({ length: s }, (_, i) => {
    const left = BigInt(s - i);
    let place = left > 1n ? next() : 0n;
    while (place >= WORD - WORD % left)
      place = next();
    const z = Number(place % left);
    if (z < plus)
      return plus--, 1;
    return z < plus + minus ? (minus--, -1) : 0;
  });
}

// dist/protocols.js
function oneShot(name, given, make, largest2 = LARGEST_DOMAIN) {
  const k = integer("k", given.k, 2, largest2), epsilon = budget("epsilon", given.epsilon);
  const round2 = make({ field: "epsilon", epsilon, k });
  const protocol = {
    ...round2,
    label: labelOf("protocol", name, { k, epsilon: writeFloat(epsilon) }),
    ks: [k],
    accounts: 1,
    loss: (_, lifetime) => lifetime ? null : round2.loss,
    history: () => null,
    prices: () => [round2.loss],
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

// dist/timed.js
var LARGEST_HISTORY = 2 ** 31 - 1;
var choice = (field, given, among) => among.includes(given) ? given : refuse(field, `one of ${among.join(", ")}`, given);
var orderOf = (k) => {
  let order = 1;
  while (order < k)
    order *= 2;
  return order;
};
function history(design) {
  const { label, k, rounds, kinds, grounded, row: row2, values, window } = design;
  const each = !row2 && k > 2 ? 2 : 1, symbols2 = each === 2 ? k : 1;
  const rowBytes = row2 ? size(orderOf(k)) : 0;
  const blocks = kinds.flatMap(({ block }) => block ?? []);
  const step = blocks.length ? rowBytes + 2 * width(symbols2) : 0;
  const length = 1 + Math.max(step, values?.bytes ?? 0);
  const noise2 = blocks.every(({ bits: bits2 }) => bits2 <= 16) ? 2 : 8;
  if (rounds * length > LARGEST_HISTORY) {
    refuse("rounds", `few enough for ${LARGEST_HISTORY} bytes of reports`, rounds);
  }
  const before = grounded ? 1 : 2;
  const steps = (kind) => Math.floor(rounds / kind.length) - before + 1;
  function tell(memory, { block, path, round: round2, entry }, wanted) {
    const base = memory.part("base"), told = new Int8Array(symbols2);
    for (let p = 0; p < symbols2; p++) {
      const address = (round2 * symbols2 + p) * noise2;
      const head = noise2 === 2 ? base.number(address, 2) >> 16 - block.bits : Number(word(base, address) >> BigInt(64 - block.bits));
      told[p] = head === 0 ? 1 : head === 1 ? -1 : 0;
    }
    if (wanted.length && entry >= 0) {
      const entries2 = drawBlock(block, memory.part("block"));
      wanted.forEach(([place, sign], i) => told[place] = sign * entries2[entry + i]);
    }
    const content = new Uint8Array(step);
    if (row2)
      content.set(bytes(path.row, rowBytes));
    told.forEach((symbol2, p) => {
      const at = rowBytes + (p >> 3), bit = 1 << (p & 7);
      if (symbol2)
        content[at] |= bit;
      if (symbol2 < 0)
        content[at + width(symbols2)] |= bit;
    });
    return content;
  }
  function changes(from, to, path) {
    if (each === 2)
      return from === to ? [] : [[from, -1], [to, 1]];
    const sign = row2 ? ones(path.row & from) % 2 - ones(path.row & to) % 2 : to - from;
    return sign ? [[0, sign]] : [];
  }
  function answer(memory, state, value, round2) {
    const path = design.path(memory.part("plan")), kind = kinds[path.kind], t = round2 + 1;
    const wrap2 = (content2) => {
      const report = new Uint8Array(length);
      report[0] = design.first + path.kind;
      report.set(content2, 1);
      return hex(report);
    };
    const now = { ...state, last: round2, answer: null };
    const { block, length: stride } = kind;
    if (!block) {
      const due = round2 % window === path.round;
      return due ? { ...now, answer: wrap2(values.one(memory.part("value"), round2, value)) } : now;
    }
    if (t % stride)
      return now;
    const roomy = block.symbols >= each * steps(kind);
    const began = Math.ceil((state.first + 1) / stride) * stride;
    const missed = state.asked[0] !== t - stride;
    const stopped = state.stopped || state.restorable && !roomy && began < t && missed;
    const after = { ...now, stopped, starts: [value], asked: [t] };
    if (missed || stopped)
      return after;
    const wanted = changes(state.starts[0], value, path);
    const fits = roomy || state.told + each <= block.symbols;
    const entry = roomy ? each * (t / stride - before) : state.told;
    const content = tell(memory, { block, path, round: round2, entry: fits ? entry : -1 }, wanted);
    const told = state.told + (wanted.length && !roomy && fits ? each : 0);
    return { ...after, told, answer: wrap2(content) };
  }
  function isReport(text, round2) {
    const report = unhex(text), at = report[0] - design.first, kind = kinds[at], t = round2 + 1;
    if (hex(report) !== text || report.length !== length || !kind)
      return false;
    const content = report.subarray(1), used = kind.block ? step : values.bytes;
    if (content.subarray(used).some(Boolean))
      return false;
    const { block, length: stride } = kind;
    if (!block)
      return true;
    return t % stride === 0 && (grounded || t > stride);
  }
  function loss(_, lifetime) {
    const known = (block, n) => largest([meanDensity(block, n, n), divide(of(1), meanDensity(block, n, -n))]);
    const ratios = kinds.map((kind) => {
      const { block } = kind;
      if (!block)
        return values.loss(false, false).ratio;
      if (lifetime)
        return known(block, +grounded);
      if (grounded && steps(kind) === 1)
        return known(block, each);
      return divide(meanDensity(block, each, each), meanDensity(block, each, -each));
    });
    return { ratio: repeat(largest(ratios), lifetime) };
  }
  function repeat([a, b], all) {
    const often = BigInt(all ? Math.ceil(rounds / window) : 1);
    return reduce([a ** often, b ** often]);
  }
  function whole() {
    const ratios = kinds.map((kind) => {
      const { block } = kind, z = steps(kind);
      if (!block)
        return values.loss(false, false).ratio;
      const mean = (n, m2) => meanDensity(block, n, m2);
      if (!grounded || z > block.symbols) {
        return divide(mean(block.symbols, block.symbols), mean(block.symbols, -block.symbols));
      }
      return largest([
        divide(mean(z, z), mean(z - 1, 1 - z)),
        divide(mean(z - 1, z - 1), mean(z, -z))
      ]);
    });
    return { ratio: repeat(largest(ratios), true) };
  }
  return {
    label,
    rounds,
    bytes: length,
    ks: [k],
    accounts: 1,
    loss,
    history: whole,
    prices: () => [whole()],
    begin: (_, first, restorable) => ({
      first: integer("firstRound", first, 0, rounds - 1),
      last: first - 1,
      told: 0,
      stopped: false,
      starts: [0],
      asked: [grounded && first === 0 ? 0 : -1],
      answer: null,
      restorable
    }),
    ask(memory, kept, [value], round2) {
      const state = kept;
      if (integer("round", round2, 0, rounds - 1) < Math.max(state.first, state.last)) {
        throw new SpecError(`round=${round2} is over, or before the first round`);
      }
      const after = round2 === state.last ? state : answer(memory, state, value, round2);
      const report = after.answer === null ? null : unhex(after.answer);
      return { kept: after, report, charges: report ? [[0, 0]] : [] };
    },
    check(_, given) {
      const found = entries("history", given);
      const fields = ["first", "last", "told", "stopped", "starts", "asked", "answer", "restorable"];
      requireFields("history", found, fields);
      const number2 = (field, low, high) => integer(field, found.get(field), low, high);
      const first = number2("first", 0, rounds - 1), last = number2("last", first - 1, rounds - 1);
      const flag = (field) => choice(field, found.get(field), [true, false]);
      const one = (field, low, high) => {
        const list = found.get(field);
        if (!Array.isArray(list) || list.length !== 1)
          return refuse(field, "a list of one entry", list);
        return [integer(field, list[0], low, high)];
      };
      const text = found.get("answer");
      if (text !== null && !(typeof text === "string" && last >= first && isReport(text, last))) {
        refuse("answer", "a report, or null", text);
      }
      return {
        first,
        last,
        told: number2("told", 0, 2 ** 16),
        stopped: flag("stopped"),
        starts: one("starts", 0, k - 1),
        asked: one("asked", -1, rounds),
        answer: text,
        restorable: flag("restorable")
      };
    }
  };
}

// dist/histories.js
var MOST_ROUNDS = 2 ** 16;
var MOST_CHANGES = 32;
var VALUES = { SS, GRR, OUE, SUE, THE, HR };
var plain = (given) => given instanceof Float ? given.value : given;
function valuesOf(name, k, epsilon) {
  if (!Object.hasOwn(VALUES, name)) {
    refuse("protocol", `one of ${Object.keys(VALUES).join(", ")}`, name);
  }
  return VALUES[name]({ k, epsilon });
}
function powers(most) {
  const found = [];
  for (let power2 = 1; power2 <= most; power2 *= 2)
    found.push(power2);
  return found;
}
function Once(given) {
  const values = valuesOf(given.protocol, given.k, given.epsilon), k = values.ks[0];
  const rounds = integer("rounds", given.rounds, 2, MOST_ROUNDS);
  const window = given.window === null ? null : integer("window", given.window, 1, MOST_ROUNDS);
  const every = Math.min(window ?? rounds, rounds);
  return history({
    label: labelOf("history", "Once", {
      k,
      rounds,
      epsilon: writeFloat(budget("epsilon", given.epsilon)),
      window: `${window}`,
      protocol: `"${given.protocol}"`
    }),
    k,
    rounds,
    values,
    kinds: [{ length: 0 }],
    first: 0,
    grounded: false,
    row: false,
    window: every,
    path: (plan2) => ({ kind: 0, round: uniform(plan2.part("round"), 0, every), row: 1 })
  });
}
function Steps(given) {
  const values = valuesOf(given.protocol, given.k, given.epsilon), k = values.ks[0];
  const rounds = integer("rounds", given.rounds, 2, MOST_ROUNDS);
  const changes = integer("changes", given.changes, 1, MOST_CHANGES);
  const row2 = choice("encoding", given.encoding, ["unary", "row"]) === "row";
  const share = choice("values", plain(given.values), [0.5, 0.75, 1]);
  const own = { field: "epsilon", epsilon: budget("epsilon", given.epsilon), k };
  const each = !row2 && k > 2 ? 2 : 1, order = orderOf(k);
  const lengths2 = share === 1 ? [] : powers(rounds / 2);
  const tosses = { 0.5: 1n, 0.75: 2n, 1: 0n }[share];
  return history({
    label: labelOf("history", "Steps", {
      k,
      rounds,
      changes,
      epsilon: writeFloat(own.epsilon),
      values: writeFloat(share),
      protocol: `"${given.protocol}"`,
      encoding: row2 ? '"row"' : '"unary"'
    }),
    k,
    rounds,
    values,
    row: row2,
    kinds: [{ length: 0 }, ...lengths2.map((length) => ({
      length,
      block: ball(each * Math.min(changes, Math.floor(rounds / length) - 1), own)
    }))],
    first: 0,
    grounded: false,
    window: rounds,
    path(plan2) {
      const coins = word(plan2.part("kind"), 0), bit = (i) => coins >> 63n - i & 1n;
      let kind = 0;
      if (tosses && coins >> 64n - tosses === 2n ** tosses - 1n) {
        for (kind = 1; kind < lengths2.length && bit(tosses + BigInt(kind - 1)); )
          kind++;
      }
      return {
        kind,
        round: uniform(plan2.part("round"), 0, rounds),
        row: row2 && order > 2 ? 1 + uniform(plan2.part("row"), 0, order - 1) : 1
      };
    }
  });
}
function Tree(given) {
  const rounds = integer("rounds", given.rounds, 2, MOST_ROUNDS);
  const changes = integer("changes", given.changes, 1, MOST_CHANGES);
  const own = { field: "epsilon", epsilon: budget("epsilon", given.epsilon), k: 2 };
  const kernel = choice("kernel", given.kernel, ["ball", "linear"]);
  const make = kernel === "ball" ? ball : linear;
  const kinds = powers(rounds).map((length) => ({
    length,
    block: make(Math.min(changes, Math.floor(rounds / length)), own)
  }));
  return history({
    label: labelOf("history", "Tree", {
      rounds,
      changes,
      epsilon: writeFloat(own.epsilon),
      kernel: `"${kernel}"`
    }),
    k: 2,
    rounds,
    kinds,
    first: 1,
    grounded: true,
    row: false,
    window: rounds,
    path: (plan2) => ({ kind: uniform(plan2.part("kind"), 0, kinds.length), round: 0, row: 1 })
  });
}

// dist/over_time.js
function histories(parts) {
  const all = parts.filter(isTimed);
  if (!all.length)
    return null;
  const nested = all.some((each) => "parts" in each);
  if (nested || all.length < parts.length || all.some((each) => each.rounds !== all[0].rounds)) {
    throw new SpecError("protocols must all have the same number of rounds, and must not be nested");
  }
  return all;
}
function overTime(parts, { own, charge, ...solution }, put2) {
  const each = (memory, make) => {
    const sampled2 = put2 && uniform(memory.part("attribute"), 0, parts.length);
    return parts.map((part, j) => sampled2 === null || sampled2 === j ? make(part, j, memory.part(j)) : null);
  };
  return {
    ...solution,
    rounds: parts[0].rounds,
    begin: (memory, first, restorable) => ({
      parts: each(memory, (part, _, mine) => part.begin(mine, first, restorable))
    }),
    ask(memory, kept, record, round2) {
      const states = kept.parts;
      const asked = each(memory, (part, j, mine) => part.ask(mine, states[j], own(j, record), round2));
      const after = { parts: asked.map((one) => one && one.kept) };
      const charges = asked.flatMap((one, j) => one ? charge(j, one.charges) : []);
      const sent = asked.findIndex((one) => one?.report);
      if (sent < 0)
        return { kept: after, report: null, charges };
      const report = put2 ? put2(sent, asked[sent].report) : concat(...asked.map((one, j) => one.report ?? new Uint8Array(parts[j].bytes).fill(255)));
      return { kept: after, report, charges };
    },
    check(memory, given) {
      const found = entries("history", given);
      requireFields("history", found, ["parts"]);
      const list = found.get("parts");
      if (!Array.isArray(list) || list.length !== parts.length) {
        return refuse("parts", `a list of ${parts.length} states`, list);
      }
      const states = each(memory, (part, j, mine) => part.check(mine, list[j]));
      if (states.some((state, j) => !state && list[j] !== null)) {
        refuse("parts", "null where nothing is reported", list);
      }
      return { parts: states };
    }
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
  const join = (of2, all) => {
    const losses = parts.flatMap((each) => of2(each) ?? []);
    return losses.length < parts.length ? null : combine(losses, all);
  };
  return {
    ...common(name, parts, size_),
    accounts: total(parts.map((each) => each.accounts)),
    prices: () => parts.flatMap((each) => each.prices()),
    loss: (attribute, lifetime) => join((each) => each.loss(attribute, lifetime), together && !attribute),
    history: () => join((each) => each.history(), together),
    /** The values of part j in a record. */
    own: (j, record) => record.slice(columns[j], columns[j] + parts[j].ks.length),
    /** Charges of part j, on the accounts of the solution. */
    charge: (j, charges) => charges.map(([account, memoClass]) => [accounts[j] + account, memoClass]),
    columns
  };
}
function SPL(parts) {
  const over = histories(parts), length = total(lengths(parts));
  if (over)
    return overTime(over, independent("SPL", over, length, true), null);
  const plain3 = parts;
  const { own, charge, columns, ...solution } = independent("SPL", plain3, length, true);
  return {
    ...solution,
    draw: (source, user, record) => concat(...plain3.map((each, j) => each.draw(source.part(j), user, own(j, record)))),
    recall(memory, record) {
      const recalled = plain3.map((each, j) => each.recall(memory.part(j), own(j, record)));
      return {
        charges: recalled.flatMap((each, j) => charge(j, each.charges)),
        report: (fresh2) => concat(...recalled.map((each, j) => each.report((i) => fresh2(columns[j] + i))))
      };
    }
  };
}
function wrap(j, report, head, length) {
  const whole = new Uint8Array(length);
  whole.set(bytes(j, head));
  whole.set(report, head);
  return whole;
}
function SMP(parts) {
  const m2 = parts.length, head = size(m2), length = head + Math.max(...lengths(parts));
  const over = histories(parts);
  const put2 = (j, report) => wrap(j, report, head, length);
  if (over)
    return overTime(over, independent("SMP", over, length, false), put2);
  const plain3 = parts;
  const { own, charge, columns, ...solution } = independent("SMP", plain3, length, false);
  return {
    ...solution,
    draw(source, user, record) {
      const choice2 = source.part("attribute"), j = uniform(choice2, user, m2);
      let number2 = user - user % NUMBERED_TOGETHER;
      for (let u = number2; u < user; u++)
        if (uniform(choice2, u, m2) === j)
          number2++;
      return put2(j, plain3[j].draw(source.part(j), number2, own(j, record)));
    },
    recall(memory, record) {
      const j = uniform(memory.part("attribute"), 0, m2);
      const { charges, report } = plain3[j].recall(memory.part(j), own(j, record));
      return {
        charges: charge(j, charges),
        report: (fresh2) => put2(j, report((i) => fresh2(columns[j] + i)))
      };
    }
  };
}
function balance(fakes) {
  let sum = of(0);
  const sums = fakes.map(({ lows: [low, high] }) => {
    if (compare(low, high)) {
      throw new SpecError('balance=true needs fakes with one lower ratio: use fake="zero"');
    }
    return sum = reduce(add2(sum, divide(of(1), low)));
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
    history: () => null,
    prices: () => [solution.loss(false, false)],
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
      const choice2 = source.part("attribute");
      const own = weights ? sampled(choice2, user, weights) : uniform(choice2, user, d);
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
var VERSION = 1;
var HISTORIES = {
  Once: [Once, ["k", "epsilon", "rounds", "protocol", "window"]],
  Steps: [Steps, ["k", "epsilon", "rounds", "changes", "protocol", "encoding", "values"]],
  Tree: [Tree, ["epsilon", "rounds", "changes", "kernel"]]
};
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
  const known = field === "protocol" ? [...PROTOCOLS.keys(), ...SOLUTIONS] : Object.keys(HISTORIES);
  return known.includes(name) ? name : refuse(field, `one that devices support (${known.join(", ")})`, name);
}
function countLeaves(spec, depth) {
  const parts = entries("protocols", spec).get("protocols");
  if (!Array.isArray(parts))
    return 1;
  if (depth >= DEEPEST2)
    throw new SpecError(`protocols must be nested at most ${DEEPEST2} deep`);
  const leaves = parts.reduce((sum, each) => sum + countLeaves(each, depth + 1), 0);
  if (leaves > LARGEST_RECORD)
    refuse("protocols", `at most ${LARGEST_RECORD}`, leaves);
  return leaves;
}
function build(spec) {
  const given = entries("protocols", spec), name = nameOf(given);
  if (given.has("history")) {
    const [make, fields] = HISTORIES[name];
    requireFields(`spec of ${name}`, given, ["history", ...fields]);
    return make(Object.fromEntries(given));
  }
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
    return isTimed(this.solution) || this.solution.loss(false, true) !== null;
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

// dist/client.js
var LimitReached = class extends Error {
  name = "LimitReached";
};
var LEFT = "left\n";
var memoryOf = ({ label }, secret, context) => keyed(blake2b(concat(ascii(`client ${label.length} ${label}`), context), 32, secret));
var Client = class _Client {
  #survey;
  #mechanism;
  #store;
  #limit;
  #identity;
  /** True if the browser has promised to keep the record. */
  persistent;
  constructor(of2, store, limit, kept, persistent) {
    this.#survey = of2 instanceof Survey ? of2 : null;
    this.#mechanism = of2 instanceof Survey ? of2.solution : of2;
    this.#store = store;
    this.#limit = limit;
    this.#identity = identityOf(kept);
    this.persistent = persistent;
  }
  /** Makes a secret and a record, after consent and nowhere else. */
  static async begin(of2, store, options = {}) {
    const mechanism2 = of2 instanceof Survey ? of2.solution : of2, limit = limitOf(options);
    const { context = new Uint8Array(), again: again2, firstRound = 0, restorable = true } = options;
    const persistent = await persist(store, true), secret = randomBytes();
    if (!isTimed(mechanism2) && (firstRound || !restorable)) {
      throw new SpecError("firstRound and restorable are for mechanisms with rounds");
    }
    const made = {
      secret,
      context,
      label: mechanism2.label,
      ledger: { classes: /* @__PURE__ */ new Map(), reports: /* @__PURE__ */ new Map() },
      history: isTimed(mechanism2) ? mechanism2.begin(memoryOf(mechanism2, secret, context), firstRound, restorable) : null
    };
    await store.update((kept) => {
      if (kept === LEFT && !again2) {
        throw new Error("somebody has left here: to begin again costs as much again, so say again: true");
      }
      if (kept !== null && kept !== LEFT)
        throw new Error("a client has begun here: open it");
      return [writeRecord(made), null];
    });
    return new _Client(of2, store, limit, made, persistent);
  }
  /** Opens a record, or returns null if nobody has begun here. */
  static async open(of2, store, options = {}) {
    const limit = limitOf(options);
    const kept = await store.update((text) => [text, text]);
    if (kept === null || kept === LEFT)
      return null;
    const found = read(kept, of2, options.context ?? new Uint8Array());
    return new _Client(of2, store, limit, found, await persist(store, false));
  }
  /** Puts a record that was exported into an empty store. */
  static async import(text, of2, store) {
    const found = read(text, of2, null);
    await store.update((kept) => {
      if (kept !== null && kept !== LEFT)
        throw new Error("a client has begun here: open it");
      return [text, null];
    });
    return new _Client(of2, store, void 0, found, await persist(store, true));
  }
  /** Makes a report, after its charge is stored. Null: a history is silent in this round. */
  async report(answers, options = {}) {
    const record = this.#survey ? this.#survey.encode(answers) : recordOf(this.#mechanism, answers);
    const mechanism2 = this.#mechanism, { round: round2 } = options;
    if (isTimed(mechanism2) !== (round2 !== void 0)) {
      throw new SpecError(`round must be given for mechanisms with rounds only, not ${quote(round2)}`);
    }
    const draw = await this.#store.update((kept) => respond(mechanism2, this.#own(kept), record, { round: round2, limit: this.#limit }));
    return draw();
  }
  /** The budget that this record has spent. */
  async spent() {
    return spentBy((await this.#read()).ledger, pricesOf(this.#mechanism));
  }
  /** Deletes the secret, and leaves a mark that somebody left. Sent reports stay sent. */
  async leave() {
    await this.#store.update((kept) => {
      this.#own(kept);
      return [LEFT, null];
    });
  }
  /** The record as a client file, for a backup or another device. It holds the secret. */
  async export() {
    return writeRecord(await this.#read());
  }
  #own(kept) {
    if (kept === null || kept === LEFT)
      throw new Error("the record of the client is gone");
    const found = read(kept, this.#mechanism, null);
    if (identityOf(found) !== this.#identity)
      throw new Error("the record is now another client's");
    return found;
  }
  #read() {
    return this.#store.update((kept) => [kept, this.#own(kept)]);
  }
};
var pricesOf = (mechanism2) => mechanism2.prices().map(inDouble);
function respond(mechanism2, kept, record, { round: round2, limit, fresh: fresh2 = randomBytes }) {
  const memory = memoryOf(mechanism2, kept.secret, kept.context);
  const asked = isTimed(mechanism2) && mechanism2.ask(memory, kept.history, record, round2);
  const recalled = isTimed(mechanism2) ? null : mechanism2.recall(memory, record);
  const ledger = addCharges(kept.ledger, asked ? asked.charges : recalled.charges);
  if (ledger !== kept.ledger && limit !== void 0) {
    const prices = pricesOf(mechanism2), after = spentBy(ledger, prices);
    if (after > limit * (1 + 1e-12)) {
      const before = spentBy(kept.ledger, prices);
      throw new LimitReached(`a report would raise the spent budget from ${before} to ${after}, above limit=${limit}`);
    }
  }
  return [
    writeRecord({ ...kept, ledger, history: asked ? asked.kept : null }),
    () => asked ? asked.report : recalled.report(fresh2)
  ];
}
var identityOf = ({ secret, label, context }) => [secret.join(), label, context.join()].join("|");
var limitOf = ({ limit }) => limit === void 0 ? void 0 : budget("limit", limit);
function read(text, of2, context) {
  const mechanism2 = of2 instanceof Survey ? of2.solution : of2;
  const found = readRecord(text, (history2, secret, own) => {
    if (!isTimed(mechanism2))
      throw new SpecError("history must be absent: the mechanism has no rounds");
    return mechanism2.check(memoryOf(mechanism2, secret, own), history2);
  });
  if (found.label !== mechanism2.label) {
    throw new SpecError(`the record is of ${found.label}, not of ${mechanism2.label}`);
  }
  if (context && context.join() !== found.context.join()) {
    throw new SpecError("the record has another context");
  }
  if (isTimed(mechanism2) && !found.history)
    throw new SpecError("history must be in the record");
  const accounts = [...found.ledger.classes.keys(), ...found.ledger.reports.keys()];
  if (accounts.some((j) => !(j < mechanism2.accounts))) {
    throw new SpecError("the record has accounts that the mechanism does not have");
  }
  return found;
}
async function persist(store, ask) {
  if (store.persistent !== void 0)
    return store.persistent;
  const storage = globalThis.navigator?.storage;
  return Boolean(await (ask ? storage?.persist?.() : storage?.persisted?.()));
}

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
  pricesOf: () => pricesOf,
  privacyOf: () => privacyOf,
  read: () => read,
  reportAs: () => reportAs,
  respond: () => respond,
  spentBy: () => spentBy,
  subkey: () => subkey,
  write: () => write,
  writeFloat: () => writeFloat
});
function drawAs(spec, key, user, value) {
  if (!(Number.isSafeInteger(user) && user >= 0 && user < 2 ** 40)) {
    throw new SpecError(`user must be an integer from 0 to 2^40, not ${quote(user)}`);
  }
  const own = plain2(spec);
  return own.draw(fresh(keyOf(key), own.label), user, recordOf(own, value));
}
function plain2(spec) {
  const own = mechanism(spec);
  if (isTimed(own))
    throw new SpecError(`spec must be without rounds: ${own.label}`);
  return own;
}
function keyOf(key) {
  if (key?.length === 32)
    return key;
  throw new SpecError(`a key must have 32 bytes, not ${quote(key?.length)}`);
}
function reportAs(spec, secret, context, keys, value) {
  const own = plain2(spec);
  const recalled = own.recall(memoryOf(own, keyOf(secret), context), recordOf(own, value));
  return { report: recalled.report((i) => keyOf(keys[i])), charges: recalled.charges };
}
var permanentOf = (own, memory, value) => own.recall(memory, [value]).permanent;
export {
  AnswerError,
  BLH,
  Client,
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
  LimitReached,
  OLH,
  OUE,
  Once,
  RSFD,
  SHE,
  SMP,
  SPL,
  SS,
  SUE,
  SpecError,
  Steps,
  Survey,
  THE,
  Tree,
  mechanism,
  randomize,
  testing_exports as testing
};
