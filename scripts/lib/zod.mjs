// Lets the schemas of zod share their sets of traits: there are few combinations, and about 7000 schemas in an isolate.

const helper = `
const noTraits = new Set();
function withTrait(traits, name) {
    const next = (traits.next ??= new Map());
    let found = next.get(name);
    if (!found) next.set(name, (found = new Set(traits).add(name)));
    return found;
}
`

const changes = [
  ['this.traits = new Set();', 'this.traits = noTraits;'],
  ['inst._zod.traits.add(name);', 'inst._zod.traits = withTrait(inst._zod.traits, name);'],
]

/** Changes `zod/v4/core/core.js`. Throws when it has another form. */
export function shareTraits(source) {
  let changed = source
  for (const [before, after] of changes) {
    if (changed.split(before).length !== 2) throw new Error(`zod has changed: "${before}" is not there once.`)
    changed = changed.replace(before, after)
  }
  return changed + helper
}
