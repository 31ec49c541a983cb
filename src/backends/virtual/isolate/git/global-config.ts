/** Reads and writes the user's settings in ~/.gitconfig. */

import type { CommandContext } from '../commands/io.ts'

const configPath = '/workspace/.gitconfig'

type Sections = Map<string, Map<string, string>>

function parse(text: string): Sections {
  const sections: Sections = new Map()
  let current = new Map<string, string>()
  for (const line of text.split('\n')) {
    const section = /^\s*\[\s*([\w.-]+)(?:\s+"(.*)")?\s*\]/.exec(line)
    const entry = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(line)
    if (section) {
      current = new Map()
      sections.set([section[1], section[2]].filter((part) => part !== undefined).join('.'), current)
    } else if (entry) current.set(entry[1] ?? '', entry[2] ?? '')
  }
  return sections
}

const split = (path: string): readonly [string, string] => [
  path.slice(0, path.lastIndexOf('.')),
  path.slice(path.lastIndexOf('.') + 1),
]

const load = async ({ fs }: CommandContext): Promise<Sections> =>
  parse((await fs.exists(configPath)) ? await fs.readFile(configPath) : '')

export async function readGlobal(context: CommandContext, path: string): Promise<string | undefined> {
  const [section, key] = split(path)
  return (await load(context)).get(section)?.get(key)
}

export async function writeGlobal(context: CommandContext, path: string, value: string | undefined): Promise<void> {
  const sections = await load(context)
  const [section, key] = split(path)
  const entries = sections.get(section) ?? new Map<string, string>()
  if (value === undefined) entries.delete(key)
  else entries.set(key, value)
  sections.set(section, entries)
  const heading = (name: string): string => {
    const dot = name.indexOf('.')
    return dot < 0 ? `[${name}]` : `[${name.slice(0, dot)} "${name.slice(dot + 1)}"]`
  }
  const texts = [...sections].map(([name, values]) =>
    [heading(name), ...[...values].map(([k, v]) => `\t${k} = ${v}`), ''].join('\n'),
  )
  await context.fs.writeFile(configPath, texts.join(''))
}

export async function listGlobal(context: CommandContext): Promise<string[]> {
  return [...(await load(context))].flatMap(([section, entries]) =>
    [...entries].map(([key, value]) => `${section}.${key}=${value}`),
  )
}
