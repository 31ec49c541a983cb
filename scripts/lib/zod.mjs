// Makes the schemas of zod cheap until they are used. An isolate defines about 7000, and a request uses a few of them.
// - A schema keeps its definition alone. Its internals and own members are built when one of them is first read. The
//   first schema of each kind is built at once: it gives the prototype what all share.
// - Schemas share their sets of traits: there are few combinations.
// - A method that was read is not kept: each schema of a chain would hold the one that made the next.

const helpers = `
const noTraits = new Set();
function withTrait(traits, name) {
    const next = (traits.next ??= new Map());
    let found = next.get(name);
    if (!found) next.set(name, (found = new Set(traits).add(name)));
    return found;
}
function runDeferred(inst) {
    inst._zod.deferred?.forEach((fn) => fn());
    inst._zod.deferred = undefined;
}
/** Lets those that come after the first build what it has when they are asked for it. */
function buildOnUse(make, first) {
    for (const key of Object.getOwnPropertyNames(first)) {
        if (key === "def" || Object.hasOwn(make.prototype, key)) continue;
        Object.defineProperty(make.prototype, key, {
            configurable: true,
            get() {
                // The prototype itself, or a schema that is being built.
                if (!Object.hasOwn(this, "def") || Object.hasOwn(this, "_zod")) return undefined;
                make.init(this, this.def);
                runDeferred(this);
                if (this._parent) this._zod.parent = this._parent;
                return this[key];
            },
            set(value) {
                Object.defineProperty(this, key, { configurable: true, writable: true, enumerable: true, value });
            },
        });
    }
}
`

const changes = {
  core: [
    ['this.traits = new Set();', 'this.traits = noTraits;'],
    ['inst._zod.traits.add(name);', 'inst._zod.traits = withTrait(inst._zod.traits, name);'],
    ['if (!inst._zod) {', 'if (!Object.hasOwn(inst, "_zod")) {'],
    ['    function _(def) {', '    let hasFirst = false;\n    function _(def) {'],
    [
      '        init(inst, def);\n        const deferred = inst._zod.deferred;\n        if (deferred) {',
      // Errors have no such definition.
      `        if (def?.type || def?.check) {
            if (hasFirst) return (inst.def = def), inst;
            init(inst, def);
            runDeferred(inst);
            buildOnUse(_, inst);
            hasFirst = true;
            return inst;
        }
        init(inst, def);
        const deferred = inst._zod.deferred;
        if (deferred) {`,
    ],
  ],
  util: [
    ['new inst._zod.constr(def ?? inst._zod.def)', 'new inst.constructor(def ?? inst.def)'],
    [
      '        cl._zod.parent = inst;',
      '        if (Object.hasOwn(cl, "_zod")) cl._zod.parent = inst;\n        else cl._parent = inst;',
    ],
    ['own(this, key, fn.bind(this))', 'fn.bind(this)'],
  ],
}

/** The files that are changed. */
export const zodFiles = /\/zod\/v4\/core\/(core|util)\.js$/

/** Changes `zod/v4/core/core.js` or `util.js`. Throws when it has another form. */
export function buildSchemasOnUse(name, source) {
  let changed = source
  for (const [before, after] of changes[name]) {
    if (changed.split(before).length !== 2) throw new Error(`zod has changed: "${before}" is not there once.`)
    changed = changed.replace(before, () => after)
  }
  return name === 'core' ? changed + helpers : changed
}
