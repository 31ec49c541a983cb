/**
 * Adds to awk what just-bash lacks: pipes (`print | "command"`), operands `name=value` and `strftime`. The output of a
 * pipe goes to a file, which the command reads after the program has ended.
 */

import {
  type Command,
  command,
  type CommandContext,
  errorResult,
  type ExecResult,
  originalCommand,
  readText,
} from './io.ts'

const pipePattern = /(\bprintf?\b(?:[^"|;{}\n]|"(?:[^"\\\n]|\\.)*"){0,150})\|\s*("(?:[^"\\\n]|\\.)*")/g

type ProgramWithoutPipes = {
  readonly program: string
  readonly commands: readonly string[]
  readonly files: readonly string[]
}

function withoutPipes(program: string): ProgramWithoutPipes {
  const commands: string[] = []
  const files: string[] = []
  const rewritten = program.replace(pipePattern, (whole, before: string, quoted: string) => {
    if (before.endsWith('|')) return whole
    const shellCommand = quoted.slice(1, -1).replace(/\\(.)/g, '$1')
    const index = commands.indexOf(shellCommand)
    const file = files[index] ?? `/tmp/.awk-${crypto.randomUUID()}`
    if (index < 0) {
      commands.push(shellCommand)
      files.push(file)
    }
    return `${before}> "${file}"`
  })
  return { program: rewritten, commands, files }
}

/** Replaces `-f file` by the text of the file. */
async function withProgram(args: readonly string[], context: CommandContext): Promise<string[]> {
  const at = args.findIndex((arg, i) => arg.startsWith('-f') && !/^-[vF]$/.test(args[i - 1] ?? ''))
  if (at < 0) return [...args]
  const attached = (args[at] ?? '').slice(2)
  const program = await readText(context, attached || (args[at + 1] ?? '-'))
  const rest = args.slice(at + (attached ? 1 : 2))
  const operands = rest.findIndex((arg, i) => !arg.startsWith('-') && !/^-[vF]$/.test(rest[i - 1] ?? ''))
  const end = operands < 0 ? rest.length : operands
  return [...args.slice(0, at), ...rest.slice(0, end), program, ...rest.slice(end)]
}

/** Operands such as `n=1` are assignments. Each takes effect before the file behind it is read. */
const assignment = /^([A-Za-z_]\w*)=([^]*)$/

/** Rules that carry out the assignments: with the first line of a file, and at the end, where no line came. */
function renderAssignments(operands: readonly string[]): string {
  let files = 0
  const rules = operands.flatMap((operand) => {
    const [, name = '', value = ''] = assignment.exec(operand) ?? []
    if (name === '') {
      files++
      return []
    }
    // The line has been split already.
    const set = `${name}=${renderValue(value)}${name === 'FS' ? ';$0=$0' : ''}`
    return [`FNR==1&&__file==${files + 1}{${set}}`, `END{if(__file<${files + 1}){${set}}}`]
  })
  return rules.length > 0 ? ['FNR==1{__file++}', ...rules, ''].join('\n') : ''
}

const renderValue = (value: string): string =>
  String(Number(value)) === value ? value : `"${value.replace(/(^|[^\\])"/g, '$1\\"').replaceAll('\n', '\\n')}"`

/** Options such as `-v OFS=:` set names of awk, for which just-bash needs a rule. The other options stay. */
function liftSpecialNames(args: readonly string[], at: number): { readonly rules: string; readonly kept: string[] } {
  const kept: string[] = []
  let rules = ''
  for (let i = 0; i < at; i++) {
    const arg = args[i] ?? ''
    const given = arg === '-v' ? args[++i] : /^-v(.+)$/s.exec(arg)?.[1]
    const [, name = '', value = ''] = assignment.exec(given ?? '') ?? []
    if (/^(?:FS|OFS|ORS|OFMT|SUBSEP|RS)$/.test(name)) rules += `BEGIN{${name}=${renderValue(value)}}\n`
    else if (given === undefined) kept.push(arg)
    else kept.push('-v', given)
  }
  return { rules, kept }
}

/** Leaves only the strings that are assigned. */
const withoutStrings = (program: string): string =>
  program.replace(/(=\s{0,9})?"(?:[^"\\\n]|\\.){0,500}"/g, (whole, assigned?: string) => (assigned ? whole : '""'))

/** Records end at line ends. Another separator would be ignored in silence. */
const otherSeparator = /\bRS\s{0,9}=(?!=)\s{0,9}(?!"\\n")/

/** Times are UTC. */
const strftime = String.raw`
function __strftime(f,t,u, n,d,s,e,y,m,p,o,i,c,w,M,W){
n=split("January February March April May June July August September October November December",M," ")
split("Sunday Monday Tuesday Wednesday Thursday Friday Saturday",W," ")
if(f=="")f="%a %b %e %H:%M:%S UTC %Y"
if(t=="")t=systime()
gsub(/%%/,"%Q",f);gsub(/%F/,"%Y-%m-%d",f);gsub(/%c/,"%a %b %e %T %Y",f);gsub(/%T/,"%H:%M:%S",f);gsub(/%R/,"%H:%M",f);gsub(/%D/,"%m/%d/%y",f)
t=int(t);s=t%86400;if(s<0)s+=86400;d=(t-s)/86400;w=(d+4)%7;if(w<0)w+=7
e=d+719468;y=int(e/146097);p=e-y*146097;i=int((p-int(p/1460)+int(p/36524)-int(p/146096))/365)
n=p-(365*i+int(i/4)-int(i/100));y=i+y*400;m=int((5*n+2)/153);d=n-int((153*m+2)/5)+1;m=m<10?m+3:m-9;if(m<=2)y++
n=int(275*m/9)-((y%4==0&&y%100!=0)||y%400==0?1:2)*int((m+9)/12)+d-30
o="";for(i=1;i<=length(f);i++){c=substr(f,i,1);if(c!="%"){o=o c;continue}
c=substr(f,++i,1)
if(c=="Y")o=o y;else if(c=="m")o=o sprintf("%02d",m);else if(c=="d")o=o sprintf("%02d",d);else if(c=="e")o=o sprintf("%2d",d)
else if(c=="y")o=o sprintf("%02d",y%100);else if(c=="H")o=o sprintf("%02d",int(s/3600));else if(c=="M")o=o sprintf("%02d",int(s/60)%60)
else if(c=="S")o=o sprintf("%02d",s%60);else if(c=="I")o=o sprintf("%02d",(int(s/3600)+11)%12+1);else if(c=="p")o=o "" (s<43200?"AM":"PM")
else if(c=="j")o=o sprintf("%03d",n);else if(c=="s")o=o t;else if(c=="u")o=o "" (w==0?7:w);else if(c=="w")o=o w
else if(c=="A")o=o W[w+1];else if(c=="a")o=o substr(W[w+1],1,3);else if(c=="B")o=o M[m];else if(c=="b"||c=="h")o=o substr(M[m],1,3)
else if(c=="Z")o=o "UTC";else if(c=="z")o=o "+0000";else if(c=="n")o=o "\n";else if(c=="t")o=o "\t";else if(c=="Q")o=o "%";else o=o "%" c}
return o}
`

/**
 * `length` without brackets, apart from strings and expressions. just-bash reads it as a name behind a comma. A string
 * that does not end takes its line, so that each character is read once.
 */
const bareLength =
  /"(?:[^"\\\n]|\\.)*"?|(?<=(?:^|[(,~!&|{};\n])\s{0,9})\/(?:[^/\\\n]|\\.){1,2000}\/|(?<![\w$.])length(?![\w]|\s{0,9}\()/g
const withLength = (program: string): string =>
  program.replace(bareLength, (whole) => (whole === 'length' ? 'length($0)' : whole))

/** Prepares a program and the operands behind it for just-bash. */
function complete(given: string, operands: readonly string[]) {
  const callsStrftime = /\bstrftime\s*\(/.test(given)
  const renamed = callsStrftime ? given.replace(/\bstrftime\s*\(/g, '__strftime(') + strftime : given
  const program = withLength(renamed)
  const files = operands.filter((operand) => !assignment.test(operand))
  return {
    program: files.length === operands.length ? program : renderAssignments(operands) + program,
    operands: files.join() === '-' ? [] : files,
  }
}

/** The arguments, and the index of the program. */
async function prepare(
  given: string[],
  context: CommandContext,
): Promise<readonly [args: readonly string[], at: number]> {
  const whole = await withProgram(given, context)
  const at = whole.findIndex((arg, i) => !arg.startsWith('-') && !/^-[vF]$/.test(whole[i - 1] ?? ''))
  if (at < 0) return [whole, at]
  const { rules, kept } = liftSpecialNames(whole, at)
  return [[...kept, rules + (whole[at] ?? ''), ...whole.slice(at + 1)], kept.length]
}

async function run(originalArgs: string[], context: CommandContext): Promise<ExecResult> {
  const [given, at] = await prepare(originalArgs, context)
  if (otherSeparator.test(withoutStrings(given[at] ?? '')))
    return errorResult('awk', 'RS can only be a newline here: change the separators with tr or sed first', 2)
  const completed = complete(given[at] ?? '', at < 0 ? [] : given.slice(at + 1))
  const args = at < 0 ? [...given] : [...given.slice(0, at), completed.program, ...completed.operands]
  const { program, commands, files } = withoutPipes(args[at] ?? '')
  if (commands.length === 0 || !context.exec) return originalCommand(context)(args)
  let result = await originalCommand(context)([...args.slice(0, at), program, ...args.slice(at + 1)])
  for (const [i, line] of commands.entries()) {
    const path = files[i] ?? ''
    if (!(await context.fs.exists(path))) continue
    const stdin = Buffer.from(await context.fs.readFileBuffer(path)).toString('latin1')
    await context.fs.rm(path, { force: true })
    const piped = await context.exec(line, { cwd: context.cwd, stdin, stdinKind: 'bytes' })
    result = { ...result, stdout: result.stdout + piped.stdout, stderr: result.stderr + piped.stderr }
  }
  return result
}

export const awk: Command = command('awk', run)
