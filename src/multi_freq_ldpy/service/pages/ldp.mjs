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
function turn(a, b, bits3) {
  const low = v[a] ^ v[b], high = v[a + 1] ^ v[b + 1];
  const [from, to, n] = bits3 < 32 ? [low, high, bits3] : [high, low, bits3 - 32];
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
  throw new SpecError(`${field}=${epsilon} is too small to be realised with k=${k}: the probabilities would be equal`);
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
var labelOf = (kind, name, fields2) => {
  const written = Object.entries(fields2).map(([field, each]) => `"${field}": ${each}`);
  return `{${[...written, `"${kind}": "${name}"`].sort().join(", ")}}`;
};
function integer(field, value, low, high) {
  const number2 = value, fits = Number.isInteger(number2) && number2 >= low && number2 <= high;
  return fits ? number2 : refuse(field, `an integer from ${low} to ${high}`, show(value));
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
var power = ([a, b], n) => [a ** BigInt(n), b ** BigInt(n)];
function choose(n, k) {
  let found = 1n;
  for (let i = 0; i < k; i++)
    found = found * BigInt(n - i) / BigInt(i + 1);
  return found;
}
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
  const sum = (all) => all.reduce((total3, each) => reduce(add2(total3, each)));
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
    throw new Error('crypto.getRandomValues is missing: React Native needs "react-native-get-random-values"');
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
  const [digits, power3] = x.toExponential().split("e");
  const exponent = Number(power3);
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
  const given = value instanceof Map ? [...value] : Object.entries(value);
  const sorted = given.sort(([a], [b]) => a < b ? -1 : 1);
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
function readRecord(text, check2) {
  const end = text.indexOf("\n") + 1, line = text.slice(0, end);
  if (!end || text.slice(end) !== `${hex(blake2b(ascii(line), 16))}
`) {
    damaged("it is truncated or was altered");
  }
  const body = entries("record", parse(line)), version = body.get("version");
  if (version !== 1 && version !== 2)
    damaged(`it has version ${quote(version)}`);
  const fields2 = ["version", "secret", "protocol", "context", "classes", "reports"];
  requireFields("record", body, version === 2 ? [...fields2, "history"] : fields2);
  const string = (field) => {
    const given = body.get(field);
    return typeof given === "string" ? given : damaged(`its ${field} is ${quote(given)}`);
  };
  const accounts = (field, read2) => new Map([...entries(field, body.get(field))].map(([j, each]) => [Number(j), read2(each)]));
  const count2 = (n) => typeof n === "number" && n >= 0 ? n : damaged(`${quote(n)} is not a number of the ledger`);
  const secret = unhex(string("secret")), context = unhex(string("context"));
  const own = { secret, context, label: string("protocol") };
  const history2 = check2(own, version === 2 ? body.get("history") : null);
  const found = {
    ...own,
    history: history2,
    ledger: {
      classes: accounts("classes", (each) => new Set(Array.isArray(each) ? each.map(count2) : damaged("its classes are no lists"))),
      reports: accounts("reports", count2)
    }
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
var spentBy = (ledger, prices) => double(total(ledger, prices));
var addedBy = (before, after, prices) => double(subtract(total(after, prices), total(before, prices)));
function total({ classes, reports }, prices) {
  return prices.reduce((sum, price, j) => {
    const times = (classes.get(j)?.size ?? 0) + (reports.get(j) ?? 0);
    return times ? add2(sum, multiply(fraction(price), of(times))) : sum;
  }, of(0));
}

// dist/draws.js
var draws_exports = {};
__export(draws_exports, {
  again: () => again,
  bytes: () => bytes,
  count: () => count,
  has: () => has,
  hash: () => hash,
  hashed: () => hashed,
  histogram: () => histogram,
  integerOf: () => integerOf,
  isTidy: () => isTidy,
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
var integerOf = (of2) => of2.reduceRight((sum, byte) => 256n * sum + BigInt(byte), 0n);
function below(drawn, m2, bits3) {
  const range = 2 ** bits3;
  const product = BigInt(drawn) * BigInt(m2);
  const low = Number(product % BigInt(range));
  return low < range % m2 ? void 0 : Number(product >> BigInt(bits3));
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
var count = (bits3) => bits3.reduce((sum, byte) => sum + ones(byte), 0);
var isTidy = (bits3, k) => !(bits3[bits3.length - 1] & ~(255 >> (-k & 7)));
var ones = (bits3) => {
  let count2 = 0;
  for (let left = bits3; left; left &= left - 1)
    count2++;
  return count2;
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
function row(source, address, k, bits3) {
  const found = Uint8Array.from({ length: width(k) }, (_, i) => eight(source, address + 2 * i, bits3));
  found[found.length - 1] &= 255 >> (-k & 7);
  return found;
}
function coin(source, address, weight) {
  const drawn = source.number(address, 2), digits = Number(weight >> 48n);
  if (drawn !== digits)
    return drawn < digits;
  return source.on(address)() >> 16n < weight % 2n ** 48n;
}
var has = (bits3, place) => (bits3[place >>> 3] >> (place & 7) & 1) === 1;
function put(bits3, place, bit) {
  bits3[place >>> 3] = bits3[place >>> 3] & ~(1 << (place & 7)) | +bit << (place & 7);
}
function unary(source, user, value, k, own, others) {
  const address = user * (2 * width(k) + 2), bits3 = row(source, address, k, others);
  if (value >= 0)
    put(bits3, value, coin(source, address + 2 * width(k), own));
  return bits3;
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
function subset(source, user, value, own, { k, w, corrections, bits: bits3, start }) {
  const each = bits3 / 8, head = 2 * width(k) + 2, address = user * (head + each * corrections);
  const found = row(source, address, k, start);
  const held = value >= 0 && coin(source, address + head - 2, own);
  if (value >= 0)
    put(found, value, false);
  let missing = w - +held - count(found);
  const adds = missing > 0, on = source.on(address + head);
  for (let used = 0; missing; used++) {
    const drawn = used < corrections ? source.number(address + head + each * used, each) : Number(on() >> BigInt(64 - bits3));
    const x = below(drawn, k, bits3);
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
var power2 = (epsilon) => exp(exactly(epsilon)).low;
function symbolWeights(m2, budget2) {
  const other = ceil(divide(of(WORD), add2(power2(budget2.epsilon), of(m2 - 1))));
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
var optimizedWeights = (budget2) => bitWeights(HALF2, divide(of(1), add2(power2(budget2.epsilon), of(1))), budget2);
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
  const { epsilon, k } = budget2, e = power2(epsilon);
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
  const c = power2(budget2.epsilon);
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
  const c = power2(budget2.epsilon);
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
    fake: () => ({
      uniform: true,
      lows: same([BigInt(k) * weights[1], WORD]),
      chance: () => of(1, k)
    }),
    reading: {
      accepts: (report) => integerOf(report) < k,
      level: (report, value) => +(integerOf(report) === BigInt(value)),
      chance: (_, level, p, q) => level ? p : q
    },
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
  const without = divide(rest(p), rest(q));
  const row2 = (m2, places, each) => multiply(power(each, m2), power(rest(each), places - m2));
  const empty = (report) => row2(count(report), k, q);
  return {
    bytes: width(k),
    constants,
    loss: ratio(odds),
    fake: (zero) => zero ? { uniform: false, lows: same(without), chance: empty } : {
      uniform: true,
      lows: [low(k - 1), low(1)],
      chance: (report) => divide(multiply(empty(report), without), low(count(report)))
    },
    reading: {
      accepts: (report) => isTidy(report, k),
      level: (report, value) => +has(report, value),
      chance: (report, level, own, other) => multiply(row2(count(report) - level, k - 1, other), level ? own : rest(own))
    },
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
    fake: () => ({
      uniform: true,
      lows: same(without),
      chance: () => of(1, choose(k, omega))
    }),
    reading: {
      accepts: (report) => isTidy(report, k) && count(report) === omega,
      level: (report, value) => +has(report, value),
      chance: (_, level, own2) => divide(level ? own2 : rest(own2), of(choose(k - 1, omega - level)))
    },
    draw: (source, user, value) => subset(source, user, value, weight, how ??= plan(k, omega))
  };
}
var pack = (prime, g, [function_, sent]) => concat(bytes(function_, size(BigInt(prime) * BigInt(prime - 1))), bytes(sent, size(g)));
function hashing(g, own) {
  const prime = nextPrime(own.k), weights = symbolWeights(g, own);
  const functions = BigInt(prime) * BigInt(prime - 1), edge = size(functions);
  const parts = (report) => [integerOf(report.subarray(0, edge)), integerOf(report.subarray(edge))];
  return {
    bytes: pack(prime, g, [0n, 0]).length,
    constants: { weights, g, prime },
    loss: ratio(weights),
    fake: () => ({
      uniform: false,
      lows: same([BigInt(g) * weights[1], WORD]),
      chance: () => of(1, functions * BigInt(g))
    }),
    reading: {
      accepts(report) {
        const [function_, sent] = parts(report);
        return function_ < functions && sent < g;
      },
      level(report, value) {
        const [function_, sent] = parts(report);
        return +(hash(function_, value, prime, g) === Number(sent));
      },
      chance: (_, level, p, q) => divide(level ? p : q, of(functions))
    },
    draw: (source, user, value) => pack(prime, g, hashed(source, user, value, prime, g, weights))
  };
}
function bestSymbols(own) {
  const excess = subtract(power2(own.epsilon), of(1));
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
    fake: () => ({
      uniform: false,
      lows: same(multiply(of(2), rest(p))),
      chance: () => of(1, rows)
    }),
    reading: {
      accepts: (report) => integerOf(report) < rows,
      level: (report, value) => 1 - ones(Number(integerOf(report)) & value + 1) % 2,
      chance: (_, level) => multiply(of(2, rows), level ? p : rest(p))
    },
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
    reading: {
      accepts: (report) => new Int32Array(Uint8Array.from(report).buffer).every((entry) => entry > -(2 ** 31)),
      level: () => 0,
      chance() {
        throw new SpecError("the likelihood of SHE is not a fraction: its noise is unbounded");
      }
    },
    draw: (source, user, value) => new Uint8Array(histogram(source, user, value, own.k, weight).buffer)
  };
}

// dist/reading.js
function once(make) {
  const known = /* @__PURE__ */ new Map();
  return (key) => {
    if (!known.has(key))
      known.set(key, make(key));
    return known.get(key);
  };
}
function readable({ accepts, level, chance: chance2 }, [own, other]) {
  const likely = (report, at) => chance2(report, at, own, other);
  return {
    accepts,
    likelihood: (report, [value]) => likely(report, level(report, value)),
    read(report) {
      const at = once((found) => likely(report, found));
      return [{
        sent: true,
        supports: (value) => level(report, value) === 1,
        chance: (value) => at(level(report, value))
      }];
    }
  };
}

// dist/explain.js
function requireReport(mechanism2, report) {
  if (isTimed(mechanism2)) {
    throw new SpecError("a report of a whole history depends on the earlier rounds: it is not explained");
  }
  const size2 = mechanism2.bytes;
  if (!(report instanceof Uint8Array) || report.length !== size2) {
    refuse("report", `a Uint8Array of ${size2} bytes`, report?.length);
  }
  if (!mechanism2.accepts(report)) {
    refuse("report", "one that a device sends", hex(report.subarray(0, 100)));
  }
  return mechanism2;
}
var likelihood = (mechanism2, report, value) => shorten(requireReport(mechanism2, report).likelihood(report, recordOf(mechanism2, value)));
function shorten([a, b]) {
  const twos = (x) => BigInt((x & -x).toString(16).length - 1) * 4n;
  const common2 = a ? [twos(a), twos(b)].reduce((x, y) => x < y ? x : y) : 0n;
  return reduce([a >> common2, b >> common2]);
}
function explain(mechanism2, attributes, report, record) {
  return requireReport(mechanism2, report).read(report, record).map((said, j) => {
    const { name, categories } = attributes[j];
    const chances = categories.map((_, value) => said.chance(value));
    const different = [...new Set(chances)];
    const least = different.reduce((low, each) => compare(each, low) < 0n ? each : low);
    const given = record ? chances[record[j]] : least;
    const times = once((chance2) => double(divide(chance2, given)));
    return {
      attribute: name,
      sent: said.sent,
      supports: categories.filter((_, value) => said.supports(value)),
      odds: categories.map((label, value) => ({ label, times: times(chances[value]) })),
      ratio: double(divide(largest(different), least))
    };
  });
}

// dist/memoized.js
function memoized(k, label, memory) {
  const { first, second, again: addNoise } = memory, weights = first.constants.weights;
  const chances = second ? throughBoth(weights, second) : weights.map(chance);
  const one = memory.draw ?? ((source, user, value) => addNoise(source.part("report"), user, first.draw(source.part("permanent"), user, value)));
  return {
    label,
    bytes: first.bytes,
    ...readable(first.reading, chances),
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
var number = (of2) => Number(integerOf(of2));
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
    const whole = bucket >>> 3;
    return count(held.subarray(0, whole)) + ones(held[whole] & (1 << (bucket & 7)) - 1);
  }
  const answer = (source, user, own) => unary(source, user, own, d, weights[0], make()[1]);
  const alone = () => {
    const [up, down] = [divide(p, q), divide(rest(q), rest(p))];
    return compare(up, down) > 0n ? up : down;
  };
  const loss = ratio(d === 1 ? alone() : bitRatio(p, q));
  const split = (report) => [report.subarray(0, width(b)), report.subarray(width(b))];
  const reading = {
    accepts(report) {
      const [held, answers] = split(report);
      return isTidy(held, b) && isTidy(answers, d) && count(held) === d;
    },
    level(report, value) {
      const [held, answers] = split(report), place = rank(held, value);
      return place < 0 ? place : +has(answers, place);
    },
    chance(report, level, own, other) {
      const own_ = [of(1), rest(own), own][level + 1], set = count(split(report)[1]) - +(level > 0);
      const zeros = d - set - +(level >= 0);
      const others = multiply(power(other, set), power(rest(other), zeros));
      return multiply(multiply(others, own_), of(1, choose(b, d)));
    }
  };
  const draw = (source, user, value) => {
    const held = hold(source.part("positions"), user);
    return concat(held, answer(source.part("bits"), user, rank(held, value)));
  };
  return {
    first: { bytes: width(b) + width(d), constants: { weights }, loss, draw, reading },
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
function ways(s, bits3) {
  const idle = 2n ** BigInt(bits3) - 2n;
  let found = [1n];
  for (let i = 0; i < s; i++) {
    found = Array.from({ length: found.length + 2 }, (_, m2) => (found[m2] ?? 0n) + idle * (found[m2 - 1] ?? 0n) + (found[m2 - 2] ?? 0n));
  }
  return found;
}
function ball(s, budget2) {
  const c = power2(budget2.epsilon), spread = multiply(of(s), subtract(c, of(1)));
  const most = ceil(subtract(compare(spread, of(2)) > 0n ? spread : of(2), of(1)));
  let best;
  for (let bits4 = 1; bits4 <= Math.min(60, most.toString(2).length + 1); bits4++) {
    const all = 2n ** BigInt(bits4 * s), counts = ways(s, bits4);
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
      const cost = of((above * below2) ** 2n, (sums * gain) ** 2n * 2n ** BigInt(bits4));
      if (best && compare(cost, best.cost) >= 0n)
        continue;
      best = {
        cost,
        bits: bits4,
        edge: edge2,
        high: reduce([weight * all, WORD * above]),
        low: reduce([(WORD - weight) * all, WORD * below2])
      };
    }
  }
  if (!best)
    return refuseSmall(budget2);
  const { bits: bits3, edge, high, low } = best;
  return { symbols: s, bits: bits3, density: (m2) => m2 >= edge ? high : low };
}
function linear(s, budget2) {
  const [weight] = symbolWeights(2, budget2), gap = 2n * weight - WORD;
  const density = (m2) => reduce([WORD * BigInt(s) + gap * BigInt(m2), WORD * BigInt(s)]);
  return { symbols: s, bits: 1, density };
}
function meanDensity({ symbols: symbols3, bits: bits3, density }, n, m2) {
  const left = symbols3 - n;
  const total3 = ways(left, bits3).reduce((sum, count2, i) => count2 ? add2(sum, multiply(of(count2), density(m2 + i - left))) : sum, of(0));
  return reduce(divide(total3, of(2n ** BigInt(bits3 * left))));
}
function drawBlock({ symbols: s, bits: bits3, density }, source) {
  const next = source.on(0), idle = 2n ** BigInt(bits3) - 2n;
  const outcomes = [];
  for (let plus2 = 0; plus2 <= s; plus2++) {
    for (let minus2 = 0; minus2 <= s - plus2; minus2++) {
      const count2 = choose(s, plus2) * choose(s - plus2, minus2) * idle ** BigInt(s - plus2 - minus2);
      if (count2)
        outcomes.push({ plus: plus2, minus: minus2, chance: multiply(of(count2), density(plus2 - minus2)) });
    }
  }
  const common2 = outcomes.reduce((all, { chance: [, d] }) => all * reduce([all, d])[1], 1n);
  const weights = outcomes.map(({ chance: [a, d] }) => a * (common2 / d));
  const total3 = weights.reduce((sum, each) => sum + each, 0n), length = total3.toString(2).length;
  let drawn = total3;
  while (drawn >= total3) {
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
    ...readable(round2.reading, round2.constants.weights.map(chance)),
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
  const each = !row2 && k > 2 ? 2 : 1, symbols3 = each === 2 ? k : 1;
  const rowBytes = row2 ? size(orderOf(k)) : 0;
  const blocks = kinds.flatMap(({ block }) => block ?? []);
  const step = blocks.length ? rowBytes + 2 * width(symbols3) : 0;
  const length = 1 + Math.max(step, values?.bytes ?? 0);
  const noise2 = blocks.every(({ bits: bits3 }) => bits3 <= 16) ? 2 : 8;
  if (rounds * length > LARGEST_HISTORY) {
    refuse("rounds", `few enough for ${LARGEST_HISTORY} bytes of reports`, rounds);
  }
  const before = grounded ? 1 : 2;
  const steps = (kind) => Math.floor(rounds / kind.length) - before + 1;
  function tell(memory, { block, path, round: round2, entry }, wanted) {
    const base = memory.part("base"), told = new Int8Array(symbols3);
    for (let p = 0; p < symbols3; p++) {
      const address = (round2 * symbols3 + p) * noise2;
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
        content[at + width(symbols3)] |= bit;
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
      return values.accepts(content.subarray(0, used));
    const line = row2 ? Number(integerOf(content.subarray(0, rowBytes))) : 1;
    const end = rowBytes + width(symbols3), told = content.subarray(rowBytes, end);
    return t % stride === 0 && (grounded || t > stride) && line > 0 && (!row2 || line < orderOf(k)) && isTidy(told, symbols3) && (block.bits > 1 || count(told) === symbols3) && content.subarray(end, step).every((byte, i) => !(byte & ~told[i]));
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
      const fields2 = ["first", "last", "told", "stopped", "starts", "asked", "answer", "restorable"];
      requireFields("history", found, fields2);
      const number2 = (field, low, high) => integer(field, found.get(field), low, high);
      const first = number2("first", 0, rounds - 1), last = number2("last", first - 1, rounds - 1);
      const flag = (field) => choice(field, found.get(field), [true, false]);
      const one = (field, low, high) => {
        const list = found.get(field);
        if (!Array.isArray(list) || list.length !== 1)
          return refuse(field, "a list of one entry", list);
        return [integer(field, list[0], low, high)];
      };
      const startsOf = (list) => {
        const fits = Array.isArray(list) && list.length === 1 && Number.isInteger(list[0]) && list[0] >= 0 && list[0] < k;
        return fits ? list : refuse("starts", `one value below k=${k}`, "another list");
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
        starts: startsOf(found.get("starts")),
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
  for (let power3 = 1; power3 <= most; power3 *= 2)
    found.push(power3);
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
function fields(report, parts) {
  let start = 0;
  return parts.map((each) => report.subarray(start, start += each.bytes));
}
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
var total2 = (numbers) => numbers.reduce((sum, each) => sum + each, 0);
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
    accounts: total2(parts.map((each) => each.accounts)),
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
  const over = histories(parts), length = total2(lengths(parts));
  if (over)
    return overTime(over, independent("SPL", over, length, true), null);
  const plain3 = parts;
  const { own, charge, columns, ...solution } = independent("SPL", plain3, length, true);
  return {
    ...solution,
    accepts: (report) => fields(report, plain3).every((field, j) => plain3[j].accepts(field)),
    likelihood: (report, record) => fields(report, plain3).map((field, j) => plain3[j].likelihood(field, own(j, record))).reduce(multiply),
    read: (report, record) => fields(report, plain3).flatMap((field, j) => plain3[j].read(field, record && own(j, record))),
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
  function open(report) {
    const j = Number(integerOf(report.subarray(0, head))), end = head + (plain3[j]?.bytes ?? 0);
    return [plain3[j], j, report.subarray(head, end), report.subarray(end)];
  }
  const unsaid = { sent: false, supports: () => false, chance: () => of(1) };
  return {
    ...solution,
    accepts(report) {
      const [part, , field, after] = open(report);
      return !!part && part.accepts(field) && !after.some(Boolean);
    },
    likelihood(report, record) {
      const [part, j, field] = open(report);
      return multiply(part.likelihood(field, own(j, record)), of(1, m2));
    },
    read(report, record) {
      const [, sent, field] = open(report);
      return plain3.flatMap((part, j) => j === sent ? part.read(field, record && own(j, record)) : part.ks.map(() => unsaid));
    },
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
  const share = (j) => weights ? chance(weights[j]) : of(1, d);
  const odds = (j, field, real) => multiply(share(j), divide(real, hiding[j].fake.chance(field)));
  const ownOdds = (report, record) => fields(report, parts).map((field, j) => odds(j, field, hiding[j].protocol.likelihood(field, [record[j]])));
  const options = `"balance": ${even}, "fake": "${kind}", `;
  const solution = {
    ...common("RSFD", parts, total2(lengths(parts)), options),
    weights,
    accounts: 1,
    history: () => null,
    prices: () => [solution.loss(false, false)],
    loss(attribute, lifetime) {
      if (lifetime)
        return null;
      return hidden(attribute, hiding.map(({ protocol, fake }, j) => ({
        ratio: protocol.loss(false, false).ratio,
        share: share(j),
        fake
      })));
    },
    accepts: (report) => fields(report, parts).every((field, j) => hiding[j].protocol.accepts(field)),
    likelihood: (report, record) => fields(report, parts).map((field, j) => hiding[j].fake.chance(field)).reduce(multiply, ownOdds(report, record).reduce(add2)),
    read(report, record) {
      if (!record)
        throw new SpecError("answers must be given: under RS+FD, the attributes belong together");
      const all = ownOdds(report, record);
      return fields(report, parts).map((field, j) => {
        const [said] = hiding[j].protocol.read(field, null);
        const others = all.filter((_, i) => i !== j).reduce(add2, of(0));
        const whole = once((real) => add2(others, odds(j, field, real)));
        return { ...said, sent: null, chance: (value) => whole(said.chance(value)) };
      });
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
var listed = (makes, fields2) => Object.entries(makes).map(([name, make]) => [name, [make, fields2]]);
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
    const [make, fields2] = HISTORIES[name];
    requireFields(`spec of ${name}`, given, ["history", ...fields2]);
    return make(Object.fromEntries(given));
  }
  const wanted = (fields2) => requireFields(`spec of ${name}`, given, ["protocol", ...fields2]);
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
  if (typeof number2 === "string" && /[\ud800-\udfff]/u.test(number2)) {
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
    const fields2 = ["version", "attributes", "other", "missing", "solution"];
    requireFields("survey", given, fields2);
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
  /**
   * Says what a report says, with one entry per attribute. With the answers, which stay on the
   * device, odds are relative to them. RS+FD needs the answers.
   */
  explain(report, answers) {
    return explain(this.solution, this.attributes, report, answers ? this.encode(answers) : null);
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
  static async import(text, of2, store, options = {}) {
    const limit = limitOf(options), found = read(text, of2, options.context ?? null);
    const persistent = await persist(store, true);
    await store.update((kept) => {
      if (kept !== null && kept !== LEFT)
        throw new Error("a client has begun here: open it");
      return [text, null];
    });
    return new _Client(of2, store, limit, found, persistent);
  }
  /** The survey that the client answers, or null if it was begun for a bare mechanism. */
  get survey() {
    return this.#survey;
  }
  /** Makes a report, after its charge is stored. Null: a history is silent in this round. */
  async report(answers, options = {}) {
    return (await this.charge(answers, options))();
  }
  /** Stores the charge of one report, and returns the function that draws it. Call it once. */
  async charge(answers, options = {}) {
    const mechanism2 = this.#mechanism, record = this.#recordOf(answers, options), { round: round2 } = options;
    return this.#store.update((kept) => respond(mechanism2, this.#own(kept), record, { round: round2, limit: this.#limit }));
  }
  /** What the next report would add to `spent`: 0 for answers that were told. Stores nothing. */
  async cost(answers, options = {}) {
    const mechanism2 = this.#mechanism, record = this.#recordOf(answers, options);
    const kept = await this.#read(), { ledger } = consult(mechanism2, kept, record, options.round);
    return addedBy(kept.ledger, ledger, pricesOf(mechanism2));
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
  /** Returns the record of answers, and refuses a round where there is none. */
  #recordOf(answers, { round: round2 }) {
    const record = this.#survey ? this.#survey.encode(answers) : recordOf(this.#mechanism, answers);
    if (isTimed(this.#mechanism) !== (round2 !== void 0)) {
      throw new SpecError(`round must be given for mechanisms with rounds only, not ${quote(round2)}`);
    }
    return record;
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
function consult(mechanism2, kept, record, round2) {
  const memory = memoryOf(mechanism2, kept.secret, kept.context);
  if (isTimed(mechanism2)) {
    const { charges: charges2, kept: history2, report: report2 } = mechanism2.ask(memory, kept.history, record, round2);
    return { ledger: addCharges(kept.ledger, charges2), history: history2, report: () => report2 };
  }
  const { charges, report } = mechanism2.recall(memory, record);
  return { ledger: addCharges(kept.ledger, charges), history: null, report };
}
function respond(mechanism2, kept, record, { round: round2, limit, fresh: fresh2 = randomBytes }) {
  const { ledger, history: history2, report } = consult(mechanism2, kept, record, round2);
  if (ledger !== kept.ledger && limit !== void 0) {
    const prices = pricesOf(mechanism2), after = spentBy(ledger, prices);
    if (after > limit * (1 + 1e-12)) {
      const before = spentBy(kept.ledger, prices);
      throw new LimitReached(`a report would raise the spent budget from ${before} to ${after}, above limit=${limit}`);
    }
  }
  return [writeRecord({ ...kept, ledger, history: history2 }), () => report(fresh2)];
}
var identityOf = ({ secret, label, context }) => [secret.join(), label, context.join()].join("|");
var limitOf = ({ limit }) => limit === void 0 ? void 0 : budget("limit", limit);
function read(text, of2, context) {
  const mechanism2 = of2 instanceof Survey ? of2.solution : of2;
  const found = readRecord(text, (own, history2) => {
    if (own.label !== mechanism2.label) {
      throw new SpecError(`the record is of ${own.label}, not of ${mechanism2.label}`);
    }
    if (context && context.join() !== own.context.join()) {
      throw new SpecError("the record has another context");
    }
    if (isTimed(mechanism2) === (history2 === null)) {
      throw new SpecError(`history must be in records of mechanisms with rounds only: ${own.label}`);
    }
    if (!isTimed(mechanism2))
      return null;
    return mechanism2.check(memoryOf(mechanism2, own.secret, own.context), history2);
  });
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
  try {
    return Boolean(await (ask && storage?.persist ? storage.persist() : storage?.persisted?.()));
  } catch {
    return false;
  }
}

// dist/batch.js
var MAGIC = "MFLB";
var VERSION3 = 1;
function writeBatch(digest, round2, id, report) {
  const header = concat(ascii(MAGIC), Uint8Array.of(VERSION3), unhex(digest), bytes(round2, 4));
  const record = unhex(id + report), body = new Uint8Array(header.length + record.length);
  body.set(header);
  body.set(record, header.length);
  return body;
}

// dist/sha256.js
var START = [
  1779033703,
  3144134277,
  1013904242,
  2773480762,
  1359893119,
  2600822924,
  528734635,
  1541459225
];
var ROUNDS = [
  1116352408,
  1899447441,
  3049323471,
  3921009573,
  961987163,
  1508970993,
  2453635748,
  2870763221,
  3624381080,
  310598401,
  607225278,
  1426881987,
  1925078388,
  2162078206,
  2614888103,
  3248222580,
  3835390401,
  4022224774,
  264347078,
  604807628,
  770255983,
  1249150122,
  1555081692,
  1996064986,
  2554220882,
  2821834349,
  2952996808,
  3210313671,
  3336571891,
  3584528711,
  113926993,
  338241895,
  666307205,
  773529912,
  1294757372,
  1396182291,
  1695183700,
  1986661051,
  2177026350,
  2456956037,
  2730485921,
  2820302411,
  3259730800,
  3345764771,
  3516065817,
  3600352804,
  4094571909,
  275423344,
  430227734,
  506948616,
  659060556,
  883997877,
  958139571,
  1322822218,
  1537002063,
  1747873779,
  1955562222,
  2024104815,
  2227730452,
  2361852424,
  2428436474,
  2756734187,
  3204031479,
  3329325298
];
var BLOCK2 = 64;
var expanded = new Uint32Array(64);
var turn2 = (x, bits3) => x >>> bits3 | x << 32 - bits3;
function compress2(state, block) {
  for (let i = 0; i < 64; i++) {
    if (i < 16) {
      expanded[i] = block.getUint32(4 * i);
      continue;
    }
    const early = expanded[i - 15], late = expanded[i - 2];
    const first = turn2(early, 7) ^ turn2(early, 18) ^ early >>> 3;
    const second = turn2(late, 17) ^ turn2(late, 19) ^ late >>> 10;
    expanded[i] = expanded[i - 16] + first + expanded[i - 7] + second;
  }
  let [a, b, c, d, e, f, g, h] = [...state];
  for (let i = 0; i < 64; i++) {
    const chosen = e & f ^ ~e & g, most = a & b ^ a & c ^ b & c;
    const one = h + (turn2(e, 6) ^ turn2(e, 11) ^ turn2(e, 25)) + chosen + ROUNDS[i] + expanded[i];
    const two = (turn2(a, 2) ^ turn2(a, 13) ^ turn2(a, 22)) + most;
    [h, g, f, e, d, c, b, a] = [g, f, e, d + one | 0, c, b, a, one + two | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((each, i) => state[i] += each);
}
function sha256(message) {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK2) * BLOCK2);
  padded.set(message);
  padded[message.length] = 128;
  const view = new DataView(padded.buffer), state = Uint32Array.from(START);
  view.setUint32(padded.length - 4, 8 * message.length);
  for (let at = 0; at < padded.length; at += BLOCK2)
    compress2(state, new DataView(padded.buffer, at, BLOCK2));
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word2, i) => digest.setUint32(4 * i, word2));
  return new Uint8Array(digest.buffer);
}
function hmac(key, message) {
  const own = new Uint8Array(BLOCK2);
  own.set(key.length > BLOCK2 ? sha256(key) : key);
  const mask = (byte) => own.map((each) => each ^ byte);
  return sha256(concat(mask(92), sha256(concat(mask(54), message))));
}

// dist/ids.js
var ID_BYTES = 16;
function reportId(secret, survey, digest, round2) {
  const name = ascii(survey), length = Uint8Array.of(name.length);
  const asked = concat(ascii("report id\0"), length, name, unhex(digest), bytes(round2, 4));
  return hex(hmac(secret, asked).subarray(0, ID_BYTES));
}

// dist/outbox.js
var NAME = /^[a-z0-9-]{1,64}$/;
var DIGEST = /^[0-9a-f]{32}$/;
var LARGEST_ROUND = 2 ** 32 - 1;
var FATES = ["waiting", "sent", "silent", "refused"];
var EMPTY = { surveys: /* @__PURE__ */ new Map(), reports: [] };
var compare2 = (a, b) => a < b ? -1 : Number(a > b);
var comparePlaces = (a, b) => compare2(a.survey, b.survey) || compare2(a.digest, b.digest) || a.round - b.round;
var find = (outbox, place) => outbox.reports.find((each) => !comparePlaces(each, place));
var withEntry = (outbox, entry) => ({
  ...outbox,
  reports: [...outbox.reports.filter((each) => comparePlaces(each, entry)), entry].sort(comparePlaces)
});
function writeOutbox({ surveys, reports }) {
  const line = `${write({ version: 1, surveys: Object.fromEntries(surveys), reports })}
`;
  return `${line}${hex(blake2b(ascii(line), 16))}
`;
}
var damaged2 = (why) => {
  throw new SpecError(`the outbox cannot be used: ${why}`);
};
function readOutbox(text) {
  const end = text.indexOf("\n") + 1, line = text.slice(0, end);
  if (!end || text.slice(end) !== `${hex(blake2b(ascii(line), 16))}
`) {
    damaged2("it is truncated or was altered");
  }
  let found;
  try {
    found = readBody(entries("outbox", parse(line)));
  } catch {
  }
  return found && writeOutbox(found) === text ? found : damaged2("its form or its version is another");
}
function readBody(body) {
  requireFields("outbox", body, ["version", "surveys", "reports"]);
  const { version, surveys, reports } = Object.fromEntries(body);
  need(version === 1 && Array.isArray(reports));
  const found = reports.map(readEntry);
  need(found.every((each, i) => !i || comparePlaces(found[i - 1], each) < 0));
  const pins = [...entries("surveys", surveys)].map(([name, each]) => {
    need(NAME.test(name));
    return [name, readPin(each)];
  });
  return { surveys: new Map(pins), reports: found };
}
function need(held) {
  if (!held)
    throw new SpecError("another form");
}
function readPin(given) {
  const { digest, spec, schedule } = fieldsOf(given, ["digest", "spec", "schedule"]);
  need(isDigest(digest) && typeof spec === "string");
  return { digest, spec, schedule: readSchedule(schedule) };
}
var isWithin = (number2, low, high) => Number.isSafeInteger(number2) && number2 >= low && number2 <= high;
var isDigest = (given) => typeof given === "string" && DIGEST.test(given);
function readSchedule(given) {
  if (given === null)
    return null;
  const schedule = fieldsOf(given, ["starts", "period", "grace"]);
  const { starts: starts2, period, grace } = schedule;
  need(isWithin(starts2, 0, 2 ** 40) && isWithin(period, 1, 2 ** 31) && isWithin(grace, 0, period));
  return { starts: starts2, period, grace };
}
function readEntry(given) {
  const entry = fieldsOf(given, ["survey", "digest", "round", "id", "report", "state"]);
  const { survey, digest, round: round2, id, report, state } = entry;
  const isHex = (digits) => typeof digits === "string" && /^(?:[0-9a-f]{2})+$/.test(digits);
  need(typeof survey === "string" && NAME.test(survey) && isDigest(digest));
  need(isWithin(round2, 0, LARGEST_ROUND));
  need(isHex(id) && unhex(id).length === ID_BYTES && FATES.includes(state));
  need(state === "waiting" ? isHex(report) : report === null);
  return entry;
}
function fieldsOf(given, wanted) {
  const found = entries("outbox", given);
  requireFields("outbox", found, wanted);
  return Object.fromEntries(found);
}
function dueRound({ starts: starts2, period, grace }, last, now) {
  const present = Math.floor((now - starts2) / period);
  const late = now - starts2 - present * period < grace;
  const due = present > last && late ? present - 1 : present;
  return due >= 0 && due <= last ? due : null;
}
function requireName(name) {
  if (typeof name === "string" && NAME.test(name))
    return name;
  throw new SpecError(`name must be 1 to 64 of a to z, 0 to 9 and "-", not ${quote(name)}`);
}

// dist/remote.js
var LONGEST_ANSWER = 2 ** 24;
var PATIENCE = 2e4;
var LONGEST_DELAY = 60;
var FIRST_DELAY = 0.5;
var Refused = class extends Error {
  name = "Refused";
  /** The status of the answer. It is 0 if an earlier request was refused. */
  status;
  /** The word that names the problem, or "" if the answer was not of a service of this kind. */
  kind;
  constructor(status, kind, detail) {
    super(detail);
    this.status = status;
    this.kind = kind;
  }
};
var NoAnswer = class extends Error {
  name = "NoAnswer";
};
function endOf(timeout) {
  if (typeof timeout === "number" && timeout > 0 && timeout < Infinity) {
    return performance.now() + 1e3 * timeout;
  }
  throw new SpecError(`timeout must be a number of seconds above 0, not ${quote(timeout)}`);
}
var randomFraction = () => new DataView(randomBytes().buffer).getUint32(0) / 2 ** 32;
function retryAfter({ headers }) {
  const asked = headers.get("Retry-After") ?? "";
  if (/^\d+$/.test(asked))
    return Number(asked);
  return Math.max(0, (Date.parse(asked) - Date.now()) / 1e3 || 0);
}
async function readText({ body }) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }), reader = body?.getReader();
  let text = "", read2 = 0;
  for (let part; reader && !(part = await reader.read()).done; ) {
    read2 += part.value.length;
    if (read2 > LONGEST_ANSWER) {
      await reader.cancel();
      throw new RangeError("the answer is too long");
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}
function readObject(text) {
  try {
    const found = parse(text);
    return found instanceof Map ? found : null;
  } catch {
    return null;
  }
}
function problemOf(status, text) {
  const problem = readObject(text), type = problem?.get("type"), detail = problem?.get("detail");
  if (typeof type === "string" && typeof detail === "string" && type.startsWith("/problems/")) {
    return new Refused(status, type.slice("/problems/".length), detail.slice(0, 1e3));
  }
  return new Refused(status, "", `the service answered with status ${status}`);
}
var Remote = class {
  /** The address of the service, without a slash at its end. */
  url;
  #token;
  constructor(url, token) {
    let found;
    try {
      found = new URL(String(url));
    } catch {
    }
    if (!found || !/^https?:$/.test(found.protocol) || found.search || found.hash) {
      throw new SpecError(`url must be an address such as https://example.org, not ${quote(url)}`);
    }
    if (found.username || found.password)
      throw new SpecError("url must be without a name and a password");
    if (token !== void 0 && !(typeof token === "string" && /^[!-~]+$/.test(token))) {
      throw new SpecError("token must be one word of printable ASCII characters");
    }
    this.url = `${found.origin}${found.pathname}`.replace(/\/+$/, "");
    this.#token = token;
  }
  /** Asks for an object. See `#ask`. */
  get(path, read2, end, once2 = false) {
    return this.#ask(path, { method: "GET" }, read2, end, once2);
  }
  /** Sends a body, with the token. See `#ask`. */
  post(path, body, read2, end) {
    const headers = { "Content-Type": "application/octet-stream" };
    if (this.#token !== void 0)
      headers["Authorization"] = `Bearer ${this.#token}`;
    return this.#ask(path, { method: "POST", headers, body }, read2, end, false);
  }
  /**
   * Returns what `read` makes of the answer, which is null for an answer of something else, such as
   * the page of a hotel. Such answers, errors of servers and broken connections are tried again
   * until the end, unless there is only one attempt.
   */
  async #ask(path, request, read2, end, once2) {
    for (let attempt = 0; ; attempt++) {
      const [found, asked] = await this.#try(path, request, read2, end);
      if (found !== null)
        return found;
      const delay = randomFraction() * Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** attempt);
      const wait = 1e3 * Math.max(delay, asked);
      if (once2 || performance.now() + wait >= end) {
        throw new NoAnswer(`no service answers at ${this.url}`);
      }
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  /** Tries once. Returns what was read or null, and the seconds to wait before the next attempt. */
  async #try(path, request, read2, end) {
    let answer, text;
    try {
      const time = Math.min(PATIENCE, Math.max(1, Math.ceil(end - performance.now())));
      answer = await fetch(this.url + path, {
        ...request,
        redirect: "error",
        credentials: "omit",
        cache: "no-store",
        referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(time)
      });
      text = await readText(answer);
    } catch {
      return [null, 0];
    }
    const { status } = answer;
    if (status === 408 || status === 429 || status >= 500)
      return [null, retryAfter(answer)];
    if (status >= 400)
      throw problemOf(status, text);
    const found = status === 200 ? readObject(text) : null;
    return [found && read2(found), 0];
  }
};

// dist/looking.js
async function look(remote, name, end, once2 = false) {
  const about = await remote.get(`/v1/surveys/${name}`, readAbout, end, once2);
  return { ...about, survey: surveyOf(about.pin) };
}
async function choose2(remote, name, round2, pin, end) {
  const own = pin && surveyOf(pin), schedule = pin?.schedule ?? null;
  const alone = own && (round2 !== void 0 || schedule !== null || lastRound(own) === 0);
  let about;
  try {
    const now = performance.now();
    about = await look(remote, name, alone ? now + (end - now) / 4 : end, alone);
  } catch (error) {
    if (!alone || !(error instanceof NoAnswer))
      throw error;
    const due = schedule ? dueRound(schedule, lastRound(own), Date.now() / 1e3) : 0;
    return { pin, survey: own, round: check(own, round2 ?? due) };
  }
  const { survey, state, accepted } = about;
  if (pin && pin.digest !== survey.digest) {
    throw new SpecError(`${name} is now the survey with digest ${survey.digest}: this device answers ${pin.digest}`);
  }
  if (state !== "open")
    throw new Refused(409, "not-open", `the survey is ${quote(state)}`);
  const chosen = check(survey, round2 ?? (accepted.length ? Math.max(...accepted) : null));
  if (!accepted.includes(chosen)) {
    throw new Refused(409, "round-closed", `round ${chosen} takes no reports now, only ${quote(accepted)}`);
  }
  return { pin: pin ?? about.pin, survey, round: chosen };
}
function surveyOf({ spec, digest }) {
  const survey = Survey.parse(spec);
  if (survey.digest !== digest)
    throw new SpecError(`the digest ${digest} does not fit the spec`);
  return survey;
}
var lastRound = (survey) => isTimed(survey.solution) ? survey.solution.rounds - 1 : survey.longitudinal ? LARGEST_ROUND : 0;
function check(survey, round2) {
  if (round2 === null)
    throw new Refused(409, "round-closed", "no round takes reports now");
  return integer("round", round2, 0, lastRound(survey));
}
function readAbout(answer) {
  const [digest, spec, state, accepted] = ["digest", "spec", "state", "accepted"].map((field) => answer.get(field));
  const isRound = (each) => Number.isSafeInteger(each) && each >= 0 && each <= LARGEST_ROUND;
  if (typeof digest !== "string" || !DIGEST.test(digest) || !(spec instanceof Map))
    return null;
  if (typeof state !== "string" || !Array.isArray(accepted) || !accepted.every(isRound))
    return null;
  try {
    const schedule = readSchedule(answer.get("schedule"));
    return { pin: { digest, spec: write(spec), schedule }, state, accepted };
  } catch {
    return null;
  }
}

// dist/sender.js
var PATIENCE2 = 60;
var FINAL = ["round-closed", "wrong-survey", "not-a-report", "too-large"];
var NotDelivered = class extends NoAnswer {
  name = "NotDelivered";
};
var Sender = class {
  #remote;
  #store;
  /** Surveys that were looked at, so that a person who has read one can answer it offline. */
  #seen = /* @__PURE__ */ new Map();
  #secret = null;
  /** Sends to the service at a URL. The store holds the outbox and the secret of its ids. */
  constructor(url, store, { token } = {}) {
    this.#remote = new Remote(url, token);
    this.#store = store;
  }
  /** Returns a survey: as it was first answered here, or as the service has it. Stores nothing. */
  async survey(name, { timeout = PATIENCE2 } = {}) {
    const end = endOf(timeout), known = (await this.#read()).surveys.get(requireName(name));
    const pin = known ?? (await look(this.#remote, name, end)).pin;
    this.#seen.set(name, pin);
    return surveyOf(pin);
  }
  /**
   * Answers a round of a survey: draws one report, stores it, and sends it. If the round was answered
   * before, nothing is drawn, and the stored bytes are sent if they still wait.
   *
   * Throws `NotDelivered` if no service answers. Then the report is kept.
   */
  answer(name, answers, { client, ...options } = {}) {
    const own = { ...answers };
    return this.#deliver(name, options, async (survey, round2) => {
      if (client) {
        if (client.survey?.digest !== survey.digest) {
          refuse("client", `one of the survey with digest ${survey.digest}`, client.survey?.digest);
        }
        return client.charge(own, isTimed(survey.solution) ? { round: round2 } : {});
      }
      if (survey.longitudinal)
        throw new SpecError("client must be given: this survey has permanent answers");
      survey.encode(own);
      return () => survey.randomize(own);
    });
  }
  /** Sends a report that was drawn elsewhere. If the round has a report, that one is sent instead. */
  submit(name, report, options = {}) {
    const own = report instanceof Uint8Array ? report.slice() : new Uint8Array();
    return this.#deliver(name, options, async ({ solution }) => {
      if (own.length !== solution.bytes || !(isTimed(solution) || solution.accepts(own))) {
        throw new SpecError(`report must be a report of this survey, of ${solution.bytes} bytes`);
      }
      return () => own;
    });
  }
  /** Returns what became of the reports of a survey, round by round. Draws and sends nothing. */
  async reports(name) {
    requireName(name);
    const { reports } = await this.#read();
    return reports.filter(({ survey }) => survey === name).map(({ round: round2, state, report }) => ({ round: round2, state, report: report === null ? null : unhex(report) }));
  }
  /** Sends what waits, and returns how many were sent. Throws the first refusal at the end. */
  async flush({ survey, timeout = PATIENCE2 } = {}) {
    const end = endOf(timeout), only = survey === void 0 ? null : requireName(survey);
    const { reports } = await this.#read();
    const waiting = reports.filter((each) => each.state === "waiting" && (only === null || each.survey === only));
    let sent = 0, refused;
    for (const entry of waiting) {
      try {
        await this.#send(entry, end);
        sent++;
      } catch (error) {
        if (!(error instanceof Refused))
          throw error;
        refused ??= error;
      }
    }
    if (refused)
      throw refused;
    return sent;
  }
  async #deliver(name, { round: round2, timeout = PATIENCE2 }, prepare) {
    if (round2 !== void 0)
      integer("round", round2, 0, LARGEST_ROUND);
    const end = endOf(timeout), { surveys } = await this.#read();
    const pin = surveys.get(requireName(name)) ?? this.#seen.get(name);
    const known = async (digest2, at) => find(await this.#read(), { survey: name, digest: digest2, round: at });
    let entry = pin && round2 !== void 0 ? await known(pin.digest, round2) : void 0;
    if (entry)
      return this.#finish(entry, end);
    const found = await choose2(this.#remote, name, round2, pin, end), { digest } = found.pin;
    entry = await known(digest, found.round);
    if (!entry) {
      let draw;
      try {
        draw = await prepare(found.survey, found.round);
      } catch (error) {
        entry = await known(digest, found.round);
        if (!entry)
          throw error;
      }
      if (draw)
        entry = await this.#keep(name, found, draw);
    }
    return this.#finish(entry, end);
  }
  /** Draws a report and stores it in one step, unless the round has one. */
  #keep(name, { pin, round: round2 }, draw) {
    return this.#update((outbox, secret) => {
      const place = { survey: name, digest: pin.digest, round: round2 }, before = find(outbox, place);
      if (before)
        return [outbox, before];
      if ((outbox.surveys.get(name) ?? pin).digest !== pin.digest) {
        throw new SpecError(`${name} was answered with another digest at the same time`);
      }
      const report = draw(), id = reportId(secret, name, pin.digest, round2);
      const entry = {
        ...place,
        id,
        report: report && hex(report),
        state: report ? "waiting" : "silent"
      };
      const surveys = new Map([[name, pin], ...outbox.surveys]);
      return [withEntry({ ...outbox, surveys }, entry), entry];
    });
  }
  /** Sends an entry if it waits, and says what became of it. */
  async #finish(entry, end) {
    const { round: round2, report, state } = entry;
    if (state === "refused") {
      throw new Refused(0, "", `the report of round ${round2} was refused before, and is not sent again`);
    }
    if (state === "silent")
      return { round: round2, report: null, state };
    if (state === "sent")
      return { round: round2, report: null, state: "sent before" };
    await this.#send(entry, end);
    return { round: round2, report: unhex(report), state: "sent" };
  }
  async #send(entry, end) {
    const { survey, digest, round: round2, id, report } = entry;
    try {
      const body = writeBatch(digest, round2, id, report);
      await this.#remote.post(`/v1/surveys/${survey}/reports`, body, readCounted, end);
    } catch (error) {
      if (error instanceof NoAnswer) {
        throw new NotDelivered(`${error.message}: the report is kept and will be sent by flush()`);
      }
      if (error instanceof Refused && FINAL.includes(error.kind))
        await this.#mark(entry, "refused");
      throw error;
    }
    await this.#mark(entry, "sent");
  }
  /** Notes a final answer, and drops the bytes. A report that was counted stays so. */
  #mark(entry, state) {
    return this.#update((outbox) => {
      const now = find(outbox, entry), done = now?.state === "sent" || now?.state === state;
      return [done || !now ? outbox : withEntry(outbox, { ...now, state, report: null }), null];
    });
  }
  #read() {
    return this.#update((outbox) => [outbox, outbox]);
  }
  /** Replaces the outbox by the first result, in one update of the store. */
  async #update(change) {
    const [secret, result] = await this.#store.update((text) => {
      const kept = text === null ? { secret: null, outbox: EMPTY } : readKept(text);
      if (this.#secret !== null && kept.secret !== this.#secret) {
        throw new Error("the outbox is gone: what was sent is not known any more");
      }
      const own = kept.secret ?? hex(randomBytes());
      const [after, made] = change(kept.outbox, unhex(own));
      if (after === kept.outbox)
        return [text, [kept.secret, made]];
      return [`${own}
${writeOutbox(after)}`, [own, made]];
    });
    this.#secret ??= secret;
    return result;
  }
};
function readKept(text) {
  const secret = text.slice(0, 64);
  if (!/^[0-9a-f]{64}$/.test(secret) || text[64] !== "\n") {
    throw new SpecError("the outbox cannot be used: it does not begin with a secret");
  }
  const outbox = readOutbox(text.slice(65)), bytes2 = unhex(secret);
  const own = ({ survey, digest, round: round2, id }) => reportId(bytes2, survey, digest, round2) === id;
  if (!outbox.reports.every(own)) {
    throw new SpecError("the outbox cannot be used: its ids belong to another secret");
  }
  return { secret, outbox };
}
function readCounted(answer) {
  const [counted, duplicates] = ["counted", "duplicates"].map((field) => answer.get(field));
  const known = counted === 1 && duplicates === 0 || counted === 0 && duplicates === 1;
  return known || null;
}

// dist/stores/indexeddb.js
var DATABASE = "multi-freq-ldpy";
var RECORDS = "records";
function indexedDBStore(name) {
  let connection;
  const forget2 = () => void (connection = void 0);
  function connect() {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(RECORDS);
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const database = request.result;
        database.onclose = forget2;
        database.onversionchange = () => {
          database.close();
          forget2();
        };
        resolve(database);
      };
    });
  }
  async function begin() {
    for (let again2 = false; ; again2 = true) {
      try {
        const database = await (connection ??= connect());
        return database.transaction(RECORDS, "readwrite", { durability: "strict" });
      } catch (error) {
        forget2();
        if (again2)
          throw error;
      }
    }
  }
  return {
    async update(change) {
      const transaction = await begin(), records = transaction.objectStore(RECORDS);
      return new Promise((resolve, reject) => {
        let result, failure;
        const request = records.get(name);
        request.onsuccess = () => {
          const found = request.result, kept = found === void 0 ? null : `${found}`;
          try {
            const [after, made] = change(kept);
            result = made;
            if (after === null)
              records.delete(name);
            else if (after !== kept)
              records.put(after, name);
          } catch (error) {
            failure = error;
            transaction.abort();
          }
        };
        transaction.oncomplete = () => resolve(result);
        transaction.onabort = () => {
          reject(failure ?? transaction.error ?? new Error("the browser took the write back"));
        };
      });
    }
  };
}

// dist/stores/memory.js
function memoryStore(kept = null) {
  return {
    persistent: false,
    update: async (change) => {
      const [after, result] = change(kept);
      kept = after;
      return result;
    }
  };
}

// dist/aggregate.js
var aggregate_exports = {};
__export(aggregate_exports, {
  addCounts: () => addCounts,
  estimate: () => estimate
});
var ownOf = ({ constants }) => chance(constants.weights[0]);
var otherOf = ({ constants }) => chance(constants.weights[1]);
var symbols2 = {
  add: (_, report, counts) => void counts[Number(integerOf(report))]++,
  other: otherOf
};
function addBits(_, report, counts) {
  for (let v2 = 0; v2 < counts.length; v2++)
    counts[v2] += +has(report, v2);
}
var bits2 = { add: addBits, other: otherOf };
var sets2 = {
  add: addBits,
  other: (protocol) => divide(subtract(of(protocol.constants.omega), ownOf(protocol)), of(protocol.ks[0] - 1))
};
var hashes = {
  add({ constants }, report, counts) {
    const prime = constants.prime, g = constants.g, P = BigInt(prime);
    const edge = size(P * (P - 1n)), seed2 = integerOf(report.subarray(0, edge));
    const sent = Number(integerOf(report.subarray(edge))), step = 1 + Number(seed2 / P);
    for (let v2 = 0, at = Number(seed2 % P); v2 < counts.length; v2++, at = (at + step) % prime) {
      if (Math.floor(g * at / prime) === sent)
        counts[v2]++;
    }
  },
  /** Another value supports the report as its own does if both fall into one bucket. */
  other(protocol) {
    const P = BigInt(protocol.constants.prime), g = BigInt(protocol.constants.g);
    const s = P / g, larger = P % g;
    const pairs = (g - larger) * s * (s - 1n) + larger * (s + 1n) * s;
    const together = of(pairs, P * (P - 1n));
    return add2(multiply(together, ownOf(protocol)), multiply(rest(together), otherOf(protocol)));
  }
};
var COUNTED = {
  GRR: symbols2,
  SUE: bits2,
  OUE: bits2,
  OLH: hashes,
  SS: sets2
};
function countingOf(mechanism2) {
  const name = /"(?:protocol|history)": "(\w+)"/.exec(mechanism2.label)[1];
  if (!Object.hasOwn(COUNTED, name)) {
    throw new SpecError(`estimates are for ${Object.keys(COUNTED).join(", ")}, not for ${name}: use Python`);
  }
  return [mechanism2, COUNTED[name]];
}
function addCounts(mechanism2, reports, counts) {
  const [protocol, counting] = countingOf(mechanism2), { bytes: bytes2, ks: [k] } = protocol;
  if (!(reports instanceof Uint8Array))
    refuse("reports", "a Uint8Array", typeof reports);
  const n = reports.length / bytes2;
  if (!Number.isInteger(n))
    refuse("reports", `a multiple of ${bytes2} bytes long`, reports.length);
  if (counts.length !== k)
    refuse("counts", `one number for each of ${k} values`, counts.length);
  const at = (i) => reports.subarray(i * bytes2, (i + 1) * bytes2);
  for (let i = 0; i < n; i++) {
    if (!protocol.accepts(at(i)))
      refuse(`report ${i}`, "one that a device sends", [...at(i)]);
  }
  for (let i = 0; i < n; i++)
    counting.add(protocol, at(i), counts);
  return n;
}
function estimate(mechanism2, counts, n, level = 0.95) {
  const [protocol, counting] = countingOf(mechanism2);
  const own = reduce(ownOf(protocol)), other = reduce(counting.other(protocol));
  const [p, q, slope] = [double(own), double(other), double(subtract(own, other))];
  const isCount = (each, most) => Number.isSafeInteger(each) && each >= 0 && each <= most;
  if (!(level > 0 && level < 1))
    refuse("level", "between 0 and 1", level);
  if (!isCount(n, Infinity))
    refuse("n", "a number of reports", n);
  if (counts.length !== protocol.ks[0] || !Array.from(counts).every((each) => isCount(each, n))) {
    refuse("counts", `one number from 0 to n=${n} for each of ${protocol.ks[0]} values`, [...Array.from(counts)]);
  }
  const z = normalQuantile((1 - level) / 2);
  return Array.from(counts, (count2) => {
    if (!n)
      return { frequency: NaN, std: Infinity, low: 0, high: 1 };
    const frequency = (count2 / n - q) / slope, f = cut(frequency);
    const std = Math.sqrt((f * (p - p * p) + (1 - f) * (q - q * q)) / n) / slope;
    return { frequency, std, low: cut(frequency - z * std), high: cut(frequency + z * std) };
  });
}
var cut = (f) => Math.min(1, Math.max(0, f));
function normalTail(z) {
  const density = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
  if (z < 3) {
    let sum = 0;
    for (let term = z, i = 3; term > 1e-18; i += 2) {
      sum += term;
      term *= z * z / i;
    }
    return 0.5 - density * sum;
  }
  let fraction2 = z;
  for (let i = 100; i > 0; i--)
    fraction2 = z + i / fraction2;
  return density / fraction2;
}
function normalQuantile(tail) {
  let low = 0, high = 40;
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (normalTail(middle) > tail)
      low = middle;
    else
      high = middle;
  }
  return (low + high) / 2;
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
  hmac: () => hmac,
  keyed: () => keyed,
  likelihood: () => likelihood,
  mechanism: () => mechanism,
  memoryOf: () => memoryOf,
  parse: () => parse,
  permanentOf: () => permanentOf,
  pricesOf: () => pricesOf,
  privacyOf: () => privacyOf,
  read: () => read,
  readOutbox: () => readOutbox,
  reportAs: () => reportAs,
  reportId: () => reportId,
  respond: () => respond,
  sha256: () => sha256,
  spentBy: () => spentBy,
  subkey: () => subkey,
  write: () => write,
  writeFloat: () => writeFloat,
  writeOutbox: () => writeOutbox
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
  NoAnswer,
  NotDelivered,
  OLH,
  OUE,
  Once,
  RSFD,
  Refused,
  SHE,
  SMP,
  SPL,
  SS,
  SUE,
  Sender,
  SpecError,
  Steps,
  Survey,
  THE,
  Tree,
  aggregate_exports as aggregate,
  indexedDBStore,
  likelihood,
  mechanism,
  memoryStore,
  randomize,
  testing_exports as testing
};
