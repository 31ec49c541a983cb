/** Lists under which names a language is written behind the fence of a code block. */

export type Language =
  | 'css'
  | 'go'
  | 'html'
  | 'javascript'
  | 'json'
  | 'python'
  | 'rust'
  | 'shell'
  | 'sql'
  | 'typescript'
  | 'yaml'

const names: Readonly<Record<Language, string>> = {
  css: 'css scss less',
  go: 'go golang',
  html: 'html xml svg vue',
  javascript: 'javascript js jsx mjs cjs node',
  json: 'json jsonc json5',
  python: 'python py python3',
  rust: 'rust rs',
  shell: 'shell sh bash zsh console',
  sql: 'sql postgres mysql sqlite',
  typescript: 'typescript ts tsx mts',
  yaml: 'yaml yml',
}
const languages = new Map(
  Object.entries(names).flatMap(([language, all]) =>
    all.split(' ').map((name) => [name, language as Language] as const),
  ),
)

export const findLanguage = (name: string): Language | undefined => languages.get(name.toLowerCase())

const extensions: Readonly<Record<Language, string>> = {
  css: 'css',
  go: 'go',
  html: 'html',
  javascript: 'js',
  json: 'json',
  python: 'py',
  rust: 'rs',
  shell: 'sh',
  sql: 'sql',
  typescript: 'ts',
  yaml: 'yml',
}

/** The extension of a file with such code. */
export function extensionFor(name: string): string {
  const language = findLanguage(name)
  if (language) return /^(?:svg|xml|vue|jsx|tsx|scss)$/i.test(name) ? name.toLowerCase() : extensions[language]
  if (name.toLowerCase() === 'mermaid') return 'mmd'
  return /^[a-z][a-z\d+]{0,9}$/i.test(name) ? name.toLowerCase() : 'txt'
}
