/** Adds options to ls, ln and cp that just-bash lacks. */

import {
  type Command,
  command,
  errorResult,
  type CommandContext,
  type ExecResult,
  originalCommand,
  pathIn,
  textResult,
} from './io.ts'

const isOption = (arg: string): boolean => arg.length > 1 && arg.startsWith('-')

const isDirectory = async ({ fs }: CommandContext, path: string): Promise<boolean> =>
  (await fs.exists(path)) && (await fs.stat(path)).isDirectory

/** Files are listed together and before directories; just-bash puts an empty line between any two operands. */
const ls = command('ls', async (args, context) => {
  const operands = args.filter((arg) => !isOption(arg))
  if (operands.length < 2) return originalCommand(context)(args)
  const options = args.filter(isOption)
  const asNames = options.some((option) => /^-[a-zA-Z]*d/.test(option) || option === '--directory')
  const directories: string[] = []
  const results: ExecResult[] = []
  for (const operand of operands)
    if (!asNames && (await isDirectory(context, pathIn(context, operand)))) directories.push(operand)
    else results.push(await originalCommand(context)([...options, operand]))
  if (directories.length > 0) {
    const heading = results.length > 0 && directories.length === 1 ? `${directories[0]}:\n` : ''
    const listed = await originalCommand(context)([...options, ...directories])
    results.push({ ...listed, stdout: `${results.length > 0 ? '\n' : ''}${heading}${listed.stdout}` })
  }
  return {
    stdout: results.map(({ stdout }) => stdout).join(''),
    stderr: results.map(({ stderr }) => stderr).join(''),
    exitCode: Math.max(...results.map(({ exitCode }) => exitCode)),
  }
})

/** Adds `-f`, which removes an existing target first. */
const ln = command('ln', async (args, context) => {
  const operands = args.filter((arg) => !isOption(arg))
  const forced = args.some((arg) => /^-[a-zA-Z]*f/.test(arg) || arg === '--force')
  const follows = !args.some((arg) => /^-[a-zA-Z]*n/.test(arg))
  const link = operands.at(-1)
  if (!forced || operands.length < 2 || link === undefined) return originalCommand(context)(args)
  const linkPath = pathIn(context, link)
  const inside = follows && (await isDirectory(context, linkPath))
  const name = (operands[0] ?? '').replace(/^.*\//, '')
  const target = inside ? `${linkPath}/${name}` : linkPath
  await context.fs.rm(target, { force: true })
  return originalCommand(context)(args)
})

/** Treats `-a` as `-rp`, and adds `--parents`, which creates the directories of the source path. */
const cp = command('cp', async (args, context) => {
  const plain = args.flatMap((arg) => {
    if (arg === '--archive') return ['-r', '-p']
    return /^-[a-zA-Z]*[adT]/.test(arg) ? [`-${arg.slice(1).replace(/[adT]/g, '')}rp`] : [arg]
  })
  if (!plain.includes('--parents')) return originalCommand(context)(plain)
  const [options, operands] = [
    plain.filter((arg) => isOption(arg) && arg !== '--parents'),
    plain.filter((arg) => !isOption(arg)),
  ]
  const target = operands.pop()
  if (target === undefined || operands.length === 0) return errorResult('cp', 'missing file operand')
  let result = textResult('')
  for (const source of operands) {
    const parent = pathIn(context, `${target}/${source}`).replace(/\/[^/]*$/, '')
    await context.fs.mkdir(parent, { recursive: true })
    result = await originalCommand(context)([...options, source, parent])
    if (result.exitCode !== 0) break
  }
  return result
})

export const listingCommands: readonly Command[] = [ls, ln, cp]
