// Prints the table of docs/providers.md from the provider profiles.
import { providers } from '../src/agent/providers/profiles/providers.ts'

const code = (text) => `\`${text}\``
const list = (texts) => texts.map(code).join(', ')

function renderKeys({ keys, keyParts, binding, signIn, baseUrl, baseUrlTemplate, baseUrlVariable, isKeyOptional }) {
  if (signIn) return `sign-in to ${signIn}`
  if (binding) return `the binding ${code(binding)}`
  const names = list(keys) + (keyParts ? `, or ${list(keyParts)}` : '')
  const address = baseUrlVariable && !(baseUrl || baseUrlTemplate) ? `${code(baseUrlVariable)}; ` : ''
  return address + (names ? names + (isKeyOptional ? ' (optional)' : '') : 'none')
}

console.log('| provider | aliases | keys | dialect | default model |\n|---|---|---|---|---|')
for (const provider of providers) {
  const dialects = [
    provider.dialect ?? 'from the address',
    ...(provider.rules ?? []).flatMap(({ dialect }) => dialect ?? []),
  ]
  const cells = [
    code(provider.id),
    list(provider.aliases ?? []),
    renderKeys(provider),
    [...new Set(dialects)].map((name) => (name.startsWith('from') ? name : code(name))).join(', '),
    provider.defaultModel ? code(provider.defaultModel) : '',
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
