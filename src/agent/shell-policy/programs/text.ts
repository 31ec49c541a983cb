/** Judges sed, awk, find and fd, whose scripts and options can write files and start programs. */

import { isHarmlessAwkProgram } from '../awk-program.ts'
import { anyText, isLiteral, anyCharacter, renderField, anyWords, anyCharacters, type Field } from '../field.ts'
import { isVital, resolvePaths } from '../path-zones.ts'
import { checkOptions, readOptions, checkReads, optionValues, checkWrites } from '../call-checks.ts'
import { getInput, applySubstitution } from '../decoders.ts'
import { isHarmlessSedScript } from '../sed-script.ts'
import { cloneShell, joinFiles, type Call, type Policy } from '../shell-state.ts'

const sed: Policy = (call) => {
  const { args, inPlace } = withoutInPlace(call.args)
  const options = readOptions(args, {
    short: 'nErsuz',
    valued: 'el',
    long: 'quiet silent regexp-extended expression= separate null-data unbuffered posix line-length= version help',
  })
  checkOptions(call, options)
  const expressions = optionValues(options, 'e', 'expression')
  const scripts = expressions.length > 0 ? expressions : options.operands.slice(0, 1)
  const paths = expressions.length > 0 ? options.operands : options.operands.slice(1)
  for (const script of scripts)
    if (!isHarmlessSedScript(script))
      call.ask(`sed could write files or start programs with ${renderField(script).slice(0, 80)}`)
  checkReads(call, paths)
  if (inPlace) checkWrites(call, paths, 'change')
  return inPlace || scripts.length !== 1 || options.names.size > 0
    ? 'unknown'
    : applySubstitution(scripts[0] ?? '', getInput(call, paths))
}

/** Removes `-i`, whose suffix is always joined to it. */
function withoutInPlace(all: readonly Field[]) {
  let inPlace = false
  const args = all.flatMap((arg) => {
    const short = /^-([nErsuz]*)i([\w.~-]*)$/.exec(arg)
    if (!short && !/^--in-place(=[\w.~-]*)?$/.test(arg)) return [arg]
    inPlace = true
    return short?.[1] ? [`-${short[1]}`] : []
  })
  return { args, inPlace }
}

const awk: Policy = (call) => {
  const options = readOptions(
    call.args,
    { valued: 'Fv', long: 'field-separator= assign= version re-interval posix' },
    true,
  )
  checkOptions(call, options)
  const [program = '', ...paths] = options.operands
  if (!isHarmlessAwkProgram(program))
    call.ask(`awk could write files or start programs with ${renderField(program).slice(0, 80)}`)
  checkReads(call, paths)
  return undefined
}

/** Tests and actions of find without side effects. `:1` takes a word. */
const harmlessPredicates = new Map(
  'name:1 iname:1 path:1 ipath:1 wholename:1 regex:1 iregex:1 regextype:1 type:1 xtype:1 size:1 mtime:1 mmin:1 atime:1 amin:1 ctime:1 cmin:1 newer:1 anewer:1 cnewer:1 newermt:1 newerct:1 perm:1 user:1 group:1 uid:1 gid:1 links:1 inum:1 samefile:1 lname:1 ilname:1 maxdepth:1 mindepth:1 printf:1 fstype:1 empty:0 readable:0 writable:0 executable:0 nouser:0 nogroup:0 print:0 print0:0 ls:0 prune:0 quit:0 depth:0 d:0 mount:0 xdev:0 daystart:0 follow:0 true:0 false:0 not:0 a:0 and:0 o:0 or:0 noleaf:0 E:0 H:0 L:0 P:0 version:0 help:0 s:0 X:0 x:0'
    .split(' ')
    .map((item) => [item.slice(0, -2), Number(item.at(-1))] as const),
)

const selectingPredicates = /^-(i?name|i?path|i?regex|size|[acm](time|min)|newer\w*|empty|user|group|perm|inum|links)$/

/** Whether find selects only some of the files. `-type` and `-name '*'` select all. */
const isSelective = (args: readonly Field[]): boolean =>
  args.some((arg, i) => selectingPredicates.test(arg) && !/^[*./]+$/.test(args[i + 1] ?? ''))

const find: Policy = (call) => {
  const { args } = call
  const first = args.findIndex((arg) => /^-(?![HLPD]$|O\d)/.test(arg) || arg === '(' || arg === '!')
  const requestedStarts = (first === -1 ? args : args.slice(0, first)).filter((arg) => !arg.startsWith('-'))
  const starts = requestedStarts.length === 0 ? ['.'] : requestedStarts
  if (args.some((arg) => arg[0] === anyWords || (arg[0] === anyText && !starts.includes(arg))))
    call.ask('find is given a word that may be an action')
  if (!call.judge.host.isSandboxed && starts.some((start) => start === anyText))
    call.ask('find starts at a path that is only known at run time')
  for (let at = first === -1 ? args.length : first; at < args.length;) at = judgePredicate(call, at, starts)
  // Without a selection, find starts the program for the vital directory itself and everything in it.
  const all = !isSelective(args) && !args.some((arg) => /^-(printf|mindepth)$/.test(arg))
  const vital = all ? starts.filter((start) => isLiteral(start) && startsAtVitalPath(call, start)) : []
  return vital.length > 0 ? [`${vital.join('\n')}\n${anyText}`] : undefined
}

function judgePredicate(call: Call, at: number, starts: readonly Field[]): number {
  const arg = call.args[at] ?? ''
  const name = arg.slice(1)
  if (/^[()!,]$/.test(arg)) return at + 1
  const words = arg.startsWith('-') ? harmlessPredicates.get(name) : undefined
  if (words !== undefined) return at + 1 + words
  if (/^(exec|execdir|ok|okdir)$/.test(name)) return judgeExecution(call, at, starts)
  if (name === 'delete') {
    const all = !isSelective(call.args) && starts.some((start) => startsAtVitalPath(call, start))
    if (all) call.refuse(`find would remove everything in ${starts.map((start) => renderField(start)).join(' ')}`)
    else call.ask('find would remove what it finds')
    return at + 1
  }
  if (/^(fprint0?|fls|fprintf)$/.test(name)) {
    call.ask(`find would write ${renderField(call.args[at + 1] ?? '')}`)
    return at + (name === 'fprintf' ? 3 : 2)
  }
  call.ask(`find is given ${renderField(arg)}`)
  return at + 1
}

const startsAtVitalPath = (call: Call, start: Field): boolean =>
  resolvePaths(start, call.shell).some((resolved) => isVital(resolved, call.judge.host))

/** Programs that need approval when find or fd starts them for unlisted files. */
const destructivePrograms = new Set([
  'rm',
  'rmdir',
  'unlink',
  'mv',
  'shred',
  'truncate',
  'chmod',
  'chown',
  'ln',
  'cp',
  'tee',
  'touch',
])

function judgeExecution(call: Call, at: number, starts: readonly Field[]): number {
  const { args } = call
  let end = at + 1
  while (end < args.length && args[end] !== ';' && !(args[end] === '+' && args[end - 1]?.includes('{}'))) end++
  const program = args.slice(at + 1, end)
  if (args[at]?.startsWith('-ok') || destructivePrograms.has(program[0]?.split('/').at(-1) ?? ''))
    call.ask(`find would start ${renderField(program.join(' '))} for what it finds`)
  const found = listFoundPaths(call, starts)
  for (const path of found) judgeForPath(call, program, { path, elsewhere: args[at] === '-execdir' })
  return end + 1
}

/** Without a selection, the start directory itself is among the found paths. */
function listFoundPaths(call: Call, starts: readonly Field[]): readonly Field[] {
  const whole =
    !isSelective(call.args) ||
    (call.args.includes('-maxdepth') && starts.some((start) => startsAtVitalPath(call, start)))
  return starts
    .slice(0, 8)
    .flatMap((start) =>
      whole
        ? [start, `${start}/${anyCharacters}`]
        : [`${start}/${anyCharacter}${anyCharacters}/${anyCharacter}${anyCharacters}`],
    )
}

function judgeForPath(
  call: Call,
  program: readonly Field[],
  { path, elsewhere }: { readonly path: Field; readonly elsewhere: boolean },
): void {
  const shell = cloneShell(call.shell)
  if (elsewhere) shell.cwd = [anyText]
  const words = program.map((word) => word.replaceAll('{}', () => path))
  call.judge.judgeCall(words, shell, 'none')
  joinFiles(call.shell, shell)
}

/** Placeholders of fd for a path or a part of it. */
const placeholders = /\{(?:\/{1,2}|\/?\.)?\}/g

/** fd works like find with other options. */
const fd: Policy = (call) => {
  const at = call.args.findIndex((arg) => /^(-[a-zA-Z]*[xX]|--exec|--exec-batch)$/.test(arg))
  const options = readOptions(at === -1 ? call.args : call.args.slice(0, at), {
    short: 'HIuaLpFgils0q1',
    valued: 'tdeESEcjo',
    long: 'hidden no-ignore type= extension= exclude= max-depth= min-depth= absolute-path glob full-path size= changed-within= changed-before= color= ignore-case fixed-strings list-details',
  })
  checkOptions(call, options)
  if (at !== -1) {
    const program = call.args.slice(at + 1)
    if (destructivePrograms.has(program[0] ?? ''))
      call.ask(`fd would start ${renderField(program.join(' '))} for what it finds`)
    const [pattern = '', start = ''] = options.operands
    const all = /^\W*$/.test(pattern) && start !== '' && startsAtVitalPath(call, start)
    const found = all ? `${start}/${anyCharacters}` : anyCharacters
    call.judge.judgeCall(
      [
        ...program.map((word) => word.replace(placeholders, () => found)),
        ...(program.some((word) => word.search(placeholders) !== -1) ? [] : [found]),
      ],
      call.shell,
      'none',
    )
  }
  return undefined
}

export const text: Readonly<Record<string, Policy>> = {
  sed,
  gsed: sed,
  awk,
  gawk: awk,
  mawk: awk,
  nawk: awk,
  find,
  gfind: find,
  fd,
  fdfind: fd,
}
