/** Finds the parts of an office document by their relationships: their names differ between programs. */

import { getAttribute, listTags } from './xml-tokens.ts'
import type { ZipArchive } from './zip-archive.ts'

type Relation = {
  /** The last word of the type, such as `worksheet`: the rest differs between editions of the standard. */
  readonly type: string
  /** The name of a part, or the address of a link. */
  readonly target: string
}

export type Part = {
  readonly name: string
  readonly xml: string
  /** By their ids. */
  readonly relations: ReadonlyMap<string, Relation>
}

/** Opens the main part: the one that the package names, or the one with the usual name. */
export async function openMainPart(archive: ZipArchive, usualName: string): Promise<Part | undefined> {
  const relations = await readRelations(archive, '')
  const named = [...relations.values()].find(({ type }) => type === 'officeDocument')
  return (named && (await openPart(archive, named.target))) ?? openPart(archive, usualName)
}

export async function openPart(archive: ZipArchive, name: string): Promise<Part | undefined> {
  const found = findName(archive, name)
  const xml = found === undefined ? undefined : await archive.readText(found)
  return xml === undefined ? undefined : { name, xml, relations: await readRelations(archive, name) }
}

/** Opens the part of this type that a part refers to, or the one with the usual name. */
export async function openRelated(
  archive: ZipArchive,
  part: Part,
  { type, usualName }: { readonly type: string; readonly usualName?: string },
): Promise<Part | undefined> {
  const named = [...part.relations.values()].find((relation) => relation.type === type)
  const found = named && (await openPart(archive, named.target))
  return found ?? (usualName === undefined ? undefined : openPart(archive, usualName))
}

async function readRelations(archive: ZipArchive, part: string): Promise<ReadonlyMap<string, Relation>> {
  const at = part.lastIndexOf('/') + 1
  const name = findName(archive, `${part.slice(0, at)}_rels/${part.slice(at)}.rels`)
  const xml = name === undefined ? undefined : await archive.readText(name)
  return new Map(
    listTags(xml ?? '', 'Relationship').map(({ attributes }) => {
      const value = (attribute: string) => getAttribute(attributes, attribute) ?? ''
      const isLink = value('TargetMode') === 'External'
      const target = isLink ? value('Target') : resolveTarget(part.slice(0, at), value('Target'))
      return [value('Id'), { type: value('Type').split('/').at(-1) ?? '', target }]
    }),
  )
}

function resolveTarget(folder: string, target: string): string {
  const resolved: string[] = []
  for (const step of (target.startsWith('/') ? target : folder + target).replaceAll('\\', '/').split('/'))
    if (step === '..') resolved.pop()
    else if (step !== '' && step !== '.') resolved.push(step)
  return resolved.join('/')
}

/** Some programs write names with other capitals, or with backslashes. */
function findName({ names }: ZipArchive, name: string): string | undefined {
  const plain = (text: string) => text.replaceAll('\\', '/').toLowerCase()
  return names.includes(name) ? name : names.find((one) => plain(one) === plain(name))
}
