/** Knows under which names a language is written behind the fence of a code block. */

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
