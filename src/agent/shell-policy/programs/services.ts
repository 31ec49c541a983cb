/** Judges clients of containers, databases, clusters and hosting: reading is allowed, changes need approval. */

import { isKnown, isUnknown, renderField, type Field } from '../field.ts'
import {
  checkNetwork,
  checkReads,
  checkProjectCode,
  isSandboxed,
  checkArgumentPaths,
  withRule,
  checkWrites,
} from '../call-checks.ts'
import { resolvePaths, getZone } from '../path-zones.ts'
import { runInContainer } from '../wrappers.ts'
import type { Call, Policy } from '../shell-state.ts'

const readingCommands =
  /^(ps|images|image|logs|inspect|version|info|stats|top|port|diff|history|search|events|--version|container|volume|network|context|system)$/
const readingSubcommands = /^(ls|list|inspect|df|show|info|history|top|logs|stats|port)$/

const docker: Policy = (call) => {
  const [sub = '', ...rest] = call.args
  const subcommandCall = withRule(call, `${call.name} ${sub}`)
  if (sub === 'run' || sub === 'exec') judgeContainer(subcommandCall, sub, rest)
  else if (sub === 'compose') judgeCompose(subcommandCall, rest)
  else if (sub === 'build' || sub === 'buildx') judgeBuild(subcommandCall, rest)
  else if (sub === 'pull') checkNetwork(subcommandCall, call.name)
  else if (!/^(--version|-v|--help|)$/.test(sub)) judgeReading(subcommandCall, sub, rest)
  return undefined
}

function judgeBuild(call: Call, rest: readonly Field[]): void {
  checkProjectCode(call, `${call.name} build`)
  checkArgumentPaths(call, rest)
  if (rest.some((arg) => /^--(push|output|secret|ssh|allow|network=host)|^-o/.test(arg)))
    call.ask(`${call.name} build is given unusual options`)
}

function judgeReading(call: Call, sub: string, rest: readonly Field[]): void {
  if (sub.startsWith('-')) call.ask(`${call.name} ${renderField(sub)} may work on another machine`, null)
  else if (!readingCommands.test(sub)) call.ask(`${call.name} ${renderField(sub)} changes containers`)
  else if (/^(image|container|volume|network|context|system)$/.test(sub) && !readingSubcommands.test(rest[0] ?? ''))
    call.ask(`${call.name} ${sub} ${renderField(rest[0] ?? '')} changes containers`)
}

const plainOptions =
  /^(--rm|-i|-t|-it|-ti|-d|-itd|--detach|--interactive|--tty|--init|--read-only|--no-healthcheck|-T)$/
const valuedOptions =
  /^(-p|--name|-e|--env|-w|--workdir|-h|--hostname|-u|--user|--platform|--memory|-m|--cpus|--network|--entrypoint|--label|-l|--pull|--tmpfs|--publish|--env-file|--restart|--shm-size)(=.*)?$/

function judgeContainer(call: Call, sub: string, words: readonly Field[]): void {
  let at = 0
  while ((words[at] ?? '').startsWith('-')) at += judgeContainerOption(call, words[at] ?? '', words[at + 1] ?? '')
  checkProjectCode(call, `${call.name} ${sub}`)
  const [image = '', ...inner] = words.slice(at)
  if (isUnknown(image)) call.ask(`${call.name} ${sub} starts something that is only known at run time`)
  if (inner.length > 0) runInContainer(call, () => void call.judge.judgeCall(inner, call.shell, 'none'))
}

/** Returns how many words an option takes. */
function judgeContainerOption(call: Call, word: Field, next: Field): number {
  const joined = word.includes('=')
  const value = joined ? word.slice(word.indexOf('=') + 1) : next
  if (/^(-v|--volume|--mount)/.test(word)) judgeMount(call, value)
  else if (/^(--network|--env-file)/.test(word) && /^(host$|container|\/)/.test(value))
    call.ask(`${call.name} is given ${renderField(word)} ${renderField(value)}`)
  else if (plainOptions.test(word)) return 1
  else if (!valuedOptions.test(word)) call.ask(`${call.name} is given ${renderField(word)}`)
  return joined || !(valuedOptions.test(word) || /^(-v|--volume|--mount)$/.test(word)) ? 1 : 2
}

function judgeMount(call: Call, volume: Field): void {
  const [, path = volume.split(':')[0] ?? ''] = /(?:source|src)=([^,]*)/.exec(volume) ?? []
  const isInside = resolvePaths(path, call.shell).every((resolved) => getZone(resolved, call.judge.host) === 'inside')
  const isNamedVolume = /^[\w-]+$/.test(path)
  if ((!isInside && !isNamedVolume) || path.startsWith('~'))
    call.ask(`${call.name} would let a container write to ${renderField(path)}`)
}

const composeReading = /^(ps|logs|config|images|top|port|version|ls|events)$/
const composeRunning = /^(up|build|start|stop|restart|pull|run|exec|create|watch)$/

function judgeCompose(call: Call, words: readonly Field[]): void {
  let at = 0
  while (words[at]?.startsWith('-'))
    at += /^(-f|--file|-p|--project-name|--profile|--env-file)$/.test(words[at] ?? '') ? 2 : 1
  const [sub = '', ...rest] = words.slice(at)
  checkArgumentPaths(call, words)
  if (composeRunning.test(sub)) {
    checkProjectCode(call, 'docker compose')
    if (rest.some((arg) => /^(-v|--volume|--volumes|--privileged)$/.test(arg)))
      call.ask(`docker compose ${sub} is given unusual options`)
    if (sub === 'exec' || sub === 'run') judgeContainer(call, `compose ${sub}`, rest)
  } else if (!composeReading.test(sub)) call.ask(`docker compose ${renderField(sub)} changes containers`)
}

/** Statements that read, and statements that may change selected rows. */
const readingStatement =
  /^(select|explain|with|show|describe|desc|values|pragma\s+(table_info|table_list|index_list|foreign_key_list|database_list|user_version|journal_mode|integrity_check|schema_version)\b(?!.*=))/i
const changingStatement =
  /^(insert\s+into|update\s+\S+\s+set\b[\s\S]*\bwhere\b|delete\s+from\s+\S+\s+where\b|create\s+(temp\s+)?(table|index|view|unique index)|begin|commit|rollback|analyze)\b/i
const refusedSql =
  /\b(load_extension|writefile|readfile|edit|fts3_tokenizer|attach|vacuum\s+into|outfile|dumpfile|load_file|copy|program|pg_(read|write|ls|terminate|cancel|reload|rotate|switch|promote|logical|create|drop)\w*|lo_\w+|set(_config|val)|dblink\w*|pg_sleep|xp_\w+|drop|truncate|alter|grant|revoke|replace)\b/i
const harmlessDotCommand =
  /^\.(tables|schema|headers?|mode|indexes|indices|dbinfo|databases|width|show|timer|help|quit|exit)\b[^|'"]*$/
/** A condition that selects rows: a column equals one of some literal values. */
const rowCondition =
  /\b(?:where|and)\s+(?!(?:true|false|null)\b)[a-z_][\w.]*\s*(?:=\s*(?:''|\d[\d.]*|\?|:\w+)|\bin\s*\([^()]*\))(?=\s*(?:$|and\b|order\b|limit\b|returning\b))/i
const weakeningCondition = /\bor\b|\|\||\bnot\b|<>|!=|\bexists\b|\bselect\b/i
const changingKeyword = /\b(delete|update|insert)\b/i

/** Whether a change selects its rows by a value. A condition that may hold for all rows does not. */
function selectsRows(statement: string): boolean {
  const condition = /\bwhere\b[\s\S]*/i.exec(statement)?.[0] ?? ''
  return /^insert\b/i.test(statement) || (rowCondition.test(condition) && !weakeningCondition.test(condition))
}

function isHarmlessSql(text: Field, changes: boolean): boolean {
  if (!isKnown(text)) return false
  // Strings contain no statements. Comments are refused, because they can hide the start of a string.
  const bare = text.replace(/'(?:[^']|'')*'/g, "''")
  if (refusedSql.test(bare) || bare.includes('\\') || bare.includes('/*') || bare.includes('--')) return false
  return bare
    .split(';')
    .map((statement) => statement.trim())
    .every((statement) => {
      if (statement === '' || harmlessDotCommand.test(statement)) return true
      if (!changingKeyword.test(statement))
        return readingStatement.test(statement) || (changes && changingStatement.test(statement))
      return changes && changingStatement.test(statement) && selectsRows(statement)
    })
}

const sqlite: Policy = (call) => {
  const words = call.args.filter(
    (arg) =>
      !/^-(header|noheader|column|csv|json|line|list|markdown|box|table|readonly|separator|batch|bail|html|tabs|quote)$/.test(
        arg,
      ),
  )
  const refused = words.find((word) => word.startsWith('-') && word !== '--version' && word !== '-version')
  if (refused !== undefined) call.ask(`sqlite3 is given ${renderField(refused)}`)
  const [database, ...statements] = words
  if (database !== undefined && database !== ':memory:') checkWrites(call, [database], 'change')
  const texts =
    statements.length > 0 ? statements : call.stdin === 'none' || call.stdin === 'unknown' ? undefined : call.stdin
  if (words[0]?.includes('version')) return undefined
  if (!texts) call.ask('sqlite3 runs its input')
  else
    for (const text of texts)
      if (!isHarmlessSql(text, true)) call.ask(`sqlite3 would run ${renderField(text).slice(0, 80)}`)
  return undefined
}

const sqlClient: Policy = (call) => {
  const at = call.args.findIndex((arg) => /^(-c|-e|--command|--execute|-tAc|-tc|-Atc|-qtAc)$/.test(arg))
  const text = call.args[at + 1]
  const describing = text !== undefined && /^\\(d[tinvuf]?\+?|l|dt\+?)\s*[\w.]*$/.test(text)
  checkNetwork(call, call.name)
  if (call.args.some((arg) => /^(-f|--file|-v|--set|-o|--output|-L)/.test(arg)))
    call.ask(`${call.name} is given options that read or write files`)
  if (call.args.length === 1 && /^(--version|-V)$/.test(call.args[0] ?? '')) return undefined
  if (at === -1 || text === undefined || !(describing || isHarmlessSql(text, false)))
    call.ask(`${call.name} would run ${renderField(text ?? 'its input').slice(0, 80)}`)
  return undefined
}

/** Creates the policy of a client whose listed commands only read. */
const createReadingPolicy =
  (allowed: RegExp, refusedOption: RegExp = /(?!)/): Policy =>
  (call) => {
    const words = call.args.filter((arg) => !arg.startsWith('-'))
    const text = words.slice(0, 2).join(' ')
    const rule = `${call.name} ${words[0] ?? ''}`.trim()
    if (!allowed.test(text) && !(words.length === 0 && call.args.length > 0))
      call.ask(`${call.name} ${renderField(text)} is not on the list of commands that run without approval`, rule)
    const refused = call.args.find((arg) => refusedOption.test(arg))
    if (refused !== undefined) call.ask(`${call.name} is given ${renderField(refused)}`, rule)
    if (words.length > 0) checkNetwork(call, call.name)
    if (!isSandboxed(call)) checkReads(call, words)
    return undefined
  }

export const services: Readonly<Record<string, Policy>> = {
  docker,
  podman: docker,
  nerdctl: docker,
  'docker-compose': (call) => {
    judgeCompose(call, call.args)
    return undefined
  },
  sqlite3: sqlite,
  psql: sqlClient,
  mysql: sqlClient,
  mariadb: sqlClient,
  'redis-cli': createReadingPolicy(
    /^(ping|info|get|keys|ttl|type|dbsize|llen|scard|hgetall|lrange|smembers|exists|scan)/i,
    /^--(eval|pipe|rdb|functions)|^-h|^-u/,
  ),
  gh: createReadingPolicy(
    /^(pr (list|view|status|diff|checks)|issue (list|view|status)|repo (view|list)|run (list|view|watch)|release (list|view)|workflow (list|view)|auth status|status|search \w+|label list|version)/,
    /^--web|^-w$|^--show|^-t$/,
  ),
  glab: createReadingPolicy(/^(mr (list|view|diff)|issue (list|view)|ci (list|status|view)|version)/),
  kubectl: createReadingPolicy(
    /^(get|describe|logs|version|cluster-info|top|explain|api-resources|config (view|get-contexts|current-context))/,
    /^--(kubeconfig|server|raw|token|as)|(^|,)secrets?([,./]|$)|^-s$/,
  ),
  helm: createReadingPolicy(/^(list|status|get|version|show|template|lint|search)/, /^--(post-renderer|kubeconfig)/),
  terraform: createReadingPolicy(
    /^(fmt|validate|version|plan|show|output|providers|graph|state (list|show))/,
    /^-(chdir|out|destroy)/,
  ),
  aws: createReadingPolicy(/^(sts get-caller-identity|--version|s3 ls|ec2 describe-\w+)/, /^--(endpoint-url|profile)/),
  gcloud: createReadingPolicy(/^(config list|auth list|version|projects list)/),
  service: (call) => {
    if (call.args[1] !== 'status' && call.args[0] !== '--status-all')
      call.ask('service changes services of the machine')
    return undefined
  },
  journalctl: createReadingPolicy(
    /^.*$/,
    /^--(vacuum|rotate|flush|sync|relinquish|setup-keys|update-catalog|cursor-file)/,
  ),
  printenv: (call) => {
    if (!isSandboxed(call)) call.ask('printenv shows variables, secrets among them')
    return undefined
  },
  tmux: createReadingPolicy(
    /^(ls|list-sessions|list-windows|list-panes|capture-pane|display-message|has-session)/,
    /^-f$/,
  ),
}
