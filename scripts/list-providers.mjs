// Prints the table of docs/providers.md from the profiles themselves.
import { providers } from '../src/agent/providers/profiles/providers.ts'

const code = (text) => `\`${text}\``
const list = (texts) => texts.map(code).join(', ')

function keysOf({ keys, keyParts, binding, baseUrl, baseUrlTemplate, baseUrlVariable, optionalKey }) {
  if (binding) return `the binding ${code(binding)}`
  const named = list(keys) + (keyParts ? `, or ${list(keyParts)}` : '')
  const address = baseUrlVariable && !(baseUrl || baseUrlTemplate) ? `${code(baseUrlVariable)}; ` : ''
  return address + (named ? named + (optionalKey ? ' (optional)' : '') : 'none')
}

console.log('| provider | also | keys | dialect | default model |\n|---|---|---|---|---|')
for (const one of providers) {
  const dialects = [one.dialect ?? 'by its address', ...(one.rules ?? []).flatMap(({ dialect }) => dialect ?? [])]
  const cells = [
    code(one.id),
    list(one.aliases ?? []),
    keysOf(one),
    [...new Set(dialects)].map((name) => (name.startsWith('by') ? name : code(name))).join(', '),
    one.defaultModel ? code(one.defaultModel) : '',
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
