/** Implements patch for unified diffs. A file is written only when all of its hunks apply. */

import { applyPatch, parsePatch, reversePatch, type StructuredPatch } from 'diff'
import { type Command, command, errorResult, type CommandContext, parse, pathIn, readText, textResult } from './io.ts'

const strip = (name: string, count: number): string => name.split('/').slice(count).join('/')

function target(part: StructuredPatch, count: number | undefined): string {
  const name = part.newFileName && part.newFileName !== '/dev/null' ? part.newFileName : part.oldFileName
  return count === undefined ? (name ?? '').slice((name ?? '').lastIndexOf('/') + 1) : strip(name ?? '', count)
}

type PatchOutcome = { readonly text: string; readonly failed: boolean }

async function applyOne(
  context: CommandContext,
  part: StructuredPatch,
  name: string,
  dry: boolean,
): Promise<PatchOutcome> {
  const path = pathIn(context, name)
  const exists = await context.fs.exists(path)
  const result = applyPatch(exists ? await context.fs.readFile(path) : '', part, { fuzzFactor: 2 })
  const count = part.hunks.length
  if (result === false) return { text: `patching file ${name}\n${count} out of ${count} hunks FAILED\n`, failed: true }
  if (!dry && part.newFileName === '/dev/null') await context.fs.rm(path, { force: true })
  else if (!dry) await context.fs.writeFile(path, result)
  return { text: `${dry ? 'checking' : 'patching'} file ${name}\n`, failed: false }
}

/** Returns the parts of a patch, or an error message. */
function parseParts(source: string, reverse: boolean): StructuredPatch[] | string {
  try {
    const parts = parsePatch(source).filter(({ hunks }) => hunks.length > 0)
    if (parts.length === 0) return '**** Only garbage was found in the patch input.'
    return reverse ? parts.map((part) => reversePatch(part)) : parts
  } catch (error) {
    return `**** malformed patch: ${error instanceof Error ? error.message : String(error)}`
  }
}

export const patch: Command = command('patch', async (args, context) => {
  const { flags, values, rest } = parse(args, 'pid')
  const option = (short: string, long: string): string | undefined => values.get(short) ?? values.get(long)
  const source = await readText(context, option('i', 'input') ?? rest[1] ?? '-')
  const count = option('p', 'strip')
  const parts = parseParts(source, flags.has('R') || flags.has('reverse'))
  if (typeof parts === 'string') return errorResult('patch', parts, 2)
  const outcomes: PatchOutcome[] = []
  for (const part of parts) {
    const name = rest[0] ?? target(part, count === undefined ? undefined : Number(count))
    const directory = option('d', 'directory')
    const path = directory === undefined ? name : `${directory}/${name}`
    outcomes.push(await applyOne(context, part, path, flags.has('dry-run')))
  }
  const failed = outcomes.some((outcome) => outcome.failed)
  return textResult(outcomes.map(({ text }) => text).join(''), failed ? 1 : 0)
})
